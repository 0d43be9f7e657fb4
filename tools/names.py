# SPDX-License-Identifier: Apache-2.0
"""tools/check names, tools/check flags: one name means one thing below src, and each flag is read by somebody.

names:
- a tag (struct, enum, union, typedef) is defined in one file; so is a constant MOR_*
- functions mor_WORD_* and constants MOR_WORD_* of headers are of one room (the parts of kythe
  are one room here)
- a name without a noun (one word) is given to a static function of one file; a macro or enumerator that is a
  file's own, to those of at most FILES_MAX files

flags: an enumerator of a header that is a bit of a set is tested somewhere, not only set, listed or explained.
"""
import collections
import re

FILES_MAX = 3

QUIET_PARTS = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
TAG = re.compile(r"\b(struct|enum|union)\s+(\w+)\s*(?:__attribute__\(\([^{;]*\)\)\s*)?\{")
TYPEDEF = re.compile(r"^typedef\b[^;{]*?\b(\w+)\s*(?:\([^;]*\))?;", re.M)
ENUM = re.compile(r"\benum\b[^;{()=\[]*\{([^}]*)\}")
MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:\s|$)", re.M)  # one that takes arguments is no constant
DECLARED = re.compile(r"^(?!\s|#|typedef|return|else)[A-Za-z_][^;{}()=]*?\b(mor_[a-z0-9]+)_\w+\s*\(", re.M)
STATIC = re.compile(r"^static\s[^;{}()=]*?\b([a-z]+)\s*\([^;{}]*\)\s*\{", re.M)
VALUE = re.compile(r"\s*(\w+)\s*=\s*(\(?1[uUlL]*\s*<<\s*\d+\)?|0x[0-9a-fA-F]+|\d+)[uUlL]*\s*$")
# Met as a whole by & with what was found out, or passed on as what happened; no test names one of them.
BY_MASK = re.compile(r"MOR_T_|MOR_PERMISSION_|MOR_HANGUP$")


def quiet(text):
    """The text without comments and literals, line by line."""
    return QUIET_PARTS.sub(lambda part: re.sub(r"[^\n]", " ", part.group()), text)


def read(root):
    """{path: text} of all that is compiled below src."""
    return {
        path.relative_to(root).as_posix(): quiet(path.read_text(encoding="utf-8", errors="replace"))
        for path in sorted((root / "src").rglob("*"))
        if path.suffix in (".c", ".h", ".cpp")
    }


def room_of(path):
    return path.split("/")[1]


def enumerators(text):
    for found in ENUM.finditer(text):
        for part in found.group(1).split(","):
            name = re.match(r"\s*(\w+)", part)
            if name:
                yield name.group(1)


def constants(text):
    return {name for name in (*enumerators(text), *MACRO.findall(text)) if not name.endswith("_H")}


def tags(text):
    return {f"{kind} {name}" for kind, name in TAG.findall(text)} | {
        f"typedef {n}" for n in TYPEDEF.findall(text)
    }


def gather(files, names_in, where=lambda path: path):
    """{name: the sorted places that have it}"""
    places = collections.defaultdict(set)
    for path, text in files.items():
        for name in names_in(text):
            places[name].add(where(path))
    return {name: sorted(found) for name, found in places.items()}


def crowded(places, most, what):
    return {
        name: f"{found[0]}:1: {what.format(name=name)} also in {', '.join(found[1:])}"
        for name, found in places.items()
        if len(found) > most
    }


def prefixes(headers):
    """{prefix: {room: the first header that has it}}"""
    found = collections.defaultdict(dict)
    for path, text in headers.items():
        words = {word + "_" for word in DECLARED.findall(text)}
        words |= {m.group() for m in (re.match(r"MOR_[A-Z0-9]+_", name) for name in constants(text)) if m}
        for word in words:
            found[word].setdefault(room_of(path), path)
    return found


def name_faults(files):
    headers = {path: text for path, text in files.items() if path.endswith(".h")}
    faults = crowded(gather(files, tags), 1, "{name} is defined")
    shared = gather(files, lambda text: {name for name in constants(text) if name.startswith("MOR_")})
    faults |= crowded(shared, 1, "{name} is defined")
    own = gather(files, lambda text: {name for name in constants(text) if not name.startswith("MOR_")})
    faults |= crowded(own, FILES_MAX, "{name} says too little: it is defined")
    for prefix, rooms in prefixes(headers).items():
        if len(rooms) > 1:
            first, *others = sorted(rooms.values())
            faults[prefix] = f"{first}:1: names begin with {prefix} here and in {', '.join(others)}"
    statics = gather(files, lambda text: set(STATIC.findall(text)))
    return faults | crowded(statics, 1, "{name}() needs a noun: there is a static one")


def check_names(root):
    faults = name_faults(read(root))
    return [faults[name] for name in sorted(faults)]


# ---- flags


def flags_of(text):
    """The bits of those enums that hold 1 and 2, or are written with <<."""
    for found in ENUM.finditer(text):
        values = dict(match.groups() for match in map(VALUE.match, found.group(1).split(",")) if match)
        numbers = {
            name: eval(re.sub("[uUlL]", "", value)) for name, value in values.items()
        }  # digits and << alone
        if "<<" in found.group(1) or {1, 2} <= set(numbers.values()):
            yield from (name for name, number in numbers.items() if number and number & (number - 1) == 0)


def is_tested(name, texts):
    test = re.compile(
        rf"&[\w\s|~()]*\b{name}\b|\b{name}\)?\s*&[^&]|[=!]=\s*{name}\b|\b{name}\s*[=!]=|"
        rf"\bcase\s+{name}\b|\bmor_trace\(\s*{name}\b|"
        rf"(?:\bif \(|&&|\|\||\?|!)[^;{{}}]*\w\([^;{{}}()]*\b{name}\b"
    )
    return any(name in text and test.search(text) for text in texts)


def check_flags(root):
    files = read(root)
    readers = [text for path, text in files.items() if room_of(path) != "explain"]
    return [
        f"{path}:1: {name} is a flag that nothing reads"
        for path, text in files.items()
        if path.endswith(".h")
        for name in flags_of(text)
        if not BY_MASK.match(name) and not is_tested(name, readers)
    ]
