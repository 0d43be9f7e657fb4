#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Random, broken and hostile input: the right error or a clean end, never a traceback of the library's own.

The seed is fixed, TENON_FUZZ_SEED chooses another, TENON_FUZZ_ROUNDS how many conversations are played."""
import contextlib
import io
import json
import os
import random
import subprocess
import unittest

from support import LIMIT, Case, environment
from tenon import Done, Extraction, Plugin, Reply
from tenon.dialect import dialect_class, guess
from tenon.serve import Session
from tenon.wire import BadFrame, FRAMINGS, TooLong, Wire, framing_of, members

SEED = int(os.environ.get("TENON_FUZZ_SEED", "20261117"))
ROUNDS = int(os.environ.get("TENON_FUZZ_ROUNDS", "800" if os.environ.get("MORTISE_TIER") == "1" else "3000"))
DIALECTS = ("plain", "yams", "ayiou", "gassist", "sunscreen", "sunscreen-json")
METHODS = (
    "echo add talk handshake.manifest plugin.init plugin.health plugin.shutdown extractor.supports extractor.extract "
    "metadata matches handle lifecycle initialize ping execute input shutdown commands run hook "
    "sunscreen.command/run sunscreen.hook/run nope"
).split()
KEYS = (
    "function arguments content context text message_type user_id group_id event command kind args flags config name "
    "source type path data options mime_type extension workspace_root value a b n startup shutdown timestamp"
).split()


def plugin():
    made = Plugin("fuzzed", "1.0.0", "For tests")
    made.method("echo")(lambda value=None: value)

    @made.command
    def add(a: int, b: int = 1) -> int:
        return a + b

    @made.command
    def talk(call, n: int = 1):
        for i in range(n % 5):
            answer = yield "turn %d" % i
            call.stream(answer)
        return Reply("over")

    made.hook("after")(lambda **context: Done("x", list(context)))
    made.handler(r"(?P<a>\w+) (?P<b>\d+)")(lambda a, b: a * (int(b) % 3))
    made.extractor(extensions=[".x"])(lambda data, n=1: Extraction(repr(data)))
    return made


class Words:
    """Values, messages and bytes from a seed."""

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def value(self, depth=0):
        rng = self.rng
        kinds = ["null", "bool", "int", "float", "text", "word"] + ["list", "dict"] * (depth < 4)
        kind = rng.choice(kinds)
        if kind == "list":
            return [self.value(depth + 1) for _ in range(rng.randrange(4))]
        if kind == "dict":
            return {rng.choice(KEYS): self.value(depth + 1) for _ in range(rng.randrange(5))}
        return {
            "null": None,
            "bool": rng.random() < 0.5,
            "int": rng.choice([0, 1, -1, 7, 2**31, 2**53 + 1, -(2**64), 10**40]),
            "float": rng.choice([0.5, -1e300, 1e-9, 3.0]),
            "text": "".join(rng.choice('a/Z 0"\\\n\ud83d\udc1b\u0000é日') for _ in range(rng.randrange(9))),
            "word": rng.choice(METHODS + KEYS),
        }[kind]

    def message(self):
        rng = self.rng
        made = {
            "jsonrpc": "2.0",
            "id": rng.choice([1, "x", None, 2**70, 1.5, []]),
            "method": rng.choice(METHODS),
        }
        made["params"] = {rng.choice(KEYS): self.value() for _ in range(rng.randrange(6))}
        if rng.random() < 0.4:
            made["params"]["function"] = made["params"]["command"] = rng.choice(["add", "talk", "scaffold:add"])
            made["params"]["arguments"] = {"a": self.value(3), "n": rng.randrange(9)}
        for key in list(made):
            if rng.random() < 0.08:
                del made[key]
            elif rng.random() < 0.04:
                made[key] = self.value()
        return made

    def body(self):
        rng = self.rng
        made = self.message() if rng.random() < 0.9 else [self.message() for _ in range(rng.randrange(4))]
        data = json.dumps(made, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
        kind = rng.random()
        if kind < 0.15:  # cut, or bytes changed
            data = data[: rng.randrange(len(data) + 1)]
        elif kind < 0.35:
            changed = bytearray(data)
            for _ in range(rng.randrange(1, 4)):
                changed[rng.randrange(len(changed))] = rng.randrange(256)
            data = bytes(changed)
        elif kind < 0.4:
            data = rng.choice(
                [b"[" * 5000, b'{"id":1,"method":"echo","params":' + b"[" * 5000 + b"]" * 5000 + b"}"]
            )
        elif kind < 0.43:
            data = b'{"id":%s,"method":"echo"}' % (b"9" * rng.randrange(1, 6000))
        return data


def _digits(text):
    return text if len(text) > 4000 else int(text)


class Memory:
    ended = False

    def __init__(self):
        self.out = []

    def send(self, body):
        self.out.append(body)


class Messages(unittest.TestCase):
    def test_any_message_in_any_dialect(self):
        for dialect in DIALECTS:
            words = Words("%d/%s" % (SEED, dialect))
            for number in range(ROUNDS // len(DIALECTS) // 5):
                session = Session(plugin(), dialect_class(dialect), Memory())
                for step in range(5):
                    body = words.body().replace(b"\n", b" ")
                    with self.subTest(dialect=dialect, number=number, step=step, body=body[:300]):
                        self.one(session, body)
                session.stop()

    def one(self, session, body):
        session.wire.out.clear()
        with contextlib.redirect_stderr(io.StringIO()) as stderr:
            session.message(body)
        self.assertNotIn("tenon/", stderr.getvalue().replace("tenon/fuzz", ""))
        for answer in session.wire.out:
            made = json.loads(
                answer.decode(), parse_constant=self.fail, parse_int=_digits
            )  # UTF-8, JSON, no NaN
            for message in made if isinstance(made, list) else [made]:
                self.assertEqual(message["jsonrpc"], "2.0")
                if "error" in message:
                    self.assertIsInstance(message["error"]["code"], int)
                    self.assertIsInstance(message["error"]["message"], str)


class Frames(unittest.TestCase):
    def test_any_bytes_in_any_framing(self):
        rng = random.Random(SEED)
        words = Words(SEED)
        for number in range(ROUNDS):
            framing = rng.choice(sorted(FRAMINGS))
            wrap = FRAMINGS[framing][1]
            data = b"".join(wrap(words.body().replace(b"\n", b" ")) for _ in range(rng.randrange(4)))
            if rng.random() < 0.5:
                data = bytes(rng.randrange(256) for _ in range(rng.randrange(40))) + data
            wire = Wire(0, 1, framing, limit=20000)
            with self.subTest(number=number, framing=framing):
                for _ in range(1000):
                    cut = rng.randrange(1, 2000)
                    try:
                        if not data and not wire.waiting:
                            break
                        wire.bodies() if wire.waiting else wire.feed(data[:cut])
                        data = data[cut:]
                    except TooLong:
                        data = data[cut:]
                    except BadFrame:
                        break
                wire.rest()

    def test_what_comes_before_a_fault_is_given_out(self):
        for framing, bad in (
            ("lines", b"x" * 300),
            ("be32", b"\0\0\x05\0"),
            ("headers", b"Content-Length: 999\r\n\r\n"),
        ):
            wrap = FRAMINGS[framing][1]
            wire = Wire(0, 1, framing, limit=200)
            self.assertEqual([b.strip() for b in wire.feed(wrap(b"{}") + wrap(b"[]") + bad)], [b"{}", b"[]"])
            with self.assertRaises(TooLong):
                wire.bodies()

    def test_guesses(self):
        rng = random.Random(SEED)
        for _ in range(ROUNDS):
            data = bytes(
                rng.choice(b'\0{}[]0129\r\nContent-Length: \xff"method') for _ in range(rng.randrange(30))
            )
            self.assertIn(guess(data, True), DIALECTS)
            guess(data)
            framing_of(data)
            members(data.decode("latin-1"))


PROGRAM = """
    from tenon import Plugin

    plugin = Plugin("fuzzed", "1.0.0")
    plugin.command(lambda: "x")
    plugin.method("echo")(lambda value=None: value)
    plugin.run()
"""


class Programs(Case):
    def test_random_bytes_end_it_cleanly(self):
        rng, words = random.Random(SEED), Words(SEED)
        path = self.write(PROGRAM)
        for dialect in ("", *DIALECTS):
            for number in range(4):
                data = os.urandom(0) + bytes(rng.randrange(256) for _ in range(rng.randrange(3000)))
                if number % 2:
                    data = b"\n".join(words.body() for _ in range(50))
                done = subprocess.run(
                    ["/usr/bin/python3", str(path)],
                    input=data,
                    capture_output=True,
                    env=environment(MORTISE_DIALECT=dialect),
                    timeout=LIMIT,
                )
                with self.subTest(dialect=dialect, number=number):
                    self.assertEqual((done.returncode, done.stderr), (0, b""))


if __name__ == "__main__":
    unittest.main()
