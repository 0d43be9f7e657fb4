# SPDX-License-Identifier: Apache-2.0
"""Plugin and @command, as gassist_sdk has them, on Tenon."""
from __future__ import annotations

import sys
from typing import Any, Callable, Dict, Optional, TypeVar, Union

import tenon
from tenon.call import Call
from tenon.dialects.gassist import Gassist
from tenon.fields import Function

from .types import CommandResult, Context, LogLevel, SystemInfo

F = TypeVar("F", bound=Callable[..., Any])
GIVEN = ("call", "context", "system_info")
NO_MCP = (
    "this gassist_sdk (of Tenon) has no MCP discovery: declare each tool with @plugin.command, "
    "or use NVIDIA's own package"
)


def command(name: Union[str, F, None] = None, description: Optional[str] = None) -> Any:
    """Marks a function of the main module as a command; run() finds it."""

    def mark(fn: F) -> F:
        fn._gassist_command = True  # type: ignore[attr-defined]
        fn._gassist_name = name if isinstance(name, str) else fn.__name__  # type: ignore[attr-defined]
        fn._gassist_description = description  # type: ignore[attr-defined]
        return fn

    return mark(name) if callable(name) else mark  # type: ignore[arg-type]


class _Gassist(Gassist):
    """context and system_info as the classes of this package."""

    def execute(self, call: Call) -> Any:
        params = call.params if isinstance(call.params, dict) else {}
        call.params = {
            **params,
            "context": Context.from_list(params.get("context")),
            "system_info": SystemInfo.from_string(params.get("system_info")),
        }
        return super().execute(call)

    def complete(self, call: Call, result: Any) -> None:
        if isinstance(result, CommandResult):
            call.success = result.success
            call.keep_session = call.keep_session or result.keep_session
            result = result.data if result.success or result.data is not None else result.error
        super().complete(call, result)


class Plugin:
    """A plugin. The dialect is always gassist."""

    def __init__(self, name: str, version: str = "1.0.0", description: str = "", **_: Any) -> None:
        self.name = name
        self.version = version
        self.description = description
        self.tenon = tenon.Plugin(name, version, description, dialect="gassist")
        self.tenon.speaks = _Gassist
        self.tenon.inputs = Function(lambda content: "Received: " + content, "on_input")

    def command(self, name: Union[str, F, None] = None, description: Optional[str] = None) -> Any:
        """Declares a command; its docstring is the description."""

        def declare(fn: F) -> F:
            self._add(name if isinstance(name, str) else fn.__name__, fn, description)
            return fn

        return declare(name) if callable(name) else declare  # type: ignore[arg-type]

    def on_input(self, fn: F) -> F:
        """Declares what gets the user's next line after set_keep_session(True)."""
        self._add("on_input", fn, None)
        return fn

    def _add(self, name: str, fn: Callable[..., Any], description: Optional[str]) -> None:
        function = Function(fn, name, GIVEN).unchecked()  # as upstream: arguments are passed on as they are
        if description is not None:
            function.description = description
        self.tenon.commands[name] = function
        if name == "on_input":
            self.tenon.inputs = function

    # ---- while a command runs

    def _running(self) -> Optional[Call]:
        call = self.tenon.session.running if self.tenon.session is not None else None
        return call if isinstance(call, Call) else None

    def stream(self, data: Any) -> None:
        """Sends a piece of the answer."""
        call = self._running()
        if call is None:
            print("gassist_sdk: stream() outside of a command does nothing", file=sys.stderr)
            return
        call.stream(data if isinstance(data, str) else str(data))

    def log(self, message: str, level: Union[LogLevel, str] = LogLevel.INFO) -> None:
        """A line for the engine's log."""
        if self.tenon.session is not None:
            word = level.value if isinstance(level, LogLevel) else level
            self.tenon.session.dialect.log(word, str(message))

    def set_keep_session(self, keep: bool) -> None:
        """Whether the user's next line comes to this plugin."""
        call = self._running()
        if call is not None:
            call.keep_session = bool(keep)

    def run(self) -> None:
        """Serves the engine until it ends."""
        marked: Dict[str, Any] = vars(sys.modules["__main__"])
        for fn in list(marked.values()):
            if getattr(fn, "_gassist_command", False) and fn._gassist_name not in self.tenon.commands:
                self._add(fn._gassist_name, fn, fn._gassist_description)
        self.tenon.run()


class MCPPlugin(Plugin):
    """Not here."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise NotImplementedError(NO_MCP)
