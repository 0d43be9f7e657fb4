# SPDX-License-Identifier: Apache-2.0
"""The parameters of a function: from its hints and its docstring to the check of a call and the
schema of a tool.

Nothing here imports inspect or typing: they would cost more than the rest of the start.
"""
from __future__ import annotations

import re
import sys

from .errors import wrong
from .wire import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

    Signature = Tuple[List[str], List[str], List[str], Dict[str, Any], Dict[str, Any], bool, bool]

MISSING: Any = type("Missing", (), {"__repr__": lambda self: "MISSING"})()
NAMES = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "array": "an array",
    "object": "an object",
}
BY_CLASS = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object"}
CLASSES = {name: kind for kind, name in BY_CLASS.items()}
WORDS = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}


def show(value: Any) -> str:
    """A value as a person would know it again: its JSON, cut."""
    try:
        text = encode(value).decode()
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


class Field:
    """One parameter."""

    def __init__(self, name: str, kind: str = "any") -> None:
        self.name = name
        self.kind = kind
        self.required = True
        self.default: Any = MISSING
        self.nullable = False
        self.choices: Optional[List[Any]] = None
        self.make: Optional[Callable[[Any], Any]] = None  # an Enum class: from the choice to its member
        self.items: Optional[Field] = None
        self.description = ""

    def check(self, value: Any, where: str) -> Any:
        """The value as the function gets it. PluginError names the field."""
        if value is None and self.nullable:
            return None
        if self.choices is not None:
            return self._choose(value, where)
        kind = self.kind
        if kind == "any":
            return value
        given = type(value)
        if given is CLASSES[kind]:
            if kind == "array" and self.items is not None:
                return [self.items.check(item, "%s[%d]" % (where, i)) for i, item in enumerate(value)]
            return value
        if kind == "number" and given is int:
            return value
        if kind == "integer" and given is float and value.is_integer():
            return int(value)
        raise wrong(where, "%s is expected, not %s" % (NAMES[kind], show(value)))

    def _choose(self, value: Any, where: str) -> Any:
        assert self.choices is not None
        for choice in self.choices:
            if choice == value and type(choice) is type(value):
                return self.make(value) if self.make else value
        known = ", ".join(show(choice) for choice in self.choices)
        raise wrong(where, "one of %s is expected, not %s" % (known, show(value)))

    def from_text(self, value: Any, where: str) -> Any:
        """The same for a word that somebody typed. What is no text is checked as it is."""
        if type(value) is list and self.kind != "array":
            raise wrong(where, "is given %d times" % len(value))
        if self.kind == "array" and type(value) is not list:
            value = [value]
        if type(value) is list and self.items is not None:
            return [self.items.from_text(item, "%s[%d]" % (where, i)) for i, item in enumerate(value)]
        return self.check(self._read(value) if type(value) is str else value, where)

    def _read(self, text: str) -> Any:
        kind = self.kind
        if self.choices is not None:
            kind = BY_CLASS.get(type(self.choices[0]), "string")
        try:
            if kind == "integer":
                return int(text)
            if kind == "number":
                return float(text)
            if kind == "object":
                import json

                return json.loads(text)
        except ValueError:
            return text
        return WORDS.get(text.lower(), text) if kind == "boolean" else text

    def schema(self) -> Dict[str, Any]:
        """As JSON Schema, and as G-Assist's manifest has it."""
        out: Dict[str, Any] = {} if self.kind == "any" else {"type": self.kind}
        if self.choices is not None:
            out["enum"] = list(self.choices)
        if self.items is not None and self.items.kind != "any":
            out["items"] = self.items.schema()
        if self.description:
            out["description"] = self.description
        if self.default is not MISSING and self.default is not None:
            default = getattr(self.default, "value", self.default) if self.make else self.default
            out["default"] = default
        return out


# ---- from hints


def _members(hint: Any) -> Tuple[Any, ...]:
    """The types of a Union, None left out; empty for another type."""
    origin = getattr(hint, "__origin__", None)
    typing = sys.modules.get("typing")
    union = typing is not None and origin is typing.Union
    if union or type(hint).__name__ == "UnionType":
        return tuple(hint.__args__)
    return ()


def field_of(name: str, hint: Any) -> Field:
    """A hint that says nothing we know is any."""
    field = Field(name)
    members = _members(hint)
    if members:
        rest = [member for member in members if member is not type(None)]
        if len(rest) == 1:
            field = field_of(name, rest[0])
        field.nullable = len(rest) < len(members)
        return field
    origin = getattr(hint, "__origin__", None)
    if str(origin) == "typing.Literal":
        field.choices = list(hint.__args__)
    elif hasattr(hint, "__members__"):  # an Enum class, without importing enum
        field.choices = [member.value for member in hint]
        field.make = hint
    elif origin is not None:
        return _generic(name, hint, origin)
    elif isinstance(hint, type) and hint in BY_CLASS:
        field.kind = BY_CLASS[hint]
    if field.choices:
        field.kind = BY_CLASS.get(type(field.choices[0]), "any")
    return field


def _generic(name: str, hint: Any, origin: Any) -> Field:
    field = Field(name)
    arguments = getattr(hint, "__args__", ()) or ()
    if hasattr(hint, "__metadata__"):  # Annotated[X, ...]
        field = field_of(name, origin)
        for note in hint.__metadata__:
            if isinstance(note, str):
                field.description = note
    elif origin is dict or getattr(origin, "__name__", "") in ("Mapping", "MutableMapping"):
        field.kind = "object"
    elif origin is list or getattr(origin, "__name__", "") in ("Sequence", "Iterable"):
        field.kind = "array"
        if arguments:
            field.items = field_of(name, arguments[0])
    return field


# ---- from docstrings

_NOTE = re.compile(r"^\s*(?::param\s+)?(?:\w+\s+)?\*{0,2}(\w+)(?:\s*\([^)]*\))?\s*:\s+(.*)$")


def read_docstring(text: Optional[str], names: Sequence[str]) -> Tuple[str, Dict[str, str]]:
    """The first paragraph in one line, and what lines `name: text` say about parameters."""
    lines = (text or "").expandtabs().strip().splitlines()
    head: List[str] = []
    notes: Dict[str, str] = {}
    current, indent, in_head = "", 0, True
    for line in lines:
        found = _NOTE.match(line)
        depth = len(line) - len(line.lstrip())
        if found and found.group(1) in names:
            current, indent, in_head = found.group(1), depth, False
            notes[current] = found.group(2).strip()
        elif not line.strip():
            current, in_head = "", in_head and not head
        elif current and depth > indent:
            notes[current] += " " + line.strip()
        elif in_head:
            head.append(line.strip())
    return " ".join(head), notes


# ---- a function


class Function:
    """An author's function and what it wants.

    `given` are the names of parameters that the library fills in itself, like `call`; they are no fields.
    """

    def __init__(self, fn: Callable[..., Any], name: str = "", given: Sequence[str] = ("call",)) -> None:
        self.fn = fn
        self.name = name or getattr(fn, "__name__", "") or type(fn).__name__
        names, only, required, defaults, hints, self.rest, self.extra = _signature(fn)
        self.given = [n for n in names if n in given]
        self._order = [n for n in names if n not in only]
        names = [n for n in names if n not in given]
        self.description, notes = read_docstring(getattr(fn, "__doc__", None), names)
        self.fields: List[Field] = []
        for n in names:
            field = field_of(n, hints.get(n, MISSING))
            field.required = n in required
            field.default = defaults.get(n, MISSING)
            field.nullable = field.nullable or field.default is None
            field.description = notes.get(n, field.description)
            self.fields.append(field)
        self.positions = [f for f in self.fields if f.name not in only]  # the others have names alone
        self.wants_call = "call" in self.given
        self.kind = _kind(fn)
        # For bind(): the name, the only class whose values need no look, and the field.
        self._plan = [(f.name, _exact(f), f) for f in self.fields]
        self._known = {f.name for f in self.fields}

    def bind(self, params: Any, strict: bool = False) -> Dict[str, Any]:
        """The arguments of a call whose parameters came as JSON."""
        if type(params) is not dict:
            params = self._named(params)
        out: Dict[str, Any] = {}
        for name, exact, field in self._plan:
            if name in params:
                value = params[name]
                out[name] = value if type(value) is exact else field.check(value, name)
            elif field.required:
                raise wrong(name, "is missing")
        if len(params) > len(out) and (self.extra or strict):
            for name in params:
                if name in self._known:
                    continue
                if not self.extra:
                    raise wrong(name, "is not known")
                out[name] = params[name]
        return out

    def _named(self, params: Any) -> Dict[str, Any]:
        if params is None:
            return {}
        if type(params) is not list:
            raise wrong("params", "an object or an array is expected, not %s" % show(params))
        if len(params) > len(self.positions):
            raise wrong("params", "at most %d are expected, not %d" % (len(self.positions), len(params)))
        return {field.name: value for field, value in zip(self.positions, params)}

    def bind_words(
        self, words: Sequence[str], flags: Dict[str, Any], given: Dict[str, Any]
    ) -> Tuple[List[Any], Dict[str, Any]]:
        """The arguments of a call that somebody typed: words by position, the others by name, and what the
        library fills in."""
        out: Dict[str, Any] = {}
        count = len(self.positions)
        flags = {name.replace("-", "_"): value for name, value in flags.items()}
        if len(words) > count and not self.rest:
            raise wrong("args", "at most %d are expected, not %d" % (count, len(words)))
        for field, word in zip(self.positions, words):
            out[field.name] = field.from_text(word, field.name)
        for field in self.fields:
            if field.name in out:
                continue
            if field.name in flags:
                out[field.name] = field.from_text(flags[field.name], field.name)
            elif field.required:
                raise wrong(field.name, "is missing")
        if self.extra:
            out.update((name, value) for name, value in flags.items() if name not in out)
        out.update((name, given[name]) for name in self.given)
        if len(words) > count:  # before *rest all others must be positions, too
            return [out.pop(name) for name in self._order] + list(words[count:]), out
        return [], out

    def unchecked(self) -> Function:
        """The same without types: whatever comes is passed on."""
        for field in self.fields:
            field.kind, field.choices, field.items = "any", None, None
        self._plan = [(field.name, MISSING, field) for field in self.fields]
        return self

    def schema(self) -> Dict[str, Any]:
        """`properties` and `required` of the tool."""
        return {
            "properties": {field.name: field.schema() for field in self.fields},
            "required": [field.name for field in self.fields if field.required],
        }


def _exact(field: Field) -> Any:
    if field.choices is not None or field.items is not None or field.kind == "any":
        return MISSING
    return CLASSES[field.kind]


def _kind(fn: Any) -> str:
    """ "", "generator" or "coroutine"."""
    code = getattr(fn, "__code__", None) or getattr(getattr(fn, "__func__", None), "__code__", None)
    flags = code.co_flags if code is not None else 0
    if flags & 0x200:
        raise TypeError("an async generator cannot return: write `async def` without yield, or `def` with it")
    return "generator" if flags & 0x20 else "coroutine" if flags & 0x80 else ""


def _signature(fn: Any) -> Signature:
    """Names, those without a position, the required ones, defaults, hints, whether it takes *rest, **extra."""
    plain = getattr(fn, "__func__", fn)
    code = getattr(plain, "__code__", None)
    if code is None or hasattr(fn, "__wrapped__"):
        return _inspected(fn)
    if getattr(code, "co_posonlyargcount", 0):
        raise TypeError("%s: parameters before / have no names on the wire" % fn.__name__)
    count, only = code.co_argcount, code.co_kwonlyargcount
    names = list(code.co_varnames[: count + only])
    values = plain.__defaults__ or ()
    defaults = dict(zip(names[count - len(values) : count], values))
    defaults.update(plain.__kwdefaults__ or {})
    if fn is not plain:  # a bound method
        names = names[1:]
    required = [name for name in names if name not in defaults]
    hints = {name: _hint(hint, plain) for name, hint in (plain.__annotations__ or {}).items()}
    rest, extra = bool(code.co_flags & 4), bool(code.co_flags & 8)
    return names, names[len(names) - only :], required, defaults, hints, rest, extra


def _hint(hint: Any, fn: Any) -> Any:
    """With `from __future__ import annotations` a hint is a text."""
    if not isinstance(hint, str):
        return hint
    try:
        return eval(hint, getattr(fn, "__globals__", {}))  # the author's own source
    except Exception:
        return MISSING


def _inspected(fn: Any) -> Signature:
    import inspect

    names: List[str] = []
    only: List[str] = []
    required: List[str] = []
    defaults: Dict[str, Any] = {}
    hints: Dict[str, Any] = {}
    rest = extra = False
    for name, parameter in inspect.signature(fn).parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            rest = True
        elif parameter.kind is parameter.VAR_KEYWORD:
            extra = True
        else:
            names.append(name)
            if parameter.kind is parameter.KEYWORD_ONLY:
                only.append(name)
            if parameter.default is parameter.empty:
                required.append(name)
            else:
                defaults[name] = parameter.default
            if parameter.annotation is not parameter.empty:
                hints[name] = _hint(parameter.annotation, inspect.unwrap(fn))
    return names, only, required, defaults, hints, rest, extra
