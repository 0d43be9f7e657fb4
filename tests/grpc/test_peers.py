# SPDX-License-Identifier: Apache-2.0
"""Plugins of others over gRPC (peers/): they do what the tests of the host expect of them. MORTISE_BUILD names
the build directory."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    from service import LIMIT, PLUGIN, PROTO, Client
except ImportError as problem:
    print(f"skipped: {problem}; python3-grpcio and python3-protobuf are needed")
    sys.exit(77)

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("MORTISE_BUILD", HERE.parents[1] / "build")).resolve()
GO_PLUGIN = BUILD / "hashicorp" / "plugin"
MODULES = BUILD / "grpc-js" / "node_modules"


class Peer(unittest.TestCase):
    def start(self, command, **env):
        folder = tempfile.mkdtemp(prefix="peer-")
        self.addCleanup(shutil.rmtree, folder)
        process = subprocess.Popen(
            command,
            env={"PATH": os.environ["PATH"], "TMPDIR": folder, "PYTHONDONTWRITEBYTECODE": "1", **env},
            stdout=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.communicate, timeout=LIMIT)
        self.addCleanup(process.kill)
        self.process = process
        line = process.stdout.readline().rstrip("\n")
        core, app, network, path, protocol = line.rstrip("|").split("|")  # go-plugin has an empty field more
        self.assertEqual((core, app, network, protocol), ("1", "1", "unix", "grpc"))
        self.client = Client(path)
        self.addCleanup(self.client.close)

    def talk(self):
        client = self.client
        self.assertEqual(client.plugin("Initialize", protocol_version="1").protocol_version, "1")
        self.assertEqual(len(client.plugin("Capabilities").commands), 5)
        self.assertEqual(client.run("hello", "a", "--b", kind="app"), (True, {"words": ["a", "--b"]}))
        failed = client.plugin("RunCommand", kind="app", name="fail")
        self.assertEqual((failed.ok, failed.json_result), (False, "it has failed"))
        hook = client.plugin("RunHook", hook="post-build", json_context='{"a":1}')
        self.assertEqual(json.loads(hook.json_result), {"context": {"a": 1}})
        stream = client.stream({"run": {"kind": "app", "name": "hello"}})
        self.assertEqual([stream.next()[0] for _ in range(4)], ["progress", "log", "piece", "result"])
        stream = client.stream({"run": {"kind": "app", "name": "wait"}})
        self.assertEqual(stream.next()[0], "progress")
        stream.send(cancel={})
        self.assertEqual(stream.next()[1].json_result, '"cancelled"')
        client.plugin("Shutdown")
        self.assertEqual(self.process.wait(LIMIT), 0)

    def test_grpcio(self):
        self.start(["/usr/bin/python3", str(HERE / "peers" / "peer.py")])
        self.talk()

    @unittest.skipUnless(MODULES.is_dir(), "@grpc/grpc-js is not installed: ./dev installs it")
    def test_grpc_js(self):
        self.start(["node", str(HERE / "peers" / "peer.mjs")], GRPC_JS=str(MODULES), PROTO=str(PROTO))
        self.talk()

    @unittest.skipUnless(MODULES.is_dir(), "@grpc/grpc-js is not installed: ./dev installs it")
    def test_a_crash_is_one(self):
        self.start(["node", str(HERE / "peers" / "peer.mjs")], GRPC_JS=str(MODULES), PROTO=str(PROTO))
        self.client.start(PLUGIN + "RunCommand", kind="app", name="crash").exception(timeout=LIMIT)
        self.assertEqual(self.process.wait(LIMIT), 3)

    @unittest.skipUnless(GO_PLUGIN.is_file(), "no plugin of go-plugin: ./dev builds it")
    def test_go_plugin(self):
        """HashiCorp's own: its line, health, calls, and its Shutdown."""
        self.start(
            [str(GO_PLUGIN)],
            MORTISE_TEST_COOKIE="a plugin of the tests",
            PLUGIN_PROTOCOL_VERSIONS="1",
        )
        self.assertEqual(self.client.call("/grpc.health.v1.Health/Check", service="plugin").status, 1)
        double = self.client.channel.unary_unary("/grpctest.Test/Double")
        self.assertEqual(double(b"\x08\x15", timeout=LIMIT), b"\x10\x2a")  # 21, 42
        self.client.start("/plugin.GRPCController/Shutdown").exception(timeout=LIMIT)
        self.assertEqual(self.process.wait(LIMIT), 0)


if __name__ == "__main__":
    unittest.main()
