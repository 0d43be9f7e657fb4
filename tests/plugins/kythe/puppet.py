# SPDX-License-Identifier: Apache-2.0
"""A Kythe analyzer without an SDK. Its units are its programs: the first source file of a record is
executed as Python.

Usage: puppet.py [JSON]. Members: encoding (json, protobuf), types (of analyze; null: none are sent), state
(a directory that outlives the process), begin, ready, idle (Python that is run before init, after init,
before each analyze).

A program sees `wire` (the conversation), `unit` (the reply to analyze), `out` (the output), `attempt` (from 1;
needs state), `state` and `done()`, which it need not call: what is left to say is said after it. Nobody sleeps:
to wait for the test or for another puppet there are here(), may_go(), hold(), tell() and hear(), see Meeting.
Longer programs are in units/.
"""
import base64
import fcntl
import json
import os
import sys


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out + bytes([number]))


def field(number, value):
    return bytes([number << 3 | 2]) + varint(len(value)) + value if value else b""


def vname_bytes(path, signature=""):
    return field(1, signature.encode()) + field(4, path.encode())


class Wire:
    def __init__(self):
        self.input, self.last, self.kept = b"", 0, {}

    def raw(self, data):
        while data:
            data = data[os.write(1, data) :]

    def send(self, message):
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.raw(b"%d\n" % len(body) + body)

    def note(self, method, **params):
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method, **params):
        """Sends a request; its id."""
        self.last += 1
        self.send({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        return self.last

    def _fill(self):
        piece = os.read(0, 65536)
        self.input += piece
        return bool(piece)

    def receive(self):
        """The next message, or None: the driver has closed our input."""
        while b"\n" not in self.input:
            if not self._fill():
                return None
        tag, _, rest = self.input.partition(b"\n")
        while len(rest) < int(tag):
            if not self._fill():
                sys.exit("corrupt frame from the driver")
            rest = self.input.partition(b"\n")[2]
        self.input = rest[int(tag) :]
        return json.loads(rest[: int(tag)])

    def answer(self, number):
        """The whole answer to that request; None: our input is closed."""
        while number not in self.kept:
            message = self.receive()
            if message is None:
                return None
            self.kept[message.get("id")] = message
        return self.kept.pop(number)

    def call(self, method, **params):
        """The result; an error ends us."""
        answer = self.answer(self.ask(method, **params))
        if answer is None:
            sys.exit(0)
        if "error" in answer:
            sys.exit(f"{method}: {answer['error']}")
        return answer["result"]

    def until_closed(self):
        while self.receive() is not None:
            pass


class Out:
    def __init__(self, path, encoding):
        self.path, self.encoding = path, encoding

    def raw(self, data):
        fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(fd, data)
        os.close(fd)

    def record(self, body):
        self.raw(varint(len(body)) + body)

    def fact(self, name, value, path="-", signature=""):
        value = (
            value
            if isinstance(value, bytes)
            else value.encode()
            if isinstance(value, str)
            else json.dumps(value).encode()
        )
        if self.encoding == "json":
            source = {"path": path} if not signature else {"path": path, "signature": signature}
            self.record(
                json.dumps(
                    {"source": source, "factName": name, "factValue": base64.b64encode(value).decode()}
                ).encode()
            )
        else:
            self.record(field(1, vname_bytes(path, signature)) + field(4, name.encode()) + field(5, value))


class Meeting:
    """Where puppets and the test wait for each other: files in the state directory."""

    def __init__(self, state):
        self.place = state

    def here(self):
        """The test waits for this."""
        open(self.place + "/held", "w").close()

    def may_go(self):
        """The test has opened the gate."""
        try:
            self._pass(fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def hold(self):
        self.here()
        self._pass(0)

    def _pass(self, flags):
        with open(self.place + "/gate") as gate:
            fcntl.flock(gate, fcntl.LOCK_SH | flags)

    def tell(self, name):
        """Returns when another puppet hears it."""
        open(self._fifo(name), "w").close()

    def hear(self, name):
        with open(self._fifo(name)) as fifo:
            fifo.read()

    def _fifo(self, name):
        path = f"{self.place}/meet-{name}"
        try:
            os.mkfifo(path)
        except FileExistsError:
            pass
        return path

    def words(self):
        return {word: getattr(self, word) for word in ("here", "may_go", "hold", "tell", "hear")}


def attempts(state, unit):
    """Counts this one."""
    if not state:
        return 1
    path = os.path.join(state, "attempts-" + unit["inputs"][0].replace("/", "_"))
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(fd, b".")
    os.close(fd)
    return os.path.getsize(path)


def run(config):
    wire, state = Wire(), config.get("state")
    common = {"wire": wire, "state": state, **Meeting(state).words()}
    exec(config.get("begin", ""), dict(common))
    wire.call("init", protocol="kythe1", outputEncoding=config.get("encoding", "protobuf"))
    exec(config.get("ready", ""), dict(common))
    while True:
        exec(config.get("idle", ""), dict(common))
        unit = wire.call("analyze", **({"types": config["types"]} if config.get("types") else {}))
        attempt = attempts(state, unit)
        os.chdir(unit["workingDir"])
        said = []

        def done(**params):
            said.append(True)
            os.chdir("/")
            wire.note("done", **params)

        out = Out(unit["output"], config.get("encoding", "protobuf"))
        with open(unit["inputs"][0], "rb") as source:
            program = compile(source.read(), unit["inputs"][0], "exec")
        exec(program, {**common, "unit": unit, "out": out, "attempt": attempt, "done": done})
        if not said:
            done()


if __name__ == "__main__":
    run(json.loads(sys.argv[1]) if len(sys.argv) > 1 else {})
