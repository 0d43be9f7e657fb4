# SPDX-License-Identifier: Apache-2.0
"""The tour ends well, and says so, also where this machine cannot show all of it."""
import ctypes
import os
import shutil
import struct
import subprocess
import unittest

from support import BUILD, LIMIT, ROOT, Case
from tier import again

NO_NAMESPACES = ["unshare", "-r", "sh", "-c", 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"', "sh"]


def listen():
    """A seccomp listener, after which nobody below can have one of his own: t0 and t1 cannot be."""
    libc = ctypes.CDLL(None, use_errno=True)
    allow = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0x7FFF0000))  # return SECCOMP_RET_ALLOW
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 1, ctypes.addressof(allow)))
    libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    fd = libc.syscall(317, 1, 8, program)  # seccomp(SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER)
    if fd >= 0:
        os.set_inheritable(fd, True)


class Tour(Case):
    def tour(self, *prefix, **how):
        env = {**self.env, "BUILD": str(BUILD)}
        done = subprocess.run(
            [*prefix, ROOT / "tools/tour"],
            env=env,
            capture_output=True,
            text=True,
            timeout=1000,  # only to end what hangs
            check=False,
            **how
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertRegex(done.stdout.splitlines()[-1], r"^All \d+ steps went well. Try next: ")
        return done.stdout

    def test_without_user_namespaces(self):
        if not shutil.which("unshare") or subprocess.run([*NO_NAMESPACES, "true"], check=False).returncode:
            self.skipTest("no user namespaces to take away")
        shown = self.tour(*NO_NAMESPACES)
        self.assertIn("Not shown here: level t1", shown)
        self.assertIn("denied: cat tried to read /etc/shadow", shown)

    @again("the whole tour, at another level")
    @unittest.skipUnless(os.uname().machine == "x86_64", "knows the number of one system call only")
    def test_where_nothing_can_be_confined(self):
        shown = self.tour(preexec_fn=listen, close_fds=False)
        self.assertIn("Not shown here: a confined plugin, and a program in the jail", shown)


if __name__ == "__main__":
    unittest.main()
