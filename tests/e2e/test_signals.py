# SPDX-License-Identifier: Apache-2.0
"""SIGINT and SIGTERM: the first is polite, the second is not; nothing is left behind."""
import pathlib
import signal
import subprocess
import time
import unittest

from events import until_ended
from support import Case, ECHO, LIMIT, MORTISE, PLUGINS, PYTHON


def hear_all():
    """As from a terminal: under nohup, or in the background of a script, some are ignored, and
    mortise keeps it so."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class Signals(Case):
    def start(self, *args, preexec_fn=hear_all):
        process = subprocess.Popen(
            [str(MORTISE), *map(str, args)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.env,
            cwd=self.dir,
            text=True,
            preexec_fn=preexec_fn,
        )
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        return process

    def wait_for_line(self, process, text):
        """Reads stderr until a line holds the text."""
        for line in process.stderr:
            if text in line:
                return line
        self.fail(f"ended with {process.wait(LIMIT)} before it said {text!r}")

    def test_interrupt(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = self.start("call", "-v", ECHO, "hang")
            self.wait_for_line(process, "echo| hanging")
            process.send_signal(number)
            out, err = process.communicate(timeout=LIMIT)
            self.assertEqual(process.returncode, 128 + number)
            self.assertEqual(out, "")
            self.assertIn(f"cancelled: interrupted by signal {int(number)}", err)
            self.assertIn("draining -> stopped", err)

    def test_blocked_by_whoever_started_it(self):
        blocked = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
        old = signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
        self.addCleanup(signal.pthread_sigmask, signal.SIG_SETMASK, old)
        process = self.start("call", "-v", ECHO, "hang")
        self.wait_for_line(process, "echo| hanging")
        process.terminate()
        process.communicate(timeout=LIMIT)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)

    def test_as_json(self):
        process = self.start("call", "-v", "--json", ECHO, "hang")
        self.wait_for_line(process, "echo| hanging")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=LIMIT)
        self.assertIn('"kind":"cancelled"', out)
        self.assertIn('"exit_code":130', out)

    def test_twice(self):
        """A plugin that ignores both the end of stdin and SIGTERM goes at the second signal, not
        after the graces."""
        stubborn = [PYTHON, PLUGINS / "stubborn.py"]
        words = ["call", "-v", "--set", "stop.term=1000s", "--set", "stop.kill=1000s", "x", "--", *stubborn]
        process = self.start(*words)
        pid = int(self.wait_for_line(process, "| deaf").split()[-1])
        self.wait_for_line(process, "| asked")
        process.send_signal(signal.SIGINT)
        self.wait_for_line(process, "-> draining")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=LIMIT)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(until_ended([pid]), [])

    def test_while_extracting(self):
        self.file("a.txt", "hang")
        process = self.start(
            "extract", "-v", "--show-wire", "a.txt", "a.txt", "-j1", "--plugin", PLUGINS / "yams_errors.py"
        )
        self.wait_for_line(process, '"method":"extractor.extract"')
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=LIMIT)
        self.assertEqual((process.returncode, out), (130, ""))
        self.assertIn("cancelled: interrupted", err)

    def test_while_reading_stdin(self):
        for words in (["call", ECHO, "echo", "-"], ["extract", "-", "--plugin", PLUGINS / "yams_ok.py"]):
            process = subprocess.Popen(
                [str(MORTISE), *map(str, words)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self.env,
                preexec_fn=hear_all,
            )
            deadline = time.monotonic() + LIMIT
            while (
                not pathlib.Path(f"/proc/{process.pid}/syscall").read_text().startswith("0 0x0 ")
            ):  # read(0, ...)
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)
            process.send_signal(signal.SIGTERM)
            with process.stdout, process.stderr, process.stdin:
                self.assertEqual(process.wait(LIMIT), 128 + signal.SIGTERM)
                self.assertIn(b"cancelled: interrupted", process.stderr.read())

    def test_ignored_ones_stay_ignored(self):
        """If it heard it, the first of the two would be the one that ends the call, and the
        second would kill."""
        process = self.start(
            "call", "-v", ECHO, "hang", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
        )
        self.wait_for_line(process, "echo| hanging")
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=LIMIT)
        self.assertIn("cancelled: interrupted by signal 15", err)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)


if __name__ == "__main__":
    unittest.main()
