# SPDX-License-Identifier: Apache-2.0
"""tools/check citations: what a comment or a page names is in the tree.

Looked at: pages (*.md, *.scd) whole; of sources, scripts and conversations (*.talk) the comments; the rows of
tests/coverage-reasons. Five things can be wrong:

- a file that is not there: any NAME.md, and any path below the folders in PLACES. A name in capitals stands for
  any (tests/talk/DIALECT/NAME.talk), * and {a,b} are taken as a shell takes them
- a link of a page that leads nowhere, to a file or to a heading
- a text that only its writer has: notes, issues, numbers of rules without their page
- a function of ours, mor_name() or the like, that no code has
- a reason for lines of a file or function that is gone
"""
import fnmatch
import functools
import io
import os
import re
import tokenize

PLACES = "src tests docs tools bench include sdk plugins examples .ci".split()
REASONS = "tests/coverage-reasons"
SKIPPED = re.compile(r"^(build.*|\.git|\.deps|node_modules|corpus|__pycache__)$")
SUFFIXES = "md c h cpp py js talk scd build toml json proto map ops in".split()

C_PARTS = re.compile(r'(/\*.*?\*/|//[^\n]*)|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|[^"\'/]+|.', re.S)
HASH_COMMENT = re.compile(r"(?:^|(?<=\s))#.*")
PATH = re.compile(r"(?<![\w/.$~@:*<>=-])((?:\.\./|\./)*(?:[\w.+*{},-]+/)*[\w.+*{},-]+)")
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.M)
FENCE = re.compile(r"^```.*?^```", re.M | re.S)
# Texts that are not in the tree, by the words that used to name them.
ELSEWHERE = re.compile(
    r"\b(?:DESIGN|FAULTS|PERF|JAIL|STYLE)(?: rule\b| section\b|:)|\.\./shared\b|"
    r"\b(?:field notes|our notes|the issue has|[Ii]ssue \d+)"
)
NUMBERED = re.compile(r"\b[Dd]ecisions? (\d+(?:(?:, | and )\d+)*)|\b(R[1-9]\d?)\b")


# ---- what is read of a file


def blanked(found):
    return re.sub(r"[^\n]", " ", found.group())


def c_comments(text):
    """The text with everything but comments blanked."""
    return C_PARTS.sub(lambda found: found.group() if found.group(1) else blanked(found), text)


def python_comments(text):
    """Comments and docstrings, each on its line."""
    lines = [""] * (text.count("\n") + 2)
    fresh = True  # a string that begins a statement is meant for people
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and fresh):
            for i, line in enumerate(token.string.split("\n")):
                lines[token.start[0] - 1 + i] += line
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            fresh = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    return "\n".join(lines)


def hash_comments(text):
    return "\n".join((HASH_COMMENT.search(line) or [""])[0] for line in text.split("\n"))


def prose_of(path, text):
    """What of the file is meant for people, line for line, or None."""
    suffix = path.rpartition(".")[2] if "." in os.path.basename(path) else ""
    first = text.partition("\n")[0]
    if suffix in ("md", "scd"):
        return text
    if suffix in ("c", "h", "cpp", "js", "proto", "map"):
        return c_comments(text)
    if suffix == "py" or first.startswith("#!") and "python" in first:
        return python_comments(text)
    if suffix in ("talk", "build", "toml", "ops") or first.startswith("#!"):
        return hash_comments(text)
    return None


def files(root):
    """(path relative to root, text) of every file that has prose."""
    for top, dirs, names in os.walk(root):
        dirs[:] = sorted(d for d in dirs if not SKIPPED.match(d))
        for name in sorted(names):
            path = os.path.join(top, name)
            try:
                with open(path, encoding="utf-8") as file:
                    yield os.path.relpath(path, root), file.read()
            except (UnicodeDecodeError, OSError):
                continue


# ---- what it names


@functools.cache
def names_below(root):
    """Every path of the tree, files and folders, and the bare names of files."""
    paths, bare = {"."}, set()
    for top, dirs, names in os.walk(root):
        dirs[:] = [d for d in dirs if not re.match(r"^(build.*|\.git|node_modules)$", d)]
        paths.update(os.path.relpath(os.path.join(top, name), root) for name in names + dirs)
        bare.update(names)
    return paths, bare


def as_pattern(word):
    """The regular expression of a path in prose: * and {a,b} as in a shell, a part in CAPITALS is anything."""
    out = ""
    for part in re.split(r"(\*+|\{[^}]*\}|(?<![a-z])[A-Z][A-Z_]+(?![a-z]))", word):
        if part.startswith("{"):
            out += "(?:%s)" % "|".join(map(re.escape, part[1:-1].split(",")))
        elif part.startswith("*") or re.fullmatch(r"[A-Z][A-Z_]+", part):
            out += "[^/]*"
        else:
            out += re.escape(part)
    return out


def is_there(root, folder, word):
    paths, bare = names_below(root)
    if "/" not in word and word in bare:
        return True
    for start in (folder, ""):
        if os.path.normpath(os.path.join(start, word)) in paths:
            return True
    pattern = re.compile(as_pattern(word))
    return pattern.pattern != re.escape(word) and any(pattern.fullmatch(path) for path in paths)


def is_citation(word):
    """Does the word name a file of the tree, or mean to?"""
    if re.search(r"\.md$", word):
        return True
    return (
        word.split("/")[0] in PLACES
        and "/" in word
        and (word.split("/")[0] in ("src", "tests", "docs", "bench") or word.rpartition(".")[2] in SUFFIXES)
    )


def examples_blanked(path, prose):
    """A page without its examples: they name files of the reader's own."""
    if not path.endswith((".md", ".scd")):
        return prose
    return re.sub(r"^(?:    |\t).*", "", FENCE.sub(blanked, prose), flags=re.M)


def missing_files(root, path, prose):
    folder = os.path.dirname(path)
    for number, line in enumerate(examples_blanked(path, prose).split("\n"), 1):
        for found in PATH.finditer(re.sub(r"\]\([^)]*\)", "]", line)):
            word = found.group(1).rstrip(".,-")
            if is_citation(word) and not is_there(root, folder, word):
                yield f"{path}:{number}: {word} is not in the tree"


# ---- links


def slug(heading):
    """The anchor that a heading gets."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


@functools.cache
def anchors(file):
    with open(file, encoding="utf-8") as page:
        return {slug(heading) for heading in HEADING.findall(FENCE.sub("", page.read()))}


def dead_links(root, path, text):
    blank = FENCE.sub(blanked, text)
    for found in LINK.finditer(blank):
        target, _, anchor = found.group(1).partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        number = blank.count("\n", 0, found.start()) + 1
        name = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
        file = os.path.join(root, name)
        if name.startswith("..") or not os.path.exists(file):
            yield f"{path}:{number}: the link to {target} leads nowhere"
        elif anchor and file.endswith(".md") and anchor not in anchors(file):
            yield f"{path}:{number}: {target or 'this page'} has no heading #{anchor}"


# ---- texts that only their writer has


@functools.cache
def numbers_of(page):
    """The numbers of rules (R and a number) and of decisions (alone in a first cell) that a
    dialect's page has."""
    if not os.path.exists(page):
        return frozenset()
    with open(page, encoding="utf-8") as file:
        text = file.read()
    cells = re.findall(r"^\| ([\d, ]+) \|", text, re.M)
    return frozenset(re.findall(r"\bR\d+\b", text)) | {n for cell in cells for n in re.findall(r"\d+", cell)}


def pages_of(path, prose):
    """The pages whose numbers the file uses: its dialect's for a script of tests/talk, else those it names."""
    found = re.match(r"tests/talk/(\w+)[\w-]*/", path)
    return [f"docs/dialects/{found.group(1)}.md"] if found else re.findall(r"docs/dialects/\w+\.md", prose)


def unknown_numbers(root, path, prose):
    """Rules and decisions are cited by the number that they have on a dialect's page."""
    pages = None
    for number, line in enumerate([] if path.endswith(".md") else prose.split("\n"), 1):
        for decisions, rule in NUMBERED.findall(line):
            pages = pages_of(path, prose) if pages is None else pages
            known = frozenset().union(*(numbers_of(os.path.join(root, page)) for page in pages))
            for n in re.findall(r"\d+", decisions) or [rule]:
                if n not in known:
                    where = " or ".join(pages) or "a page that is named"
                    yield f"{path}:{number}: {rule or 'decision ' + n}: not in {where}"


# ---- functions

CODE = ("c", "h", "cpp", "in", "py", "talk")
FUNCTION = re.compile(r"\b(?:mor|mortise|tenon)_\w+(?=\(\))")


@functools.cache
def words_of_code(root):
    """Every word of the code, without its comments."""
    words = set()
    for path, text in files(root):
        if path.rpartition(".")[2] in CODE:
            code = text if path.endswith(("py", "talk")) else re.sub(r"(?s)/\*.*?\*/|//[^\n]*", " ", text)
            words.update(re.findall(r"\b(?:mor|mortise|tenon)_\w+", code))
    return words


def lost_functions(root, path, prose):
    for number, line in enumerate(prose.split("\n"), 1):
        for name in FUNCTION.findall(line):
            # Names that macros put together (mor_##type##_fini) are known by their end.
            if name not in words_of_code(root) and not name.endswith("_fini"):
                yield f"{path}:{number}: {name}() is not in the code"


# ---- reasons


def has_function(file, name):
    with open(file, encoding="utf-8") as source:
        return re.search(rf"\b{name}\(", source.read())


def lost_reasons(root):
    """tools/coverage would tell them, too, but only after all tests have run."""
    reasons = os.path.join(root, REASONS)
    rows = open(reasons, encoding="utf-8").read().split("\n") if os.path.exists(reasons) else []
    for number, row in enumerate(rows, 1):
        place = row.partition(" | ")[0].strip()
        if not place or place.startswith("#"):
            continue
        glob, _, function = place.partition(":")
        files = [os.path.join(root, path) for path in fnmatch.filter(names_below(root)[0], glob)]
        if not any(os.path.isfile(file) and (not function or has_function(file, function)) for file in files):
            yield f"{REASONS}:{number}: {place} is not in the tree"


def check(root):
    root = os.fspath(root)
    faults = []
    for path, text in files(root):
        prose = prose_of(path, text)
        if prose is None:
            continue
        faults += [
            f"{path}:{number}: {found.group()}: a text that is not in the tree"
            for number, line in enumerate(prose.split("\n"), 1)
            for found in ELSEWHERE.finditer(line)
        ]
        faults += missing_files(root, path, prose)
        faults += unknown_numbers(root, path, prose)
        faults += lost_functions(root, path, prose)
        if path.endswith(".md"):
            faults += dead_links(root, path, text)
    return faults + list(lost_reasons(root))
