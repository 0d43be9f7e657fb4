# SPDX-License-Identifier: Apache-2.0
"""mortise index and analyzers that break every rule: the other units come out right, each once and whole;
nothing hangs, nothing is left running."""
import unittest

from kythe_support import IndexCase, SIMPLE, Unit, program, simple
from tier import again

SHORT_GRACE = ["--set", "stop.term=300ms", "--set", "stop.kill=300ms"]


class Hostile(IndexCase):
    """Each case: a unit whose program misbehaves, among units that do not."""

    def among(self, misdeed, *words, code=1, jobs="2", reason=None, retries="1", **how):
        """The report. Fails unless the others are whole, in order, once; and the bad one is failed by name
        (code 1) or not (code 0)."""
        before, after = simple(3), simple(3, name="v")
        bad = Unit({"bad.toy": misdeed})
        report, entries = self.report(
            self.kzip(before + [bad] + after), f"-j{jobs}", "--retries", retries, *words, code=code, **how
        )
        good = [(unit.name, "/t", unit.files[unit.name]) for unit in before + after]
        self.assertEqual([entry for entry in entries if entry[0] != "bad.toy"], good)
        self.assertEqual(list(self.reasons(report)), ["bad.toy"] if code else [])
        if code:
            self.assertEqual(len(entries), len(good))
            self.assertEqual(report["failures"][0]["attempts"], int(retries) + 1)
        if reason:
            self.assertIn(reason, self.reasons(report)["bad.toy"])
        return report

    def recovers(self, misdeed, *words, **how):
        """Misbehaves once; the second attempt is whole, and nothing of the first is in the result."""
        again = f"if attempt == 1:\n" + "".join(f"    {line}\n" for line in misdeed.splitlines()) + SIMPLE
        self.among(again, *words, code=0, **how)

    # ---- exits

    def test_exit_with_work_pending(self):
        for how in (
            "raise SystemExit(0)",
            "raise SystemExit(1)",
            "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)",
        ):
            for old in self.state.iterdir():
                old.unlink()
            self.among("out.fact('/lost', 'x')\n" + how)
            (self.state / "attempts-bad.toy").unlink()
            self.recovers("out.fact('/lost', 'x')\n" + how)

    def test_exit_after_done(self):
        """Nothing is pending: no failure, whatever the exit code."""
        for how in ("os._exit(0)", "os._exit(1)", "os.kill(os.getpid(), 11)"):
            for old in self.state.iterdir():
                old.unlink()
            report = self.among(SIMPLE + f"import os\ndone()\n{how}\n", code=0)
            self.assertEqual((self.state / "attempts-bad.toy").stat().st_size, 1)
            self.assertEqual(report["done"], 7)

    def exits_early(self, when, statuses, ways):
        """Once: it is started again. Always: the run ends, and says why."""
        units = simple(3)
        for status in statuses:
            analyzer = self.puppet(**{when: program("dies_once", status=status)})
            _, entries = self.report(self.kzip(units), "-j1", analyzer=analyzer)
            self.expect_simple(entries, units)
            (self.state / "x").unlink()
        for how in ways:
            done = self.index(
                self.kzip(units), "-j2", "-o", self.dir / "result", analyzer=self.puppet(**{when: how})
            )
            self.assertNotEqual(done.code, 0, how)
            self.assertIn("no analyzer is left", done.err)
            if when == "begin":
                self.assertIn("3 units are left", done.err)

    def test_exit_before_init(self):
        self.exits_early("begin", [1], ["raise SystemExit(0)"])

    def test_exit_after_init(self):
        self.exits_early("ready", [0], ["raise SystemExit(1)"])

    @again("other exit codes, and a signal")
    def test_exit_early_in_other_ways(self):
        self.exits_early("begin", [0], ["raise SystemExit(1)", "import os\nos.kill(os.getpid(), 11)"])
        self.exits_early("ready", [1], ["raise SystemExit(0)"])

    # ---- the wire

    def test_corrupt_frames(self):
        for frame in (b"\n", b"+5\nhello", b"abc", b"007\n{}     ", b"99999999999999999999\n", b"5\r\nhello"):
            for old in self.state.iterdir():
                old.unlink()
            self.among(
                f"wire.raw({frame!r})\nwire.until_closed()\nraise SystemExit\n",
                retries="0",
                code=9,
                reason="protocol: puppet: stdout ",
            )
        self.recovers("wire.raw(b'+5\\nhello')\nwire.until_closed()\nraise SystemExit")

    def test_frame_cut_off(self):
        self.among("wire.raw(b'500\\n{')\nraise SystemExit\n")

    def test_double_analyze(self):
        """-1, stdin closed, the pending one failed and tried again."""
        misdeed = program("asks_while_it_works")
        self.recovers(misdeed)
        self.assertIn("'code': -1", (self.state / "answer").read_text())
        (self.state / "attempts-bad.toy").unlink()
        self.among(misdeed, code=9, reason='protocol: puppet: "analyze" while another one is under way')

    def test_done_after_a_breach(self):
        """What comes after a corrupt frame does not count, not even done."""
        self.among(program("done_after_a_breach"), code=9)

    def test_second_init(self):
        self.among(
            "wire.ask('init', protocol='kythe1')\nwire.until_closed()\nraise SystemExit(3)\n",
            code=9,
            reason='protocol: puppet: "init" for the second time',
        )

    def test_breach_is_told(self):
        """As a line, as JSON, in the exit code; counts add up. It is told again when another run goes on."""
        kzip = self.kzip(
            simple(2)
            + [Unit({"bad.toy": "wire.ask('analyze')\nwire.until_closed()\nraise SystemExit\n"})]
            + simple(1, name="v")
        )
        reason = 'protocol: puppet: "analyze" while another one is under way'
        done = self.index(kzip, "-j1", "--retries", "0", "-o", self.dir / "result")
        self.assertEqual(done.code, 9)
        self.assertIn(f"failed: bad.toy: {reason}\n", done.err)
        self.assertRegex(done.err, r"(?m)^3 of 4 units, 1 failed, 3 entries, ")
        report, entries = self.report(kzip, "--retries", "1", code=9)
        self.assertEqual(
            (report["ok"], report["units"], report["done"], report["failed"], report["left"], len(entries)),
            (False, 4, 3, 1, 0, 3),
        )
        (failure,) = report["failures"]
        self.assertEqual((failure["reason"], failure["kind"], failure["attempts"]), (reason, "protocol", 2))
        self.assertIn(f"bad.toy: {reason}; trying it again\n", report["stderr"])

    def breaches_before_work(self, status):
        """A wrong version, work before init, a corrupt frame instead of it, or after it: nothing is handed out,
        and why is told."""
        kzip = self.kzip(simple(2))
        for when, said, why in (
            ("begin", "wire.ask('init', protocol='kythe9')", 'protocol "kythe9": this host knows kythe1'),
            (
                "begin",
                "wire.ask('init', protocol='kythe1', outputEncoding='xml')",
                'output encoding "xml": this host knows json and protobuf',
            ),
            ("begin", "wire.ask('analyze')", '"analyze" before "init"'),
            ("begin", "wire.note('done')", '"done" before "init"'),
            ("begin", "wire.raw(b'hello\\n')", "stdout length tag is no minimum-width decimal number: hello"),
            ("ready", "wire.raw(b'hello\\n')", "stdout length tag is no minimum-width decimal number: hello"),
            ("ready", "wire.ask('init', protocol='kythe1')", '"init" for the second time'),
        ):
            analyzer = self.puppet(**{when: f"{said}\nwire.until_closed()\nraise SystemExit({status})\n"})
            done = self.index(kzip, "-j1", "--json", "-o", self.dir / "result", analyzer=analyzer)
            self.assertEqual(done.code, 9, done.err)
            report = done.json
            self.assertEqual(
                (report["ok"], report["units"], report["done"], report["failed"], report["left"]),
                (False, 2, 0, 0, 2),
            )
            self.assertTrue(report["error"].startswith("no analyzer is left: puppet: " + why), report["error"])
            self.assertEqual(report["kind"], "protocol")
            self.assertIn(f"protocol: {report['error']}\n", done.err)
            self.assertFalse((self.dir / "result").exists())

    def test_breach_before_work(self):
        self.breaches_before_work(0)

    @again("with another exit code, which nobody asks for")
    def test_breach_before_work_and_exit_1(self):
        self.breaches_before_work(1)

    def test_closes_stdout(self):
        self.among("import os\nos.close(1)\nwire.until_closed()\nraise SystemExit\n")

    def test_closes_stdout_and_lives(self):
        self.among(program("lives_without_stdout"), *SHORT_GRACE, retries="0")

    def test_ignores_the_end_of_stdin(self):
        self.among(program("deaf"), *SHORT_GRACE, retries="0", jobs="1")

    def test_floods_log(self):
        report = self.among(
            SIMPLE + "for i in range(20000):\n    wire.note('log', message='m%d ' % i + 'x' * 50)\n", code=0
        )
        texts = [message["text"].split()[0] for message in report["messages"] if message["unit"] == "bad.toy"]
        self.assertEqual(texts, [f"m{i}" for i in range(20000)])

    def test_floods_stderr(self):
        self.among(
            SIMPLE + "import sys\nfor i in range(2000):\n    sys.stderr.write('y' * 999 + '\\n')\n", code=0
        )

    # ---- time

    def test_never_done(self):
        report = self.among(
            "import signal\nwhile True:\n    signal.pause()\n",
            "--timeout",
            "2s",
            *SHORT_GRACE,
            reason="timeout",
        )
        self.assertIn("within 2 s", self.reasons(report)["bad.toy"])

    def test_never_done_but_reads(self):
        """Its stdin is closed at the limit: it ends at once, no signal is needed."""
        misdeed = "wire.until_closed()\nopen(state + '/closed', 'w').close()\nraise SystemExit\n"
        self.among(misdeed, "--timeout", "2s", retries="0", reason="timeout")
        self.assertTrue((self.state / "closed").exists())

    def test_late_done(self):
        """done after the limit does not count: the record is someone else's already."""
        self.among(program("done_too_late") + SIMPLE, "--timeout", "2s", code=0)

    def test_never_asks(self):
        """It says init, or done, and nothing more."""
        units = simple(3)
        analyzer = self.puppet(ready=program("asks_for_nothing_once"))
        report, entries = self.report(self.kzip(units), "-j1", "--timeout", "2s", analyzer=analyzer)
        self.expect_simple(entries, units)
        self.assertEqual(report["stderr"].count("asked for nothing within 2 s"), 1, report["stderr"])
        self.among(
            SIMPLE + "done()\nwire.until_closed()\nraise SystemExit\n", "--timeout", "2s", code=0, jobs="1"
        )

    def test_never_asks_at_all(self):
        """The last word is why each was ended, not that it ended as it was told to."""
        never = "wire.until_closed()\nraise SystemExit\n"
        done = self.index(
            self.kzip(simple(1)),
            "--json",
            "-o",
            self.dir / "result",
            "-j1",
            "--timeout",
            "300ms",
            analyzer=self.puppet(ready=never),
        )
        self.assertEqual(done.code, 7, done.err)
        self.assertRegex(done.json["error"], r"^no analyzer is left: .*: asked for nothing within 0\.3 s$")

    # ---- the output

    def test_half_a_record(self):
        """a20: the size at done counts; what is cut off fails, and none of it is in the result."""
        self.among("out.fact('/t', 'x', path='bad.toy')\nout.raw(b'\\x20half')\n")
        (self.state / "attempts-bad.toy").unlink()
        self.recovers(program("half_a_record"))

    def test_bad_varint(self):
        self.among("out.raw(b'\\xff' * 11)\n")
        (self.state / "attempts-bad.toy").unlink()
        self.among("out.raw(b'\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x01')\n")  # larger than anything
        (self.state / "attempts-bad.toy").unlink()
        self.among("out.raw(b'\\x80')\n")

    def test_garbage(self):
        self.among("import os\nout.raw(os.urandom(5000))\n", retries="0")

    def test_grows_after_done(self):
        """a20: what is written after done does not count, here or in the next unit."""
        report = self.among(SIMPLE + program("grows_after_done"), code=0)
        self.assertIn('wrote 1000 bytes to an output after it had said "done"', report["stderr"])

    def test_writes_to_the_last_output(self):
        """A process that has it open still has: what goes there is nothing of the unit that came next."""
        keeps = (
            SIMPLE
            + "import os\nfd = os.open(unit['output'], os.O_WRONLY | os.O_APPEND)\nopen(state + '/fd', 'w').write(str(fd))\n"
        )
        maps = SIMPLE + program("maps_its_output")
        writes = "import os\nos.write(int(open(state + '/fd').read()), b'\\x20more')\n" + SIMPLE
        writes_map = "wire.mapping[:4] = b'\\xff' * 4\n" + SIMPLE
        units = [
            Unit({"a.toy": keeps}),
            Unit({"b.toy": writes}),
            *simple(3),
            Unit({"c.toy": maps}),
            Unit({"d.toy": writes_map}),
            *simple(3, name="v"),
        ]
        report, entries = self.report(self.kzip(units), "-j1")
        self.expect_simple(entries, units)
        self.assertEqual(report["done"], 10)

    def after_done(self, change):
        """The driver has dealt with done, and the unit waits for its turn behind a slow one: `change`
        must not matter."""
        slow, misdeed = "hear('changed')\n" + SIMPLE, program("changes_after_done", change=change)
        units = [Unit({"slow.toy": slow}), Unit({"bad.toy": SIMPLE + misdeed}), *simple(3)]
        report, entries = self.report(self.kzip(units), "-j2")
        self.expect_simple(entries, units)
        self.assertEqual(report["done"], 5)

    def test_shrinks_after_done(self):
        """No reason to end the run, or to spoil the result."""
        self.after_done("os.ftruncate(fd, 0)")

    def test_rewritten_after_done(self):
        """Bytes that were checked are the ones that count."""
        self.after_done("os.pwrite(fd, b'\\xff' * 40, 0)")

    def test_changes_while_it_is_read(self):
        """At the very moment of done: the unit may fail, or be what it was then; the others are right, the
        result is made of whole records."""
        change = "for i in range(300):\n    os.ftruncate(fd, 0)\n    os.pwrite(fd, b'\\xff' * 40, 0)\n"
        misdeed = SIMPLE + "import os\nfd = os.open(unit['output'], os.O_WRONLY)\ndone()\n" + change
        units = [Unit({"bad.toy": misdeed}), *simple(3)]
        report, entries = self.report(self.kzip(units), "-j1", code=None)
        self.expect_simple([entry for entry in entries if entry[0] != "bad.toy"], units[1:])
        self.assertEqual(report["done"] + report["failed"], 4)

    def test_output_replaced(self):
        for how in (
            "os.symlink('/etc/passwd', unit['output'])",
            "os.mkfifo(unit['output'])",
            "os.mkdir(unit['output'])",
            "pass",
            "os.symlink('/dev/zero', unit['output'])",
        ):
            for old in self.state.iterdir():
                old.unlink()
            self.among(f"import os\nos.unlink(unit['output'])\n{how}\n", retries="0")

    def test_output_directory_spoilt(self):
        """What lies beside its output, or above: its own business, not the next unit's."""
        self.among(program("squats") + SIMPLE, code=0, jobs="1")


if __name__ == "__main__":
    unittest.main()
