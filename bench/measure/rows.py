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


def lines_of(bench, unit, values, floor="floor"):
    """values: {subject: [value of each round]}, one of the subjects is the floor."""
    return [line(bench, name, found, unit, values[floor]) for name, found in values.items()]


def program(given, name):
    return given.build.resolve() / "bench" / name


def run(command, pinned=False):
    """What the command prints; it must succeed."""
    done = subprocess.run(
        [*map(str, command)],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
        timeout=600,
        preexec_fn=(lambda: os.sched_setaffinity(0, {CPU})) if pinned else None,
    )
    return done.stdout


def run_json(command, pinned=False):
    return json.loads(run(command, pinned))
