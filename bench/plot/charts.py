# SPDX-License-Identifier: Apache-2.0
"""Two kinds of charts as SVG: rows (one value for each subject, with its spread) and lines
(values over an axis).

A chart brings its own background, dark where the reader's is: the page it stands on does not matter. Colours
are those of Okabe and Ito, which people with any kind of colour vision tell apart; every line also has its
name at its end.
"""
from xml.sax.saxutils import escape

from plot.labels import room_for
from plot.scales import Linear, Log, apart

WIDTH = 860
PALETTE = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#8c6bb1", "#b8860b"]
OURS, FLOOR = "ours", "floor"
STYLE = """
text{font:13px system-ui,"DejaVu Sans",sans-serif;fill:#1f2328}
.ground{fill:#ffffff}.title{font-size:17px;font-weight:600}.note,.tick{fill:#59636e}.note{font-size:12px}
.tick{font-size:12px}.grid{stroke:#d1d9e0;stroke-width:1}.spread{stroke:#1f2328;stroke-width:1.5;opacity:.75}
.ours{fill:#c2255c;stroke:#c2255c}.floor{fill:#6e7781;stroke:#6e7781}.other{fill:#4c78a8;stroke:#4c78a8}
text.ours{font-weight:600}text.ours,text.floor,text.series{stroke:none}.line{fill:none;stroke-width:2}
.line.ours{stroke-width:3.5}.line.floor{stroke-dasharray:6 4}
text.halo{stroke:#ffffff;stroke-width:4;paint-order:stroke}text.point{font-size:12px}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.ground{fill:#0d1117}.note,.tick{fill:#9198a1}
.grid{stroke:#3d444d}.spread{stroke:#e6edf3}.ours{fill:#ff6b9d;stroke:#ff6b9d}.floor{fill:#9198a1;stroke:#9198a1}
.other{fill:#6ea8dc;stroke:#6ea8dc}text.halo{stroke:#0d1117}}
"""


def text(x, y, words, kind="", anchor="start", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}"{more}>{escape(words)}</text>'


def rule(x1, y1, x2, y2, kind):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def whole(title, subtitle, foot, height, parts, told):
    """told: the values in words, for those who do not see the picture."""
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'role="img" aria-labelledby="title desc">',
        "<!-- SPDX-License-Identifier: Apache-2.0; made by bench/draw -->",
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="desc">{escape(f"{subtitle} {told}")}</desc>',
        f"<style>{STYLE}</style>",
        f'<rect class="ground" width="{WIDTH}" height="{height}" rx="8"/>',
        text(24, 34, title, "title"),
        text(24, 55, subtitle, "note"),
        text(24, height - 14, foot, "note"),
    ]
    return "\n".join([*head, *parts, "</svg>"]) + "\n"


def kind_of(name):
    return OURS if name.startswith("mortise") else FLOOR if name == "floor" else "other"


# ---- rows

ROW = 28


def row_of(y, subject, scale, unit_text):
    """subject: (name, kind, value, low, high, remark)"""
    name, kind, value, low, high, remark = subject
    end = scale.at(value)
    parts = [
        text(scale.first - 12, y + 5, name, "ours" if kind == OURS else "", "end"),
        f'<rect x="{scale.first}" y="{y - 8:.1f}" width="{max(end - scale.first, 1):.1f}" height="16" rx="2" class="{kind}"/>',
    ]
    if high > low:
        parts.append(rule(scale.at(max(low, scale.low)), y, scale.at(high), y, "spread"))
    label = unit_text(value) + (f"  ({remark})" if remark else "")
    return parts + [text(max(end, scale.at(max(high, scale.low))) + 8, y + 5, label, "halo")]


def rows(title, subtitle, foot, subjects, unit_text, axis, log=False):
    """One bar for each subject, from the top in the order given."""
    top, left, right = 84, 190, WIDTH - 150
    bottom = top + ROW * len(subjects)
    reach = [subject[i] for subject in subjects for i in (2, 4)]
    scale = (Log if log else Linear)(reach, left, right)
    parts = []
    for tick in scale.ticks:
        parts.append(rule(scale.at(tick), top - 8, scale.at(tick), bottom, "grid"))
        parts.append(text(scale.at(tick), bottom + 18, unit_text(tick), "tick", "middle"))
    parts.append(text((left + right) / 2, bottom + 40, axis, "note", "middle"))
    for i, subject in enumerate(subjects):
        parts += row_of(top + ROW * i + ROW / 2 - 4, subject, scale, unit_text)
    told = "; ".join(
        f"{name}: {unit_text(value)}" + (f", {remark}" if remark else "")
        for name, _, value, _, _, remark in subjects
    )
    return whole(title, subtitle, foot, bottom + 76, parts, f"{axis}: {told}.")


# ---- lines


LOGARITHMIC = " (logarithmic)"


def paint(kind, number):
    """Attributes of a series that is not in the style sheet."""
    return "" if kind != "other" else f' style="stroke:{PALETTE[number % len(PALETTE)]}"'


def fill(kind, number, more=";stroke:none"):
    return "" if kind != "other" else f' style="fill:{PALETTE[number % len(PALETTE)]}{more}"'


def curve(points, kind, number):
    """points: [(x, y)]"""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    parts = [f'<polyline points="{path}" class="line {kind}"{paint(kind, number)}/>']
    for x, y in points:
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{4 if kind == OURS else 3}" class="{kind}"{fill(kind, number)}/>'
        )
    return parts


def lines(title, subtitle, foot, series, x_text, y_text, axes, log_y=True, under=None, labelled=(OURS,)):
    """series: {name: {x: y}}; axes: (name of x, name of y); under: {x: a second line below its tick}; the
    values are written at the points of the kinds in `labelled`."""
    top, bottom, left, right = 92, 430, 92, WIDTH - 250
    xs = sorted({x for points in series.values() for x in points})
    ys = [y for points in series.values() for y in points.values()]
    across, up = Log(xs, left, right, exact=True), (Log if log_y else Linear)(ys, bottom, top)
    parts = []
    for tick in up.ticks:
        parts.append(rule(left, up.at(tick), right, up.at(tick), "grid"))
        parts.append(text(left - 10, up.at(tick) + 4, y_text(tick), "tick", "end"))
    for tick in xs:
        parts.append(rule(across.at(tick), bottom, across.at(tick), bottom + 5, "grid"))
        parts.append(text(across.at(tick), bottom + 20, x_text(tick), "tick", "middle"))
        if under:
            parts.append(text(across.at(tick), bottom + 37, under.get(tick, ""), "tick", "middle"))
    below = bottom + (60 if under else 44)
    parts.append(text((left + right) / 2, below, axes[0] + LOGARITHMIC, "note", "middle"))
    parts.append(text(24, top - 14, axes[1] + (LOGARITHMIC if log_y else ""), "note"))
    parts += drawn(series, across, up, x_text, y_text, labelled)
    told = ". ".join(
        f"{name}: " + ", ".join(f"{y_text(y)} at {x_text(x)}" for x, y in sorted(points.items()))
        for name, points in series.items()
    )
    return whole(title, subtitle, foot, below + 36, parts, f"{axes[1]} by {axes[0]}. {told}.")


def drawn(series, across, up, x_text, y_text, labelled):
    """The curves, ours last and so above the others, the values of some, and their names at the right."""
    parts = []
    kinds = {name: kind_of(name) for name in series}
    others = [name for name in series if kinds[name] == "other"]
    number = {name: others.index(name) if name in others else 0 for name in series}
    placed = {
        name: [(across.at(x), up.at(y)) for x, y in sorted(series[name].items())]
        for name in sorted(series, key=lambda name: kinds[name] == OURS)
    }
    for name, points in placed.items():
        parts += curve(points, kinds[name], number[name])
    wanted = [
        (name, point, y_text(y))
        for name in reversed(placed)
        if kinds[name] in labelled
        for point, (_, y) in zip(placed[name], sorted(series[name].items()))
    ]
    labels = room_for(
        [(point, words) for _, point, words in wanted], placed.values(), across.first, across.last
    )
    for (name, _, words), (x, y, anchor) in zip(wanted, labels):
        kind = kinds[name]
        parts.append(text(x, y, words, f"{kind} halo point", anchor, fill(kind, number[name], "")))
    ends = {name: sorted(series[name].items())[-1] for name in placed}
    places = apart([points[-1][1] for points in placed.values()], 18, up.last, up.first)
    for (name, points), place in zip(placed.items(), places):
        x, y = ends[name]
        early = "" if across.at(x) == across.last else f" ({x_text(x)})"
        label = name if kinds[name] in labelled else f"{name}  {y_text(y)}{early}"
        parts.append(rule(across.last + 6, points[-1][1], across.last + 18, place, "grid"))
        parts.append(
            text(
                across.last + 22,
                place + 4,
                label,
                f"{kinds[name]} series",
                "start",
                fill(kinds[name], number[name]),
            )
        )
    return parts
