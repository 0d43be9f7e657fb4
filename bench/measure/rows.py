# SPDX-License-Identifier: Apache-2.0
"""A line of results.json, and what all sections share: the core, the programs, the command that was run.

{"bench": ..., "subject": ..., "value": median over the rounds, "unit": ..., "ratio_to_floor": median of the
ratios within each round, so drift between rounds cancels out; "low", "high": quartiles over the rounds,
"rounds": how many}
"""
import json
import os
import statistics
import subprocess

# The last core: the first one serves most interrupts.
CPU = max(os.sched_getaffinity(0))


def quartiles(values):
    if len(values) < 2:
        return values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


def ratio_of(values, floors):
    return statistics.median(value / floor for value, floor in zip(values, floors))


def line(bench, subject, values, unit, floors=None, ratio=None):
    """values: one for each round. The ratio: to the floors of the same rounds, or as it is given."""
    low, high = quartiles(values)
    return {
        "bench": bench,
        "subject": subject,
        "value": round(statistics.median(values), 3),
        "unit": unit,
        "ratio_to_floor": round(ratio if floors is None else ratio_of(values, floors), 4),
        "low": round(low, 3),
        "high": round(high, 3),
        "rounds": len(values),
    }


def not_here(bench, subject, unit, why):
    """A row that says why there is no value."""
    return {
        "bench": bench,
        "subject": subject,
        "value": None,
        "unit": unit,
        "ratio_to_floor": None,
        "why": why,
    }


def lines_of(bench, unit, values, floor="floor"):
    """values: {subject: [value of each round]}, one of the subjects is the floor."""
    return [line(bench, name, found, unit, values[floor]) for name, found in values.items()]


def program(given, name):
    return given.build.resolve() / "bench" / name


class Failed(Exception):
    """A program of ours did not do what it is for. Its text is one line."""


def last_line(text):
    """What a program said at its end, before the traceback that its failure caused, if there is one."""
    before = text.split("Traceback (most recent call last)")[0].strip() or text.strip()
    return before.splitlines()[-1].strip()[:200] if before else "it says nothing"


def run(command, pinned=False):
    """What the command prints; it must succeed."""
    done = subprocess.run(
        [*map(str, command)],
        capture_output=True,
        check=False,
        text=True,
        timeout=600,
        preexec_fn=(lambda: os.sched_setaffinity(0, {CPU})) if pinned else None,
    )
    if done.returncode != 0:
        name = os.path.basename(str(command[0]))
        raise Failed(f"{name} ended with status {done.returncode}: {last_line(done.stderr)}")
    return done.stdout


def run_json(command, pinned=False):
    return json.loads(run(command, pinned))
