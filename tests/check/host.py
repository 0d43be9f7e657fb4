#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""host.py CHECK DIALECT PLUGIN: a host that keeps to its protocol, or breaks it in the one way that the check
CHECK of `mortise check --host` must find. A good one if CHECK is empty.
"""
import json
import signal
import struct
import subprocess
import sys
import time

# What each dialect's greeting, call and good-bye are, for the bad host.
SCRIPTS = {
    "plain": [("ping", None), ("ping", None), ("ping", None)],
    "yams": [
        ("handshake.manifest", None),
        ("plugin.init", {"config": {}}),
        ("extractor.supports", {"mime_type": "text/plain", "extension": ".txt"}),
        ("plugin.shutdown", None),
    ],
    "ayiou": [
        ("metadata", {}),
        ("lifecycle", {"event": {"startup": None}}),
        ("matches", {"text": "hello", "message_type": "private"}),
        ("lifecycle", {"event": {"shutdown": None}}),
    ],
    "gassist": [
        ("initialize", {"protocol_version": "2.0", "engine_version": "1.0.0"}),
        ("execute", {"function": "hello", "arguments": {}}),
        ("shutdown", {}),
    ],
}


class Host:
    """As small as a host can be: one request after the other, then the end."""

    def __init__(self, fault, dialect, plugin):
        self.fault, self.dialect = fault, dialect
        self.err = subprocess.DEVNULL if fault != "bear.stderr" else subprocess.PIPE
        self.process = subprocess.Popen(
            [plugin], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.err
        )

    def frame(self, body):
        return struct.pack(">I", len(body)) + body if self.dialect == "gassist" else body + b"\n"

    def write(self, message):
        self.process.stdin.write(self.frame(json.dumps(message).encode()))
        self.process.stdin.flush()

    def chunk(self):
        data = self.process.stdout.read1(65536)
        if not data:
            if self.fault == "crash.ends":
                signal.pause()
            sys.exit(0 if self.fault == "crash.told" else 1)
        return data

    def messages(self):
        data = b""
        while True:
            data += self.chunk()
            if self.fault == "bear.split" and self.cut(data) is None:
                sys.exit("half a message")
            while (found := self.cut(data)) is not None:
                body, data = found
                yield body

    def cut(self, data):
        if self.dialect == "gassist":
            if data.startswith(b"loading"):
                return data[:18], data[18:]
            if len(data) < 4:
                return None
            end = 4 + struct.unpack(">I", data[:4])[0]
            return (data[4:end], data[end:]) if len(data) >= end else None
        line, end, rest = data.partition(b"\n")
        return (line, rest) if end else None

    def await_answer(self, ident):
        for body in self.stream:
            try:
                message = json.loads(body)
            except ValueError:
                if self.fault == "bear.noise":
                    sys.exit("not JSON")
                continue
            if "id" not in message and self.fault == "bear.note":
                sys.exit("no id")
            if "id" in message and message["id"] != ident and self.fault == "bear.stray":
                sys.exit("another id")
            if message.get("id") == ident:
                return

    def shape(self, number, method, params):
        fault = self.fault
        ident = {"ids.unique": 1, "ids.type": number + 0.5, "ids.small": 2**40 + number}.get(fault, number)
        message = {"jsonrpc": "2.0", "id": ident, "method": method}
        if params is not None:
            message["params"] = params
        if fault == "wire.version":
            del message["jsonrpc"]
        if fault == "params.type" and params is None:
            message["params"] = "none"
        if fault == "params.type" and self.dialect != "plain":
            message["params"] = "none"
        if fault == "params.valid" and method in ("extractor.supports", "matches", "execute"):
            message["params"] = {}
        return message

    def run(self):
        fault, script = self.fault, list(SCRIPTS[self.dialect])
        self.stream, times = self.messages(), []
        if fault == "greet.first":
            script = script[-2:]
        if fault == "greet.init":
            del script[1]
        if fault == "stop.bye":
            script.pop()
        if fault == "wire.clean":
            self.process.stdin.write(b"hello\n")
        if fault == "wire.method":
            self.write({"jsonrpc": "2.0", "id": 77, "result": None})
        for number, (method, params) in enumerate(script, 1):
            message = self.shape(number, method, params)
            if method == "shutdown":
                del message["id"]
            self.write(message)
            if fault == "slow.one":
                self.write({**message, "id": number + 50})
            begun = time.monotonic()
            if "id" in message:
                self.await_answer(message["id"])
                times.append(time.monotonic() - begun)
        if fault == "bear.slow" and min(times) > 0.25:
            sys.exit("too slow")
        self.stop()

    def stop(self):
        if self.fault == "stop.eof":
            self.process.kill()
        elif self.fault == "stop.polite":
            self.process.terminate()
        else:
            self.process.stdin.close()
        self.process.wait()
        sys.exit(1 if self.fault == "good.exit" else 0)


if __name__ == "__main__":
    Host(*sys.argv[1:]).run()
