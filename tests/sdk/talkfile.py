# SPDX-License-Identifier: Apache-2.0
"""Reads .talk scripts (tests/talk/README.md) for those who play the host's part.

parse(path) gives a Script: its dialect, its framing, and its steps in order. In a JSON pattern `$name` is a
Name, a value `...` is ANY, and the last member or element `...` is MORE (a key of an object, an element of an
array)."""
import codecs
import dataclasses
import decimal
import json
import pathlib
import re
from typing import Any, List, Optional

FRAMINGS = {
    "yams": "lines",
    "ayiou": "lines",
    "plain": "lines",
    "sunscreen": "lines",
    "sunscreen-json": "headers",
    "gassist": "be32",
    "kythe": "decimal",
}


@dataclasses.dataclass(frozen=True)
class Name:
    name: str


class _Mark:
    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


ANY, MORE = _Mark("..."), _Mark("more")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\$\w+|\.\.\.')
_NAME, _ANY, _MORE = "\0name", "\0any", "\0more"


class TalkError(Exception):
    pass


def _token(match):
    word, text = match.group(), match.string
    if word[0] == '"':
        return word
    if word[0] == "$":
        return json.dumps({_NAME: word[1:]})
    before, after = text[: match.start()].rstrip()[-1:], text[match.end() :].lstrip()[:1]
    if after == "}" and before in ",{":
        return json.dumps(_MORE) + ":0"
    if after == "]" and before in ",[":
        return json.dumps({_MORE: 0})
    return json.dumps({_ANY: 0})


def _revive(pairs):
    made = dict(pairs)
    if set(made) == {_NAME}:
        return Name(made[_NAME])
    if set(made) == {_ANY}:
        return ANY
    if _MORE in made:
        made[MORE] = made.pop(_MORE)
    return made


def _elements(value):
    """An array's last element {MORE: 0} is MORE itself."""
    if isinstance(value, list):
        made = [_elements(item) for item in value]
        if made and isinstance(made[-1], dict) and set(made[-1]) == {MORE}:
            made[-1] = MORE
        return made
    if isinstance(value, dict):
        return {key: _elements(item) for key, item in value.items()}
    return value


def parse_json(text):
    """A JSON text: integers keep all digits, other numbers are decimals, NaN stays what it is."""
    return json.loads(text, parse_float=decimal.Decimal, object_pairs_hook=_revive)


def parse_pattern(text):
    return _elements(parse_json(_TOKEN.sub(_token, text)))


def unescape(text):
    """The bytes of `>b` and `<b` lines."""
    return codecs.escape_decode(text.encode())[0]


@dataclasses.dataclass
class Step:
    """kind: send, expect (JSON), send_bytes, expect_bytes, close, closed, exit, signal, act; others
    are left out."""

    kind: str
    value: Any
    line: int


@dataclasses.dataclass
class Script:
    path: pathlib.Path
    dialect: str
    framing: str
    steps: List[Step]

    @property
    def name(self):
        return f"{self.dialect}/{self.path.stem}"

    def acts(self, word):
        """The rest of each `* WORD rest` line."""
        return [
            step.value.partition(" ")[2]
            for step in self.steps
            if step.kind == "act" and step.value.split()[0] == word
        ]


_MARKS = {
    ">b": "send_bytes",
    "<b": "expect_bytes",
    ">.": "close",
    "<.": "closed",
    ">": "send",
    "<": "expect",
    "*": "act",
    "2": "stderr",
    "~": "time",
    "=": "end",
    "!": "event",
}


def _step(line, number) -> Optional[Step]:
    if not line.strip() or line.startswith("#"):
        return None
    for mark, kind in _MARKS.items():
        if line.startswith(mark):
            rest = line[len(mark) :]
            if kind.endswith("_bytes"):
                return Step(kind, unescape(rest[1:]), number)
            if kind == "end":
                word, _, value = rest.strip().partition(" ")
                return Step(word, value, number)
            if kind in ("send", "expect"):
                return Step(kind, parse_pattern(rest), number)
            return Step(kind, rest.strip(), number)
    raise TalkError(f"line {number}: unknown mark: {line}")


def _steps(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    found = []
    for number, line in enumerate(lines[1:], 2):
        step = _step(line, number)
        if step and step.kind == "act" and step.value in ("greeted", "greets"):
            found += [Step(inner.kind, inner.value, number) for inner in _steps(path.parent / "greeting.inc")]
        elif step:
            found.append(step)
    return found


def parse(path) -> Script:
    path = pathlib.Path(path)
    head = path.read_text(encoding="utf-8").splitlines()[0].split()
    if head[:2] != ["talk", "1"] or len(head) < 3:
        raise TalkError(f"{path}: the first line is not 'talk 1 DIALECT'")
    framing = FRAMINGS.get(head[2], "lines")
    for word in head[3:]:
        key, _, value = word.partition("=")
        if key == "framing":
            framing = value
    try:
        return Script(path, head[2], framing, _steps(path))
    except (ValueError, TalkError) as error:
        raise TalkError(f"{path}: {error}") from error


# ---- values for names, and comparing ----


def fill(pattern, values, choose):
    """A pattern as a message: names get a value (choose(name) for a new one), what may be anything is null or
    absent."""
    if isinstance(pattern, Name):
        if pattern.name not in values:
            values[pattern.name] = choose(pattern.name)
        return values[pattern.name]
    if pattern is ANY:
        return None
    if isinstance(pattern, dict):
        return {key: fill(item, values, choose) for key, item in pattern.items() if key is not MORE}
    if isinstance(pattern, list):
        return [fill(item, values, choose) for item in pattern if item is not MORE]
    return pattern


def fill_known(pattern, values):
    """The names that have a value become it; the others stay."""
    if isinstance(pattern, Name):
        return values.get(pattern.name, pattern)
    if isinstance(pattern, dict):
        return {key: fill_known(item, values) for key, item in pattern.items()}
    if isinstance(pattern, list):
        return [fill_known(item, values) for item in pattern]
    return pattern


def differs(pattern, actual, values, at="", more=frozenset()):
    """What is different, as a text; None: nothing. `more`: members that any object may have beyond the
    pattern; "*": all."""
    if isinstance(pattern, Name):
        if pattern.name not in values:
            values[pattern.name] = actual
            return None
        return differs(values[pattern.name], actual, values, at)
    if pattern is ANY:
        return None
    if isinstance(pattern, dict):
        return _object_differs(pattern, actual, values, at, more)
    if isinstance(pattern, list):
        return _array_differs(pattern, actual, values, at, more)
    if _kind(pattern) != _kind(actual) or (pattern != actual and not (pattern != pattern and actual != actual)):
        return f"{at or '/'}: {show(actual)} instead of {show(pattern)}"
    return None


def _kind(value):
    number = isinstance(value, (int, float, decimal.Decimal)) and not isinstance(value, bool)
    return "number" if number else type(value).__name__


def _object_differs(pattern, actual, values, at, more):
    if not isinstance(actual, dict):
        return f"{at or '/'}: {show(actual)} instead of an object"
    for key, item in pattern.items():
        if key is MORE:
            continue
        if key not in actual:
            return f"{at}/{key}: is missing, should be {show(item)}"
        found = differs(item, actual[key], values, f"{at}/{key}", more)
        if found:
            return found
    extra = [key for key in actual if key not in pattern and key not in more]
    if extra and MORE not in pattern and "*" not in more:
        return f"{at}/{extra[0]}: is not expected: {show(actual[extra[0]])}"
    return None


def _array_differs(pattern, actual, values, at, more):
    if not isinstance(actual, list):
        return f"{at or '/'}: {show(actual)} instead of an array"
    wanted = [item for item in pattern if item is not MORE]
    if len(actual) < len(wanted) or (len(actual) > len(wanted) and MORE not in pattern):
        return f"{at or '/'}: {len(actual)} elements instead of {len(wanted)}"
    for index, item in enumerate(wanted):
        found = differs(item, actual[index], values, f"{at}/{index}", more)
        if found:
            return found
    return None


def show(value):
    return dump(value) if not isinstance(value, (Name, _Mark)) else repr(value)


class _Encoder(json.JSONEncoder):
    def default(self, o):
        if isinstance(o, decimal.Decimal):
            return float(o)
        return repr(o)


def _plain(value):
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def dump(value):
    """A message as one line of JSON, in UTF-8."""
    return json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"), cls=_Encoder)
