# SPDX-License-Identifier: Apache-2.0
"""G-Assist plugins: mortise run, and what the host does about slow, silent, noisy and frozen ones."""
import json
import signal
import subprocess
import threading
import unittest

from events import until_ended
from support import Case, LIMIT, MORTISE, PLUGINS, PYTHON

PLUGIN = PLUGINS / "gassist.py"
QUICK = (
    "--set",
    "health.every=200ms",
)  # pings ten times as often; the second they have is left, for busy machines


class Gassist(Case):
    def start(self, *args, stdin=subprocess.DEVNULL):
        process = subprocess.Popen(
            [str(MORTISE), *map(str, args)],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.env,
            cwd=self.dir,
        )
        for stream in (process.stdout, process.stderr, process.stdin):
            if stream:
                self.addCleanup(stream.close)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        guard = threading.Timer(LIMIT, process.kill)  # a line that never comes must not hang the test
        guard.start()
        self.addCleanup(guard.cancel)
        return process

    def chat(self, *args):
        return self.start("chat", "-d", "gassist", *args, stdin=subprocess.PIPE)

    def say(self, process, line):
        process.stdin.write(line.encode() + b"\n")
        process.stdin.flush()

    def line(self, stream, part=""):
        """The next line that holds the part."""
        for line in stream:
            if part in line.decode():
                return line.decode()
        self.fail(f"no line with {part!r} came")

    def leave(self, process):
        process.stdin.close()
        code = process.wait(LIMIT)
        return code

    def run_function(self, *args, **how):
        return self.run_mortise("run", "-d", "gassist", PLUGIN, *args, **how)


class Run(Gassist):
    def test_streams(self):
        """Pieces are printed as they arrive, not at the end."""
        go = self.dir / "go"
        process = self.start("run", "-d", "gassist", PLUGIN, "hold", f"file={go}")
        self.assertEqual(process.stdout.read(6), b"first ")
        self.assertIsNone(process.poll())
        go.touch()
        self.assertEqual(process.stdout.read(), b"last\n")
        self.assertEqual(process.wait(LIMIT), 0)

    def test_arguments(self):
        done = self.run_function("echo", "a=1", "b=two words", "c:=[1,2]")
        self.assertEqual(done.json, {"function": "echo", "arguments": {"a": 1, "b": "two words", "c": [1, 2]}})
        self.assertEqual(self.run_function("echo", '{"a": 1}').json["arguments"], {"a": 1})
        self.assertEqual(self.run_function("echo").json["arguments"], {})

    def test_context_and_system_info(self):
        """Given: sent, from the word or a file. Not given: absent."""
        context = [{"role": "user", "content": "hi"}]
        done = self.run_function("echo", "--context", json.dumps(context), "--system-info", "a PC")
        self.assertEqual((done.json["context"], done.json["system_info"]), (context, "a PC"))
        info, said = self.file("info", "Zeilen\nmit ü\n"), self.file("said", json.dumps(context))
        done = self.run_function("echo", f"--context=@{said}", f"--system-info=@{info}")
        self.assertEqual((done.json["context"], done.json["system_info"]), (context, "Zeilen\nmit ü\n"))
        self.assertEqual(set(self.run_function("echo").json), {"function", "arguments"})

    def test_context_must_be_an_array(self):
        self.fails(4, "input", "run", "-d", "gassist", PLUGIN, "echo", "--context", "{}")

    def test_failures(self):
        done = self.fails(1, "plugin_error", "run", "-d", "gassist", PLUGIN, "refuse", "text=No API key")
        self.assertIn("gassist: No API key", done.err)
        done = self.run_function("--json", "fail", "code:=-3", "text=slow down")
        self.assertEqual((done.code, done.json["kind"], done.json["rpc_code"]), (1, "plugin_error", -3))
        self.assertIn("Rate limited", done.err)
        done = self.run_function("nope")
        self.assertEqual(done.code, 1)
        self.assertIn("-32601", done.err)
        self.assertIn(f"'mortise info -d gassist {PLUGIN}' shows what it offers", done.err)

    def test_json(self):
        rows = self.run_function("--json", "count", "to=2").rows
        self.assertEqual([row.get("more") for row in rows], [True, True, None])
        self.assertEqual([row["data"] for row in rows], ["1 ", "2 ", "done"])
        self.assertEqual(
            (rows[-1]["ok"], rows[-1]["keep_session"], rows[-1]["plugin"]), (True, False, "gassist")
        )

    def test_timeout_is_code_minus_2(self):
        done = self.in_time(
            lambda limit: self.run_function("--json", "-t", limit, "nap", "seconds=600"),
            lambda done: "rpc_code" in done.json,
        )
        self.assertEqual((done.code, done.json["kind"], done.json["rpc_code"]), (6, "timeout", -2))

    def test_session_hint(self):
        done = self.run_function("talk")
        self.assertEqual((done.code, done.out), (0, "What is your name?\n"))
        self.assertIn(f"'mortise chat -d gassist {PLUGIN}'", done.err)

    def test_interrupt(self):
        process = self.start("run", "-v", "-d", "gassist", PLUGIN, "hold", f"file={self.dir / 'never'}")
        self.assertEqual(process.stdout.read(6), b"first ")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(LIMIT), 130)
        self.assertIn(b"stopped", process.stderr.read())

    def test_usage(self):
        self.assertIn(
            f"'mortise info -d gassist {PLUGIN}'", self.fails(2, "usage", "run", "-d", "gassist", PLUGIN).err
        )
        self.assertNotIn("--", self.fails(5, "not_found", "run", "nowhere", "f").err)  # it takes no command
        self.fails(2, "usage", "run", "-d", "gassist", PLUGIN, "echo", "--session-limit", "soon")
        self.fails(2, "usage", "run", "-d", "gassist", PLUGIN, "echo", "--session-limt=5m")
        for option in (
            ["--workspace", "."],
            ["--idl", "x"],
            ["--keep-going"],
            ["--keep"],
            ["--yes"],
        ):
            self.assertIn(
                "for Sunscreen plugins",
                self.fails(2, "usage", "run", "-d", "gassist", PLUGIN, "echo", *option).err,
            )
        self.assertIn(
            "for Sunscreen plugins",
            self.fails(2, "usage", "run", "-d", "gassist", "--hook", "x", PLUGIN).err,
        )
        self.assertIn(
            "say what it speaks with --dialect or a manifest", self.fails(2, "usage", "run", PLUGIN, "echo").err
        )

    def test_command(self):
        """A plugin without a manifest is the command after "--"; what is before it belongs to the function."""
        command = ("--", PYTHON, PLUGIN)
        done = self.run_mortise("run", "-d", "gassist", "echo", "a=1", "--context", "[]", *command)
        self.assertEqual(done.json, {"function": "echo", "arguments": {"a": 1}, "context": []})
        done = self.run_mortise("run", "echo", '{"b":2}', "-d", "gassist", *command)
        self.assertEqual(done.json["arguments"], {"b": 2})

    def test_command_hints(self):
        """They name the command, so that they can be typed."""
        command = f"-d gassist -- {PYTHON} {PLUGIN}"
        talk = self.run_mortise("run", "-d", "gassist", "talk", "--", PYTHON, PLUGIN)
        self.assertIn(f"'mortise chat {command}' holds", talk.err)
        named = self.fails(2, "usage", "run", "-d", "gassist", "--", PYTHON, PLUGIN)
        self.assertIn(f"'mortise info {command}' lists", named.err)

    def test_command_usage(self):
        self.assertIn(
            'write a command after "--"', self.fails(2, "usage", "run", "-d", "gassist", "echo", "--").err
        )
        self.fails(5, "not_found", "run", "-d", "gassist", "echo", "--", "./no-such-program")
        self.fails(7, "crashed", "run", "-d", "gassist", "echo", "--", "/bin/false")
        done = self.fails(2, "usage", "run", "-d", "gassist", "echo", "--yes", "--", PYTHON, PLUGIN)
        self.assertIn("for Sunscreen plugins", done.err)

    def test_large_frames(self):
        """20 MiB come through; over the limit the call fails at once, with the limit named."""
        done = self.run_function("big", f"bytes={20 << 20}")
        self.assertEqual((done.code, len(done.raw)), (0, (20 << 20) + 1))
        done = self.fails(
            9,
            "protocol",
            "run",
            "-d",
            "gassist",
            "--set",
            "limits.frame=1MiB",
            PLUGIN,
            "big",
            f"bytes={2 << 20}",
        )
        self.assertIn("over the limit of 1 MiB", done.err)
        done = self.fails(
            9,
            "protocol",
            "run",
            "-d",
            "gassist",
            "--set",
            "limits.send=1KiB",
            PLUGIN,
            "echo",
            "a=" + "x" * 2000,
        )
        self.assertIn("limits.send", done.err)

    def test_nan(self):
        self.assertEqual(self.run_function("nan").code, 0)

    def test_crash(self):
        done = self.fails(7, "crashed", "run", "-d", "gassist", PLUGIN, "crash")
        self.assertIn("no way on", done.err)

    def test_directory(self):
        """manifest.json with flat parameters; the text alone where a function has one; cwd is the plugin's."""
        manifest = {
            "manifestVersion": 1,
            "protocol_version": "2.0",
            "executable": "./plugin.py",
            "persistent": False,
            "functions": [
                {
                    "name": "echo",
                    "description": "Says it again",
                    "properties": {"text": {"type": "string"}},
                    "required": ["text"],
                },
                {"name": "env", "description": "A variable", "properties": {"name": {"type": "string"}}},
            ],
        }
        directory = self.file("parrot/manifest.json", json.dumps(manifest)).parent
        self.file("parrot/plugin.py", PLUGIN.read_text())
        done = self.run_mortise("run", directory, "echo", "hello there")
        self.assertEqual((done.code, done.json["arguments"]), (0, {"text": "hello there"}), done.err)
        done = self.run_mortise(
            "run", directory, "env", "name=PROGRAMDATA", env={"XDG_STATE_HOME": str(self.dir / "state")}
        )
        self.assertTrue(done.out.startswith(str(self.dir / "state")), done.out)

    PARAMETERS = {
        "city": {"type": "string"},
        "days": {"type": "integer"},
        "unit": {"type": "string", "enum": ["C", "F"]},
        "loud": {"type": "boolean"},
        "ratio": {"type": ["number", "null"]},
        "tags": {"type": "array"},
        "any": {},
    }

    def weather(self, **more):
        functions = [
            {
                "name": "echo",
                "description": "Says it again",
                "properties": self.PARAMETERS,
                "required": ["city"],
            },
            {"name": "pid", "description": "Who it is"},
        ]
        manifest = {
            "manifestVersion": 1,
            "protocol_version": "2.0",
            "executable": "./plugin.py",
            "persistent": False,
            "functions": functions,
            **more,
        }
        self.file("weather/plugin.py", PLUGIN.read_text())
        return self.file("weather/manifest.json", json.dumps(manifest)).parent

    def refused(self, *words):
        """Before anything is started."""
        done = self.fails(4, "input", "run", "-v", self.weather(), *words)
        self.assertNotIn("starting", done.err)
        return done.err.replace("input: ", "").strip()

    def test_arguments_are_checked(self):
        usage = "; usage: echo city=string [days=integer] [unit=string] [loud=boolean] [ratio=value] [tags=array] [any=value]"
        self.assertEqual(self.refused("echo"), '"echo" needs the argument "city"' + usage)
        self.assertEqual(self.refused("echo", "days=2"), '"echo" needs the argument "city"' + usage)
        self.assertEqual(self.refused("echo", "city:=null"), '"echo" needs the argument "city"' + usage)
        self.assertEqual(
            self.refused("echo", "city=Oslo", "dys=2"),
            '"echo" has no argument "dys": did you mean "days"?' + usage.replace("; u", " U"),
        )
        self.assertEqual(
            self.refused("echo", "city=Oslo", "quite_other=2"), '"echo" has no argument "quite_other"' + usage
        )
        self.assertEqual(
            self.refused("echo", '{"city": "Oslo", "days": "2"}'),
            'argument "days" must be integer, not string: 2' + usage,
        )
        self.assertEqual(
            self.refused("echo", "city=Oslo", "days=soon"),
            'argument "days" must be integer, not string: soon' + usage,
        )
        self.assertEqual(
            self.refused("echo", "city=Oslo", "days=1.5"),
            'argument "days" must be integer, not number: 1.5' + usage,
        )
        self.assertEqual(
            self.refused("echo", "city:=5"), 'argument "city" must be string, not number: 5' + usage
        )
        self.assertEqual(
            self.refused("echo", "city=Oslo", "unit=K"),
            'argument "unit" must be one of ["C","F"], not K' + usage,
        )
        self.assertEqual(
            self.refused("echo", "city=Oslo", "ratio=x"),
            'argument "ratio" must be ["number","null"], not string: x' + usage,
        )
        self.assertEqual(self.refused("pid", "who=me"), '"pid" has no argument "who"; usage: pid')

    def test_arguments_as_the_manifest_wants_them(self):
        """What stands for a text is one, though it looks like a number; := says what it is."""
        done = self.ok(
            "run",
            self.weather(),
            "echo",
            "city=007",
            "days=2",
            "unit=C",
            "loud=true",
            "ratio:=null",
            "any=5",
            "tags:=[1]",
        )
        self.assertEqual(
            done.json["arguments"],
            {"city": "007", "days": 2, "unit": "C", "loud": True, "ratio": None, "any": 5, "tags": [1]},
        )
        done = self.ok("run", self.weather(), "echo", "city=true", "loud:=null")
        self.assertEqual(done.json["arguments"], {"city": "true", "loud": None})

    def test_functions_are_checked(self):
        self.assertEqual(
            self.refused("ecko"),
            f"weather has no function \"ecko\": did you mean \"echo\"? "
            f"('mortise info {self.dir / 'weather'}' lists them)",
        )
        self.assertIn('weather has no function "nothing" (', self.refused("nothing"))

    def test_functions_that_are_found_later(self):
        """mcp: the manifest's list is not the last word. Nor is there one without a manifest; and
        call --unchecked asks nobody."""
        where = self.weather(mcp={"enabled": True})
        self.assertEqual(self.ok("run", where, "count", "to=1").out, "1 done\n")
        self.assertEqual(self.run_function("count", "to=1").out, "1 done\n")
        self.assertEqual(
            self.ok("call", "--unchecked", self.weather(), "echo", "what=ever").rows[-1]["data"]["arguments"],
            {"what": "ever"},
        )

    def test_v1_is_refused(self):
        directory = self.file(
            "old/manifest.json",
            json.dumps({"manifestVersion": 1, "executable": "./plugin.py", "functions": []}),
        ).parent
        self.file("old/plugin.py")
        done = self.fails(3, "manifest", "run", directory, "f")
        self.assertIn("V1", done.err)
        self.assertNotIn("pip install", done.err)

    def test_frame_pad(self):
        """A plugin that reads whole blocks of 4096 bytes hangs, unless frames are padded for it."""
        plugin = PLUGINS / "gassist_blocks.py"
        done = self.run_mortise("run", "-d", "gassist", "--set", "quirks.frame_pad=4096", plugin, "greet")
        self.assertEqual((done.code, done.out), (0, "execute\n"), done.err)


class Watchdog(Gassist):
    def pid_of(self, process):
        self.say(process, "/pid")
        return int(self.line(process.stdout))

    def test_frozen(self):
        """Frozen while idle: found by the ping rule, killed, explained; the next request finds
        a new process."""
        process = self.chat(*QUICK, PLUGIN)
        pid = self.pid_of(process)
        self.say(process, "/freeze")
        self.line(process.stdout, "frozen from now on")
        told = self.line(process.stderr, "killed as frozen")
        self.assertIn("2 pings in a row were not answered within 1000 ms each", told)
        after = self.pid_of(process)
        self.assertNotEqual(pid, after)
        self.assertEqual(until_ended([pid]), [])
        self.assertEqual(self.leave(process), 0)

    def test_busy_like_the_official_sdks(self):
        """Twice the ping rule without an answer, but within the execute limit: not killed, and the same
        process goes on."""
        process = self.chat(*QUICK, PLUGIN)
        pid = self.pid_of(process)
        self.say(process, "/nap seconds=6")
        self.line(process.stdout, "awake")
        self.assertEqual(self.pid_of(process), pid)
        self.assertEqual(self.leave(process), 0)

    def test_strict(self):
        process = self.chat(*QUICK, "--set", "quirks.watchdog=strict", PLUGIN)
        self.say(process, "/nap seconds=600")
        self.assertIn("timeout: ", self.line(process.stderr, "killed as frozen"))
        self.assertEqual(self.leave(process), 6)

    def test_learned(self):
        """One that answered pings during a request and then does not is frozen."""
        process = self.chat(*QUICK, "--", PYTHON, PLUGIN, "threads")
        self.say(process, "/deafen after=3")
        self.assertIn(
            "although it has answered pings during a call before", self.line(process.stderr, "killed as frozen")
        )
        self.assertEqual(self.leave(process), 6)

    def test_off(self):
        process = self.chat(*QUICK, "--set", "quirks.watchdog=off", "--show-wire", PLUGIN)
        self.say(process, "/nap seconds=1")
        self.line(process.stdout, "awake")
        self.leave(process)
        self.assertNotIn(b'"ping"', process.stderr.read())


class NextCallWorks(Gassist):
    def test_after(self):
        """A stray print, a late answer, an unknown id, a failure told twice, a frame over the limit: the same
        process goes on."""
        for function, out in (
            ("print", "printed"),
            ("late", "first"),
            ("fail_twice", None),
            ("big bytes=200000", None),
            ("ask", '{"jsonrpc":"2.0","id":"q","error":{"code":-32601,"message":"Method not found"}}'),
        ):
            done = self.run_mortise(
                "chat",
                "-d",
                "gassist",
                "--set",
                "limits.frame=100KiB",
                PLUGIN,
                stdin=f"/pid\n/{function}\n/pid\n".encode(),
            )
            lines = done.out.splitlines()
            self.assertEqual(lines[0], lines[-1], function)
            self.assertEqual(lines[1:-1], [out] if out else [], function)


class Session(Gassist):
    def test_limit(self):
        """--session-limit: announced, then the plugin is killed and the reason told."""
        process = self.chat("--session-limit", "1s", PLUGIN)
        self.say(process, "/talk")
        self.line(process.stderr, "the session ends in 1 s")
        self.line(process.stderr, "its session has lasted 1 s")
        self.say(process, "too late")
        self.line(process.stderr, "is not waiting for input")
        self.assertEqual(self.leave(process), 4)

    def test_no_limit(self):
        process = self.chat("--session-limit", "0", "-v", PLUGIN)
        self.say(process, "/talk")
        self.line(process.stderr, "a session begins")
        self.say(process, "Ada")
        self.line(process.stdout, "Hello Ada!")
        self.assertEqual(self.leave(process), 0)
        self.assertNotIn(b"ends in", process.stderr.read())


if __name__ == "__main__":
    unittest.main()
