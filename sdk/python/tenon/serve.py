# SPDX-License-Identifier: Apache-2.0
"""The session: messages in, answers out, and a second thread on guard.

The author's code runs on the thread that called run(), one call at a time. This thread also reads. If one call
lasts longer than about 20 ms, the guard takes over the reading until the call has ended: it answers what the
dialect calls quick, notices shutdown and the end of stdin, and keeps the rest in order. `reading` is the lock
of the thread that reads; the author's code runs without it.
"""
from __future__ import annotations

import os
import select  # not first when it is needed: beside a busy thread an import takes long
import sys
import time
import _thread
from collections import deque

from .call import Call, NOTHING
from .dialect import PLAIN, Asked, Dialect
from .errors import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, HostGone, PluginError, Stop
from .wire import BadFrame, Digits, TooDeep, TooLong, decode, encode, members

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Deque, Dict, List, Optional, Sequence, Set, Tuple, Type, Union

    from .fields import Function

    Item = Union[bytes, Tuple[Any, str]]  # a body, or what was made of it

LOOK_EVERY = 0.01  # seconds between two looks of the guard: it takes over after one or two
LOOKS_BEFORE_SLEEP = 100  # looks without a call, after which it sleeps until the next one
GRACE = 2.0  # seconds that a running call has to end
CANCEL = "$/cancelRequest"
MISSING: Any = object()


class Session:
    """One conversation with a host."""

    def __init__(self, plugin: Any, dialect: Type[Dialect], wire: Any) -> None:
        self.plugin = plugin
        self.wire = wire
        self.config: Any = {}
        self.started = False
        self.ending = False  # the dialect's shutdown: this was the last message
        self.stopping = False  # SIGTERM, or nobody reads
        self.running: Any = None  # the call, or the message of one that needs none
        self.queue: Deque[Item] = deque()
        self.asleep = False  # the guard
        self._pid = os.getpid()
        self._idle = False
        self._deadline = 0.0
        self._loop: Any = None
        self._signals: Set[int] = set()  # those that end us
        self._cancelled: Set[bytes] = set()  # ids of calls that wait, and are not wanted any more
        self.reading = _thread.allocate_lock()
        self.reading.acquire()
        self.dialect = dialect(self)
        self.table = self.dialect.table()
        self.direct = self.dialect.direct()

    # ---- one message

    def message(self, body: bytes) -> None:
        try:
            text = body.decode()
            message = decode(text)
        except ValueError as problem:
            self._unreadable(body, problem)
            return
        if type(message) is dict:
            # The short way of what one() does: most calls are of this kind, and need no Call.
            ident, method = message.get("id"), message.get("method")
            function = self.direct.get(method) if type(method) is str else None
            if function is not None and self.started and type(ident) is int and ident:
                try:
                    arguments = function.bind(message.get("params"), self.plugin.strict)
                    result = self.guarded(message, function.fn, (), arguments)
                    if type(result) in PLAIN:
                        self.wire.send(b'{"jsonrpc":"2.0","id":%d,"result":%s}' % (ident, encode(result)))
                        return
                except Exception as problem:
                    self._failed(Call(self, function.name, None, b"%d" % ident, self.wire.send), problem)
                    return
                call = Call(self, function.name, message.get("params"), b"%d" % ident, self.wire.send)
                self._finish(call, lambda call: self.dialect.result(call, result))
                return
        self.dispatch(message, text)

    def dispatch(self, message: Any, text: str) -> None:
        if type(message) is dict:
            self.one(message, text, self.wire.send)
        elif type(message) is list and message:
            self._batch(message, text)
        else:
            self._refuse(b"null", INVALID_REQUEST, "Invalid Request: not an object")

    def one(self, message: Dict[str, Any], text: str, send: Callable[[bytes], None]) -> None:
        method = message.get("method")
        if type(method) is not str:
            self._no_request(message, text, send)
            return
        call = Call(self, method, message.get("params"), id_of(message, text), send)
        if call.id_text in self._cancelled:
            self._cancelled.discard(call.id_text)
            call.cancelled = True
        self._finish(call, self.table.get(method) or self.dialect.other)

    def _finish(self, call: Call, handler: Callable[[Call], Any]) -> None:
        try:
            result = handler(call)
            if result is not NOTHING:
                call.answer(result)
        except Exception as problem:
            self._failed(call, problem)

    def _failed(self, call: Call, problem: Exception) -> None:
        if isinstance(problem, PluginError):
            self.dialect.failed(call, problem)
        else:
            self.report()
            self.dialect.failed(call, self._as_error(problem))

    def _as_error(self, problem: Exception) -> PluginError:
        name = type(problem).__name__
        return PluginError(None, str(problem) or name, {"reason": name})

    def report(self) -> None:
        """The traceback of the exception that is handled now, to stderr."""
        kind, value, trace = sys.exc_info()
        while trace is not None and trace.tb_next is not None and _ours(trace):
            trace = trace.tb_next
        if kind is not None and value is not None:
            sys.__excepthook__(kind, value.with_traceback(trace), trace)

    def _batch(self, messages: List[Any], text: str) -> None:
        """JSON-RPC 2.0, section 6: the answers in one array; nothing is sent if no request wants an answer."""
        answers: List[bytes] = []
        texts = members(text)
        for i, message in enumerate(messages):
            if type(message) is dict:
                self.one(message, texts.get(str(i), ""), answers.append)
            else:
                answers.append(error_body(b"null", INVALID_REQUEST, "Invalid Request: not an object"))
        if answers:
            self.wire.send(b"[" + b",".join(answers) + b"]")

    def _no_request(self, message: Dict[str, Any], text: str, send: Callable[[bytes], None]) -> None:
        if "method" not in message and ("result" in message or "error" in message):
            return  # a response out of the blue
        send(error_body(id_of(message, text) or b"null", INVALID_REQUEST, "Invalid Request: no method"))

    def _refuse(self, id_text: bytes, code: int, text: str) -> None:
        self.wire.send(error_body(id_text, code, text))

    def _unreadable(self, body: bytes, problem: ValueError) -> None:
        if not body.strip():
            return  # a blank line
        if isinstance(problem, TooDeep):
            fields = members(body.decode())
            if "method" in fields:
                if "id" in fields:
                    self._refuse(fields["id"].encode(), INVALID_PARAMS, "params: nested too deeply")
                return
        self._refuse(b"null", PARSE_ERROR, "Parse error: %s" % problem)

    # ---- the author's code

    def invoke(
        self, call: Call, function: Function, arguments: Dict[str, Any], words: Sequence[Any] = ()
    ) -> Any:
        """Calls a function of the author's. Asked: it waits for an answer."""
        if function.kind:
            return self.guarded(call, self._drive, (function, words, arguments), {})
        return self.guarded(call, function.fn, words, arguments)

    def resume(self, call: Call, generator: Any, answer: Any) -> Any:
        """Goes on with a conversation."""
        return self.guarded(call, self._step, (generator, answer), {})

    def guarded(
        self, call: Any, fn: Callable[..., Any], words: Sequence[Any], arguments: Dict[str, Any]
    ) -> Any:
        """Runs the author's code while the guard is on duty."""
        self.running = call
        if self.asleep:
            self._wake_guard()
        self.reading.release()
        try:
            return fn(*words, **arguments)
        finally:
            self.running = None
            if not self.reading.acquire(False):
                self._take_back()

    def _drive(self, function: Function, words: Sequence[Any], arguments: Dict[str, Any]) -> Any:
        result = function.fn(*words, **arguments)
        if function.kind == "generator":
            return self._step(result, None)
        if self._loop is None:
            import asyncio

            self._loop = asyncio.new_event_loop()
        return self._loop.run_until_complete(result)

    @staticmethod
    def _step(generator: Any, answer: Any) -> Any:
        try:
            return Asked(generator, generator.send(answer))
        except StopIteration as end:
            return end.value

    def start(self, config: Any, call: Call) -> Any:
        """The author's on_start. What it raises is the answer to the call."""
        self.config = config
        function = self.plugin.starts
        result = None
        if function is not None:
            result = self.invoke(call, function, {function.fields[0].name: config} if function.fields else {})
        self.started = True
        return result

    def stop(self) -> None:
        """The author's on_stop, once per start."""
        if not self.started:
            return
        self.started = False
        self.dialect.close()
        if self.plugin.stops is not None:
            try:
                self._drive(self.plugin.stops, (), {}) if self.plugin.stops.kind else self.plugin.stops.fn()
            except Exception:
                self.report()

    # ---- the loop

    def run(self) -> None:
        """Serves, with the guard and the signals of a whole program."""
        self.hire_guard()
        try:
            self.catch_signals()
        except ValueError:  # not on the main thread
            pass
        try:
            self.serve()
        finally:
            self.dismiss_guard()

    def serve(self) -> None:
        """Until the host says so, closes stdin, or is gone."""
        try:
            while not (self.ending or self.stopping):
                if self.queue:
                    self._next(self.queue.popleft())
                elif self.wire.ended:
                    break
                else:
                    self._read()
        except (Stop, HostGone):
            pass
        except SystemExit:  # the author's own end, unless it is that of a child that was forked
            if os.getpid() == self._pid:
                self.stop()
            raise
        self.stopping = True
        try:
            self.stop()
        except (Stop, HostGone):
            pass
        finally:
            self.close()

    def close(self) -> None:
        """Nothing runs any more."""
        self.dialect.close()
        if self._loop is not None:
            self._loop.close()
            self._loop = None

    def _next(self, item: Item) -> None:
        if type(item) is tuple:
            self.dispatch(*item)
        else:
            self.message(item)  # type: ignore[arg-type]

    def _read(self) -> None:
        """Message by message, while they come one at a time."""
        wire = self.wire
        try:
            while not self.ending:
                self._idle = True  # from here on SIGTERM ends us at once
                if self.stopping:
                    return
                bodies = wire.bodies() if wire.waiting else wire.receive()
                self._idle = False
                if len(bodies) != 1 or self.queue or wire.ended:
                    self.queue += bodies
                    return
                self.message(bodies[0])
                if self.queue:
                    return
        except TooLong as problem:
            self._idle = False
            self._refuse(b"null", INVALID_REQUEST, str(problem))
        except BadFrame as problem:
            self._idle = False
            self._refuse(b"null", PARSE_ERROR, "Parse error: %s" % problem)
            self.ending = True

    # ---- the guard

    def hire_guard(self) -> None:
        """Allows a second thread; it is started by the first call."""
        self._alarm = _thread.allocate_lock()
        self._alarm.acquire()
        self._wake_in, self._wake_out = os.pipe()
        os.set_blocking(self._wake_in, False)
        os.set_blocking(self._wake_out, False)
        self._clock = _thread.allocate_lock()  # nobody gives it back: waiting for it is a pause
        self._clock.acquire()
        self._gone = _thread.allocate_lock()
        self._hired = self._dismissed = False
        self.asleep = True

    def _wake_guard(self) -> None:
        self.asleep = False
        if not self._hired:
            self._hired = True
            self._gone.acquire()
            _thread.start_new_thread(self._guard, ())
        elif self._alarm.locked():  # else it is awake already
            self._alarm.release()

    def dismiss_guard(self) -> None:
        """Waits for its end: a thread that begins or works while the interpreter ends can crash it."""
        self.asleep = False
        if not self._hired:
            return
        self._dismissed = True
        self._clock.release()
        if self._alarm.locked():
            self._alarm.release()
        self._gone.acquire()

    def _take_back(self) -> None:
        """The guard reads: it is told to stop."""
        os.write(self._wake_out, b"\0")
        self.reading.acquire()

    def _guard(self) -> None:
        try:
            self._look()
        finally:
            self._gone.release()

    def _look(self) -> None:
        seen: Any = None
        quiet = 0
        while not self._dismissed:
            self._clock.acquire(True, LOOK_EVERY)
            call = self.running
            if call is not None and call is seen:
                self._take_over(call)
                call = None
            quiet = 0 if call is not None and call is not seen else quiet + 1
            seen = call
            if quiet > LOOKS_BEFORE_SLEEP:
                quiet = 0
                self.asleep = True
                if self.running is None and not self._dismissed:
                    self._alarm.acquire()
                self.asleep = False

    def _take_over(self, call: Any) -> None:
        if not self.reading.acquire(False):
            return
        try:
            poll = select.poll()
            poll.register(self._wake_in, select.POLLIN)
            if self.wire.ended:
                poll.register(self.wire.out_fd, 0)
            else:
                poll.register(self.wire.in_fd, select.POLLIN)
            self._look_through()
            while self.running is call:
                self._watch(call, poll)
        finally:
            self.reading.release()

    def _watch(self, call: Any, poll: Any) -> None:
        left = None
        if self._deadline:
            left = (self._deadline - time.monotonic()) * 1000
            if left <= 0 and self.running is call:
                _leave()
        for fd, _ in poll.poll(left):
            if fd == self._wake_in:
                signals = os.read(self._wake_in, 4096).strip(b"\0")
                if not self._signals.isdisjoint(signals):
                    self.end_soon()
            elif fd == self.wire.out_fd:
                poll.unregister(fd)
                self.end_soon()  # nobody reads any more
            elif fd == self.wire.in_fd:
                self._read_early(poll)

    def _read_early(self, poll: Any) -> None:
        try:
            self.queue += self.wire.receive()
        except (TooLong, BadFrame) as problem:
            self._refuse_early(str(problem))
            if isinstance(problem, BadFrame):
                self.wire.ended = True
        if self.wire.ended:
            poll.unregister(self.wire.in_fd)
            poll.register(self.wire.out_fd, 0)  # only errors
        self._look_through()

    def _refuse_early(self, text: str) -> None:
        try:
            self._refuse(b"null", INVALID_REQUEST, text)
        except HostGone:
            self.end_soon()

    def _look_through(self) -> None:
        """Answers what can be answered now; the rest stays in order."""
        items, self.queue = self.queue, deque()
        for item in items:
            try:
                self.queue += self._early(item)
            except HostGone:
                self.end_soon()

    def _early(self, item: Item) -> List[Item]:
        if type(item) is tuple:
            return [item]  # looked at before
        try:
            text = item.decode()  # type: ignore[union-attr]
            message = decode(text)
        except ValueError:
            return [item]
        method = message.get("method") if type(message) is dict else None
        if type(method) is not str:
            return [(message, text)]
        if method == CANCEL:
            self._cancel_one(message.get("params"))
            return []
        if self.dialect.is_stop(method, message.get("params")):
            self.cancel()
        quick = self.dialect.quick.get(method)
        if quick is None:
            return [(message, text)]
        call = Call(self, method, message.get("params"), id_of(message, text), self.wire.send)
        return [(message, text)] if quick(call) else []

    # ---- the end

    def cancel(self) -> None:
        """The running call is told, and has a while to end."""
        call = self.running
        if call is not None and not self._deadline:
            if isinstance(call, Call):
                call.cancelled = True
            self._deadline = time.monotonic() + GRACE

    def _cancel_one(self, params: Any) -> None:
        """The host does not want the answer of one call any more; the plugin goes on."""
        if not isinstance(params, dict) or "id" not in params:
            return
        ident, call = encode(params["id"]), self.running
        if isinstance(call, Call) and call.id_text == ident:
            call.cancelled = True
        elif any(type(item) is tuple and _has_id(item, ident) for item in self.queue):
            self._cancelled.add(ident)

    def not_cancelled(self) -> None:
        """The dialect goes on after its shutdown."""
        self._deadline = 0.0

    def end_soon(self) -> None:
        self.stopping = True
        self.cancel()

    def on_signal(self, number: int, frame: Any) -> None:
        if self._idle and self.running is None and not self.stopping:
            self.stopping = True
            raise Stop
        self.end_soon()

    def catch_signals(self) -> None:
        """SIGTERM and SIGINT end it in order, unless the author has handlers of their own."""
        import signal

        for number, usual in ((signal.SIGTERM, signal.SIG_DFL), (signal.SIGINT, signal.default_int_handler)):
            if signal.getsignal(number) is usual:
                signal.signal(number, self.on_signal)
                self._signals.add(int(number))
        signal.set_wakeup_fd(self._wake_out, warn_on_full_buffer=False)


def id_of(message: Dict[str, Any], text: str) -> Optional[bytes]:
    """The id as it was written, digit by digit. None: the message has no id."""
    value = message.get("id", MISSING)
    if value is MISSING:
        return None
    kind = type(value)
    if kind is int and value:
        return b"%d" % value
    if kind is Digits:
        return str(value).encode()
    if value is None or (kind is str and value.isascii()):
        return encode(value)
    return members(text).get("id", "").encode() or encode(value)


def _has_id(item: Any, id_text: bytes) -> bool:
    message, text = item
    return type(message) is dict and id_of(message, text) == id_text


def error_body(id_text: bytes, code: int, text: str) -> bytes:
    return b'{"jsonrpc":"2.0","id":%s,"error":%s}' % (id_text, encode({"code": code, "message": text}))


def _ours(trace: Any) -> bool:
    return bool(
        trace.tb_frame.f_globals.get("__package__", "") in (__package__, (__package__ or "") + ".dialects")
    )


def _leave() -> None:
    """The call did not end in time. Its state is in use, so nothing of the author's is called."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            pass
    os._exit(0)
