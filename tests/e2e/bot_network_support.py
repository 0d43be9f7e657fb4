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
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return sock.getsockname()[1]


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

    def hears(self, part):
        """The next line on stderr that has this; those before it are in self.told."""
        while True:
            line = self.lines.get(timeout=LIMIT)
            self.assertIsNotNone(line, f"ended before it said {part!r}: {''.join(self.told)}")
            self.told.append(line)
            if part in line:
                return line

    def end(self, number=signal.SIGTERM):
        """Politely; all that it told."""
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
