#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What is typed wrong is told in one line, before anything is built or measured."""
import pathlib
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
DEV = HERE.parent / "dev"


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)


class Words(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.build = pathlib.Path(self.dir.name)

    def refused(self, code, text, *words):
        done = run(*words)
        self.assertEqual(done.returncode, code, done)
        self.assertIn(text, done.stderr.splitlines()[-1])
        self.assertNotIn("Traceback", done.stderr)

    def test_dev_checks_them_first(self):
        done = run(DEV, "bench", "--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("--peers", done.stdout)
        for words in (["--quik"], ["--only", "cals"], ["--peers=gopher"], ["--rounds", "0"], ["build-pgo"]):
            done = run(DEV, "bench", *words)
            self.assertEqual(done.returncode, 2, done)
            self.assertNotIn("dev:", done.stderr)  # it has not begun

    def test_no_programs(self):
        self.refused(1, "./dev bench", HERE / "run", self.build)
        (self.build / "build.ninja").touch()
        self.refused(1, f"ninja -C {self.build} measured", HERE / "run", self.build)

    def test_draw_without_results(self):
        self.refused(1, "No such file", HERE / "draw", self.build / "none.json", self.build)
        (self.build / "bad.json").write_text("{", encoding="utf-8")
        self.refused(1, "is not a results.json", HERE / "draw", self.build / "bad.json", self.build)


if __name__ == "__main__":
    unittest.main()
