#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Plugins that stay between commands."""
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time
import unittest

import events
from support import MORTISE, PLUGINS, PYTHON, YAMS_OK, Case

TALLY = PLUGINS / "tally.py"
CONNECT = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"


class Over(Exception):
    """The session has ended before what was to be done with it."""


class Session(Case):
    def setUp(self):
        super().setUp()
        self.runtime = pathlib.Path(self.env["XDG_RUNTIME_DIR"])
        self.addCleanup(self.run_mortise, "session", "stop", "--all")

    def start(self, name="t", *options):
        self.ok("session", "start", name, *options, "--", PYTHON, TALLY)

    def call(self, *words):
        return self.ok("call", "@t", *words).json

    def listed(self):
        return {row["name"]: row for row in self.ok("session", "list", "--json").json}

    def follow(self):
        """What the plugin says by itself from here on, as it comes."""
        process = subprocess.Popen(
            [str(MORTISE), "session", "notes", "t", "--follow", "--json"],
            stdout=subprocess.PIPE,
            env=self.env,
            text=True,
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process


class Known(Session):
    """What a session's plugin takes is known before the call."""

    def test_arguments_are_checked_before_the_call(self):
        self.ok("session", "start", "t", "-d", "yams", YAMS_OK)
        call = ("call", "@t", "extractor.extract")
        for words, text in (
            ([], '"extractor.extract" needs the argument "source"'),
            (["source.typ=bytes"], 'did you mean "source.type"?'),
        ):
            self.assertIn(text, self.fails(4, "input", *call, *words).err)
        self.assertEqual(self.listed()["t"]["calls"], 0)
        self.assertTrue(self.ok("call", "@t", "extractor.supports", "text/plain", ".txt").json["supported"])
        self.fails(1, "plugin_error", "call", "@t", "--unchecked", "extractor.supports", "extension=.x")
        self.assertEqual(self.listed()["t"]["calls"], 2)

    def test_completion(self):
        names = ("completion", "names", "--")
        self.assertEqual(self.ok(*names, "call").out, "")
        self.ok("session", "start", "t", "-d", "yams", YAMS_OK)
        self.start("u")
        self.assertEqual(self.ok(*names, "call").out, "@t\n@u\n")
        self.assertEqual(self.ok(*names, "run").out, "")
        self.assertEqual(self.ok(*names, "session").out, "start\nlist\nstop\nnotes\n")
        for verb, wanted in (("stop", "t\nu\n"), ("notes", "t\nu\n"), ("start", ""), ("list", "")):
            self.assertEqual(self.ok(*names, "session", verb).out, wanted)
        self.assertIn("extractor.extract\n", self.ok(*names, "call", "@t").out)
        self.assertIn("source.type=\n", self.ok(*names, "call", "@t", "extractor.extract").out)
        self.assertEqual(self.ok(*names, "call", "@nobody").out, "")

    def test_completion_in_bash(self):
        self.start("tee")
        (self.dir / "a-file").touch()
        script = self.file("completion.bash", self.ok("completion", "bash").raw)
        for words, wanted in (
            ("call @t", "@tee"),
            ("call a-f", "a-file"),
            ("session stop t", "tee"),
            ("session st", "start stop"),
        ):
            count = len(words.split())
            ask = f". {script}; COMP_WORDS=(mortise {words}); COMP_CWORD={count}; _mortise; echo ${{COMPREPLY[@]}}"
            path = f"{MORTISE.parent}:{self.env['PATH']}"
            done = subprocess.run(
                ["bash", "-c", ask],
                env={**self.env, "PATH": path},
                cwd=self.dir,
                capture_output=True,
                text=True,
                check=True,
            )
            self.assertEqual(done.stdout.strip(), wanted, (words, done.stderr))

    def test_record(self):
        self.start()
        self.ok("call", "@t", "add", "by=2", "--record", self.dir / "x.talk")
        said = [line[:1] for line in (self.dir / "x.talk").read_text().splitlines() if line[:1] in "<>"]
        self.assertEqual(said, [">", "<"])
        self.assertIn("talk 1 plain framing=lines\n", (self.dir / "x.talk").read_text())


class Lingering(Session):
    """A client that neither reads nor asks does not keep a session for ever."""

    def lingering(self, *asks, then=lambda: None):
        """A client of our own, which reads nothing; the session ends all the same. It is given a longer life
        where this machine was too busy to come to it in time."""
        for idle in ("1s", "10s", "100s"):
            self.start("t", "--idle", idle)
            client = socket.socket(socket.AF_UNIX)
            self.addCleanup(client.close)
            try:
                keeper = self.listed()["t"]["keeper_pid"]
                client.connect(str(self.runtime / "mortise" / "t.sock"))
                for ask in asks:
                    body = json.dumps(ask).encode()
                    client.sendall(b"%d\n%s" % (len(body), body))
                then()
            except (KeyError, OSError, Over):
                continue
            self.assertEqual(events.until_ended([keeper]), [])
            return
        self.fail("each time it was over before it was used")

    def test_it_only_connects(self):
        self.lingering()

    def test_it_never_reads_its_answer(self):
        self.lingering({"op": "call", "method": "echo", "params": {"text": "x" * 4_000_000}})

    def test_it_follows_and_never_reads(self):
        def tells():
            for _ in range(8):
                if self.run_mortise("call", "@t", "tell", "pad=" + "x" * 100_000).code == 5:
                    raise Over

        self.lingering({"op": "notes", "follow": True}, then=tells)


class Kept(Session):
    def test_one_process_for_all_calls(self):
        self.start()
        self.assertEqual([self.call("add", f"by={n}") for n in (1, 2, 3)], [1, 3, 6])
        told = self.ok("call", "@t", "add", "by=4", "--json").json
        self.assertEqual((told["ok"], told["result"], told["plugin"]), (True, 10, "tally"))

    def test_list(self):
        self.assertIn("no sessions", self.run_mortise("session", "list").err)
        self.start()
        self.call("add", "by=1")
        row = self.listed()["t"]
        self.assertEqual((row["state"], row["dialect"], row["calls"]), ("ready", "plain", 1))
        self.assertEqual(row["idle_ms"], 600000)
        self.assertRegex(self.ok("session", "list").out, r"^t +tally +plain +ready +1 calls, ends in ")

    def test_notes(self):
        self.start()
        self.call("tell")
        notes = self.ok("session", "notes", "t", "--json").rows
        self.assertIn(
            ("note", "told", {"total": 0}), [(n["kind"], n.get("method"), n.get("params")) for n in notes]
        )
        self.assertIn(("stderr", "on stderr"), [(n["kind"], n.get("text")) for n in notes])
        self.assertRegex(self.ok("session", "notes", "t").out, r"\d\d:\d\d:\d\d note told \{\"total\":0\}\n")

    def test_a_method_is_only_text(self):
        """The plugin chooses it: no control sequence of it reaches the terminal, and no line of its own."""
        self.start()
        self.call("ask", "method=\x1b[31mred\nline")
        told = self.ok("session", "notes", "t").out
        self.assertRegex(told, r"(?m)^\d\d:\d\d:\d\d request \\x1b\[31mred\\x0aline \{\}$")

    def test_notes_as_they_come(self):
        self.start()
        process = self.follow()
        self.call("tell")
        self.assertEqual(json.loads(process.stdout.readline())["kind"] in ("note", "stderr"), True)
        self.ok("session", "stop", "t")
        self.assertEqual(process.wait(), 0)

    def test_what_the_plugin_asks(self):
        self.start("t", "--answer", 'settings={"tab":4}')
        self.assertEqual(self.call("ask", "method=settings"), {"tab": 4})
        self.assertIsNone(self.call("ask", "method=other"))

    def test_verbose_and_wire(self):
        self.start()
        done = self.run_mortise("call", "@t", "tell", "--show-wire", "-v")
        self.assertIn('> {"jsonrpc":"2.0","id":1,"method":"tell"}', done.err)
        self.assertIn("tally: note told", done.err)

    def test_errors_are_those_of_a_call(self):
        self.ok("session", "start", "t", "-d", "yams", "--", PYTHON, YAMS_OK)
        done = self.fails(1, "plugin_error", "call", "@t", "no.such")
        self.assertIn("-32601", done.err)
        self.assertIn("supported", self.call("extractor.supports", "mime_type=a/b", "extension=.x"))

    def test_large(self):
        self.start()
        text = self.file("large.json", json.dumps({"x": "y" * (20 << 20)}))
        self.assertEqual(len(self.call("echo", f"@{text}")["x"]), 20 << 20)

    def test_many_at_once(self):
        self.start()
        calls = [
            subprocess.Popen([str(MORTISE), "call", "@t", "add", "by=1"], stdout=subprocess.PIPE, env=self.env)
            for _ in range(20)
        ]
        results = sorted(int(call.communicate()[0]) for call in calls)
        self.assertEqual(results, list(range(1, 21)))

    def test_language_server(self):
        """initialize, didOpen, hover: three commands and one process."""
        if not shutil.which("clangd"):
            self.skipTest("there is no clangd")
        source = self.file(
            "a.c", "int add(int a, int b) { return a + b; }\nint main(void) { return add(1, 2); }\n"
        )
        uri = f"textDocument.uri=file://{source}"
        self.ok("session", "start", "t", "--framing", "headers", "--", "clangd", "--log=error")
        self.assertIn(
            "hoverProvider",
            self.call("initialize", "processId:=null", "rootUri:=null", "capabilities:={}")["capabilities"],
        )
        self.ok(
            "call",
            "@t",
            "--notify",
            "textDocument/didOpen",
            uri,
            "textDocument.languageId=c",
            "textDocument.version:=1",
            f"textDocument.text=@{source}",
        )
        told = self.call("textDocument/hover", uri, "position.line:=1", "position.character:=26")
        self.assertIn("function add", told["contents"]["value"])


class Ends(Session):
    def test_stop(self):
        self.start()
        keeper = self.listed()["t"]["keeper_pid"]
        plugin = self.listed()["t"]["about"]["pid"]
        self.ok("session", "stop", "t")
        self.assertEqual(events.until_ended([keeper, plugin]), [])
        self.assertEqual(os.listdir(self.runtime / "mortise"), [])
        self.fails(5, "not_found", "call", "@t", "add", "by=1")
        self.fails(5, "not_found", "session", "stop", "t")

    def test_not_used(self):
        """To look at it, again and again, is not to use it."""
        self.start("t", "--idle", "300ms")
        end = time.monotonic() + events.LIMIT
        while self.listed():
            self.assertLess(time.monotonic(), end)

    def test_plugin_dies(self):
        self.start()
        self.fails(7, "crashed", "call", "@t", "die")
        for _ in range(2):
            done = self.fails(7, "crashed", "call", "@t", "add", "by=1")
            self.assertIn("session t is over, its plugin has ended: tally: exited with status 3", done.err)
        self.assertEqual(self.listed()["t"]["state"], "dead")
        self.start()  # anew, under the same name
        self.assertEqual(self.call("add", "by=5"), 5)

    def test_keeper_is_killed(self):
        self.start()
        row = self.listed()["t"]
        os.kill(row["keeper_pid"], signal.SIGKILL)
        self.assertEqual(events.until_ended([row["keeper_pid"], row["about"]["pid"]]), [])
        self.assertEqual(self.listed(), {})
        self.assertEqual(os.listdir(self.runtime / "mortise"), [])
        self.start()
        self.assertEqual(self.call("add", "by=5"), 5)

    def test_keeper_is_told_to_end(self):
        self.start()
        row = self.listed()["t"]
        os.kill(row["keeper_pid"], signal.SIGTERM)
        self.assertEqual(events.until_ended([row["keeper_pid"], row["about"]["pid"]]), [])
        self.assertEqual(os.listdir(self.runtime / "mortise"), [])

    def test_caller_goes_away(self):
        self.start()
        notes = self.follow()
        caller = subprocess.Popen([str(MORTISE), "call", "@t", "hold"], env=self.env, stderr=subprocess.DEVNULL)
        self.assertEqual(json.loads(notes.stdout.readline())["method"], "holding")
        caller.send_signal(signal.SIGINT)
        self.assertEqual(caller.wait(), 130)
        self.call("release")
        self.assertEqual(self.call("add", "by=2"), 2)

    def test_all(self):
        self.start("one")
        self.start("two")
        self.assertEqual(sorted(self.listed()), ["one", "two"])
        self.ok("session", "stop", "--all")
        self.assertEqual(self.listed(), {})


class Refused(Session):
    def test_twice(self):
        self.start()
        done = self.fails(4, "input", "session", "start", "t", "--", PYTHON, TALLY)
        self.assertIn("session t runs already: 'mortise session stop t' ends it", done.err)

    def test_a_plugin_that_does_not_start(self):
        self.fails(5, "not_found", "session", "start", "t", "--", "/no/such/program")
        done = self.fails(7, "crashed", "session", "start", "t", "-d", "yams", "--", "false")
        self.assertIn("exited with status 1", done.err)
        self.assertEqual(self.listed(), {})

    def test_nothing_to_keep(self):
        for dialect in ("sunscreen", "sunscreen-json", "kythe"):
            self.fails(
                4,
                "unsupported",
                "session",
                "start",
                "t",
                "-d",
                dialect,
                "--level",
                "guarded",
                "--",
                PYTHON,
                TALLY,
            )

    def test_what_is_fixed(self):
        self.start()
        for option in (["--confine"], ["-e", "A=1"], ["-d", "yams"], ["--set", "sandbox.network=true"]):
            done = self.fails(2, "usage", "call", "@t", "add", "by=1", *option)
            self.assertIn("fixed when its session started", done.err)

    def test_names(self):
        for name in ("", ".x", "-x", "a/b", "a b", "é", "x" * 65):
            done = self.run_mortise("session", "start", "--", PYTHON, TALLY) if not name else None
            done = done or self.run_mortise("session", "stop", "@" + name)
            self.assertEqual(done.code, 2, name)

    def test_words(self):
        for words in (
            [],
            ["strat"],
            ["start"],
            ["list", "x"],
            ["stop"],
            ["notes"],
            ["start", "t", "a", "b"],
            ["start", "t", "--idle", "soon", "--", "x"],
            ["start", "t", "--answer", "x", "--", "y"],
        ):
            self.fails(2, "usage", "session", *words)

    def test_a_directory_of_others(self):
        (self.runtime / "mortise").mkdir(mode=0o755)
        done = self.fails(2, "usage", "session", "start", "t", "--", PYTHON, TALLY)
        self.assertIn("others can enter it or own it", done.err)

    def test_confined_programs_cannot_reach_it(self):
        self.start()
        socket = self.runtime / "mortise" / "t.sock"
        subprocess.run([PYTHON, "-c", CONNECT, str(socket)], check=True)
        for level in ("t0", "auto"):
            done = self.run_mortise(
                "jail", "--level", level, "--read", self.runtime, "--", PYTHON, "-c", CONNECT, socket
            )
            if done.code == 125:
                self.skipTest(done.err)
            self.assertEqual(done.code, 1, done.err)
            self.assertRegex(done.err, "PermissionError|FileNotFoundError|OSError")


if __name__ == "__main__":
    unittest.main()
