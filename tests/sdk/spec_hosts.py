#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Small hosts that were written from the specifications alone: nothing of Mortise or Tenon is used. They run
the example plugins of each language, and the listings that two of the specifications print, byte by byte."""
import base64
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("MORTISE_BUILD", ROOT / "build")).resolve()
PYTHON, NODE = "/usr/bin/python3", shutil.which("node") or "/usr/bin/node"
LIMIT = 300  # seconds: only to end what hangs
EXAMPLES = {
    "c": lambda dialect: [BUILD / f"examples/plugin-{dialect}"],
    "python": lambda dialect: [PYTHON, "-B", ROOT / f"examples/plugins/python/{dialect}.py"],
    "node": lambda dialect: [NODE, ROOT / f"examples/plugins/node/{dialect}.mjs"],
}
# Gives the names that the listings leave out.
WRAPPER = """import builtins, runpy, sys
builtins.extracted_text = "what was in it"
builtins.do_search = lambda query: [query.upper()]
builtins.get_weather_data = lambda location: "Sunny in " + location
runpy.run_path(sys.argv[1], run_name="__main__")
"""


class Host:
    """A process with pipes. Subclasses know the framing and the messages."""

    def __init__(self, command, cwd):
        env = {**os.environ, "PYTHONPATH": f"{ROOT}/sdk/python{os.pathsep}{ROOT}/sdk/python/compat"}
        env.pop("MORTISE_DIALECT", None)
        modules = pathlib.Path(cwd, "node_modules")
        self.process = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**env, "NODE_PATH": str(modules)},
            cwd=cwd,
        )
        self.alarm = threading.Timer(LIMIT, self.process.kill)
        self.alarm.start()
        self.last_id = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.alarm.cancel()

    def leave(self):
        self.process.stdin.close()
        rest = self.process.stdout.read()
        assert self.process.wait(LIMIT) == 0, "exit status %d" % self.process.returncode
        return rest

    def request(self, method, params=None):
        self.last_id += 1
        message = {"jsonrpc": "2.0", "id": self.last_id, "method": method}
        if params is not None:
            message["params"] = params
        self.write(message)
        return self.last_id

    def call(self, method, params=None):
        wanted = self.request(method, params)
        answer = self.read()
        assert answer["jsonrpc"] == "2.0" and answer["id"] == wanted, answer
        if "error" in answer:
            raise PluginFault(answer["error"])
        return answer["result"]


class PluginFault(Exception):
    def __init__(self, error):
        super().__init__(error)
        self.code, self.message = error["code"], error["message"]


class Lines(Host):
    """NDJSON: YAMS, Ayiou, Sunscreen."""

    def write(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def read(self):
        line = self.process.stdout.readline()
        assert line.endswith(b"\n"), line
        return json.loads(line)


class LengthPrefixed(Host):
    """G-Assist: four bytes, most significant first."""

    def write(self, message):
        body = json.dumps(message).encode()
        self.process.stdin.write(struct.pack(">I", len(body)) + body)
        self.process.stdin.flush()

    def read(self):
        (size,) = struct.unpack(">I", self.process.stdout.read(4))
        return json.loads(self.process.stdout.read(size))

    def turn(self, method, params):
        """Until complete: the streamed text and the params of complete; pings are sent in between."""
        wanted, pieces = self.request(method, params), []
        while True:
            message = self.read()
            if message.get("method") == "stream":
                assert message["params"]["request_id"] == wanted
                pieces.append(message["params"]["data"])
            elif message.get("method") == "complete":
                assert message["params"]["request_id"] == wanted
                return pieces, message["params"]
            elif message.get("method") == "error":
                raise PluginFault(message["params"])
            elif "error" in message:
                raise PluginFault(message["error"])
            elif message.get("id") == wanted:
                assert message["result"] == {"acknowledged": True}, message


class Headers(Host):
    """Sunscreen's own program: one request with a Content-Length, then the end of stdin."""

    def once(self, message):
        body = json.dumps(message).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        head, _, answer = self.leave().partition(b"\r\n\r\n")
        assert int(head.decode().lower().split("content-length:")[1].split()[0]) == len(answer)
        return json.loads(answer)


class Driver(Host):
    """Kythe: the analyzer asks. The length in decimal, a newline, the body."""

    def read(self):
        tag = self.process.stdout.readline()
        return json.loads(self.process.stdout.read(int(tag))) if tag else None

    def answer(self, message, result):
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        self.process.stdin.write(b"%d\n" % len(body) + body)
        self.process.stdin.flush()


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="spec-hosts-"))
        self.addCleanup(shutil.rmtree, self.dir)

    def command(self, language, dialect):
        command = EXAMPLES[language](dialect)
        if language == "node":  # "tenon" is looked up from the file's own place
            (self.dir / "node_modules").mkdir(exist_ok=True)
            if not (self.dir / "node_modules/tenon").exists():
                (self.dir / "node_modules/tenon").symlink_to(ROOT / "sdk/node")
            copy = self.dir / f"{dialect}.mjs"
            shutil.copy(command[-1], copy)
            command[-1] = copy
        return command

    def each(self, dialect):
        for language in EXAMPLES:
            with self.subTest(f"{language} {dialect}"):
                if language == "node" and not shutil.which("node"):
                    self.skipTest("node is not installed")
                yield language, self.command(language, dialect)


class Examples(Case):
    FILES = {"c": ("a.srt", "1\n00:01 --> 00:02\nHello\n"), "node": ("a.srt", "1\n00:01 --> 00:02\nHello\n")}

    def test_yams(self):
        for language, command in self.each("yams"):
            name, text = self.FILES.get(language, ("a.html", "<p>Hello</p>"))
            file = self.dir / name
            file.write_text(text)
            with Lines(command, self.dir) as host:
                manifest = host.call("handshake.manifest")
                self.assertRegex(manifest["name"], r"^\w+$")
                self.assertIn("content_extractor_v1", manifest["interfaces"])
                with self.assertRaises(PluginFault) as early:
                    host.call("extractor.extract", {"source": {"type": "path", "path": str(file)}})
                self.assertEqual(early.exception.code, -32003)
                self.assertEqual(host.call("plugin.init", {"config": {}})["status"], "initialized")
                self.assertIn(host.call("plugin.health")["status"], ("ok", "healthy"))
                self.assertTrue(host.call("extractor.supports", {"extension": file.suffix})["supported"])
                self.assertFalse(host.call("extractor.supports", {"extension": ".nope"})["supported"])
                for source in (
                    {"type": "path", "path": str(file)},
                    {"type": "bytes", "data": base64.b64encode(text.encode()).decode()},
                ):
                    found = host.call("extractor.extract", {"source": source, "options": {}})
                    self.assertTrue(found["success"])
                    self.assertIn("Hello", found["content"])
                host.call("plugin.shutdown")
                self.assertEqual(host.leave(), b"")

    def test_gassist(self):
        calls = {
            "c": ("guess", {"most": 1}),
            "python": ("guess", {"limit": 1}),
            "node": ("checksum", {"path": "/bin/true"}),
        }
        for language, command in self.each("gassist"):
            function, arguments = calls[language]
            with LengthPrefixed(command, self.dir) as host:
                told = host.call("initialize", {"protocol_version": "2.0", "engine_version": "1.0"})
                self.assertIn("name", told)
                self.assertEqual(host.call("ping", {"timestamp": 1234567890}), {"timestamp": 1234567890})
                pieces, end = host.turn("execute", {"function": function, "arguments": arguments})
                self.assertTrue(end["success"])
                if end.get("keep_session"):
                    _, end = host.turn("input", {"content": "1", "timestamp": 1})
                self.assertFalse(end.get("keep_session"), end)
                with self.assertRaises(PluginFault) as unknown:
                    host.turn("execute", {"function": "nope", "arguments": {}})
                self.assertEqual(unknown.exception.code, -32601)
                host.write({"jsonrpc": "2.0", "method": "shutdown", "params": {}})
                self.assertEqual(host.process.wait(LIMIT), 0)

    def test_ayiou(self):
        said = {"c": "/roll 2 Ada", "python": "/vote tea", "node": "/buy milk"}
        for language, command in self.each("ayiou"):
            message = {
                "message_type": "group",
                "user_id": 1,
                "group_id": 9223372036854775807,
                "text": said[language],
            }
            with Lines(command, self.dir) as host:
                self.assertLessEqual({"name", "description", "version"}, set(host.call("metadata", {})))
                self.assertEqual(host.call("lifecycle", {"event": {"startup": None}}), {"ok": True})
                self.assertEqual(host.call("matches", message), {"matches": True})
                self.assertEqual(host.call("matches", {**message, "text": "hello"}), {"matches": False})
                done = host.call("handle", {**message, "raw_message": message["text"], "self_id": 2})
                self.assertTrue(done["handled"] and isinstance(done["reply"], str), done)
                self.assertEqual(host.call("lifecycle", {"event": {"shutdown": None}}), {"ok": True})
                self.assertEqual(host.leave(), b"")

    def test_sunscreen(self):
        words = {"c": ["hello"], "python": ["Sold", "price"], "node": ["TooLate"]}
        for language, command in self.each("sunscreen"):
            (self.dir / "ws/programs/app/src").mkdir(parents=True, exist_ok=True)
            with Lines(command, self.dir) as host:
                offered = host.call("commands")
                name = next(iter(offered["scaffold"]))
                params = {"command": "scaffold:" + name, "args": words[language], "flags": {}, "config": {}}
                done = host.call("run", {**params, "workspace_root": str(self.dir / "ws")})
                self.assertTrue(done["files_written"] and isinstance(done["summary"], str), done)
                for path in done["files_written"]:
                    self.assertTrue((self.dir / "ws" / path).is_file(), path)
                self.assertEqual(host.leave(), b"")

    def test_sunscreen_json(self):
        names = {"c": "list", "python": "size", "node": "todo"}
        for language, command in self.each("sunscreen-json"):
            (self.dir / "ws").mkdir(exist_ok=True)
            params = {"args": [], "command": names[language], "kind": "app", "plugin": "x"}
            params.update(workspace=str(self.dir / "ws"), scratch=str(self.dir))
            with Headers(command, self.dir) as host:
                answer = host.once(
                    {"id": 1, "jsonrpc": "2.0", "method": "sunscreen.command/run", "params": params}
                )
                self.assertEqual(answer["id"], 1)
                self.assertIn("result", answer)

    def test_kythe(self):
        for language, command in self.each("kythe"):
            (self.dir / "a.c").write_text("int main(void)\n{\n}\n")
            out = self.dir / f"out.{language}"
            unit = {
                "workingDir": str(self.dir),
                "inputs": ["a.c"],
                "arguments": ["cc", "a.c"],
                "output": str(out),
            }
            with Driver(command, self.dir) as host:
                seen = []
                while (message := host.read()) is not None:
                    seen.append(message["method"])
                    if message["method"] == "init":
                        self.assertEqual(message["params"]["protocol"], "kythe1")
                        host.answer(message, {"protocol": "kythe1"})
                    elif message["method"] == "vname":
                        host.answer(message, {"vname": {"corpus": "c", "path": message["params"]["path"]}})
                    elif message["method"] == "analyze":
                        if "done" in seen:
                            break
                        host.answer(message, unit)
                self.assertEqual([seen[0], seen[1], seen[-2], seen[-1]], ["init", "analyze", "done", "analyze"])
                self.assertGreater(out.stat().st_size, 0)
                self.assertEqual(host.leave(), b"")


class Listings(Case):
    """What the specifications print, with a body for what they leave out."""

    def listing(self, name):
        (self.dir / "wrapper.py").write_text(WRAPPER)
        shutil.copy(ROOT / f"tests/sdk/python/{name}.listing", self.dir / "plugin.py")
        return [PYTHON, "-B", self.dir / "wrapper.py", self.dir / "plugin.py"]

    def test_yams(self):
        with Lines(self.listing("yams"), self.dir) as host:
            self.assertEqual(host.call("handshake.manifest")["name"], "my_extractor")
            self.assertEqual(host.call("plugin.init", {"config": {}})["status"], "initialized")
            self.assertTrue(host.call("extractor.supports", {"extension": ".myformat"})["supported"])
            for source in ({"type": "path", "path": "/x"}, {"type": "bytes", "data": "aGk="}):
                found = host.call("extractor.extract", {"source": source})
                self.assertEqual(found["content"], "what was in it")
            self.assertEqual(host.leave(), b"")

    def test_gassist(self):
        with LengthPrefixed(self.listing("gassist"), self.dir) as host:
            self.assertEqual(host.call("initialize", {"protocol_version": "2.0"})["name"], "my-plugin")
            self.assertEqual(host.call("ping", {"timestamp": 7}), {"timestamp": 7})
            pieces, end = host.turn("execute", {"function": "search_web", "arguments": {"query": "hi"}})
            self.assertEqual((pieces, end["data"]), (["Searching..."], {"results": ["HI"]}))
            _, end = host.turn("execute", {"function": "get_weather", "arguments": {"location": "Rome"}})
            self.assertEqual(end["data"], "Sunny in Rome")


if __name__ == "__main__":
    unittest.main()
