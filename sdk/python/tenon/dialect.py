# SPDX-License-Identifier: Apache-2.0
"""What a dialect is, and which one is spoken.

A dialect has a table: the name of a method, and the function that answers it. The session does the rest."""
from __future__ import annotations

import sys

from .call import Call
from .errors import INTERNAL_ERROR, METHOD_NOT_FOUND, PluginError
from .results import Done, Extraction, Reply
from .wire import LIMIT, decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Type

    from .fields import Function
    from .plugin import Plugin
    from .serve import Session

    Handler = Callable[[Call], Any]


class Asked:
    """A conversation waits for an answer."""

    def __init__(self, generator: Any, question: Any) -> None:
        self.generator = generator
        self.question = question


def text_of(result: Any) -> Any:
    """A result where the dialect has no richer one."""
    if isinstance(result, Reply):
        return result.text
    if isinstance(result, Extraction):
        return result.content
    if isinstance(result, Done):
        return result.summary
    return result


class Dialect:
    """The part that all share. Lines of JSON, no lifecycle."""

    name = ""
    framing = "lines"
    detects_framing = False  # the other framings are read, too, and answered in
    limit = LIMIT
    failure = INTERNAL_ERROR  # the code of an exception
    bare_commands = False  # commands are methods, too

    def __init__(self, session: Session) -> None:
        self.session = session
        self.plugin: Plugin = session.plugin
        # What another thread may answer while the author's code runs.
        self.quick: Dict[str, Handler] = {}

    def table(self) -> Dict[str, Handler]:
        return self.functions()

    def functions(self) -> Dict[str, Handler]:
        """The author's methods, and where the dialect has no better place for them, the commands."""
        named = {**self.plugin.commands, **self.plugin.methods} if self.bare_commands else self.plugin.methods
        return {name: self.serve(function) for name, function in named.items()}

    def direct(self) -> Dict[str, Function]:
        """Those of them that need nothing but their parameters."""
        named = {**self.plugin.commands, **self.plugin.methods} if self.bare_commands else self.plugin.methods
        return {name: function for name, function in named.items() if not function.kind and not function.given}

    def serve(self, function: Function) -> Handler:
        """A handler that calls an author's function with the params of the call."""

        def handler(call: Call) -> Any:
            if not self.session.started:
                self.begin(call)
            arguments = function.bind(call.params, self.plugin.strict)
            if function.wants_call:
                arguments["call"] = call
            return self.result(call, self.session.invoke(call, function, arguments))

        return handler

    def begin(self, call: Call) -> None:
        """The author's on_start, before the first call."""
        self.session.start({}, call)

    def result(self, call: Call, result: Any) -> Any:
        """What a function returned, as this dialect sends it."""
        self.no_conversation(result)
        result = text_of(result)
        if result is None or isinstance(result, str):
            return call.with_pieces(result)
        if call._pieces is not None:
            self.log("info", "".join(call._pieces))
        return result

    def no_conversation(self, result: Any) -> None:
        if isinstance(result, Asked):
            result.generator.close()
            raise PluginError(INTERNAL_ERROR, "the dialect %s has no conversations" % self.name)

    def other(self, call: Call) -> Any:
        """A method that is not in the table."""
        raise PluginError(METHOD_NOT_FOUND, "Method not found: %s" % call.method, {"method": call.method})

    def failed(self, call: Call, problem: PluginError) -> None:
        """An error goes out."""
        call.fail(problem)

    def is_stop(self, method: str, params: Any) -> bool:
        """Whether the message asks the plugin to end."""
        return False

    def close(self) -> None:
        """The session ends: conversations that wait get no answer."""

    # ---- what a call says while it runs

    def stream(self, call: Call, text: str) -> None:
        call.piece(text)

    def progress(self, call: Call, fraction: float, text: str) -> None:
        self.log("info", "%d%% %s" % (round(fraction * 100), text))

    def log(self, level: str, text: str) -> None:
        print("%s: %s" % (level, text), file=sys.stderr, flush=True)


PLAIN = {str, int, float, bool, dict, list, type(None)}

# ---- which one

MODULES = {
    "yams": ("yams", "Yams"),
    "ayiou": ("ayiou", "Ayiou"),
    "gassist": ("gassist", "Gassist"),
    "sunscreen": ("sunscreen", "Sunscreen"),
    "sunscreen-json": ("sunscreen", "SunscreenJson"),
    "plain": ("plain", "Plain"),
}
DIALECTS = [*MODULES, "kythe"]
BY_METHOD = {
    "handshake.manifest": "yams",
    "metadata": "ayiou",
    "matches": "ayiou",
    "lifecycle": "ayiou",
    "commands": "sunscreen",
    "run": "sunscreen",
    "hook": "sunscreen",
}


def dialect_class(name: str) -> Type[Dialect]:
    """Only the one that is spoken is imported."""
    module, cls = MODULES[name]
    package = __name__.rpartition(".")[0] + ".dialects." + module
    __import__(package)
    found: Type[Dialect] = getattr(sys.modules[package], cls)
    return found


def guess(first: bytes, ended: bool = False) -> Optional[str]:
    """The dialect that the first bytes speak; None: more of them are needed."""
    start = first.lstrip(b" \t\r\n")
    if first[:1] == b"\0":
        return "gassist"
    if not start and not ended:
        return None
    if start[:1] not in (b"{", b"["):
        header = b"content-length:"
        if start[: len(header)].lower() == header:
            return "sunscreen-json"
        return None if not ended and header.startswith(start.lower()) else "plain"
    if b"\n" not in start and not ended:
        return None
    try:
        message = decode(start.partition(b"\n")[0].decode())
    except ValueError:
        return "plain"
    method = message.get("method") if isinstance(message, dict) else None
    if not isinstance(method, str):
        return "plain"
    return "yams" if method.startswith("plugin.") else BY_METHOD.get(method, "plain")


def fitting(plugin: Any) -> List[str]:
    """The dialects that the declarations fit, in the order of DIALECTS."""
    found = set()
    if plugin.commands:
        found |= {"ayiou", "gassist", "sunscreen", "sunscreen-json"}
    if plugin.hooks:
        found |= {"sunscreen", "sunscreen-json"}
    if plugin.extractors:
        found.add("yams")
    if plugin.handlers:
        found.add("ayiou")
    if plugin.analyses:
        found.add("kythe")
    return [name for name in DIALECTS if name in found] or ["plain"]


def declared(plugin: Any, wanted: str) -> Optional[str]:
    """The dialect that is fixed before a byte was read; `wanted` is MORTISE_DIALECT."""
    if wanted in MODULES or (wanted == "kythe" and plugin.analyses):
        return wanted
    if plugin.dialect:
        return str(plugin.dialect)
    fits = fitting(plugin)
    return fits[0] if len(fits) == 1 else None
