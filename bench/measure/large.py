# SPDX-License-Identifier: Apache-2.0
"""large_memory, large_speed: one call with a result, or with params, of 64 MiB (bench/large.c).

Memory: what the host's process held at most during a call, beyond what it held before, as a part of the
payload. Speed: against the same bytes through a pipe from or to `cat`. Each subject is a way to call; the
framing is lines.
"""
import statistics

from measure.rows import line, program, run_json

MODES = {  # subject: the mode of bench-large
    "result": "result",
    "result, async": "async-result",
    "params": "params",
    "params, async": "async-params",
}
MIB = 64
CALLS = 3  # in a round, after one that starts the plugin


def measure(given):
    mib, calls = (4, 1) if given.smoke else (MIB, CALLS)
    found = {subject: [] for subject in MODES}
    for _ in range(given.rounds if given.scale == 1 else min(given.rounds, 3)):
        for subject, mode in MODES.items():
            found[subject].append(run_json([program(given, "bench-large"), mode, "lines", mib, calls]))
    memory, speed = [], []
    for subject, rounds in found.items():
        peaks, rates, ratios = ([one[key] for one in rounds] for key in ("peak", "mb_per_s", "of_cat"))
        memory.append(line("large_memory", subject, peaks, "x", ratio=max(peaks)))
        speed.append(line("large_speed", subject, rates, "MB/s", ratio=statistics.median(ratios)))
    return memory + speed
