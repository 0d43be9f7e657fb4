#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""mortise new: what it refuses, and that every folder that it makes builds, passes its own test and runs."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from support import BUILD, Case, is_sanitized, LIMIT, needs_node, ROOT, shell_words

sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests/sdk"))
import stage  # noqa: E402
import talkfile  # noqa: E402

DIALECTS = ["yams", "gassist", "ayiou", "sunscreen", "sunscreen-json", "kythe", "plain"]
PROGRAMS = {"c": "plugin", "python": "plugin.py", "node": "plugin.js"}
# What each step of the dialect must print.
SAID = {
    "plain": '"Hello, Ada!"',
    "yams": "milk\nbread",
    "gassist": "Hello, Ada! How are you?",
    "ayiou": "Hello, Ada!",
    "sunscreen": "greeted Ada",
    "sunscreen-json": "greeted Ada",
    "kythe": "/kythe/edge/childof",
}


def installed():
    """A copy of what ./dev install makes, for pkg-config: the templates in C know no other way."""
    prefix = pathlib.Path(tempfile.mkdtemp(prefix="mortise-new-"))
    words = [ROOT / "dev", "install", "--build", BUILD, "--prefix", prefix / "p"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, check=False)
    if done.returncode != 0:
        shutil.rmtree(prefix)
        raise AssertionError(done.stdout + done.stderr)
    return prefix


class Usage(Case):
    def test_unknown_words(self):
        self.assertIn('did you mean "python"?', self.fails(2, "usage", "new", "pyton", "x", "-d", "yams").err)
        self.assertIn('did you mean "yams"?', self.fails(2, "usage", "new", "c", "x", "-d", "yam").err)
        self.assertIn("yams, gassist", self.fails(2, "usage", "new", "c", "x").err)
        self.assertIn("c, python, node", self.fails(2, "usage", "new").err)
        self.assertIn("NAME", self.fails(2, "usage", "new", "c").err)
        self.fails(2, "usage", "new", "c", "a", "b", "-d", "yams")
        self.fails(2, "usage", "new", "c", "a", "-d", "yams", "--", "b")

    def test_names(self):
        """The dialect's rule, and nothing that a path or a command could misunderstand."""
        bad = {
            "yams": ["a-b", "1a", "é"],
            "gassist": ["1a", "a.b", "a b"],
            "plain": ["-a", "a b", ".", "..", ""],
        }
        for dialect, names in bad.items():
            for name in names:
                with self.subTest(dialect + " " + name):
                    self.fails(2, "usage", "new", "python", "./" + name if name else "", "-d", dialect)
        good = {"yams": "a_1", "gassist": "My-plugin_2", "plain": "1.a-b", "sunscreen": "a+b"}
        for dialect, name in good.items():
            with self.subTest(dialect + " " + name):
                self.ok("new", "python", name, "-d", dialect)

    def test_what_exists_stays(self):
        kept = self.file("mine/file", "kept")
        done = self.fails(4, "input", "new", "python", "mine", "-d", "plain")
        self.assertIn("mine exists", done.err)
        self.assertEqual((os.listdir(kept.parent), kept.read_text()), (["file"], "kept"))
        self.fails(4, "input", "new", "python", self.file("a-file"), "-d", "plain")
        (self.dir / "empty").mkdir()
        self.ok("new", "python", "empty", "-d", "plain")
        self.assertIn("plugin.py", os.listdir(self.dir / "empty"))

    def test_nothing_is_left_of_a_failure(self):
        before = sorted(os.listdir(self.dir))
        self.fails(4, "input", "new", "python", "nowhere/x", "-d", "plain")
        self.fails(4, "input", "new", "python", "/dev/null/x", "-d", "plain")
        self.assertEqual(sorted(os.listdir(self.dir)), before)

    def test_json(self):
        told = self.ok("new", "node", "a b/weather", "-d", "gassist", "--json", cwd=self.make("a b")).json
        self.assertEqual((told["name"], told["language"], told["dialect"]), ("weather", "node", "gassist"))
        self.assertEqual(told["steps"][0], "cd 'a b/weather'")
        there = [
            str(path.relative_to(self.dir / "a b/weather")) for path in (self.dir / "a b/weather").rglob("*")
        ]
        self.assertLessEqual(set(told["files"]), set(there))
        self.assertIn("manifest.json", told["files"])
        self.assertNotIn("node_modules/tenon/package.json", told["files"])

    def make(self, name):
        (self.dir / name).mkdir()
        return self.dir

    def test_without_the_sdk(self):
        self.ok("new", "python", "p", "-d", "plain", "--no-sdk")
        self.ok("new", "node", "n", "-d", "plain", "--no-sdk")
        self.assertFalse((self.dir / "p/tenon").exists() or (self.dir / "n/node_modules").exists())
        self.assertIn("pip install", (self.dir / "p/README.md").read_text())
        self.assertIn("npm install", (self.dir / "n/README.md").read_text())

    def test_umask(self):
        """Modes are those of a file that an editor would make; programs can be executed."""
        self.ok("new", "python", "p", "-d", "plain")
        mask = os.umask(0)
        os.umask(mask)
        self.assertEqual((self.dir / "p").stat().st_mode & 0o777, 0o777 & ~mask)
        self.assertEqual((self.dir / "p/plugin.py").stat().st_mode & 0o777, 0o777 & ~mask)
        self.assertEqual((self.dir / "p/README.md").stat().st_mode & 0o777, 0o666 & ~mask)


class Combination(Case):
    """One language and dialect: the folder, its own test, the steps that are printed, its conversation."""

    prefix = None

    def environment(self):
        paths = [str(BUILD)] + ([str(self.prefix / "p/bin")] if self.prefix else []) + [os.environ["PATH"]]
        env = {**self.env, "PATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}
        if self.prefix:
            found = next((self.prefix / "p").glob("lib*/**/tenon.pc"))
            env["PKG_CONFIG_PATH"] = str(found.parent)
        return env

    def shell(self, line, folder):
        done = subprocess.run(
            ["/bin/sh", "-c", line],
            cwd=folder,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=3 * LIMIT,
            check=False,
        )
        if done.returncode and line == "mortise check .":  # a busy machine may need more time for it
            return self.shell("mortise check --timeout 60s .", folder)
        self.assertEqual(done.returncode, 0, f"{line}\n{done.stdout}{done.stderr}")
        return done.stdout

    def make(self, language, dialect):
        name = "try_" + language
        told = self.ok("new", language, name, "--dialect", dialect, "--json").json
        folder = self.dir / name
        for path in told["files"]:
            self.assertNotRegex((folder / path).read_text(), r"@[A-Z]+@", path)
        for wanted in ("README.md", ".gitignore", "plugin.talk"):
            self.assertIn(wanted, told["files"])
        return folder, told["steps"]

    def has_views(self):
        """A confined analyzer sees its files through namespaces."""
        levels = json.loads(self.run_mortise("doctor", "--json").out)["levels"]
        return any(row["level"] == "t1" and row["available"] for row in levels)

    def check(self, language, dialect):
        folder, steps = self.make(language, dialect)
        self.assertEqual(steps[0], "cd " + folder.name)
        if dialect == "kythe" and not self.has_views():
            steps = [step for step in steps if "--confine" not in step]
        printed = [self.shell(step, folder) for step in steps[1:]]
        for step, out in zip(steps[1:], printed):
            if step == "mortise check .":
                self.assertIn("0 failed, 0 warned", out)
            elif step == "mortise replay plugin.talk .":
                self.assertIn("plugin.talk: equal", out)
            elif step.startswith(("mortise ", "printf", "echo")) and " kzip " not in step:
                self.assertIn(SAID[dialect], out, step)
        self.assertIn(folder.name, self.shell(f"./{PROGRAMS[language]} --manifest {dialect}", folder))
        self.talk(language, folder)

    def talk(self, language, folder):
        """plugin.talk, byte by byte, against the program itself."""
        script = talkfile.parse(folder / "plugin.talk")
        for way in ("step", "bytewise"):
            stage.play_program([folder / PROGRAMS[language]], script, way, str(self.dir))


def test_of(language, dialect):
    def run(self):
        self.check(language, dialect)

    return run


def one_of(language):
    members = {f"test_{dialect.replace('-', '_')}": test_of(language, dialect) for dialect in DIALECTS}
    return type(language.title(), (Combination,), members)


Python, Node = one_of("python"), needs_node(one_of("node"))


class C(one_of("c")):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if is_sanitized(BUILD / "mortise"):
            raise unittest.SkipTest("libtenon.a of this build needs the run-time of a sanitizer")
        cls.prefix = installed()
        cls.addClassCleanup(shutil.rmtree, cls.prefix)

    def test_installed(self):
        """What is installed finds its templates and SDKs, and copies only what belongs to a plugin."""
        mortise = self.prefix / "p/bin/mortise"
        for language in ("python", "node"):
            self.shell(f"{mortise} new {language} {language} -d plain", self.dir)
            self.assertEqual(
                self.shell(f"{mortise} call ./{language} greet name=Ada", self.dir), '"Hello, Ada!"\n'
            )
        for program in (mortise, BUILD / "mortise"):
            self.shell(f"rm -rf node && {shell_words(program)} new node node -d plain", self.dir)
            copied = os.listdir(self.dir / "node/node_modules/tenon")
            known = {"README.md", "index.js", "index.d.ts", "lib", "package.json", "testing.js", "testing.d.ts"}
            self.assertEqual(set(copied), known)


del Combination


if __name__ == "__main__":
    unittest.main()
