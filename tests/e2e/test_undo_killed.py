# SPDX-License-Identifier: Apache-2.0
"""Undoing after the host or the guardian was killed, and for an ordinary user."""
import os
import pathlib
import select
import shutil
import signal
import subprocess
import unittest

from levels import LEVELS
from support import LIMIT, MORTISE
from undo_support import BECOME_NOBODY, EVERYTHING, FAIL, NOBODY, PYTHON, Undo, at_each_level, picture


class Killed(Undo):
    """The process that is left undoes; where none is, the next run says so."""

    def start(self, level, code="open('note', 'w').write('x'); open('new', 'w').close()"):
        run = subprocess.Popen(
            self.jail_words(level, code + "\nprint('now', flush=True)\nsys.stdin.readline()"),
            env={**os.environ, **self.env},
            cwd=self.work,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.assertEqual(run.stdout.readline(), "now\n")
        guardian = int(pathlib.Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()[0])
        return run, guardian

    def next_run(self, level):
        return self.run_mortise(
            "jail", "--level", level, "-w", self.work, "--write", "--undo", "--", "/bin/true", cwd=self.work
        )

    @at_each_level
    def test_host(self, level):
        run, guardian = self.start(level)
        end = os.pidfd_open(guardian)
        run.kill()
        run.wait(LIMIT)  # before the plugin's stdin ends: the guardian must see which of the two went first
        run.communicate(timeout=LIMIT)
        self.wait_for(end)
        self.assertEqual(picture(self.work), self.before)
        self.next_run_tells(level)

    @at_each_level
    def test_host_before_it_has_judged(self, level):
        """The plugin and its guardian have ended, and the host is killed before it knows: the
        next run undoes."""
        run, guardian = self.start(level)
        end = os.pidfd_open(guardian)
        run.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, run.pid, os.WSTOPPED | os.WNOWAIT)
        run.stdin.close()
        self.wait_for(end)
        self.assertEqual((self.work / "note").read_text(), "x")
        run.kill()
        run.wait(LIMIT)
        run.stdout.close()
        run.stderr.close()
        self.next_run_tells(level)

    def next_run_tells(self, level):
        done = self.next_run(level)
        self.assertEqual(
            done.err.splitlines(),
            ["python3 was killed when it last ran here; undone: 1 file changed, 1 created"],
        )
        self.unchanged()

    def wait_for(self, pidfd):
        self.assertTrue(select.select([pidfd], [], [], LIMIT)[0])
        os.close(pidfd)

    @at_each_level
    def test_guardian(self, level):
        run, guardian = self.start(level)
        os.kill(guardian, signal.SIGKILL)
        _, err = run.communicate(timeout=LIMIT)
        self.assertEqual(run.returncode, 125, err)
        self.assertIn("undone: 1 file changed, 1 created", err)
        self.unchanged()

    @at_each_level
    def test_both(self, level):
        run, guardian = self.start(level)
        end = os.pidfd_open(guardian)
        for pid in (run.pid, guardian):  # neither may see the other's end
            os.kill(pid, signal.SIGSTOP)
        for pid in (run.pid, guardian):
            os.kill(pid, signal.SIGKILL)
        run.communicate(timeout=LIMIT)
        self.wait_for(end)
        self.assertEqual((self.work / "note").read_text(), "x")
        (self.work / "new").write_text("mine")
        err = self.next_run(level).err.splitlines()
        self.assertEqual(
            err[-1], "python3 and its guardian were killed when it last ran here: its changes stay"
        )
        self.assertEqual((self.work / "new").read_text(), "mine")
        kept = [line for line in err if line.startswith("not undone: note: ")][0].rsplit(
            "its old content: ", 1
        )[1]
        self.assertEqual(pathlib.Path(kept).read_text(), "this is note\n")
        self.assertEqual(self.next_run(level).err, "", "told once")
        old = pathlib.Path(kept).parents[1]
        os.utime(old, (0, 0))
        self.next_run(level)
        self.assertFalse(old.exists(), "and forgotten after a while")

    def test_another_workspace_is_not_ours_to_settle(self):
        level = LEVELS[0]
        run, guardian = self.start(level)
        end = os.pidfd_open(guardian)
        for pid in (run.pid, guardian):
            os.kill(pid, signal.SIGSTOP)
        for pid in (run.pid, guardian):
            os.kill(pid, signal.SIGKILL)
        run.communicate(timeout=LIMIT)
        self.wait_for(end)
        other = self.dir / "other"
        other.mkdir()
        done = self.run_mortise(
            "jail", "--level", level, "-w", other, "--write", "--undo", "--", "/bin/true", cwd=other
        )
        self.assertEqual(done.err, "")
        self.assertIn("killed", self.next_run(level).err)


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "needs root and setpriv(1)")
class Nobody(Undo):
    """Without root's way past permissions."""

    def run_mortise(self, *args, env=None, cwd=None, **how):  # pylint: disable=arguments-differ
        for path in (self.dir, *self.dir.rglob("*")):
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
        done = subprocess.run(
            [*BECOME_NOBODY, str(MORTISE), *map(str, args)],
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
            env={**os.environ, **self.env, "HOME": str(self.dir), **(env or {})},
            cwd=cwd or self.dir,
        )
        if "Permission denied" in done.stderr and ("setpriv" in done.stderr or "helper" in done.stderr):
            self.skipTest("nobody cannot reach the build directory")
        return done

    def setUp(self):
        super().setUp()
        self.dir.chmod(0o755)

    @at_each_level
    def test_everything(self, level):
        options = ["--level", level, "-w", self.work, "--write", "--undo", "--"]
        for path in (self.work, *self.work.rglob("*")):
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
        before = picture(self.work)
        done = self.run_mortise("jail", *options, PYTHON, "-c", EVERYTHING + FAIL, cwd=self.work)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(picture(self.work), before)
        self.assertNotIn("not undone", done.stderr)

    @at_each_level
    def test_plugin(self, level):
        for path in (self.work, *self.work.rglob("*")):
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
        before = picture(self.work)
        code = f"os.chdir({str(self.work)!r})\n" + EVERYTHING + "\nos.chmod('.', 0o500)\nopen('/etc/shadow')"
        done = self.run_mortise(
            "run", "-w", self.work, "--level", level, self.toml(), "act", "--do", "python", "--at", code
        )
        self.assertEqual(done.returncode, 9, done.stderr)
        self.assertEqual(picture(self.work), before)

    @at_each_level
    def test_what_cannot_be_read_cannot_be_saved(self, level):
        (self.work / "note").chmod(0o200)
        done = self.run_mortise(
            "jail",
            "--level",
            level,
            "-w",
            self.work,
            "--write",
            "--undo",
            "--",
            PYTHON,
            "-c",
            "open('note', 'w').write('x')",
            cwd=self.work,
        )
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(
            "note could not be changed: its old content could not be kept for undoing: Permission denied",
            done.stderr,
        )


if __name__ == "__main__":
    unittest.main()
