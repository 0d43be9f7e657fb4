# SPDX-License-Identifier: Apache-2.0
"""A host by hand: frames to and from the puppet, for what only the wire shows."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("MORTISE_BUILD", ROOT / "build")).resolve()
PUPPET = BUILD / "tests" / "sdk" / "c" / "tenon-puppet"
BE32, LINES, HEADERS, DECIMAL = "be32", "lines", "headers", "decimal"
FRAMINGS = {"gassist": BE32, "sunscreen-json": HEADERS}
WAIT_S = 300  # a test that waits longer has failed


def enframe(framing, body):
    head = {
        BE32: len(body).to_bytes(4, "big"),
        HEADERS: b"Content-Length: %d\r\n\r\n" % len(body),
        DECIMAL: b"%d\n" % len(body),
        LINES: b"",
    }[framing]
    return head + body + (b"\n" if framing == LINES else b"")


def deframe(framing, read, read_line):
    """The next body, None at the end."""
    if framing == LINES:
        return read_line() or None
    if framing == BE32:
        head = read(4)
        return read(int.from_bytes(head, "big")) if len(head) == 4 else None
    if framing == DECIMAL:
        head = read_line()
        return read(int(head)) if head else None
    length = None
    while True:
        line = read_line()
        if not line:
            return None
        if line == b"\r\n":
            return read(length)
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])


class Puppet:
    """with Puppet("gassist") as p: p.ask("ping", {}) == ..."""

    def __init__(self, dialect=None, framing=None, command=(PUPPET,)):
        self.framing = framing or FRAMINGS.get(dialect, LINES)
        env = {key: value for key, value in os.environ.items() if key != "MORTISE_DIALECT"}
        if dialect:
            env["MORTISE_DIALECT"] = dialect
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
        )
        self.stderr, self.heard = [], threading.Condition()
        self.listener = threading.Thread(target=self.listen, daemon=True)
        self.listener.start()
        self.next_id = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.listener.join()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr, self.errors):
            try:
                pipe.close()
            except BrokenPipeError:
                pass

    def listen(self):
        for line in self.process.stderr:
            with self.heard:
                self.stderr.append(line.decode().rstrip("\n"))
                self.heard.notify_all()

    def await_stderr(self, text):
        with self.heard:
            if not self.heard.wait_for(lambda: text in self.stderr, WAIT_S):
                raise AssertionError(f"no {text!r} on stderr: {self.stderr}")

    def send_bytes(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, method, params=None, note=False, **more):
        message = {"jsonrpc": "2.0", "method": method, **more}
        if params is not None:
            message["params"] = params
        if not note and "id" not in more:
            self.next_id += 1
            message["id"] = self.next_id
        self.send_bytes(enframe(self.framing, json.dumps(message).encode()))
        return message.get("id")

    def receive(self):
        body = deframe(self.framing, self.process.stdout.read, self.process.stdout.readline)
        return None if body is None else json.loads(body)

    def ask(self, method, params=None, **more):
        self.send(method, params, **more)
        return self.receive()

    def result(self, method, params=None):
        answer = self.ask(method, params)
        if "result" not in answer:
            raise AssertionError(answer)
        return answer["result"]

    def error(self, method, params=None):
        error = self.ask(method, params)["error"]
        return error["code"], error["message"]

    def end(self):
        """Closes stdin; what came until the end of stdout."""
        self.process.stdin.close()
        rest = []
        while (message := self.receive()) is not None:
            rest.append(message)
        self.status = self.process.wait(WAIT_S)
        self.listener.join()
        return rest


if __name__ == "__main__":
    sys.exit("a module, not a program")


class Gated(unittest.TestCase):
    """A gate at which a function of the puppet waits: a byte in it lets one go on."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.gate = str(pathlib.Path(directory.name) / "gate")
        os.mkfifo(self.gate)
        self.held = os.open(self.gate, os.O_RDWR)
        self.addCleanup(os.close, self.held)
