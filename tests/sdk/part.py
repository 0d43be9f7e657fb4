# SPDX-License-Identifier: Apache-2.0
"""From a script to the part of its plugin: what its `<` lines say, an author's functions must do.

derive(script) gives the acts of a play: a list of Scene, one per process, each with the text of the part that
a puppet reads (README.md has its format) and the steps that the runner plays. CannotPlay: no library would say
what the script's plugin says; the message is the reason."""
import dataclasses
import json
import re
from typing import Any, Dict, List

import talkfile
import wire
from talkfile import ANY, MORE, Name, dump


class CannotPlay(Exception):
    pass


@dataclasses.dataclass
class Move:
    """What the runner does next. kind: send, expect, close, closed, open (a gate), exit, term, kill. `more`:
    members that may be added to what is expected, "*": any. `own`: the library answers it by itself, and also
    where the script's plugin does not, or later."""

    kind: str
    value: Any = None
    more: frozenset = frozenset()
    own: Any = False


@dataclasses.dataclass
class Scene:
    part: str
    moves: List[Move]
    held: bool = False  # a call is left running: nobody waits for the end of the process


ANYTHING = frozenset("*")


class Call:
    """One call of an author's function, as it is found in a script."""

    def __init__(self, kind, name):
        self.kind, self.name, self.lines, self.over, self.seen = kind, name, [], False, 0

    def add(self, *words):
        self.lines.append("  " + " ".join(words))


def literal(value):
    """One JSON text for a part. Names cannot be in it: a puppet does not know their values."""
    if re.search(r"\b(NaN|Infinity)\b", dump(value)):
        raise CannotPlay("JSON has no NaN")
    if has_names(value):
        raise CannotPlay("the plugin's own words hold a value that the host has chosen")
    return dump(value)


def has_names(value):
    if isinstance(value, dict):
        return any(key is MORE or has_names(item) for key, item in value.items())
    if isinstance(value, list):
        return any(has_names(item) for item in value)
    return value is ANY or value is MORE or isinstance(value, Name)


def key_of(value):
    return json.dumps(value, default=repr)


class Deriver:
    """The part of one process, for dialects in which the host asks. One subclass per dialect."""

    def __init__(self, script):
        self.script = script
        self.facts: Dict[str, str] = {"name": "demo", "version": "1.0.0", "description": "A puppet"}
        self.declared: Dict[tuple, List[str]] = {}
        self.calls: List[Call] = []
        self.moves: List[Move] = []
        self.open: Dict[str, Any] = {}  # by id: Call, or the name of the library's own method
        self.sends = 0  # how many messages the host has sent
        self.gates = 0
        self.values: Dict[str, Any] = {}  # of names
        self.ids = 0
        self.pending = b""  # raw bytes that are no whole message yet
        self.own = False  # the next message is the library's
        self.ending = False  # the host has said that it is over

    # -- for subclasses --

    def request(self, method, params):
        """A request or notification reaches the plugin: the Call that it starts, or the name of a method that
        the library answers."""
        raise NotImplementedError

    def own_answer(self, method, message):
        """Compares an answer of the library's own with what a script says. The members that may be added."""
        return ANYTHING

    def note(self, message):
        """A notification of the plugin."""
        raise CannotPlay("the plugin sends a notification of its own")

    def result(self, call, value):
        call.add("return", literal(value))
        return frozenset()

    def failure(self, call, error):
        if set(error) - {"code", "message", "data"} or not isinstance(error.get("message"), str):
            raise CannotPlay("an error that is none by JSON-RPC")
        if error["message"] is ANY:
            raise CannotPlay("an error whose text is not said")
        words = [str(error["code"]), literal(error["message"])]
        if "data" in error:
            words.append(literal(error["data"]))
        call.add("fail", *words)
        return frozenset()

    # -- the walk --

    def begin(self, kind, name):
        call = Call(kind, name)
        call.seen = self.sends
        self.calls.append(call)
        self.declare(kind, name)
        return call

    def declare(self, kind, name):
        return self.declared.setdefault((kind, name), [])

    def reach(self, call):
        """The next act of a call. If the host has said something since the last one, the call
        waits for a gate."""
        if call.over:
            raise CannotPlay("a call that has ended says more")
        if any(not one.over for one in self.calls[: self.calls.index(call)]):
            raise CannotPlay("answers out of order: an author's functions run one at a time")
        if self.sends > call.seen:
            self.gates += 1
            call.add("gate", str(self.gates))
            self.moves.append(Move("open", self.gates))
            call.seen = self.sends

    def finish(self, call):
        call.over = True

    def name_values(self, message):
        """The values of the names in a message of the host: ids count from 1 in each process, as
        the host's do."""
        if isinstance(message.get("id"), int):
            self.ids = message["id"]
        else:
            self.ids += "id" in message
        return talkfile.fill(message, self.values, lambda name: self.choose(message, name))

    def choose(self, message, name):
        return self.ids if message.get("id") == Name(name) else 1700000000000 + len(self.values)

    def send(self, message):
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            raise CannotPlay("the host answers a request of the plugin's")
        message = self.name_values(message)
        self.moves.append(Move("send", message))
        self.sends += 1
        target = self.request(message["method"], message.get("params"))
        self.moves[-1].own = isinstance(target, str) and "id" in message
        if isinstance(target, Call):
            target.seen = self.sends
        if "id" in message:
            self.open[key_of(message["id"])] = target
        elif isinstance(target, Call):
            target.add("return", "null")
            self.finish(target)

    def expect(self, message):
        if not isinstance(message, dict):
            raise CannotPlay("an array")
        if message.get("jsonrpc") != "2.0":
            raise CannotPlay('a message without "jsonrpc":"2.0"')
        if "method" in message:
            if "id" in message:
                raise CannotPlay("a request of the plugin's own")
            more = self.note(message)
        else:
            more = self.answer(message)
        self.moves.append(Move("expect", message, more))

    def answer(self, message):
        if ("result" in message) == ("error" in message):
            raise CannotPlay("an answer with both result and error, or none")
        target = self.open.pop(key_of(message.get("id")), None) if "id" in message else None
        if target is None:
            raise CannotPlay("an answer that nobody waits for")
        if isinstance(target, str):
            return self.own_answer(target, message)
        self.reach(target)
        self.finish(target)
        if "error" in message:
            return self.failure(target, message["error"])
        return self.result(target, message["result"])

    def decode(self, data):
        """Raw bytes that are frames of messages: those, as any other. What is left waits for more."""
        found = []
        self.pending += data
        try:
            while self.pending.strip(b"\r\n") if self.script.framing == "lines" else self.pending:
                frame = wire.take(self.script.framing, self.pending)
                if not frame:
                    break
                self.pending = frame[1]
                if frame[0].strip():
                    found.append(talkfile.parse_json(frame[0].decode()))
        except (ValueError, UnicodeDecodeError) as error:
            raise CannotPlay("raw bytes that are no message") from error
        return found

    # -- the whole --

    def take(self, message):
        """A message of the plugin."""
        if self.own:
            self.own = False
            self.moves.append(Move("expect", message))
            if isinstance(message, dict):
                self.open.pop(key_of(message.get("id")), None)
        else:
            self.expect(talkfile.fill_known(message, self.values))

    def take_bytes(self, data):
        for message in self.decode(data):
            self.take(message)

    def send_bytes(self, data):
        """Raw bytes of the host. What is a message in them is one."""
        found, mine = [], (self.pending, len(self.moves))
        if self.script.acts("part"):  # the part is written by hand
            self.moves.append(Move("send_bytes", data))
            return
        try:
            self.pending = b""
            found = self.decode(data)
        except CannotPlay:
            pass  # it is not meant to be a message
        self.pending = mine[0]
        for message in found:
            if isinstance(message, dict) and isinstance(message.get("method"), str):
                self.send(message)
        own = [move.value for move in self.moves[mine[1] :] if move.own]
        self.moves[mine[1] :] = [Move("send_bytes", data, own=own)]

    def close(self, _):
        self.moves.append(Move("close"))
        self.sends += 1
        self.ending = True

    def closed(self, _):
        raise CannotPlay("the plugin closes its stdout and lives on")

    def act(self, words):
        if words == "own":  # the next message is the library's doing, not the author's
            self.own = True

    def end(self, step):
        """The process is over."""
        if step.kind == "exit" and (step.value != "0" or not self.ending):
            raise CannotPlay("the plugin ends by itself")
        if step.kind == "signal" and step.value not in ("KILL", "TERM"):
            raise CannotPlay("the plugin dies")
        self.moves.append(Move("exit" if step.kind == "exit" else step.value.lower()))

    def part(self):
        lines = [f"{key} {value}" for key, value in self.facts.items()]
        lines.append(f"dialect {self.script.dialect}")
        for (kind, name), more in self.declared.items():
            lines.append(f"declare {kind} {name}".rstrip())
            lines += ["  " + line for line in more]
        for call in self.calls:
            if not call.over:
                call.add("hold")
            lines.append(f"on {call.kind} {call.name}".rstrip())
            lines += call.lines
        lines += self.script.acts("part")
        return "\n".join(lines) + "\n"

    def scene(self):
        if self.pending.strip():
            raise CannotPlay("raw bytes that are not whole messages")
        held = any(not call.over for call in self.calls)
        return Scene(self.part(), self.moves, held)


DIALECTS: Dict[str, Any] = {}  # part_dialects.py and part_kythe.py put their classes here
STEPS = {
    "send": lambda deriver, value: deriver.send(value),
    "send_bytes": Deriver.send_bytes,
    "expect": Deriver.take,
    "expect_bytes": Deriver.take_bytes,
    "close": Deriver.close,
    "closed": Deriver.closed,
    "act": Deriver.act,
}


def derive(script) -> List[Scene]:
    make = DIALECTS[script.dialect]
    scenes, deriver = [], make(script)
    for step in script.steps:
        if step.kind in ("exit", "signal"):
            deriver.end(step)
            scenes.append(deriver.scene())
            deriver = make(script)
        elif step.kind in STEPS:
            STEPS[step.kind](deriver, step.value)
    if deriver.moves:
        scenes.append(deriver.scene())
    if not any(move.kind == "expect" for scene in scenes for move in scene.moves):
        raise CannotPlay("the plugin says nothing")
    return scenes
