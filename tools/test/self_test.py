#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The runner of the tests, tried on small programs: what fails must be seen, and nothing may be left behind."""
import fnmatch
import importlib.machinery
import importlib.util
import os
import pathlib
import signal
import stat
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
# pylint: disable=wrong-import-position
import changed
import count
import place
import plan


def program(script, **more):
    row = {"seconds": 1, "slots": 1, "uses": "", "why": ""}
    fixed = {"name": "t", "build": "/", "suite": ["s"], "env": {}, "workdir": None, "timeout": 60}
    return plan.Test({**fixed, **row, "cmd": ["/bin/sh", "-c", script], **more})


def load_run():
    loader = importlib.machinery.SourceFileLoader("run", str(HERE / "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run", loader))
    loader.exec_module(module)
    return module


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Case(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.mkdtemp(prefix="self-")
        self.addCleanup(place.remove, self.top)

    def run_one(self, script, limit=600, **more):
        base = f"{self.top}/1"
        entry = place.finish(*place.start(program(script, **more), base, limit), base)
        self.assertFalse(os.path.exists(base))
        return dict(entry, name="t", full_name="s / t", command=["sh"])

    def judge(self, entry):
        tally = count.Tally()
        good = count.count(entry, tally)
        return good, tally.passed, tally.failed, len(tally.skips)


class Places(Case):
    def test_directories_of_its_own(self):
        said = self.run_one('echo "$HOME $XDG_RUNTIME_DIR $TMPDIR $XDG_STATE_HOME"; touch "$TMPDIR/left"')
        home, run, tmp, state = said["stdout"].split()
        self.assertEqual({home, run, tmp}, {f"{self.top}/1/{name}" for name in ("home", "run", "tmp")})
        self.assertTrue(state.startswith(home))

    def test_the_environment_of_the_person_stays_outside(self):
        with unittest.mock.patch.dict(
            os.environ, MORTISE_TRACE="all", PGHOST="x", PYTHONPATH="/x", GIT_DIR="/x"
        ):
            said = self.run_one('echo "$MORTISE_TRACE$PGHOST$PYTHONPATH$GIT_DIR"')["stdout"]
            self.assertEqual(said, "\n")

    def test_stdin_is_empty_and_stderr_apart(self):
        entry = self.run_one("cat; echo out; echo err >&2")
        self.assertEqual((entry["stdout"], entry["stderr"]), ("out\n", "err\n"))

    def test_what_no_one_may_enter_is_removed(self):
        self.run_one('mkdir -p "$TMPDIR/a/b"; touch "$TMPDIR/a/b/c"; chmod 0 "$TMPDIR/a/b" "$TMPDIR/a"')

    def test_what_is_left_running_is_a_failure(self):
        place_linger, place.LINGER = place.LINGER, 0.2
        self.addCleanup(setattr, place, "LINGER", place_linger)
        entry = self.run_one('setsid sleep 1000 & echo "$!"')
        self.assertEqual(len(entry["left"]), 1)
        self.assertIn("sleep 1000", entry["left"][0])  # or setsid still, which is to become it
        self.assertFalse(is_alive(int(entry["stdout"])))
        self.assertEqual(self.judge(entry)[:3], (False, 1, 1))

    def test_what_ends_by_itself_is_waited_for(self):
        entry = self.run_one('cd "$TMPDIR"; mkfifo gate; (read x < gate; exit 3) & echo go > gate')
        self.assertEqual((entry["returncode"], entry["left"]), (0, []))

    def test_out_of_time(self):
        entry = self.run_one("trap '' TERM; echo $$; sleep 1000", limit=0.2)
        self.assertIsNone(entry["returncode"])
        self.assertFalse(is_alive(int(entry["stdout"] or 0)))
        self.assertEqual(self.judge(entry)[:3], (False, 0, 1))
        self.assertIn("no end in time", count.failure(entry)[0])

    def test_no_such_program(self):
        entry = self.run_one("", cmd=["/nonexistent/program"])
        self.assertEqual(self.judge(entry)[0], False)
        self.assertIn("/nonexistent/program", entry["stderr"])

    def runner(self):
        """A runner of its own with one test that waits; its pid, and the pid of what the test has started."""
        code = (
            f"import sys; sys.path.insert(0, {str(HERE)!r}); import self_test; run = self_test.load_run()\n"
            "import signal; signal.signal(signal.SIGTERM, run.on_signal)\n"
            f"test = self_test.program('setsid sleep 1000 & echo $! > {self.top}/fifo; wait')\n"
            f"run.run_all([test], {self.top!r}, 600, print)\n"
        )
        os.mkfifo(f"{self.top}/fifo")
        process = subprocess.Popen(
            [sys.executable, "-B", "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        with open(f"{self.top}/fifo", encoding="ascii") as fifo:
            return process, int(fifo.read())

    def gone(self, pid):
        """Its end, by pidfd: the guard may need a moment."""
        try:
            fd = os.pidfd_open(pid)
        except ProcessLookupError:
            return True
        try:
            return bool(place.readable([fd], 60))
        finally:
            os.close(fd)

    def test_interrupted(self):
        process, child = self.runner()
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        self.assertFalse(is_alive(child))
        self.assertFalse(os.path.exists(f"{self.top}/1"))

    def test_runner_killed(self):
        process, child = self.runner()
        process.kill()
        process.wait(60)
        self.assertTrue(self.gone(child))


class Counts(Case):
    def entry(self, returncode, out="", err=""):
        return {
            "name": "t",
            "returncode": returncode,
            "stdout": out,
            "stderr": err,
            "left": [],
            "cpu": 0,
            "duration": 0.1,
            "command": ["player"],
            "full_name": "s / t",
        }

    def test_tap(self):
        self.assertEqual(self.judge(self.entry(0, "1..2\nok 1 - a\nok 2 - b # SKIP no x\n")), (True, 1, 0, 1))
        self.assertEqual(self.judge(self.entry(1, "1..2\nok 1 - a\nnot ok 2 - b\n")), (False, 1, 1, 0))

    def test_a_broken_plan(self):
        self.assertEqual(self.judge(self.entry(0, "1..3\nok 1 - a\n"))[:3], (False, 1, 1))

    def test_unittest(self):
        said = "test_a (x.A) ... skipped 'no y'\n\nRan 3 tests in 0.1s\n\nFAILED (failures=1, skipped=1)\n"
        self.assertEqual(self.judge(self.entry(1, err=said)), (False, 1, 1, 1))

    def test_no_tests_is_no_success(self):
        self.assertFalse(self.judge(self.entry(0, err="\nRan 0 tests in 0.0s\n\nOK\n"))[0])

    def test_status(self):
        self.assertEqual(self.judge(self.entry(0)), (True, 1, 0, 0))
        self.assertEqual(self.judge(self.entry(77, "no z here\n")), (True, 0, 0, 1))
        self.assertEqual(self.judge(self.entry(-11)), (False, 0, 1, 0))

    def test_passed_but_crashed_at_the_end(self):
        self.assertEqual(self.judge(self.entry(-11, "1..1\nok 1 - a\n")), (False, 1, 1, 0))

    def test_skips_are_grouped(self):
        rows = count.grouped([("a", "no x"), ("b", ""), ("c", "no x")])
        self.assertEqual(rows, [(2, "no x", ["a", "c"]), (1, "no reason given", ["b"])])

    def test_what_a_failure_looks_like(self):
        passed = "".join(f"ok {i} - script {i}\n" for i in range(1, 90))
        entry = self.entry(1, f"1..90\n{passed}not ok 90 - b\n", "b:7: why\n")
        self.assertEqual(count.failure(entry)[1:], ["    player", "    b:7: why", "    not ok 90 - b"])


class Removal(Case):
    def mode(self, path):
        return stat.S_IMODE(os.lstat(path).st_mode)

    def test_nothing_above_or_behind_a_link_is_touched(self):
        box, victim = f"{self.top}/box", f"{self.top}/victim"
        for path in (box, victim, f"{box}/closed"):
            os.mkdir(path)
            os.chmod(path, 0o755)
        pathlib.Path(f"{victim}/kept").touch()
        os.symlink(victim, f"{box}/link")
        os.symlink(victim, f"{box}/closed/link")
        os.chmod(f"{box}/closed", 0)
        place.remove(f"{box}/gone")
        place.remove(f"{box}/link")
        place.remove(f"{box}/closed")
        self.assertEqual((self.mode(box), self.mode(victim)), (0o755, 0o755))
        self.assertTrue(os.path.exists(f"{victim}/kept"))
        self.assertEqual(os.listdir(box), ["link"])

    def test_deeper_than_python_can_go(self):
        """A killed run left such a tree, and every run after it ended in its sweep."""
        os.mkdir(f"{self.top}/deep")
        here = os.open(f"{self.top}/deep", os.O_RDONLY)
        for _ in range(sys.getrecursionlimit() + 200):
            os.mkdir("directory", dir_fd=here)
            below = os.open("directory", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        os.close(here)
        place.remove(f"{self.top}/deep")
        self.assertEqual(os.listdir(self.top), [])

    def test_sweep_leaves_what_is_not_ours(self):
        run = load_run()
        with unittest.mock.patch.object(tempfile, "tempdir", self.top):
            os.mkdir(f"{self.top}/mt-999999999-abc")
            os.symlink("/", f"{self.top}/mt-999999998-abc")
            os.mkdir(f"{self.top}/mt-{os.getpid()}-abc")
            if os.getuid() == 0:
                os.mkdir(f"{self.top}/mt-999999997-abc")
                os.chown(f"{self.top}/mt-999999997-abc", 54321, 54321)
            run.sweep()
        left = {"mt-999999998-abc", f"mt-{os.getpid()}-abc"} | (
            {"mt-999999997-abc"} if os.getuid() == 0 else set()
        )
        self.assertEqual(set(os.listdir(self.top)), left)

    def test_more_than_is_read_is_a_failure(self):
        with unittest.mock.patch.object(place, "OUTPUT", 1 << 20):
            report = self.run_one(
                "echo 1..1; echo ok 1 - a; head -c 2000000 /dev/zero | tr '\\0' a; echo; echo not ok 2"
            )
        tally = count.Tally()
        self.assertFalse(count.count(dict(report, name="flood", command=["x"]), tally))
        self.assertEqual(tally.failed, 1)
        self.assertIn("it printed more than 1 MiB", report["stderr"])


class Plans(unittest.TestCase):
    def test_the_longest_first_and_alone_what_must_be(self):
        tests = [
            program("", name=n, slots=s, uses=u) for n, s, u in (("a", 2, "x"), ("b", 1, "x"), ("c", 2, ""))
        ]
        queue = plan.Queue(tests, slots=4)
        first, second = queue.next(), queue.next()
        self.assertEqual((first["name"], second["name"], queue.next()), ("a", "c", None))
        queue.done(first)
        self.assertEqual(queue.next()["name"], "b")

    def test_a_wide_test_is_not_overtaken(self):
        queue = plan.Queue(
            [program("", name=n, slots=s) for n, s in (("a", 2), ("wide", 4), ("b", 1))], slots=4
        )
        first = queue.next()
        self.assertIsNone(queue.next())
        queue.done(first)
        self.assertEqual(queue.next()["name"], "wide")

    def test_a_wide_test_runs_alone_on_a_narrow_machine(self):
        queue = plan.Queue([program("", slots=4)], slots=2)
        self.assertIsNotNone(queue.next())

    def test_tiers(self):
        tests = [program("", name="quick"), program("", name="pairs", why="n²")]
        names = lambda *a: [t["name"] for t in plan.choose(tests, *a)]
        self.assertEqual(names([], None, False), ["quick"])
        self.assertEqual(names([], None, True), ["quick", "pairs"])
        self.assertEqual(names(["pairs"], None, False), ["pairs"])  # who names it means it
        self.assertEqual(names(["s /"], None, False), ["quick"])
        with self.assertRaisesRegex(SystemExit, "no test matches 'x'"):
            names(["x"], None, False)

    def test_the_second_tier_inside_a_program(self):
        marked = plan.second_tier_inside()
        self.assertIn("test_where_nothing_can_be_confined", [name for _, name, _ in marked])
        calls = sum(path.read_text().count("@again(") for path in (plan.ROOT / "tests").glob("*/**/*.py"))
        self.assertEqual(len(marked), calls, "each has its reason in one line, and is shown by --list")
        tour = plan.ROOT / "tests/e2e/test_tour.py"
        for tier, there in (("1", False), ("", True)):
            done = subprocess.run(
                [
                    sys.executable,
                    "-Bc",
                    "import test_tour; print(test_tour.Tour.test_where_nothing_can_be_confined)",
                ],
                env={**os.environ, "MORTISE_TIER": tier, "MORTISE_BUILD": str(plan.ROOT)},
                cwd=tour.parent,
                capture_output=True,
                text=True,
                check=True,
            )
            self.assertEqual(done.stdout.strip() != "None", there)
        tests = [program("", name="quick", env={"A": "b"})]
        plan.first_tier_only(tests)
        self.assertEqual(tests[0]["env"], {"A": "b", "MORTISE_TIER": "1"})

    def test_the_tables_of_this_tree(self):
        for row in plan.rows():
            self.assertIn(row.slots, (1, 2, 4), row)

    def build(self):
        build = pathlib.Path(os.environ.get("MORTISE_BUILD", "build")).resolve()
        if not (build / "build.ninja").exists():
            self.skipTest(f"{build} is not a build directory")
        return build

    def test_rows_of_rooms_name_tests(self):
        names = [f"{test.suite[0]}/{test.name}" for test in plan.tests(self.build())]
        for part in ("bench/bench-farm-runs", "grpc/grpc-run", "e2e/elf_text", "sdk/node-core"):
            if part not in names:
                self.skipTest(f"{part} is left out of this build, and more may be")
        for path, patterns in changed.rows():
            for pattern in patterns or [""]:
                self.assertTrue(fnmatch.filter(names, pattern), f"{path}: {pattern}")

    def test_ninjas_graph(self):
        build = self.build()
        program_of_it = str(build / "tests/unit/base_url")
        for file in ("src/core/base/url.c", "src/core/base/url.h"):
            self.assertTrue(program_of_it in changed.built_from(build, [file]), file)
        self.assertFalse(program_of_it in changed.built_from(build, ["src/core/wire/json.c"]))


if __name__ == "__main__":
    unittest.main()
