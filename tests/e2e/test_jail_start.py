# SPDX-License-Identifier: Apache-2.0
"""mortise jail on machines that are not like this one: kernels that refuse a step, users in many groups."""
import ctypes
import os
import struct
import subprocess
import unittest

from support import Case, LIMIT, MORTISE, PYTHON
from test_jail_command import LEVELS, at_each_level

SETNS = {"x86_64": 308, "aarch64": 268}[os.uname().machine]
EPERM = 1


def refuse_call(number, error):
    """From here on that system call fails, for this process and all that it starts."""
    code = b"".join(
        struct.pack("HBBI", *row)
        for row in (
            (0x20, 0, 0, 0),  # the number of the call
            (0x15, 0, 1, number),
            (0x06, 0, 0, 0x50000 | error),  # SECCOMP_RET_ERRNO
            (0x06, 0, 0, 0x7FFF0000),  # SECCOMP_RET_ALLOW
        )
    )
    buffer = ctypes.create_string_buffer(code, len(code))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


@unittest.skipUnless(LEVELS, "this machine cannot confine")
class Start(Case):
    def run_after(self, prepare, *words):
        """In a child that has called prepare()."""
        return subprocess.run(
            [str(MORTISE), "jail", *words],
            env=self.env,
            cwd=self.dir,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            preexec_fn=prepare,
            timeout=LIMIT,
            check=False,
        )

    @unittest.skipUnless("t1" in LEVELS, "there is no t1 here")
    def test_namespaces_that_cannot_be_joined(self):
        """The guardian has locked itself by then: there is no way back to t0, so nothing may run."""
        for level in ("auto", "t1"):
            done = self.run_after(
                lambda: refuse_call(SETNS, EPERM), "--level", level, "--", "/bin/echo", "it runs"
            )
            self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
            self.assertIn("the kernel refuses to join the new namespaces (setns)", done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "only root can be in any group")
    @at_each_level
    def test_user_in_many_groups(self, level):
        """The kernel's list of groups is longer than what is usually read of /proc/PID/status."""
        code = "import os; print(os.getpid() > 0, 'Pid:' in open('/proc/self/status').read())"
        for count in (100, 400, 9000):
            for spawn in ([], ["--spawn"]):
                done = self.run_after(
                    lambda count=count: os.setgroups(range(1000, 1000 + count)),
                    "--level",
                    level,
                    *spawn,
                    "--",
                    PYTHON,
                    "-c",
                    code,
                )
                self.assertEqual(
                    (done.returncode, done.stdout), (0, "True True\n"), (count, spawn, done.stderr)
                )


if __name__ == "__main__":
    unittest.main()
