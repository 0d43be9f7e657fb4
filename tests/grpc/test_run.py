# SPDX-License-Identifier: Apache-2.0
"""`mortise run` with Sunscreen plugins over gRPC: a real server (tests/plugins/grpc_sunscreen.py, on
python3-grpcio), met in every way, answering in every way."""
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "e2e"))
from levels import LEVELS  # noqa: E402
from support import LIMIT, MORTISE, PLUGINS  # noqa: E402
from sunscreen import Sunscreen  # noqa: E402

try:
    import grpc  # noqa: F401
except ImportError:
    grpc = None

TOLD = ("warning: --unconfined", "warning: sandbox.level is", "greeter| ", "not undone: ", "undone: ")
COMMANDS = """hello fails fails-plainly fails-with-code no-json nothing status raises dies hangs stops big size remaining
writes dials where prints builds waits never""".split()


@unittest.skipUnless(grpc, "needs python3-grpcio")
class Grpc(Sunscreen):
    how = []

    def setUp(self):
        super().setUp()
        self.plugin_dir = self.make("greeter")

    def make(self, name, commands=COMMANDS, more=""):
        self.file(
            f"{name}/plugin.toml",
            f'[plugin]\nname = "{name}"\nversion = "1.0.0"\ndescription = "d"\nentry = "./bin/plugin.py"\n'
            'transport = "grpc"\n[permissions]\nworkspace_write = true\n[commands.scaffold]\n'
            + "".join(f'{c} = "{c}"\n' for c in commands)
            + '[commands.hook]\nafter_build = "h"\n',
        )
        if more:
            self.file(f"{name}/mortise.toml", more)
        self.program(f"{name}/bin/plugin.py", PLUGINS / "grpc_sunscreen.py")
        return self.dir / name

    def args(self, words, env, settings):
        settings = ["grpc.start=300s", *settings]  # to import grpc takes long on a busy machine
        offers = " ".join([f"scaffold:{c}" for c in COMMANDS] + ["hook:after_build"])
        given = {"GRPC_OFFERS": offers, **(env or {})}
        return (
            ["run", "--workspace", self.work, *self.how]
            + [word for name, value in given.items() for word in ("--env", f"{name}={value}")]
            + [word for setting in settings for word in ("--set", setting)]
            + [self.plugin_dir, *words]
        )

    def done(self, *words, env=None, settings=()):
        done = self.run_mortise(*self.args(words, env, settings))
        kept = [line for line in done.err.splitlines() if not line.startswith(TOLD)]
        return done, kept

    def good(self, *words, env=None, settings=()):
        done, told = self.done("--json", *words, env=env, settings=settings)
        self.assertEqual((done.code, told), (0, []), done.out)
        return done.json

    def bad(self, code, kind, *words, env=None, settings=()):
        done, told = self.done(*words, env=env, settings=settings)
        self.assertEqual((done.code, len(told)), (code, 1), done.err)
        self.assertTrue(told[0].startswith(kind + ": "), told)
        return told[0]


class Answers(Grpc):
    def test_arguments_verbatim(self):
        words = ["a", "b c", "--flag", "--x=1", "-5", "", "\u00e9", "-", "a\nb", "--", "-x"]
        self.assertEqual(self.good("hello", "--", *words)["result"]["args"], words)
        self.assertEqual(self.good("hello", "a", "--x=1", "--y")["result"]["args"], ["a", "--x=1", "--y"])

    def test_json_manifest(self):
        told = {
            "name": "greeter",
            "version": "0.1.0",
            "transport": "grpc",
            "entrypoint": ["./bin/plugin.py"],
            "capabilities": {"network": False, "filesystem": ["workspace", "scratch"]},
            "commands": [{"name": name, "kind": "scaffold"} for name in COMMANDS],
            "hooks": ["after_build"],
        }
        (self.plugin_dir / "plugin.toml").unlink()
        self.file("greeter/sunscreen-plugin.json", json.dumps(told))
        done = self.good("scaffold:hello", "a", "--b")
        self.assertEqual(done["result"]["args"], ["a", "--b"])
        self.assertNotIn("warnings", done)
        self.bad(9, "plugin_error", "fails")
        told["commands"].append({"name": "more", "kind": "app"})
        self.file("greeter/sunscreen-plugin.json", json.dumps(told))
        done, told = self.done("hello")
        self.assertEqual(done.code, 0)
        self.assertIn('the plugin\'s "commands" differ: only sunscreen-plugin.json has app:more', told[0])

    def test_hook(self):
        args = self.args([], None, ())
        done = self.run_mortise(
            *args[:-1], "--json", "--hook", "after_build", "--context", '{"x":[1]}', args[-1]
        )
        told = done.json["reports"][0]["result"]
        self.assertEqual(told["summary"], "hook after_build")
        self.assertEqual(told["context"], {"workspace_root": str(self.work), "x": [1]})

    def test_not_ok(self):
        self.assertIn("no such thing", self.bad(9, "plugin_error", "fails"))
        self.assertIn("it is Monday", self.bad(9, "plugin_error", "fails-plainly"))
        text = self.bad(4, "plugin_error", "fails-with-code")
        self.assertIn("bad input", text)
        self.assertIn("read the manual", text)

    def test_odd_answers(self):
        self.assertEqual(self.good("nothing")["result"], None)
        self.assertIn("json_result is not JSON", self.bad(9, "protocol", "no-json"))

    def test_statuses(self):
        for name, code in ("PERMISSION_DENIED", -32007), ("INTERNAL", -32013), ("UNIMPLEMENTED", -32601):
            with self.subTest(name):
                told = self.done("--json", "status", name, "because")[0].json
                self.assertEqual((told["kind"], told["rpc_code"]), ("plugin_error", code))
                self.assertIn(f"{name}: because", told["message"])
                self.assertEqual(told["data"], {"grpc_status": name})
        self.assertIn("oops", self.bad(1, "plugin_error", "raises"))

    def test_unknown_method(self):
        self.assertIn("UNIMPLEMENTED", self.bad(1, "plugin_error", "hello", env={"GRPC_WITHOUT": "RunCommand"}))
        # The greeting may be missing, as over stdio.
        done, told = self.done("hello", env={"GRPC_WITHOUT": "Initialize Capabilities Shutdown"})
        self.assertEqual((done.code, len(told)), (0, 1), done.err)
        self.assertIn('"commands" is not implemented', told[0])

    def test_big_messages(self):
        settings = ["limits.frame=65MiB", "limits.send=65MiB"]
        done = self.good("big", str(64 * 1024 * 1024 - 100), settings=settings)
        self.assertEqual(len(done["result"]["fill"]), 64 * 1024 * 1024 - 100)
        text = self.bad(9, "protocol", "big", str(17 * 1024 * 1024))
        self.assertIn("the limit is 16777216", text)
        self.good("big", str(15 * 1024 * 1024))

    def test_environment(self):
        done = self.good(
            "where",
            env={"COOKIE": "MAGIC"},
            settings=["grpc.cookie_key=MAGIC", "grpc.cookie_value=hello", "grpc.versions=1,2"],
        )["result"]["env"]
        self.assertEqual(done["MAGIC"], "hello")
        self.assertEqual(done["PLUGIN_PROTOCOL_VERSIONS"], "1,2")
        self.assertEqual(done["MORTISE_GRPC_SOCKET"], done["TMPDIR"] + "/plugin.sock")
        self.assertFalse(os.path.exists(done["TMPDIR"]))

    def test_files(self):
        self.assertEqual(self.good("writes", "new.rs")["files_written"], ["new.rs"])
        self.assertTrue((self.work / "new.rs").exists())

    def test_wire_is_json(self):
        done = self.done("--show-wire", "hello", "x")[0]
        self.assertIn('"method":"run"', done.err)
        self.assertIn('"result":{"summary":"hello x"', done.err.replace(" ", "").replace("hellox", "hello x"))

    def test_info(self):
        done = self.run_mortise("info", *self.how, self.plugin_dir)
        self.assertEqual(done.code, 0, done.err)
        self.assertIn("scaffold:hello", done.out)


class Ends(Grpc):
    def test_time_limit(self):
        """The plugin is told of the limit, and of the end of the call."""
        mark = self.work / "mark"
        for seconds in (1, 10, 100):
            settings = [f"timeouts.run={seconds}s", f"stop.term={seconds}s"]
            text = self.bad(6, "timeout", "--keep", "hangs", str(mark), settings=settings)
            self.assertIn(f'no reply to "run" in {seconds}000 ms', text)
            if mark.exists():  # it had begun, and was told before it was ended
                break
        self.assertEqual(mark.read_text(), "cancelled")
        self.assertEqual(self.good("remaining")["summary"], "True")

    def test_stopped_process(self):
        text = self.bad(6, "timeout", "stops", settings=["timeouts.run=1s"])
        self.assertIn("no reply", text)

    def test_death(self):
        text = self.bad(7, "crashed", "dies", "3")
        self.assertIn("exited with status 3 before it answered", text)
        self.assertIn("going down", text)

    def test_stays_after_shutdown(self):
        self.assertEqual(self.good("hello", env={"GRPC_STAYS": "1"})["summary"], "hello ")

    def test_noise(self):
        self.assertEqual(self.good("prints")["summary"], "printed")


class Streams(Grpc):
    env_given = {"GRPC_STREAMS": "1"}

    def test_stream(self):
        done, told = self.done("builds", env=self.env_given)
        self.assertEqual(done.code, 0, done.err)
        self.assertEqual(done.out, "built a.rs\nbuilt\n")
        self.assertIn("greeter| warning: one file is old", done.err)
        self.assertEqual(told, [])
        done = self.done("--json", "builds", env=self.env_given)[0].json
        self.assertEqual((done["printed"], done["summary"]), ("built a.rs", "built"))

    def test_other_commands(self):
        self.assertEqual(self.good("hello", "x", "--y", env=self.env_given)["result"]["args"], ["x", "--y"])
        self.assertIn("it is Monday", self.bad(9, "plugin_error", "fails-plainly", env=self.env_given))
        self.assertIn("status 3", self.bad(7, "crashed", "dies", "3", env=self.env_given))

    def test_progress(self):
        _code, shown = self.terminal("builds")
        self.assertIn("[=====               ]  25% a quarter", shown)
        # a line of the log takes its place, and it comes again
        self.assertIn("  25% a quarter", shown.split("one file is old")[1])

    def terminal(self, *words, seen=None):
        done = self.in_terminal(*self.args(words, self.env_given, ()), seen=seen)
        return done.code, done.out

    def test_stream_without_a_result(self):
        text = self.bad(9, "protocol", "never", env=self.env_given)
        self.assertIn("with 0 results where one is due", text)

    def test_interrupt(self):
        """Ctrl-C: the plugin hears of it, and may end its work."""
        mark = self.work / "mark"
        process = subprocess.Popen(
            [
                str(MORTISE),
                *map(str, self.args(["--keep", "--verbose", "waits", str(mark)], self.env_given, ())),
            ],
            env=self.env,
            cwd=self.dir,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.addCleanup(process.stdout.close)
        while "waiting" not in (line := process.stdout.readline()):
            self.assertTrue(line, "it ended")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=LIMIT)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(mark.read_text(), "asked to stop")


class Sandbox(Grpc):
    def test_levels(self):
        for level in (*LEVELS, "guarded"):
            with self.subTest(level):
                self.how = ["--level", level]
                self.assertEqual(self.good("hello", level)["summary"], f"hello {level}")

    def test_permissions(self):
        """As over stdio: what the manifest does not grant ends the run."""
        self.assertIn("tried to write", self.bad(9, "sandbox_violation", "writes", "../outside"))

    def test_the_network_is_refused(self):
        """Its library's looks at TCP before it listens are nothing; what the plugin itself tries is told."""
        for level in LEVELS:
            with self.subTest(level):
                self.how = ["--level", level]
                self.assertIn("tried to use the network", self.bad(9, "sandbox_violation", "dials"))

    def test_all_of_the_network(self):
        self.assertIn(
            "name the places that it needs",
            self.bad(9, "transport", "hello", settings=["sandbox.network=true"]),
        )
        self.good("hello", settings=['sandbox.network=["127.0.0.1:9"]'])


class Library(Grpc):
    def test_it_is_missing(self):
        """A mortise without its library says what is missing, and where it was searched."""
        for name in "mortise", "mortise-full", "mortise-jail":
            self.program(f"bare/{name}", MORTISE.parent / name)
        done = subprocess.run(
            [str(self.dir / "bare/mortise"), *map(str, self.args(["hello"], None, ()))],
            env=self.env,
            cwd=self.dir,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 9, done.stderr)
        self.assertIn(
            "transport: greeter: this plugin speaks gRPC, and libmortise-grpc.so is not installed", done.stderr
        )

    def test_it_is_not_ours(self):
        for name in "mortise", "mortise-full", "mortise-jail":
            self.program(f"bare/{name}", MORTISE.parent / name)
        for content, part in ("not a library", "cannot be loaded"), (None, "is not loaded: "):
            path = self.file("bare/libmortise-grpc.so", content or "x")
            path.chmod(0o755 if content else 0o777)
            done = subprocess.run(
                [str(self.dir / "bare/mortise"), *map(str, self.args(["hello"], None, ()))],
                env=self.env,
                cwd=self.dir,
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertEqual(done.returncode, 9, done.stderr)
            self.assertIn(part, done.stderr)

    def test_nobody_depends_on_it(self):
        for name in "mortise", "libmortise.so":
            needed = subprocess.run(
                ["readelf", "-d", str(MORTISE.parent / name)], capture_output=True, text=True, check=True
            ).stdout
            self.assertNotRegex(needed, "nghttp2|protobuf")


class Meeting(Grpc):
    def test_line(self):
        self.assertEqual(self.good("hello", "x", env={"GRPC_HOW": "line"})["summary"], "hello x")

    def test_version_of_the_line(self):
        text = self.bad(9, "transport", "hello", env={"GRPC_HOW": "line", "GRPC_APP": "7"})
        self.assertIn("speaks version 7 of its application's protocol: wanted is 1 (grpc.versions)", text)
        self.good("hello", env={"GRPC_HOW": "line", "GRPC_APP": "7"}, settings=["grpc.versions=6,7"])

    def test_elsewhere(self):
        where = self.dir / "elsewhere"
        where.mkdir()
        env = {"GRPC_HOW": "elsewhere", "GRPC_ELSEWHERE": str(where)}
        self.assertIn("no names for other programs to find", self.bad(9, "sandbox_violation", "hello", env=env))
        self.how = ["--unconfined"]
        text = self.bad(9, "sandbox_violation", "hello", env=env)
        self.assertIn("only a socket directly in its TMPDIR", text)

    def test_socket_of_another_program(self):
        """Nothing is sent before it is known who answers."""
        self.how = ["--unconfined"]
        for how, part in ("links", "is a link"), ("borrows", "which is not one of the plugin's"):
            with self.subTest(how), socket.socket(socket.AF_UNIX) as other:
                path = self.dir / f"{how}.sock"
                other.bind(str(path))
                other.listen(1)
                env = {"GRPC_HOW": how, "GRPC_ELSEWHERE": str(path)}
                self.assertIn(part, self.bad(9, "sandbox_violation", "hello", env=env))
                if how == "borrows":
                    with other.accept()[0] as met:
                        self.assertEqual(met.recv(1), b"")

    def test_tools_for_pipes(self):
        text = self.fails(9, "transport", "check", self.plugin_dir).err
        self.assertIn("speaks gRPC: mortise check is for plugins over stdio", text)

    def test_bad_lines(self):
        rows = [
            ("1|1|tcp|127.0.0.1:80|grpc", "transport", 'listens on "tcp"'),
            ("1|1|unix|/run/x.sock|netrpc", "transport", 'speaks "netrpc"'),
            ("1|1|unix|/run/x.sock", "transport", 'speaks "netrpc"'),
            ("2|1|unix|/run/x.sock|grpc", "protocol", "another version than 1"),
            ("1|one|unix|/run/x.sock|grpc", "protocol", "is not understood"),
            ("1|1|unix||grpc", "protocol", "empty or longer"),
            ("1|1|unix|/run/x.sock|grpc|Y2VydA", "transport", "AutoMTLS"),
        ]
        for line, kind, part in rows:
            with self.subTest(line):
                self.assertIn(part, self.bad(9, kind, "hello", env={"GRPC_HOW": "says", "GRPC_SAYS": line}))

    def test_no_line(self):
        text = self.bad(6, "timeout", "hello", env={"GRPC_HOW": "silent"}, settings=["grpc.start=1s"])
        self.assertIn("did not listen in 1 s: it must print 1|VERSION|unix|PATH|grpc", text)
        env = {"GRPC_HOW": "says", "GRPC_SAYS": "Usage: me"}
        for limit in (1, 10, 100):
            text = self.bad(6, "timeout", "hello", env=env, settings=[f"grpc.start={limit}s"])
            if "first line" in text:
                break
        self.assertIn(f'did not listen in {limit} s; its first line on stdout was "Usage: me"', text)

    def test_line_without_a_listener(self):
        path = "1|1|unix|@/nobody.sock|grpc"
        text = self.bad(9, "sandbox_violation", "hello", env={"GRPC_HOW": "says", "GRPC_SAYS": path})
        self.assertIn("only a socket directly in its TMPDIR", text)

    def test_early_exit(self):
        text = self.bad(7, "crashed", "hello", env={"GRPC_HOW": "exits"})
        self.assertIn("exited with status 1", text)
        self.assertIn("no licence", text)

    def test_health(self):
        self.good("hello", env={"GRPC_HEALTH": "1"})
        text = self.bad(7, "crashed", "hello", env={"GRPC_HEALTH": "2"})
        self.assertIn("says that it is not serving", text)

    def test_protocol_version(self):
        text = self.bad(9, "transport", "hello", env={"GRPC_VERSION": "3"})
        self.assertIn('speaks version "3" of sunscreen.plugin.v1', text)


if __name__ == "__main__":
    unittest.main()
