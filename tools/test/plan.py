# SPDX-License-Identifier: Apache-2.0
"""Which tests there are, which are chosen, and in which order they begin. tests/plan has what a test program
cannot tell: how long it takes, what it uses, and whether it is in the second tier, and why."""
import collections
import fnmatch
import json
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLAN = ROOT / "tests" / "plan"

Row = collections.namedtuple("Row", "pattern seconds slots uses why")


def rows(path=PLAN):
    """tests/plan: NAME SECONDS SLOTS USES [WHY IT IS IN THE SECOND TIER]"""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            pattern, seconds, slots, uses, *why = line.split(None, 4)
            found.append(Row(pattern, int(seconds), int(slots), uses.strip("-"), why[0] if why else ""))
    return found


class Test(dict):
    """One test program, as meson describes it: name, cmd, env, workdir, timeout, suite; and its row of the
    plan: seconds, slots, uses, why (empty: first tier)."""

    __getattr__ = dict.__getitem__

    @property
    def full_name(self):
        return f"{self.suite[0]} / {self.name}"


def tests(build):
    """All that meson knows in this build directory."""
    found = subprocess.run(
        ["/usr/bin/meson", "introspect", "--tests", str(build)], capture_output=True, text=True, check=True
    )
    table, result = rows(), []
    for test in json.loads(found.stdout):
        suite = [name.partition(":")[2] or name for name in test["suite"]]
        row = next((row for row in table if fnmatch.fnmatchcase(test["name"], row.pattern)), None)
        row = row or Row("", 1, 1, "", "")
        result.append(Test(test, suite=suite, build=str(build), **row._asdict()))
    return result


def choose(every, pieces, suite, second_too):
    """Those whose "suite / name" contains one of the pieces. Without --all only the first tier, unless a piece
    names nothing there: who names a test means it."""
    every = [test for test in every if not suite or suite in test.suite]
    first = [test for test in every if second_too or not test.why]
    if not pieces:
        return first
    chosen = []
    for piece in pieces:
        fits = [test for test in first if piece in test.full_name]
        fits = fits or [test for test in every if piece in test.full_name]
        if not fits:
            raise SystemExit(f"dev: no test matches '{piece}': ./dev test --list shows their names")
        chosen += [test for test in fits if test not in chosen]
    return chosen


def first_tier_only(chosen):
    """Programs that can leave out a part of what they try (tests/e2e/tier.py) do so."""
    for test in chosen:
        test["env"] = dict(test.env, MORTISE_TIER="1")


def second_tier_inside():
    """[(file, test or class, why)]: what is marked with @again("why") in test programs."""
    found = []
    for path in sorted((ROOT / "tests").glob("*/**/*.py")):
        text = path.read_text(encoding="utf-8")
        for why, name in re.findall(r'@again\("(.*)"\)\n(?:.*\n)*?\s*(?:def|class) (\w+)', text):
            found.append((path.relative_to(ROOT), name, why))
    return found


class Queue:
    """Hands out the next test that has room: most tests wait for processes, so there are five slots for each
    processor; a test that keeps a processor busy takes two. What a test uses alone (USES) it has alone."""

    def __init__(self, chosen, slots=None):
        self.waiting = list(chosen)
        self.slots = slots or 5 * len(os.sched_getaffinity(0))
        self.taken, self.used = 0, set()

    def next(self):
        for test in self.waiting:
            if test.uses in self.used:
                continue
            if self.taken and self.taken + test.slots > self.slots:
                return None  # else small ones would keep a wide one waiting until the end
            self.waiting.remove(test)
            self.taken += test.slots
            if test.uses:
                self.used.add(test.uses)
            return test
        return None

    def done(self, test):
        self.taken -= test.slots
        self.used.discard(test.uses)
