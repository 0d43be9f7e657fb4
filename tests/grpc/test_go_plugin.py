# SPDX-License-Identifier: Apache-2.0
"""The dialect go-plugin with a real server (tests/plugins/grpc_go_plugin.py, on python3-grpcio)."""
import base64
import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "e2e"))
from support import PLUGINS, Case  # noqa: E402

try:
    import grpc  # noqa: F401
except ImportError:
    grpc = None

PLUGIN = PLUGINS / "grpc_go_plugin.py"
COOKIE = {"grpc.cookie_key": "KV_PLUGIN", "grpc.cookie_value": "hello", "grpc.start": "300s"}


@unittest.skipUnless(grpc, "needs python3-grpcio")
class GoPlugin(Case):
    def args(self, *words, how="", sets=(), options=()):
        sets = {**COOKIE, **dict(sets)}
        return [
            *words[:1],
            "--dialect",
            "go-plugin",
            *[word for key, value in sets.items() for word in ("--set", f"{key}={value}")],
            "--env",
            f"GO_PLUGIN={how}",
            *options,
            *words[1:],
            "--",
            PLUGIN,
        ]

    def good(self, *words, **more):
        done = self.run_mortise(*self.args("call", *words, **more))
        self.assertEqual(done.code, 0, done.err)
        return done

    def bad(self, code, kind, *words, **more):
        done = self.run_mortise(*self.args("call", *words, **more))
        self.assertEqual(done.code, code, done.err)
        told = [line for line in done.err.splitlines() if line.startswith(kind + ": ")]
        self.assertEqual(len(told), 1, done.err)
        return told[0]

    def describe(self):
        path = self.dir / "kv.desc"
        subprocess.run([PLUGIN, "--describe", path], env={**os.environ, "KV_PLUGIN": "hello"}, check=True)
        return path


class Calls(GoPlugin):
    def test_reflection(self):
        """Both names of it; files at once, and one by one."""
        for how in ("", "only-alpha", "files-one-by-one"):
            self.assertEqual(self.good("test.KV/Put", "key=a", "value=YWJj", how=how).json, {})

    def test_descriptor_set(self):
        options = ["--proto", self.describe()]
        self.assertEqual(self.good("test.KV/Put", "key=a", how="no-reflection", options=options).json, {})
        done = self.run_mortise(*self.args("info", how="no-reflection", options=options))
        self.assertIn("test.KV/Get (test.Key) -> test.Entry\n", done.out)

    def test_neither(self):
        told = self.bad(1, "plugin_error", "test.KV/Put", "key=a", how="no-reflection")
        self.assertIn('nobody describes "test.KV/Put"', told)
        self.assertIn("so grpc.proto, a descriptor set, is needed", told)

    def test_not_a_descriptor_set(self):
        self.file("bad.desc", "no")
        told = self.bad(4, "input", "test.KV/Put", options=["--proto", self.dir / "bad.desc"])
        self.assertIn("not a descriptor set", told)
        told = self.bad(3, "manifest", "test.KV/Put", options=["--proto", self.dir / "none.desc"])
        self.assertIn("none.desc: No such file", told)

    def test_from_mortise_toml(self):
        """A session keeps the plugin: what was put is there; the set is found beside mortise.toml."""
        self.describe()
        self.file(
            "mortise.toml",
            f'[plugin]\nname = "kv"\ndialect = "go-plugin"\ncommand = "{PLUGIN}"\n[env]\nGO_PLUGIN = "no-reflection"\n'
            '[grpc]\ncookie_key = "KV_PLUGIN"\ncookie_value = "hello"\nversions = "1"\nproto = "kv.desc"\n',
        )
        env = {"XDG_RUNTIME_DIR": str(self.dir)}
        self.ok("session", "start", "kv", self.dir, env=env)
        try:
            self.ok("call", "@kv", "test.KV/Put", "key=a", "value=YWJj", "count=4", env=env)
            got = self.ok("call", "@kv", "test.KV/Get", "key=a", env=env).json
        finally:
            self.ok("session", "stop", "kv", env=env)
        self.assertEqual(got, {"key": "a", "value": "YWJj", "count": "5", "setAt": "2017-07-14T02:40:00Z"})

    def test_wire(self):
        """No message passes, but who looks sees those of JSON-RPC: with params, without, and an error."""

        def seen(*words):
            done = self.run_mortise(*self.args("call", *words, options=["--show-wire"]))
            return [line for line in done.err.splitlines() if '"id":2' in line]

        head = '{"jsonrpc":"2.0","id":2,'
        self.assertEqual(
            seen("test.KV/Put", '{"key":\n"a"}'),
            ["> " + head + '"method":"test.KV/Put","params":{"key": "a"}}', "< " + head + '"result":{}}'],
        )
        self.assertEqual(
            seen("test.KV/Put"), ["> " + head + '"method":"test.KV/Put"}', "< " + head + '"result":{}}']
        )
        self.assertEqual(
            seen("test.KV/Get", "key=a")[1],
            "< "
            + head
            + '"error":{"code":-32005,"message":"NOT_FOUND: no key a","data":{"grpc_status":"NOT_FOUND"}}}',
        )

    def test_errors(self):
        told = self.bad(1, "plugin_error", "test.KV/Get", "key=a")
        self.assertIn("no key a (code -32005, NOT_FOUND)", told)
        self.assertIn("did you mean test.KV/Get?", self.bad(1, "plugin_error", "test.KV/Gett"))
        self.assertIn("keyy: test.Key has no such field", self.bad(1, "plugin_error", "test.KV/Get", "keyy=a"))
        self.assertIn('"test.KV/Watch" streams', self.bad(1, "plugin_error", "test.KV/Watch", "key=a"))
        self.assertIn("exited with status 3", self.bad(7, "crashed", "test.KV/Die"))
        self.assertIn("test.Entry is not a protocol buffer", self.bad(9, "protocol", "test.KV/Garbage"))
        self.in_time(
            lambda limit: self.run_mortise(*self.args("call", "test.KV/Hang", options=["--timeout", limit])),
            lambda done: done.code == 6 and re.search("(?m)^timeout: .*test.KV/Hang", done.err),
        )

    def test_info(self):
        done = self.run_mortise(*self.args("info"))
        self.assertEqual(done.code, 0, done.err)
        self.assertIn("test.KV/Watch (test.Key) -> test.Entry; streams (server): cannot be called", done.out)
        done = self.run_mortise(*self.args("info", how="no-reflection"))
        self.assertIn("not known: it has no reflection", done.out)


class Life(GoPlugin):
    def test_environment(self):
        got = self.good("test.KV/Environment", sets={"grpc.versions": "1,4"}).json
        self.assertEqual(
            base64.b64decode(got["value"]).decode().splitlines(),
            [
                "PLUGIN_MIN_PORT=10000",
                "PLUGIN_MAX_PORT=25000",
                "PLUGIN_PROTOCOL_VERSIONS=1,4",
                "KV_PLUGIN=hello",
            ],
        )

    def test_no_cookie(self):
        told = self.bad(7, "crashed", "test.KV/Environment", sets={"grpc.cookie_value": "bye"})
        self.assertIn("This binary is a plugin", told)

    def test_version(self):
        told = self.bad(9, "transport", "test.KV/Environment", how="version-7")
        self.assertIn("speaks version 7 of its application's protocol: wanted is 1", told)
        self.good("test.KV/Environment", how="version-7", sets={"grpc.versions": "6,7"})

    def test_sick(self):
        told = self.bad(7, "crashed", "test.KV/Environment", how="sick")
        self.assertIn("says that it is not serving", told)

    def test_shutdown(self):
        """The controller is asked; a plugin without one gets SIGTERM."""
        end = self.dir / "end"
        patient = {"stop.bye": "300s"}  # SIGTERM would end it before it has said so
        self.good("test.KV/Environment", sets=patient, options=["--env", f"GO_PLUGIN_END={end}"])
        self.assertEqual(end.read_text(), "shut down\n")
        self.good("test.KV/Environment", how="no-controller", sets={"stop.bye": "100ms", "stop.term": "100ms"})

    def test_stdio(self):
        """What it forwards is noise and stderr, as if it had printed it."""
        done = self.good("test.KV/Print", "key=!one\n!two", options=["-v"])
        told = [line.split("| ")[1] for line in done.err.splitlines() if "| " in line]
        self.assertEqual(told, ["!one", "!two"])
        done = self.good("test.KV/Print", "key=hello", options=["-v"])
        self.assertIn("noise: hello", done.err)
        self.good("test.KV/Print", "key=hello", how="no-stdio")

    def test_reflection_that_misbehaves(self):
        for how, said in {
            "reflection-lies": "its reflection answers something else",
            "reflection-fails": 'its reflection fails: "out of order"',
        }.items():
            self.assertIn(said, self.bad(9, "protocol", "test.KV/Environment", how=how))
        for limit in ("2s", "20s", "200s"):  # until it is long enough to come so far
            sets = {"grpc.start": limit}
            told = self.bad(6, "timeout", "test.KV/Environment", how="reflection-hangs", sets=sets)
            if "did not listen" not in told:
                break
        self.assertIn("ServerReflectionInfo", told)


REAL = pathlib.Path(os.environ["MORTISE_BUILD"]).resolve() / "hashicorp" / "plugin"
SOURCES = "/usr/share/gocode/src/github.com/hashicorp/go-plugin/test/grpc"


@unittest.skipUnless(REAL.is_file(), "no plugin of go-plugin: ./dev builds it")
class Real(Case):
    """HashiCorp's own library, from Debian (tests/grpc/peers/hashicorp). It has no reflection."""

    def setUp(self):
        super().setUp()
        subprocess.run(
            ["protoc", "--include_imports", "-I", SOURCES, "-o", self.dir / "test.desc", "test.proto"],
            check=True,
        )
        self.file(
            "mortise.toml",
            f'[plugin]\nname = "real"\ndialect = "go-plugin"\ncommand = "{REAL}"\n[grpc]\nproto = "test.desc"\n'
            'cookie_key = "MORTISE_TEST_COOKIE"\ncookie_value = "a plugin of the tests"\n',
        )

    def test_call(self):
        self.assertEqual(self.ok("call", self.dir, "grpctest.Test/Double", "Input=21").json, {"Output": 42})

    def test_shutdown(self):
        """Through its controller. What it prints is lost: the library keeps it, and this version
        forwards none."""
        done = self.run_mortise("call", "-v", self.dir, "grpctest.Test/PrintKV", "Key=told")
        self.assertEqual((done.code, done.json), (0, {}), done.err)
        self.assertIn("exited with status 0, as it was told to", done.err)

    def test_errors(self):
        done = self.run_mortise("call", self.dir, "grpctest.Test/Bidirectional")
        self.assertIn("there is no broker here (code -32002, UNKNOWN)", done.err)
        done = self.run_mortise("call", self.dir, "grpctest.Test/Stream")
        self.assertIn('"grpctest.Test/Stream" streams', done.err)

    def test_info(self):
        self.assertIn(
            "grpctest.Test/Double (grpctest.TestRequest) -> grpctest.TestResponse\n",
            self.ok("info", self.dir).out,
        )

    def test_wrong_cookie(self):
        done = self.run_mortise("call", "--set", "grpc.cookie_value=x", self.dir, "grpctest.Test/Double")
        self.assertEqual(done.code, 7, done.err)
        self.assertIn("exited with status 1", done.err)


if __name__ == "__main__":
    unittest.main()
