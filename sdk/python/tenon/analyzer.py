# SPDX-License-Identifier: Apache-2.0
"""Write a Kythe analyzer.

The analyzer is the client: it asks the driver for work on stdout, reads files as if they were its own, and
writes entries to a file that the driver names.

    from tenon.analyzer import run

    def analyze(a, unit):
        for path in unit.inputs:
            file = a.vname(path)
            a.fact(file, "/kythe/node/kind", "file")
            a.fact(file, "/kythe/text", open(path, "rb").read())

    if __name__ == "__main__":
        run(analyze, types=["/kythe/index/toy"])

An exception out of `analyze` ends the process without `done`: the driver counts the analysis as failed and may
try it again in a new process. The current directory is the unit's working directory while `analyze` runs.
"""
from __future__ import annotations

import base64
import json
import os
import sys
import traceback
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple, Union

from .wire import take_stdio


class ProtocolError(Exception):
    """The driver refused a request, or what it sent cannot be followed."""


class VName(NamedTuple):
    signature: str = ""
    corpus: str = ""
    root: str = ""
    path: str = ""
    language: str = ""


class Unit(NamedTuple):
    working_dir: str
    inputs: List[str]
    arguments: List[str]
    environment: Dict[str, str]
    output: str
    entry_context: str
    output_key: str
    details: List[Any]


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _field(number: int, value: bytes) -> bytes:
    """A length-delimited field; proto3 leaves empty ones out."""
    return bytes([number << 3 | 2]) + _varint(len(value)) + value if value else b""


def _message(number: int, value: bytes) -> bytes:
    """A message is written even when nothing is in it: its presence means something."""
    return bytes([number << 3 | 2]) + _varint(len(value)) + value


def _vname_bytes(name: VName) -> bytes:
    return b"".join(_field(i + 1, part.encode()) for i, part in enumerate(name))


def _vname_json(name: VName) -> Dict[str, str]:
    return {key: part for key, part in name._asdict().items() if part}


class Output:
    """Entries of one analysis, in the encoding that init asked for."""

    def __init__(self, path: str, encoding: str):
        self._file = open(path, "ab", buffering=1 << 20)
        self._json = encoding == "json"
        self.count = 0

    def record(self, body: bytes) -> None:
        """One record of any kind."""
        self._file.write(_varint(len(body)) + body)
        self.count += 1

    def entry(self, source: VName, kind: str, target: Optional[VName], name: str, value: bytes) -> None:
        if self._json:
            members: Dict[str, Any] = {"source": _vname_json(source), "factName": name}
            if target is not None:
                members.update(edgeKind=kind, target=_vname_json(target))
            if value:
                members["factValue"] = base64.b64encode(value).decode()
            self.record(json.dumps(members, ensure_ascii=False, separators=(",", ":")).encode())
            return
        edge = _field(2, kind.encode()) + _message(3, _vname_bytes(target)) if target is not None else b""
        self.record(_message(1, _vname_bytes(source)) + edge + _field(4, name.encode()) + _field(5, value))

    def close(self) -> None:
        self._file.close()


class Analyzer:
    """One conversation with the driver."""

    def __init__(self, encoding: str = "protobuf", stdin: Any = None, stdout: Any = None) -> None:
        if stdin is None and stdout is None:
            # A stray print() must not end up between frames.
            in_fd, out_fd = take_stdio()
            stdin, stdout = os.fdopen(in_fd, "rb"), os.fdopen(out_fd, "wb")
        self._in = stdin
        self._out = stdout
        self._id = 0
        self._waiting = b""
        self._names: Dict[Tuple[str, str], VName] = {}
        self.encoding = encoding
        self.output: Optional[Output] = None

    # ---- the wire

    def _send(self, message: Dict[str, Any], later: bool = False) -> None:
        """later: it leaves together with the next message."""
        body = json.dumps(dict(jsonrpc="2.0", **message), ensure_ascii=False, separators=(",", ":")).encode()
        self._waiting += b"%d\n" % len(body) + body
        if not later:
            self.flush()

    def flush(self) -> None:
        self._out.write(self._waiting)
        self._out.flush()
        self._waiting = b""

    def _receive(self) -> Optional[Dict[str, Any]]:
        tag = self._in.readline(21)
        if not tag:
            return None
        if not tag.endswith(b"\n") or not tag[:-1].isdigit() or (tag[:1] == b"0" and tag != b"0\n"):
            raise ProtocolError("corrupt frame: %r" % tag)
        if int(tag) > 256 << 20:
            raise ProtocolError("a frame of %s bytes" % tag[:-1].decode())
        body = self._in.read(int(tag))
        if len(body) < int(tag):
            raise ProtocolError("corrupt frame: %d of %d bytes" % (len(body), int(tag)))
        try:
            message: Any = json.loads(body)
        except (ValueError, RecursionError) as problem:
            raise ProtocolError("a message that is no JSON: %s" % problem) from problem
        if not isinstance(message, dict):
            raise ProtocolError("a message that is no object")
        return message

    def request(self, method: str, params: Dict[str, Any]) -> Optional[Dict[str, Any]]:
        """The result, or None when the driver has closed our input: there is no more work."""
        self._id += 1
        self._send({"id": self._id, "method": method, "params": params})
        while True:
            answer = self._receive()
            if answer is None:
                return None
            error, result = answer.get("error"), answer.get("result")
            if isinstance(error, dict):
                raise ProtocolError("%s: %s (%s)" % (method, error.get("message"), error.get("code")))
            if answer.get("id") == self._id:
                if result is not None and not isinstance(result, dict):
                    raise ProtocolError("%s: a result that is no object" % method)
                return result or {}

    # ---- for analyze()

    def vname(self, path: str, signature: str = "") -> VName:
        """The VName that entries must use for a path of the record; asked once per analysis."""
        key = (path, signature)
        if key not in self._names:
            result = self.request("vname", {"path": path, "signature": signature})
            if result is None:
                raise ProtocolError("vname: the driver is gone")
            members = result.get("vname") or result
            self._names[key] = VName(*(members.get(part, "") for part in VName._fields))
        return self._names[key]

    def _output(self) -> Output:
        if self.output is None:
            raise RuntimeError("there is no analysis under way")
        return self.output

    def fact(self, source: VName, name: str, value: Union[str, bytes] = b"") -> None:
        self._output().entry(source, "", None, name, value.encode() if isinstance(value, str) else value)

    def edge(self, source: VName, kind: str, target: VName) -> None:
        self._output().entry(source, kind, target, "/", b"")

    def record(self, data: bytes) -> None:
        """One record of any kind, for analyses whose output is not made of entries."""
        self._output().record(data)

    def log(self, text: str, path: str = "", line: int = 0, column: int = 0) -> None:
        """A diagnostic of this analysis; line and column count from 1."""
        message: Dict[str, Any] = {"message": text}
        if path:
            message["contextUrl"] = path  # a Diagnostic has no other place for it
        if line:
            message["span"] = {
                "start": dict(lineNumber=line, **({"columnOffset": column - 1} if column else {}))
            }
        self._send({"method": "log", "params": {"message": message}})

    # ---- the loop

    def init(self) -> bool:
        result = self.request("init", {"protocol": "kythe1", "outputEncoding": self.encoding})
        if result is not None and result.get("protocol") != "kythe1":
            raise ProtocolError("the driver speaks %r" % result.get("protocol"))
        return result is not None

    def analyze_one(self, analyze: Callable[["Analyzer", Unit], None], types: List[str]) -> bool:
        reply = self.request("analyze", {"types": types})
        if reply is None:
            return False
        unit = _read_unit(reply)
        self._names.clear()
        self.output = Output(unit.output, self.encoding)
        if unit.working_dir:
            os.chdir(unit.working_dir)
        try:
            analyze(self, unit)
        finally:
            self.output.close()  # every byte is in the file before `done` says so
            self.output = None
            os.chdir("/")  # nothing of the unit's view may be held once it is taken away
        # In one breath with the next analyze: the driver then replaces one view by the other.
        self._send({"method": "done"}, later=True)
        return True


def _read_unit(reply: Dict[str, Any]) -> Unit:
    environment = reply.get("environment") or {}
    if isinstance(environment, list):
        environment = {item.get("name", ""): item.get("value", "") for item in environment}
    inputs = reply["inputs"] if "inputs" in reply else [reply["input"]] if "input" in reply else []
    return Unit(
        reply.get("workingDir", ""),
        inputs,
        reply.get("arguments") or [],
        environment,
        reply["output"],
        reply.get("entryContext", ""),
        reply.get("outputKey", ""),
        reply.get("details") or [],
    )


def run(
    analyze: Callable[[Analyzer, Unit], None],
    types: Optional[List[str]] = None,
    encoding: str = "protobuf",
    max_analyses: int = 0,
) -> None:
    """init, then analyze and done until the driver closes stdin. Ends the process."""
    count = 0
    try:
        analyzer = Analyzer(encoding)
        more = analyzer.init()
        while more and (not max_analyses or count < max_analyses):
            more = analyzer.analyze_one(analyze, types or [])
            count += 1
        analyzer.flush()
    except (ProtocolError, BrokenPipeError, OSError) as problem:
        print("%s: %s" % (os.path.basename(sys.argv[0]), problem), file=sys.stderr)
        sys.exit(1)
    except Exception:
        traceback.print_exc()
        sys.exit(1)
    sys.exit(0)
