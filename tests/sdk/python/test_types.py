#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""mypy --strict finds nothing in the packages, and an author's plugin is checked against their types."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from support import Case, ROOT, SDK

sys.path.append(str(ROOT / "tests/e2e"))
from tier import again  # noqa: E402


@unittest.skipUnless(shutil.which("mypy"), "needs mypy")
class Types(Case):
    @classmethod
    def setUpClass(cls):
        cache = tempfile.TemporaryDirectory(prefix="mortise-mypy-")
        cls.addClassCleanup(cache.cleanup)
        cls.cache = cache.name  # of all runs: most of the time goes into the types of the standard library

    def mypy(self, *arguments):
        return subprocess.run(
            ["mypy", "--cache-dir", self.cache, "--python-version", "3.8", *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=SDK,
            env=dict(os.environ, MYPYPATH=str(SDK)),
            timeout=300,
        )

    def test_strict(self):
        for packages in (["tenon"], ["compat/yams_sdk", "compat/gassist_sdk"]):
            done = self.mypy("--strict", *packages)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    @again("a second run of mypy; test_strict has the first")
    def test_an_authors_mistakes_are_seen(self):
        path = self.write(
            """
            from tenon import Call, Plugin, Reply

            plugin = Plugin("x", dialekt="plain")

            @plugin.command
            def ok(call: Call, sides: int = 6) -> Reply:
                call.stream(5)
                return Reply("x").image("url")
            """
        )
        done = self.mypy("--strict", path)
        self.assertIn('Unexpected keyword argument "dialekt"', done.stdout)
        self.assertIn('Argument 1 to "stream" of "Call" has incompatible type "int"', done.stdout)


if __name__ == "__main__":
    unittest.main()
