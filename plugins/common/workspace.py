# SPDX-License-Identifier: Apache-2.0
"""What Sunscreen plugins that scaffold into a workspace share: names, templates, and files that are written all
or not at all. The build puts a copy beside each of them."""
import os
import pathlib
import re

from tenon import PluginError

CONFIG_INVALID, USER_INPUT, WORKSPACE_MISSING, DRIFT = 3, 4, 5, 6


def failure(code, message, next_step=""):
    return PluginError(code, message, {"next_step": next_step} if next_step else None)


def spellings(name):
    """Trades, trades or my_trades in every spelling that templates need."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        raise failure(
            USER_INPUT,
            f"{name!r} is no name for Rust code",
            "use letters, digits and underscores, a letter first",
        )
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_")
    return {
        "snake": snake,
        "kebab": snake.replace("_", "-"),
        "UPPER": snake.upper(),
        "Camel": "".join(part[:1].upper() + part[1:] for part in snake.split("_")),
    }


def filled(template, words):
    """A template's text with its @words@."""
    text = pathlib.Path(template).read_text(encoding="utf-8")
    return re.sub(r"@(\w+)@", lambda match: words[match.group(1)], text)


class Workspace:
    """A workspace, and what is to be written there: `files`, from relative paths to texts."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        if not root or not self.root.is_dir():
            raise failure(WORKSPACE_MISSING, f"there is no workspace at {root}")
        self.files = {}

    def program(self, asked=""):
        """The program that is asked for, or the only one."""
        there = sorted(path.parent.parent.name for path in self.root.glob("programs/*/src/lib.rs"))
        if asked in there:
            return asked
        if not asked and len(there) == 1:
            return there[0]
        raise failure(
            USER_INPUT,
            f"there is no program {asked}" if asked else "which program?",
            "pass --program with one of: " + ", ".join(there)
            if there
            else "make one first: programs/NAME/src/lib.rs",
        )

    def read(self, path):
        """The text of a file, "" where there is none."""
        whole = self.root / path
        return whole.read_text(encoding="utf-8") if whole.exists() else ""

    def refuse_existing(self, what):
        if any((self.root / path).exists() for path in self.files):
            raise failure(USER_INPUT, f"{what} already exists", "pass --force or pick a different name")

    def add_module(self, path, module):
        """A mod.rs with one module more; what is there stays as it is."""
        old = self.read(path)
        if not re.search(rf"(?m)^\s*pub mod {module};", old):
            gap = "" if not old or old.endswith("\n") else "\n"
            self.files[path] = f"{old}{gap}pub mod {module};\npub use {module}::*;\n"

    def write(self):
        """Writes all files, each at once; gives their paths."""
        for path, text in self.files.items():
            whole = self.root / path
            whole.parent.mkdir(parents=True, exist_ok=True)
            beside = whole.with_name(whole.name + ".new")
            beside.write_text(text, encoding="utf-8")
            os.replace(beside, whole)
        return list(self.files)
