# SPDX-License-Identifier: Apache-2.0
"""mortise index: how analyzers end, and the command itself: words, summary, report. Rules and decisions as in
docs/dialects/kythe.md."""
import json
import os
import subprocess
import unittest

from kythe_support import IndexCase, PUPPET, SIMPLE, Unit, program, read_entries, simple
from support import BUILD, LIMIT, MORTISE, PLUGINS, PYTHON

SDK_TEXT = BUILD / "tests" / "plugins" / "kythe-sdk-text"

SDK_TEXT_PY = PLUGINS / "kythe" / "sdk_text.py"


class Ends(IndexCase):
    def starts(self):
        return len((self.state / "starts").read_text())

    BEGIN = "open(state + '/starts', 'a').write('.')\n"

    def test_a14_end_of_work(self):
        """The waiting request is not answered, stdin is closed, nobody is started again."""
        idle = "import atexit\natexit.register(lambda: open(state + '/ends', 'a').write('.'))\n"
        report, _ = self.report(self.kzip(simple(6)), "-j3", analyzer=self.puppet(begin=self.BEGIN + idle))
        self.assertEqual((self.starts(), len((self.state / "ends").read_text())), (3, 3))
        self.assertEqual(report["stderr"], "")

    def test_r18_a_process_per_unit(self):
        ready = "import os\nos.environ['one'] = ''\n"
        idle = "import os, sys\n'one' in os.environ and (os.environ.pop('one') == '') or sys.exit(0)\n"
        units = simple(4)
        _, entries = self.report(
            self.kzip(units), "-j1", analyzer=self.puppet(begin=self.BEGIN, ready=ready, idle=idle)
        )
        self.expect_simple(entries, units)
        self.assertEqual(self.starts(), 4)

    def test_r17_a17_tried_again(self):
        """Whatever the exit code: failed, tried again in a fresh process."""
        for how in ("sys.exit(0)", "sys.exit(1)", "os.kill(os.getpid(), 11)", "os._exit(77)", "os.abort()"):
            units = [Unit({"a.toy": program("dies_twice", how=how)})] + simple(2)
            for old in self.state.iterdir():
                old.unlink()
            report, entries = self.report(self.kzip(units), "-j1", analyzer=self.puppet(begin=self.BEGIN))
            self.assertEqual([fact for _, fact, _ in entries], ["/lost", "/pid", "/t", "/t"], how)
            self.assertEqual((self.starts(), (self.state / "attempts-a.toy").stat().st_size), (3, 3), how)
            self.assertEqual(report["stderr"].count("trying it again"), 2, report["stderr"])

    def test_a17_reported_at_last(self):
        units = simple(2) + [Unit({"a.toy": "raise SystemExit(3)\n"})] + simple(2, name="v")
        for retries, attempts in ((None, 3), ("0", 1), ("1", 2), ("4", 5)):
            for old in self.state.iterdir():
                old.unlink()
            report, entries = self.report(
                self.kzip(units), "-j2", *(["--retries", retries] if retries else []), code=1
            )
            self.expect_simple(entries, units[:2] + units[3:])
            (failure,) = report["failures"]
            self.assertEqual(
                (failure["name"], failure["attempts"], failure["earlier"]), ("a.toy", attempts, False)
            )
            self.assertIn("3", failure["reason"])
            self.assertEqual(failure["kzip"], str(self.dir / "in.kzip"))
            self.assertEqual((self.state / "attempts-a.toy").stat().st_size, attempts)

    def test_fresh_process(self):
        """A record that failed is given to a process that has done nothing yet."""
        mark = "import os\nos.environ['seen'] = 'yes'\n" + SIMPLE
        units = (
            simple(2, mark) + [Unit({"a.toy": program("needs_a_fresh_process")})] + simple(4, mark, name="v")
        )
        _, entries = self.report(self.kzip(units), "-j2")
        self.assertIn(("-", "/first", b"None"), entries)

    def test_worker_lost(self):
        """One of two cannot be started again: the record that it failed must go to the other one, in a
        fresh process."""
        gate, result = self.gate(), self.dir / "result"
        units = [
            Unit({"a.toy": program("breaks_others") + SIMPLE}),
            Unit({"b.toy": "tell('begun')\nhold()\n" + SIMPLE}),
        ]
        words = self.words(
            self.kzip(units),
            "-v",
            "-j2",
            "-o",
            result,
            "--set",
            "restart.intensity=1",
            analyzer=self.puppet(begin=program("cannot_start_while_broken")),
        )
        with subprocess.Popen(
            [str(MORTISE), *map(str, words)],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=self.env,
            cwd=self.dir,
            text=True,
        ) as process:
            self.assertTrue(any("-> failed" in line for line in process.stderr), "nobody was given up")
            os.remove(self.state / "broken")
            gate.open()
            told = process.stderr.read()
            self.assertEqual(process.wait(LIMIT), 0, told)
        self.expect_simple(read_entries(result.read_bytes()), units)

    def test_cannot_be_started(self):
        done = self.index(self.kzip(simple(2)), "-o", self.dir / "result", analyzer=["/nowhere/analyzer"])
        self.assertNotIn(done.code, (0, 1))
        self.assertRegex(done.err, "(?m)^(start|not_found): .*/nowhere/analyzer")


class AnalyzerSide(IndexCase):
    """R7: an analyzer that receives a corrupt frame exits; and at the end of its stdin (R15), with 0."""

    CORRUPT = (b"\n", b"+5\nhello", b"x", b"5\r\nhello", b"9999999999999999999999\n", b"100\n{", b"12")

    def ends(self, command):
        for sent in self.CORRUPT + (b"",):
            done = subprocess.run(
                [str(word) for word in command], input=sent, capture_output=True, timeout=LIMIT, check=False
            )
            self.assertEqual(done.returncode, 1 if sent else 0, (sent, done.stderr))
            self.assertIn(b'"init"', done.stdout)
            if sent:
                self.assertIn(b"corrupt frame", done.stderr)

    def stays_open(self, command):
        """It exits by itself, not because its stdin ended."""
        process = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        with process:
            process.stdin.write(b"+5\n")
            process.stdin.flush()
            self.assertEqual(process.wait(LIMIT), 1)

    @unittest.skipUnless(SDK_TEXT.exists(), f"{SDK_TEXT} is not built")
    def test_r07_c(self):
        self.ends([SDK_TEXT])
        self.stays_open([SDK_TEXT])

    def test_r07_python(self):
        self.ends([PYTHON, SDK_TEXT_PY, "json"])
        self.stays_open([PYTHON, SDK_TEXT_PY, "json"])


class Command(IndexCase):
    def usage(self, *words, code=2, text=""):
        done = self.run_mortise("index", *words)
        self.assertEqual(done.code, code, done.err)
        self.assertEqual(done.out, "")
        self.assertIn(text, done.err)

    def test_wrong_arguments(self):
        kzip = self.kzip(simple(1))
        self.usage(text="FILE.kzip")
        self.usage(kzip, text="--analyzer")
        self.usage(kzip, "--analyzer", "x", "--", "y", text="--analyzer")
        self.usage(kzip, "--", text="command")
        self.usage(kzip, "--dialect", "yams", "--", "x", text="kythe")
        self.usage(kzip, "--resume", "--", "x", text="--output")
        self.usage(kzip, "--resume", "-o", "-", "--", "x", text="--output")
        self.usage(kzip, "--format", "xml", "--", "x", text="--format")
        self.usage(kzip, "--view", "maybe", "--", "x", text="--view")
        self.usage(kzip, "-j", "0x", "--", "x", text="jobs")
        self.usage(kzip, "--retries", "-1", "--", "x", text="retries")

    def test_bad_archives(self):
        result = self.file("result", "precious")
        self.usage(self.dir / "none.kzip", "-o", result, "--", "x", code=5, text="none.kzip")
        self.usage(self.file("text.kzip", "no zip"), "-o", result, "--", "x", code=4, text="text.kzip")
        self.assertEqual(result.read_text(), "precious")

    def test_slip_keeps_the_output(self):
        """An analyzer that does not exist must not cost the file of the run before."""
        result = self.file("result", "precious")
        done = self.run_mortise("index", self.kzip(simple(1)), "-o", result, "--analyzer", self.dir / "nowhere")
        self.assertNotEqual(done.code, 0)
        self.assertIn("nowhere", done.err)
        self.assertEqual(result.read_text(), "precious")
        self.assertFalse((self.dir / "result.journal").exists())

    def test_stdout(self):
        units = simple(3)
        for words in ([], ["-o", "-"]):
            done = self.index(self.kzip(units), *words)
            self.assertEqual(done.code, 0, done.err)
            self.expect_simple(read_entries(done.raw), units)
            self.assertIn("3 of 3 units, 0 failed, 3 entries", done.err)
        done = self.index(self.kzip(units), "--json")
        self.expect_simple(read_entries(done.raw), units)
        self.assertEqual(json.loads(done.err)["done"], 3)

    def test_stdout_closed(self):
        """The reader goes away: an error, no hang."""
        process = subprocess.Popen(
            [str(MORTISE), *map(str, self.words(self.kzip(simple(40)), "-j1"))],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.env,
            cwd=self.dir,
        )
        process.stdout.close()
        err = process.stderr.read().decode()
        process.stderr.close()
        self.assertGreater(process.wait(LIMIT), 0, err)
        self.assertIn("writing the result: Broken pipe", err)

    def test_summary(self):
        units = simple(2) + [Unit({"a.toy": "raise SystemExit(1)\n"})]
        done = self.index(self.kzip(units), "-o", self.dir / "result", "--retries", "0")
        self.assertEqual((done.code, done.out), (1, ""))
        self.assertRegex(done.err, r"(?m)^failed: a\.toy: .+$")
        self.assertRegex(done.err, r"(?m)^2 of 3 units, 1 failed, 2 entries, .* in [0-9.]+ s$")
        self.assertFalse((self.dir / "result.journal").exists())

    def test_report(self):
        report, _ = self.report(self.kzip(simple(2)))
        self.assertEqual(
            set(report) - {"stderr"},
            {
                "ok",
                "units",
                "done",
                "failed",
                "entries",
                "bytes",
                "view",
                "staging",
                "elapsed_ms",
                "cpu_ms",
                "left",
                "empty",
                "failures",
                "empty_units",
                "messages",
            },
        )
        self.assertEqual(set(report["cpu_ms"]), {"analyzers", "driver", "guardians"})
        self.assertEqual(report["bytes"], (self.dir / "result").stat().st_size)

    def test_lenient(self):
        zeros = "send = wire.send\nimport json\nwire.send = lambda m: wire.raw(b'%05d\\n' % len(json.dumps(m)) + json.dumps(m).encode())\n"
        units = simple(1)
        kzip = self.kzip(units)
        _, entries = self.report(kzip, "--lenient", analyzer=self.puppet(begin=zeros))
        self.expect_simple(entries, units)
        done = self.index(kzip, "-o", self.dir / "result", analyzer=self.puppet(begin=zeros))
        self.assertNotIn(done.code, (0, 1), done.err)

    def test_sdk(self):
        """The Python SDK's loop, against the driver."""
        units = simple(3)
        for encoding in ("json", "protobuf"):
            report, entries = self.report(self.kzip(units), "-j1", analyzer=[PYTHON, SDK_TEXT_PY, encoding])
            self.expect_simple(entries, units)
            self.assertEqual(
                report["messages"][0],
                {"unit": "u0.toy", "file": "u0.toy", "line": 1, "column": 2, "text": "seen"},
            )

    @unittest.skipUnless(SDK_TEXT.exists(), f"{SDK_TEXT} is not built")
    def test_sdk_in_c(self):
        units = simple(3)
        report, entries = self.report(self.kzip(units), "-j1", analyzer=[SDK_TEXT])
        self.expect_simple(entries, units)
        self.assertEqual(
            report["messages"][2], {"unit": "u2.toy", "file": "u2.toy", "line": 1, "column": 2, "text": "seen"}
        )

    def test_plugin_directory(self):
        self.file(
            "p/mortise.toml",
            f"[plugin]\nname = \"p\"\ndialect = \"kythe\"\ncommand = [\"{PYTHON}\", \"{PUPPET}\"]\n",
        )
        units = simple(2)
        _, entries = self.report(self.kzip(units), analyzer=("--analyzer", self.dir / "p"))
        self.expect_simple(entries, units)

    def test_bytes_are_not_for_a_terminal(self):
        words = self.words(self.kzip(simple(1)))
        done = self.in_terminal(*words)
        self.assertEqual(done.code, 2, done.out)
        self.assertIn("name a file with --output, or take --format=json", done.out)
        self.assertEqual(self.in_terminal(*self.words(self.kzip(simple(1)), "--format=json")).code, 0)

    def test_progress(self):
        """It is shown while a unit is under way, and the unit goes on when it was seen."""
        gate = self.gate()
        units = simple(3) + [Unit({"held.toy": "hold()\n" + SIMPLE})] + simple(2, name="v")
        done = self.in_terminal(
            *self.words(self.kzip(units), "-j1", "-o", self.dir / "result"),
            seen=lambda text: b"[3/6]" in text and gate.open(),
        )
        self.assertEqual(done.code, 0)
        self.assertIn("[3/6] 0 failed", done.out)


if __name__ == "__main__":
    unittest.main()
