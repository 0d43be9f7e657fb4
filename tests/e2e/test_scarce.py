# SPDX-License-Identifier: Apache-2.0
"""What a user's shell may lack: descriptors (ulimit -n), bits for directories that are made (umask)."""
import pathlib
import resource
import subprocess
import unittest

from kythe_support import IndexCase, simple
from support import Case, LIMIT, MORTISE


class Descriptors(Case):
    def jail(self, level, most):
        return subprocess.run(
            [str(MORTISE), "jail", "--level", level, "--", "/bin/true"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=self.env,
            cwd=self.dir,
            timeout=LIMIT,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)),
        )

    def test_jail_names_the_limit(self):
        """With few descriptors it works, or says that they are few; at every number."""
        for level in ("t0", "t1"):
            if self.jail(level, 1024).returncode != 0:
                continue  # this machine has no such level
            told = 0
            for most in range(5, 90):
                done = self.jail(level, most)
                with self.subTest(level=level, most=most):
                    if done.returncode != 0:
                        told += 1
                        self.assertRegex(done.stderr, r"^(system|jail): .*: Too many open files")
            self.assertGreater(told, 0)


class Modes(IndexCase):
    def test_index_under_a_umask_without_x(self):
        """Root could enter any directory, so the modes are looked at, too."""
        done = self.index(self.kzip(simple(2)), umask=0o177)
        self.assertEqual(done.code, 0, done.err)
        self.assertIn("2 of 2 units, 0 failed", done.err)
        made = [self.dir / "cache", *filter(pathlib.Path.is_dir, (self.dir / "cache").rglob("*"))]
        self.assertIn("stages", [path.name for path in made])
        self.assertEqual([path for path in made if path.stat().st_mode & 0o700 != 0o700], [])


if __name__ == "__main__":
    unittest.main()
