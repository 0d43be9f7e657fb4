# SPDX-License-Identifier: Apache-2.0
"""How a plugin with the Node package ends, what it does while a call runs, and when nobody reads."""
import json
import os
import pathlib
import signal
import struct
import subprocess
import unittest

HERE = pathlib.Path(__file__).resolve().parent
LIMIT = 300  # seconds: only to end what hangs


class Life(unittest.TestCase):
    def start(self, dialect="plain", plugin="puppet.mjs"):
        self.process = subprocess.Popen(
            ["node", str(HERE / plugin)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "MORTISE_DIALECT": dialect},
        )
        self.addCleanup(self.process.wait, LIMIT)
        self.addCleanup(self.process.kill)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            self.addCleanup(stream.close)
        self.frames = dialect == "gassist"

    def send(self, method, ident=None, **params):
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        if ident is not None:
            message["id"] = ident
        text = json.dumps(message).encode()
        self.process.stdin.write(struct.pack(">I", len(text)) + text if self.frames else text + b"\n")
        self.process.stdin.flush()

    def receive(self):
        if not self.frames:
            return json.loads(self.process.stdout.readline())
        (size,) = struct.unpack(">I", self.process.stdout.read(4))
        return json.loads(self.process.stdout.read(size))

    def hear(self, text):
        """Waits for a line on stderr."""
        for said in self.process.stderr:
            if text in said.decode():
                return said.decode()
        self.fail(f"stderr ended without {text}")

    def ends(self, heard=("stop",), not_heard=()):
        """With status 0; gives the rest of stdout."""
        rest, err = self.process.stdout.read(), self.process.stderr.read().decode()
        self.assertEqual(self.process.wait(LIMIT), 0, err)
        for text in heard:
            self.assertIn(text, err.split("\n"))
        for text in not_heard:
            self.assertNotIn(text, err.split("\n"))
        return rest

    def test_sigterm_while_idle(self):
        self.start()
        self.send("echo", 1)
        self.assertEqual(self.receive()["result"], {})
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.ends(), b"")

    def test_sigterm_before_anything_was_started(self):
        self.start()
        self.hear("noise: module")
        self.send("nope", 1)
        self.assertEqual(self.receive()["error"]["code"], -32601)
        self.process.send_signal(signal.SIGTERM)
        self.ends(heard=(), not_heard=("stop",))

    def test_one_call_is_cancelled(self):
        self.start()
        self.send("wait", 1)
        self.hear("waiting")
        self.send("wait", 2)
        for ident in (2, 99, 1):
            self.send("$/cancelRequest", id=ident)
        self.assertEqual([self.receive()["id"] for _ in range(2)], [1, 2])
        self.send("echo", 3)
        self.assertEqual(self.receive()["result"], {})  # and it goes on
        self.process.send_signal(signal.SIGTERM)
        self.ends()

    def test_sigterm_tells_the_running_call(self):
        self.start()
        self.send("wait", 1)
        self.hear("waiting")
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(json.loads(self.ends())["result"], "told")

    def test_who_does_not_listen_is_left_behind(self):
        """Without on_stop: it could meet half-done work."""
        self.start()
        self.send("deaf", 1)
        self.hear("waiting")
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.ends(heard=(), not_heard=("stop",)), b"")

    def test_end_of_stdin_cancels_nothing(self):
        self.start()
        self.send("wait", 1)
        self.send("echo", 2, a=1)
        self.hear("waiting")
        self.process.stdin.close()
        # Blanks before the answer: looks whether somebody still reads.
        self.assertEqual(self.process.stdout.read(1), b" ")
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(json.loads(self.ends())["result"], "told")

    def test_nobody_reads_any_more(self):
        self.start()
        self.send("wait", 1)
        self.hear("waiting")
        self.process.stdout.close()
        self.process.stdin.close()
        self.hear("stop")
        self.assertEqual(self.process.wait(LIMIT), 0)

    def test_answer_to_nobody(self):
        self.start()
        self.process.stdout.close()
        self.send("echo", 1)
        self.hear("stop")
        self.assertEqual(self.process.stderr.read(), b"")
        self.assertEqual(self.process.wait(LIMIT), 0)

    def test_one_shot(self):
        """printf '…' | PROGRAM, without a newline at the end."""
        self.start()
        self.process.stdin.write(b'{"id":1,"method":"echo","params":[1]}\n{"id":2,"method":"talk"}')
        self.process.stdin.close()
        answers = [json.loads(text) for text in self.ends().splitlines()]
        self.assertEqual(answers[0]["result"], [1])
        self.assertEqual(answers[1]["error"]["code"], -32603)
        self.assertIn("conversations", answers[1]["error"]["message"])

    def test_ping_and_shutdown_while_busy(self):
        self.start("gassist")
        self.send("initialize", 1)
        self.assertEqual(self.receive()["result"]["name"], "puppet")
        self.send("execute", 2, function="busy", arguments={})
        self.send("ping", 3, timestamp=12345678901)
        self.assertEqual(self.receive(), {"jsonrpc": "2.0", "id": 3, "result": {"timestamp": 12345678901}})
        self.send("execute", 4, function="busy")
        self.send("shutdown")
        said = [self.receive() for _ in range(2)]
        self.assertEqual(said[0], {"jsonrpc": "2.0", "id": 4, "error": said[0]["error"]})
        self.assertEqual(said[1]["params"]["data"], "told")
        self.assertEqual(self.ends(), b"")

    def test_a_conversation_that_waits_ends_with_the_plugin(self):
        self.start("gassist")
        self.send("execute", 1, function="talk", arguments=None)
        self.assertEqual(self.receive()["params"]["data"], "Your name?")
        self.process.stdin.close()
        self.assertEqual(self.ends(heard=("talk ended", "stop")), b"")

    def test_flood(self):
        """A reader that is slow gets everything; a function that waits for it needs no memory
        for what waits."""
        self.start()
        self.send("flood", 1, pieces=800, polite=True)
        self.send("echo", 2)
        pieces = [self.receive() for _ in range(800)]
        self.assertEqual({len(piece["params"]["data"]) for piece in pieces}, {65536})
        polite = self.receive()["result"]
        self.assertEqual(self.receive()["id"], 2)
        self.send("flood", 3, pieces=800, polite=False)
        for _ in range(800):
            self.receive()
        self.assertGreater(self.receive()["result"] - polite, 800 * 65536 * 0.5)

    def test_large_messages(self):
        self.start()
        self.send("echo", 1, text="é" * 1_000_000)
        self.assertEqual(len(self.receive()["result"]["text"]), 1_000_000)

    def test_yams_goes_on_after_shutdown(self):
        self.start("yams")
        self.send("echo", 1)
        self.assertEqual(self.receive()["error"], {"code": -32003, "message": "Not initialized"})
        for turn in (1, 2):
            self.send("plugin.init", 2, config={"turn": turn}, turn=turn)
            applied = {"status": "initialized", "config_applied": {"turn": turn}}
            self.assertEqual(self.receive()["result"], applied)
            self.hear(f'start {{"turn":{turn}}}')
            self.send("echo", 3, a=1)
            self.assertEqual(self.receive()["result"], {"a": 1})
            self.send("plugin.shutdown", 4)
            self.assertEqual(self.receive(), {"jsonrpc": "2.0", "id": 4, "result": None})
            self.hear("stop")
        self.send("plugin.health", 5)
        self.assertEqual(self.receive()["result"], {"status": "ok"})
        self.process.stdin.close()
        self.ends(heard=(), not_heard=("stop",))


if __name__ == "__main__":
    unittest.main()
