#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What README and guides print can be typed in as printed, and answers as printed.

A block is typed where the tree, and the build as "build", are at hand. "`NAME`:" before a block makes it the
file NAME. In a console block "$ " begins a command, and what follows is its output, stdout and stderr together.
"""
import os
import pathlib
import re
import shutil
import subprocess
import tomllib
import unittest

from support import BUILD, Case, is_sanitized, LIMIT, needs_elf_text, needs_node, ROOT

BLOCK = re.compile(r"(?m)^(?:`(?P<name>[\w./-]+)`:\n\n)?```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.S)
SOURCE_PLUGIN = re.compile(
    r"(?<!build/)(?<![\w/])(?:\./)?plugins/(?:elf-text|kythe-clang|lookout|remind|sysinfo|yellowstone-indexer)\b"
)


def page(name):
    return (ROOT / name).read_text(encoding="utf-8")


def commands(text):
    """(command, output) of a console block."""
    parts = re.split(r"(?m)^\$ (.*)\n", text)
    return list(zip(parts[1::2], parts[2::2]))


class Typed(Case):
    def setUp(self):
        super().setUp()
        self.place = self.dir / "here"
        self.place.mkdir()
        (self.place / "build").symlink_to(BUILD)
        (self.place / "examples").symlink_to(ROOT / "examples")
        self.env[
            "PATH"
        ] = f"{BUILD}:{pathlib.Path(shutil.which('node') or '/usr/bin/node').parent}:/usr/bin:/bin"
        self.env["PKG_CONFIG_PATH"] = str(self.dir / "pkgconfig")
        # As the installed one, but for this tree; by names without a blank: pkg-config cannot quote one.
        (self.dir / "include").symlink_to(ROOT / "include")
        (self.dir / "libtenon.a").symlink_to(BUILD / "libtenon.a")
        self.file(
            "pkgconfig/tenon.pc",
            f"Name: tenon\nDescription: x\nVersion: 0\nCflags: -I{self.dir}/include\n"
            f"Libs: {self.dir}/libtenon.a\n",
        )

    def type(self, line, before=0):
        done = subprocess.run(
            ["bash", "-c", f"(exit {before})\n{line}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self.place,
            env=self.env,
            timeout=LIMIT,
            check=False,
        )
        return done.returncode, done.stdout.decode("utf-8")

    def whole_page(self, name):
        typed = 0
        for block in BLOCK.finditer(page(name)):
            if block["name"]:
                path = self.place / block["name"]
                path.parent.mkdir(exist_ok=True)
                path.write_text(block["text"], encoding="utf-8")
            if block["kind"] != "console" or "./dev " in block["text"]:
                continue
            status = 0
            for line, wanted in commands(block["text"]):
                status, got = self.type(line, status)
                self.assertEqual(got, wanted, line)
                typed += 1
        return typed

    @needs_elf_text
    def test_readme(self):
        self.assertEqual(self.whole_page("README.md"), 5)

    def test_plugin_of_the_readme(self):
        [plugin] = [block["text"] for block in BLOCK.finditer(page("README.md")) if block["kind"] == "python"]
        (self.place / "greeter.py").write_text(plugin, encoding="utf-8")
        self.env["PYTHONPATH"] = str(ROOT / "sdk/python")
        line = "build/mortise call hello name=world -- python3 greeter.py"
        self.assertEqual(self.type(line), (0, '"Hello, world!"\n'))

    def test_record(self):
        self.assertEqual(self.whole_page("docs/guide/record.md"), 10)

    @needs_node
    def test_write_a_plugin(self):
        if is_sanitized(BUILD / "mortise"):
            self.skipTest("libtenon.a of this build needs the run-time of a sanitizer")
        self.assertEqual(self.whole_page("docs/guide/write-a-plugin.md"), 39)

    def test_write_by_hand(self):
        self.assertEqual(self.whole_page("docs/guide/write-by-hand.md"), 9)

    def test_confine(self):
        self.assertEqual(self.whole_page("docs/guide/confine.md"), 7)

    def test_trial(self):
        self.assertEqual(self.whole_page("docs/guide/trial.md"), 4)

    def test_sessions(self):
        self.assertEqual(self.whole_page("docs/guide/sessions.md"), 3)

    @needs_elf_text
    @needs_node
    def test_examples_of_the_manual(self):
        """Those that need nothing but the tree; doctor says 125 where plugins cannot be confined."""
        for name in ("bench", "call", "chaos", "doctor", "explain", "extract", "info", "session"):
            examples = re.search(r"(?s)# EXAMPLES\n\n```\n(.*?)```", page(f"docs/man/mortise-{name}.1.scd"))[1]
            for line in examples.splitlines():
                status, said = self.type(line)
                self.assertIn(status, (0, 125) if name == "doctor" else (0,), f"{line}: {said[-500:]}")

    def test_embed_in_the_tree(self):
        line = re.search(r"(?m)^    (cc -Iinclude .*)$", page("docs/guide/embed.md"))[1]
        self.assertIn(f"\n    {line}\n", page("README.md"))
        self.place.joinpath("include").symlink_to(ROOT / "include")
        if is_sanitized(BUILD / "mortise"):
            self.skipTest("the library of this build needs the run-time of a sanitizer")
        self.assertEqual(self.type(line), (0, '{"text":"hello, world"}\n'))


class Files(Case):
    def test_configure(self):
        """Every setting of the guide's whole mortise.toml is taken."""
        block = next(
            block for block in BLOCK.finditer(page("docs/guide/configure.md")) if block["kind"] == "toml"
        )
        self.file("notes/mortise.toml", block["text"])
        self.assertIn("Text out of note files", self.ok("info", "--no-start", self.dir / "notes").out)

    def test_bot(self):
        """The guide's file is a bot; only its network is left out."""
        listing = re.search(r"(?ms)^    \$ cat bot.toml\n(.*?)\n\n", page("docs/guide/bot.md"))[1]
        text = re.sub("(?m)^    ", "", listing)
        self.assertIn("weather", tomllib.loads(text)["external-plugin-bridge"]["plugins"])
        self.file("bot.toml", text)
        (self.dir / "weather.py").symlink_to(ROOT / "tests/plugins/ayiou/spec_weather.py")
        done = self.run_mortise(
            "chat", "--config", "bot.toml", "--stdio", stdin=b'{"text":"/weather Beijing","user_id":7}\n'
        )
        self.assertEqual(done.code, 0, done.err)
        wanted = re.search(r'(?m)^    (\{"action".*)$', page("docs/guide/bot.md"))[1]
        self.assertEqual(done.out, wanted + "\n")


class Paths(Case):
    def test_plugins_are_those_that_are_built(self):
        """A plugin's directory in the source tree holds sources: what examples name is below build/."""
        manual = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs/man").glob("*.scd")}
        commands = [found[1] for found in map(re.compile(r"mortise-(.*)\.1\.scd").fullmatch, manual) if found]
        texts = {f"{name} --help": self.ok(name, "--help").out for name in commands} | manual
        self.assertGreater(len(texts), 20)
        self.assertEqual(
            [(name, found) for name, text in texts.items() for found in SOURCE_PLUGIN.findall(text)], []
        )

    def test_pages_of_the_manual_name_each_other(self):
        pages = {path.name.removesuffix(".1.scd") for path in (ROOT / "docs/man").glob("mortise-*.scd")}
        told = page("docs/man/mortise.1.scd")
        self.assertEqual({name for name in pages if f"*{name}*(1)" not in told.split("# SEE ALSO")[1]}, set())


if __name__ == "__main__":
    unittest.main()
