# SPDX-License-Identifier: Apache-2.0
"""Do two texts mean the same? tools/format asks before it believes a form: what a compiler or a reader of
data sees must stay as it was. Comments may be wrapped, and neighbouring texts of C may be joined or
broken. A comment of C keeps its words, and its rows: what began a line of a list does not become the rest
of another line.
"""
import ast
import re

from wrapping import APART, ITEM

C_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|(?:u8|[LuU])?R"(\w*)\(.*?\)\1"|(?:u8|[LuU])?"(?:\\.|[^"\\\n])*"'
    r"|'(?:\\.|[^'\\\n])*'|\n[ \t]*\#|\w+|\n|\s+|.",
    re.S,
)
C_TEXT = re.compile(r'(u8|[LuU])?"(.*)"$', re.S)
ESCAPE = re.compile(r"\\x[0-9a-fA-F]+|\\[0-7]{1,3}|\\.|.", re.S)


def text_of(token):
    """A text's content, in which an escape is one piece: "\\x1" "b" is not "\\x1b"."""
    found = C_TEXT.match(token)
    return found and (found.group(1) or "", ESCAPE.findall(found.group(2)))


def c_tokens(text):
    """Without comments and blanks. A directive ends with its line."""
    out, directive = [], False
    for found in C_TOKEN.finditer("\n" + re.sub(r"\\\n", "", text)):
        token = found.group()
        if token.startswith(("//", "/*")):
            continue
        if token.startswith("\n"):
            if directive:
                out.append("end of directive")
            directive = "#" in token
            out += ["#"] if directive else []
        elif not token.isspace():
            its = text_of(token)
            if its and out and isinstance(out[-1], tuple):
                out[-1] = (out[-1][0] or its[0], out[-1][1] + its[1])
            else:
                out.append(its or token)
    return out


def includes(text):
    """Each include, in any order: they are sorted."""
    return sorted(re.findall(r"(?m)^\s*#\s*include\b.*?(?=\s*(?:/[/*]|$))", text))


def rows(text):
    """The words of all comments, in order. "\\n" stands before an item of a list, and around a
    row of a table."""
    out = []
    for comment in (found.group() for found in C_TOKEN.finditer(text)):
        if not comment.startswith(("//", "/*")):
            continue
        for line in comment[2:].removesuffix("*/").split("\n"):
            starred = re.match(r"[ \t]*\* ?", line)
            line = (line[starred.end() :] if starred else line.strip()).rstrip()
            apart = APART["comment"].match(line)
            out += ["\n"] * bool(apart or ITEM.match(line)) + line.split() + ["\n"] * bool(apart)
    return out


def c_meaning(text):
    code = re.sub(r"(?m)^\s*#\s*include\b[^\n]*", "", text)
    return includes(text), c_tokens(code), rows(code)


def python_meaning(text):
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        # A docstring, or any other text that is a statement: blanks do not count.
        for its in [first] + [n for n in (body if isinstance(body, list) else []) if n is not first]:
            value = its.value if isinstance(its, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                value.value = " ".join(value.value.split())
    return ast.dump(tree)


def script_meaning(text):
    return [line for line in text.split("\n") if not re.match(r"\s*(#|//)", line)], re.findall(
        r"[^\s#/]+", " ".join(line for line in text.split("\n") if re.match(r"\s*(#|//)", line))
    )


def prose_meaning(text):
    return text.split()


MEANINGS = {"c": c_meaning, "python": python_meaning, "md": prose_meaning, "man": prose_meaning}


def same(kind, before, after):
    meaning = MEANINGS.get(kind, script_meaning)
    try:
        return before == after or meaning(before) == meaning(after)
    except SyntaxError:
        return False
