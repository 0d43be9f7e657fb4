# SPDX-License-Identifier: Apache-2.0
"""A plugin behind gRPC: Sunscreen's service, as a host that wants it asks for by the environment.

A call of the host becomes a JSON-RPC request on a socket pair; the session at its other end serves it as if it
had come over stdin. So everything that is true there is true here: one call at a time, on_start, cancellation,
the guard. docs/design/0009-grpc.md has the contract."""
from __future__ import annotations

import os
import re
import sys
import threading

from . import protobuf as pb
from .dialect import fitting
from .dialects.sunscreen import SunscreenJson, split_name, words_of
from .serve import Session
from .wire import Wire, decode, encode, take_stdio

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, Optional, Tuple

    from .call import Call
    from .dialect import Handler
    from .plugin import Plugin

SERVICE = "sunscreen.plugin.v1.Plugin"
STREAM = "mortise.sunscreen.v1.Stream"
VERSION = "1"  # of Sunscreen's protocol
SERVING = 1
CALLS = 72  # at a time: one runs, the others wait, and a health check finds a thread
MESSAGE_LIMIT = 256 << 20
GRACE = 2.0  # seconds for answers that are on their way when the plugin ends


class Gone(Exception):
    """The session has ended, and will not answer."""


# ---- the session's side


class SunscreenGrpc(SunscreenJson):
    """What comes over gRPC: words as they were typed, and notes where the host takes them."""

    name = "sunscreen"
    framing = "lines"
    kind = "scaffold"

    def table(self) -> Dict[str, Handler]:
        return {"run": self.run, "hook": self.hook, "shutdown": self.shutdown}

    def hook(self, call: Call) -> Any:
        context = call.params.get("context")
        call.context = context if isinstance(context, dict) else {}
        call.workspace = str(call.context.get("workspace_root") or call.params.get("workspace") or "")
        return self.run_hook(call, call.params.get("name"), call.context)

    def is_stop(self, method: str, params: Any) -> bool:
        return method == "shutdown"

    def shutdown(self, call: Call) -> Any:
        self.session.ending = True
        return True

    # ---- notes: only of a call that streams

    def stream(self, call: Call, text: str) -> None:
        if not self.note(call, "piece", {"text": text}):
            super().stream(call, text)

    def progress(self, call: Call, fraction: float, text: str) -> None:
        known = {"fraction": fraction} if fraction >= 0 else {}
        if not self.note(call, "progress", {**known, "text": text}):
            super().progress(call, fraction, text)

    def log(self, level: str, text: str) -> None:
        if not self.note(self.session.running, "log", {"level": level, "text": text}):
            super().log(level, text)

    def note(self, call: Any, what: str, fields: Dict[str, Any]) -> bool:
        params = getattr(call, "params", None)
        if not isinstance(params, dict) or not params.get("stream"):
            return False
        note = {"jsonrpc": "2.0", "method": what, "params": {"request_id": call.id, "note": fields}}
        self.session.wire.send(encode(note))
        return True


class SunscreenJsonGrpc(SunscreenGrpc):
    """For a plugin that is declared for sunscreen-json: a bare name is of the kind app."""

    kind = "app"


def dialect_of(plugin: Plugin) -> Any:
    wanted = plugin.dialect or os.environ.get("MORTISE_DIALECT")
    return SunscreenJsonGrpc if wanted == "sunscreen-json" else SunscreenGrpc


# ---- between them


class Pending:
    """One call that the session has not answered yet. `put` gets what comes about it: the name of a field of
    FromPlugin and its value. None: the session has ended."""

    def __init__(self) -> None:
        from queue import SimpleQueue

        self.queue: Any = SimpleQueue()
        self.put = self.queue.put

    def next(self) -> Tuple[str, Dict[str, Any]]:
        found: Optional[Tuple[str, Dict[str, Any]]] = self.queue.get()
        if found is None:
            raise Gone("the plugin ends")
        return found


# As Call.answer() and Call.fail() write it. What it holds is passed on as it is: no digit of it changes.
ANSWER = re.compile(rb'\{"jsonrpc":"2\.0","id":(\d+),"(result|error)":')


class Bridge:
    """The gRPC side of the socket pair: requests out, answers and notes in."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._wire = Wire(fd, fd)
        self._lock = threading.Lock()
        self._pending: Dict[int, Pending] = {}
        self._last = 0
        self._ended = False
        self.workspace = ""

    def ask(self, method: str, params: Dict[str, Any]) -> int:
        """Sends a request; its number."""
        with self._lock:
            if self._ended:
                raise Gone("the plugin ends")
            self._last += 1
            ident = self._last
            self._pending[ident] = Pending()
        self._send({"jsonrpc": "2.0", "id": ident, "method": method, "params": params})
        return ident

    def _send(self, message: Dict[str, Any]) -> None:
        from .errors import HostGone

        try:
            self._wire.send(encode(message))
        except HostGone:  # the reader sees the end, too, and tells who waits
            pass

    def next(self, ident: int) -> Tuple[str, Dict[str, Any]]:
        """What comes next about that request; its "result" is the last. Gone."""
        return self._pending[ident].next()

    def forget(self, ident: int) -> None:
        with self._lock:
            self._pending.pop(ident, None)

    def cancel(self, ident: int) -> None:
        """The host does not want it any more. Nothing if it was answered."""
        if ident in self._pending:
            self._send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": ident}})

    def read(self) -> None:
        """On a thread of its own, until the session ends."""
        while not self._wire.ended:
            for body in self._wire.receive():
                self._take(body)
        with self._lock:
            self._ended = True
            waiting = list(self._pending.values())
        for pending in waiting:
            pending.put(None)

    def _take(self, body: bytes) -> None:
        answer = ANSWER.match(body)
        if answer is not None:
            text = body[answer.end() : body.rindex(b"}")].decode()
            found = ("result", {"ok": answer.group(2) == b"result", "json_result": text})
            ident = int(answer.group(1))
        else:
            message = decode(body.decode())
            found = (message["method"], message["params"]["note"])
            ident = message["params"]["request_id"]
        pending = self._pending.get(ident)
        if pending is not None:
            pending.put(found)


# ---- the host's side


class Server:
    """The services, on grpcio."""

    def __init__(self, grpc: Any, session: Session, bridge: Bridge) -> None:
        self.grpc = grpc
        self.session = session
        self.bridge = bridge

    # ---- the five calls

    def initialize(self, asked: Dict[str, Any], context: Any) -> Dict[str, Any]:
        self.bridge.workspace = asked.get("workspace_root", "")
        return {"protocol_version": VERSION}

    def capabilities(self, asked: Dict[str, Any], context: Any) -> Dict[str, Any]:
        plugin, kind = self.session.plugin, self.session.dialect.kind  # type: ignore[attr-defined]
        commands = []
        for name, function in plugin.commands.items():
            of, bare = split_name(name, kind)
            commands.append({"kind": of, "name": bare, "summary": function.description})
        return {"commands": commands, "hooks": list(plugin.hooks), "extensions": [STREAM]}

    def run_command(self, asked: Dict[str, Any], context: Any) -> Dict[str, Any]:
        return self.result("run", self.run_params(asked), context)

    def run_params(self, asked: Dict[str, Any]) -> Dict[str, Any]:
        return {
            "kind": asked.get("kind", ""),
            "command": asked.get("name", ""),
            "args": words_of(asked.get("args")),
            "workspace": self.bridge.workspace,
        }

    def run_hook(self, asked: Dict[str, Any], context: Any) -> Dict[str, Any]:
        text = asked.get("json_context") or "{}"
        try:
            given = decode(text)
        except ValueError as problem:
            context.abort(self.grpc.StatusCode.INVALID_ARGUMENT, "json_context is not JSON: %s" % problem)
        params = {"name": asked.get("hook", ""), "context": given, "workspace": self.bridge.workspace}
        return self.result("hook", params, context)

    def shutdown(self, asked: Dict[str, Any], context: Any) -> Dict[str, Any]:
        self.result("shutdown", {}, context)
        return {"ok": True}

    def end(self, asked: Dict[str, Any], context: Any) -> Dict[str, Any]:
        """HashiCorp's way to say the same."""
        self.result("shutdown", {}, context)
        return {}

    def health(self, asked: Dict[str, Any], context: Any) -> Dict[str, Any]:
        service = asked.get("service", "")
        if service not in ("", "plugin", SERVICE):
            context.abort(self.grpc.StatusCode.NOT_FOUND, "there is no service %s" % service)
        return {"status": SERVING}

    # ---- one call of the session

    def start(self, method: str, params: Dict[str, Any], context: Any) -> int:
        """Asks the session; the end of the gRPC call before its answer cancels it there."""
        ident = self.bridge.ask(method, params)
        if not context.add_callback(lambda: self.bridge.cancel(ident)):
            self.bridge.cancel(ident)
        return ident

    def result(self, method: str, params: Dict[str, Any], context: Any) -> Dict[str, Any]:
        try:
            ident = self.start(method, params, context)
            try:
                return self.bridge.next(ident)[1]
            finally:
                self.bridge.forget(ident)
        except Gone as problem:
            if method == "shutdown":
                return {}
            context.abort(self.grpc.StatusCode.UNAVAILABLE, str(problem))
            raise

    # ---- the stream

    def run_stream(self, asked: Iterator[bytes], context: Any) -> Iterator[bytes]:
        first = self.parse(pb.FROM_HOST, next(asked, b""), context)
        if "run" not in first:
            context.abort(self.grpc.StatusCode.INVALID_ARGUMENT, "the first message must be `run`")
        try:
            ident = self.start("run", {**self.run_params(first["run"]), "stream": True}, context)
            threading.Thread(target=self.listen, args=(asked, ident), daemon=True).start()
            try:
                for message in self.notes(ident):
                    yield pb.write(pb.FROM_PLUGIN, message)
            finally:
                self.bridge.forget(ident)
        except Gone as problem:
            context.abort(self.grpc.StatusCode.UNAVAILABLE, str(problem))

    def notes(self, ident: int) -> Iterator[Dict[str, Any]]:
        while True:
            what, value = self.bridge.next(ident)
            yield {what: value}
            if what == "result":
                return

    def listen(self, asked: Iterator[bytes], ident: int) -> None:
        try:
            for data in asked:
                if "cancel" in pb.read(pb.FROM_HOST, data):
                    self.bridge.cancel(ident)
        except Exception:  # the call has ended: grpcio has no other word for it
            pass

    # ---- the table

    def parse(self, fields: pb.Fields, data: bytes, context: Any) -> Dict[str, Any]:
        try:
            return pb.read(fields, data)
        except pb.BadMessage as problem:
            context.abort(self.grpc.StatusCode.INVALID_ARGUMENT, "not such a message: %s" % problem)
            raise

    def services(self) -> Dict[str, Dict[str, Any]]:
        one, many = self.grpc.unary_unary_rpc_method_handler, self.grpc.stream_stream_rpc_method_handler

        def row(fn: Callable[..., Any], takes: pb.Fields, gives: pb.Fields) -> Any:
            return one(lambda data, context: pb.write(gives, fn(self.parse(takes, data, context), context)))

        return {
            SERVICE: {
                "Initialize": row(self.initialize, pb.INITIALIZE, pb.INITIALIZED),
                "Capabilities": row(self.capabilities, pb.NOTHING, pb.CAPABILITIES),
                "RunCommand": row(self.run_command, pb.RUN, pb.RESULT),
                "RunHook": row(self.run_hook, pb.HOOK, pb.RESULT),
                "Shutdown": row(self.shutdown, pb.NOTHING, pb.SHUTDOWN),
            },
            STREAM: {"RunCommandStream": many(self.run_stream)},
            "grpc.health.v1.Health": {"Check": row(self.health, pb.HEALTH, pb.HEALTHY)},
            "plugin.GRPCController": {"Shutdown": row(self.end, pb.NOTHING, pb.NOTHING)},
        }


# ---- where, and run


def wanted(plugin: Plugin) -> Optional[str]:
    """The socket to listen on; "": one of our own, which the first line names. None: not over gRPC."""
    path = os.environ.get("MORTISE_GRPC_SOCKET")
    if path:
        return path
    # Every host of ours says which dialect it speaks: then the variable is one of somebody further up.
    if "PLUGIN_PROTOCOL_VERSIONS" not in os.environ or "MORTISE_DIALECT" in os.environ:
        return None
    return "" if plugin.dialect in (None, "sunscreen", "sunscreen-json") and has_commands(plugin) else None


def has_commands(plugin: Plugin) -> bool:
    return "sunscreen" in fitting(plugin)


def refuse(plugin: Plugin, text: str) -> Any:
    print("%s: %s" % (plugin.name, text), file=sys.stderr)
    sys.exit(1)


def load(plugin: Plugin) -> Any:
    """grpcio, which only those need who ask for it."""
    import importlib

    try:
        return importlib.import_module("grpc")
    except ImportError as problem:
        return refuse(
            plugin,
            "the host wants gRPC, which needs grpcio (%s): install python3-grpcio, or use the transport stdio"
            % problem,
        )


def handshake(path: str) -> bytes:
    """The line that HashiCorp's hosts wait for."""
    versions = [
        int(word) for word in os.environ.get("PLUGIN_PROTOCOL_VERSIONS", "").split(",") if word.isdigit()
    ]
    return b"1|%d|unix|%s|grpc\n" % (max(versions, default=1), os.fsencode(path))


def run(plugin: Plugin, path: str) -> None:
    """Serves until the host says Shutdown, or SIGTERM comes."""
    import socket
    import tempfile

    if not has_commands(plugin):
        refuse(plugin, "the host wants gRPC, which is only for commands and hooks (sunscreen)")
    grpc = load(plugin)
    _, out_fd = take_stdio()  # kept: a host that sees the end of stdout takes it for the end of the plugin
    inner, outer = socket.socketpair()
    wire = Wire(inner.fileno(), os.dup(inner.fileno()))  # the guard tells them apart
    plugin.session = session = Session(plugin, dialect_of(plugin), wire)
    bridge = Bridge(outer.fileno())
    with tempfile.TemporaryDirectory(prefix="tenon-") if not path else _nothing() as folder:
        server = open_server(plugin, grpc, Server(grpc, session, bridge), path or os.path.join(folder, "grpc"))
        reader = threading.Thread(target=bridge.read)
        reader.start()
        server.start()
        if not path:
            os.write(out_fd, handshake(os.path.join(folder, "grpc")))
        try:
            session.run()
        finally:
            inner.shutdown(socket.SHUT_RDWR)
            reader.join()
            server.stop(GRACE).wait()


def _nothing() -> Any:
    from contextlib import nullcontext

    return nullcontext("")


def open_server(plugin: Plugin, grpc: Any, calls: Server, path: str) -> Any:
    from concurrent.futures import ThreadPoolExecutor

    sizes = [("grpc.max_receive_message_length", MESSAGE_LIMIT), ("grpc.max_send_message_length", -1)]
    server = grpc.server(ThreadPoolExecutor(CALLS), options=sizes, maximum_concurrent_rpcs=CALLS)
    for name, rows in calls.services().items():
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, rows),))
    try:
        bound = server.add_insecure_port("unix:" + path)
    except RuntimeError:
        bound = 0
    if not bound:
        refuse(plugin, "cannot listen on %s" % path)
    return server
