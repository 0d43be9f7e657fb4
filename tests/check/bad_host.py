#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bad_host.py FAULT DIALECT PLUGIN [WORKSPACE]: a host as small as a host can be, which breaks its protocol in
one way for each check of `mortise check --host`. FAULT "": in none. It has no sandbox. bad_host_kythe.py is the
driver of Kythe analyzers.
"""
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import events  # pylint: disable=wrong-import-position

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
    "sunscreen": [
        ("commands", None),
        (
            "run",
            {
                "command": "scaffold:played",
                "args": [],
                "flags": {},
                "workspace_root": "WORKSPACE",
                "config": {},
            },
        ),
    ],
    "gassist": [
        ("initialize", {"protocol_version": "2.0", "engine_version": "1.0.0"}),
        ("execute", {"function": "hello", "arguments": {}}),
        ("shutdown", {}),
    ],
}


class Host:
    """One request after the other, then the end."""

    def __init__(self, fault, dialect, plugin, workspace=""):
        self.fault, self.dialect, self.workspace = fault, dialect, workspace
        if workspace:
            plugin = str(pathlib.Path(plugin) / "plugin")
        self.err = subprocess.DEVNULL if fault != "bear.stderr" else subprocess.PIPE
        self.process = subprocess.Popen(
            [plugin], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.err
        )

    def frame(self, body):
        return struct.pack(">I", len(body)) + body if self.dialect == "gassist" else body + b"\n"

    def write(self, *messages):
        """In one piece."""
        self.process.stdin.write(b"".join(self.frame(json.dumps(message).encode()) for message in messages))
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
                if "error" in message and self.fault != "error.told":
                    code = message["error"]["code"]
                    sys.exit(code if self.dialect == "sunscreen" and self.fault != "error.code" else 1)
                return

    def shape(self, number, method, params):
        fault = self.fault
        ident = {"ids.unique": 1, "ids.type": number + 0.5, "ids.small": 2**40 + number}.get(fault, number)
        message = {"jsonrpc": "2.0", "id": ident, "method": method}
        if params is not None:
            message["params"] = self.shape_params(method, dict(params))
        if fault == "wire.version":
            del message["jsonrpc"]
        if fault == "params.type" and params is None:
            message["params"] = "none"
        if fault == "params.type" and self.dialect != "plain":
            message["params"] = "none"
        if fault == "params.valid" and method in ("extractor.supports", "matches", "execute", "run"):
            message["params"] = {}
        return message

    def shape_params(self, method, params):
        if method == "run":
            params["workspace_root"] = "." if self.fault == "call.root" else self.workspace
            if self.fault == "call.kind":
                params["command"] = "played"
            if self.fault == "call.whole":
                del params["flags"]
        return params

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
            if fault == "slow.one":
                self.write(message, {**message, "id": number + 50})
            else:
                self.write(message)
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


class OneCall:
    """A host of sunscreen-json: a process for one request."""

    def __init__(self, fault, plugin, workspace):
        self.fault, self.workspace, self.record = fault, workspace, pathlib.Path(workspace) / "record"
        names = ("PATH", "HOME") if fault == "call.environment" else ("PATH",)
        env = {name: os.environ.get(name, "/") for name in names}
        if fault == "call.environment":
            env["SECRET_TOKEN"] = "x"
        self.process = subprocess.Popen(
            [pathlib.Path(plugin) / "plugin"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if fault == "bear.stderr" else subprocess.DEVNULL,
            env={**env, "SUNSCREEN_WORKSPACE_ROOT": workspace},
        )

    def request(self):
        params = {"args": [], "command": "played", "kind": "app", "plugin": "played"}
        params.update(workspace=self.workspace, scratch=f"{self.workspace}/.sunscreen/plugins/played")
        ident = {"ids.type": 1.5, "ids.small": 2**40}.get(self.fault, 1)
        message = {"jsonrpc": "2.0", "id": ident, "method": "sunscreen.command/run", "params": params}
        if self.fault == "wire.version":
            del message["jsonrpc"]
        if self.fault == "params.type":
            message["params"] = "none"
        if self.fault == "params.valid":
            del params["plugin"]
        if self.fault == "call.places":
            params["workspace"] = "."
        return message

    def write(self, message):
        body = json.dumps(message).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def read(self):
        """All of stdout, or with some faults less."""
        out = self.process.stdout
        begun = time.monotonic()
        if self.fault == "bear.split":
            return out.read1(65536)
        if self.fault == "bear.stderr":
            self.process.wait()
        data = out.read()
        if self.fault == "bear.slow" and time.monotonic() - begun > 0.25:
            sys.exit("too slow")
        return data

    def await_record(self):
        """The plugin has written down what it was sent."""
        events.until(lambda: self.record.exists() and b">" in self.record.read_bytes(), self.workspace)

    def body(self, data):
        if data.lstrip().startswith(b"{") and self.fault != "bear.bare":
            return data
        if not data.startswith(b"Content-Length") and self.fault == "bear.noise":
            sys.exit("a line before the answer")
        head = re.search(rb"Content-Length: (\d+)\r\n\r\n", data)
        return data[head.end() : head.end() + int(head[1])] if head else b""

    def run(self):
        fault = self.fault
        if fault == "wire.clean":
            self.process.stdin.write(b"Content-Length: no\r\n\r\n")
        if fault == "wire.method":
            self.write({"jsonrpc": "2.0", "id": 77, "result": None})
        self.write(self.request())
        if fault == "call.one":
            self.write({**self.request(), "id": 2})
        if fault in ("stop.eof", "call.end"):
            self.await_record()
            self.process.send_signal(signal.SIGKILL if fault == "stop.eof" else signal.SIGTERM)
        else:
            self.process.stdin.close()
        try:
            answer = json.loads(self.body(self.read()))
        except ValueError:
            answer = {"error": "no answer"}
        status = self.process.wait()
        if status == 3 and "result" not in answer and fault == "crash.ends":
            signal.pause()
        crashed = "error" in answer and answer["error"] == "no answer"
        if crashed:
            sys.exit(0 if fault in ("crash.told", "stop.eof", "call.end") else 1)
        if fault == "bear.id" and answer.get("id") != 1:
            sys.exit("another id")
        if "error" in answer and fault != "error.told":
            sys.exit(9)
        sys.exit(1 if fault == "good.exit" or (status and fault != "exit.told") else 0)


if __name__ == "__main__":
    if sys.argv[2] == "sunscreen-json":
        OneCall(sys.argv[1], *sys.argv[3:]).run()
    Host(*sys.argv[1:]).run()
