# SPDX-License-Identifier: Apache-2.0
"""Plays the scenes of a script (part.py) against a puppet: a real process that was written with one SDK."""
import json
import os
import pathlib
import shutil
import signal
import tempfile

import part
import part_dialects  # noqa: F401 (fills part.DIALECTS)
import part_kythe  # noqa: F401
import talkfile
import wire

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = pathlib.Path(os.environ.get("MORTISE_BUILD", ROOT / "build")).resolve()
PYTHON, NODE = "/usr/bin/python3", shutil.which("node") or "/usr/bin/node"
COMMANDS = {
    "c": [BUILD / "tests/sdk/puppet"],
    "python": [PYTHON, "-B", HERE / "puppets/puppet.py"],
    "node": [NODE, HERE / "puppets/puppet.mjs"],
}
LANGUAGES = tuple(name for name in COMMANDS if name != "node" or shutil.which("node"))
PUPPET_ENV = {"PYTHONPATH": str(ROOT / "sdk/python")}


class Wrong(AssertionError):
    pass


# ---- ids of other kinds: the library must send back whatever came ----

ODD_IDS = [
    lambda n: f"number/{n} é\n",
    lambda n: 10**20 + n,
    lambda n: -n,
    lambda n: "" if n == 1 else str(n),
]


def odd(message, kind):
    """The message with another kind of id, wherever it stands."""
    if isinstance(message, list):
        return [odd(item, kind) for item in message]
    if not isinstance(message, dict):
        return message
    message = dict(message)
    if isinstance(message.get("id"), int):
        message["id"] = ODD_IDS[kind](message["id"])
    params = message.get("params")
    if isinstance(params, dict) and isinstance(params.get("request_id"), int):
        message["params"] = {**params, "request_id": ODD_IDS[kind](params["request_id"])}
    return message


def id_of(message):
    return json.dumps(message.get("id"), default=repr)


class Player:
    """One scene. `way`: step, bytewise, joined (all that the host says in one write) or odd (other ids)."""

    def __init__(self, command, scene, script, way, top):
        self.scene, self.script, self.way, self.values = scene, script, way, {}
        self.own, self.early = set(), {}  # requests that the library answers by itself, and its answers
        self.dir = tempfile.mkdtemp(dir=top)
        self.gates = {}
        for gate in ["hold", *[str(n + 1) for n in range(scene.part.count("  gate "))]]:
            path = os.path.join(self.dir, "gate." + gate)
            os.mkfifo(path)
            self.gates[gate] = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        pathlib.Path(self.dir, "part").write_text(scene.part, encoding="utf-8")
        pathlib.Path(self.dir, "a.c").write_text("int main;\n", encoding="utf-8")
        env = {**os.environ, **PUPPET_ENV, "PUPPET_PART": os.path.join(self.dir, "part")}
        env.pop("MORTISE_DIALECT", None)
        self.plugin = wire.Plugin(command, script.framing, self.dir, env)

    def play(self):
        try:
            if self.way == "joined":
                self.join()
            for move in self.scene.moves:
                getattr(self, "do_" + move.kind)(move)
            self.leave()
        except (wire.Gone, wire.Late, Wrong, ValueError) as error:
            raise Wrong(f"{self.script.name}, {self.way}: {error}{self.story()}") from error
        finally:
            self.plugin.end()
            for gate in self.gates.values():
                os.close(gate)
            shutil.rmtree(self.dir)

    def story(self):
        return f"\n--- the part\n{self.scene.part}--- stderr of the puppet\n{self.plugin.stderr()[-3000:]}"

    def message(self, value):
        return odd(value, len(self.script.path.stem) % len(ODD_IDS)) if self.way == "odd" else value

    def bytes_of(self, move):
        if move.kind == "send_bytes":
            return move.value
        message = talkfile.fill(self.message(move.value), self.values, self.unknown)
        return wire.encode(self.script.framing, talkfile.dump(message).encode())

    @staticmethod
    def unknown(name):
        raise Wrong(f"the host would say ${name}, which has no value yet")

    def join(self):
        """Everything in one write; what comes back must be the same, in the same order."""
        said = [move for move in self.scene.moves if move.kind in ("send", "send_bytes")]
        for move in said:
            self.note_own(move)
        self.plugin.write(b"".join(self.bytes_of(move) for move in said))

    def do_send(self, move):
        if self.way == "joined":
            return
        self.note_own(move)
        if not self.plugin.write(self.bytes_of(move), self.way == "bytewise"):
            raise Wrong(f"it does not read {talkfile.show(move.value)}")

    do_send_bytes = do_send

    def note_own(self, move):
        for message in move.own if isinstance(move.own, list) else [move.value] * move.own:
            self.own.add(id_of(self.message(message)))

    def receive(self):
        actual = talkfile.parse_json(self.plugin.receive().decode())
        return actual, id_of(actual) if isinstance(actual, dict) and "method" not in actual else None

    def next_for(self, expected):
        """The next message; answers of the library's own that the script has elsewhere are put aside."""
        wanted = id_of(expected) if isinstance(expected, dict) else None
        if wanted in self.early:
            return self.early.pop(wanted)
        while True:
            actual, found = self.receive()
            if found not in self.own:
                return actual
            self.own.remove(found)
            if found == wanted:
                return actual
            self.early[found] = actual

    def do_expect(self, move):
        expected = self.message(move.value)
        try:
            actual = self.next_for(expected)
        except (wire.Gone, wire.Late) as error:
            raise Wrong(f"{error}; expected {talkfile.show(expected)}") from error
        found = talkfile.differs(expected, actual, self.values, "", move.more)
        if found:
            raise Wrong(f"{found}\n  came     {talkfile.show(actual)}\n  expected {talkfile.show(expected)}")

    def do_open(self, move):
        os.write(self.gates[str(move.value)], b"x")

    def do_close(self, move):
        self.plugin.close()

    def do_exit(self, move):
        self.over(0)

    def do_term(self, move):
        """The library ends at SIGTERM with 0. A call that never ends gets two seconds: that is not waited for.
        After the end of stdin it leaves by itself: a signal would meet a process that is half gone."""
        if self.scene.held:
            self.plugin.kill()
        elif self.plugin.process.stdin.closed:
            self.over(0)
        else:
            self.plugin.kill(signal.SIGTERM)
            self.over(0)

    def do_kill(self, move):
        self.plugin.kill()

    def over(self, status):
        try:
            while True:
                actual, found = self.receive()
                if self.is_next_work(actual):
                    continue
                if found not in self.own:
                    raise Wrong(f"it says more than expected: {talkfile.show(actual)}")
                self.own.remove(found)
        except wire.Gone as gone:
            if self.plugin.buffer:
                raise Wrong(str(gone)) from gone
        got = self.plugin.wait()
        if got != status:
            raise Wrong(f"it ends with {got}, not {status}")

    def is_next_work(self, message):
        """kythe: an analyzer that has nothing to do asks for work; a script may end before that."""
        return self.script.dialect == "kythe" and message.get("method") == "analyze"

    def leave(self):
        """The end of every scene: stdin ends, and the process with it, unless a call was left running."""
        if self.plugin.process.poll() is not None or self.scene.held:
            return
        if self.scene.moves[-1].kind in ("exit", "term", "kill"):
            return
        self.plugin.close()
        self.over(0)


def can_join(scene, script):
    return script.dialect != "kythe" and not any(move.kind in ("open", "close") for move in scene.moves[:-1])


def play(command, script, way, top):
    """Wrong, if the puppet does not say what the script says. CannotPlay, if no puppet could."""
    for scene in part.derive(script):
        if way == "joined" and not can_join(scene, script):
            way = "bytewise"
        if way == "odd" and any(move.kind == "send_bytes" for move in scene.moves):
            way = "step"
        Player(command, scene, script, way, top).play()


def follow(script):
    """The moves of a script whose plugin is a program of its own, not a puppet: just what is said."""
    scenes, moves = [], []
    for step in script.steps:
        if step.kind in ("send", "expect"):
            moves.append(part.Move(step.kind, step.value, frozenset()))
        elif step.kind == "close":
            moves.append(part.Move("close"))
        elif step.kind == "exit":
            scenes.append(part.Scene("", [*moves, part.Move("exit")]))
            moves = []
    return scenes + ([part.Scene("", moves)] if moves else [])


def play_program(command, script, way, top):
    """Plays the host's part against any program. Names that the host chooses first are numbers."""
    for scene in follow(script):
        player = Player(command, scene, script, way, top)
        player.unknown = lambda name: len(player.values) + 1
        player.play()
