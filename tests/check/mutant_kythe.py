#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""mutant_kythe.py [CHECK]: a Kythe analyzer that keeps to its protocol, and can break it in one way for each
check of `mortise check -d kythe`. It copies its input into an entry, and asks for one vname.
"""
import json
import os
import signal
import sys

FAULT = sys.argv[1] if len(sys.argv) > 1 else ""


class Over(Exception):
    """stdin has ended, or cannot be followed."""


class Analyzer:
    def __init__(self):
        self.count = 0

    # ---- frames ----

    def write_raw(self, data):
        while data:
            data = data[os.write(1, data) :]

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.write_raw(b"%d\n%s" % (len(body), body))

    def exactly(self, size):
        data = b""
        while len(data) < size:
            chunk = os.read(0, size - len(data))
            if not chunk:
                if FAULT == "stop.half" and data:
                    signal.pause()
                raise Over
            if FAULT == "analyze.split" and len(chunk) < size - len(data) and size < 60000:
                sys.exit("half a message")  # as if one read() were one message
            data += chunk
        return data

    def receive(self):
        tag = b""
        while not tag.endswith(b"\n"):
            byte = os.read(0, 1)
            if not byte:
                raise Over
            tag += byte
        if not tag[:-1].isdigit():
            if FAULT == "stop.corrupt":
                signal.pause()
            raise Over
        size = int(tag)
        if FAULT == "analyze.large" and size > 500000:
            sys.exit("too large")
        return json.loads(self.exactly(size))

    # ---- calls ----

    def request(self, method, params):
        self.count += 1
        ident = 1 if FAULT == "ids.unique" else self.count
        self.send({"id": ident, "method": method, "params": params})
        return self.receive()

    def note(self, method, **members):
        self.send({"method": method, **members})

    # ---- life ----

    def init(self):
        params = {"protocol": "kythe2" if FAULT == "init.protocol" else "kythe1", "outputEncoding": "json"}
        if FAULT == "init.encoding":
            params["outputEncoding"] = "xml"
        if FAULT == "init.request":
            self.note("init", params=params)
            return self.receive()
        if FAULT == "init.first":
            self.note("log", params={"message": "starting"})
        if FAULT == "init.waits":
            self.count += 1
            self.send({"id": self.count, "method": "init", "params": params})
            self.count += 1
            self.send({"id": self.count, "method": "analyze", "params": {"types": ["/kythe/index/toy"]}})
            return self.receive()
        reply = self.request("init", params)
        if FAULT == "init.extra" and "mortise" in reply.get("result", {}):
            sys.exit("an unknown member")
        if "error" in reply and FAULT == "init.refused":
            signal.pause()
        if FAULT == "init.once":
            self.count += 1
            self.send({"id": self.count, "method": "init", "params": params})
        return reply

    def ask(self):
        types = ["kythe index"] if FAULT == "analyze.types" else ["/kythe/index/toy"]
        if FAULT == "init.waits" and self.count == 2:
            return self.receive()
        if FAULT == "analyze.request":
            self.note("analyze", params={"types": types})
            return self.receive()
        if FAULT == "analyze.patient":
            self.count += 1
            self.send({"id": self.count, "method": "analyze", "params": {"types": types}})
        return self.request("analyze", {"types": types})

    def analyze(self, record):
        if FAULT == "analyze.extra" and "mortise" in record:
            sys.exit("an unknown member")
        if not record["inputs"]:
            if FAULT == "analyze.no-inputs":
                os.abort()
            return
        path = os.path.join(record["workingDir"], record["inputs"][0])
        if FAULT == "analyze.unicode":
            path.encode("ascii")
        vname = self.request("vname", {"path": record["inputs"][0]})
        if "error" in vname and FAULT == "vname.refused":
            os.abort()
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        except OSError as why:
            if FAULT == "analyze.missing":
                os.abort()
            self.note("log", params={"message": str(why)})
            return
        entry = {
            "source": vname.get("result", {}).get("vname", {}),
            "fact_name": "/kythe/text",
            "fact_value": text,
        }
        if FAULT != "output.written":
            with open(record["output"], "a", encoding="utf-8") as file:
                file.write(json.dumps(entry)[:-1] if FAULT == "output.records" else json.dumps(entry) + "\n")
        if FAULT == "notes.params":
            self.note("log", params={"message": 7})

    def done(self):
        if FAULT == "done.note":
            self.count += 1
            self.send({"id": self.count, "method": "done", "params": {}})
        elif FAULT != "analyze.done":
            self.note("done", params={})
        if FAULT == "done.once":
            self.note("done", params={})

    def work(self):
        if "error" in self.init():
            return
        while True:
            reply = self.ask()
            if "error" in reply:
                if FAULT == "analyze.error":
                    os.abort()
                return
            self.analyze(reply["result"])
            self.done()
            if FAULT == "analyze.second":
                signal.pause()

    def spoil(self):
        """Faults of the whole run."""
        if FAULT == "stop.term":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if FAULT == "stderr.small":
            os.write(2, b"debug: nothing is wrong here\n" * 3000)
        if FAULT == "stderr.text":
            os.write(2, b"\xff\xfe\n")

    def late(self):
        """Faults at the end, when nothing can be spoilt by them."""
        if FAULT == "stdout.clean":
            self.write_raw(b"good bye\n")
        if FAULT == "stdout.whole":
            self.write_raw(b"100\n{")
        if FAULT == "json.valid":
            self.write_raw(b"3\n{x}")
        if FAULT == "json.message":
            self.write_raw(b'17\n{"jsonrpc":"2.0"}')
        if FAULT == "json.version":
            body = b'{"method":"log","params":{"message":"x"}}'
            self.write_raw(b"%d\n%s" % (len(body), body))
        if FAULT in ("stop.eof", "stop.early"):
            signal.pause()


def main():
    analyzer = Analyzer()
    analyzer.spoil()
    try:
        analyzer.work()
    except Over:
        pass
    if FAULT != "stop.early" or analyzer.count == 1:
        analyzer.late()


if __name__ == "__main__":
    main()
