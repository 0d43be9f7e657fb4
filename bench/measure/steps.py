# SPDX-License-Identifier: Apache-2.0
"""instructions: the user instructions of one sequential round trip on the host's side, where ptrace allows it.
They repeat exactly, whatever else the machine does. instructions_pgo: the same of a build that was trained
(./dev pgo), as users install it."""
import argparse
import bisect
import json
import os
import subprocess

from measure.rows import CPU, line, not_here, program


def step(given, *command):
    """User instructions per round trip of the command, and [(count per round trip, object, offset)]; None
    without bench-steps."""
    if not program(given, "bench-steps").exists():
        return None, []
    command = [program(given, "bench-steps"), str(CPU), program(given, command[0]), *command[1:]]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=600)
    if done.returncode != 0:  # ptrace is not allowed everywhere
        return None, []
    head, *places = done.stdout.splitlines()
    head = json.loads(head)
    places = [line.split() for line in places]
    return head["instructions"], [(int(c) / head["trips"], o, int(at, 16)) for c, o, at in places]


def is_trained(build):
    """Whether it is built with the counts of ./dev pgo."""
    options = json.loads((build / "meson-info/intro-buildoptions.json").read_text())
    return any(option["name"] == "b_pgo" and option["value"] == "use" for option in options)


def round_trip(given, row):
    floor, _ = step(given, "bench-floor", "seq", "5000", "-1")
    echo = str(program(given, "bench-echo-plugin"))
    ours, given.places = step(given, "bench-host", "seq", "5000", "-1", "lines", echo)
    if not floor or not ours:
        return [not_here(row, "mortise", "instr", "bench-steps cannot trace here: ptrace, or no x86-64")]
    found = (("floor", floor), ("mortise", ours))
    return [line(row, name, [value], "instr", ratio=value / floor) for name, value in found]


def measure(given):
    """One row for a build; with --untrained both, if the first was trained."""
    trained = is_trained(given.build)
    lines = round_trip(given, "instructions_pgo" if trained else "instructions")
    if given.untrained and trained:
        lines += round_trip(argparse.Namespace(build=given.untrained), "instructions")
    elif given.untrained:
        lines.append(not_here("instructions_pgo", "mortise", "instr", "only gcc can be trained"))
    return lines


def symbols(path):
    """[(address, name)], sorted, of an object; empty where there is nothing to read."""
    found = set()
    for table in ([], ["-D"]):
        done = subprocess.run(
            ["nm", *table, "--defined-only", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        found |= {
            (int(at, 16), name.split("@")[0])
            for at, kind, name in (line.split() for line in done.stdout.splitlines() if line.count(" ") == 2)
            if kind in "tTwWi"
        }
    return sorted(found)


def show_functions(places):
    tables, total = {}, {}
    for count, path, at in places:
        if path not in tables:
            tables[path] = symbols(path) if path.startswith("/") else []
        table = tables[path]
        i = bisect.bisect(table, (at, "\x7f")) - 1
        key = os.path.basename(path), table[i][1] if i >= 0 else "?"
        total[key] = total.get(key, 0) + count
    print("\ninstructions per round trip, by function:")
    for (path, name), count in sorted(total.items(), key=lambda item: -item[1])[:50]:
        print(f"{count:>8.1f}  {path:<22} {name}")
