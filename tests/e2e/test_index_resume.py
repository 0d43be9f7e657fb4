# SPDX-License-Identifier: Apache-2.0
"""mortise index: interrupted, killed, resumed. The result is that of a run that nobody disturbed."""
import json
import random
import signal
import subprocess
import unittest

import events
from kythe_support import IndexCase, SIMPLE, Unit, program, read_entries, running, simple
from support import LIMIT, MORTISE

# Waits until the test lets it go on.
HELD = "hold()\n" + SIMPLE
# A sign of life; the analyzer that makes the last one that is wanted goes no further.
SIGN = """
import os
with open(state + '/signs', 'a') as signs:
    signs.write('.')
enough = state + '/enough'
if os.path.exists(enough) and os.path.getsize(state + '/signs') >= int(open(enough).read()):
    hear('nobody')
"""
# Two of them each.
SIGNS = SIGN + SIMPLE + SIGN


class Runs(IndexCase):
    def setUp(self):
        super().setUp()
        self.let_go = self.gate().open
        self.result = self.dir / "result"
        self.partial = self.dir / "result.partial"
        self.journal = self.dir / "result.journal"

    def start(self, kzip, *words, **how):
        """A run that is left alone; it is killed at the end of the test if need be."""
        process = subprocess.Popen(
            [str(MORTISE), *map(str, self.words(kzip, "-o", self.result, *words, **how))],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=self.env,
            cwd=self.dir,
            text=True,
        )
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def until(self, condition, process):
        try:
            events.until(condition, self.dir, self.state, process=process)
        except events.Ended:
            self.fail(f"ended with {process.wait(LIMIT)}: {process.stderr.read()}")

    def held(self):
        return (self.state / "held").exists()

    def signs(self):
        return (self.state / "signs").stat().st_size if (self.state / "signs").exists() else 0

    def lines(self):
        return self.journal.read_text().splitlines()[1:] if self.journal.exists() else []

    def attempts(self, unit):
        path = self.state / f"attempts-{unit.name}"
        return path.stat().st_size if path.exists() else 0


class Killed(Runs):
    def test_twenty_moments(self):
        """SIGKILL at 20 moments of a run, then --resume: the same bytes in the same order, nothing
        lost or twice."""
        units = simple(24, SIGNS)
        kzip = self.kzip(units)
        self.report(kzip, "-j2")
        whole, signs, kept = self.result.read_bytes(), self.signs(), set()
        for moment in range(20):
            self.result.unlink(missing_ok=True)
            self.killed_after(moment * signs // 20, kzip)
            if self.result.exists():
                self.assertEqual(self.result.read_bytes(), whole, "half a file")
            kept.add(len(self.lines()))
            report, _ = self.report(kzip, "-j2", "--resume")
            self.assertEqual(self.result.read_bytes(), whole, f"moment {moment}")
            self.assertEqual((report["done"], report["ok"]), (24, True))
            self.assertFalse(self.journal.exists())
        self.assertGreater(len(kept), 4, "the moments are all alike")

    def killed_after(self, signs, kzip, *words):
        (self.state / "signs").unlink(missing_ok=True)
        (self.state / "enough.new").write_text(str(signs))
        (self.state / "enough.new").rename(self.state / "enough")
        process = self.start(kzip, "-j2", *words)
        try:
            events.until(lambda: self.signs() >= signs, self.state, process=process)
        except events.Ended:
            pass  # there was not so much left to do
        process.kill()
        process.wait()
        (self.state / "enough").unlink()

    def test_killed_again_and_again(self):
        """One result out of many runs, each killed."""
        units = simple(24, SIGNS)
        kzip = self.kzip(units)
        dice = random.Random(6)
        for _ in range(8):
            self.killed_after(dice.randrange(10), kzip, "--resume")
        _, entries = self.report(kzip, "-j2", "--resume")
        self.expect_simple(entries, units)

    def test_only_the_rest(self):
        """What the journal has is not analysed again; what was cut off in the output is."""
        units = simple(4) + [Unit({"held.toy": HELD})] + simple(3, name="v")
        kzip = self.kzip(units)
        process = self.start(kzip, "-j1")
        self.until(lambda: self.held() and len(self.lines()) == 4, process)
        process.kill()
        process.wait()
        self.assertFalse(self.result.exists())
        with open(self.partial, "ab") as file:
            file.write(b"\x7fhalf a record")  # killed between a unit's bytes and its line
        with open(self.journal, "a", encoding="utf-8") as file:
            file.write("done 4 9")  # and this line was being written
        self.let_go()
        report, entries = self.report(kzip, "-j1", "--resume")
        self.expect_simple(entries, units)
        self.assertEqual([self.attempts(unit) for unit in units], [1] * 4 + [2] + [1] * 3)
        self.assertEqual((report["done"], report["units"]), (8, 8))
        self.assertEqual(report["resumed"], {"kept": 4, "dropped": 0})
        self.assertIn("resuming: 4 of 8 units are done\n", report["stderr"])

    def test_at_once(self):
        """The analyzers of the killed run are still being waited for: no reason to refuse the next one."""
        deaf = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + HELD
        units = simple(2) + [Unit({"held.toy": deaf})]
        kzip = self.kzip(units)
        process = self.start(kzip, "-j1", "--set", "stop.term=2s", "--set", "stop.kill=1s")
        self.until(lambda: self.held() and len(self.lines()) == 2, process)
        process.kill()
        process.wait()
        (self.state / "held").unlink()
        process = self.start(kzip, "-j1", "--resume")
        self.until(self.held, process)
        self.let_go()
        self.assertEqual(process.wait(LIMIT), 0, process.stderr.read())
        self.expect_simple(read_entries(self.result.read_bytes()), units)

    def test_leftovers_go(self):
        """Stages of the killed run are removed by the next one."""
        units = [Unit({"held.toy": HELD})]
        kzip = self.kzip(units)
        process = self.start(kzip)
        self.until(self.held, process)
        process.kill()
        process.wait()
        self.let_go()
        (stages,) = (self.dir / "cache").rglob("stages")
        self.assertNotEqual(list(stages.iterdir()), [])
        self.nothing_is_left()
        self.report(kzip, "--resume")
        self.assertEqual(list(stages.iterdir()), [])


class Resume(Runs):
    def interrupted(self, units, *words):
        kzip = self.kzip(units)
        process = self.start(kzip, "-j1", *words)
        self.until(self.held, process)
        process.kill()
        process.wait()
        self.let_go()
        return kzip

    def refused(self, kzip, *words, text):
        before = self.partial.read_bytes(), self.journal.read_bytes()
        done = self.index(kzip, "--resume", "-o", self.result, *words)
        self.assertEqual(done.code, 4, done.err)
        self.assertIn(text, done.err)
        self.assertEqual((self.partial.read_bytes(), self.journal.read_bytes()), before)

    def test_of_another_run(self):
        units = simple(2) + [Unit({"held.toy": HELD})]
        kzip = self.interrupted(units)
        self.refused(self.kzip(units[1:], "other.kzip"), text="other records or options")
        self.refused(kzip, kzip, text="other records or options")
        self.refused(kzip, "--format=json", text="other records or options")
        self.refused(kzip, "--type", "/other", text="other records or options")
        rules = self.file("vnames.json", "[]")
        self.refused(kzip, "--vnames", rules, text="other records or options")
        self.report(kzip, "--resume")

    def goes_back(self, units, kzip, damage, kept, dropped):
        """Told in text and as JSON; what was good is not done again, the rest is, and the result is that of a
        run that nobody disturbed."""
        for name in ("held", *(f"attempts-{unit.name}" for unit in units)):
            (self.state / name).unlink(missing_ok=True)
        report, entries = self.report(kzip, "--resume", "-j1")
        self.expect_simple(entries, units)
        self.assertEqual((report["resumed"]["kept"], report["resumed"]["dropped"]), (kept, dropped))
        self.assertIn(damage, report["resumed"]["damage"])
        self.assertIn(f"{report['resumed']['damage']}; going back to the last good record\n", report["stderr"])
        self.assertIn(
            f"resuming: {kept} of {len(units)} units are done, the units after them are done again\n",
            report["stderr"],
        )
        self.assertEqual([self.attempts(unit) for unit in units], [0] * kept + [1] * (len(units) - kept))

    def test_damaged_journal(self):
        """A bit that flips, lines that are gone, twice there, swapped or not of this run: back to the
        last good one."""
        units = simple(3) + [Unit({"held.toy": HELD})]
        kzip = self.interrupted(units)
        good, partial = self.journal.read_bytes(), self.partial.read_bytes()
        head, first, second, third = good.splitlines()
        flipped = bytearray(second)
        flipped[30] ^= 4
        for lines, line, kept in (
            ((head, second, first, third), 2, 0),
            ((head, first, b"nonsense", third), 3, 1),
            ((head, first, first, third), 3, 1),
            ((head, first, bytes(flipped), third), 3, 1),
            ((head, first, b"\0\0\0"), 3, 1),
            ((head[:-1] + b"x", first), 1, 0),
        ):
            self.journal.write_bytes(b"\n".join(lines) + b"\n")
            self.partial.write_bytes(partial)
            self.goes_back(
                units,
                kzip,
                f"result.journal: line {line} is damaged",
                kept,
                len(lines) - 1 - kept + (line == 1),
            )
        self.journal.write_bytes(b"something else\n")
        self.partial.write_bytes(partial)
        self.refused(kzip, text="not a journal of mortise index")
        self.journal.write_bytes(good.replace(b"mortise-index 2", b"mortise-index 1"))
        self.refused(kzip, text="from another version of mortise")

    def test_damaged_output(self):
        """A bit that flips in what was written, or bytes that are gone."""
        units = simple(3) + [Unit({"held.toy": HELD})]
        kzip = self.interrupted(units)
        journal, partial = self.journal.read_bytes(), bytearray(self.partial.read_bytes())
        partial[len(partial) // 2] ^= 1
        self.partial.write_bytes(partial)
        self.goes_back(units, kzip, "the bytes of unit 2 in", 1, 2)
        self.journal.write_bytes(journal)
        self.partial.write_bytes(partial[:10])
        self.goes_back(units, kzip, "lacks bytes of unit 1", 0, 3)
        self.journal.write_bytes(journal)
        self.goes_back(units, kzip, "lacks bytes of unit 1", 0, 3)

    def test_needs_a_file(self):
        done = self.index(self.kzip(simple(1)), "--resume", "-o", "/dev/null")
        self.assertEqual(done.code, 4, done.err)
        self.assertIn("/dev/null is not a file that can be replaced", done.err)

    def test_in_its_place(self):
        """The result appears whole, behind a link as well; what was there stays until then."""
        units = simple(2) + [Unit({"held.toy": HELD})]
        (self.dir / "real").write_bytes(b"old")
        (self.dir / "real").chmod(0o640)
        self.result.symlink_to("real")
        kzip = self.interrupted(units)
        self.assertEqual((self.dir / "real").read_bytes(), b"old")
        _, entries = self.report(kzip, "--resume")
        self.expect_simple(entries, units)
        self.assertTrue(self.result.is_symlink())
        self.assertEqual((self.dir / "real").stat().st_mode & 0o777, 0o640)
        self.assertEqual({path.name for path in self.dir.glob("re*")}, {"real", "result"})

    def test_without_a_journal(self):
        """Nothing to go on from: a run from the start."""
        units = simple(2)
        report, entries = self.report(self.kzip(units), "--resume")
        self.expect_simple(entries, units)
        self.assertIn("nothing to resume: starting with all 2 units\n", report["stderr"])

    def test_without_resume(self):
        """From the start, whatever an earlier run left."""
        units = simple(2) + [Unit({"held.toy": HELD})]
        kzip = self.interrupted(units)
        _, entries = self.report(kzip)
        self.expect_simple(entries, units)
        self.assertEqual(self.attempts(units[0]), 2)

    def test_no_analyzer(self):
        """Nobody could be started: what lay there before stays, a result as well as half of one."""
        units = simple(2) + [Unit({"held.toy": HELD})]
        kzip = self.interrupted(units)
        half, lines = self.partial.read_bytes(), self.lines()
        for words in ([], ["--resume"]):
            self.assertEqual(self.index(kzip, "-o", self.result, *words, analyzer=["/nonexistent"]).code, 3)
            self.assertEqual((self.partial.read_bytes(), self.lines()), (half, lines))
            self.assertFalse(self.result.exists())
        _, entries = self.report(kzip, "--resume")
        self.expect_simple(entries, units)
        self.assertEqual(self.attempts(units[0]), 1)
        whole = self.result.read_bytes()
        self.assertEqual(self.index(kzip, "-o", self.result, analyzer=["/nonexistent"]).code, 3)
        self.assertEqual(self.result.read_bytes(), whole)
        self.assertFalse(self.journal.exists())

    def test_of_nothing(self):
        """A run without units has an empty result."""
        self.result.write_bytes(b"old")
        _, entries = self.report(self.kzip([]))
        self.assertEqual(entries, [])

    def test_second_run_at_the_same_time(self):
        units = simple(2) + [Unit({"held.toy": HELD})]
        kzip = self.kzip(units)
        process = self.start(kzip, "-j1")
        self.until(self.held, process)
        for words in ([], ["--resume"]):
            done = self.index(kzip, "-o", self.result, *words)
            self.assertEqual(done.code, 4, done.err)
            self.assertIn("another run is writing it", done.err)
        self.let_go()
        self.assertEqual(process.wait(LIMIT), 0)
        self.assertTrue(self.result.stat().st_size > 0)
        self.assertFalse(self.journal.exists())

    def test_failed_earlier(self):
        """A unit that failed for good is told again, not tried again."""
        units = [Unit({"bad.toy": "raise SystemExit(7)\n"})] + simple(1) + [Unit({"held.toy": HELD})]
        kzip = self.interrupted(units, "--retries", "0")
        report, entries = self.report(kzip, "--resume", code=1)
        self.expect_simple(entries, units[1:])
        (failure,) = report["failures"]
        self.assertEqual((failure["name"], failure["earlier"]), ("bad.toy", True))
        self.assertIn("7", failure["reason"])
        self.assertEqual(self.attempts(units[0]), 1)

    def test_breach_earlier(self):
        """Told again, and in the exit code again."""
        units = (
            [Unit({"bad.toy": "wire.ask('analyze')\nwire.until_closed()\nraise SystemExit\n"})]
            + simple(1)
            + [Unit({"held.toy": HELD})]
        )
        report, _ = self.report(self.interrupted(units, "--retries", "0"), "--resume", code=9)
        (failure,) = report["failures"]
        self.assertEqual((failure["kind"], failure["earlier"]), ("protocol", True))

    def test_empty_earlier(self):
        """Told again."""
        units = [Unit({"none.toy": "pass\n"})] + simple(1) + [Unit({"held.toy": HELD})]
        report, _ = self.report(self.interrupted(units), "--resume")
        self.assertEqual((report["done"], report["empty"]), (3, 1))
        (empty,) = report["empty_units"]
        self.assertEqual((empty["name"], empty["earlier"]), ("none.toy", True))

    def test_with_another_number_of_jobs(self):
        units = simple(6) + [Unit({"held.toy": HELD})] + simple(6, name="v")
        kzip = self.interrupted(units)
        _, entries = self.report(kzip, "--resume", "-j4")
        self.expect_simple(entries, units)


class Interrupted(Runs):
    def interrupt(self, deed, *words):
        kzip = self.kzip(simple(2) + [Unit({"held.toy": deed})] + simple(2, name="v"))
        process = self.start(kzip, "-j1", *words)
        self.until(lambda: self.held() and len(self.lines()) == 2, process)
        process.send_signal(signal.SIGINT)
        return kzip, process

    def test_once(self):
        """stdin is closed: one who ends then ends at once. The rest can be resumed."""
        kzip, process = self.interrupt(program("ends_with_its_stdin") + SIMPLE, "--set", "stop.term=1000s")
        _, err = process.communicate(timeout=LIMIT)  # longer: it was waited for although it had ended
        self.assertEqual(process.returncode, 130)
        self.assertIn("stopping: analyzers have 10 s to end", err)
        self.assertIn("2 of 5 units", err)
        self.assertIn("3 units are left: run the same command with --resume to go on", err)
        self.let_go()
        report, entries = self.report(kzip, "-j1", "--resume")
        self.assertEqual(
            (report["done"], [entry[0] for entry in entries]),
            (5, ["u0.toy", "u1.toy", "held.toy", "v0.toy", "v1.toy"]),
        )

    def test_done_in_the_grace(self):
        """What is said after the end of stdin does not count: the unit is whole in the next run, once."""
        kzip, process = self.interrupt("here()\nif not may_go():\n    wire.until_closed()\n" + SIMPLE)
        process.stderr.read()
        self.assertEqual(process.wait(LIMIT), 130)
        self.let_go()
        _, entries = self.report(kzip, "-j1", "--resume")
        self.assertEqual([entry[0] for entry in entries], ["u0.toy", "u1.toy", "held.toy", "v0.toy", "v1.toy"])

    def test_the_hold(self):
        """One who does not care is left alone for the grace (here set), then ended."""
        _, process = self.interrupt(
            "import os, signal\nsignal.signal(signal.SIGTERM, lambda *a: (open(state + '/term', 'w').close(), os._exit(0)))\n"
            + HELD,
            "--set",
            "stop.term=1s",
        )
        process.stderr.read()
        self.assertEqual(process.wait(LIMIT), 130)
        self.assertTrue((self.state / "term").exists())

    def test_twice(self):
        """Killed at once, and said so."""
        _, process = self.interrupt(
            "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + HELD,
            "--set",
            "stop.term=1000s",
            "--set",
            "stop.kill=1000s",
        )
        for line in process.stderr:
            if "again to kill them" in line:
                break
        process.send_signal(signal.SIGINT)
        err = process.stderr.read()
        self.assertEqual(process.wait(LIMIT), 130)
        self.assertIn("killing the analyzers", err)
        self.assertEqual(events.until_ended(running(str(self.dir))), [])

    def test_json(self):
        kzip = self.kzip([Unit({"held.toy": "here()\nwire.until_closed()\nraise SystemExit\n"})] + simple(2))
        process = subprocess.Popen(
            [str(MORTISE), *map(str, self.words(kzip, "--json", "-j1", "-o", self.result))],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=self.env,
            cwd=self.dir,
            text=True,
        )
        with process:
            self.until(self.held, process)
            process.send_signal(signal.SIGTERM)
            report = json.loads(process.stdout.read())
        self.assertEqual((report["ok"], report["done"], report["failed"], report["units"]), (False, 0, 0, 3))
        self.assertNotEqual(process.returncode, 0)


if __name__ == "__main__":
    unittest.main()
