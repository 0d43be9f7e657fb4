# SPDX-License-Identifier: Apache-2.0
"""mortise tap: rows as lines and as JSON; the view in a pseudo-terminal, with keys and resizing; a relay."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import unittest

import events
from support import ECHO, LIMIT, MORTISE, PYTHON
from talk_support import Talks, request

TALK = """talk 1 plain framing=lines
# a comment
> {"jsonrpc":"2.0","id":1,"method":"first","params":{"long":[1,2,3]}}
~ 1500ms
< {"jsonrpc":"2.0","id":1,"result":{"answer":"yes"}}
> {"jsonrpc":"2.0","id":2,"method":"second"}
< {"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"no"}}
< {"jsonrpc":"2.0","method":"progress","params":{}}
<b banner\\n
2 a line of stderr
>s TERM
= exit 3
"""


class Lines(Talks):
    def test_rows(self):
        rows = self.ok("tap", self.talk(TALK)).out.splitlines()
        plain = [re.sub(r" {2,}", " ", row).strip() for row in rows]
        for row, begins in zip(
            plain,
            (
                "0.000 > request first #1 67 bytes {",
                "1.500 < reply first #1 1.5 s ",
                "1.500 > request second #2 ",
                "1.500 < error second #2 <1 ms ",
                "1.500 < note progress ",
                "1.500 < noise 8 bytes banner\\n",
                "1.500 stderr a line of stderr",
                "1.500 event >s TERM",
                "1.500 event = exit 3",
            ),
            strict=True,
        ):
            self.assertTrue(row.startswith(begins), (row, begins))

    def test_json(self):
        rows = self.ok("tap", "--json", self.talk(TALK)).rows
        self.assertEqual(
            [(row["kind"], row["from"], row["method"], row["latency_ms"]) for row in rows[:4]],
            [
                ("request", "host", "first", None),
                ("reply", "plugin", "first", 1500),
                ("request", "host", "second", None),
                ("error", "plugin", "second", 0),
            ],
        )
        self.assertEqual(rows[1]["message"]["result"], {"answer": "yes"})
        self.assertEqual((rows[5]["kind"], rows[5]["text"]), ("noise", "banner\\n"))

    def test_filter(self):
        rows = self.ok("tap", "--json", "--filter", "sec", self.talk(TALK)).rows
        self.assertEqual([row["kind"] for row in rows], ["request", "error"])

    def test_follow(self):
        """What another process writes appears, and the end of the plugin is the end."""
        path = self.talk("".join(TALK.splitlines(True)[:3]))
        process = self.start("tap", "-f", "--json", path)
        self.assertEqual(json.loads(process.stdout.readline())["method"], "first")
        with open(path, "a", encoding="utf-8") as file:
            file.write('< {"jsonrpc":"2.0","id":1,"res')
            file.flush()
            file.write('ult":7}\n= exit 0\n')
        self.assertEqual(json.loads(process.stdout.readline())["message"]["result"], 7)
        self.assertEqual(json.loads(process.stdout.readline())["kind"], "event")
        self.assertEqual(process.wait(LIMIT), 0)

    def test_errors(self):
        self.fails(2, "usage", "tap")
        self.fails(5, "not_found", "tap", "nonexistent")
        done = self.run_mortise("tap", self.file("x", "no talk\n"))
        self.assertIn("it is not a .talk file", done.err)

    def test_relay_without_terminal(self):
        """Lines in the file of -o; no byte of the wire changes; the status is the plugin's."""
        done = self.run_mortise(
            "tap", "-o", "log", "--", ECHO, stdin=request(1, "echo", token="hunter2") + b"\n"
        )
        self.assertEqual((done.code, done.json["result"]), (0, {"token": "hunter2"}))
        log = (self.dir / "log").read_text()
        self.assertRegex(log, r"(?s)> request echo #1 .*< reply   echo #1 ")
        self.assertNotIn("hunter2", log)
        self.assertEqual(self.run_mortise("tap", "-o", "log", "--", "sh", "-c", "exit 5").code, 5)


class Terminal(Talks):
    """A pseudo-terminal that is the process's own, and what is on its screen."""

    def open(self, *words, rows=24, columns=80, **how):
        try:
            self.ours, theirs = pty.openpty()
        except OSError as error:  # a bare chroot
            self.skipTest(f"no pseudo-terminal can be had here: {error}")
        self.addCleanup(os.close, self.ours)
        self.resize(rows, columns, theirs)

        def take():
            os.setsid()
            fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

        streams = how or {"stdin": theirs, "stdout": theirs, "stderr": theirs}
        self.process = subprocess.Popen(
            [str(MORTISE), *map(str, words)],
            env=self.env,
            cwd=self.dir,
            preexec_fn=take,
            pass_fds=(theirs,),
            **streams,
        )
        os.close(theirs)
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.kill)
        self.seen = b""
        return self.process

    def resize(self, rows, columns, fd=None):
        fcntl.ioctl(
            self.ours if fd is None else fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0)
        )

    def screen(self):
        """The lines of the last whole frame, without colours."""
        frames = self.seen.decode("utf-8", "replace").split("\x1b[H")
        if len(frames) < 2:
            return []
        text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", frames[-1])
        return [line.rstrip() for line in text.split("\r\n")]

    def until(self, condition):
        """Reads until the screen fulfils the condition."""
        while not condition(self.screen()):
            if not select.select([self.ours], [], [], LIMIT)[0]:
                self.fail("\n".join(self.screen()))
            try:
                piece = os.read(self.ours, 65536)
            except OSError:
                piece = b""
            if not piece:
                self.fail(f"it has ended: {self.seen[-300:]!r}")
            self.seen += piece
        return self.screen()

    def press(self, keys):
        os.write(self.ours, keys.encode())

    def has(self, text):
        return lambda screen: any(text in line for line in screen)

    def test_list_and_message(self):
        process = self.open("tap", self.talk(TALK))
        screen = self.until(self.has("= exit 3"))
        self.assertEqual(len(screen), 24)
        self.assertTrue(all(len(line) <= 80 for line in screen), screen)
        self.assertIn("9 of 9 ended", screen[-1])
        self.press("g")
        self.press("\r")
        screen = self.until(self.has('"method": "first"'))
        self.assertIn('    "long": [', screen)
        self.press("\x1b")
        self.until(self.has("= exit 3"))
        self.press("q")
        self.assertEqual(process.wait(LIMIT), 0)

    def test_filter(self):
        self.open("tap", self.talk(TALK))
        self.until(self.has("9 of 9"))
        self.press("/second\r")
        screen = self.until(self.has("2 of 9"))
        self.assertTrue(all("first" not in line for line in screen))
        self.press("/\r")
        self.until(self.has("9 of 9"))

    def test_resize(self):
        self.open("tap", self.talk(TALK))
        self.until(self.has("9 of 9"))
        self.seen = b""
        self.resize(10, 40)
        screen = self.until(lambda lines: len(lines) == 10 and self.has("9 of 9")(lines))
        self.assertTrue(all(len(line) <= 40 for line in screen), screen)
        self.seen = b""
        self.resize(30, 132)
        screen = self.until(lambda lines: len(lines) == 30 and self.has("9 of 9")(lines))
        self.assertTrue(any(len(line) > 80 for line in screen))

    def test_follow_and_pause(self):
        path = self.talk("talk 1 plain\n")
        self.open("tap", path)
        self.until(self.has("0 of 0"))
        with open(path, "a", encoding="utf-8") as file:
            for n in range(100):
                file.write('> {"method":"m%d"}\n' % n)
        self.until(self.has("m99"))
        self.press("p")
        self.until(self.has("paused"))
        with open(path, "a", encoding="utf-8") as file:
            file.write('> {"method":"late"}\n')
        self.press("k")
        screen = self.until(self.has("100 of 101"))
        self.assertFalse(self.has("late")(screen))
        self.press("f")
        self.press("G")
        self.until(self.has("late"))

    def test_it_leaves_the_terminal_as_it_was(self):
        process = self.open("tap", self.talk(TALK))
        self.until(self.has("9 of 9"))
        self.press("q")
        process.wait(LIMIT)
        try:
            while piece := os.read(self.ours, 65536):
                self.seen += piece
        except OSError:  # EIO: there is no more, and nobody who could write
            pass
        self.assertTrue(self.seen.endswith(b"\x1b[?25h\x1b[?1049l"), self.seen[-40:])

    def test_interrupt(self):
        process = self.open("tap", self.talk(TALK))
        self.until(self.has("9 of 9"))
        self.press("\x03")
        self.assertEqual(process.wait(LIMIT), 128 + signal.SIGINT)

    def test_relay_on_the_terminal(self):
        """The wire on stdin and stdout, the view on /dev/tty; leaving the view leaves the conversation."""
        process = self.open(
            "tap", "--", ECHO, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for pipe in (process.stdin, process.stdout, process.stderr):
            self.addCleanup(pipe.close)
        process.stdin.write(request(1, "echo", a=1) + b"\n")
        process.stdin.flush()
        self.assertEqual(json.loads(process.stdout.readline())["result"], {"a": 1})
        screen = self.until(self.has("reply"))
        self.assertTrue(self.has("> request echo #1")(screen), screen)
        self.press("q")
        process.stdin.write(request(2, "echo", b=2) + b"\n")
        process.stdin.flush()
        self.assertEqual(json.loads(process.stdout.readline())["result"], {"b": 2})
        process.stdin.close()
        self.assertEqual(process.wait(LIMIT), 0)
        self.assertEqual(process.stdout.read() + process.stderr.read(), b"")

    def test_a_file_that_is_recorded(self):
        """The two together: record in one process, tap in another."""
        recorder = self.start("record", "-o", "x.talk", "--", PYTHON, "-u", ECHO)
        recorder.stdin.write(request(1, "echo", a=1) + b"\n")
        recorder.stdin.flush()
        recorder.stdout.readline()
        events.until(lambda: (self.dir / "x.talk").read_text(), self.dir)
        self.open("tap", "x.talk")
        self.until(self.has("reply   echo #1"))
        recorder.stdin.write(request(2, "echo", a=1) + b"\n")
        recorder.stdin.close()
        self.until(self.has("reply   echo #2"))
        self.until(self.has("ended"))
        self.assertEqual(recorder.wait(LIMIT), 0)


if __name__ == "__main__":
    unittest.main()
