# SPDX-License-Identifier: Apache-2.0
"""Bytes: JSON in and out, four framings, and descriptors that nobody else writes to."""
from __future__ import annotations

import json
import os
import re
import sys
import _thread
from json import encoder as _encoder

from .errors import HostGone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Tuple

LIMIT = 256 << 20
SPACE = " \t\r\n"

# ---- JSON


class TooDeep(ValueError):
    """Valid so far, but nested more deeply than Python's own parser can follow."""


class Digits(str):
    """A whole number of so many digits that Python refuses to read it: the digits."""


def _whole(text: str) -> Any:
    return Digits(text) if len(text) > 4000 else int(text)


def _no_constant(name: str) -> Any:
    raise ValueError("%s is no JSON" % name)


_strict: Any = json.JSONDecoder(parse_constant=_no_constant)
_patient: Any = json.JSONDecoder(parse_constant=_no_constant, parse_int=_whole)
_scan, _scan_long = _strict.scan_once, _patient.scan_once


def decode(text: str) -> Any:
    """The value of a JSON text. ValueError where the text is not JSON."""
    try:
        value, end = _scan(text, 0)
    except (StopIteration, ValueError):
        return _decode_slowly(text.strip(SPACE))
    except RecursionError:
        raise TooDeep("nested too deeply") from None
    if end != len(text) and text[end:].strip(SPACE):
        raise ValueError("more than one JSON text")
    return value


def _decode_slowly(text: str) -> Any:
    """Space before it, a number of thousands of digits, or no JSON at all."""
    try:
        value, end = _scan_long(text, 0)
    except StopIteration:
        raise ValueError("no JSON") from None
    except RecursionError:
        raise TooDeep("nested too deeply") from None
    if end != len(text):
        raise ValueError("more than one JSON text")
    return value


def _plain(value: Any) -> Any:
    """What authors return although JSON has no word for it."""
    for name in ("_asdict", "isoformat", "__fspath__"):
        if hasattr(value, name):
            return getattr(value, name)()
    if hasattr(value, "__dataclass_fields__"):
        return {name: getattr(value, name) for name in value.__dataclass_fields__}
    if isinstance(value, (set, frozenset)) or hasattr(value, "__next__"):
        return list(value)
    if hasattr(value, "value") and hasattr(value, "name"):  # an Enum
        return value.value
    raise TypeError("a %s cannot be sent as JSON" % type(value).__name__)


_slow = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":"), default=_plain
)


def _make_quick() -> Callable[[Any], str]:
    """json.dumps() builds its encoder anew for each text; this one is built once."""
    make: Any = getattr(_encoder, "c_make_encoder", None)
    text: Any = getattr(_encoder, "c_encode_basestring", None)
    if make is None or text is None:
        return _slow.encode
    try:
        encode = make(None, _plain, text, None, ":", ",", False, False, False)
        encode([1.5, "a", {"b": None}], 0)
    except TypeError:  # another Python's
        return _slow.encode
    return lambda value: "".join(encode(value, 0))


_quick = _make_quick()
_quote = getattr(_encoder, "c_encode_basestring", None) or _quick


def _finite(value: Any) -> Any:
    """The same without NaN and infinities: JSON has none, so they become null."""
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


def encode(value: Any) -> bytes:
    """The JSON text of a value. TypeError or ValueError where it has none."""
    try:
        text = _quote(value) if type(value) is str else _quick(value)
    except ValueError:
        text = _quick(_finite(value))
    except RecursionError:
        raise ValueError("the result is nested too deeply, or holds itself") from None
    try:
        return text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair: no UTF-8 can carry it
        return text.encode("utf-8", "replace")


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.S)


def members(text: str) -> Dict[str, str]:
    """The members of an object as raw texts, without recursion and with every digit. Those of an array are
    called "0", "1" and so on. Empty if it is neither."""
    found: Dict[str, str] = {}
    depth, key, start, array = 0, "", -1, False
    for token in _TOKEN.finditer(text):
        word = token.group()
        if depth == 0:
            if word not in "{[":
                return {}
            array = word == "["
            start = token.end() if array else -1
        elif depth == 1 and word in ",}]" and start >= 0:
            found[str(len(found)) if array else key] = text[start : token.start()].strip(SPACE)
            start = token.end() if array else -1
        elif depth == 1 and word == ":":
            start = token.end()
        elif depth == 1 and start < 0 and word[0] == '"':
            key = word[1:-1]
        depth += word in "{["
        depth -= word in "}]"
        if depth == 0:
            return {} if text[token.end() :].strip(SPACE) else found
    return {}


# ---- framings: take(buffer) gives (body or None, bytes used); wrap(body) the frame


class BadFrame(ValueError):
    """What cannot be a frame, so that the next one cannot be found either."""


class TooLong(ValueError):
    """A message over the limit. `size` bytes of the stream are to be skipped; 0: up to the next line."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__("a message of more than %d bytes" % limit)
        self.size = size


def take_line(buffer: bytes, limit: int) -> Tuple[Optional[bytes], int]:
    end = buffer.find(b"\n")
    if end < 0:
        if len(buffer) > limit:
            raise TooLong(0, limit)
        return None, 0
    return buffer[:end], end + 1


def wrap_line(body: bytes) -> bytes:
    return body + b"\n"


def take_be32(buffer: bytes, limit: int) -> Tuple[Optional[bytes], int]:
    if len(buffer) < 4:
        return None, 0
    size = int.from_bytes(buffer[:4], "big")
    if size > LIMIT:
        raise BadFrame("%r is no length of a frame" % buffer[:4])
    if size > limit:
        raise TooLong(4 + size, limit)
    if len(buffer) < 4 + size:
        return None, 4 + size
    return buffer[4 : 4 + size], 4 + size


def wrap_be32(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


_HEADERS = re.compile(rb"((?:[^\r\n]+\r?\n)*?)\r?\n")
_LENGTH = re.compile(rb"(?im)^content-length[ \t]*:[ \t]*([0-9]{1,18})[ \t]*\r?$")


def take_headers(buffer: bytes, limit: int) -> Tuple[Optional[bytes], int]:
    if buffer[:1] in (b"{", b"["):  # bare JSON, a line
        return take_line(buffer, limit)
    head = _HEADERS.match(buffer)
    if head is None:
        if len(buffer) > 1 << 16:
            raise BadFrame("headers without an end")
        return None, 0
    if not head.group(1):
        return b"", head.end()
    found = _LENGTH.search(head.group(1))
    if found is None:
        raise BadFrame("headers without Content-Length")
    size = int(found.group(1))
    if size > limit:
        raise TooLong(head.end() + size, limit)
    if len(buffer) < head.end() + size:
        return None, head.end() + size
    return buffer[head.end() : head.end() + size], head.end() + size


def wrap_headers(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


_DECIMAL = re.compile(rb"(0|[1-9][0-9]{0,18})\n")


def take_decimal(buffer: bytes, limit: int) -> Tuple[Optional[bytes], int]:
    head = _DECIMAL.match(buffer)
    if head is None:
        if buffer[:20].rstrip(b"0123456789") or len(buffer) >= 20:
            raise BadFrame("corrupt frame: %r" % buffer[:20])
        return None, 0
    size = int(head.group(1))
    if size > limit:
        raise BadFrame("a frame of %d bytes" % size)
    if len(buffer) < head.end() + size:
        return None, head.end() + size
    return buffer[head.end() : head.end() + size], head.end() + size


def wrap_decimal(body: bytes) -> bytes:
    return b"%d\n%s" % (len(body), body)


FRAMINGS = {
    "lines": (take_line, wrap_line),
    "be32": (take_be32, wrap_be32),
    "headers": (take_headers, wrap_headers),
    "decimal": (take_decimal, wrap_decimal),
}


def framing_of(first: bytes) -> Optional[str]:
    """The framing that the first bytes show; None: too few of them to say."""
    start = first.lstrip()
    if first[:1] == b"\0":
        return "be32"
    if start[:1] in (b"{", b"["):
        return "lines"
    if start[:1].isdigit():
        if b"\n" not in start[:20]:
            return None if start[:20].isdigit() and len(start) < 20 else "lines"
        return "decimal" if _DECIMAL.match(start) else "lines"
    if not start or b"content-length".startswith(start[:14].lower()) and len(start) < 14:
        return None
    return "headers" if start[:14].lower() == b"content-length" else "lines"


# ---- descriptors


class Wire:
    """Frames over two descriptors. One thread reads at a time; any may send."""

    def __init__(self, in_fd: int, out_fd: int, framing: str = "lines", limit: int = LIMIT) -> None:
        self.in_fd = in_fd
        self.out_fd = out_fd
        self.limit = limit
        self.ended = False  # stdin has
        self.waiting = False  # there may be messages in what was read
        self._parts: List[bytes] = []  # read, but no message was made of it yet
        self._size = 0  # of all parts
        self._need = 0  # the parts are not looked at before they have so many bytes
        self._skip = 0  # bytes of a message that is too long; -1: up to the next line
        self._lock = _thread.allocate_lock()
        self.use(framing)

    def use(self, framing: str) -> None:
        self._take, self.wrap = FRAMINGS[framing]
        self.framing = framing

    # ---- out

    def send(self, body: bytes) -> None:
        """One message. HostGone where nobody reads."""
        data = body + b"\n" if self.framing == "lines" else self.wrap(body)
        with self._lock:
            try:
                done = os.write(self.out_fd, data)
                while done < len(data):
                    data = data[done:]
                    done = os.write(self.out_fd, data)
            except BlockingIOError:
                self._send_slowly(data)
            except OSError:
                raise HostGone from None

    def _send_slowly(self, data: bytes) -> None:
        """Into a pipe that does not block: somebody else set it so."""
        while data:
            _wait(self.out_fd, out=True)
            try:
                data = data[os.write(self.out_fd, data) :]
            except BlockingIOError:
                pass
            except OSError:
                raise HostGone from None

    # ---- in

    def read(self) -> bytes:
        """What there is; waits for the first byte. Empty at the end."""
        while True:
            try:
                return os.read(self.in_fd, 65536 if self._size < 1 << 20 else 1 << 20)
            except BlockingIOError:
                _wait(self.in_fd)
            except OSError:
                return b""

    def first(self) -> bytes:
        """The first bytes, left where they are; more with each call."""
        data = self.read()
        self._keep(data)
        self.ended = not data
        self.waiting = self._size > 0
        return b"".join(self._parts)

    def receive(self) -> List[bytes]:
        """Reads once; the bodies that are complete. Sets `ended`. BadFrame, TooLong: see there."""
        if self._size or self._skip:
            data = self.read()
        else:
            try:
                data = os.read(self.in_fd, 16384)
            except OSError:
                data = self.read()
        if not data:
            self.ended = True
            return self.rest()
        return self.feed(data)

    def feed(self, data: bytes) -> List[bytes]:
        if data.find(b"\n") == len(data) - 1 and self.framing == "lines" and not self._size and not self._skip:
            return [data]  # the usual case: one line, whole (json takes the newline for space)
        if self._skip:
            data = self._skipped(data)
        self._keep(data)
        if self._size < self._need:
            return []
        if self.framing == "lines" and b"\n" not in data and self._size <= self.limit:
            return []
        return self.bodies()

    def _keep(self, data: bytes) -> None:
        if data:
            self._parts.append(data)
            self._size += len(data)

    def _skipped(self, data: bytes) -> bytes:
        if self._skip < 0:
            end = data.find(b"\n")
            if end < 0:
                return b""
            self._skip = 0
            return data[end + 1 :]
        cut = min(self._skip, len(data))
        self._skip -= cut
        return data[cut:]

    def bodies(self) -> List[bytes]:
        """The complete messages of what was read."""
        buffer, at = b"".join(self._parts), 0
        found: List[bytes] = []
        self._parts, self._size, self._need, self.waiting = [], 0, 0, False
        try:
            while at < len(buffer):
                body, used = self._take(buffer if at == 0 else buffer[at:], self.limit)
                if body is None:
                    self._need = used
                    break
                found.append(body)
                at += used
                if self.framing == "lines" and buffer.find(b"\n", at) >= 0:
                    lines = buffer[at:].split(b"\n")
                    at = len(buffer) - len(lines[-1])
                    found += lines[:-1]
        except TooLong as problem:
            self.waiting = True  # what comes before a fault is given out first
            if not found:
                self._skip = problem.size or -1
                self._keep(self._skipped(buffer) if problem.size else b"")
                raise
        except BadFrame:
            self.waiting = True
            if not found:
                raise
        self._keep(buffer[at:])
        return found

    def rest(self) -> List[bytes]:
        """At the end of stdin: a line without its newline is a message, too."""
        rest, self._parts, self._size = b"".join(self._parts), [], 0
        bare = self.framing == "lines" or (self.framing == "headers" and rest[:1] in (b"{", b"["))
        return [rest] if bare and rest.strip() and not self._skip else []


def _wait(fd: int, out: bool = False) -> None:
    import select

    poll = select.poll()
    poll.register(fd, select.POLLOUT if out else select.POLLIN)
    poll.poll()


def _same_pipe(a: int, b: int) -> bool:
    import stat

    try:
        one, two = os.fstat(a), os.fstat(b)
    except OSError:
        return False
    pipe = stat.S_ISFIFO(one.st_mode) or stat.S_ISSOCK(one.st_mode)
    return pipe and (one.st_dev, one.st_ino) == (two.st_dev, two.st_ino)


def take_stdio() -> Tuple[int, int]:
    """Moves stdin and stdout to private descriptors: print() and children cannot disturb the wire.

    fd 0 is then /dev/null and fd 1 is stderr. Where stderr is the very pipe that the host reads (2>&1), both
    are /dev/null: a traceback between frames would end the session.
    """
    import fcntl

    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            try:
                stream.flush()
            except (OSError, ValueError):
                pass
    null = os.open(os.devnull, os.O_RDWR)
    merged = _same_pipe(1, 2)
    private = []
    for fd in (0, 1):
        try:
            private.append(fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3))
        except OSError:  # it was closed
            private.append(fcntl.fcntl(null, fcntl.F_DUPFD_CLOEXEC, 3))
    try:
        os.dup2(null if merged else 2, 1)
    except OSError:
        os.dup2(null, 1)
    if merged:
        os.dup2(null, 2)
    os.dup2(null, 0)
    if null > 2:
        os.close(null)
    if sys.stdout is not None and hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(line_buffering=True)
    return private[0], private[1]
