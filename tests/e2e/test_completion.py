# SPDX-License-Identifier: Apache-2.0
"""Tab in real shells: names, versions, methods, functions, parameters and options."""
import json
import os
import shutil
import subprocess
import unittest

from shells import Shell
from store_support import Store
from support import BUILD, Case, MORTISE


def needs(program):
    return unittest.skipUnless(shutil.which(program), f"{program} is not installed")


class Completion(Case):
    def setUp(self):
        super().setUp()
        self.env["HOME"] = str(self.dir)
        self.store = Store(self.dir / "data")
        self.install("words", "yams", self.plugin("words"))
        self.install("words", "yams", self.plugin("words", manifest={"version": "1.1.0"}), version="1.1.0")
        shutil.copytree(BUILD / "plugins/lookout", self.dir / "src")
        self.install("lookout", "gassist", self.dir / "src")
        self.file("a-file.txt")

    def install(self, name, dialect, source, **how):
        self.store.install(name, source, dialect=dialect, **how)
        shutil.rmtree(source)


# What is typed, and the words of the line after Tab.
LINES = [
    ("mortise call wor", "mortise call words"),
    ("mortise call words@1.1", "mortise call words@1.1.0"),
    ("mortise call words extractor.su", "mortise call words extractor.supports"),
    ("mortise call words@1.0.0 extractor.su", "mortise call words@1.0.0 extractor.supports"),
    ("mortise call words extractor.supports mi", "mortise call words extractor.supports mime_type="),
    ("mortise call words extractor.extract source.t", "mortise call words extractor.extract source.type="),
    ("mortise call words --dial", "mortise call words --dialect"),
    ("mortise bench wor", "mortise bench words"),
    ("mortise bench words extractor.su", "mortise bench words extractor.supports"),
    ("mortise bench words --concu", "mortise bench words --concurrency"),
    ("mortise run look", "mortise run lookout"),
    ("mortise run lookout dis", "mortise run lookout disk"),
    ("mortise run lookout disk pa", "mortise run lookout disk path="),
    ("mortise chat look", "mortise chat lookout"),
    ("mortise chat words look", "mortise chat words lookout"),
    ("mortise info look", "mortise info lookout"),
    ("mortise extract a-file.txt --plugin wor", "mortise extract a-file.txt --plugin words"),
    ("mortise extract --plugin=wor", "mortise extract --plugin=words"),
    ("mortise extract a-fi", "mortise extract a-file.txt"),
    ("mortise approve wor", "mortise approve words"),
    ("mortise remove words@1.0", "mortise remove words@1.0.0"),
    ("mortise upgrade look", "mortise upgrade lookout"),
    ("mortise upgrade lookout a-fi", "mortise upgrade lookout a-file.txt"),
    ("mortise bundle look", "mortise bundle lookout"),
    ("mortise session start s look", "mortise session start s lookout"),
    ("mortise session sta", "mortise session start"),
    ("mortise explain ya", "mortise explain yams"),
    ("mortise call a-fi", "mortise call a-file.txt"),
]


class Terminal(Completion):
    def tries(self, name, first=":"):
        shell = Shell(self, name, first)
        for typed, wanted in LINES:
            with self.subTest(typed=typed):
                self.assertEqual(" ".join(shell.completed(typed)), wanted)
        return shell

    @needs("bash")
    def test_bash(self):
        """Plain bash cuts words at "@" and "="; what is loaded at many users takes one of them
        away, or both."""
        for breaks in (
            ":",
            "COMP_WORDBREAKS=${COMP_WORDBREAKS//@}",
            "COMP_WORDBREAKS=${COMP_WORDBREAKS//[@=:]}",
        ):
            with self.subTest(breaks=breaks):
                shell = self.tries("bash", breaks)
                self.keeps_what_was_typed(shell)

    def keeps_what_was_typed(self, shell):
        """As it stands in the line: a backslash there makes another word of it for the next Tab."""
        typed = {
            "mortise rollback words@": "mortise rollback words@1.",
            "mortise rollback words@\t": "mortise rollback words@1.",
            "mortise rollback words\\@": "mortise rollback words@1.",
            "mortise rollback words@1.1": "mortise rollback words@1.1.0 ",
            "mortise call words extractor.supports mi": "mortise call words extractor.supports mime_type=",
            "mortise run lookout disk --pa": "mortise run lookout disk --path=",
            "mortise extract --plugin=": "mortise extract --plugin=",
            "mortise extract --plugin=wor": "mortise extract --plugin=words ",
        }
        for begun, wanted in typed.items():
            with self.subTest(typed=begun):
                self.assertEqual(shell.line(begun), wanted)

    @needs("zsh")
    def test_zsh(self):
        self.tries("zsh")

    @needs("bash")
    def test_session(self):
        """Bash takes the @ for the end of a word."""
        shell = Shell(self, "bash")
        self.ok("session", "start", "kept", "words")
        self.addCleanup(self.run_mortise, "session", "stop", "kept")
        self.assertEqual(shell.completed("mortise call @ke"), ["mortise", "call", "@kept"])
        self.assertEqual(shell.completed("mortise call @kept extractor.su")[-1], "extractor.supports")

    def evil(self):
        """Names that a shell would run, or a terminal would obey."""
        functions = [
            {"name": name, "description": "x", "tags": [], "properties": {}}
            for name in ("$(touch ran)", "`touch ran`", "good", "go\x1b[2Jod", "go\nod")
        ]
        self.file("evil/x", "#!/bin/sh\n").chmod(0o755)
        self.file(
            "evil/manifest.json",
            json.dumps(
                {
                    "manifestVersion": 1,
                    "protocol_version": "2.0",
                    "name": "evil",
                    "version": "1.0.0",
                    "description": "x",
                    "executable": "./x",
                    "persistent": True,
                    "functions": functions,
                }
            ),
        )

    @needs("bash")
    def test_names_are_not_run_by_bash(self):
        self.evil()
        names = self.ok("completion", "names", "--at=", "--", "run", "./evil").out
        self.assertEqual(names.splitlines(), ["$(touch ran)", "`touch ran`", "good"])
        shell = Shell(self, "bash")
        for typed in ("mortise run ./evil ", "mortise run ./evil $", "mortise run ./evil g"):
            shell.send(typed + "\t\t\x15")
            shell.mark()
        self.assertFalse((self.dir / "ran").exists())

    @needs("zsh")
    def test_names_are_not_run_by_zsh(self):
        self.evil()
        shell = Shell(self, "zsh")
        for typed in ("mortise run ./evil ", "mortise run ./evil g"):
            shell.send(typed + "\t\t\x15")
            shell.mark()
        self.assertFalse((self.dir / "ran").exists())


class Fish(Completion):
    def offered(self, line):
        self.file("completion.fish", self.ok("completion", "fish").raw)
        done = subprocess.run(
            ["fish", "--no-config", "-c", "source completion.fish; complete -C $argv[1]", "--", line],
            capture_output=True,
            cwd=self.dir,
            env={**self.env, "PATH": f"{MORTISE.parent}:{os.environ['PATH']}", "TERM": "dumb"},
            check=True,
            text=True,
        )
        self.assertEqual(done.stderr, "")
        return [row.split("\t")[0] for row in done.stdout.splitlines()]

    @needs("fish")
    def test_fish(self):
        for typed, wanted in LINES:
            with self.subTest(typed=typed):
                self.assertIn(wanted.split(" ")[-1], self.offered(typed))
        self.assertNotIn("/", self.offered("mortise call "))


class Words(Completion):
    """What the scripts ask."""

    def names(self, *words):
        return self.ok("completion", "names", *words).out.splitlines()

    def test_names(self):
        self.assertEqual(self.names(), ["lookout", "words"])
        self.assertEqual(self.names("--at="), ["lookout", "words", "/"])
        self.assertEqual(self.names("--at=words@"), ["words@1.1.0", "words@1.0.0", "/"])
        self.assertEqual(self.names("--at", "nobody@"), ["/"])
        self.assertEqual(self.names("--at=", "--", "approve"), ["lookout", "words"])
        self.assertEqual(self.names("--at=", "--", "approve", "words"), [])
        self.assertEqual(self.names("--at=", "--", "lock", "words"), ["lookout", "words"])
        self.assertEqual(self.names("--at=", "--", "check"), [])  # it takes no installed plugin

    def test_functions_of_an_installed_plugin(self):
        self.assertIn("disk", self.names("--at=", "--", "run", "lookout"))
        self.assertIn("path=", self.names("--at=", "--", "run", "lookout", "disk"))
        self.assertIn("--path=", self.names("--at=--", "--", "run", "lookout", "disk"))

    def test_trusted_plugins(self):
        own = self.dir / ".local/lib/yams/external-plugins"
        self.plugin(".local/lib/yams/external-plugins/far", manifest={"name": "far"})
        self.assertNotIn("far", self.names())
        self.ok("trust", "add", own)
        self.assertEqual(self.names(), ["lookout", "words", "far"])
        self.assertIn("extractor.supports", self.names("--at=", "--", "call", "far"))

    def test_nothing_is_started_or_noted(self):
        self.names("--at=", "--", "call", "words", "plugin.health")
        self.assertFalse((self.dir / "state/mortise/plugins/words/run.json").exists())


if __name__ == "__main__":
    unittest.main()
