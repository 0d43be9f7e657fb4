# SPDX-License-Identifier: Apache-2.0
"""CONTRIBUTING.md: the first changes work as printed. They are made in a copy of the sources; conversations are
played with the build at hand, code is compiled by itself. MORTISE_BUILD names the build directory (default:
build)."""
import re
import shutil
import subprocess
import unittest

from support import BUILD, Case, LIMIT, ROOT

PLAYER = BUILD / "tests/unit/host/talk-player"
COMPILE = "gcc -fsyntax-only -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -Iinclude".split()


class FirstChanges(Case):
    def setUp(self):
        super().setUp()
        page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
        self.section = dict(re.findall(r"^### (.+?)\n(.*?)(?=^##)", page, re.M | re.S))

    def blocks(self, title):
        return re.findall(r"^```\w*\n(.*?)^```", self.section[title], re.M | re.S)

    def copy(self):
        tree = self.dir / "tree"
        for part in ("include", "src"):
            shutil.copytree(ROOT / part, tree / part)
        return tree

    def insert(self, file, before, text):
        """Puts the text before the last place that begins so."""
        old = file.read_text(encoding="utf-8")
        self.assertIn(before, old, f"{file.name} has no such place any more: change CONTRIBUTING.md")
        at = old.rindex(before)
        file.write_text(old[:at] + text + old[at:], encoding="utf-8")

    def in_form(self, tree, *files):
        """As `./dev test format` would see them."""
        shutil.copytree(ROOT / "tools", tree / "tools", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / ".clang-format", tree)
        done = subprocess.run(
            [tree / "tools/format", "--check", *files], cwd=tree, capture_output=True, text=True, timeout=LIMIT
        )
        if done.returncode == 77:  # it has no clang-format
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def compiles(self, tree, file):
        wings = [f"-I{wing}" for wing in sorted((tree / "src").iterdir()) if wing.is_dir()]
        done = subprocess.run([*COMPILE, *wings, file], cwd=tree, capture_output=True, text=True, timeout=LIMIT)
        self.assertEqual(done.returncode, 0, done.stderr)

    def plays(self, text):
        script = self.dir / "printed.talk"
        script.write_text(text, encoding="utf-8")
        done = subprocess.run([PLAYER, script], capture_output=True, text=True, timeout=LIMIT)
        return done.returncode == 0, done.stdout + done.stderr

    def test_a_test(self):
        [script] = self.blocks("A test")
        passes, said = self.plays(script)
        self.assertTrue(passes, said)
        passes, said = self.plays(script.replace("* result 42", "* result 43"))
        self.assertFalse(passes)
        self.assertIn("printed.talk:7: message: expected 43, got 42", said)
        self.assertNotRegex(said, "leaked|teardown")

    def test_a_row(self):
        row, fields, lines = self.blocks("A row of a dialect")
        tree = self.copy()
        table = tree / "src/lib/dialect/yams.c"
        self.insert(table, '\t{ "*", MOR_ROLE_NOTE,', row)
        self.insert(table, "static const struct mor_method ", fields)
        self.compiles(tree, "src/lib/dialect/yams.c")
        self.in_form(tree, "src/lib/dialect/yams.c")
        before = (ROOT / "tests/talk/yams/plugin-note.talk").read_text(encoding="utf-8")
        shutil.copy(ROOT / "tests/talk/yams/greeting.inc", self.dir)
        self.assertTrue(self.plays(before)[0])
        self.assertFalse(self.plays(before + lines)[0], "without the row the script must fail")

    def test_a_command(self):
        command, row = self.blocks("A command")
        tree = self.copy()
        (tree / "src/app/cli/kinds.c").write_text(command, encoding="utf-8")
        self.insert(tree / "src/app/cli/commands.h", "\tX(completion,", row)
        self.compiles(tree, "src/app/cli/kinds.c")
        self.compiles(tree, "src/app/cli/commands_all.c")
        self.in_form(tree, "src/app/cli/kinds.c", "src/app/cli/commands.h")
        self.assertRegex((ROOT / "src/app/cli/meson.build").read_text(encoding="utf-8"), r"'\w+\.c',")


if __name__ == "__main__":
    unittest.main()
