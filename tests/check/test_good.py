#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Good plugins have neither failures nor warnings: the reference plugins and the examples."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
import patience  # noqa: E402

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from tier import again  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["MORTISE_BUILD"])


def findings(*words):
    done = subprocess.run(
        [BUILD / "mortise", "check", "--json", "--timeout", patience.limit, *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=3000,
    )
    if not done.stdout:
        return [done.stderr]
    rows = json.loads(done.stdout)["checks"]
    return [f"{row['id']}: {row['why']}" for row in rows if row["result"] in ("fail", "warn")]


@patience.patient
class Good(unittest.TestCase):
    maxDiff = None

    def good(self, *words):
        self.assertEqual(findings(*map(str, words)), [])

    @unittest.skipUnless((BUILD / "plugins/elf-text/elf-text").exists(), "elf-text is not built")
    def test_elf_text(self):
        self.good(BUILD / "plugins/elf-text")

    @again("another good plugin, in the language whose start takes longest")
    @unittest.skipUnless(shutil.which("node"), "node is not installed")
    def test_lookout(self):
        self.good(BUILD / "plugins/lookout", "--call=overview")

    def test_yellowstone_indexer(self):
        self.good(BUILD / "plugins/yellowstone-indexer")

    @unittest.skipUnless((BUILD / "plugins/kythe-clang/kythe-clang").exists(), "kythe-clang is not built")
    def test_kythe_clang(self):
        self.good(BUILD / "plugins/kythe-clang")

    @again("another good analyzer beside kythe-clang")
    def test_let(self):
        self.good(
            "-d", "kythe", "--env", f"PYTHONPATH={ROOT / 'sdk/python'}", ROOT / "examples/analyzers/let.py"
        )

    def test_echo(self):
        self.good(ROOT / "examples/echo-plugin.py")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
