# SPDX-License-Identifier: Apache-2.0
"""The plots of the docs, from lines of results.json. A figure whose rows were not measured is not written."""
import os
import pathlib
import re

from plot import charts
from plot.scales import count_text, size_text, time_text

STARTS = {  # subject: what the reader sees
    "floor": ("bare (posix_spawn)", charts.FLOOR),
    "guarded": ("mortise, guarded", charts.OURS),
    "t0": ("mortise, level t0", charts.OURS),
    "t1": ("mortise, level t1", charts.OURS),
    "bwrap": ("bwrap --unshare-all", "other"),
    "firejail": ("firejail --noprofile", "other"),
}


def machine():
    """As the foot of each plot says it, without a date."""
    try:
        cpu = re.search(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    except OSError:
        cpu = None
    system = os.uname()
    return f"{cpu.group(1).strip() if cpu else system.machine}, {os.cpu_count()} cores, Linux {system.release}"


def of_bench(lines, bench):
    return [line for line in lines if line["bench"] == bench and line["value"] is not None]


def by_number(lines, prefix):
    """{subject: {number at the end of the row's name: value}}"""
    found = {}
    for line in lines:
        match = re.fullmatch(re.escape(prefix) + r"(\d+)", line["bench"])
        if match and line["value"] is not None:
            found.setdefault(line["subject"], {})[int(match.group(1))] = line["value"]
    return found


def rounds_of(lines):
    return f"median of {max(line.get('rounds', 1) for line in lines)} rounds in turn; the thin line: quartiles"


def round_trip(lines, foot):
    found = of_bench(lines, "round_trip")
    if not found:
        return None
    subjects = [
        (
            line["subject"].replace("mortise", "mortise/lines")
            if line["subject"] == "mortise"
            else line["subject"],
            charts.kind_of(line["subject"]),
            line["value"],
            line["low"],
            line["high"],
            f"{line['ratio_to_floor']:.2f} ×",
        )
        for line in sorted(found, key=lambda line: (line["subject"] != "floor", line["value"]))
    ]
    return charts.rows(
        "One round trip, one after the other",
        "An echo of about 100 bytes, host and plugin on one core; in brackets: against floor, two bare processes.",
        f"{rounds_of(found)}. {foot}",
        subjects,
        time_text,
        "time of a call (logarithmic; shorter is better)",
        log=True,
    )


def in_flight(lines, foot):
    series = by_number(lines, "in_flight_")
    if not series:
        return None
    return charts.lines(
        "Throughput by calls under way",
        "An echo of about 100 bytes on one core. floor: so many messages in one write, nothing parsed.",
        foot,
        series,
        str,
        count_text,
        ("calls under way", "calls per second"),
    )


def message(lines, foot):
    series = by_number(lines, "message_")
    if not series:
        return None
    return charts.lines(
        "Round trip by size of the message",
        "An echo of a text of this size, there and back, on one core. A line that ends early: the peer failed there.",
        foot,
        series,
        size_text,
        time_text,
        ("bytes of text", "time of a call"),
    )


def plugins(lines, foot):
    series = by_number(lines, "plugins_")
    memory = series.pop("memory of each", {})
    if not series:
        return None
    return charts.lines(
        "Round trip by number of plugins",
        "One host. Below the axis: the host's own memory for each plugin. In turn: caches are cold, the kernel's too.",
        foot,
        {f"mortise: {name}" if name == "one of them" else name: points for name, points in series.items()},
        lambda n: f"{n:,}",
        time_text,
        ("plugins that run", "time of a call"),
        log_y=False,
        under={count: f"{value / 1000:.1f} kB each" for count, value in memory.items() if value},
        labelled=(charts.OURS, "other"),
    )


def starts(lines, foot):
    found = {line["subject"]: line for line in of_bench(lines, "start_1core") if line["subject"] in STARTS}
    if "floor" not in found:
        return None
    subjects = [
        (*STARTS[name], line["value"], line["low"], line["high"], f"{line['ratio_to_floor']:.2f} ×")
        for name, line in ((name, found[name]) for name in STARTS if name in found)
    ]
    return charts.rows(
        "Start of a plugin, by confinement",
        "From the call to the first byte of a small static program, on one core; in brackets: against a bare start.",
        f"{rounds_of(list(found.values()))}. {foot}",
        subjects,
        time_text,
        "time of a start (shorter is better)",
    )


FIGURES = {
    "round-trip": round_trip,
    "in-flight": in_flight,
    "message-size": message,
    "plugins": plugins,
    "starts": starts,
}


def write(lines, place):
    """The names of the files that were written."""
    written = []
    place.mkdir(parents=True, exist_ok=True)
    for name, figure in FIGURES.items():
        svg = figure(lines, machine())
        if svg:
            (place / f"{name}.svg").write_text(svg, encoding="utf-8")
            written.append(f"{name}.svg")
    return written
