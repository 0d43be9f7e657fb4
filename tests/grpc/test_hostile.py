# SPDX-License-Identifier: Apache-2.0
"""Plugins that break the rules of HTTP/2 and gRPC, through `mortise run`: a clear error, no crash,
bounded memory."""
import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "e2e"))
from support import MORTISE, PLUGINS  # noqa: E402
from sunscreen import Sunscreen  # noqa: E402

ROUNDS = int(os.environ.get("GRPC_ROUNDS", "60"))
FIRST = int(os.environ.get("GRPC_SEED", "1"))
MEMORY = 60000  # KiB; without a plugin that floods it is 12,000
# The fault, the kind of the error, and what it says.
ROWS = [
    ("html", "protocol", 'with content-type "text/html", not with application/grpc'),
    ("http-503", "protocol", "HTTP status 503, not with gRPC"),
    ("no-trailers", "protocol", "without grpc-status: the trailers are missing"),
    ("no-message", "protocol", "with 0 messages where one is due"),
    ("two-messages", "protocol", "with 2 messages where one is due"),
    ("half-a-message", "protocol", ""),
    ("huge-message", "protocol", "sent a message of 4294967295 bytes; the limit is 16777216"),
    ("compressed", "protocol", "sent a compressed message"),
    ("reset", "plugin_error", "broke the call"),
    ("goaway", "crashed", ""),
    ("data-first", "protocol", ""),
    ("not-http2", "protocol", ""),
    ("bad-hpack", "protocol", ""),
    ("closes", "crashed", "closed its gRPC connection while it still runs"),
]
# These end with the call's limit, or because the connection is ended: both are fine, and soon.
FLOODS = "settings ping empty-data headers window reset bytes".split()


class Hostile(Sunscreen):
    def setUp(self):
        super().setUp()
        self.file(
            "p/plugin.toml",
            '[plugin]\nname = "p"\nversion = "1.0.0"\nentry = "./plugin.py"\ntransport = "grpc"\n'
            "[commands.scaffold]\nx = 'x'\n",
        )
        self.program("p/plugin.py", PLUGINS / "grpc_hostile.py")

    def words(self, env, *more, limit="2s"):
        given = [word for item in env.items() for word in ("--env", "=".join(item))]
        return [
            "run",
            "--workspace",
            self.work,
            "--set",
            f"timeouts.run={limit}",
            *given,
            *more,
            self.dir / "p",
            "x",
        ]

    def meet(self, fault, *more, limit="300s"):
        done = self.run_mortise(*self.words({"GRPC_FAULT": fault}, *more, limit=limit))
        told = [line for line in done.error_lines if not line.startswith(("p| ", "warning: ", "undone: "))]
        return done, told

    def test_none(self):
        done, told = self.meet("none")
        self.assertEqual((done.code, told), (0, []))

    def test_faults(self):
        for fault, kind, part in ROWS:
            with self.subTest(fault):
                done, told = self.meet(fault)
                self.assertEqual(len(told), 1, done.err)
                self.assertTrue(told[0].startswith(kind + ": "), told)
                self.assertIn(part, told[0])

    def test_silence(self):
        """Half open, and a window that never opens: the limit of the call ends it."""
        for fault in "silent", "no-window":
            with self.subTest(fault):
                _done, told = self.meet(fault, limit="1s")
                self.assertIn('timeout: p: no reply to "run" in 1000 ms', told[0])

    def test_floods(self):
        for fault in FLOODS:
            with self.subTest(fault):
                shown = self.dir / "memory"
                words = [str(MORTISE), *map(str, self.words({"GRPC_FAULT": fault + "-flood"}))]
                with shown.open("w") as file:
                    process = subprocess.Popen(
                        words, env=self.env, cwd=self.dir, stdout=subprocess.DEVNULL, stderr=file
                    )
                _pid, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
                text = shown.read_text()
                self.assertIn(process.returncode, (6, 7, 9, 1), text)
                self.assertRegex(text, r"(?m)^(timeout|protocol|crashed|plugin_error): p: ")
                self.assertLess(usage.ru_maxrss, MEMORY)

    def test_storms(self):
        """Random frames, from a seed: GRPC_SEED=N GRPC_ROUNDS=1 shows one again."""
        for seed in range(FIRST, FIRST + ROUNDS):
            with self.subTest(seed=seed):
                done = self.run_mortise(*self.words({"GRPC_SEED": str(seed)}, "--timeout", "1s"))
                self.assertIn(done.code, (0, 1, 6, 7, 9), done.err)
                self.assertFalse(re.search("Sanitizer|assert", done.err), done.err)


if __name__ == "__main__":
    unittest.main()
