# SPDX-License-Identifier: Apache-2.0
"""Starts and what a sandbox costs: start_1core, open_1core, open_system_1core, python_1core."""
import json.decoder
import os
import pathlib
import subprocess
import tempfile
import time

from measure.rows import line, lines_of, not_here, program, run, run_json

STARTS = 300
ABSENT = {  # why a subject of bench-start has no row
    "t0": "this machine cannot confine at t0: mortise doctor",
    "t1": "this machine cannot confine at t1: mortise doctor",
    "bwrap": "no bwrap (Debian: bubblewrap), or it may make no namespaces",
}
ABSENT_PEERS = {"firejail": "no firejail, or it may make no namespaces"}


def measure_starts(given):
    """From the call to the plugin's first byte, the back ends taking turns; the floor is a bare posix_spawn."""
    count = max(5, int(STARTS * given.scale * given.rounds / 9))
    command = [program(given, "bench-start"), count, program(given, "bench-start-plugin")]
    printed = run(command + (["all"] if given.peers else []), pinned=True)
    rows = [row.split("\t") for row in printed.splitlines() if row.count("\t") > 1]
    out = [start_line(count, *row) for row in rows]
    found = {row["subject"]: row["value"] for row in out}
    absent = {**ABSENT, **(ABSENT_PEERS if given.peers else {})}
    out += [not_here("start_1core", name, "us", why) for name, why in absent.items() if name not in found]
    return out + [t1_to_bwrap(found)]


def t1_to_bwrap(found):
    for name in ("t1", "bwrap"):
        if name not in found:
            return not_here("start_t1_to_bwrap", "t1", "x", ABSENT[name])
    ratio = found["t1"] / found["bwrap"]
    return line("start_t1_to_bwrap", "t1", [ratio], "x", ratio=ratio)


def start_line(count, name, median, ratio, low, high):
    out = line("start_1core", "floor" if name == "bare" else name, [float(median)], "us", ratio=float(ratio))
    return {**out, "low": float(low), "high": float(high), "rounds": count}


def jailed(given, level, workspace, *command):
    """The command line that runs `command` at a level; bare where level is None."""
    if level is None:
        return [*command]
    mortise = given.build.resolve() / "mortise"
    return [mortise, "jail", "--level", level, "--workspace", workspace, "--", *command]


def works(given, level, workspace):
    command = jailed(given, level, workspace, "/bin/true")
    return subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0


def row(given, bench, count, measure_one):
    """Subjects take turns; ratios are paired within a round."""
    with tempfile.TemporaryDirectory(prefix="mortise-bench-") as workspace:
        os.chmod(workspace, 0o755)
        workspace += "/project"  # a source file in there is as deep as /home/somebody/project/src/main.c
        pathlib.Path(workspace, "src").mkdir(parents=True)
        pathlib.Path(workspace, "src", "main.c").write_text("x")
        names = [("floor", None)] + [(level, level) for level in ("t0", "t1") if works(given, level, workspace)]
        values = {name: [] for name, _ in names}
        for _ in range(count):
            for name, level in names:
                values[name].append(measure_one(level, workspace))
    return lines_of(bench, "us", values)


def measure(given):
    """A brokered open, and the start of Python, on one core."""

    def one_open(level, workspace, path=None):
        times = max(100, int(20000 * given.scale))
        opens = [program(given, "bench-opens"), path or workspace + "/src/main.c", times]
        return run_json(jailed(given, level, workspace, *opens), pinned=True)["p50_ns"] / 1000

    def one_system_open(level, workspace):
        return one_open(level, workspace, json.decoder.__file__)

    def one_python(level, workspace):
        begin = time.monotonic()
        run(jailed(given, level, workspace, "/usr/bin/python3", "-c", "import json"), pinned=True)
        return (time.monotonic() - begin) * 1e6

    rounds = max(1, int(given.rounds * min(given.scale * 2, 1)))
    return (
        row(given, "open_1core", rounds, one_open)
        + row(given, "open_system_1core", rounds, one_system_open)
        + row(given, "python_1core", rounds * 3, one_python)
    )
