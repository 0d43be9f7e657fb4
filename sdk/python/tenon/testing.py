# SPDX-License-Identifier: Apache-2.0
"""Test a plugin, in the process or over a real pipe, with the errors that a host would see.

    from tenon.testing import run_inside, spawn

    with run_inside(plugin) as host:
        assert host.call("greet", name="Ada") == "Hello Ada"

    with spawn(["python3", "greeter.py"], "plain") as host:
        assert host.call("greet", name="Ada") == "Hello Ada"

An error of the plugin is raised as PluginError, with code, message and data.
"""
from __future__ import annotations

import base64
import os
import subprocess
import tempfile
import time
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

from .dialect import declared, dialect_class
from .errors import PluginError
from .plugin import Plugin
from .serve import Session
from .wire import LIMIT, Wire, decode, encode

LIMIT_SECONDS = 30.0


class Host:
    """A small host. `notes` has the notifications of the plugin, in order."""

    def __init__(self, dialect: str) -> None:
        self.dialect = dialect
        self.notes: List[Dict[str, Any]] = []
        self._id = 0
        self._greeted = False
        self._pieces: List[str] = []

    def __enter__(self) -> Host:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    # ---- for tests

    def call(self, name: str, /, *words: str, **params: Any) -> Any:
        """Calls a method or command by its name, as a host of this dialect does."""
        self.greet()
        if self.dialect == "gassist":
            return self._turn("execute", {"function": name, "arguments": params})
        if self.dialect == "sunscreen":
            return self.request(
                "run", {"command": name, "args": list(words), "flags": params, "workspace_root": os.getcwd()}
            )
        if self.dialect == "sunscreen-json":
            kind, _, bare = name.rpartition(":")
            args = list(words) + ["--%s=%s" % item for item in params.items()]
            return self.request(
                "sunscreen.command/run",
                {"command": bare, "kind": kind or "app", "args": args, "workspace": os.getcwd()},
            )
        return self.request(name, list(words) if words else params)

    def say(self, text: str, user_id: int = 1, group_id: Optional[int] = None) -> Any:
        """ayiou: a chat message; returns the reply's text. gassist: the answer to a question."""
        self.greet()
        if self.dialect == "gassist":
            return self._turn("input", {"content": text, "timestamp": 0})
        return self.handle(text, user_id, group_id)["reply"]

    def handle(self, text: str, user_id: int = 1, group_id: Optional[int] = None) -> Any:
        """ayiou: a chat message; returns the whole answer."""
        self.greet()
        return self.request(
            "handle",
            {
                "message_type": "private" if group_id is None else "group",
                "user_id": user_id,
                "group_id": group_id,
                "text": text,
                "raw_message": text,
            },
        )

    def extract(self, source: Union[str, bytes, os.PathLike[str]], **options: Any) -> Any:
        """yams: the text of a file, or of bytes; returns the whole answer."""
        self.greet()
        given = {"type": "path", "path": os.fspath(source)} if not isinstance(source, bytes) else None
        if given is None:
            assert isinstance(source, bytes)
            given = {"type": "bytes", "data": base64.b64encode(source).decode()}
        return self.request("extractor.extract", {"source": given, "options": options})

    def hook(self, name: str, /, **context: Any) -> Any:
        """sunscreen: runs a hook."""
        context = {"workspace_root": os.getcwd(), **context}
        if self.dialect == "sunscreen-json":
            return self.request("sunscreen.hook/run", {"command": name, "kind": "hook", "args": []})
        return self.request("hook", {"name": name, "context": context})

    def greet(self, config: Optional[Dict[str, Any]] = None) -> Any:
        """What a host says first; done by itself before the first call."""
        if self._greeted:
            return None
        self._greeted = True
        if self.dialect == "yams":
            self.request("handshake.manifest")
            return self.request("plugin.init", {"config": config or {}})
        if self.dialect == "gassist":
            return self.request("initialize", {"protocol_version": "2.0", "engine_version": "1.0.0"})
        if self.dialect == "ayiou":
            answer = self.request("lifecycle", {"event": {"startup": None}})
            if not answer["ok"]:
                raise PluginError(None, answer.get("error", "startup failed"))
            return answer
        return None

    @property
    def streamed(self) -> str:
        """What the last call of gassist or plain sent in pieces."""
        return "".join(self._pieces)

    def request(self, method: str, params: Any = None) -> Any:
        """One request of JSON-RPC; returns the result."""
        self._pieces = []
        return self._result(self._ask(method, params, False))

    def notify(self, method: str, params: Any = None) -> None:
        """A notification."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params if params is not None else {}})

    def send(self, message: Any) -> None:
        """Any JSON, or bytes as they are."""
        self._put(message if isinstance(message, bytes) else encode(message))

    def receive(self) -> Any:
        """The next message of the plugin."""
        return decode(self._get().decode())

    def close(self) -> None:
        """Ends the plugin as a host does."""
        raise NotImplementedError

    # ---- inside

    def _turn(self, method: str, params: Any) -> Any:
        self._pieces = []
        end = self._ask(method, params, True)
        if "method" not in end:
            return self._result(end)
        if end["method"] == "error":
            raise PluginError(end["params"]["code"], end["params"]["message"], end["params"].get("data"))
        return end["params"]["data"]

    def _ask(self, method: str, params: Any, turn: bool) -> Dict[str, Any]:
        """The message that ends a request: its answer, or in a turn the notification."""
        self._id += 1
        self.send(
            {"jsonrpc": "2.0", "id": self._id, "method": method, "params": {} if params is None else params}
        )
        while True:
            message = self.receive()
            if message.get("method") is None:
                ack = turn and isinstance(message.get("result"), dict) and message["result"].get("acknowledged")
                if message.get("id") in (self._id, None) and not ack:
                    return dict(message)
                continue
            self.notes.append(message)
            about = message.get("params", {}).get("request_id")
            if message["method"] == "stream" and about == self._id:
                self._pieces.append(message["params"]["data"])
            if turn and message["method"] in ("complete", "error") and about == self._id:
                return dict(message)

    @staticmethod
    def _result(message: Dict[str, Any]) -> Any:
        error = message.get("error")
        if error is not None:
            raise PluginError(error["code"], error["message"], error.get("data"))
        return message.get("result")

    def _put(self, body: bytes) -> None:
        raise NotImplementedError

    def _get(self) -> bytes:
        raise NotImplementedError


class _Memory:
    """The wire of a plugin under test: a list."""

    ended = False

    def __init__(self) -> None:
        self.out: List[bytes] = []

    def send(self, body: bytes) -> None:
        self.out.append(body)


class Inside(Host):
    """A host in the plugin's own process: breakpoints and coverage work."""

    def __init__(self, plugin: Plugin, dialect: str) -> None:
        super().__init__(dialect)
        self._wire = _Memory()
        self.session = plugin.session = Session(plugin, plugin.speaks or dialect_class(dialect), self._wire)

    def _put(self, body: bytes) -> None:
        self.session.message(body)

    def _get(self) -> bytes:
        if not self._wire.out:
            raise EOFError("the plugin has sent nothing more")
        return self._wire.out.pop(0)

    def close(self) -> None:
        self.session.stop()
        self.session.close()


class Piped(Host):
    """A host of a process. `stderr` has what the plugin wrote there, `returncode` how it ended."""

    def __init__(self, command: Sequence[str], dialect: str, **options: Any) -> None:
        super().__init__(dialect)
        environment = dict(options.pop("env", None) or os.environ, MORTISE_DIALECT=dialect)
        self._stderr = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [os.fspath(word) for word in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=environment,
            **options,
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        framing = dialect_class(dialect).framing
        self._wire = Wire(self.process.stdout.fileno(), self.process.stdin.fileno(), framing, LIMIT)
        self._bodies: List[bytes] = []
        self.returncode: Optional[int] = None

    @property
    def stderr(self) -> str:
        self._stderr.seek(0)
        return self._stderr.read().decode("utf-8", "replace")

    def _put(self, body: bytes) -> None:
        self._wire.send(body)

    def _get(self) -> bytes:
        import select

        deadline = time.monotonic() + LIMIT_SECONDS
        while not self._bodies:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._wire.in_fd], [], [], left)[0]:
                raise TimeoutError("no answer in %d seconds; stderr: %s" % (LIMIT_SECONDS, self.stderr))
            self._bodies = [body for body in self._wire.receive() if body.strip()]
            if self._wire.ended and not self._bodies:
                raise EOFError("the plugin has ended; stderr: %s" % self.stderr)
        return self._bodies.pop(0)

    def close(self) -> None:
        if self.returncode is not None:
            return
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.close()
        except OSError:
            pass
        try:
            self.returncode = self.process.wait(LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.returncode = self.process.wait()
            raise
        finally:
            self.process.stdout.close()
            self._stderr.close()


def run_inside(plugin: Plugin, dialect: Optional[str] = None) -> Inside:
    """A host for a plugin in this process. The dialect is the plugin's own, or plain if it has several."""
    return Inside(plugin, dialect or declared(plugin, "") or "plain")


def spawn(command: Sequence[str], dialect: str = "plain", **options: Any) -> Piped:
    """A host for a program, over pipes. Options are those of subprocess.Popen."""
    return Piped(command, dialect, **options)


# ---- kythe: here the plugin asks

Entry = Tuple[Tuple[str, ...], str, Optional[Tuple[str, ...]], str, bytes]


class Analysis:
    """What an analyzer wrote and logged. `entries`: (source, edge kind, target, fact name, value)."""

    def __init__(self) -> None:
        self.output = b""
        self.logs: List[Dict[str, Any]] = []

    @property
    def records(self) -> List[bytes]:
        """The records of the output, whatever they are."""
        return [value for _, value in _split(self.output, False)]

    @property
    def entries(self) -> List[Entry]:
        out: List[Entry] = []
        for record in self.records:
            fields = dict(_split(record, True))
            target = _vname(fields[3]) if 3 in fields else None
            kind, fact = fields.get(2, b"").decode(), fields.get(4, b"").decode()
            out.append((_vname(fields.get(1, b"")), kind, target, fact, fields.get(5, b"")))
        return out

    def facts(self, name: str) -> List[bytes]:
        """The values of all facts of a name."""
        return [value for _, _, _, fact, value in self.entries if fact == name]


def _varint(data: bytes, at: int) -> Tuple[int, int]:
    number = shift = 0
    while True:
        number |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            return number, at


def _split(data: bytes, numbered: bool) -> List[Tuple[int, bytes]]:
    """Length-delimited pieces, each with its field number where it has one."""
    at, out = 0, []
    while at < len(data):
        tag = data[at] >> 3 if numbered else 0
        size, at = _varint(data, at + numbered)
        out.append((tag, data[at : at + size]))
        at += size
    return out


def _vname(data: bytes) -> Tuple[str, ...]:
    fields = dict(_split(data, True))
    return tuple(fields.get(i, b"").decode() for i in range(1, 6))


class _Driver:
    """Answers an analyzer: one unit, then no more work. Also the two files that an Analyzer talks to."""

    def __init__(self, files: Dict[str, Union[str, bytes]], arguments: Sequence[str]) -> None:
        self.dir = tempfile.TemporaryDirectory(prefix="tenon-")
        for path, text in files.items():
            full = os.path.join(self.dir.name, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "wb") as file:
                file.write(text.encode() if isinstance(text, str) else text)
        self.inputs = list(files)
        self.arguments = list(arguments)
        self.result = Analysis()
        self.given = self.ended = False
        self._out = os.path.join(self.dir.name, ".entries")
        self._input = b""

    def answer(self, message: Dict[str, Any]) -> Optional[Any]:
        """The result of a request; None: no more work, or nothing to answer."""
        method, params = message.get("method"), message.get("params") or {}
        if method == "init":
            return {"protocol": "kythe1"}
        if method == "vname":
            return {"vname": {"corpus": "test", "path": params.get("path", "")}}
        if method == "log":
            self.result.logs.append(params.get("message") or {})
        if method == "analyze" and not self.given:
            self.given = True
            return {
                "workingDir": self.dir.name,
                "inputs": self.inputs,
                "arguments": self.arguments,
                "output": self._out,
            }
        self.ended = self.ended or method == "analyze"
        return None

    def finish(self) -> Analysis:
        if os.path.exists(self._out):
            with open(self._out, "rb") as file:
                self.result.output = file.read()
        self.dir.cleanup()
        return self.result

    # ---- as the files of an Analyzer

    def write(self, data: bytes) -> None:
        while data:
            tag, _, data = data.partition(b"\n")
            message, data = decode(data[: int(tag)].decode()), data[int(tag) :]
            result = self.answer(message)
            if result is not None:
                body = encode({"jsonrpc": "2.0", "id": message["id"], "result": result})
                self._input += b"%d\n%s" % (len(body), body)

    def flush(self) -> None:
        pass

    def readline(self, limit: int = -1) -> bytes:
        line, newline, self._input = self._input.partition(b"\n")
        return line + newline

    def read(self, size: int) -> bytes:
        data, self._input = self._input[:size], self._input[size:]
        return data


def analyze_inside(
    plugin: Plugin, files: Dict[str, Union[str, bytes]], arguments: Sequence[str] = ()
) -> Analysis:
    """kythe: the plugin's analysis over these files, in this process."""
    from .analyzer import Analyzer

    driver = _Driver(files, arguments)
    before = os.getcwd()
    analyzer = Analyzer(plugin.encoding, driver, driver)
    try:
        analyze: Callable[..., Any] = next(iter(plugin.analyses.values()))
        if analyzer.init():
            analyzer.analyze_one(analyze, list(plugin.analyses))
        analyzer.flush()
    finally:
        os.chdir(before)
        result = driver.finish()
    return result


def analyze(
    command: Sequence[str], files: Dict[str, Union[str, bytes]], arguments: Sequence[str] = ()
) -> Analysis:
    """kythe: the analysis of a program over these files."""
    driver = _Driver(files, arguments)
    environment = dict(os.environ, MORTISE_DIALECT="kythe")
    with subprocess.Popen(
        list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        while not driver.ended:
            tag = process.stdout.readline()
            if not tag:
                break
            driver.write(tag + process.stdout.read(int(tag)))
            process.stdin.write(driver.read(1 << 30))
            process.stdin.flush()
    result = driver.finish()
    if process.returncode:
        raise PluginError(None, "the analyzer ended with status %d" % process.returncode)
    return result
