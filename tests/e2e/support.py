# SPDX-License-Identifier: Apache-2.0
"""What the tests of the command share. MORTISE_BUILD names the build directory (default: build)."""
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import shlex
import shutil
import signal
import subprocess
import tempfile
import termios
import unittest

from events import LIMIT

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("MORTISE_BUILD", ROOT / "build")).resolve()
MORTISE = BUILD / "mortise"
PLUGINS = ROOT / "tests" / "plugins"
PYTHON = "/usr/bin/python3"

ECHO = PLUGINS / "echo.py"
YAMS_OK = PLUGINS / "yams_ok.py"
YAMS_ERRORS = PLUGINS / "yams_errors.py"
KG_PAGES = PLUGINS / "kg_pages.py"
GASSIST_PLUGIN = PLUGINS / "gassist.py"

# Tests that a shell has started in the background ignore Ctrl-C, and what they start would inherit that.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup

# For what a build or a machine may be without.
needs_node = unittest.skipUnless(shutil.which("node"), "node is not installed")
needs_elf_text = unittest.skipUnless((BUILD / "plugins/elf-text/elf-text").exists(), "elf-text is not built")

# Said where no control groups can be made, as in most containers, beside what a test is about.
NO_GROUPS = "holds for each process alone"
KINDS = (
    "usage timeout crashed plugin_error protocol cancelled overloaded manifest not_found start input "
    "unsupported system internal sandbox_violation jail transport"
).split()


class Done:
    """A finished run of the command."""

    def __init__(self, code, out, err):
        self.code, self.raw, self.err = code, out, err

    @property
    def out(self):
        return self.raw.decode("utf-8")

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def rows(self):
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def error_lines(self):
        return self.err.splitlines()


@unittest.skipUnless(MORTISE.exists(), f"{MORTISE} is not built")
class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="mortise-e2e-"))
        self.addCleanup(shutil.rmtree, self.dir)
        own = tempfile.mkdtemp(prefix="mortise-own-")
        # A session's keeper that was stopped removes its socket at the same time.
        self.addCleanup(shutil.rmtree, own, ignore_errors=True)
        # Nobody's own settings, and nothing of this terminal's.
        self.env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "MORTISE_TRACE")}
        self.env.update(
            HOME=own,
            XDG_CACHE_HOME=f"{own}/cache",
            XDG_CONFIG_HOME=str(self.dir / "config"),
            XDG_DATA_HOME=str(self.dir / "data"),
            XDG_STATE_HOME=str(self.dir / "state"),
            XDG_RUNTIME_DIR=own,
            TERM="xterm",
            PYTHONDONTWRITEBYTECODE="1",
        )

    def file(self, name, content=""):
        path = self.dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def plugin(self, name, program=YAMS_OK, manifest=None, **self_description):
        """A directory with a yams-plugin.json that runs one of the test plugins."""
        told = {
            "name": name,
            "version": "1.0.0",
            "entry": {"cmd": [PYTHON, str(program), json.dumps(self_description)]},
        }
        told.update(manifest or {})
        return self.file(f"{name}/yams-plugin.json", json.dumps(told)).parent

    def run_mortise(self, *args, stdin=b"", env=None, cwd=None, pass_fds=()):
        done = subprocess.run(
            [str(MORTISE), *map(str, args)],
            input=stdin,
            capture_output=True,
            env={**self.env, **(env or {})},
            cwd=cwd or self.dir,
            pass_fds=pass_fds,
            timeout=LIMIT,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr.decode("utf-8"))

    def ok(self, *args, **how):
        done = self.run_mortise(*args, **how)
        self.assertEqual((done.code, done.err), (0, ""), done.raw)
        return done

    def fails(self, code, kind, *args, **how):
        """One line on stderr that begins with the kind, the right exit code, nothing on stdout."""
        done = self.run_mortise(*args, **how)
        self.assertEqual(done.code, code, done.err)
        lines = [line for line in done.error_lines if NO_GROUPS not in line]
        self.assertEqual(len(lines), 1, done.err)
        self.assertTrue(lines[0].startswith(kind + ": "), done.err)
        self.assertIn(kind, KINDS)
        if "--json" not in args:
            self.assertEqual(done.out, "")
        return done

    def in_time(self, run, settled):
        """What run(limit) says, when it had come to where it stays before its limit was over: how long that
        takes, only this machine knows. settled(done): it had."""
        for limit in ("300ms", "3s", "30s", "250s"):
            done = run(limit)
            if settled(done):
                return done
        self.fail(f"it does not come to the point in {limit}: {done.out}{done.err}")

    def in_terminal(self, *args, env=None, seen=None, answer=None):
        """Runs with stdout and stderr on a terminal; all that appeared there, and the exit code. seen: called
        with all that is there whenever something is new. answer: typed when "[y/N]" is asked, also Ctrl-C."""
        try:
            ours, theirs = pty.openpty()
        except OSError as error:  # a bare chroot
            self.skipTest(f"no pseudo-terminal can be had here: {error}")
        try:
            process = subprocess.Popen(
                [str(MORTISE), *map(str, args)],
                stdin=subprocess.DEVNULL if answer is None else theirs,
                stdout=theirs,
                stderr=theirs,
                env={**self.env, **(env or {})},
                cwd=self.dir,
                start_new_session=answer is not None,
                preexec_fn=None if answer is None else lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            )
        finally:
            os.close(theirs)
        text = b""
        try:
            while True:
                if not select.select([ours], [], [], LIMIT)[0]:
                    process.kill()
                    self.fail(f"hangs; so far {text!r}")
                try:
                    piece = os.read(ours, 65536)
                except OSError:  # EIO: the other side is closed
                    break
                if not piece:
                    break
                text += piece
                if seen:
                    seen(text)
                if answer is not None and b"[y/N]" in text:
                    os.write(ours, answer)
                    answer = None
        finally:
            os.close(ours)
        return Done(process.wait(LIMIT), text.replace(b"\r\n", b"\n"), "")


def is_sanitized(program):
    """It needs the run-time of a sanitizer: not what people run, and nothing that they could link with."""
    with open(program, "rb") as file:
        return b"__asan_init" in file.read()


def shell_words(*words):
    """For a line that a shell reads: the tree may lie in a directory with a blank in its name."""
    return shlex.join(map(str, words))


def without_color(text):
    return re.sub(r"\x1b\[[0-9;]*[mK]", "", text)
