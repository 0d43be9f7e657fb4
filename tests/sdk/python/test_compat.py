#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Plugins that were written for yams_sdk and gassist_sdk. The listings are those of the specifications, byte by
byte; the names that they leave out are put into builtins."""
import base64
import json
import os
import pathlib
import subprocess
import sys
import unittest

from support import LIMIT, MORTISE, Case, environment

HERE = pathlib.Path(__file__).resolve().parent
WRAPPER = """
    import builtins, runpy, sys

    builtins.extracted_text = "what was in it"
    builtins.do_search = lambda query: [query.upper()]
    builtins.get_weather_data = lambda location: "Sunny in " + location
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
"""


class Listings(Case):
    def command(self, name):
        self.write(WRAPPER, "wrapper.py")
        (self.dir / "plugin.py").write_bytes((HERE / (name + ".listing")).read_bytes())
        return ["/usr/bin/python3", str(self.dir / "wrapper.py"), str(self.dir / "plugin.py")]

    def mortise(self, *words):
        done = subprocess.run(
            [MORTISE, *words], capture_output=True, text=True, env=environment(), cwd=self.dir, timeout=LIMIT
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_yams(self):
        command = self.command("yams")
        said = self.mortise(
            "call", "-d", "yams", "extractor.supports", "extension=.myformat", "mime_type=a/b", "--", *command
        )
        self.assertEqual(json.loads(said), {"supported": True})
        path = self.dir / "x.myformat"
        path.write_text("x")
        for source in (
            {"type": "path", "path": str(path)},
            {"type": "bytes", "data": base64.b64encode(b"abc").decode()},
        ):
            params = json.dumps({"source": source})
            said = self.mortise("call", "-d", "yams", "extractor.extract", params, "--", *command)
            self.assertEqual(json.loads(said)["content"], "what was in it")

    def test_gassist(self):
        command = self.command("gassist")
        said = self.mortise("run", "-d", "gassist", "search_web", "query=moths", "--", *command)
        self.assertIn("Searching...", said)
        self.assertIn("MOTHS", said)
        said = self.mortise("run", "-d", "gassist", "get_weather", "location=Rome", "--", *command)
        self.assertIn("Sunny in Rome", said)


YAMS = """
    import os, sys
    from yams_sdk.base import BasePlugin
    from yams_sdk.decorators import rpc


    class Shaped(BasePlugin):
        def __init__(self):
            super().__init__()
            self.config = None
            for name in dir(self):  # as upstream's own plugin does it
                fn = getattr(self, name)
                if getattr(fn, "__rpc_name__", None):
                    self.register(fn.__rpc_name__, fn)

        def manifest(self):
            return {"name": "shaped", "version": "0.1.0", "interfaces": ["content_extractor_v1"]}

        def init(self, config):
            if config.get("refuse"):
                raise RuntimeError("not like this")
            self.config = config

        def health(self):
            return {"status": "degraded", "config": self.config}

        @rpc("extractor.extract")
        def extract(self, source, options=None):
            with open(source["path"]) as file:
                return {"text": file.read(), "metadata": {"path": source.get("path")}, "error": None}

        @rpc("shaped.own")
        def own(self, a, b=2):
            print("to stdout")
            return [a, b]

        def shutdown(self):
            print("over", file=sys.stderr)


    if __name__ == "__main__":
        Shaped().run()
"""
GASSIST = """
    import sys
    try:
        from gassist_sdk import CommandResult, Context, Plugin, command
    except ImportError as e:
        sys.stderr.write(f"FATAL: {e}")
        sys.exit(1)

    plugin = Plugin(name="shaped", version="2.0.0", description="As in the field")
    history = []

    @plugin.command("say_hello")
    def say_hello(name: str = "World", context: Context = None, system_info=None):
        '''
        Greet the user.

        Args:
            name: Who
        '''
        return f"Hello {name} {len(context)} {system_info}"

    @plugin.command(description="Talks")
    def start(topic: str = "anything", **more):
        print("to stdout")
        plugin.log("starting")
        plugin.set_keep_session(True)
        return f"About {topic} {sorted(more)}"

    @plugin.command("on_input")
    def on_input(content: str):
        history.append(content)
        plugin.stream("heard ")
        plugin.set_keep_session(content != "exit")
        return str(len(history))

    @command()
    def found(how="late"):
        return CommandResult(success=False, error="not " + how)

    if __name__ == "__main__":
        plugin.run()
"""


class InTheField(Case):
    def test_yams(self):
        host = self.plugin(YAMS, "yams")
        self.assertEqual(host.request("handshake.manifest")["name"], "shaped")
        self.fails(-32603, host.request, "plugin.init", {"refuse": True})
        self.fails(-32003, host.request, "shaped.own", {"a": 1})
        self.assertEqual(host.request("plugin.init", {"project": "flat"})["status"], "initialized")
        self.assertEqual(host.request("plugin.health"), {"status": "degraded", "config": {"project": "flat"}})
        self.assertEqual(host.request("shaped.own", {"a": 1}), [1, 2])
        self.assertEqual(host.request("shaped.own", [5, 6]), [5, 6])
        self.fails(-32602, host.request, "shaped.own", {"b": 1})
        source = {"type": "bytes", "data": base64.b64encode(b"inside").decode()}
        result = host.request("extractor.extract", {"source": source, "options": {}})
        self.assertEqual(result["text"], "inside")
        self.assertFalse(os.path.exists(result["metadata"]["path"]))  # it was private, and is gone
        missing = {"source": {"type": "path", "path": "/no/such/file"}}
        self.assertEqual(
            self.fails(-32000, host.request, "extractor.extract", missing).data, {"reason": "FileNotFoundError"}
        )
        self.assertIsNone(host.request("plugin.shutdown"))
        self.assertIn("over", host.stderr)
        host.close()
        self.assertEqual(host.returncode, 0)

    def test_gassist(self):
        host = self.plugin(GASSIST, "gassist")
        about = host.greet()
        self.assertEqual([c["name"] for c in about["commands"]], ["say_hello", "start", "on_input", "found"])
        self.assertEqual([c["description"] for c in about["commands"]][:2], ["Greet the user.", "Talks"])
        arguments = {"function": "say_hello", "arguments": {"name": 5}, "context": [{}], "system_info": "box"}
        self.assertEqual(host._turn("execute", arguments), "Hello 5 1 box")
        self.assertEqual(host.call("start", topic="birds", other=1), "About birds ['other']")
        self.assertTrue(host.notes[-1]["params"]["keep_session"])
        self.assertEqual((host.say("one"), host.streamed), ("1", "heard "))
        self.assertTrue(host.notes[-1]["params"]["keep_session"])
        self.assertEqual(host.say("exit"), "2")
        self.assertFalse(host.notes[-1]["params"]["keep_session"])
        self.assertEqual(host.call("found"), "not late")
        self.assertFalse(host.notes[-1]["params"]["success"])
        host.notify("shutdown")
        self.assertEqual(host.process.wait(LIMIT), 0)
        self.assertEqual(sorted(path.name for path in self.dir.iterdir()), ["plugin.py"])  # nothing is littered

    def test_input_that_nobody_handles(self):
        source = GASSIST.replace('@plugin.command("on_input")', "")
        self.assertEqual(self.plugin(source, "gassist").say("hm"), "Received: hm")

    def test_mcp_is_refused_clearly(self):
        for line in ("from gassist_sdk import MCPPlugin; MCPPlugin('x')", "import gassist_sdk.mcp"):
            done = subprocess.run([sys.executable, "-c", line], capture_output=True, env=environment())
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(b"has no MCP discovery: declare each tool with @plugin.command", done.stderr)


if __name__ == "__main__":
    unittest.main()
