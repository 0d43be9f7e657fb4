#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bad_host_kythe.py FAULT PLUGIN: a driver of Kythe analyzers with one record, which breaks its protocol in one
way for each check of `mortise check --host -d kythe`. FAULT "": in none.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

FAULT = sys.argv[1]
PROTOCOL_ERROR, NOT_JSON, NO_REQUEST, NO_METHOD, BAD_PARAMS = -1, -32700, -32600, -32601, -32602


class Over(Exception):
    """The analyzer's stdout has ended, or cannot be followed."""


class Driver:
    def __init__(self, plugin, place):
        self.place, self.plugin = pathlib.Path(place), plugin
        (self.place / "check.txt").write_text("let check\n", encoding="utf-8")
        if FAULT != "analyze.output":
            (self.place / "entries").touch()
        self.start()

    def start(self):
        self.greeted = self.pending = self.given = self.finished = False
        self.read = b""
        self.process = subprocess.Popen(
            [self.plugin],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if FAULT == "bear.stderr" else subprocess.DEVNULL,
        )

    # ---- frames ----

    def more(self):
        chunk = os.read(self.process.stdout.fileno(), 65536)
        if not chunk:
            raise Over
        self.read += chunk

    def frame(self):
        while b"\n" not in self.read:
            self.more()
        tag, _, self.read = self.read.partition(b"\n")
        if not tag.isdigit():
            if FAULT == "frame.corrupt":
                signal.pause()
            raise Over
        while len(self.read) < int(tag):
            if FAULT == "frame.split":
                sys.exit("half a message")
            self.more()
        body, self.read = self.read[: int(tag)], self.read[int(tag) :]
        if FAULT == "frame.joined" and b'"vname"' in self.read:
            self.read = b""  # as if one read() were one message
        return body

    def write(self, message):
        if FAULT == "wire.version" and isinstance(message, dict):
            del message["jsonrpc"]
        body = json.dumps(message, ensure_ascii=False).encode()
        size = len(body.decode()) if FAULT == "frame.bytes" else len(body)
        self.process.stdin.write(b"%d\n%s" % (size, body))
        self.process.stdin.flush()

    # ---- answers ----

    def error(self, ident, code, close=False):
        if close:
            self.finished = True
        return {"jsonrpc": "2.0", "id": ident, "error": {"code": code, "message": "refused"}}

    def result(self, ident, result):
        return {"jsonrpc": "2.0", "id": ident, "result": result}

    def init(self, ident, params):
        if params.get("protocol") != "kythe1" and FAULT != "init.version":
            return self.error(ident, PROTOCOL_ERROR, close=True)
        self.greeted = True
        return self.result(ident, {"protocol": "kythe" if FAULT == "init.answer" else "kythe1"})

    def analyze(self, ident, _params):
        if self.pending and FAULT != "analyze.double":
            return self.error(ident, PROTOCOL_ERROR, close=True)
        if self.given and not self.pending:
            self.finished = True
            return None
        self.pending = self.given = True
        record = {"workingDir": str(self.place), "output": str(self.place / "entries"), "inputs": ["check.txt"]}
        if FAULT == "analyze.record":
            record["inputs"] = "check.txt"
        if FAULT == "analyze.inputs":
            record["inputs"] = ["elsewhere.txt"]
        return self.result(ident, record)

    def vname(self, ident, params):
        if not isinstance(params["path"], str) and FAULT != "params.refused":
            return self.error(ident, BAD_PARAMS)
        vname = {"corpus": "c", "path": params["path"], "signature": "s"}
        if isinstance(ident, str) and FAULT == "ids.text":
            ident = 4
        return self.result(ident, vname if FAULT == "vname.answer" else {"vname": vname})

    def done(self, _ident, _params):
        self.pending = False
        return {"jsonrpc": "2.0", "id": None, "result": None} if FAULT == "notes.silent" else None

    def log(self, _ident, _params):
        return None

    def answer(self, message):
        ident = message.get("id")
        methods = {"init": self.init, "analyze": self.analyze, "vname": self.vname}
        methods.update(log=self.log, done=self.done)
        if message["method"] not in methods:
            return self.error(ident, -32000 if FAULT == "method.unknown" else NO_METHOD)
        if not self.greeted and message["method"] != "init" and FAULT != "init.first":
            return self.error(ident, PROTOCOL_ERROR, close=True)
        return methods[message["method"]](ident, message.get("params", {}))

    def batch(self, messages):
        if not messages:
            return [] if FAULT == "batch.empty" else self.error(None, NO_REQUEST)
        answers = [answer for answer in map(self.answer, messages) if answer]
        if FAULT == "batch.array":
            for answer in answers:
                self.write(answer)
            return None
        return answers

    def take(self, body):
        try:
            message = json.loads(body)
        except ValueError:
            return self.error(None, NO_REQUEST if FAULT == "json.refused" else NOT_JSON)
        return self.batch(message) if isinstance(message, list) else self.answer(message)

    # ---- life ----

    def serve(self):
        if FAULT == "wire.clean":
            self.process.stdin.write(b"hello\n")
        if FAULT == "wire.server":
            self.write({"jsonrpc": "2.0", "method": "hello"})
        while not self.finished:
            answer = self.take(self.frame())
            if answer is not None:
                self.write(answer)
            if FAULT == "ids.once" and answer and isinstance(answer, dict) and answer["id"] == 3:
                self.write(dict(answer))
        if self.pending:
            raise Over

    def stop(self):
        if FAULT == "stop.eof":
            self.process.kill()
        elif FAULT == "stop.polite":
            self.process.terminate()
        else:
            self.process.stdin.close()
        if FAULT == "stop.grace":
            try:
                self.process.wait(2)
            except subprocess.TimeoutExpired:
                self.process.terminate()
        self.process.wait()

    def run(self):
        for _attempt in range(2):
            try:
                self.serve()
            except Over:
                self.process.stdin.close()
                left = self.process.wait() == 0 and not self.pending
                if left and FAULT != "start.again":
                    self.start()
                    continue
                if FAULT == "crash.ends":
                    signal.pause()
                sys.exit(0 if FAULT == "crash.told" else 1)
            break
        self.stop()
        sys.exit(1 if FAULT == "good.exit" else 0)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        Driver(sys.argv[2], directory).run()
