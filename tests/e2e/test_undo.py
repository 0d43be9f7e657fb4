# SPDX-License-Identifier: Apache-2.0
"""A confined run that fails leaves the workspace as it was: mortise run of Sunscreen plugins,
mortise jail --undo."""
import os
import pathlib
import signal
import subprocess
import textwrap
import unittest

from support import LIMIT, MORTISE
from undo_support import EVERYTHING, FAIL, PYTHON, Undo, at_each_level, picture


class Failures(Undo):
    """Whatever the failure is, nothing stays."""

    @at_each_level
    def test_everything(self, level):
        done = self.python(level, EVERYTHING, fails=True)
        self.assertEqual(done.code, 7, done.err)
        self.unchanged()
        self.assertRegex(done.err.splitlines()[-1], r"^undone: \d+ files changed, \d+ created, \d+ removed$")

    @at_each_level
    def test_success_keeps(self, level):
        done = self.python(level, EVERYTHING)
        self.assertEqual((done.code, done.err), (0, ""))
        self.assertEqual((self.work / "note").read_text(), "replaced")
        self.assertEqual((self.work / "linked").read_text(), "t")
        self.assertEqual(os.listdir(self.dir / "state/mortise/undo"), [])

    @at_each_level
    def test_violation(self, level):
        done = self.python(level, EVERYTHING + "\nopen('/etc/shadow')")
        self.assertEqual(done.code, 9)
        self.assertTrue(done.err.startswith("sandbox_violation: "), done.err)
        self.unchanged()

    @at_each_level
    def test_violation_after_the_answer(self, level):
        code = f"pathlib.Path({str(self.work / 'note')!r}).write_text('late')\n"
        for more, code_of in (("open('/etc/shadow')", 9), ("", 0)):
            done = self.python(level, code + more, after=("--later", "x"))
            self.assertEqual(done.code, code_of, done.err)
            self.assertEqual((self.work / "note").read_text(), "this is note\n" if more else "late")

    @at_each_level
    def test_the_plugins_own_error(self, level):
        done = self.python(level, "open('note', 'w').write('x')\nraise ValueError")  # a traceback: crashed
        self.assertEqual(done.code, 7)
        self.unchanged()
        p = self.sh(
            'echo x >"$SUNSCREEN_WORKSPACE_ROOT/note"; printf \'{"jsonrpc":"2.0","id":1,"error":{"code":4,"message":"m"}}\''
        )
        done = self.run_mortise("run", "-w", self.work, "--level", level, "--json", p, "hello")
        self.assertEqual(done.code, 9)
        self.unchanged()
        self.assertEqual(done.json["undone"], {"changed": 1, "created": 0, "removed": 0, "left": 0})
        self.assertEqual(done.err.splitlines()[-1], "undone: 1 file changed")

    @at_each_level
    def test_status(self, level):
        """By sunscreen-plugin.json an answer counts only with status 0; its scratch directory is in
        the workspace."""
        answer = 'printf \'{"jsonrpc":"2.0","id":1,"result":1}\'; '
        write = 'echo x >"$SUNSCREEN_WORKSPACE_ROOT/new"; echo y >"$SUNSCREEN_PLUGIN_SCRATCH/cache"; '
        done = self.run_mortise(
            "run", "-w", self.work, "--level", level, self.sh(write + answer + "exit 23"), "hello"
        )
        self.assertEqual(done.code, 9, done.err)
        self.unchanged()
        done = self.run_mortise("run", "-w", self.work, "--level", level, self.sh(write + answer), "hello")
        self.assertEqual((done.code, done.err), (0, ""))
        self.assertEqual((self.work / ".sunscreen/plugins/hello/cache").read_text(), "y\n")

    @at_each_level
    def test_a_claim_that_is_not_true(self, level):
        done = self.run_mortise("run", "-w", self.work, "--level", level, self.toml(), "claim", "no/such/file")
        self.assertEqual(done.code, 9)
        code = "open('new', 'w').write('x')\nos._exit(0)"
        self.assertNotEqual(self.python(level, code).code, 0)
        self.unchanged()

    @at_each_level
    def test_time_limit(self, level):
        code = "open('note', 'w').write('x')\nprint('now', file=sys.stderr, flush=True)\ntime.sleep(1000)"
        done = self.in_time(lambda limit: self.python(level, code, "--timeout", limit), self.began)
        self.assertEqual(done.code, 6, done.err)
        self.unchanged()
        self.assertIn("undone: 1 file changed", done.err)

    @at_each_level
    def test_time_limit_of_jail(self, level):
        code = "import sys, time; open('new', 'w'); print('now', file=sys.stderr, flush=True); time.sleep(1000)"
        done = self.in_time(
            lambda limit: self.run_mortise(
                "jail",
                "--limit",
                f"wall={limit}",
                "--level",
                level,
                "-w",
                self.work,
                "--write",
                "--undo",
                "--",
                PYTHON,
                "-c",
                code,
                cwd=self.work,
            ),
            self.began,
        )
        self.assertEqual((done.code, done.err.splitlines()[-1]), (124, "undone: 1 file created"))
        self.unchanged()

    @staticmethod
    def began(done):
        return "now" in done.err

    @at_each_level
    def test_signal(self, level):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.start(
                level,
                "open('note', 'w').write('x')\nprint('now', file=sys.stderr, flush=True)\ntime.sleep(1000)",
            ) as run:
                self.assertIn("now", run.stderr.readline())
                run.send_signal(number)
                _, err = run.communicate(timeout=LIMIT)
            self.assertEqual(run.returncode, 128 + number)
            self.assertIn("undone: 1 file changed", err)
            self.unchanged()

    def start(self, level, code):
        code = f"os.chdir({str(self.work)!r})\n" + code
        return subprocess.Popen(
            [
                str(MORTISE),
                "run",
                "-w",
                str(self.work),
                "--level",
                level,
                str(self.toml()),
                "act",
                "--do",
                "python",
                "--at",
                code,
            ],
            env={**os.environ, **self.env},
            cwd=self.dir,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )

    @at_each_level
    def test_hooks(self, level):
        """Of several plugins only the one that fails is undone."""
        good = self.sh(
            'echo good >"$SUNSCREEN_WORKSPACE_ROOT/good"; printf \'{"jsonrpc":"2.0","id":1,"result":1}\'',
            "good",
        )
        bad = self.sh(
            'echo bad >"$SUNSCREEN_WORKSPACE_ROOT/good"; echo bad >"$SUNSCREEN_WORKSPACE_ROOT/bad"; exit 1',
            "bad",
        )
        done = self.run_mortise(
            "run", "-w", self.work, "--level", level, "--json", "--hook", "post-codama", good, bad
        )
        self.assertEqual(done.code, 9)
        self.assertEqual((self.work / "good").read_text(), "good\n")
        self.assertFalse((self.work / "bad").exists())
        self.assertEqual(
            [report.get("undone") for report in done.json["reports"]],
            [None, {"changed": 1, "created": 1, "removed": 0, "left": 0}],
        )

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    @at_each_level
    def test_another_owner(self, level):
        """Root gives files back to whom they belonged. At t1 the guardian does not see who that was,
        and it is said."""
        os.chown(self.work / "gone", 12345, 54321)
        self.before = picture(self.work)
        done = self.python(level, "os.unlink('gone')", fails=True)
        self.assertEqual((self.work / "gone").read_text(), "this is gone\n")
        if level == "t0":
            self.unchanged()
        else:
            self.assertIn("not undone: gone: it is back, but it belonged to another user", done.err)


class Choices(Undo):
    @at_each_level
    def test_keep(self, level):
        done = self.python(level, "open('note', 'w').write('x')", "--keep", fails=True)
        self.assertEqual(done.code, 7)
        self.assertEqual((self.work / "note").read_text(), "x")
        self.assertNotIn("undone", done.err)
        self.assertFalse((self.dir / "state/mortise/undo").exists())

    def test_unconfined(self):
        for how in (["--unconfined"], ["--level", "guarded"], ["--set", "sandbox.unconfined=true"]):
            self.fresh()
            code = f"open({str(self.work / 'note')!r}, 'w').write('x')" + FAIL
            done = self.run_mortise(
                "run", "-w", self.work, *how, self.toml(), "act", "--do", "python", "--at", code
            )
            self.assertEqual(done.code, 7, done.err)
            self.assertEqual((self.work / "note").read_text(), "x")
            self.assertEqual(done.err.splitlines()[-1], "not undone: p ran unconfined, so all its changes stay")

    @at_each_level
    def test_nothing_changed(self, level):
        done = self.python(level, "raise SystemExit(3)")
        self.assertEqual(done.code, 7)
        self.assertNotIn("undone", done.err)
        self.unchanged()

    @at_each_level
    def test_too_much(self, level):
        """What cannot be saved may not be changed; --keep does without."""
        with open(self.work / "huge", "wb") as f:
            f.truncate((1 << 30) + 1)
        self.before = None
        done = self.python(level, "open('huge', 'r+b').write(b'x')")
        self.assertEqual(done.code, 7)
        self.assertIn("Disk quota exceeded", done.err)
        self.assertIn(
            "huge could not be changed: at most 1 GiB and 100000 changes can be kept for undoing", done.err
        )
        self.assertEqual(
            done.err.splitlines()[-1], "to run it without undo, so that nothing is saved, use --keep"
        )
        self.assertEqual(self.python(level, "open('huge', 'r+b').write(b'x')", "--keep").code, 0)

    @at_each_level
    def test_nowhere_to_save(self, level):
        done = self.python(level, "open('note', 'w')", env={**self.env, "XDG_STATE_HOME": "/proc"})
        self.assertNotEqual(done.code, 0)
        self.assertIn("/proc/mortise/undo", done.err)
        self.assertIn("to run it anyway, use --keep", done.err)
        self.assertEqual(picture(self.work), self.before)

    @at_each_level
    def test_state_directory_in_the_workspace(self, level):
        """A home directory as the workspace: the plugin sees the store, and cannot write it."""
        state = str(self.work / "state")
        code = textwrap.dedent(
            """
            open('note', 'w').write('x')
            for top, _, files in os.walk('state'):
                for name in files:
                    open(os.path.join(top, name), 'r+').write('x')
        """
        )
        done = self.python(level, code, env={**self.env, "XDG_STATE_HOME": state})
        self.assertEqual(done.code, 9, done.err)
        self.assertIn("no write to a protected path", done.err)
        self.assertEqual((self.work / "note").read_text(), "this is note\n")

    @at_each_level
    def test_what_others_need_to_undo(self, level):
        """A home directory as the workspace: what another run has kept cannot be written, made or moved, also
        without an undo of one's own."""
        state = self.work / "state"
        other = state / "mortise" / "undo" / "0123456789abcdef" / "journal"
        other.parent.mkdir(parents=True)
        other.write_text("of another run")
        for code in (
            "open('state/mortise/undo/0123456789abcdef/journal', 'w')",
            "os.unlink('state/mortise/undo/0123456789abcdef/journal')",
            "open('state/mortise/undo/new', 'w')",
            "os.rename('state/mortise/undo', 'state/mortise/gone')",
            "os.rename('state', 'gone')",
        ):
            for keep in ([], ["--keep"]):
                with self.subTest(code=code, keep=keep):
                    done = self.python(level, code, *keep, env={**self.env, "XDG_STATE_HOME": str(state)})
                    self.assertNotEqual(done.code, 0, done.err)
                    self.assertEqual(other.read_text(), "of another run")
                    self.assertFalse((other.parent.parent / "new").exists())

    @at_each_level
    def test_jail(self, level):
        options = ["--level", level, "-w", self.work, "--write", "--undo", "--"]
        done = self.run_mortise("jail", *options, PYTHON, "-c", EVERYTHING + FAIL, cwd=self.work)
        self.assertEqual(done.code, 3, done.err)
        self.unchanged()
        done = self.run_mortise(
            "jail",
            "--on-denial=kill",
            *options,
            PYTHON,
            "-c",
            "open('note', 'w').write('x'); open('/etc/shadow')",
            cwd=self.work,
        )
        self.assertEqual((done.code, done.err.splitlines()[-1]), (9, "undone: 1 file changed"))
        self.unchanged()
        done = self.run_mortise("jail", *options, PYTHON, "-c", "open('note', 'w').write('x')", cwd=self.work)
        self.assertEqual((done.code, done.err, (self.work / "note").read_text()), (0, "", "x"))
        self.assertIn("--undo needs", self.fails(125, "usage", "jail", "--undo", "--", "/bin/true").err)


class Others(Undo):
    """What somebody else has changed since stays, and is named."""

    WAITS = "\nprint('now', file=sys.stderr, flush=True)\nsys.stdin.readline()" + FAIL

    def meanwhile(self, level, code, deed):
        """The plugin waits in the middle, while `deed` is done."""
        command = self.jail_words(level, textwrap.dedent(code) + self.WAITS)
        with subprocess.Popen(
            command,
            env={**os.environ, **self.env},
            cwd=self.work,
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as run:
            self.assertEqual(run.stderr.readline(), "now\n")
            deed()
            _, err = run.communicate("go\n", timeout=LIMIT)
        self.assertEqual(run.returncode, 3, err)
        return err.splitlines()

    @at_each_level
    def test_in_place(self, level):
        """As some editors save: the same file, rewritten."""
        err = self.meanwhile(
            level,
            "for n in ('note', 'shared', 'new'): open(n, 'w').write('plugin')",
            lambda: [(self.work / n).write_text("mine") for n in ("note", "new")],
        )
        self.assertEqual(
            [(self.work / n).read_text() for n in ("note", "new", "shared")],
            ["mine", "mine", "this is shared\n"],
        )
        self.assertEqual(err[-1], "undone: 1 file changed")
        named = [line for line in err if line.startswith("not undone: ")]
        self.assertEqual([line.split(": ")[1] for line in named], ["new", "note"])
        self.assertIn("somebody else has changed it since", named[0])
        copy = named[1].rsplit("its old content: ", 1)[1]
        self.assertEqual(pathlib.Path(copy).read_text(), "this is note\n")

    @at_each_level
    def test_by_another_file(self, level):
        """As others save: a new file in its place."""

        def save():
            (self.work / "note~").write_text("mine")
            os.rename(self.work / "note~", self.work / "note")
            (self.work / "gone").write_text("mine, too")

        err = self.meanwhile(
            level, "open('note', 'w').write('plugin'); os.unlink('gone'); open('shared', 'w')", save
        )
        self.assertEqual(
            [(self.work / n).read_text() for n in ("note", "gone", "shared")],
            ["mine", "mine, too", "this is shared\n"],
        )
        self.assertEqual(len([line for line in err if "another file has this name now" in line]), 2, err)

    @at_each_level
    def test_in_a_new_directory(self, level):
        err = self.meanwhile(
            level, "os.mkdir('made'); open('made/a', 'w')", lambda: (self.work / "made/mine").write_text("m")
        )
        self.assertEqual(os.listdir(self.work / "made"), ["mine"])
        self.assertIn("not undone: made: something else is in it", err)

    @at_each_level
    def test_removed(self, level):
        self.meanwhile(
            level,
            "open('note', 'w').write('plugin'); open('new', 'w')",
            lambda: [(self.work / n).unlink() for n in ("note", "new")],
        )
        self.assertFalse((self.work / "note").exists())

    @at_each_level
    def test_readers_change_nothing(self, level):
        err = self.meanwhile(
            level,
            "open('note', 'w').write('plugin')",
            lambda: [(self.work / "note").read_text() for _ in range(100)],
        )
        self.assertEqual(err[-1], "undone: 1 file changed")
        self.unchanged()


class Hostile(Undo):
    @at_each_level
    def test_links_and_moved_parents(self, level):
        """What is undone stays below the workspace, whatever leads out of it."""
        outside = self.dir / "outside"
        self.file("outside/in", "kept\n")
        code = f"""
            open("dir/in", "w").write("x"); open("dir/new", "w").write("x")
            os.rename("dir", "away"); os.symlink({str(outside)!r}, "dir")
            os.rename("away", "dir2"); os.unlink("dir"); os.symlink({str(outside)!r}, "dir")
            os.rename("dir2/in", "empty/in")
        """
        done = self.python(level, code, fails=True)
        self.assertIn("undone: ", done.err)
        self.assertEqual(picture(outside)["in"][3], b"kept\n")
        self.unchanged()

    @at_each_level
    def test_closed_directories(self, level):
        code = """
            os.makedirs("m/n"); open("m/n/x", "w").write("x"); os.chmod("m/n", 0); os.chmod("m", 0)
            os.chmod("dir", 0o700); open("dir/y", "w"); os.chmod("dir", 0o500); os.chmod(".", 0o500)
        """
        done = self.python(level, code, fails=True)
        self.assertIn("undone: ", done.err)
        self.unchanged()

    @at_each_level
    def test_many(self, level):
        code = """
            for i in range(3000):
                with open(f"t{i % 7}", "w") as f: f.write(str(i))
                os.rename(f"t{i % 7}", "note" if i % 2 else "shared")
            for i in range(500): os.symlink("x", f"s{i}")
            for i in range(500): os.mkdir(f"d{i}")
        """
        done = self.python(level, code, fails=True)
        self.assertEqual(done.code, 7, done.err)
        self.unchanged()
        self.assertIn("undone: 2 files changed, 1000 created", done.err)

    @at_each_level
    def test_between_workspace_and_scratch(self, level):
        """There is no way around the notes: a move or a second name across the border is one between
        file systems."""
        code = """
            import errno
            for deed in (os.rename, os.link):
                for pair in (("note", os.environ["TMPDIR"] + "/x"), (os.environ["TMPDIR"] + "/y", "y")):
                    open(os.environ["TMPDIR"] + "/y", "w").close()
                    try: deed(*pair)
                    except OSError as error: assert error.errno == errno.EXDEV, error
                    else: raise AssertionError(pair)
            open("note", "w").write("x")
        """
        done = self.python(level, code, fails=True)
        self.assertEqual(done.code, 7)
        self.assertIn("undone: 1 file changed", done.err)
        self.unchanged()


if __name__ == "__main__":
    unittest.main()
