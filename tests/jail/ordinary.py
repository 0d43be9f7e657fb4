#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Ordinary commands behave in the jail as they do bare: same exit status, same output.

ordinary.py [--quick] [-v] [NAME...]   MORTISE_BUILD names the build directory (default: build)

The commands are in ordinary/commands.toml, the workspace of which each run gets a fresh copy is ordinary/work.
Every command runs bare and, with -w . --write --spawn, at each level that the machine offers. The bar: nothing
is killed, whatever differs is in the table with its reason, and that is at most 5 %.
"""
import concurrent.futures
import dataclasses
import functools
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
import unittest

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("MORTISE_BUILD", HERE.parents[1] / "build")).resolve()
MORTISE = BUILD / "mortise"
PATH = "/usr/bin:/bin"
LIMIT = 600  # seconds: only to end what hangs
WORKERS = 2
AT_LEAST, AS_BARE = 80, 0.95
VIOLATION, KILLED = 9, 128 + 9


@dataclasses.dataclass(frozen=True)
class Command:
    """A row of the table."""

    name: str
    run: str
    needs: str = ""
    git: bool = False
    denied: bool = False
    differs: str = ""
    bare: str = ""  # with `differs`: it can be seen only where the bare command prints this
    only: str = ""

    def missing(self):
        """What is lacking of what it needs; "": nothing."""
        if self.denied and not has_option("--on-denial"):
            return "--on-denial"
        for need in [shlex.split(self.run)[0], *self.needs.split()]:
            program, _, module = need.partition(":")
            if not shutil.which(program, path=PATH) or module and not has_module(program, module):
                return need
        return ""


def has_module(python, name):
    return not subprocess.run([python, "-c", f"import {name}"], capture_output=True, check=False).returncode


@dataclasses.dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str
    killed: bool = False


def table():
    with open(HERE / "ordinary/commands.toml", "rb") as file:
        return [Command(name=name, **row) for name, row in tomllib.load(file).items()]


def doctor():
    done = subprocess.run([MORTISE, "doctor", "--json"], capture_output=True, timeout=LIMIT, check=False)
    return json.loads(done.stdout)


def levels():
    return [row["level"] for row in doctor()["levels"] if row["available"] and row["level"] != "guarded"]


def environment(home):
    """What a confined program gets, for the bare one; so a difference is the jail's."""
    keep = {name: os.environ[name] for name in ("USER", "LOGNAME", "TZ") if name in os.environ}
    user = keep.get("USER") or keep.get("LOGNAME") or subprocess.check_output(["id", "-un"], text=True).strip()
    return {
        "USER": user,
        "LOGNAME": user,
        "SHELL": "/bin/sh",
        "PATH": PATH,
        "HOME": str(home),
        "TMPDIR": str(home),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONNOUSERSITE": "1",
        "PYTHONUNBUFFERED": "1",
        **keep,
    }


class Workshop:
    """A directory with the original of the workspace, in which runs get their copies."""

    def __init__(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="mortise-ordinary-"))
        self.original = self.dir / "work"
        shutil.copytree(HERE / "ordinary/work", self.original)
        if shutil.which("git", path=PATH):
            for words in (
                "init -qb main",
                "config user.name Ada",
                "config user.email ada@example.com",
                "config commit.gpgsign false",
                "add -A",
                "commit -qm first",
            ):
                subprocess.run(
                    ["git", *words.split()], cwd=self.original, check=True, env=environment(self.dir)
                )

    def close(self):
        shutil.rmtree(self.dir)

    def run(self, command, level):
        """level None: bare."""
        place = pathlib.Path(tempfile.mkdtemp(dir=self.dir))
        work, home = place / "work", place / "home"
        shutil.copytree(self.original, work, symlinks=True)
        home.mkdir()
        jail = [MORTISE, "jail", "-w", ".", "--write", "--spawn", "--level", level] if level else []
        if level and command.git and has_option("--git"):
            jail.append("--git")
        done = subprocess.run(
            [*jail, *["--"] * bool(jail), *shlex.split(command.run)],
            cwd=work,
            env=environment(home),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LIMIT,
            check=False,
        )
        shutil.rmtree(place)
        return outcome(done, [work, home])


@functools.lru_cache(None)
def has_option(name):
    done = subprocess.run([MORTISE, "jail", "--help"], capture_output=True, text=True, check=True)
    return name in done.stdout


def outcome(done, places):
    """The directories of a run have names of their own; what we say of the jail is not the program's."""
    out, err = (data.decode("utf-8", "replace") for data in (done.stdout, done.stderr))
    for word, place in zip(("WORK", "HOME"), places):
        out, err = out.replace(str(place), word), err.replace(str(place), word)
    out, err = (re.sub(r"/tmp/mortise-jail-\w+", "HOME", text) for text in (out, err))
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    killed = code in (VIOLATION, KILLED) and "sandbox_violation:" in err
    return Outcome(code, out, "".join(re.findall(r"(?m)^(?!sandbox_\w+:|denied:).*\n?", err)), killed), err


@unittest.skipUnless(MORTISE.exists(), f"{MORTISE} is not built")
class Ordinary(unittest.TestCase):
    """Both ways, and compared."""

    def test_table(self):
        commands = table()
        self.assertGreaterEqual(len(commands), AT_LEAST)
        differing = [command.name for command in commands if command.differs]
        self.assertLessEqual(len(differing), len(commands) * (1 - AS_BARE), differing)

    def test_as_bare(self):
        commands = [c for c in table() if not NAMES or c.name in NAMES]
        lacking = {c.name: c.missing() for c in commands if c.missing()}
        commands = [c for c in commands if c.name not in lacking]
        offered = levels()
        if not offered:
            self.skipTest("this machine cannot confine")
        workshop = Workshop()
        self.addCleanup(workshop.close)
        if QUICKLY:  # every fourth command, at the levels in turn
            commands = commands[::4]
        at = {c: offered[i % len(offered) :][:1] if QUICKLY else offered for i, c in enumerate(commands)}
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            runs = {c: [pool.submit(workshop.run, c, level) for level in (None, *at[c])] for c in commands}
            for command, futures in runs.items():
                bare, *confined = [future.result() for future in futures]
                for level, jailed in zip(at[command], confined):
                    with self.subTest(command=command.name, level=level):
                        self.compare(command, level, bare, jailed)
        print(
            f"{len(commands)} commands at {', '.join(offered)}; not here: {lacking or 'none'}", file=sys.stderr
        )

    def compare(self, command, level, bare, jailed):
        (wanted, _), (got, said) = bare, jailed
        self.assertFalse(got.killed, f"{command.run}: killed: {said[-600:]}")
        if command.bare and wanted.out != command.bare:
            return
        if command.differs and command.only in ("", level):
            self.assertNotEqual(got, wanted, "it behaves as bare: the table need not say that it differs")
        elif got != wanted:
            self.fail(f"{command.run}\nbare {wanted}\njail {got}\n{said[-1500:]}")


NAMES = [word for word in sys.argv[1:] if not word.startswith("-")]
QUICKLY = "--quick" in sys.argv
if __name__ == "__main__":
    flags = [word for word in sys.argv[1:] if word.startswith("-") and word != "--quick"]
    unittest.main(argv=[sys.argv[0], *flags])
