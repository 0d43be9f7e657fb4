# SPDX-License-Identifier: Apache-2.0
"""What the tests of a bot with a network share: mortise chat --config with ws_url or listen."""
import json
import queue
import signal
import socket
import threading

from bot_support import BotCase
from onebot_server import message
from support import LIMIT


def free_port():
    """A port that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return sock.getsockname()[1]


def closed_door(case):
    """A bound socket that does not listen: a client is refused, and nobody else can take its port."""
    sock = socket.socket()
    case.addCleanup(sock.close)
    sock.bind(("127.0.0.1", 0))
    return sock


class NetworkCase(BotCase):
    def begin(self, *plugins, words=(), **network):
        """A bot with this [bot]; plugins default to one that answers with what it hears."""
        text = self.bot_text(*(plugins or (self.stage("a", answer={"reply": "@"}),)))
        text += "[bot]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in network.items())
        self.process = self.start(self.file("bot.toml", text), *words)
        self.process.stdin.close()
        self.lines = queue.Queue()
        reader = threading.Thread(target=self.follow, args=(self.process.stderr, self.lines), daemon=True)
        reader.start()
        self.addCleanup(reader.join, LIMIT)
        self.addCleanup(self.process.kill)
        self.told = []

    @staticmethod
    def follow(stream, lines):
        for line in stream:
            lines.put(line)
        lines.put(None)  # into its own queue: a later bot of the same test has another one

    def begin_listening(self, *plugins, url, **network):
        """A bot with listen, at a port that is free; url has it as {}. It may be taken before the bot has it:
        then another one."""
        for _ in range(20):
            port = free_port()
            self.begin(*plugins, listen=url.format(port), **network)
            if "listening: " in self.hears("listening: ", "Address already in use"):
                return port
        self.fail("no port stays free")

    def hears(self, *parts):
        """The next line on stderr that has one of these; those before it are in self.told."""
        while True:
            line = self.lines.get(timeout=LIMIT)
            self.assertIsNotNone(line, f"ended before it said {parts}: {''.join(self.told)}")
            self.told.append(line)
            if any(part in line for part in parts):
                return line

    def end(self, number=signal.SIGTERM, send=True):
        """Politely; all that it told."""
        if send:
            self.process.send_signal(number)
        self.assertEqual(self.process.wait(LIMIT), 128 + number)
        while True:
            line = self.lines.get(timeout=LIMIT)
            if line is None:
                break
            self.told.append(line)
        self.assertNotIn("Sanitizer", "".join(self.told))
        return "".join(self.told)

    def echoes(self, connection, *texts, first=1):
        """The bot answers these, in order: it is well."""
        connection.send(*(message(text, first + number) for number, text in enumerate(texts)))
        self.assertEqual(connection.texts(len(texts)), list(texts))
