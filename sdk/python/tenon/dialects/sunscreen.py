# SPDX-License-Identifier: Apache-2.0
"""sunscreen and sunscreen-json: commands and hooks of a workspace."""
from __future__ import annotations

from ..call import Call
from ..dialect import Dialect
from ..errors import METHOD_NOT_FOUND, PluginError, wrong
from ..results import Done

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Tuple

    from ..dialect import Handler
    from ..fields import Function


def split_name(name: str, kind: str) -> Tuple[str, str]:
    """KIND and NAME of a command."""
    before, colon, after = name.partition(":")
    return (before, after) if colon else (kind, name)


class Sunscreen(Dialect):
    name = "sunscreen"
    detects_framing = True
    failure = 1
    kind = "scaffold"  # of a bare name

    def table(self) -> Dict[str, Handler]:
        return {"commands": self.commands, "run": self.run, "hook": self.hook, **self.functions()}

    def commands(self, call: Call) -> Any:
        out: Dict[str, Dict[str, str]] = {}
        for name, function in self.plugin.commands.items():
            kind, bare = split_name(name, self.kind)
            out.setdefault(kind, {})[bare] = function.description
        if self.plugin.hooks:
            out["hook"] = {name: function.description for name, function in self.plugin.hooks.items()}
        return out

    def find(self, wanted: Any) -> Function:
        if not isinstance(wanted, str):
            raise wrong("command", "is missing")
        commands = self.plugin.commands
        for name in commands:
            kind, bare = split_name(name, self.kind)
            if wanted == kind + ":" + bare:
                return commands[name]
        for name in commands:
            if wanted == split_name(name, self.kind)[1]:
                return commands[name]
        raise PluginError(METHOD_NOT_FOUND, "Method not found: %s" % wanted, {"command": wanted})

    def run(self, call: Call) -> Any:
        params = call.params if isinstance(call.params, dict) else {}
        function = self.find(params.get("command"))
        call.args = words_of(params.get("args"))
        flags = params.get("flags")
        call.flags = flags if isinstance(flags, dict) else {}
        call.workspace = str(params.get("workspace_root") or "")
        return self.command(call, function, call.args, params.get("config"))

    def command(self, call: Call, function: Function, words: List[str], config: Any) -> Any:
        self.session.config = config if isinstance(config, dict) else {}
        if not self.session.started:
            self.session.start(self.session.config, call)
        call.method = function.name
        positions, arguments = function.bind_words(words, call.flags, {"call": call})
        return self.done(call, self.session.invoke(call, function, arguments, positions))

    def hook(self, call: Call) -> Any:
        params = call.params if isinstance(call.params, dict) else {}
        context = params.get("context")
        call.context = context if isinstance(context, dict) else {}
        call.workspace = str(call.context.get("workspace_root") or "")
        return self.run_hook(call, params.get("name"), call.context)

    def run_hook(self, call: Call, name: Any, context: Dict[str, Any]) -> Any:
        function = self.plugin.hooks.get(name.rpartition(":")[2]) if isinstance(name, str) else None
        if function is None:
            raise PluginError(METHOD_NOT_FOUND, "Method not found: %s" % name, {"hook": name})
        if not self.session.started:
            self.session.start({}, call)
        call.method = function.name
        arguments = function.bind(context)
        if function.wants_call:
            arguments["call"] = call
        return self.done(call, self.session.invoke(call, function, arguments))

    def done(self, call: Call, result: Any) -> Any:
        self.no_conversation(result)
        if isinstance(result, dict):
            return {"files_written": [], "summary": "", **result}
        if not isinstance(result, Done):
            said = self.result(call, result)
            return {"files_written": [], "summary": said if isinstance(said, str) else _text(said)}
        return {"files_written": result.files_written, "summary": call.with_pieces(result.summary)}


def _text(value: Any) -> str:
    from ..fields import show

    return "" if value is None else show(value)


def words_of(args: Any) -> List[str]:
    if args is None:
        return []
    if not isinstance(args, list) or not all(isinstance(word, str) for word in args):
        raise wrong("args", "an array of strings is expected")
    return list(args)


class SunscreenJson(Sunscreen):
    """One process for each call: it ends at the end of stdin."""

    name = "sunscreen-json"
    framing = "headers"
    kind = "app"

    def table(self) -> Dict[str, Handler]:
        return {"sunscreen.command/run": self.run, "sunscreen.hook/run": self.hook, **self.functions()}

    def run(self, call: Call) -> Any:
        params = self.place(call)
        wanted, kind = params.get("command"), params.get("kind")
        if isinstance(kind, str) and isinstance(wanted, str) and ":" not in wanted:
            function = self.find_kind(kind, wanted)
        else:
            function = self.find(wanted)
        call.args = words_of(params.get("args"))
        words, call.flags = flags_of(call.args, function)
        return self.command(call, function, words, None)

    def find_kind(self, kind: str, name: str) -> Function:
        try:
            return self.find(kind + ":" + name)
        except PluginError:
            return self.find(name)

    def hook(self, call: Call) -> Any:
        params = self.place(call)
        call.args = words_of(params.get("args"))
        call.context = {"workspace_root": call.workspace, "args": call.args}
        return self.run_hook(call, params.get("command"), call.context)

    @staticmethod
    def place(call: Call) -> Dict[str, Any]:
        params = call.params if isinstance(call.params, dict) else {}
        call.workspace = str(params.get("workspace") or "")
        return params


def flags_of(args: List[str], function: Function) -> Tuple[List[str], Dict[str, Any]]:
    """Words and flags of a command line that came whole: --k v, --k=v, --k, repeated; -- ends the flags."""
    switches = {field.name for field in function.fields if field.kind == "boolean"}
    words: List[str] = []
    flags: Dict[str, Any] = {}
    rest = list(args)
    while rest:
        word = rest.pop(0)
        if word == "--":
            words += rest
            break
        if not word.startswith("--"):
            words.append(word)
            continue
        name, equals, value = word[2:].partition("=")
        given: Any = value if equals else True
        if not equals and name.replace("-", "_") not in switches and rest and not rest[0].startswith("-"):
            given = rest.pop(0)
        if name in flags:
            before: Optional[Any] = flags[name]
            given = (before if isinstance(before, list) else [before]) + [given]
        flags[name] = given
    return words, flags
