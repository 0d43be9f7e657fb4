# SPDX-License-Identifier: Apache-2.0
"""`mortise check --strict` finds nothing in a plugin of the C SDK, in any dialect, nor in the examples."""
import os
import pathlib
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("MORTISE_BUILD", ROOT / "build")).resolve()
DIALECTS = ("plain", "yams", "ayiou", "gassist", "sunscreen", "sunscreen-json")


class Check(unittest.TestCase):
    def check(self, dialect, program, *more):
        for limit in ("1s", "10s", "60s"):  # what a busy machine has done, it does not do again with more time
            done = subprocess.run(
                [
                    BUILD / "mortise",
                    "check",
                    "--strict",
                    "--timeout",
                    limit,
                    "-d",
                    dialect,
                    *more,
                    "--",
                    program,
                ],
                capture_output=True,
                text=True,
            )
            if done.returncode == 0:
                break
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_puppet(self):
        for dialect in DIALECTS:
            with self.subTest(dialect=dialect):
                self.check(dialect, BUILD / "tests/sdk/c/tenon-puppet")

    def test_examples(self):
        for dialect in (*DIALECTS, "kythe"):
            with self.subTest(dialect=dialect):
                self.check(dialect, BUILD / "examples" / ("plugin-" + dialect))


if __name__ == "__main__":
    unittest.main()
