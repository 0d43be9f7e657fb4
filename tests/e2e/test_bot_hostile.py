# SPDX-License-Identifier: Apache-2.0
"""mortise chat --config with a network that breaks every rule: the bot goes on, and stays small."""
import json
import re
import threading
import unittest

from bot_network_support import NetworkCase
from onebot_server import PING, Server, TEXT, frame, heartbeat, message
from support import LIMIT


class Hostile(NetworkCase):
    """A network that keeps no rule: the bot goes on, over this connection or the next."""

    def memory(self):
        """The most it has had, in KiB."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return int(re.search(r"VmHWM:\s+(\d+)", status.read()).group(1))

    def meets(self, *data, part="disconnected: ", after=True):
        server = Server(self)
        self.begin(ws_url=server.url())
        connection = server.connection()
        for one in data:
            try:
                connection.raw(one)
            except OSError:  # it has closed already
                pass
        told = self.hears(part)
        if after:
            connection = server.connection()
        self.echoes(connection, "still there")
        self.end()
        return told

    def test_frames(self):
        for data, status in (
            (frame(TEXT, b"x", rsv=4), 1002),
            (frame(3, b"x"), 1002),
            (frame(0, b"x"), 1002),
            (frame(TEXT, b"\xff\xfe"), 1007),
            (frame(TEXT, b"x", mask=True), 1002),
            (frame(PING, b"x" * 126), 1002),
            (b"\x81\x7f" + b"\x7f" + b"\xff" * 7 + b"x", 1009),
        ):
            self.assertIn(f"({status} ", self.meets(data))

    def test_too_long(self):
        """One byte more than may be, in one frame and in many; the limit itself is fine."""
        event = json.dumps(message("@", 1)).encode()
        padded = event[:-1] + b" " * ((16 << 20) - len(event)) + event[-1:]
        self.assertIn("(1009 too long a message)", self.meets(frame(TEXT, padded + b" ")))
        pieces = frame(TEXT, padded, final=False) + frame(0, b" ", final=False) + frame(0, b"")
        self.assertIn("(1009 ", self.meets(pieces))
        server = Server(self)
        self.begin(ws_url=server.url())
        connection = server.connection()
        connection.raw(frame(TEXT, padded))
        self.assertEqual(connection.texts(1), ["@"])
        self.end()

    def test_fragments(self):
        """In single bytes, pings between, empty ones among them: a message all the same."""
        event = json.dumps(message("in pieces", 1)).encode()
        server = Server(self)
        self.begin(ws_url=server.url())
        connection = server.connection()
        data = frame(TEXT, event[:1], final=False)
        for byte in event[1:]:
            data += frame(0, bytes([byte]), final=False) + frame(PING, b"p") + frame(0, b"", final=False)
        connection.raw(data + frame(0, b""))
        self.assertEqual(connection.texts(1), ["in pieces"])
        self.end()

    def test_a_message_in_a_million_frames(self):
        """4 MiB in frames of one byte: the memory of the bot does not swell."""
        server = Server(self)
        self.begin(ws_url=server.url())
        connection = server.connection()
        before = self.memory()
        event = json.dumps(message("x", 1)).encode()
        padding = (frame(0, b" ", final=False)) * (1 << 16)
        connection.raw(frame(TEXT, event[:-1], final=False))
        for _ in range(64):
            connection.raw(padding)
        connection.raw(frame(0, event[-1:]))
        self.assertEqual(connection.texts(1), ["x"])
        self.assertLess(self.memory() - before, 150_000)
        self.end()

    def test_binary(self):
        self.assertIn("a binary message of 3 bytes", self.meets(frame(2, b"abc"), part="input: ", after=False))

    def test_rubbish(self):
        """Told a few times, then the connection is closed."""
        told = self.meets(*[frame(TEXT, b"{broken")] * 200)
        self.assertIn("it does not send OneBot messages", told)
        self.assertEqual("".join(self.told).count("input: "), 7)  # 1st, 2nd, 4th ... 64th

    def test_events_that_are_none(self):
        server = Server(self)
        self.begin(ws_url=server.url())
        connection = server.connection()
        connection.send(
            {"text": "/short"},
            "[]",
            "null",
            '"x"',
            "{}",
            {"post_type": "message"},
            {"post_type": 7},
            {"post_type": "message", "message_type": "group", "user_id": 1},
            {**message("x", 1), "user_id": "abc"},
            {**message("x", 1), "message": {}},
            heartbeat("soon"),
            heartbeat(-5),
            heartbeat(10**30),
            {"post_type": "meta_event", "meta_event_type": "lifecycle", "sub_type": "connect", "self_id": "x"},
            "[" * 5000 + "]" * 5000,
        )
        self.echoes(connection, "fine")
        told = self.end()
        self.assertIn("it has no post_type", told)
        self.assertEqual(self.asked("a", "handle"), ["fine"])

    def test_flood_of_events(self):
        """Far more than plugins can do, as fast as it goes: the bot reads no faster than it can, and
        each is handled."""
        server = Server(self)
        self.begin(self.stage("a"), ws_url=server.url(), ping="60s")
        connection = server.connection()
        padding = "x" * 2000
        for begin in range(0, 6000, 500):
            connection.send(
                *(message(f"{number} {padding}", number + 1) for number in range(begin, begin + 500))
            )
        self.wait_for(lambda: len(self.asked("a", "handle")) == 6000)
        self.assertEqual(
            [text.split()[0] for text in self.asked("a", "handle")], [str(number) for number in range(6000)]
        )
        self.assertNotIn("overloaded", self.end())

    def test_flood_of_pings(self):
        """From one who reads none of the answers: they are not piled up."""
        server = Server(self)
        self.begin(ws_url=server.url(), ping="200ms")
        connection = server.connection()
        before = self.memory()
        connection.exactly = lambda count: threading.Event().wait()  # reads no more
        threading.Thread(
            target=self.push, args=(connection, frame(PING, b"x" * 125) * 1000), daemon=True
        ).start()
        self.hears("it has read nothing for ")
        self.assertLess(self.memory() - before, 150_000)
        server.connection()
        self.end()

    def push(self, connection, data):
        try:
            while True:
                connection.sock.sendall(data)
        except OSError:
            pass

    def test_slow(self):
        """A byte at a time."""
        server = Server(self)
        self.begin(ws_url=server.url())
        connection = server.connection()
        for byte in frame(TEXT, json.dumps(message("slow", 1)).encode()):
            connection.raw(bytes([byte]))
        self.assertEqual(connection.texts(1), ["slow"])
        self.end()

    def test_a_network_that_takes_no_calls(self):
        """Up to a bound they wait; then events wait, and nothing is lost while it is only slow."""
        gate = threading.Event()

        def answer(call):
            gate.wait(LIMIT)
            return {"status": "ok", "retcode": 0}

        server = Server(self, answer=answer)
        self.begin(self.stage("a", answer={"reply": "@" + "x" * 20000}), ws_url=server.url())
        connection = server.connection()
        connection.send(*(message(str(number), number, user=number) for number in range(1, 201)))
        self.hears("calls wait for the chat network: no event is read until it has caught up")
        self.assertLess(len(self.asked("a", "handle")), 100)
        gate.set()
        self.assertEqual(len([connection.call() for _ in range(200)]), 200)
        self.assertNotIn("lost", self.end())


if __name__ == "__main__":
    unittest.main()
