# SPDX-License-Identifier: Apache-2.0
"""The two drawings of the tree, as SVG for light and dark screens. tools/map writes them,
tools/check map compares.

map.svg           rooms and wings (rooms.py), and who includes whom, from the includes of src/
architecture.svg  from architecture.txt beside it, whose first lines say how that is written
"""
import functools
import html
import re

import rooms

FOLDER = "docs/design"
STYLE = """<style>
text{font:13px system-ui,"DejaVu Sans",sans-serif;fill:#1f2328}
.name{font-weight:600}.note{font-size:12px;fill:#59636e}
.ground{fill:#ffffff}.panel{fill:#f6f8fa;stroke:#d1d9e0}.box{fill:#ffffff;stroke:#4c78a8}
.ours{fill:#fdf0f5;stroke:#c2255c}
.line{fill:none;stroke:#8c959f;stroke-width:1.2}.wide{stroke:#c2255c;stroke-width:2}
.tip{fill:#c2255c;stroke:none}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.note{fill:#9198a1}.ground{fill:#0d1117}
.panel{fill:#151b23;stroke:#3d444d}.box{fill:#0d1117;stroke:#6ea8dc}.ours{fill:#2d1522;stroke:#ff6b9d}
.line{stroke:#656c76}.wide{stroke:#ff6b9d}.tip{fill:#ff6b9d}}
</style>
<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5" markerHeight="5"
orient="auto-start-reverse"><path class="tip" d="M0 0 8 4 0 8z"/></marker>"""


def sheet(width, height, title, source, shapes):
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
        f' height="{height}" role="img" aria-labelledby="title">'
    )
    about = f"<!-- SPDX-License-Identifier: Apache-2.0; made by tools/map from {source} -->"
    named = f'<title id="title">{html.escape(title)}</title>'
    ground = f'<rect class="ground" width="{width}" height="{height}"/>'
    return "\n".join([head, about, named, STYLE, ground, *shapes, "</svg>"]) + "\n"


def rect(kind, x, y, width, height):
    return f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="6"/>'


def text(kind, x, y, words, anchor="start"):
    return f'<text class="{kind}" x="{x}" y="{y}" text-anchor="{anchor}">{html.escape(words)}</text>'


def line(kind, x1, y1, x2, y2, ends=""):
    return f'<path class="{kind}" d="M{x1} {y1} {x2} {y2}"{ends}/>'


TIP = ' marker-end="url(#tip)"'


# ---- rooms and wings


def includes(root):
    """{room: rooms that its files include}, without its own, and without those that it may not include."""
    found = {room: set() for room in rooms.MAY_INCLUDE}
    for path, content in rooms.sources(root):
        room = rooms.room_of_file(path)
        targets = {
            rooms.room_of(match.group(2)) for match in map(rooms.INCLUDE.match, content.splitlines()) if match
        }
        if room in found:
            found[room] |= targets & rooms.MAY_INCLUDE[room] & found.keys() - {room}
    return found


def levels(graph):
    """How many steps the longest way down has, for each node."""

    @functools.cache
    def level(node):
        return max((1 + level(below) for below in graph[node]), default=0)

    return {node: level(node) for node in graph}


def direct(graph):
    """The edges without those that a longer way shows, too."""

    @functools.cache
    def below(node):
        return graph[node].union(*map(below, graph[node]))

    return {
        node: {target for target in its if not any(target in below(other) for other in its)}
        for node, its in graph.items()
    }


def width_of(room):
    return 8 * len(room) + 22


class Wing:
    """A panel with its rooms in rows; each stands above those that it includes."""

    def __init__(self, name, graph):
        own = set(rooms.WINGS[name])
        self.name, self.graph = name, {room: graph[room] & own for room in own}
        self.all = graph
        level = levels(self.graph)
        self.rows = [sorted(room for room in own if level[room] == n) for n in range(max(level.values()) + 1)]
        heading = 7 * len(rooms.ABOUT[name]) + 9 * len(name) + 50
        self.width = max(heading, *(sum(width_of(room) + 14 for room in row) + 26 for row in self.rows))
        self.height = 44 + 54 * len(self.rows)
        self.x = self.y = 0
        self.at = {}

    def place(self, x, y):
        self.x, self.y, self.at = x, y, {}
        for n, row in enumerate(self.rows):
            # Above what they include, so that few lines cross.
            row.sort(key=lambda room: self.middle(self.graph[room]))
            at = x + (self.width - sum(width_of(room) + 14 for room in row) + 14) // 2
            for room in row:
                self.at[room] = at, y + 44 + 54 * (len(self.rows) - 1 - n)
                at += width_of(room) + 14

    def middle(self, targets):
        places = [self.at[room][0] + width_of(room) / 2 for room in targets]
        return sum(places) / len(places) if places else self.x + self.width / 2

    def shapes(self):
        yield rect("panel", self.x, self.y, self.width, self.height)
        yield text("name", self.x + 14, self.y + 26, self.name)
        yield text("note", self.x + 26 + 9 * len(self.name), self.y + 26, rooms.ABOUT[self.name])
        for room, targets in sorted(direct(self.graph).items()):
            for target in sorted(targets):
                (x1, y1), (x2, y2) = self.at[room], self.at[target]
                yield line("line", x1 + width_of(room) // 2, y1 + 30, x2 + width_of(target) // 2, y2)
        for room, (x, y) in sorted(self.at.items()):
            all_of_them = " ".join(sorted(self.all[room])) or "no other room"
            yield f"<g><title>{room} includes {all_of_them}</title>"
            yield rect("box", x, y, width_of(room), 30)
            yield text("room", x + width_of(room) // 2, y + 20, room, "middle") + "</g>"


def between(upper, lower):
    """Straight down where the panels allow it."""
    x2 = lower.x + lower.width // 2
    x1 = min(max(x2, upper.x + 40), upper.x + upper.width - 40)
    return line("wide", x1, upper.y + upper.height, x2, lower.y - 3, TIP)


def draw_map(root):
    graph = includes(root)
    wings = {
        name: {rooms.WING_OF[target] for room in its for target in graph[room]} - {name}
        for name, its in rooms.WINGS.items()
    }
    level, panels = levels(wings), {name: Wing(name, graph) for name in wings}
    rows = [[panels[name] for name in wings if level[name] == n] for n in range(max(level.values()) + 1)][::-1]
    width = max(sum(panel.width + 24 for panel in row) for row in rows) + 24
    y = 24
    for row in rows:
        x = (width - sum(panel.width + 24 for panel in row) + 24) // 2
        for panel in row:
            panel.place(x, y)
            x += panel.width + 24
        y += max(panel.height for panel in row) + 34
    arrows = [
        between(panels[name], panels[target]) for name, its in direct(wings).items() for target in sorted(its)
    ]
    shapes = arrows + [shape for panel in panels.values() for shape in panel.shapes()]
    return sheet(width, y - 10, "The rooms of src/, and who includes whom", "the includes of src/", shapes)


# ---- architecture.txt


def side(box, name):
    x, y, width, height = box
    return {
        "left": (x, y + height // 2),
        "right": (x + width, y + height // 2),
        "top": (x + width // 2, y),
        "bottom": (x + width // 2, y + height),
    }[name]


def box_shapes(kind, box, words):
    x, y, width, _height = box
    yield rect(kind, *box)
    first, *others = words
    yield text("name", x + width // 2, y + 22, first, "middle")
    for n, note in enumerate(others, 1):
        yield text("note", x + width // 2, y + 22 + 17 * n, note, "middle")


def arrow_shapes(boxes, start, end, ends, words):
    (x1, y1), (x2, y2) = (side(boxes[place.split(".")[0]], place.split(".")[1]) for place in (start, end))
    if x1 != x2:  # level, at the height of the smaller box
        y1 = y2 = y1 if boxes[start.split(".")[0]][3] < boxes[end.split(".")[0]][3] else y2
    yield line("wide", x1, y1, x2, y2, TIP + (' marker-start="url(#tip)"' if ends == "both" else ""))
    for n, note in enumerate(words):
        at = (
            (x1 + 8, (y1 + y2) // 2 + 4 + 15 * n, "start")
            if x1 == x2
            else ((x1 + x2) // 2, y1 - 8 - 15 * (len(words) - 1 - n), "middle")
        )
        yield text("note", at[0], at[1], note, at[2])


def draw_architecture(root):
    boxes, shapes, title, size = {}, [], "", (0, 0)
    for row in (root / FOLDER / "architecture.txt").read_text(encoding="utf-8").splitlines():
        given, *words = [part.strip() for part in row.split("|")]
        kind, *given = given.split() or ["#"]
        if kind == "sheet":
            size, title = [int(word) for word in given], words[0]
        elif kind in ("panel", "box", "ours"):
            boxes[given[0]] = tuple(int(word) for word in given[1:])
            shapes += box_shapes(kind, boxes[given[0]], words)
        elif kind in ("one", "both"):
            shapes += arrow_shapes(boxes, given[0], given[1], kind, words)
        elif kind != "#":
            raise SystemExit(f"{FOLDER}/architecture.txt: {kind} is not known")
    return sheet(*size, title, f"{FOLDER}/architecture.txt", shapes)


# ---- both

DRAWINGS = {"map.svg": draw_map, "architecture.svg": draw_architecture}


def check(root):
    return [
        f"{FOLDER}/{name}:1: its source says something else now: run tools/map"
        for name, draw in DRAWINGS.items()
        if (root / FOLDER / name).is_file() and (root / FOLDER / name).read_text(encoding="utf-8") != draw(root)
    ]
