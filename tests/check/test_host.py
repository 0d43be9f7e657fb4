#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""mortise check --host: our own host is a good one, and a bad host (host.py) fails the check that is about its
fault.
"""
import json
import os
import pathlib
import subprocess
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
import compiled  # noqa: E402

MORTISE = pathlib.Path(os.environ.get("MORTISE_BUILD", "build")) / "mortise"
# How each dialect's host is made to call something.
COMMANDS = {
    "plain": ["call", "{}", "ping"],
    "yams": ["call", "-d", "yams", "{}", "extractor.supports", "mime_type=text/plain", "extension=.txt"],
    "ayiou": ["call", "-d", "ayiou", "{}", "matches", "text=hello", "message_type=private"],
    "gassist": ["call", "-d", "gassist", "{}", "hello"],
}
# Others that cannot be right then.
TOGETHER = {
    "wire.method": {"params.valid", "greet.first", "greet.init"},
    "params.type": {"params.valid", "stop.bye"},
    "stop.polite": {"stop.bye"},
    "good.exit": {"bear.split", "bear.noise", "bear.stray", "bear.note", "bear.stderr", "bear.slow"},
    "greet.first": {"greet.init"},
    "stop.eof": {"stop.polite", "stop.bye"},
    "crash.ends": {"crash.told"},
    "ids.type": {"ids.small"},
}


def check(dialect, *command):
    done = subprocess.run(
        [MORTISE, "check", "--json", "--timeout", "4s", "--host", "-d", dialect, "--", *map(str, command)],
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert '"checks"' in done.stdout, done.stderr
    return {row["id"]: row for row in json.loads(done.stdout)["checks"]}


def bad(results, dialect):
    return {
        ident.removeprefix(f"{dialect}.host."): row["why"]
        for ident, row in results.items()
        if row["result"] != "pass"
    }


def small(fault, dialect):
    return bad(check(dialect, *compiled.command("host"), fault, dialect, "{}"), dialect)


# The scenes with slow plugins and silent hosts only wait: many of them at a time.
POOL = ThreadPoolExecutor(4 * (os.cpu_count() or 1))


class Hosts(unittest.TestCase):
    maxDiff = None

    def test_ours(self):
        found = POOL.map(lambda item: bad(check(item[0], MORTISE, *item[1]), item[0]), COMMANDS.items())
        for dialect, faults in zip(COMMANDS, found):
            self.assertEqual(faults, {}, dialect)

    def test_small(self):
        for dialect, found in zip(COMMANDS, POOL.map(lambda dialect: small("", dialect), COMMANDS)):
            self.assertEqual(found, {}, dialect)

    def test_usage(self):
        for words in (["--host", "--", "true", "{}"], ["--host", "-d", "plain", "--", "true"]):
            done = subprocess.run([MORTISE, "check", *words], capture_output=True, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)

    def test_not_started(self):
        results = check("plain", "true", "{}")
        self.assertEqual({row["result"] for row in results.values()}, {"not_observed"})

    def mutants(self, dialect):
        listed = subprocess.run(
            [MORTISE, "check", "--list", "--json", "--host", "-d", dialect], capture_output=True, check=True
        )
        names = [row["id"].removeprefix(f"{dialect}.host.") for row in json.loads(listed.stdout)["checks"]]
        for name, found in zip(names, POOL.map(lambda name: small(name, dialect), names)):
            with self.subTest(name):
                self.assertIn(name, found)
                self.assertEqual(set(found) - TOGETHER.get(name, set()) - {name}, set(), found)

    def test_yams(self):
        self.mutants("yams")

    def test_plain(self):
        self.mutants("plain")

    def test_gassist(self):
        self.mutants("gassist")

    def test_ayiou(self):
        self.mutants("ayiou")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
