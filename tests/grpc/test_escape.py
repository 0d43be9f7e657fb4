# SPDX-License-Identifier: Apache-2.0
"""A confined plugin over gRPC may listen on one socket in its own directory. What else it tries with that, at
every level that this machine has. Each attempt works without a jail, or would be a test of nothing."""
import pathlib
import socket
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "e2e"))
from levels import LEVELS  # noqa: E402
from support import PLUGINS  # noqa: E402
from sunscreen import Sunscreen  # noqa: E402

ALLOWED = "allowed other_name".split()
VIOLATIONS = """elsewhere relative climbing below longer_directory abstract abstract_alike autobind twice again_after_close
listen_unbound listen_on_another listen_on_a_pair udp out_of_its_own""".split()
QUIET = "tcp tcp6 datagrams mknod".split()  # refused, and no violation
# What the kernel itself refuses everywhere, and a jail must not turn into more.
NOWHERE = "listen_unbound listen_on_another listen_on_a_pair longer_directory".split()
WORKED, REFUSED = "exited with status 42", "exited with status 41"


class Escape(Sunscreen):
    def setUp(self):
        super().setUp()
        self.file(
            "p/plugin.toml",
            '[plugin]\nname = "p"\nversion = "1.0.0"\nentry = "./plugin.py"\ntransport = "grpc"\n'
            "[permissions]\nworkspace_write = true\n[commands.scaffold]\nx = 'x'\n",
        )
        self.program("p/plugin.py", PLUGINS / "grpc_escape.py")
        other = str(self.dir / "o.sock")
        self.other = socket.socket(socket.AF_UNIX)
        self.addCleanup(self.other.close)
        self.other.bind(other)
        self.other.listen(1)
        self.given = ["--env", f"GRPC_OTHER={other}"]

    def attempt(self, name, *how):
        done = self.run_plugin(self.dir / "p", "x", *how, *self.given, "--env", f"GRPC_ATTEMPT={name}")
        return done.code, done.err

    def test_without_a_jail(self):
        for name in ALLOWED + VIOLATIONS + QUIET:
            with self.subTest(name):
                code, text = self.attempt(name, "--unconfined")
                self.assertEqual(code, 7, text)
                self.assertIn(REFUSED if name in NOWHERE else WORKED, text)

    def test_confined(self):
        for level in LEVELS:
            for name in ALLOWED:
                with self.subTest(name, level=level):
                    self.assertIn(WORKED, self.attempt(name, "--level", level)[1])
            for name in QUIET:
                with self.subTest(name, level=level):
                    self.assertIn(REFUSED, self.attempt(name, "--level", level)[1])
            for name in VIOLATIONS:
                with self.subTest(name, level=level):
                    code, text = self.attempt(name, "--level", level)
                    self.assertEqual(code, 9, text)
                    self.assertIn("sandbox_violation: p tried to", text)


if __name__ == "__main__":
    unittest.main()
