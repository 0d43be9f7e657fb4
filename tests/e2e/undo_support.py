# SPDX-License-Identifier: Apache-2.0
"""A workspace with one of each kind of file, changed by a plugin that fails: for the tests of undoing."""
import os
import pathlib
import shutil
import stat
import subprocess
import textwrap

from levels import LEVELS, some
from sunscreen import Sunscreen
from support import MORTISE

PYTHON = "/usr/bin/python3"

NOBODY = 65534

BECOME_NOBODY = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]


def at_each_level(test):
    def run(self):
        for level in some(test, LEVELS):
            with self.subTest(level=level):
                self.fresh()
                test(self, level)

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


def picture(top):
    """Everything below it: types, modes, owners, contents, dates of files, texts of links."""
    seen = {}
    for path in sorted([top, *pathlib.Path(top).rglob("*")]):
        st = path.lstat()
        what = (
            os.readlink(path)
            if stat.S_ISLNK(st.st_mode)
            else path.read_bytes()
            if stat.S_ISREG(st.st_mode)
            else ""
        )
        dated = None if stat.S_ISDIR(st.st_mode) else st.st_mtime_ns
        seen[str(path.relative_to(top))] = (oct(st.st_mode), st.st_uid, st.st_gid, what, dated)
    return seen


# All that a program can do to a file tree.
EVERYTHING = textwrap.dedent(
    """
    import mmap, os
    open("note", "w").write("changed")
    with open("mapped", "r+b") as f:
        m = mmap.mmap(f.fileno(), 0)
    m[0:3] = b"XXX"
    os.truncate("cut", 1)
    open("new", "w").write("n")
    os.makedirs("deep/er"); open("deep/er/x", "w").write("x")
    os.unlink("gone"); os.unlink("link"); os.symlink("elsewhere", "link")
    os.rename("dir", "moved"); open("moved/in", "a").write("more")
    os.mkdir("dir"); open("dir/in", "w").write("another")
    open("note.tmp", "w").write("replaced"); os.rename("note.tmp", "note")
    os.rmdir("empty")
    os.chmod("modes", 0o600); os.utime("modes", (1, 2))
    os.link("kept", "kept2"); os.unlink("kept")
    os.chmod("closed", 0o755); os.unlink("closed/in"); os.chmod("closed", 0o555)
    fd = os.open(".", os.O_TMPFILE | os.O_WRONLY); os.write(fd, b"t")
    os.link(f"/proc/self/fd/{fd}", "linked", src_dir_fd=fd, follow_symlinks=True)
"""
)

FAIL = "\nraise SystemExit(3)\n"


class Undo(Sunscreen):
    def fresh(self):
        """A workspace with one of each."""
        if self.work.exists():
            self.open_up()
            shutil.rmtree(self.work)
        for name in ("note", "mapped", "cut", "gone", "modes", "kept", "dir/in", "closed/in", "shared"):
            self.file(f"ws/{name}", f"this is {name}\n")
        (self.work / "empty").mkdir()
        (self.work / "link").symlink_to("note")
        (self.work / "closed").chmod(0o555)
        self.before = picture(self.work)

    def setUp(self):
        super().setUp()
        self.addCleanup(self.open_up)  # an ordinary user cannot remove what is in a closed directory
        self.fresh()

    def open_up(self):
        subprocess.run(["chmod", "-R", "u+rwX", str(self.dir)], check=True)

    def jail_words(self, level, code):
        """The command that runs this code confined, with undoing."""
        words = [MORTISE, "jail", "--level", level, "-w", self.work, "--write", "--undo", "--", PYTHON, "-c"]
        return [*map(str, words), "import sys, os\n" + code]

    def python(self, level, code, *options, fails=False, after=(), **how):
        """A run of the plugin with this code, in the workspace; fails: it ends with status 3 behind it."""
        code = f"os.chdir({str(self.work)!r})\n" + textwrap.dedent(code) + (FAIL if fails else "")
        return self.run_mortise(
            "run",
            "-w",
            self.work,
            "--level",
            level,
            *options,
            self.toml(),
            "act",
            "--do",
            "python",
            "--at",
            code,
            *after,
            **how,
        )

    def unchanged(self):
        self.assertEqual(picture(self.work), self.before)
        self.assertEqual(os.listdir(self.dir / "state/mortise/undo"), [], "the store is gone")
