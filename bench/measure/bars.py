# SPDX-License-Identifier: Apache-2.0
"""What a release must reach, and the table in the terminal. Worse than this is a fault (bench/run --check)."""

ALL = ""  # every subject of the row but its floor
VALUE = "value"  # the value itself is judged, not its ratio
BARS = {  # row: {subject: (at most | at least, ratio to the floor)}
    "seq_1core": {ALL: ("at most", 1.18)},
    "framings_1core": {ALL: ("at most", 1.05)},
    "inflight64_1core": {ALL: ("at least", 0.20)},
    "start_1core": {"guarded": ("at most", 1.6), "t0": ("at most", 4.0), "t1": ("at most", 6.5)},
    "start_t1_to_bwrap": {ALL: ("at most", 1.0)},
    "longest_dispatch": {ALL: ("at most", 1.0)},
    "one_message": {ALL: ("at most", 1.5)},
    "beside_flood": {ALL: ("at most", 2.0)},
    "open_1core": {ALL: ("at most", 9.0)},
    "open_system_1core": {ALL: ("at most", 9.0)},
    "python_1core": {ALL: ("at most", 1.35)},
    "record_1core": {ALL: ("at most", 3.2)},
    "spin_2core": {"mortise": ("at most", 0.5)},
    "spin_unpinned_to_bar": {ALL: ("at most", 1.0)},
    "spin_1core_to_chance": {ALL: ("at most", 1.0)},
    "large_memory": {ALL: ("at most", 1.1)},
    "large_speed": {ALL: ("at least", 0.6)},
    "plugins_1000": {"one of them": ("at most", 1.05), "memory of each": ("at most", 4096, VALUE)},
    "pings_1000": {ALL: ("at most", 0.03)},  # of a core
    "instructions": {ALL: ("at most", 2400, VALUE)},
}


def bar_of(line):
    if line["subject"] == "floor":
        return None
    bars = BARS.get(line["bench"], {})
    return bars.get(line["subject"], bars.get(ALL))


def missed(line):
    bar = bar_of(line)
    judged = line["value" if bar and VALUE in bar else "ratio_to_floor"]
    if not bar or judged is None:
        return False
    return judged > bar[1] if bar[0] == "at most" else judged < bar[1]


def number(value, unit):
    return f"{value:,.2f}" if unit in ("us", "ms", "x", "%") else f"{value:,.0f}"


def table_row(line):
    head = f"{line['bench']:<20} {line['subject']:<22}"
    if line["value"] is None:
        return f"{head} {'':>12} {'':<6} {'':>21} {'':>8}  not here: {line['why']}"
    bar, unit = bar_of(line), line["unit"]
    verdict = f"{bar[0]} {bar[1]}: {'MISSED' if missed(line) else 'ok'}" if bar else ""
    spread = f"{number(line['low'], unit)} .. {number(line['high'], unit)}" if line.get("rounds", 1) > 1 else ""
    ratio = "" if line["ratio_to_floor"] is None else f"{line['ratio_to_floor']:.3f}"
    return f"{head} {number(line['value'], unit):>12} {unit:<6} {spread:>21} {ratio:>8}  {verdict}".rstrip()


def show(lines):
    print(f"{'bench':<20} {'subject':<22} {'median':>12} {'unit':<6} {'quartiles':>21} {'× floor':>8}  bar")
    for line in lines:
        print(table_row(line))
