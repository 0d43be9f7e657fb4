#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""mortise check --host: our own host is a good one, and a bad host fails the check that is about its fault.

test_host.py [DIALECT [--pairs]]: the bad hosts of a dialect; with --pairs each is held to every check,
and fails no other.
"""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
# pylint: disable=wrong-import-position
from kythe_support import simple, write_kzip
from sunscreen import LEVELS

MORTISE = pathlib.Path(os.environ.get("MORTISE_BUILD", "build")).resolve() / "mortise"
PYTHON = ["/usr/bin/python3", "-I", "-S"]
# How each dialect's host is made to call something. KZIP is a file with one record.
COMMANDS = {
    "plain": ["call", "{}", "ping"],
    "yams": ["call", "-d", "yams", "{}", "extractor.supports", "mime_type=text/plain", "extension=.txt"],
    "ayiou": ["call", "-d", "ayiou", "{}", "matches", "text=hello", "message_type=private"],
    "gassist": ["call", "-d", "gassist", "{}", "hello"],
    "sunscreen": ["run", "{}", "played", "-w", "{workspace}"],
    "sunscreen-json": ["run", "{}", "played", "-w", "{workspace}"],
    "kythe": ["index", "KZIP", "-o", "OUT", "--analyzer", "{}"],
}
CONFINED = ("sunscreen", "sunscreen-json")
# What our own host is told, so that it is a bad one: no host without a sandbox can break these one by one.
LOOSE = {
    "sandbox.grant": ["--set", "sandbox.workspace_write=false"],
    "sandbox.write": ["--set", "sandbox.workspace_write=true"],
    "sandbox.read": ["--set", "sandbox.read=/tmp"],
    "sandbox.network": ["--network"],
    "sandbox.spawn": ["--unconfined"],
}
BEARS = {f"bear.{name}" for name in ("split", "noise", "stray", "note", "stderr", "slow", "bare", "id")}
PAIRS = "--pairs" in sys.argv
ATTEMPTS = {f"sandbox.{name}" for name in ("write", "read", "network", "spawn")}
CLOSED = {"init.first", "init.version", "analyze.double"}  # the end comes with the answer
# Others that cannot be right then.
TOGETHER = {
    "wire.method": {
        "params.valid",
        "greet.first",
        "greet.init",
        "call.one",
        "slow.one",
        "good.exit",
        *BEARS,
        "error.told",
    },
    "params.type": {"params.valid", "stop.bye", "call.kind", "call.root", "call.whole", "call.places"},
    "params.valid": {"call.kind", "call.root", "call.whole"},
    "stop.polite": {"stop.bye", *CLOSED},
    "bear.split": {"bear.noise"},
    "bear.slow": BEARS | {"good.exit"},  # on a busy machine
    "good.exit": BEARS | {"start.again", "frame.split"},
    "greet.first": {"greet.init"},
    "stop.eof": {"stop.polite", "stop.bye", "call.end", "exit.told", "error.told", "crash.told", *CLOSED},
    "call.end": {"stop.eof", "exit.told", "error.told", "crash.told"},
    "crash.ends": {"crash.told"},
    "ids.type": {"ids.small"},
    "sandbox.spawn": ATTEMPTS,
    "error.told": {"error.code"},
}


def host(dialect, fault=""):
    """The command of a bad host."""
    if dialect == "kythe":
        return [*PYTHON, HERE / "bad_host_kythe.py", fault, "{}"]
    if dialect == "sunscreen" and fault in LOOSE:
        return [MORTISE, *COMMANDS[dialect], *LOOSE[fault]]
    workspace = ["{workspace}"] if dialect in CONFINED else []
    return [*PYTHON, HERE / "bad_host.py", fault, dialect, "{}", *workspace]


LIMITS = (1, 10)  # what a busy machine has done, it does not do again with ten times the time


def check(dialect, *command, only=(), limit=None, times=1):
    with tempfile.TemporaryDirectory() as state:
        places = {"KZIP": write_kzip(pathlib.Path(state) / "one.kzip", simple(1)), "OUT": f"{state}/out"}
        done = subprocess.run(
            [
                MORTISE,
                "check",
                "--json",
                "--timeout",
                f"{times * (limit or (16 if dialect == 'kythe' else 4))}s",
                "--host",
            ]
            + [word for ident in only for word in ("--only", ident)]
            + ["-d", dialect, "--", *(str(places.get(word, word)) for word in command)],
            capture_output=True,
            text=True,
            check=False,
            timeout=3000,
            env={**os.environ, "XDG_CACHE_HOME": state, "XDG_STATE_HOME": state},
        )
    assert '"checks"' in done.stdout, done.stderr
    return {row["id"]: row for row in json.loads(done.stdout)["checks"]}


def bad(results, dialect):
    return {
        ident.removeprefix(f"{dialect}.host."): row["why"]
        for ident, row in results.items()
        if row["result"] != "pass"
    }


def rows(dialect):
    done = subprocess.run(
        [MORTISE, "check", "--list", "--json", "--host", "-d", dialect], capture_output=True, check=True
    )
    return [row["id"] for row in json.loads(done.stdout)["checks"]]


class Hosts(unittest.TestCase):
    maxDiff = None

    def dialects(self):
        """Those whose plugins can be confined here, if they must be."""
        return [dialect for dialect in COMMANDS if LEVELS or dialect not in CONFINED]

    def test_ours(self):
        for dialect in self.dialects():
            self.finds(dialect, set(), MORTISE, *COMMANDS[dialect])

    def finds(self, dialect, expected, *command):
        for times in LIMITS:
            found = bad(check(dialect, *command, times=times), dialect)
            if set(found) == expected:
                return
        self.fail(f"{dialect}: {found}")

    def test_small(self):
        for dialect in COMMANDS:
            self.finds(dialect, ATTEMPTS if dialect == "sunscreen" else set(), *host(dialect))

    def test_usage(self):
        for words in (
            ["--host", "--", "true", "{}"],
            ["--host", "-d", "plain", "--", "true"],
            ["--host", "-d", "sunscreen", "--", "true", "{}"],
        ):
            done = subprocess.run([MORTISE, "check", *words], capture_output=True, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)

    def test_not_started(self):
        for dialect in COMMANDS:
            results = check(dialect, "true", "{}", "{workspace}")
            self.assertEqual({row["result"] for row in results.values()}, {"not_observed"})

    def test_a_program_beside_a_scene_of_others(self):
        """Only the program that lies beside the file plays: a file elsewhere means nothing."""
        with tempfile.TemporaryDirectory() as place:
            record = pathlib.Path(place) / "record"
            scene = pathlib.Path(place) / "mortise-check-scene"
            scene.write_text(f"plain/good\n{record}\n", encoding="utf-8")
            plugin = pathlib.Path(place) / "plugin"
            plugin.write_text("#!/bin/sh\ncat\n", encoding="utf-8")
            plugin.chmod(0o755)
            done = subprocess.run(
                [MORTISE, "check", "--only", "plain.start.silent", plugin],
                cwd=place,
                capture_output=True,
                check=False,
            )
            self.assertIn(b"plain.start.silent", done.stdout)
            self.assertFalse(record.exists())


class Mutants(unittest.TestCase):
    def mutant(self, dialect, name, every):
        """What it finds, and what it should not have found or has not. The grace period takes ten seconds, so
        only its own mutant is given them."""
        asked = [row for row in every if row.endswith("stop.grace") == (name == "stop.grace")]
        if not PAIRS:
            asked = [f"{dialect}.host.{name}"]
        limit = 16 if name == "stop.grace" else 4
        allowed = TOGETHER.get(name, set()) | {name}
        if dialect == "sunscreen" and name not in LOOSE:
            allowed |= ATTEMPTS
        if name == "sandbox.grant":  # then nothing can be written down
            allowed |= {row.removeprefix(f"{dialect}.host.") for row in every}
        for times in LIMITS:
            found = bad(check(dialect, *host(dialect, name), only=asked, limit=limit, times=times), dialect)
            wrong = (set(found) - allowed) | ({name} - set(found))
            if not wrong:
                break
        return found, wrong

    def mutants(self, dialect):
        """They mostly wait, so four run at the same time."""
        every = rows(dialect)
        names = [ident.removeprefix(f"{dialect}.host.") for ident in every]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            results = pool.map(lambda name: self.mutant(dialect, name, every), names)
            for name, (found, wrong) in zip(names, results):
                with self.subTest(name):
                    self.assertEqual(wrong, set(), found)


def add_mutants(dialect):
    def test(self):
        if dialect == "sunscreen" and not LEVELS:
            self.skipTest("this machine cannot confine")
        self.mutants(dialect)

    setattr(Mutants, "test_" + dialect.replace("-", "_"), test)


for listed in COMMANDS:
    add_mutants(listed)


if __name__ == "__main__":
    names = [f"Mutants.test_{sys.argv[1].replace('-', '_')}"] if len(sys.argv) > 1 else ["Hosts"]
    unittest.main(argv=[sys.argv[0], "-v", *names])
