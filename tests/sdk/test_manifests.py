#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A plugin prints the same manifest in each language: same/same.c, same.py and same.mjs are one plugin."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import tomllib
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = pathlib.Path(os.environ.get("MORTISE_BUILD", ROOT / "build")).resolve()
PYTHON = "/usr/bin/python3"
INTERPRETERS = {"python": PYTHON, "node": "node"}
FILES = {"python": "same.py", "node": "same.mjs"}
LIMIT = 300  # seconds: only to end what hangs


class Manifests(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        where = tempfile.TemporaryDirectory()
        self.addCleanup(where.cleanup)
        self.dir = pathlib.Path(where.name)
        (self.dir / "node_modules").mkdir()
        (self.dir / "node_modules/tenon").symlink_to(ROOT / "sdk/node")

    def printed(self, language, dialect, mode):
        if language == "node" and not shutil.which("node"):
            self.skipTest("node is not installed")
        if language == "c":
            command = [BUILD / "tests/sdk/same"]
        else:
            file = self.dir / FILES[language]
            shutil.copy(HERE / "same" / FILES[language], file)
            file.chmod(mode)
            command = [INTERPRETERS[language], file]
        done = subprocess.run(
            [*command, "--manifest", dialect],
            capture_output=True,
            text=True,
            check=True,
            timeout=LIMIT,
            env={**os.environ, "PYTHONPATH": str(ROOT / "sdk/python"), "PYTHONDONTWRITEBYTECODE": "1"},
        )
        return done.stdout

    def plain(self, language, dialect, mode=0o755):
        """Without what must differ: the name of the file, and a script's interpreter."""
        text = self.printed(language, dialect, mode)
        return text.replace("same.py", "same").replace("same.mjs", "same")

    def test_yams(self):
        made = {name: json.loads(self.plain(name, "yams")) for name in ("c", "python", "node")}
        for language, first in (("python", "python3"), ("node", "node")):
            self.assertEqual(made[language]["entry"].pop("cmd"), [first, "${plugin_dir}/same"])
        self.assertEqual(list(made["c"].items()), list(made["python"].items()))
        self.assertEqual(list(made["c"].items()), list(made["node"].items()))
        self.assertEqual(made["c"]["name"], "the_same")

    def test_ayiou(self):
        made = {name: self.plain(name, "ayiou") for name in ("c", "python", "node")}
        self.assertEqual(made["c"], made["python"])
        self.assertEqual(made["c"], made["node"])
        plugins = tomllib.loads(made["c"])["external-plugin-bridge"]["plugins"]
        self.assertEqual(plugins, {"the-same": {"command": "./same"}})

    def test_a_script_that_may_not_be_executed(self):
        for language, interpreter in (("python", "python3"), ("node", "node")):
            with self.subTest(language):
                entry = json.loads(self.plain(language, "yams", 0o644))["entry"]
                self.assertEqual(entry, {"cmd": [interpreter, "${plugin_dir}/same"]})
                bot = tomllib.loads(self.plain(language, "ayiou", 0o644))["external-plugin-bridge"]
                self.assertEqual(bot["plugins"]["the-same"], {"command": interpreter, "args": ["./same"]})


if __name__ == "__main__":
    unittest.main(argv=[__file__, "-v"])
