# SPDX-License-Identifier: Apache-2.0
"""mortise jail on a terminal: what a confined program does to it ends with the program, and what it could do to
others through it is refused. Programs that use a terminal as they should work."""
import functools
import os
import pty
import select
import shutil
import signal
import termios
import unittest

from levels import LEVELS, USERS, level_and_user
from support import Case, LIMIT, MORTISE, PYTHON

# Each prints a line per request: its name, and the error or 0.
REQUESTS = """
import errno, fcntl, os, struct
who = struct.pack('i', os.getppid())
for name, code, arg in (
    ('TIOCSCTTY', 0x540E, 1), ('TIOCSPGRP', 0x5410, who), ('TIOCSWINSZ', 0x5414, struct.pack('4H', 3, 3, 0, 0)),
    ('TIOCCONS', 0x541D, 0), ('TIOCNOTTY', 0x5422, 0), ('TIOCEXCL', 0x540C, 0), ('TIOCSETD', 0x5423, who),
    ('TCXONC', 0x540A, 0), ('TCSBRK', 0x5409, 0), ('TIOCVHANGUP', 0x5437, 0), ('FIOASYNC', 0x5452, who),
    ('FIOSETOWN', 0x8901, who), ('SIOCSPGRP', 0x8902, who), ('TIOCSLCKTRMIOS', 0x5457, b'x' * 60),
):
    try: fcntl.ioctl(0, code, arg); print(name, 0)
    except OSError as e: print(name, errno.errorcode[e.errno])
for name, code, arg in (
    ('O_ASYNC', fcntl.F_SETFL, os.O_ASYNC), ('F_SETOWN', fcntl.F_SETOWN, os.getppid()),
    ('F_SETOWN_EX', 15, struct.pack('ii', 1, os.getppid())), ('F_SETSIG', 10, 9),
):
    try: fcntl.fcntl(0, code, arg); print(name, 0)
    except OSError as e: print(name, errno.errorcode[e.errno])
"""
ASYNC = """
import fcntl, os, sys
try: fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC)
except OSError: pass
print('ready', flush=True)
print('got', sys.stdin.readline().strip(), flush=True)
"""
SPOIL = """
import termios, tty
tty.setraw(0)
new = termios.tcgetattr(0); new[3] &= ~(termios.ECHO | termios.ISIG); termios.tcsetattr(0, termios.TCSANOW, new)
print('spoilt', flush=True)
"""
TYPE = "import fcntl, time; fcntl.ioctl(0, 0x5412, b'!'); print('was', 'typed'); time.sleep(600)"
PASSWORD = "import getpass; print('len', len(getpass.getpass('word: ')))"


class Terminal:
    """A terminal with the command in its foreground, as a shell would run it."""

    def __init__(self, case, user, *words):
        try:
            self.ours, self.theirs = pty.openpty()
        except OSError as error:
            case.skipTest(f"no pseudo-terminal can be had here: {error}")
        self.case, self.text = case, b""
        self.before = termios.tcgetattr(self.theirs)
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self.be_the_command(user, words)
            finally:  # whatever was raised: this is not the test
                os._exit(127)
        case.addCleanup(self.close)

    def be_the_command(self, user, words):
        os.close(self.ours)
        os.login_tty(self.theirs) if hasattr(os, "login_tty") else self.login()
        if user is not None:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
        os.chdir(self.case.dir)
        os.execve(MORTISE, ["mortise", "jail", *map(str, words)], self.case.env)

    def login(self):
        os.setsid()
        for fd in range(3):
            os.dup2(self.theirs, fd)
        os.close(os.open(os.ttyname(0), os.O_RDWR))  # the first that a session leader opens

    def read(self):
        self.case.assertTrue(select.select([self.ours], [], [], LIMIT)[0], f"hangs; so far {self.text!r}")
        self.text += os.read(self.ours, 65536)

    def wait_for(self, text):
        while text not in self.text:
            self.read()

    def type(self, keys):
        os.write(self.ours, keys)

    def end(self):
        """The exit status, when it has ended; what it printed is in text."""
        fd = os.pidfd_open(self.pid)
        while not select.select([fd, self.ours], [], [], LIMIT)[0] == [fd]:
            self.read()
        os.close(fd)
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        self.after = termios.tcgetattr(self.theirs)
        self.size = termios.tcgetwinsize(self.theirs) if hasattr(termios, "tcgetwinsize") else None
        self.pid = None
        return status

    def close(self):
        """Also after a test that failed before the end."""
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.ours)
        os.close(self.theirs)


def on_terminals(*words):
    """The test runs once per level and user, with the oldest Landlock too: what newer ones hold must hold
    without them."""

    def with_words(test):
        @functools.wraps(test)
        def run(self):
            self.at_each(test, *words)

        return run

    return with_words


@unittest.skipUnless(LEVELS, "this machine cannot confine")
class Jail(Case):
    def setUp(self):
        super().setUp()
        self.dir.chmod(0o755)
        self.env["XDG_CONFIG_HOME"] = self.env["XDG_STATE_HOME"] = "/nonexistent"

    def at_each(self, test, *words):
        for level, user in level_and_user(USERS):
            for abi in ([], ["--landlock-abi", 2]):
                with self.subTest(level=level, user=user, abi=abi):
                    test(self, Terminal(self, user, "--level", level, *abi, *words))

    def check_spoilt(self, terminal):
        self.assertEqual(terminal.end(), 0, terminal.text)
        self.assertIn(b"spoilt", terminal.text)
        self.assertEqual(terminal.after, terminal.before)

    @on_terminals("--", PYTHON, "-c", SPOIL)
    def test_settings_come_back(self, terminal):
        self.check_spoilt(terminal)

    @on_terminals("--spawn", "--", PYTHON, "-c", SPOIL)
    def test_settings_come_back_with_spawn(self, terminal):
        self.check_spoilt(terminal)

    @on_terminals("--", PYTHON, "-c", SPOIL + "import time; time.sleep(600)")
    def test_settings_come_back_from_one_that_is_killed(self, terminal):
        terminal.wait_for(b"spoilt")
        os.kill(terminal.pid, signal.SIGTERM)
        self.assertNotEqual(terminal.end(), 0)
        self.assertEqual(terminal.after, terminal.before)

    @on_terminals("--", PYTHON, "-c", "print('up', flush=True); input()")
    def test_settings_of_others_stay(self, terminal):
        """Those that another program has made meanwhile, as a pager does behind a pipe."""
        terminal.wait_for(b"up")
        new = termios.tcgetattr(terminal.theirs)
        new[3] &= ~termios.ECHO
        termios.tcsetattr(terminal.theirs, termios.TCSANOW, new)
        terminal.type(b"x\r")
        self.assertEqual(terminal.end(), 0, terminal.text)
        self.assertEqual(terminal.after, new)

    @on_terminals("--", PYTHON, "-c", ASYNC)
    def test_input_does_not_signal_the_host(self, terminal):
        """O_ASYNC on a terminal makes its foreground group the owner: SIGIO would end the command."""
        terminal.wait_for(b"ready")
        terminal.type(b"key\r")
        self.assertEqual(terminal.end(), 0, terminal.text)
        self.assertIn(b"got key", terminal.text)

    @on_terminals("--", PYTHON, "-c", REQUESTS)
    def test_requests_that_reach_others(self, terminal):
        self.assertEqual(terminal.end(), 0, terminal.text)
        told = dict(line.split() for line in terminal.text.decode().splitlines())
        self.assertEqual(len(told), 18, told)
        self.assertEqual({name for name, error in told.items() if error not in ("ENOTTY", "EPERM")}, set())

    @on_terminals("--", PYTHON, "-c", TYPE)
    def test_typing_for_the_user_is_a_violation(self, terminal):
        self.assertNotEqual(terminal.end(), 0)
        self.assertNotIn(b"was typed", terminal.text)

    @on_terminals("--", PYTHON, "-c", PASSWORD)
    def test_password_prompt(self, terminal):
        terminal.wait_for(b"word: ")
        terminal.type(b"secret\r")
        self.assertEqual(terminal.end(), 0, terminal.text)
        self.assertIn(b"len 6", terminal.text)
        self.assertNotIn(b"secret", terminal.text)

    def full_screen(self, program, *keys):
        if not shutil.which(program):
            self.skipTest(f"there is no {program}")
        self.file("text", "".join(f"line {i}\n" for i in range(200)))
        words = ["-w", self.dir, "--env", "TERM=xterm", "--", shutil.which(program)]
        words += ["-n", "-u", "NONE", "-i", "NONE"] if program == "vim" else []

        def use(_, terminal):
            terminal.wait_for(b"line 3")
            for key in keys:
                terminal.type(key)
            self.assertEqual(terminal.end(), 0, terminal.text[-200:])
            self.assertEqual(terminal.after, terminal.before)

        self.at_each(use, *words, "text")  # a long name would be a second line of vim's

    def test_less(self):
        self.full_screen("less", b"G", b"q")

    def test_vim(self):
        self.full_screen("vim", b"\x1b", b":q!\r")


if __name__ == "__main__":
    unittest.main()
