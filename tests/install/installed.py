# SPDX-License-Identifier: Apache-2.0
"""What the tests of an installation share: a tree that ./dev install has made from the build
directory, and that was then moved to another place. Both have blanks in their names. MORTISE_BUILD
names the build directory."""
import functools
import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("MORTISE_BUILD", ROOT / "build")).resolve()
LIMIT = 300  # seconds: only to end a test that hangs
NOBODY = 65534
# Nothing of ours in it: what is installed needs no hint.
BARE = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}


def dev(*words, env=None, umask=None):
    before = os.umask(0o022 if umask is None else umask)
    try:
        return subprocess.run(
            [ROOT / "dev", *words],
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
    finally:
        os.umask(before)


def install(prefix, **how):
    done = dev("install", "--build", str(BUILD), "--prefix", str(prefix), **how)
    if done.returncode != 0:
        raise AssertionError(done.stdout + done.stderr)
    return done


def contents(top):
    """Every path below top, relative to it."""
    return {str(path.relative_to(top)) for path in top.rglob("*")}


@functools.cache
def moved_tree():
    """For all classes of a program: who changes it puts it right again."""
    top = pathlib.Path(tempfile.mkdtemp(prefix="mortise-"))
    unittest.addModuleCleanup(shutil.rmtree, top)
    top.chmod(0o755)  # nobody is to come here
    install(top / "first place")
    prefix = top / "a b" / "c d"  # short: two of them stand in one line of an error
    prefix.parent.mkdir()
    (top / "first place").rename(prefix)
    return top, prefix


class Tree(unittest.TestCase):
    """self.prefix: the tree, after it was moved; self.dir: an empty directory of one's own."""

    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.top, cls.prefix = moved_tree()
        cls.mortise = cls.prefix / "bin/mortise"
        cls.helpers = cls.prefix / "libexec/mortise"
        cls.pkgconfig = next(cls.prefix.glob("lib*/**/mortise.pc")).parent
        cls.libdir = cls.pkgconfig.parent
        cls.plugins = cls.libdir / "mortise/plugins"

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="own ", dir=self.top))
        self.addCleanup(shutil.rmtree, self.dir)
        self.dir.chmod(0o1777)  # anybody may make a tree here, and nobody can replace another's

    def users(self):
        """Whom a test can be: us and, if we are root, an ordinary user."""
        return [None, NOBODY] if os.geteuid() == 0 else [None]

    def run_as(self, user, *command, cwd=None, env=None, **how):
        become = {"user": user, "group": user, "extra_groups": []} if user else {}
        home = self.dir / f"home of {user}"
        home.mkdir(exist_ok=True)
        home.chmod(0o777)
        env = {**BARE, "HOME": str(home), **(env or {})}
        return subprocess.run(
            [str(word) for word in command],
            cwd=cwd or self.dir,
            env=env,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
            **become,
            **how,
        )

    def ok(self, *command, user=None, **how):
        done = self.run_as(user, *command, **how)
        self.assertEqual((done.returncode, done.stderr), (0, ""), (command, done.stdout))
        return done.stdout

    def pkg_config(self, *words):
        return shlex.split(self.ok("pkg-config", *words, env={"PKG_CONFIG_PATH": str(self.pkgconfig)}))

    def compile(self, source, program, *flags, user=None):
        """With no flag but these: warnings are errors."""
        self.ok("cc", "-Wall", "-Wextra", "-Werror", source, "-o", program, *flags, user=user)
        return program

    def embedder(self, source, program, user=None):
        """As a person would: what pkg-config says, and where the library is."""
        rpath = "-Wl,-rpath," + self.pkg_config("--variable=libdir", "mortise")[0]
        flags = self.pkg_config("--cflags", "--libs", "mortise")
        return self.compile(source, program, *flags, rpath, user=user)

    def example(self, name):
        """A copy of a file from examples/, where everybody can read it."""
        copy = pathlib.Path(shutil.copy(ROOT / "examples" / name, self.dir))
        copy.chmod(0o755)
        return copy
