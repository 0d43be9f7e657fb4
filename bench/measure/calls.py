# SPDX-License-Identifier: Apache-2.0
"""Round trips: seq_1core, seq_unpinned, inflight64_1core, framings_1core; record_1core through a relay;
spin_2core, spin_unpinned, spin_1core: a host that may spin against one that sleeps at once."""
import os
import sys
import tempfile

from measure.rows import CPU, line, lines_of, not_here, program, run_json

FRAMINGS = ["lines", "decimal", "be32", "headers"]
ROWS = {  # name: (mode of floor, mode of host-bench, pinned, calls per round, unit)
    "seq_1core": ("seq", "seq", True, 20000, "us"),
    "seq_unpinned": ("seq", "seq", False, 6000, "us"),
    "inflight64_1core": ("batch", "inflight", True, 200000, "msg/s"),
}


def subjects(row):
    floor, mode = ROWS[row][:2]
    yield "floor", [floor]
    for framing in FRAMINGS:
        yield "mortise/" + framing, [mode, framing]
    if mode == "seq":
        for framing in FRAMINGS:
            name = "mortise/async" + ("" if framing == "lines" else "/" + framing)
            yield name, ["async", framing]


def one(given, row, mode, framing=None):
    """One run of one subject: microseconds, or messages per second."""
    pinned, calls = ROWS[row][2:4]
    command = [
        program(given, "bench-host" if framing else "bench-floor"),
        mode,
        int(calls * given.scale),
        CPU if pinned else -1,
    ]
    if framing:
        command += [framing, program(given, "bench-echo-plugin")]
    numbers = run_json(command)
    return numbers["p50_ns"] / 1000 if "p50_ns" in numbers else numbers["rate"]


def rounds(given):
    """{row: {subject: [value of each round]}}"""
    found = {row: {name: [] for name, _ in subjects(row)} for row in ROWS}
    for number in range(given.rounds):
        if sys.stderr.isatty():
            print(f"\rround {number + 1} of {given.rounds}", end="", file=sys.stderr, flush=True)
        for row in ROWS:
            for name, how in subjects(row):
                found[row][name].append(one(given, row, *how))
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    return found


def apart(by_subject):
    """The slowest framing against the fastest: of their medians, so that chance within a round
    does not count."""
    sides = lines_of("seq_1core", "us", {"floor": by_subject["floor"], **by_subject})
    ratios = [side["ratio_to_floor"] for side in sides if side["subject"].removeprefix("mortise/") in FRAMINGS]
    return line(
        "framings_1core", "slowest/fastest", [max(ratios) / min(ratios)], "x", ratio=max(ratios) / min(ratios)
    )


def measure(given):
    out = []
    found = rounds(given)
    for row, values in found.items():
        values = {"floor": values["floor"], "mortise": values["mortise/lines"], **values}
        out += lines_of(row, ROWS[row][4], values)
    return out + [apart(found["seq_1core"])]


PAYS = 0.5  # of the time of a host that sleeps at once, where looking for the answer pays


def by_chance(row, found):
    """What looking for the answer costs where it cannot pay: on one core, where the kernel also puts host and
    plugin that are not pinned, when it likes. It must cost nothing: the ratio to a host that sleeps at once,
    against those that chance alone made of two such hosts. spin_1core_to_chance: against the largest of them.
    spin_unpinned_to_bar: against PAYS, or, if that is not reached, against the spread of chance."""
    ours = lines_of(row, "us", found)[1]["ratio_to_floor"]
    chance = [again / floor for again, floor in zip(found["asleep again"], found["floor"])]
    ratio, name = ours / max(chance), row + "_to_chance"
    if row == "spin_unpinned":
        ratio, name = min(ours / PAYS, max(ratio, min(chance) / ours)), row + "_to_bar"
    return line(name, "mortise", [ratio], "x", ratio=ratio)


def measure_spin(given):
    """The floor sleeps at once; so does `asleep again`, and differs by chance only."""
    away = min(os.sched_getaffinity(0))
    rows = {"spin_unpinned": (-1, []), "spin_1core": (CPU, [])}
    sleeps = ["/usr/bin/env", "BENCH_NO_SPIN=1"]
    out = []
    if away != CPU:
        rows = {"spin_2core": (CPU, [away]), **rows}
    else:
        out.append(not_here("spin_2core", "mortise", "us", "this machine has one core"))
    for row, (cpu, plugin_cpu) in rows.items():
        found = {"floor": [], "mortise": [], "asleep again": []}
        for _ in range(given.rounds):
            for name, values in found.items():
                command = [program(given, "bench-host"), "seq", max(100, int(6000 * given.scale)), cpu, "lines"]
                command += [program(given, "bench-echo-plugin"), *plugin_cpu]
                values.append(run_json(command if name == "mortise" else sleeps + command)["p50_ns"] / 1000)
        out += lines_of(row, "us", found)
        if row != "spin_2core":
            out.append(by_chance(row, found))
    return out


def measure_relay(given):
    """A round trip of two bare processes, and the same through a relay that writes it down."""
    floor, calls = program(given, "bench-floor"), max(100, int(20000 * given.scale))
    values = {"floor": [], "record": []}
    with tempfile.TemporaryDirectory(prefix="mortise-bench-") as place:
        mortise = given.build.resolve() / "mortise"
        through = [mortise, "record", "--force", "-o", place + "/x.talk", "--", floor, "peer"]
        for _ in range(given.rounds):
            for name, command in (("floor", []), ("record", through)):
                values[name].append(run_json([floor, "seq", calls, CPU, *command])["p50_ns"] / 1000)
    return lines_of("record_1core", "us", values)
