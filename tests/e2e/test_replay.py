# SPDX-License-Identifier: Apache-2.0
"""mortise replay: every reference plugin says again what it said; what differs is shown; the mock plugin."""
import json
import pathlib
import shutil
import signal
import unittest

from support import BUILD, ECHO, LIMIT, MORTISE, PYTHON, ROOT, needs_elf_text, needs_node
from talk_support import FRAMINGS, Talks, frame

REFERENCE = BUILD / "plugins"
SCRIPTS = ROOT / "tests" / "talk"


class Played(Talks):
    def equal(self, file, *words):
        done = self.ok("replay", file, *self.patient(words))
        self.assertRegex(done.out, r"^\S+: equal: \d+ messages sent, \d+ compared\n$")
        return done.out

    def differs(self, file, *words):
        """The report of a replay that differs."""
        done = self.run_mortise("replay", file, *self.patient(words))
        self.assertEqual((done.code, done.err), (1, ""), done.out)
        return done.out

    @staticmethod
    def patient(words):
        """On a busy machine a plugin may take long to start."""
        return words if "--timeout" in words else ["--timeout", f"{LIMIT}s", *words]


class RoundTrip(Played):
    """Recorded through a real host, then replayed to the same plugin."""

    @needs_elf_text
    def test_elf_text(self):
        recorder = [MORTISE, "record", "-o", "x.talk", REFERENCE / "elf-text"]
        self.ok(
            "call",
            "extractor.extract",
            "source.type=bytes",
            "source.data=@base64:/bin/true",
            "-d",
            "yams",
            "--",
            *recorder,
        )
        time = ["--ignore", "/result/*/extraction_time_ms"]
        self.assertIn("5 messages sent, 5 compared", self.equal("x.talk", *time, REFERENCE / "elf-text"))
        self.equal("x.talk", "--ordered", *time, REFERENCE / "elf-text")

    @needs_node
    def test_lookout(self):
        self.file("tree/a", "x" * 5000)
        recorder = [MORTISE, "record", "-o", "x.talk", REFERENCE / "lookout"]
        self.ok("run", "-d", "gassist", "disk", f"path={self.dir}/tree", "--", *recorder)
        self.assertIn("3 messages sent, 5 compared", self.equal("x.talk", REFERENCE / "lookout"))
        # and the other side: our own host with the recording as its plugin
        mock = self.ok(
            "run",
            "-d",
            "gassist",
            "disk",
            f"path={self.dir}/tree",
            "--",
            MORTISE,
            "replay",
            "--as-plugin",
            "x.talk",
        )
        self.assertIn("Largest files:", mock.out)

    def test_yellowstone(self):
        self.file("ws/sunscreen.yml", "version: 1\nname: my-app\n")
        self.file("ws/programs/app/src/lib.rs", "pub mod instructions;\n")
        self.file("ws/programs/app/src/instructions/mod.rs", "pub mod initialize;")
        shutil.copytree(self.dir / "ws", self.dir / "before")
        plugin = REFERENCE / "yellowstone-indexer"
        shutil.copy(plugin / "plugin.toml", self.file("shadow/x").parent)
        words = " ".join(
            f"'{w}'" for w in (MORTISE, "record", "-o", self.dir / "x.talk", "--", plugin / "bin" / "plugin")
        )
        self.file("shadow/bin/plugin", f"#!/bin/sh\nexec {words}\n").chmod(0o755)
        run = ["run", "./shadow", "scaffold:indexer", "Trades", "--program", "app", "-w", "ws", "--unconfined"]
        self.assertEqual(self.run_mortise(*run).code, 0)
        shutil.rmtree(self.dir / "ws")
        shutil.copytree(self.dir / "before", self.dir / "ws")
        done = self.run_mortise("replay", "x.talk", "--unconfined", plugin)
        self.assertEqual(done.code, 0, done.out)
        self.assertIn("2 messages sent, 2 compared", done.out)
        self.assertTrue((self.dir / "ws/indexers/trades/Cargo.toml").exists())

    @unittest.skipUnless((REFERENCE / "kythe-clang/kythe-clang").exists(), "kythe-clang is not built")
    def test_kythe_clang(self):
        self.file("a.c", "int f(void) { return 0; }\nint g(void) { return f(); }\n")
        made = self.run_mortise("kzip", "create", "-o", "a.kzip", "--", "cc", "-c", "a.c")
        self.assertEqual(made.code, 0, made.err)
        recorder = [MORTISE, "record", "-o", self.dir / "x.talk", REFERENCE / "kythe-clang"]
        done = self.run_mortise(
            "index", "a.kzip", "-j", "1", "-o", "out", "--view", "directory", "--", *recorder
        )
        self.assertEqual(done.code, 0, done.err)
        answers = [json.loads(line[2:]) for line in self.lines() if line.startswith("> {")]
        work = answers[1]["result"]
        # The world as it was: the files where the record says, and a place for the output.
        place = pathlib.Path(work["workingDir"])
        made = [path for path in (place, pathlib.Path(work["output"]).parent) if not path.exists()]
        for path in made:
            path.mkdir(parents=True)
            self.addCleanup(shutil.rmtree, path, True)
        for name in work["inputs"]:
            path = place / name
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(self.dir / "a.c", path)
        self.assertIn("equal", self.equal("x.talk", REFERENCE / "kythe-clang"))

    def test_every_plugin(self):
        """At least its greeting and its end, as far as its programs are here."""
        for place in sorted(
            path for path in REFERENCE.iterdir() if any(path.glob("*.*"))
        ):  # one is empty if left out
            if (place / "plugin.mjs").exists() or (place / "plugin.js").exists():
                if not shutil.which("node"):
                    continue
            name, target = f"{place.name}.talk", [place]
            recorder = [MORTISE, "record", "-o", self.dir / name]
            if (place / "plugin.toml").exists():  # one process per call: by hand
                target = ["--unconfined", place]
                self.record(
                    place / "bin" / "plugin", stdin=b'{"jsonrpc":"2.0","id":1,"method":"commands"}\n', name=name
                )
            elif (place / "bot.toml").exists():  # no manifest: the bot's file names the program
                program = place / place.name
                target = ["--", program if program.exists() else place / "plugin.mjs"]
                self.ok("call", "metadata", "--raw", "-d", "ayiou", "--", *recorder, *target)
            else:
                dialect = self.run_mortise("info", "--json", place).json["dialect"]
                self.run_mortise("info", "-d", dialect, "--", *recorder, *target)
            self.assertGreater(len(self.lines(name)), 4, place.name)
            done = self.run_mortise("replay", name, *self.patient(target))
            self.assertEqual(done.code, 0, (place.name, done.out))

    def test_test_plugins(self):
        for framing in FRAMINGS:
            plugin = [BUILD / "tests" / "api" / "api-echo-plugin", framing]
            data = b"".join(
                frame(
                    framing,
                    json.dumps({"jsonrpc": "2.0", "id": n, "method": "echo", "params": {"n": n}}).encode(),
                )
                for n in range(50)
            )
            self.record("--framing", framing, "--", *plugin, stdin=data)
            self.assertIn("50 messages sent, 50 compared", self.equal("x.talk", "--", *plugin))


class Differences(Played):
    SCRIPT = """talk 1 plain framing=lines
> {"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":1,"list":[1,2]}}
< {"jsonrpc":"2.0","id":1,"result":{"a":2,"list":[1,2,3],"gone":true}}
>.
= exit 0
"""

    def test_values(self):
        out = self.differs(self.talk(self.SCRIPT), ECHO)
        first, *rest = out.splitlines()
        self.assertTrue(first.endswith("x.talk:3: /result/a: expected 2, got 1"), first)
        self.assertIn("  /result/a: 2 -> 1", rest)
        self.assertIn("  /result/list/2: 3 -> nothing", rest)
        self.assertIn("  /result/gone: true -> nothing", rest)

    def test_ignored(self):
        file = self.talk(self.SCRIPT)
        ignore = ["--ignore", "/result/a", "--ignore", "/*/gone", "--ignore", "/result/list/2"]
        self.equal(file, *ignore, ECHO)

    def test_json_and_tap(self):
        told = json.loads(self.differs(self.talk(self.SCRIPT), "--json", ECHO))
        self.assertEqual((told["ok"], told["line"], told["sent"], told["compared"]), (False, 3, 1, 1))
        self.assertIn({"pointer": "/result/a", "expected": "2", "came": "1"}, told["differences"])
        tap = self.differs(self.talk(self.SCRIPT), "--tap", ECHO).splitlines()
        self.assertEqual(tap[0], "TAP version 14")
        self.assertTrue(tap[1].startswith("not ok 1 - "), tap)
        self.assertEqual(tap[-1], "1..1")

    def test_exit(self):
        script = "talk 1 plain framing=lines\n>.\n= exit 0\n"
        self.assertIn(
            "ended with exit 3, not with exit 0", self.differs(self.talk(script), "--", "sh", "-c", "exit 3")
        )
        self.assertIn(
            "ended with signal SEGV", self.differs(self.talk(script), "--", "sh", "-c", "kill -SEGV $$")
        )
        self.equal(self.talk(script.replace("exit 0", "signal SEGV")), "--", "sh", "-c", "kill -SEGV $$")

    def test_signals(self):
        script = 'talk 1 plain framing=lines\n< {"ready":1}\n>s TERM\n= signal TERM\n'
        self.equal(self.talk(script), "--", "sh", "-c", "echo '{\"ready\":1}'; read x; exit 9")
        script = 'talk 1 plain framing=lines\n< {"ready":1}\n= signal KILL\n'
        self.equal(self.talk(script), "--", "sh", "-c", "trap '' TERM; echo '{\"ready\":1}'; read x; exit 9")

    def test_silence(self):
        script = 'talk 1 plain framing=lines\n> {"id":1,"method":"x"}\n< {"id":1,"result":1}\n'
        out = self.differs(self.talk(script), "--timeout", "300ms", "--", "sleep", "1000")
        self.assertIn("nothing came in 300 ms (--timeout)", out)
        out = self.differs(self.talk(script), "--", "sh", "-c", "echo so sorry >&2; exit 4")
        self.assertIn('nothing came: the plugin ended with exit 4; last stderr: "so sorry"', out)
        out = self.differs(self.talk(script), "--", "sh", "-c", "exec >&-; exec sleep 1000")
        self.assertIn("nothing came: the plugin has closed its stdout", out)

    def test_more_than_expected(self):
        script = 'talk 1 plain framing=lines\n> {"id":1,"method":"x"}\n< {"id":1,"result":1}\n<.\n'
        says = ["--", "sh", "-c", "read x; echo '{\"id\":1,\"result\":1}'; echo '{\"method\":\"more\"}'"]
        self.assertIn("sent something that is not in the file", self.differs(self.talk(script), *says))
        self.equal(self.talk(script), "--skip", "more", *says)
        noisy = ["--", "sh", "-c", "read x; echo banner; echo '{\"id\":1,\"result\":1}'"]
        self.assertIn("banner", self.differs(self.talk(script), *noisy))
        self.equal(self.talk(script), "--skip-noise", *noisy)
        self.equal(self.talk(script.replace("< {", "<b banner\\n\n< {", 1)), *noisy)

    def test_order(self):
        script = (
            'talk 1 plain framing=lines\n> {"id":1,"method":"a"}\n> {"id":2,"method":"b"}\n'
            '< {"id":2,"result":2}\n< {"id":1,"result":1}\n'
        )
        says = [
            "--",
            "sh",
            "-c",
            "read x; read y; echo '{\"id\":1,\"result\":1}'; echo '{\"id\":2,\"result\":2}'; read z",
        ]
        self.equal(self.talk(script), *says)
        self.differs(self.talk(script), "--ordered", *says)

    def test_ids_of_the_plugin(self):
        """What the plugin asks may have another id; our answer has it."""
        script = (
            'talk 1 plain framing=lines\n< {"id":7,"method":"ask"}\n> {"id":7,"result":"yes"}\n'
            '< {"method":"got","params":"yes"}\n'
        )
        program = (
            "import json\nprint(json.dumps({'id': 'other', 'method': 'ask'}), flush=True)\n"
            "answer = json.loads(input())\nassert answer['id'] == 'other', answer\n"
            "print(json.dumps({'method': 'got', 'params': answer['result']}), flush=True)\ninput()"
        )
        self.equal(self.talk(script), "--", PYTHON, "-c", program)

    def test_split_raw_bytes_are_a_message(self):
        script = 'talk 1 plain framing=lines\n<b {"a":\n<b 1}\\n\n'
        self.equal(self.talk(script), "--", "sh", "-c", "echo '{\"a\":1}'; read x")

    def test_secrets(self):
        body = (
            b'{"jsonrpc":"2.0","id":1,"method":"echo","params":{"token":"abc","other_token":"abc","pwd":"x"}}\n'
        )
        self.record("--", ECHO, stdin=body)
        self.assertNotIn("abc", (self.dir / "x.talk").read_text())
        self.equal("x.talk", ECHO)
        self.equal("x.talk", "--secret", "token=real", ECHO)
        self.fails(2, "usage", "replay", "x.talk", "--secret", "token", ECHO)

    def test_left_out(self):
        script = "talk 1 plain framing=lines\n# left out: a message of 20 MiB\n> ...\n"
        self.assertIn("this message cannot be sent", self.differs(self.talk(script), "--", "cat"))
        script = 'talk 1 plain framing=lines\n< ...\n'
        self.equal(self.talk(script), "--", "sh", "-c", "echo '{\"any\":[1,2]}'; read x")

    def test_errors(self):
        self.fails(5, "not_found", "replay", "nonexistent.talk", ECHO)
        self.fails(2, "usage", "replay")
        self.fails(2, "usage", "replay", self.talk(self.SCRIPT))
        done = self.run_mortise("replay", self.talk("talk 2 plain\n"), ECHO)
        self.assertIn("only version 1 of the format is known", done.err)
        self.fails(5, "not_found", "replay", self.talk(self.SCRIPT), "--", "/nonexistent")

    def test_confined(self):
        script = self.talk(self.SCRIPT.replace('"a":2', '"a":1').replace(',3],"gone":true', "]"))
        done = self.run_mortise("replay", script, "--confine", ECHO)
        if "jail" not in done.err:
            self.assertEqual((done.code, done.err), (0, ""), done.out)


class Mock(Played):
    SCRIPT = """talk 1 plain framing=lines
> {"jsonrpc":"2.0","id":1,"method":"echo","params":{"x":1}}
< {"jsonrpc":"2.0","id":1,"result":{"x":"from the file"}}
>.
= exit 0
"""

    def mock(self, stdin, *words):
        return self.run_mortise("replay", "--as-plugin", "x.talk", *words, stdin=stdin)

    def test_for_our_own_host(self):
        self.talk(self.SCRIPT)
        done = self.ok("call", "echo", "x=1", "--", MORTISE, "replay", "--as-plugin", "x.talk")
        self.assertEqual(done.json, {"x": "from the file"})

    def test_any_id(self):
        self.talk(self.SCRIPT)
        for number in (99, "word", 2**60):
            said = {"jsonrpc": "2.0", "id": number, "method": "echo", "params": {"x": 1}}
            done = self.mock(json.dumps(said).encode() + b"\n")
            self.assertEqual((done.code, done.err, done.json["id"]), (0, "", number))

    def test_differences_are_told_and_it_goes_on(self):
        self.talk(self.SCRIPT)
        said = [{"method": "hello"}, {"jsonrpc": "2.0", "id": 5, "method": "echo", "params": {"x": 2}}]
        done = self.mock(b"".join(json.dumps(one).encode() + b"\n" for one in said))
        self.assertEqual((done.code, done.json["id"]), (1, 5))
        self.assertIn("x.talk:2: the host differs: ", done.err)

    def test_host_that_leaves(self):
        self.talk(self.SCRIPT)
        done = self.mock(b"")
        self.assertEqual((done.code, done.out), (1, ""))
        self.assertIn("x.talk:2: the host differs: nothing came", done.err)

    def test_status_of_the_file(self):
        self.talk(self.SCRIPT.replace("exit 0", "exit 7"))
        self.assertEqual(self.mock(b'{"jsonrpc":"2.0","id":1,"method":"echo","params":{"x":1}}\n').code, 7)
        self.talk(self.SCRIPT.replace("exit 0", "signal SEGV"))
        self.assertEqual(
            self.mock(b'{"jsonrpc":"2.0","id":1,"method":"echo","params":{"x":1}}\n').code, -signal.SIGSEGV
        )

    def test_calls_named_in_notes(self):
        """G-Assist ends a call by a notification: its request_id follows the id of the call."""
        self.talk(
            'talk 1 gassist framing=lines\n> {"jsonrpc":"2.0","id":2,"method":"execute","params":{}}\n'
            '< {"jsonrpc":"2.0","method":"complete","params":{"request_id":2,"success":true}}\n'
        )
        done = self.mock(b'{"jsonrpc":"2.0","id":77,"method":"execute","params":{}}\n')
        self.assertEqual(done.json["params"]["request_id"], 77)

    def test_scripts_of_the_tests(self):
        """The host's side of a test of the host, by hand: names, greeting and acts are understood."""
        call = {"jsonrpc": "2.0", "id": 3, "method": "add", "params": [20, 22]}
        self.talk(
            "talk 1 plain\n* start\n* call add [20, 22]\n"
            '> {"jsonrpc":"2.0","id":$call,"method":"add","params":[20,22]}\n'
            '< {"jsonrpc":"2.0","id":$call,"result":42}\n* result 42\n'
        )
        self.assertEqual(self.mock(json.dumps(call).encode() + b"\n").json["result"], 42)
        self.equal(self.dir / "x.talk", "--", MORTISE, "replay", "--as-plugin", self.dir / "x.talk")

    def test_both_sides_of_the_scripts(self):
        """Every script of `plain` agrees with itself, unless it has dots to be sent, or two processes."""
        unplayed = set()
        for path in sorted((SCRIPTS / "plain").glob("*.talk")):
            mock = [MORTISE, "replay", "--as-plugin", path]
            done = self.run_mortise("replay", path, "--timeout", f"{LIMIT}s", "--", *mock)
            if done.code != 0:
                unplayed.add(path.name)
                self.assertTrue(
                    "cannot be sent" in done.out or path.name in ("wedged.talk", "cancel-grace.talk"), done.out
                )
        self.assertLess(len(unplayed), 5)


if __name__ == "__main__":
    unittest.main()
