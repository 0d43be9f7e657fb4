#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Random frames, truncated JSON, huge ids, deep nesting and bytes that are no UTF-8, over a real pipe, for the
puppet of each language in each dialect. From a seed, so that a run can be repeated.

    fuzz_puppets.py [--rounds N] [--seed N] [LANGUAGE…]

Whatever comes: no signal, no traceback, no exit status without a reason. Where a frame is a line, a good
request after it is answered; in the other framings the process may also have ended in order, since a broken
length leaves nothing to go on with."""
import argparse
import json
import os
import pathlib
import random
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
import stage  # noqa: E402
import talkfile  # noqa: E402
import wire  # noqa: E402

PART = """name demo
version 1.0.0
dialect {dialect}
declare method probe
declare command f
  field {{"name":"n","type":"integer","default":1}}
declare {more}
on method probe
  return "here"
on command f
  return "done"
"""
MORE = {
    "yams": "extract",
    "ayiou": "handler",
    "sunscreen": "hook h",
    "sunscreen-json": "hook h",
    "kythe": "analysis /t",
}
GOOD = {
    "plain": [{"method": "f", "params": {"n": 2}}, {"method": "probe", "params": [1]}],
    "yams": [
        {"method": "plugin.init", "params": {"config": {}}},
        {"method": "extractor.extract", "params": {"source": {"type": "bytes", "data": "aGk="}}},
        {"method": "extractor.supports", "params": {"mime_type": "text/plain"}},
    ],
    "gassist": [
        {"method": "initialize", "params": {"protocol_version": "2.0"}},
        {"method": "execute", "params": {"function": "f", "arguments": {"n": 3}}},
        {"method": "input", "params": {"content": "x"}},
        {"method": "ping", "params": {"timestamp": 1}},
    ],
    "ayiou": [
        {"method": "lifecycle", "params": {"event": {"startup": None}}},
        {"method": "handle", "params": {"text": "/f 2", "user_id": 1, "message_type": "private"}},
        {"method": "matches", "params": {"text": "x", "user_id": 1}},
    ],
    "sunscreen": [
        {"method": "commands"},
        {"method": "run", "params": {"command": "f", "args": ["2"], "workspace_root": "/tmp"}},
        {"method": "hook", "params": {"name": "h", "context": {}}},
    ],
    "sunscreen-json": [
        {"method": "sunscreen.command/run", "params": {"command": "f", "kind": "app", "args": []}}
    ],
    "kythe": [{"result": {"protocol": "kythe1"}}, {"result": {"inputs": ["a.c"], "output": "out"}}],
}
VALUES = [None, True, -1, 10**40, 1e308, "", "\x00", "ü\ud7ff", [], {}, [[]], {"a": {"b": []}}, "x" * 5000]


class Fuzzer:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def message(self, dialect):
        message = {"jsonrpc": "2.0", "id": self.random.choice([1, 2, "a", 10**30, 1.5, None, [1], {}])}
        message.update(json.loads(json.dumps(self.random.choice(GOOD[dialect]))))
        for _ in range(self.random.randrange(3)):
            self.disturb(message)
        if self.random.random() < 0.1:
            message = [message] * self.random.randrange(3)
        return json.dumps(message).encode()

    def disturb(self, message):
        """Another value somewhere, or none."""
        place = message
        while isinstance(place, dict) and place and self.random.random() < 0.6:
            key = self.random.choice(list(place))
            if not isinstance(place[key], dict) or not place[key]:
                break
            place = place[key]
        key = self.random.choice([*place, "extra"])
        if self.random.random() < 0.3:
            place.pop(key, None)
        else:
            place[key] = self.random.choice(VALUES)

    def body(self, dialect):
        kind = self.random.random()
        body = self.message(dialect)
        if kind < 0.5:
            return body
        if kind < 0.6:
            return body[: self.random.randrange(len(body))]
        if kind < 0.7:
            depth = self.random.choice([50, 2000, 200000])
            return self.random.choice([b"[", b'{"a":']) * depth
        if kind < 0.8:
            at = self.random.randrange(len(body))
            return body[:at] + bytes([self.random.randrange(128, 256)]) + body[at + 1 :]
        if kind < 0.9:
            return self.random.randbytes(self.random.randrange(200)).replace(b"\n", b" ")
        return b'{"jsonrpc":"2.0","id":%s,"method":"probe"}' % (b"9" * self.random.choice([30, 5000, 200000]))

    def frame(self, framing, body):
        if framing != "lines" and self.random.random() < 0.05:
            return self.random.randbytes(self.random.randrange(1, 40))
        return wire.encode(framing, body)


class Trouble(Exception):
    pass


def probe_of(dialect):
    method = {"gassist": "ping", "sunscreen": "commands", "yams": "plugin.health"}.get(dialect, "probe")
    return {"jsonrpc": "2.0", "id": "the last one", "method": method, "params": {"timestamp": 1}}


def drain(plugin):
    """All that is said until the end; a reader that never waits would let the plugin block."""
    said = []
    try:
        while True:
            said.append(plugin.receive())
    except (wire.Gone, ValueError):
        return said


def one_round(language, dialect, seed, top):
    fuzzer, framing = Fuzzer(f"{seed} {language} {dialect}"), talkfile.FRAMINGS[dialect]
    place = tempfile.mkdtemp(dir=top)
    part = pathlib.Path(place, "part")
    part.write_text(PART.format(dialect=dialect, more=MORE.get(dialect, "method other")), encoding="utf-8")
    env = {**os.environ, **stage.PUPPET_ENV, "PUPPET_PART": str(part)}
    env.pop("MORTISE_DIALECT", None)
    plugin = wire.Plugin(stage.COMMANDS[language], framing, place, env)
    try:
        count = 1 if dialect == "sunscreen-json" else fuzzer.random.randrange(1, 25)
        frames = [fuzzer.frame(framing, fuzzer.body(dialect)) for _ in range(count)]
        probe = wire.encode(framing, json.dumps(probe_of(dialect)).encode())
        feed(plugin, b"".join(frames) + (probe if dialect != "kythe" else b""))
        judge(plugin, dialect, drain(plugin))
    except (Trouble, wire.Late) as error:
        raise Trouble(f"{language} {dialect} --seed {seed}: {error}\n{plugin.stderr()[-2000:]}") from error
    finally:
        plugin.end()
        shutil.rmtree(place)


def feed(plugin, data):
    """From a second process: pipes are short, and both sides write."""
    child = os.fork()
    if child == 0:
        plugin.write(data)
        os._exit(0)
    plugin.close()
    plugin.feeder = child


def judge(plugin, dialect, said):
    os.waitpid(plugin.feeder, 0)
    status = plugin.wait()
    allowed = (0, 1) if dialect == "kythe" else (0,)
    if status not in allowed:
        raise Trouble(f"it ends with {status}")
    if "Traceback" in plugin.stderr():
        raise Trouble("a traceback on stderr")
    if talkfile.FRAMINGS[dialect] == "lines" and not any(b'"the last one"' in body for body in said):
        raise Trouble(f"the request after it was not answered; the last of {len(said)}: {said[-1:]!r:.300}")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=1 if os.environ.get("MORTISE_TIER") == "1" else 4)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("languages", nargs="*", default=list(stage.LANGUAGES))
    asked = options.parse_args()
    count, wrong = 0, []
    with tempfile.TemporaryDirectory(prefix="mortise-fuzz-") as top:
        for seed in range(asked.seed, asked.seed + asked.rounds):
            for language in asked.languages:
                for dialect in GOOD:
                    try:
                        one_round(language, dialect, seed, top)
                    except Trouble as trouble:
                        wrong.append(str(trouble))
                    count += 1
    print("\n".join(wrong))
    print(f"{count} processes, seeds {asked.seed} to {seed}, {len(wrong)} in trouble")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
