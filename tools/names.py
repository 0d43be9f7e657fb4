# SPDX-License-Identifier: Apache-2.0
"""tools/check names, takes, flags: one name means one thing below src, it says who keeps what it gets, and each
flag is read by somebody.

names:
- a tag (struct, enum, union, typedef) is defined in one file; so is a constant MOR_*
- functions mor_WORD_* and constants MOR_WORD_* of headers are of one room (the parts of kythe
  are one room here)
- a name without a noun (one word) is given to a static function of one file; a macro or enumerator that is a
  file's own, to those of at most FILES_MAX files
- a function of a header has a prefix: mor_, tn_ in sdk
- two constants of headers that stand beside a -errno, because they are below all of them, are two numbers

takes: a function has `_take` in its name if its comment says that it takes an argument, or if it closes a
descriptor or frees a text that it is given.

flags: an enumerator of a header that is a bit of a set is tested somewhere, not only set, listed or explained.
"""
import collections
import re

import rooms

FILES_MAX = 3
ERRNO_MAX = 4095

QUIET_PARTS = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
TAG = re.compile(r"\b(struct|enum|union)\s+(\w+)\s*(?:__attribute__\(\([^{;]*\)\)\s*)?\{")
TYPEDEF = re.compile(r"^typedef\b[^;{]*?\b(\w+)\s*(?:\([^;]*\))?;", re.M)
ENUM = re.compile(r"\benum\b[^;{()=\[]*\{([^}]*)\}")
MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:\s|$)", re.M)  # one that takes arguments is no constant
DECLARED = re.compile(r"^(?!\s|#|typedef|return|else)[A-Za-z_][^;{}()=]*?\b(mor_[a-z0-9]+)_\w+\s*\(", re.M)
STATIC = re.compile(r"^static\s[^;{}()=]*?\b([a-z]+)\s*\([^;{}]*\)\s*\{", re.M)
VALUE = re.compile(r"\s*(\w+)\s*=\s*(\(?1[uUlL]*\s*<<\s*\d+\)?|0x[0-9a-fA-F]+|\d+)[uUlL]*\s*$")
FUNCTION = re.compile(r"^(?!#|typedef|return|else)[A-Za-z_]\w*[\s*][^;{}()=]*?\b([a-z]\w*)\s*\(", re.M)
PREFIX = re.compile(r"(?:mor|mortise|tn|tenon)_")
STAND_INS = "src/jail/musl.h"  # what another C library lacks, under the names that the first one has
COMMENTED = re.compile(  # a comment and the function behind it, or the other way round
    r"/\*(?P<above>(?:[^*]|\*(?!/))*)\*/\n(?=[A-Za-z_])(?!typedef)[^;{}()=#]*?\b(?P<below>\w+)\s*\(|"
    r"^[A-Za-z_][^;{}()=#]*?\b(?P<before>\w+)\s*\([^;{}]*\);[ \t]*/\*(?P<beside>(?:[^*]|\*(?!/))*)\*/",
    re.M,
)
TAKES = re.compile(
    r"\b[Tt]akes (?:`\w+`|both\b|the (?:descriptor|listener|mount|call|event|config|buffer)\b)|"
    r"\bowns it from now on\b"
)
DEFINED = re.compile(
    r"^[A-Za-z_][^;{}()=#]*?\b(?P<name>\w+)\((?P<params>[^;{}]*?)\)\n\{\n(?P<body>.*?)^\}", re.M | re.S
)
GIVEN = re.compile(r"(?:^|,)\s*(?:int|char \*)\s*(\w+)\s*(?=,|$)")
SAYS_SO = re.compile(r"(?:^|_)(?:take|close|free|main)(?:_|$)")
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
    """The parts of src/work/kythe share their names."""
    return rooms.room_of_file(path).split("/")[0]


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


def numbers(text):
    """(name, number) of enumerators, also of those that count on from one with a number; and of macros."""
    for found in ENUM.finditer(text):
        last = None
        for part in found.group(1).split(","):
            name, _, value = (word.strip(" \t\n()") for word in part.partition("="))
            given = re.fullmatch(r"-?\d+", value)
            last = int(value) if given else last + 1 if last is not None and not value else None
            if name and last is not None:
                yield name, last
    for name, value in re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+\(?(-\d+)\)?[ \t]*$", text, re.M):
        yield name, int(value)


def colliding(headers):
    named = collections.defaultdict(list)
    for path, text in headers.items():
        for name, number in numbers(text):
            if number < -ERRNO_MAX:
                named[number].append((path, name))
    return {
        first[1]: f"{first[0]}:1: {first[1]} is {number}, and so is {', '.join(name for _, name in others)}"
        for number, (first, *others) in named.items()
        if others
    }


def without_prefix(headers):
    return {
        f"{path} {name}": f"{path}:1: {name}() has no prefix, and is in a header"
        for path, text in headers.items()
        if path != STAND_INS
        for name in FUNCTION.findall(text)
        if not PREFIX.match(name)
    }


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
    faults |= colliding(headers) | without_prefix(headers)
    statics = gather(files, lambda text: set(STATIC.findall(text)))
    return faults | crowded(statics, 1, "{name}() needs a noun: there is a static one")


def sdk_headers(root):
    return {
        path.relative_to(root).as_posix(): quiet(path.read_text(encoding="utf-8"))
        for path in sorted((root / "sdk").rglob("*.h"))
        if "node_modules" not in path.parts
    }


def check_names(root):
    faults = name_faults(read(root)) | without_prefix(sdk_headers(root))
    return [faults[name] for name in sorted(faults)]


# ---- takes


def takers(text):
    """(name, where it ends) of functions that keep or end what they are given."""
    for found in COMMENTED.finditer(text):
        comment = " ".join(re.sub(r"\n\s*\*", " ", found["above"] or found["beside"] or "").split())
        if TAKES.search(comment):
            yield found["below"] or found["before"], found.end()
    for found in DEFINED.finditer(quiet(text)):
        ends = "|".join(GIVEN.findall(" ".join(found["params"].split())))
        if ends and re.search(rf"\b(?:(?:mor_fd_)?close\(&?|mor_free\()(?:{ends})\)", found["body"]):
            yield found["name"], found.end("params")


def check_takes(root):
    faults = {}
    for top in ("src", "sdk"):
        for path in sorted((root / top).rglob("*.[ch]")):
            text = path.read_text(encoding="utf-8", errors="replace")
            for name, end in takers(text):
                if not SAYS_SO.search(name):
                    place = f"{path.relative_to(root).as_posix()}:{text.count(chr(10), 0, end) + 1}"
                    faults[place, name] = f"{place}: {name}() takes something: `_take` says so"
    return list(faults.values())


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
