# SPDX-License-Identifier: Apache-2.0
"""The declaration of a plugin."""
from __future__ import annotations

import os
import sys

from .fields import Function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Sequence, Type, TypeVar, Union

    from .dialect import Dialect
    from .serve import Session

    F = TypeVar("F", bound=Callable[..., Any])

GIVEN = ("call",)


class Extractor:
    """A function that makes text of files, and which."""

    def __init__(self, function: Function, formats: Sequence[str], extensions: Sequence[str]) -> None:
        self.function = function
        self.formats = list(formats)
        self.extensions = ["." + text.lstrip(".") for text in extensions]

    def supports(self, mime_type: Optional[str], extension: Optional[str]) -> bool:
        known = [text.lower() for text in self.extensions]
        suffix = "." + extension.lstrip(".").lower() if extension else None
        return (mime_type or "").lower() in [text.lower() for text in self.formats] or suffix in known


class Handler:
    """A function for chat messages, and which."""

    def __init__(self, function: Function, match: Any) -> None:
        self.function = function
        self.match = match


class Plugin:
    """A plugin: declare functions with its decorators, then `run()`.

    name: How hosts call it.
    version: A semantic version.
    description: One line for people.
    author: Who wrote it.
    dialect: The only dialect that it speaks. Without it the declarations decide, or the host's first bytes;
        the variable MORTISE_DIALECT wins over both.
    strict: Refuses parameters that no function declares; else they are dropped.
    interfaces: yams: interfaces beside content_extractor_v1.
    capabilities: yams: more of them, as the handshake has them.
    permissions: sunscreen: what the manifest asks for, like {"network": True}. Without a word of yours, only to
        write in the workspace.
    """

    def __init__(
        self,
        name: str,
        version: str = "0.1.0",
        description: str = "",
        author: str = "",
        dialect: Optional[str] = None,
        strict: bool = False,
        interfaces: Sequence[str] = (),
        capabilities: Optional[Dict[str, Any]] = None,
        permissions: Optional[Dict[str, Any]] = None,
    ) -> None:
        from .dialect import DIALECTS

        if dialect is not None and dialect not in DIALECTS:
            raise ValueError("dialect %r is none of %s" % (dialect, ", ".join(DIALECTS)))
        self.name = name
        self.version = version
        self.description = description
        self.author = author
        self.dialect = dialect
        self.strict = strict
        self.interfaces = list(interfaces)
        self.capabilities = dict(capabilities or {})
        self.permissions = dict(permissions or {})
        self.methods: Dict[str, Function] = {}
        self.commands: Dict[str, Function] = {}
        self.aliases: Dict[str, List[str]] = {}
        self.hooks: Dict[str, Function] = {}
        self.extractors: List[Extractor] = []
        self.handlers: List[Handler] = []
        self.analyses: Dict[str, Callable[..., Any]] = {}
        self.encoding = "protobuf"
        self.starts: Optional[Function] = None
        self.stops: Optional[Function] = None
        self.inputs: Optional[Function] = None  # gassist: input that no conversation waits for
        self.speaks: Optional[Type[Dialect]] = None  # a dialect made for this plugin
        self.session: Optional[Session] = None

    # ---- declarations

    def method(self, name: Union[str, F, None] = None) -> Any:
        """Declares a method by its name on the wire: `@plugin.method` or `@plugin.method("a.b")`."""
        return self._named(self.methods, name)

    def command(self, name: Union[str, F, None] = None, aliases: Sequence[str] = ()) -> Any:
        """Declares a command: a gassist function, a sunscreen command, an ayiou `/command`.

        name: Without it, the function's own. For sunscreen it may be KIND:NAME.
        aliases: ayiou: other words for it.
        """

        def declare(fn: F) -> F:
            declared = self._declare(self.commands, name if isinstance(name, str) else "", fn)
            self.aliases[declared] = list(aliases)
            return fn

        return declare(name) if callable(name) else declare  # type: ignore[arg-type]

    def hook(self, name: Union[str, F, None] = None) -> Any:
        """Declares a hook (sunscreen): `@plugin.hook("after_build")`. Its parameters come from the context."""
        return self._named(self.hooks, name)

    def extractor(self, formats: Sequence[str] = (), extensions: Sequence[str] = ()) -> Callable[[F], F]:
        """Declares an extractor (yams): what makes text of files.

        formats: MIME types.
        extensions: Endings like ".pdf".

        A parameter `path` of the function gets the path of a file, `data` its bytes, `source` both; the
        others are options. It returns a text or an Extraction.
        """

        def declare(fn: F) -> F:
            function = Function(fn, "", ("call", "path", "data", "source"))
            self.extractors.append(Extractor(function, formats, extensions))
            return fn

        return declare

    def handler(self, match: Any = None) -> Any:
        """Declares a handler of chat messages (ayiou).

        match: A regular expression that is searched in the text; its named groups are parameters of the
            function. Or a function of the message. None: every message. A parameter `message` gets the message.
        """

        def declare(fn: F) -> F:
            self.handlers.append(Handler(Function(fn, "", ("call", "message")), match))
            return fn

        if callable(match) and not hasattr(match, "search") and getattr(match, "__name__", "") != "<lambda>":
            fn, match = match, None
            return declare(fn)
        return declare

    def analysis(self, *types: str, encoding: str = "protobuf") -> Callable[[F], F]:
        """Declares the analysis (kythe) of these types: a function of the analyzer and the unit. There is one:
        a record does not say for which type it was given out."""

        def declare(fn: F) -> F:
            if not types or self.analyses:
                raise ValueError("one analysis, of one or more types, is expected")
            for name in types:
                self.analyses[name] = fn
            self.encoding = encoding
            return fn

        return declare

    def on_start(self, fn: F) -> F:
        """Runs when the host greets, or before the first call. A parameter gets the configuration; what it
        returns (a dict) is the configuration as applied. An exception is the answer to the greeting."""
        self.starts = Function(fn)
        return fn

    def on_stop(self, fn: F) -> F:
        """Runs once for each start: at shutdown, at the end of stdin, at SIGTERM."""
        self.stops = Function(fn)
        return fn

    def _named(self, table: Dict[str, Function], name: Any) -> Any:
        def declare(fn: F) -> F:
            self._declare(table, name if isinstance(name, str) else "", fn)
            return fn

        return declare(name) if callable(name) else declare

    def _declare(self, table: Dict[str, Function], name: str, fn: Callable[..., Any]) -> str:
        function = Function(fn, name, GIVEN)
        if function.name in table:
            raise ValueError("%s is declared twice" % function.name)
        table[function.name] = function
        return function.name

    # ---- run

    def run(self) -> None:
        """Serves the host on stdin and stdout until it ends, or over gRPC where the host asks for that.
        `--manifest [DIALECT]` prints the manifest, `--help` what the program is."""
        if len(sys.argv) > 1 and sys.argv[1].startswith(("--man", "--hel")):
            from .manifest import answer_option

            answer_option(self, *sys.argv[1:3])
            return
        if "MORTISE_GRPC_SOCKET" in os.environ or "PLUGIN_PROTOCOL_VERSIONS" in os.environ:
            from .over_grpc import run as run_grpc, wanted

            socket = wanted(self)
            if socket is not None:
                run_grpc(self, socket)
                return
        if os.isatty(0) and os.isatty(1):
            print(
                "%s waits for a host on stdin; try: mortise info %s" % (self.name, sys.argv[0]), file=sys.stderr
            )
        from .dialect import declared

        name = declared(self, os.environ.get("MORTISE_DIALECT", ""))
        if name == "kythe":
            from .dialects.kythe import run

            run(self)
            return
        self._serve(name)

    def _serve(self, name: Optional[str]) -> None:
        from .dialect import dialect_class, guess
        from .serve import Session
        from .wire import Wire, framing_of, take_stdio

        wire = Wire(*take_stdio())
        first = b""
        while name is None:
            first = wire.first()
            name = guess(first, wire.ended)
        dialect = self.speaks or dialect_class(name)
        wire.limit = dialect.limit
        framing: Optional[str] = dialect.framing
        if dialect.detects_framing:
            framing = framing_of(first) if first else None
            while framing is None and not wire.ended:
                framing = framing_of(wire.first())
        wire.use(framing or dialect.framing)
        self.session = Session(self, dialect, wire)
        self.session.run()
