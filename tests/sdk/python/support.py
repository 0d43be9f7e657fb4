# SPDX-License-Identifier: Apache-2.0
"""What the tests of the Python SDK share. MORTISE_BUILD names the build directory (default: build)."""
import os
import pathlib
import shutil
import sys
import tempfile
import textwrap
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[3]
SDK = ROOT / "sdk" / "python"
BUILD = pathlib.Path(os.environ.get("MORTISE_BUILD", ROOT / "build")).resolve()
MORTISE = str(BUILD / "mortise")
sys.path[:0] = [str(SDK), str(SDK / "compat")]
from tenon import PluginError  # noqa: E402
from tenon.testing import spawn  # noqa: E402

LIMIT = 300  # seconds: only to end what hangs


def interpreters():
    """/usr/bin/python3, and those that MORTISE_PYTHONS names: paths with colons between them."""
    named = [path for path in os.environ.get("MORTISE_PYTHONS", "").split(":") if path]
    return ["/usr/bin/python3", *named]


def environment(**more):
    path = os.pathsep.join([str(SDK), str(SDK / "compat")])
    return dict(os.environ, PYTHONPATH=path, PYTHONDONTWRITEBYTECODE="1", **more)


class Case(unittest.TestCase):
    """A directory of its own, and plugins in it."""

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="tenon-test-"))
        self.addCleanup(shutil.rmtree, self.dir)

    def write(self, source, name="plugin.py"):
        path = self.dir / name
        path.write_text(textwrap.dedent(source))
        return path

    def plugin(self, source, dialect="plain", python="/usr/bin/python3", env=None, **options):
        """A running plugin; PIPE, no shell."""
        path = self.write(source)
        host = spawn([python, str(path)], dialect, env=env or environment(), cwd=str(self.dir), **options)
        self.addCleanup(self.end, host)
        return host

    @staticmethod
    def end(host):
        if host.returncode is None:
            host.process.kill()
            host.close()

    def fails(self, code, function, *arguments, **named):
        """The error that the call ends with."""
        with self.assertRaises(PluginError) as caught:
            function(*arguments, **named)
        self.assertEqual(caught.exception.code, code, caught.exception)
        return caught.exception
