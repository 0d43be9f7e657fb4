# SPDX-License-Identifier: Apache-2.0
"""The rooms of src/, their wings, and which room may include which: one table, for tools/check and tools/map.

A wing is a folder of rooms, src/WING/ROOM, and an include root: a file includes "ROOM/name.h". A wing whose
name is that of a room is that room (src/jail). A row of WINGS is a room and what it may include. Rooms are in
an order in which each includes only rooms above it, in its own wing or another.
"""
import re

PUBLIC = "mortise"  # <mortise/mortise.h> counts as a room here
WINGS = {
    "core": {
        # the public header carries the error type
        "base": "mortise",
        "loop": "base",
        "wire": "base mortise",
        "program": "base mortise",
        "undo": "base",
        "policy": "base mortise",
    },
    "remote": {
        "pb": "base wire mortise",
        "grpc": "base loop mortise",
        "service": "base wire pb mortise",
        "addon": "base program grpc service mortise",
        "meet": "base undo mortise",
    },
    "lib": {
        "content": "base wire mortise",
        "manifest": "base wire mortise",
        "dialect": "base wire mortise",
        "explain": "base wire dialect",
        "store": "base wire content mortise",
        "proc": "base loop program undo policy mortise",
        "link": "base loop wire policy addon meet proc mortise",
        "guard": "base loop wire program undo policy manifest dialect store proc mortise",
        # what a plugin is, read once and handed on
        "resolved": "base dialect manifest guard mortise",
        "host": "base loop wire policy manifest dialect explain store link guard resolved mortise",
        "door": "base loop wire proc resolved host mortise",
    },
    "jail": {
        "jail/filter": "",
        "jail": "base undo policy jail/filter",
    },
    "kit": {
        "console": "base wire manifest mortise",
        "talk": "base wire mortise",
        "relay": "base wire program manifest mortise",
        "scribe": "base wire dialect talk relay mortise",
        "runner": "base wire dialect store resolved door console scribe mortise",
        "bundle": "base wire content mortise",
        "registry": "base wire content manifest store bundle mortise",
        "lockfile": "base wire store registry mortise",
        "trusted": "base wire manifest mortise",
    },
    "work": {
        "part": "base mortise",
        "result": "base mortise",
        "extract": "base wire console runner part mortise",
        "workspace": "base wire manifest console runner mortise",
        "converse": "base wire console runner mortise",
        "kythe/unit": "base wire pb mortise",
        "kythe/archive": "base kythe/unit mortise",
        "kythe/entries": "base wire pb mortise",
        "kythe/stage": "base kythe/unit kythe/archive mortise",
        "kythe/drive": "base wire result kythe/archive kythe/entries kythe/stage mortise",
        "index": "base console runner part kythe/drive",
        "capture": "base wire console kythe/archive",
    },
    "farm": {
        "depot": "base part mortise",
        "engine": "base mortise",
        "crew": "base wire content console runner result extract index kythe/entries kythe/stage depot engine mortise",
    },
    "bot": {
        "wsock": "base loop mortise",
        "onebot": "base loop wire wsock mortise",
        "botfile": "base wire manifest mortise",
        "dispatch": "base store console runner lockfile onebot botfile mortise",
    },
    "app": {
        "about": "base wire console runner",
        "chaos": "base wire console relay mortise",
        "check": "base loop wire program undo policy manifest dialect proc console talk mortise",
        "gauge": "base wire dialect console runner mortise",
        "installer": "base wire manifest store console runner bundle registry lockfile mortise",
        "jailed": "base wire policy console runner workspace mortise",
        "replay": "base wire dialect door console talk relay runner mortise",
        "session": "base wire dialect console runner mortise",
        "starter": "base program mortise",
        "tap": "base wire console talk mortise",
        "cli": (
            "base wire program manifest store console talk relay scribe runner bundle "
            "registry lockfile trusted part extract index workspace converse "
            "kythe/entries capture depot engine crew dispatch about chaos check gauge "
            "installer jailed replay session starter tap mortise"
        ),
    },
}
# Which wings a wing may include.
BELOW = {
    "core": "",
    "remote": "core",
    "lib": "core remote",
    "jail": "core",
    "kit": "core lib",
    "work": "core remote lib kit",
    "farm": "core lib kit work",
    "bot": "core lib kit",
    "app": "core lib kit work farm bot",
}
ABOUT = {
    "core": "what everything stands on; no processes of plugins, no protocols",
    "remote": "plugins that are met over a socket: gRPC and its messages",
    "lib": "the library: plugins, their protocols, their processes",
    "jail": "the program mortise-jail, which guards and confines each plugin",
    "kit": "what several commands share",
    "work": "work for plugins: files, workspaces, conversations, code",
    "farm": "work that many machines share",
    "bot": "a chat bot and its networks",
    "app": "the command, and what stands behind one command alone",
}
MAY_INCLUDE = {room: set(rooms.split()) for wing in WINGS.values() for room, rooms in wing.items()}
WING_OF = {room: wing for wing, rooms in WINGS.items() for room in rooms}
MAP = "docs/design/map.md"
# A header by such a name is for the files of its own room.
PRIVATE = re.compile(r"(/|_)(inside|internal|own)\.h$")
# A foreign header and the only files that may include it.
KEPT_IN = {
    r"yyjson\.h": r"src/core/wire/json\.c",
    r"toml(\+\+|plusplus)[/.].*": r"src/lib/manifest/[^/]+\.cpp",
    r"libfyaml\.h": r"src/lib/manifest/[^/]+\.c",
    r"wslay/.*": r"src/bot/wsock/frames\.c",
    r"openssl/.*": r"src/(bot/wsock/tls|kit/bundle/sign)\.c",
    r"utf8proc\.h": r"src/lib/content/nameset\.c",
    r"archive(_entry)?\.h": r"src/kit/bundle/(unpack|pack)\.c",
    r"libpq-fe\.h": r"src/farm/engine/pg_own\.h",
    r"zstd\.h": r"src/farm/depot/pack\.c",
    r"nghttp2/.*": r"src/remote/grpc/(session|server)\.c",
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def sources(root):
    """Every C source below src/, as (path relative to root, text)."""
    for path in sorted((root / "src").rglob("*")):
        if path.suffix in (".c", ".h", ".cpp") and path.is_file():
            yield path.relative_to(root).as_posix(), path.read_text(encoding="utf-8", errors="replace")


def room_of(header):
    """The room of a header, as it is included: a folder inside a room is a room of its own."""
    return header.rpartition("/")[0]


def room_of_file(path):
    """The room of a file below src/; its folder where that is no room."""
    folder = room_of(path.removeprefix("src/"))
    wing, _, room = folder.partition("/")
    return room if WING_OF.get(room) == wing else folder


def folder_of(room):
    wing = WING_OF[room]
    return f"src/{room}" if room.split("/")[0] == wing else f"src/{wing}/{room}"


def roots(root):
    """The folders in which includes are looked for."""
    return ["include", "src", *(f"src/{wing}" for wing in WINGS if (root / "src" / wing).is_dir())]


def include_fault(path, quote, header):
    """Why the file may not include the header, or None."""
    room, target = room_of_file(path), room_of(header)
    for foreign, home in KEPT_IN.items():
        if re.fullmatch(foreign, header) and not re.fullmatch(home, path):
            return f"<{header}> belongs in {home} alone"
    if quote == '"' and not target:
        return f'write "{room}/{header}", not "{header}"'
    if target not in MAY_INCLUDE and target != PUBLIC and target != "tenon":
        return f'"{header}" is in no room' if quote == '"' else None
    if target != room and PRIVATE.search(header):
        return f"{header} is for the files of {target} alone"
    if target == room or target in MAY_INCLUDE[room]:
        return None
    return f"{room} may not include {header}"


def check_map(page):
    """The map's tables have each room once, below the heading of its wing."""
    if not page.exists():
        return []
    wing, told = None, set()
    for line in page.read_text(encoding="utf-8").splitlines():
        wing = (re.match(r"### `(\w+)`", line) or [None, wing])[1]
        room = re.match(r"\| `(src/[\w/]+)` ", line)
        told |= {(room_of_file(room[1] + "/"), wing)} if room else set()
    odd = sorted({room for room, _ in WING_OF.items() ^ told})
    return [f"{MAP}:1: its tables of rooms do not match tools/rooms.py: {room}" for room in odd]


def check_readmes(root):
    """Each wing has a README with its rooms. A tree without a map is one of the self-test."""
    faults = []
    for wing in WINGS:
        page = root / "src" / wing / "README.md"
        if page.exists():
            text = page.read_text(encoding="utf-8")
            missing = [
                room
                for room in WINGS[wing]
                if room != wing and f"`{room.removeprefix(wing + '/')}`" not in text
            ]
            faults += [f"src/{wing}/README.md:1: does not name its room {room}" for room in missing]
        elif page.parent.is_dir() and (root / MAP).exists():
            faults.append(f"src/{wing}: has no README.md")
    return faults


def check_order():
    """So that neither rooms nor wings go in circles, and wings include only those below them."""
    order = {room: n for n, room in enumerate([PUBLIC, *MAY_INCLUDE])}
    return [
        f"tools/rooms.py:1: {room} stands above {target}, which it may include"
        for room, targets in MAY_INCLUDE.items()
        for target in targets
        if order[target] > order[room]
    ] + [
        f"tools/rooms.py:1: {room} may include {target}: {WING_OF[room]} may not include {WING_OF[target]}"
        for room, targets in MAY_INCLUDE.items()
        for target in sorted(targets - {PUBLIC})
        if WING_OF[target] not in (WING_OF[room], *BELOW[WING_OF[room]].split())
    ]


def check(root):
    faults = check_map(root / MAP) + check_readmes(root) + check_order()
    for path, text in sources(root):
        if room_of_file(path) not in MAY_INCLUDE:
            faults.append(f"{path}:1: in no room that tools/rooms.py knows")
            continue
        for number, line in enumerate(text.splitlines(), 1):
            found = INCLUDE.match(line)
            why = found and include_fault(path, *found.groups())
            if why:
                faults.append(f"{path}:{number}: {why}")
    return faults


def check_edges(root):
    """What the table allows is used: else a room could grow together with another one unseen."""
    met = {}
    for path, text in sources(root):
        here = met.setdefault(room_of_file(path), set())
        here |= {room_of(found.group(2)) for found in map(INCLUDE.match, text.splitlines()) if found}
    return [
        f"tools/rooms.py:1: {room} may include {other}, and does not"
        for room, seen in met.items()
        for other in sorted(MAY_INCLUDE.get(room, set()) - seen)
    ]
