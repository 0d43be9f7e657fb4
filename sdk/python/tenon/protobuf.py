# SPDX-License-Identifier: Apache-2.0
"""The few messages of Sunscreen over gRPC, as bytes. sdk/proto has their definitions.

A message is a dict of its fields; what is not set is absent. A table per message says the numbers: so an author
needs neither protobuf nor generated code."""
from __future__ import annotations

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Mapping, Tuple

    Fields = Mapping[int, Tuple[str, Any]]

# A kind is "text", "texts", "bool", "number" (an enum), "double", a table (one message), or [table] (several).
NOTHING: Fields = {}
INITIALIZE: Fields = {
    1: ("protocol_version", "text"),
    2: ("sunscreen_version", "text"),
    3: ("workspace_root", "text"),
}
INITIALIZED: Fields = {1: ("protocol_version", "text"), 2: ("accepted_capabilities", "texts")}
COMMAND: Fields = {1: ("kind", "text"), 2: ("name", "text"), 3: ("summary", "text")}
CAPABILITIES: Fields = {1: ("commands", [COMMAND]), 2: ("hooks", "texts"), 1000: ("extensions", "texts")}
RUN: Fields = {1: ("kind", "text"), 2: ("name", "text"), 3: ("args", "texts")}
HOOK: Fields = {1: ("hook", "text"), 2: ("json_context", "text")}
RESULT: Fields = {1: ("ok", "bool"), 2: ("json_result", "text")}
SHUTDOWN: Fields = {1: ("ok", "bool")}
CANCEL: Fields = {1: ("reason", "text")}
FROM_HOST: Fields = {1: ("run", RUN), 2: ("cancel", CANCEL)}
PROGRESS: Fields = {1: ("fraction", "double"), 2: ("text", "text")}
LOG: Fields = {1: ("level", "text"), 2: ("text", "text")}
PIECE: Fields = {1: ("text", "text")}
FROM_PLUGIN: Fields = {
    1: ("progress", PROGRESS),
    2: ("log", LOG),
    3: ("piece", PIECE),
    4: ("result", RESULT),
}
HEALTH: Fields = {1: ("service", "text")}
HEALTHY: Fields = {1: ("status", "number")}

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class BadMessage(ValueError):
    """Bytes that are not such a message."""


# ---- writing


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _bytes(number: int, data: bytes) -> bytes:
    return varint(number << 3 | BYTES) + varint(len(data)) + data


def _text(value: str) -> bytes:
    """Half of a surrogate pair cannot be sent."""
    return value.encode("utf-8", "replace")


def _one(number: int, kind: Any, value: Any) -> bytes:
    if kind == "text":
        return _bytes(number, _text(value)) if value else b""
    if kind == "texts":
        return b"".join(_bytes(number, _text(one)) for one in value)
    if kind in ("bool", "number"):
        return varint(number << 3 | VARINT) + varint(int(value)) if value else b""
    if kind == "double":
        return varint(number << 3 | FIXED64) + struct.pack("<d", value)
    if isinstance(kind, list):
        return b"".join(_bytes(number, write(kind[0], one)) for one in value)
    return _bytes(number, write(kind, value))


def write(fields: Fields, message: Dict[str, Any]) -> bytes:
    """The bytes of a message."""
    return b"".join(
        _one(number, kind, message[name]) for number, (name, kind) in fields.items() if name in message
    )


# ---- reading


def _read_varint(data: bytes, at: int) -> Tuple[int, int]:
    value = shift = 0
    while shift < 70 and at < len(data):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
        shift += 7
    raise BadMessage("a number without an end")


def _read_value(data: bytes, at: int, wire: int) -> Tuple[Any, int]:
    if wire == VARINT:
        return _read_varint(data, at)
    if wire == BYTES:
        size, at = _read_varint(data, at)
    elif wire in (FIXED64, FIXED32):
        size = 8 if wire == FIXED64 else 4
    else:
        raise BadMessage("a field of the type %d" % wire)
    if size > len(data) - at:
        raise BadMessage("a field that is cut off")
    return data[at : at + size], at + size


WIRES = {"text": BYTES, "texts": BYTES, "bool": VARINT, "number": VARINT, "double": FIXED64}


def _value(kind: Any, raw: Any) -> Any:
    if kind in ("text", "texts"):
        try:
            return raw.decode()
        except UnicodeDecodeError:
            raise BadMessage("a text that is not UTF-8") from None
    if kind == "bool":
        return raw != 0
    if kind == "number":
        return raw
    if kind == "double":
        return struct.unpack("<d", raw)[0]
    return read(kind[0] if isinstance(kind, list) else kind, raw)


def read(fields: Fields, data: bytes) -> Dict[str, Any]:
    """The fields that are set. Those that are not known are skipped. BadMessage."""
    out: Dict[str, Any] = {}
    at = 0
    while at < len(data):
        key, at = _read_varint(data, at)
        raw, at = _read_value(data, at, key & 7)
        if key >> 3 not in fields:
            continue
        name, kind = fields[key >> 3]
        if WIRES.get(kind if isinstance(kind, str) else "", BYTES) != key & 7:
            raise BadMessage("%s has another type" % name)
        value = _value(kind, raw)
        if kind == "texts" or isinstance(kind, list):
            found: List[Any] = out.setdefault(name, [])
            found.append(value)
        else:
            out[name] = value
    return out
