# SPDX-License-Identifier: Apache-2.0
"""test_tenon.py LANGUAGE: a plugin on Tenon behind gRPC, called by gRPC's own library and by src/remote/grpc.
The plugin is plugins/demo.*; MORTISE_BUILD names the build directory, GRPC_CALLER the program that
calls (caller.c)."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

try:
    import grpc
    from service import LIMIT, PLUGIN, STREAM, Client
except ImportError as problem:
    print(f"skipped: {problem}; python3-grpcio and python3-protobuf are needed")
    sys.exit(77)

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = pathlib.Path(os.environ.get("MORTISE_BUILD", ROOT / "build")).resolve()
HEALTH = "/grpc.health.v1.Health/Check"
RUN = PLUGIN + "RunCommand"


def skip(why):
    raise unittest.SkipTest(why)


def python(_folder):
    return ["/usr/bin/python3", str(HERE / "plugins" / "demo.py")], {
        "PYTHONPATH": str(ROOT / "sdk" / "python"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def node(folder):
    """As an author has it: both packages in the node_modules beside the plugin."""
    modules = BUILD / "grpc-js" / "node_modules"
    if not modules.is_dir():
        skip(f"@grpc/grpc-js is not in {modules}: ./dev installs it")
    place = pathlib.Path(folder, "demo")
    (place / "node_modules").mkdir(parents=True)
    for found in [*modules.iterdir(), ROOT / "sdk" / "node"]:
        name = "tenon" if found.name == "node" else found.name
        (place / "node_modules" / name).symlink_to(found)
    shutil.copy(HERE / "plugins" / "demo.mjs", place)
    return ["node", str(place / "demo.mjs")], {}


def c(_folder):
    return [str(BUILD / "tests" / "grpc" / "demo")], {}


LANGUAGES = {"python": python, "node": node, "c": c}
LANGUAGE = sys.argv.pop(1) if len(sys.argv) > 1 and sys.argv[1] in LANGUAGES else "python"


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="tenon-grpc-")
        self.addCleanup(shutil.rmtree, self.dir)
        self.socket = os.path.join(self.dir, "plugin.sock")
        self.home = tempfile.mkdtemp(prefix="tenon-grpc-")
        self.addCleanup(shutil.rmtree, self.home)
        self.command, self.more = LANGUAGES[LANGUAGE](self.home)

    def spawn(self, **env):
        """The plugin's process. Its environment is not ours."""
        base = {"PATH": os.environ["PATH"], "TMPDIR": self.dir, **self.more}
        process = subprocess.Popen(
            self.command,
            env={**base, **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=LIMIT)

    def connect(self, path):
        client = Client(path)
        self.addCleanup(client.close)
        return client

    def start(self):
        self.process = self.spawn(MORTISE_GRPC_SOCKET=self.socket)
        self.client = self.connect(self.socket)
        return self.client

    def ended(self, status=0):
        """What it printed, out and err, after its end."""
        out, err = self.process.communicate(timeout=LIMIT)
        self.assertEqual(self.process.returncode, status, err)
        return out, err

    def status(self, call):
        with self.assertRaises(grpc.RpcError) as caught:
            call()
        return caught.exception.code(), caught.exception.details()


class Calls(Case):
    def setUp(self):
        super().setUp()
        self.start()

    def test_greeting(self):
        for service in ("", "plugin", "sunscreen.plugin.v1.Plugin"):
            self.assertEqual(self.client.call(HEALTH, service=service).status, 1)
        code, text = self.status(lambda: self.client.call(HEALTH, service="nosuch"))
        self.assertEqual((code, text), (grpc.StatusCode.NOT_FOUND, "there is no service nosuch"))
        answer = self.client.plugin("Initialize", protocol_version="1", workspace_root="/ws")
        self.assertEqual((answer.protocol_version, list(answer.accepted_capabilities)), ("1", []))

    def test_capabilities(self):
        answer = self.client.plugin("Capabilities")
        self.assertEqual(
            [(one.kind, one.name, one.summary) for one in answer.commands],
            [
                ("scaffold", "index", "Indexes a name."),
                ("app", "wait", "Waits until it is cancelled."),
                ("app", "count", "How often `wait` was cancelled."),
                ("scaffold", "fail", "Fails."),
            ],
        )
        self.assertEqual(list(answer.hooks), ["after_build"])
        self.assertEqual(list(answer.extensions), ["mortise.sunscreen.v1.Stream"])

    def test_run(self):
        self.client.plugin("Initialize", protocol_version="1", workspace_root="/ws")
        for words in (["T", "--program", "p"], ["--program=p", "T"], ["T", "p"]):
            ok, result = self.client.run("index", *words)
            summary = "piece indexed T of p in /ws"
            self.assertEqual((ok, result), (True, {"files_written": ["a.rs"], "summary": summary}))

    def test_errors(self):
        ok, error = self.client.run("fail")
        told = {"code": 4, "message": "it exists already", "data": {"next_step": "pass --force"}}
        self.assertEqual((ok, error), (False, told))
        ok, error = self.client.run("nosuch")
        self.assertEqual((ok, error["code"]), (False, -32601))
        self.assertIn("nosuch", error["message"])
        ok, error = self.client.run("index")
        self.assertEqual((ok, error["code"]), (False, -32602))
        self.assertIn("name: is missing", error["message"])

    def test_hook(self):
        context = {"workspace_root": "/w", "idl": "x.json"}
        answer = self.client.plugin("RunHook", hook="after_build", json_context=json.dumps(context))
        self.assertTrue(answer.ok)
        self.assertEqual(json.loads(answer.json_result)["summary"], "built x.json in /w")
        code, text = self.status(lambda: self.client.plugin("RunHook", hook="after_build", json_context="{x"))
        self.assertEqual(code, grpc.StatusCode.INVALID_ARGUMENT)
        self.assertIn("json_context is not JSON", text)
        self.assertFalse(self.client.plugin("RunHook", hook="nosuch").ok)

    def test_the_workspace_of_the_greeting_is_that_of_a_hook(self):
        self.client.plugin("Initialize", protocol_version="1", workspace_root="/ws")
        answer = self.client.plugin("RunHook", hook="after_build")
        self.assertEqual(json.loads(answer.json_result)["summary"], "built  in /ws")

    def test_what_is_no_message(self):
        for method, data in ((RUN, b"\xff"), (RUN, b"\x0a\x05ab"), (RUN, b"\x0a\x01\xff"), (RUN, b"\x08\x01")):
            code, text = self.status(lambda: self.client.channel.unary_unary(method)(data, wait_for_ready=True))
            self.assertEqual(code, grpc.StatusCode.INVALID_ARGUMENT, data)
            self.assertIn("not such a message", text)
        # A field that is not known is skipped.
        self.client.channel.unary_unary(PLUGIN + "Capabilities")(b"\x7a\x01x", timeout=LIMIT)

    def test_unknown_methods(self):
        for method in (PLUGIN + "Nosuch", "/no.Such/Method"):
            code, _ = self.status(lambda: self.client.channel.unary_unary(method)(b"", wait_for_ready=True))
            self.assertEqual(code, grpc.StatusCode.UNIMPLEMENTED)

    def test_many_at_a_time(self):
        calls = [self.client.start(RUN, kind="scaffold", name="index", args=[str(i)]) for i in range(40)]
        for i, call in enumerate(calls):
            summary = json.loads(call.result().json_result)["summary"]
            self.assertEqual(summary, f"piece indexed {i} of app in ")

    def test_big(self):
        word = "x" * (8 << 20)
        ok, result = self.client.run("index", word)
        self.assertEqual((ok, len(result["summary"])), (True, len(word) + len("piece indexed  of app in ")))

    def test_called_by_src_grpc(self):
        def call(method, *words):
            caller = [os.environ["GRPC_CALLER"], self.socket, method, "20000", *words]
            return subprocess.run(caller, capture_output=True, text=True, timeout=LIMIT).stdout

        self.client.call(HEALTH)
        self.assertEqual(call(HEALTH, "=", ".").splitlines()[-1], "end 0 OK OK ")
        self.assertIn("a.rs", call(RUN, "=\x12\x05index\x1a\x01T", "."))
        self.assertIn("end 12 UNIMPLEMENTED ", call("/no.Such/Method", "=", "."))
        stream = call(STREAM, "=\x0a\x0a\x12\x05index\x1a\x01T", ".").splitlines()
        self.assertEqual([line.split()[0] for line in stream], ["message"] * 4 + ["end"])
        self.assertEqual(stream[-1], "end 0 OK OK ")


class Streams(Case):
    def setUp(self):
        super().setUp()
        self.start()

    def open(self, name, *args, kind="scaffold"):
        return self.client.stream({"run": {"kind": kind, "name": name, "args": args}})

    def test_notes(self):
        stream = self.open("index", "T")
        what, progress = stream.next()
        self.assertEqual((what, progress.fraction, progress.text), ("progress", 0.5, "half of it"))
        what, log = stream.next()
        self.assertEqual((what, log.level, log.text), ("log", "warning", "a line"))
        what, piece = stream.next()
        self.assertEqual((what, piece.text), ("piece", "piece "))
        what, result = stream.next()
        self.assertEqual((what, result.ok), ("result", True))
        self.assertEqual(json.loads(result.json_result)["summary"], "indexed T of app in ")
        self.assertIsNone(stream.next())
        self.assertEqual(stream.call.code(), grpc.StatusCode.OK)

    def test_a_closed_side_cancels_nothing(self):
        stream = self.open("index", "T")
        stream.finish()
        self.assertEqual([stream.next()[0] for _ in range(4)], ["progress", "log", "piece", "result"])

    def test_a_failure_is_a_result(self):
        what, result = self.open("fail").next()
        self.assertEqual((what, result.ok, json.loads(result.json_result)["code"]), ("result", False, 4))

    def test_cancel_by_message(self):
        stream = self.open("wait", kind="app")
        what, progress = stream.next()
        self.assertEqual((what, progress.HasField("fraction"), progress.text), ("progress", False, "waits"))
        stream.send(cancel={"reason": "enough"})
        what, result = stream.next()
        self.assertEqual((what, json.loads(result.json_result)["summary"]), ("result", "was cancelled"))
        self.assertIsNone(stream.next())

    def test_cancel_by_reset(self):
        stream = self.open("wait", kind="app")
        stream.next()
        stream.call.cancel()
        self.assertEqual(self.client.run("count", kind="app")[1]["summary"], "1")

    def test_deadline(self):
        self.client.call(HEALTH)  # it listens
        for timeout in (1, 10, 60):  # until it was long enough for the call to come there at all
            code, _ = self.status(self.client.start(RUN, timeout=timeout, kind="app", name="wait").result)
            self.assertEqual(code, grpc.StatusCode.DEADLINE_EXCEEDED)
            if self.client.run("count", kind="app")[1]["summary"] == "1":
                return
        self.fail("the command was not told")

    def test_health_while_a_command_runs(self):
        stream = self.open("wait", kind="app")
        stream.next()
        self.assertEqual(self.client.call(HEALTH, service="plugin").status, 1)
        self.assertEqual(len(self.client.plugin("Capabilities").commands), 4)
        stream.send(cancel={})
        self.assertEqual(stream.next()[0], "result")

    def test_a_call_that_waits_is_cancelled(self):
        """It is not the one that runs: its code sees it at once when its turn comes."""
        first, second = self.open("wait", kind="app"), None
        first.next()
        second = self.open("wait", kind="app")
        self.client.call(HEALTH)
        second.send(cancel={})
        self.client.call(HEALTH)
        first.send(cancel={})
        self.assertEqual(first.next()[0], "result")
        self.assertEqual([second.next()[0], second.next()[0]], ["progress", "result"])

    def test_first_message(self):
        stream = self.client.stream({"cancel": {}})
        code, text = self.status(stream.next)
        self.assertEqual((code, text), (grpc.StatusCode.INVALID_ARGUMENT, "the first message must be `run`"))


class Ends(Case):
    def test_shutdown(self):
        self.start()
        self.client.run("count", kind="app")
        self.assertTrue(self.client.plugin("Shutdown").ok)
        out, err = self.ended()
        self.assertEqual((out, err.splitlines()[-1:]), ("", ["stopped"]))

    def test_shutdown_of_hashicorp(self):
        self.start()
        self.client.run("count", kind="app")
        self.client.call("/plugin.GRPCController/Shutdown")
        self.assertIn("stopped", self.ended()[1])

    def test_shutdown_while_a_command_runs(self):
        self.start()
        stream = self.client.stream({"run": {"kind": "app", "name": "wait"}})
        stream.next()
        self.client.plugin("Shutdown")
        what, result = stream.next()
        self.assertEqual((what, json.loads(result.json_result)["summary"]), ("result", "was cancelled"))
        self.assertIn("stopped", self.ended()[1])

    def test_sigterm(self):
        self.start()
        self.client.run("count", kind="app")
        self.process.send_signal(signal.SIGTERM)
        self.assertIn("stopped", self.ended()[1])

    def test_the_end_of_stdin_means_nothing(self):
        self.start()
        self.client.call(HEALTH)
        self.process.stdin.close()
        self.process.stdin = None
        self.assertTrue(self.client.run("count", kind="app")[0])

    def test_cannot_listen(self):
        self.process = self.spawn(MORTISE_GRPC_SOCKET=self.dir + "/no/such/dir/s")
        self.assertIn(f"demo: cannot listen on {self.dir}/no/such/dir/s", self.ended(1)[1])


class Missing(Case):
    """Without gRPC's library the plugin says what to do."""

    def test_text(self):
        more = dict(self.more)
        if LANGUAGE == "python":
            pathlib.Path(self.home, "grpc.py").write_text("raise ImportError('No module named grpc')")
            more["PYTHONPATH"] = self.home + ":" + more["PYTHONPATH"]
        elif LANGUAGE == "node":
            os.unlink(os.path.join(self.home, "demo", "node_modules", "@grpc"))
        else:
            self.skipTest("it is linked")
        self.more = more
        self.process = self.spawn(MORTISE_GRPC_SOCKET=self.socket)
        text = {"python": "install python3-grpcio", "node": "npm install @grpc/grpc-js"}[LANGUAGE]
        self.assertRegex(self.ended(1)[1], f"^demo: the host wants gRPC.*{text}, or use the transport stdio\n$")


class Hashicorp(Case):
    def test_line(self):
        self.process = self.spawn(PLUGIN_PROTOCOL_VERSIONS="1,3", COOKIE="x")
        line = self.process.stdout.readline()
        core, app, network, path, protocol = line.rstrip("\n").split("|")
        self.assertEqual((core, app, network, protocol), ("1", "3", "unix", "grpc"))
        self.assertTrue(path.startswith(self.dir), path)
        self.assertEqual(os.stat(os.path.dirname(path)).st_mode & 0o777, 0o700)
        client = self.connect(path)
        self.assertEqual(client.run("count", kind="app")[1]["summary"], "0")
        client.call("/plugin.GRPCController/Shutdown")
        self.assertIn("stopped", self.ended()[1])
        self.assertEqual(os.listdir(self.dir), [])

    def test_a_host_that_speaks_over_stdio_is_answered_there(self):
        """Its variable is there too if such a host was started by a plugin of HashiCorp's."""
        self.process = self.spawn(PLUGIN_PROTOCOL_VERSIONS="1", MORTISE_DIALECT="sunscreen")
        request = '{"jsonrpc":"2.0","id":1,"method":"run","params":{"command":"app:count"}}\n'
        out, _ = self.process.communicate(request, timeout=LIMIT)
        self.assertEqual(json.loads(out)["result"]["summary"], "0")


if __name__ == "__main__":
    unittest.main()
