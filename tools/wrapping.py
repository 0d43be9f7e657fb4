# SPDX-License-Identifier: Apache-2.0
"""Text of at most WIDTH columns, for tools/format. Nothing here reads or writes a file.

Only a paragraph with a line that is too long is wrapped anew; all others stay as their author broke them. So
the second run changes nothing. What is aligned (two blanks or a tab inside a line), tables, examples and
headings are left alone.
"""
import io
import re
import textwrap
import tokenize

WIDTH = 112

# Blanks in here must not become ends of lines: code, links, emphasis of man pages.
WHOLE = {
    "md": re.compile(r"`[^`]+`|!?\[[^\]]*\]\([^)]*\)|\[[^\]]*\]\[[^\]]*\]"),
    "man": re.compile(r"\*[^*\s][^*]*\*|(?<!\w)_[^_\s][^_]*_(?!\w)|`[^`]+`"),
    "comment": re.compile(r"`[^`]+`|\"[^\"]{1,40}\""),
}
# A word that would mean something else at the beginning of a line.
BEGINS = {
    "md": re.compile(r"[-+*]$|\d+[.)]$|[#|>=<]|```|~~~|\[[^\]]*\]:"),
    "man": re.compile(r"[-*]$|\d+[.)]$|[#|:;!\[\]]|```"),
    "comment": re.compile(r"[-+*]$|\d+[.)]$|[#|<>@]"),
}
ITEM = re.compile(r"\s*([-*+]|\d+\.)\s+")
FENCE = re.compile(r"\s*(`{3,}|~{3,})")
APART = {
    "md": re.compile(r"\s*([|#<>]|\[[^\]]+\]:|---|===|!\[)|\t"),
    "man": re.compile(r"[#;!\[\]|:]|\t\t"),
    "comment": re.compile(r"\s*([|#<>@]|----)|.*(\t|\S {2,}\S)"),
}
KEEPS_END = ("  ", "\\", "++")  # a line end that is meant


def columns(line):
    return len(line.expandtabs(8))


def lines_of(text):
    """Only a newline ends a line: str.splitlines() takes U+2028 and others for one too."""
    return text.rstrip("\n").split("\n")


def indent_of(line):
    return re.match(r"\s*", line).group()


def filled(text, kind, width, tail=""):
    """The lines of one paragraph. `tail` stays with the last word. No last line of a word or two."""
    bound = WHOLE[kind].sub(lambda found: found.group().replace(" ", "\0"), text)
    bound = re.sub(
        r" (?=(\S+))", lambda found: "\0" if BEGINS[kind].match(found.group(1)) else " ", bound
    ) + tail.replace(" ", "\0")

    def at(columns):
        return textwrap.wrap(bound, columns, break_long_words=False, break_on_hyphens=False)

    made = at(width)
    for narrower in range(width - 1, width - 30, -1):
        if len(made) < 2 or len(made[-1]) >= 16 or len(at(narrower)) != len(made):
            break
        made = at(narrower)
    return [line.replace("\0", " ") for line in made]


def rewrapped(lines, kind, width, tail=""):
    """One paragraph or list item; as it is where it fits."""
    if all(columns(line) <= width for line in lines[:-1]) and columns(lines[-1] + tail) <= width:
        return lines[:-1] + [lines[-1] + tail]
    item = ITEM.match(lines[0])
    first = item.group() if item else indent_of(lines[0])
    rest = first if not item else indent_of(lines[1]) if len(lines) > 1 else " " * len(first)
    text = " ".join(line.strip() for line in [lines[0][len(first) :], *lines[1:]])
    made = filled(text, kind, width - max(columns(first), columns(rest)), tail)
    return [(rest if i else first) + line for i, line in enumerate(made)]


def begins_anew(line, piece, kind):
    if not piece or ITEM.match(line):
        return bool(piece)
    # Man pages: a term, and below it, further in, its text.
    return kind != "md" and not ITEM.match(piece[0]) and indent_of(line) != indent_of(piece[-1])


def paragraphs(lines, kind):
    """(lines, may be wrapped) of each piece, in order."""
    piece, code = [], ""
    for line in lines:
        fence = FENCE.match(line)
        example = kind == "md" and not piece and line.startswith("    ")
        alone = code or fence or example or not line.strip() or APART[kind].match(line)
        # A fence ends with one that is as long: others inside it are text.
        if fence and (not code or fence.group(1).startswith(code)):
            code = "" if code else fence.group(1)
        if piece and (alone or begins_anew(line, piece, kind) or piece[-1].endswith(KEEPS_END)):
            yield piece, True
            piece = []
        if alone:
            yield [line], False
        else:
            piece.append(line)
    if piece:
        yield piece, True


def wrap_lines(lines, kind, width=WIDTH, tail=""):
    pieces = list(paragraphs(lines, kind))
    made = []
    for i, (piece, may) in enumerate(pieces):
        mine = tail if i == len(pieces) - 1 else ""
        if may and not (len(piece) > 1 and piece[-1].endswith(KEEPS_END)):
            made += rewrapped(piece, kind, width, mine)
        else:
            made += piece[:-1] + [piece[-1] + mine]
    return made


def wrap_prose(text, kind):
    return "\n".join(wrap_lines(lines_of(text), kind)) + "\n"


def prose_faults(text, kind):
    """The numbers of lines that are too long and can be broken."""
    number = 0
    for lines, may in paragraphs(lines_of(text), kind):
        for line in lines:
            number += 1
            if may and columns(line) > WIDTH and rewrapped([line], kind, WIDTH) != [line]:
                yield number


# ---- comments of scripts

COMMENT = re.compile(r"([ \t]*(?:#|//)) (?=.*\S)(?!SPDX)")
HERE = re.compile(r"(?<!<)<<-?\s*(['\"]?)(\w+)\1")


def data_lines(lines):
    """The numbers of lines that look like comments and are data: here-documents, template literals."""
    end, quoted = None, False
    for number, line in enumerate(lines):
        if end or quoted:
            yield number
        if end:
            end = None if line.strip() == end else end
            continue
        here = None if line.lstrip().startswith("#") else HERE.search(line)
        end = here.group(2) if here else None
        if not line.lstrip().startswith(("#", "//")) or quoted:
            quoted ^= bool(len(re.findall(r"(?<!\\)`", line)) % 2)


def wrap_comments(text, data=None):
    """Runs of lines that are nothing but comment. `data`: numbers of lines that only look like it."""
    out, run, lead = [], [], ""
    lines = lines_of(text)
    data = set(data_lines(lines) if data is None else data)
    for number, line in enumerate([*lines, None]):
        found = line is not None and number not in data and COMMENT.match(line)
        if run and not (found and found.group(1) == lead):
            out += [
                f"{lead} {piece}".rstrip() for piece in wrap_lines(run, "comment", WIDTH - columns(lead) - 1)
            ]
            run = []
        if found:
            lead = found.group(1)
            run.append(line[found.end() :])
        elif line is not None:
            out.append(line)
    return "\n".join(out) + "\n"


def python_data_lines(text):
    """The lines inside of texts."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.STRING:
            yield from range(token.start[0], token.end[0])


def docstrings(text):
    """(first line, last line) of each text that is a statement of its own, counted from 0."""
    before = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.STRING and token.string.startswith('"""') and before != tokenize.OP:
            yield token.start[0] - 1, token.end[0] - 1
        if token.type not in (tokenize.NL, tokenize.COMMENT):
            is_new = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
            before = tokenize.NEWLINE if is_new else tokenize.OP


def wrap_docstrings(text):
    lines = text.split("\n")
    for first, last in reversed(list(docstrings(text))):
        its, indent = lines[first : last + 1], indent_of(lines[first])
        if all(columns(line) <= WIDTH for line in its) or not its[-1].endswith('"""'):
            continue
        its = [line[len(indent) :] if line.startswith(indent) else line for line in its]
        its[-1] = its[-1][:-3]
        made = wrap_lines(its, "comment", WIDTH - columns(indent), '"""')
        lines[first : last + 1] = [(indent + line).rstrip() for line in made]
    return "\n".join(lines)


# ---- C, before clang-format, which leaves comments as they are: it knows no tables, and made one text of them

BLOCK = re.compile(r"(?ms)^([ \t]*)/\*(?!\*| clang-format| SPDX)((?:(?!\*/).)*)\*/[ \t]*$")
TRAILING = re.compile(
    r"(?m)^([ \t]*)([^\s/#}*\"].*?(?:[;,]|[\w)]))[ \t]+/\* ((?:(?!\*/)[^\n]|\n[ \t]+(?!\*/))+?)\s*\*/[ \t]*$"
)
LITERAL = r'"(?:\\.|[^"\\\n])*"'
STRINGS = re.compile(rf'(?m){LITERAL}(?:\n[ \t]*{LITERAL})*')
# The end of a line of output stays one; "\x1" "b" is not "\x1b".
KEEPS_APART = re.compile(r'\\(n|x[0-9a-fA-F]+|[0-7]{1,3})$')


def wrap_block(found):
    indent, body = found.groups()
    if all(columns(line) <= WIDTH for line in found.group().split("\n")):
        return found.group()
    compact = bool(body.split("\n")[0].strip())
    lines = [re.sub(r"^[ \t]*\* ?", "", line) if i else line[1:] for i, line in enumerate(body.split("\n"))]
    lines = lines[not compact :]
    alone = not lines[-1].strip() and len(lines) > 1
    lines = lines[:-1] if alone else [*lines[:-1], lines[-1].rstrip()]
    made = wrap_lines(lines, "comment", WIDTH - columns(indent) - 3, "" if alone else " */")
    made = [" *" + line if line.startswith("\t") else " * " + line for line in made]
    made = ["/*" + made[0][2:] if compact else "/*\n" + indent + made[0], *made[1:]] + [" */"] * alone
    return "\n".join((indent + line).rstrip() for line in made)


def hoist(found):
    """A comment behind a declaration, and too long for that place: it goes above."""
    indent, code, comment = found.groups()
    if all(columns(line) <= WIDTH for line in found.group().split("\n")) or "/*" in code or code.endswith("\\"):
        return found.group()
    # Blanks that only bring the end to the edge.
    narrow = f"{found.group()[:found.end(3) - found.start()]} */"
    if "\n" not in narrow and columns(narrow) <= WIDTH:
        return narrow
    comment = " ".join(line.strip(" \t*") for line in comment.split("\n"))
    return f"{indent}/* {comment} */\n{indent}{code}"


def rebreak_strings(text, breaks):
    """Texts with a line that is too long: neighbours become one, and are broken again if `breaks`."""

    def rewritten(found):
        begin = text.rfind("\n", 0, found.start()) + 1
        end = text.find("\n", found.end())
        lines = text[begin : None if end < 0 else end].split("\n")
        in_macro = text[:begin].endswith("\\\n") or lines[-1].endswith("\\")
        fits = all(columns(line) <= WIDTH for line in lines)
        if fits or in_macro or lines[0].lstrip().startswith(("#", "*", "/*")):
            return found.group()
        if any("//" in re.sub(LITERAL, "", line) for line in lines):
            return found.group()  # in a comment to the line's end
        pieces = []
        for literal in re.findall(LITERAL, found.group()):
            if pieces and not KEEPS_APART.search(pieces[-1]):
                pieces[-1] += literal[1:-1]
            else:
                pieces.append(literal[1:-1])
        at = columns(text[begin : found.start()])
        behind = 0 if end < 0 else end - found.end()
        made = [
            part for piece in pieces for part in (broken(piece, WIDTH - at - 2, behind) if breaks else [piece])
        ]
        return ("\n" + "\t" * (at // 8) + " " * (at % 8)).join(f'"{part}"' for part in made)

    # In a raw text of C++ quotes are only quotes.
    return text if re.search(r'\bR"', text) else STRINGS.sub(rewritten, text)


def broken(piece, width, behind):
    """At blanks, which stay at the ends of the parts; the last part leaves room for what is behind it."""
    parts = [""]
    words = re.findall(r"[^ ]* ?", piece)[:-1]  # every byte of a text counts: only ASCII's blank parts words
    for i, word in enumerate(words):
        room = width - (behind if i == len(words) - 1 else 0)
        if parts[-1] and len(parts[-1]) + len(word) > room:
            parts.append("")
        parts[-1] += word
    return parts


def prepare_c(text, breaks=False):
    off = r"(?s)(/\* clang-format off \*/.*?/\* clang-format on \*/)"
    pieces = re.split(off, text)
    for i in range(0, len(pieces), 2):
        pieces[i] = BLOCK.sub(wrap_block, TRAILING.sub(hoist, rebreak_strings(pieces[i], breaks)))
    return "".join(pieces)
