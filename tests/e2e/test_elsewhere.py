# SPDX-License-Identifier: Apache-2.0
"""./dev elsewhere: what can be told without making a place. That it makes them is seen before each release."""
import contextlib
import fnmatch
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from support import LIMIT, PYTHON, ROOT

PROGRAM = ROOT / "tools/elsewhere"
LOG = """\
dev: built build/mortise in 3 s
elsewhere: run 0 12
skipped 3: no user namespace can be made here (guarded: test_pidns, t1_root)
skipped 1: pidfd_getfd is refused here (mortise doctor) (jail_network)
7 passed, 0 failed, 4 skipped
elsewhere: test 0 34
"""


def load():
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("elsewhere", str(PROGRAM))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("elsewhere", loader))
    sys.modules["elsewhere"] = module  # dataclasses ask for it
    loader.exec_module(module)
    return module


ELSEWHERE = load()


class Words(unittest.TestCase):
    def run_it(self, *words):
        return subprocess.run(
            [PYTHON, "-B", PROGRAM, *words], capture_output=True, text=True, timeout=LIMIT, check=False
        )

    def test_list(self):
        done = self.run_it("--list")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        names = [line.split()[0] for line in done.stdout.splitlines()]
        self.assertEqual(names, [place.name for place in ELSEWHERE.PLACES])
        self.assertEqual(len(names), len(set(names)))

    def test_wrong_name(self):
        done = self.run_it("debian99")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no place 'debian99'; --list has them", done.stderr)


class Table(unittest.TestCase):
    def outcome(self, text):
        with tempfile.TemporaryDirectory() as folder:
            outcome = ELSEWHERE.Outcome(ELSEWHERE.PLACES[0], pathlib.Path(folder) / "log", seconds=46)
            outcome.log.write_text(text, encoding="utf-8")
            ELSEWHERE.read_log(outcome)
        return outcome

    def test_log(self):
        outcome = self.outcome(LOG)
        self.assertEqual((outcome.run, outcome.counts, outcome.good), ("ok", (7, 0, 4), True))
        self.assertEqual(
            dict(outcome.reasons),
            {"no user namespace can be made here": 3, "pidfd_getfd is refused here (mortise doctor)": 1},
        )

    def test_what_is_not_good(self):
        for text, run in (
            ("", "no end"),
            (LOG.replace("run 0", "run 1"), "failed"),
            (LOG.replace("test 0", "test 1"), "ok"),
            (LOG[: LOG.index("elsewhere: test")], "ok"),
            (LOG.replace("7 passed, 0 failed, 4 skipped\n", ""), "ok"),
        ):
            outcome = self.outcome(text)
            self.assertEqual((outcome.run, outcome.good), (run, False), text)

    def test_table(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            ELSEWHERE.table([self.outcome(LOG)])
        head, row, *reasons = out.getvalue().splitlines()
        self.assertEqual(head.split(), ["place", "run", "passed", "failed", "skipped", "seconds", "log"])
        self.assertEqual(row.split()[:6], ["debian12", "ok", "7", "0", "4", "46"])
        self.assertEqual(reasons[0].split(None, 2)[:2], ["3", "skipped:"])


class Lean(unittest.TestCase):
    """The place without what the build and the tests can do without."""

    def taken(self, package):
        return any(fnmatch.fnmatchcase(package, pattern) for pattern in ELSEWHERE.LEAN)

    def words_of(self, name):
        text = (ROOT / "dev").read_text(encoding="utf-8")
        words = " ".join(re.findall(rf'^{name}\+?="([^"]*)"', text, re.M)).split()
        self.assertTrue(words, name)
        return {one for word in words for one in word.split("|")}

    def test_what_is_taken_away(self):
        for package in (
            *("libclang-14-dev", "libclang-19-dev", "libclang-dev", "postgresql", "postgresql-17", "libpq-dev"),
            *("golang-go", "golang-1.19-go", "golang-google-grpc-dev", "python3-grpcio", "nodejs", "npm"),
        ):
            self.assertTrue(self.taken(package), package)

    def test_nothing_that_the_build_needs(self):
        self.assertEqual([name for name in self.words_of("packages") if self.taken(name)], [])
        self.assertLess({"libpq-dev"}, self.words_of("extra_packages"))

    def test_it_is_told_to_the_container(self):
        place = next(place for place in ELSEWHERE.PLACES if place.name == "lean")
        self.assertEqual(ELSEWHERE.enter(place, ["x"])[6], " ".join(ELSEWHERE.LEAN))
        self.assertEqual(ELSEWHERE.enter(ELSEWHERE.PLACES[0], ["x"])[6], "-")

    def test_the_script_is_one(self):
        done = subprocess.run(["sh", "-n", "-c", ELSEWHERE.ENTER], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class Profiles(unittest.TestCase):
    def rules(self, name):
        with open(ROOT / "tools/elsewhere.d" / name, encoding="utf-8") as file:
            return json.load(file)

    def test_docker_refuses(self):
        profile = self.rules("docker.json")
        always = {
            call
            for rule in profile["syscalls"]
            if rule["action"] == "SCMP_ACT_ALLOW" and not rule.get("includes") and not rule.get("args")
            for call in rule["names"]
        }
        self.assertEqual(profile["defaultAction"], "SCMP_ACT_ERRNO")
        self.assertEqual(always & {"clone", "clone3", "unshare", "mount", "pivot_root", "pidfd_getfd"}, set())
        self.assertLessEqual({"execve", "openat", "seccomp", "landlock_create_ruleset"}, always)

    def test_no_rights(self):
        names = [call for rule in self.rules("no-mount.json")["syscalls"] for call in rule["names"]]
        self.assertIn("mount", names)
        self.assertNotIn("unshare", names)


if __name__ == "__main__":
    unittest.main()
