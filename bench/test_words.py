#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What is typed wrong is told in one line, before anything is built or measured; what fails, or is missing, is
told in one line too, and the rest goes on."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
from measure import others  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
DEV = HERE.parent / "dev"


def run(*words, **more):
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=600, **more)


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
        for word in (
            "./dev bench [OPTION...]",
            "--peers",
            "--plots",
            "--quick",
            "--only",
            "minutes",
            "projects",
        ):
            self.assertIn(word, done.stdout)
        self.assertNotIn("BUILD_DIR ", done.stdout.split("results,")[0].split("--out")[0])
        for words in (["--quik"], ["--only", "cals"], ["--peers=gopher"], ["--rounds", "0"], ["build-pgo"]):
            done = run(DEV, "bench", *words)
            self.assertEqual(done.returncode, 2, done)
            self.assertNotIn("dev:", done.stderr)  # it has not begun

    def needs(self, *words):
        return run(HERE / "run", self.build, "--needs", *words).stdout.split()

    def test_what_to_set_up(self):
        self.assertEqual(self.needs(), [])
        self.assertEqual(self.needs("--whole"), ["untrained", "go", "postgres", "protoc"])
        self.assertEqual(self.needs("--whole", "--only", "calls,grpc"), ["go", "protoc"])
        self.assertEqual(self.needs("--whole", "--only", "starts,large,call"), [])
        self.assertEqual(self.needs("--whole", "--only", "instructions"), ["untrained"])
        self.assertEqual(self.needs("--whole", "--only", "sweeps", "--peers=nvim"), ["peers"])

    def test_one_failure_does_not_end_the_rest(self):
        """Programs that cannot be run, and no protoc."""
        (self.build / "bench").mkdir()
        for name in ("floor", "host", "echo-plugin", "start", "bounded", "sweep"):
            (self.build / "bench" / f"bench-{name}").touch()
        out = self.build / "out" / "results.json"
        words = ["--only", "relay,large,call,grpc", "--out", out]
        done = run("/usr/bin/python3", HERE / "run", self.build, *words, env={"PATH": "/nonexistent"})
        self.assertEqual(done.returncode, 1, done)
        said = done.stdout.splitlines()[-4:]
        self.assertRegex(said[0], "^relay: FAILED: PermissionError")
        self.assertRegex(said[1], "^large: FAILED: FileNotFoundError: .*bench-large")
        self.assertEqual(said[2], "grpc: not measured: no protoc (Debian: protobuf-compiler)")
        self.assertRegex(said[3], "^call: FAILED: FileNotFoundError: .*bench-echo-static.*call.log")
        self.assertNotIn("Traceback", done.stdout + done.stderr)
        self.assertEqual(json.loads(out.read_text(encoding="utf-8")), [])

    def test_what_is_only_missing_is_no_failure(self):
        (self.build / "bench").mkdir()
        for name in ("floor", "host", "echo-plugin", "start", "bounded", "sweep"):
            (self.build / "bench" / f"bench-{name}").touch()
        words = ["--only", "grpc", "--out", self.build / "new" / "results.json"]
        done = run("/usr/bin/python3", HERE / "run", self.build, *words, env={"PATH": "/nonexistent"})
        self.assertEqual(done.returncode, 0, done)

    def test_no_programs(self):
        self.refused(1, "./dev bench", HERE / "run", self.build)
        (self.build / "build.ninja").touch()
        self.refused(1, f"ninja -C {self.build} measured", HERE / "run", self.build)

    def test_bars_name_the_command(self):
        known = run(HERE / "run", "--help").stdout
        done = run(HERE / "bars", self.build)
        self.assertEqual(done.returncode, 0, done)
        rows = done.stdout.splitlines()[1:-1]
        self.assertGreater(len(rows), 20)
        for row in rows:
            name = re.search(r": not measured: \./dev bench --only ([a-z]+)$", row)
            self.assertTrue(name, row)
            self.assertRegex(known, rf"\n  {name[1]} ")
        self.refused(2, "no directory /nosuch", HERE / "bars", "/nosuch")

    def test_help_is_whole(self):
        for name in ("call", "extract", "farm", "farm-scale", "grpc", "index", "sdk", "store", "bars"):
            text = " ".join(run(HERE / name, "--help").stdout.split("positional arguments")[0].split())
            self.assertTrue(text.endswith("."), f"{name}: {text}")

    def test_busy_machine(self):
        """Other programs had one of four processors, then a twentieth of them."""
        found = others.Others()
        found.begin((100.0, 50.0, 10.0))
        found.end((110.0, 80.0, 30.0))
        self.assertIn("other programs had 1.0 of 4 processors", found.said(4))
        found.begin((110.0, 80.0, 30.0))
        found.end((210.0, 190.0, 130.0))
        self.assertIsNone(found.said(4))
        self.assertIsNone(others.Others().said(4))
        ticks = others.TICKS
        self.assertEqual(others.used_by_all(f"cpu  {ticks} 0 {ticks} 900 90 0 0 {ticks} 7 7\ncpu0 1"), 3)

    def test_draw_without_results(self):
        self.refused(1, "No such file", HERE / "draw", self.build / "none.json", self.build)
        (self.build / "bad.json").write_text("{", encoding="utf-8")
        self.refused(1, "is not a results.json", HERE / "draw", self.build / "bad.json", self.build)


if __name__ == "__main__":
    unittest.main()
