# SPDX-License-Identifier: Apache-2.0
"""A Kythe analyzer with the Node package, seen by a driver that misbehaves where a real one would not."""
import base64
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
LIMIT = 300  # seconds: only to end what hangs
ANALYZER = """
import fs from "node:fs";
import { Plugin } from "%s/sdk/node/index.js";
const plugin = new Plugin({ name: "toy", version: "1.0.0", encoding: process.env.TOY_ENCODING });
plugin.analysis("/kythe/index/toy", async (unit, call) => {
  console.log("noise");
  if (unit.details[0] === "fail") throw new Error("cannot analyze");
  if (unit.details[0] === "wait") {
    process.stderr.write("waiting\\n");
    await new Promise((resolve) => call.signal.addEventListener("abort", resolve));
    return;
  }
  const [first, again] = await Promise.all([call.vname("a.toy"), call.vname("a.toy")]);
  call.fact(first, "/kythe/node/kind", "file");
  call.fact(again, "/kythe/text", fs.readFileSync("a.toy"));
  call.edge({ ...first, signature: "x", path: "" }, "/kythe/edge/childof", first);
  call.record("raw");
  call.log("info", unit.environment.WHO);
  call.diagnostic("odd", { path: "a.toy", line: 3, column: 2 });
});
plugin.onStart(() => process.stderr.write("start\\n"));
plugin.onStop(() => process.stderr.write("stop\\n"));
plugin.run();
"""


def records(data):
    """Length-delimited records."""
    found, at = [], 0
    while at < len(data):
        size, shift = 0, 0
        while True:
            byte = data[at]
            at += 1
            size |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        found.append(data[at : at + size])
        at += size
    return found


class Driver(unittest.TestCase):
    def setUp(self):
        where = tempfile.TemporaryDirectory(prefix="mortise-toy-")
        self.addCleanup(where.cleanup)
        self.dir = pathlib.Path(where.name)
        (self.dir / "toy.mjs").write_text(ANALYZER % ROOT)
        (self.dir / "a.toy").write_bytes(b"text \xff")

    def start(self, **env):
        self.process = subprocess.Popen(
            ["node", str(self.dir / "toy.mjs")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "MORTISE_DIALECT": "kythe", **env},
        )
        self.addCleanup(self.process.wait, LIMIT)
        self.addCleanup(self.process.kill)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            self.addCleanup(stream.close)

    def receive(self):
        size = int(self.process.stdout.readline())
        return json.loads(self.process.stdout.read(size))

    def answer(self, asked, result=None, **more):
        message = {"jsonrpc": "2.0", "id": asked["id"], **(more or {"result": result})}
        text = json.dumps(message).encode()
        self.process.stdin.write(b"%d\n%s" % (len(text), text))
        self.process.stdin.flush()

    def greet(self, encoding="protobuf"):
        asked = self.receive()
        params = {"protocol": "kythe1", "outputEncoding": encoding}
        self.assertEqual(asked, {"jsonrpc": "2.0", "id": 1, "method": "init", "params": params})
        self.answer(asked, {"protocol": "kythe1"})
        asked = self.receive()
        self.assertEqual((asked["method"], asked["params"]), ("analyze", {"types": ["/kythe/index/toy"]}))
        return asked

    def give(self, asked, *details):
        (self.dir / "out").write_bytes(b"")
        unit = {"workingDir": str(self.dir), "inputs": ["a.toy"], "output": str(self.dir / "out")}
        unit["environment"] = [{"name": "WHO", "value": "me"}]
        self.answer(asked, {**unit, "details": list(details)})

    def ends(self, status, *heard):
        err = self.process.stderr.read().decode()
        self.assertEqual(self.process.wait(LIMIT), status, err)
        for text in heard:
            self.assertIn(text, err)

    def one_unit(self, encoding):
        self.start(TOY_ENCODING=encoding)
        self.give(self.greet(encoding))
        asked = self.receive()
        self.assertEqual((asked["method"], asked["params"]), ("vname", {"path": "a.toy", "signature": ""}))
        self.answer(asked, {"vname": {"corpus": "c", "path": "a.toy"}})
        said = [self.receive() for _ in range(4)]
        self.assertEqual([one["method"] for one in said], ["log", "log", "done", "analyze"])
        self.assertEqual(said[0]["params"], {"message": "me"})
        self.assertEqual(said[1]["params"]["message"]["span"], {"start": {"lineNumber": 3, "columnOffset": 1}})
        self.process.stdin.close()
        self.ends(0, "start", "noise", "stop")
        return records((self.dir / "out").read_bytes())

    def test_json(self):
        kind, text, edge, raw = self.one_unit("json")
        self.assertEqual(json.loads(kind)["source"], {"corpus": "c", "path": "a.toy"})
        self.assertEqual(base64.b64decode(json.loads(text)["factValue"]), b"text \xff")
        self.assertEqual(json.loads(edge)["edgeKind"], "/kythe/edge/childof")
        self.assertEqual(json.loads(edge)["target"], {"corpus": "c", "path": "a.toy"})
        self.assertEqual(raw, b"raw")

    def test_protobuf(self):
        kind, text, edge, raw = self.one_unit("protobuf")
        name = b"\x12\x01c\x22\x05a.toy"
        self.assertEqual(kind, b"\x0a\x0a" + name + b"\x22\x10/kythe/node/kind\x2a\x04file")
        self.assertTrue(text.endswith(b"\x2a\x06text \xff"))
        self.assertIn(b"\x12\x13/kythe/edge/childof\x1a\x0a" + name, edge)
        self.assertEqual(raw, b"raw")

    def test_an_error_ends_it_without_done(self):
        self.start()
        self.give(self.greet(), "fail")
        self.ends(1, "Error: cannot analyze")
        self.assertEqual(self.process.stdout.read(), b"")

    def test_refused(self):
        self.start()
        self.answer(self.receive(), error={"code": -1, "message": "unknown version"})
        self.ends(1, "init: unknown version (-1)")

    def test_told_when_the_driver_closes_its_input(self):
        self.start()
        self.give(self.greet(), "wait")
        while b"waiting" not in self.process.stderr.readline():
            pass
        self.process.stdin.close()
        self.ends(0, "stop")

    def test_sigterm(self):
        self.start()
        self.greet()
        self.process.send_signal(signal.SIGTERM)
        self.ends(0, "stop")

    def test_corrupt_frames_end_it(self):
        for frame in (b"+5\nhello", b"007\n{}", b"\n", b"x", b"5 \n", b"99999999999\n", b"5\nhel"):
            self.start()
            self.receive()
            self.process.stdin.write(frame)
            self.process.stdin.close()
            self.assertEqual(self.process.wait(LIMIT), 0, frame)


if __name__ == "__main__":
    unittest.main()
