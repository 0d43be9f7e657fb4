# SPDX-License-Identifier: Apache-2.0
"""The levels of the sandbox that this machine has, and the users that a test can be."""
import functools
import json
import os
import subprocess
import zlib

from support import LIMIT, MORTISE, PYTHON
from tier import FIRST_ONLY


def doctor():
    if not MORTISE.exists():
        return {"levels": [], "checks": []}
    done = subprocess.run([str(MORTISE), "doctor", "--json"], capture_output=True, timeout=LIMIT, check=False)
    return json.loads(done.stdout)


TOLD = doctor()
# Those that can confine here. A kernel that has what t0 needs must have t0: test_doctor sees to it.
LEVELS = [told["level"] for told in TOLD["levels"] if told["available"] and told["level"] != "guarded"]
STATES = {check["name"]: check["state"] for check in TOLD["checks"]}
# Why a list of places, bind and plugins over gRPC do not work confined, or None.
NO_GETFD = None if STATES.get("getfd", "ok") == "ok" else "pidfd_getfd is refused here (mortise doctor)"


NOBODY = 65534


def why_not_nobody():
    """None if what was built can be run as another user."""
    if os.geteuid() != 0:
        return "only root can be another user"
    try:
        subprocess.run([MORTISE, "--version"], capture_output=True, check=True, cwd="/", **as_user(NOBODY))
    except (OSError, subprocess.SubprocessError):
        return "nobody cannot reach the build directory"
    return None


def as_user(user):
    """For subprocess.run(); None is the user of the test."""
    return {} if user is None else {"user": user, "group": user, "extra_groups": []}


NOT_NOBODY = why_not_nobody()
USERS = [None] if NOT_NOBODY else [None, NOBODY]


@functools.cache
def refused_already(code):
    """The container around us refuses this call before a jail can, and then there is nothing to report."""
    with open("/proc/self/status", encoding="ascii") as file:
        if "Seccomp:\t2" not in file.read():
            return False
    script = f"import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nlibc.{code}\nprint(ctypes.get_errno())"
    done = subprocess.run([PYTHON, "-c", script], capture_output=True, text=True, check=True)
    return int(done.stdout) in (1, 13, 38)  # EPERM, EACCES, ENOSYS


def some(test, choices):
    """In the first tier one of them, not the same for each test; else all of them."""
    return [choices[zlib.crc32(test.__name__.encode()) % len(choices)]] if FIRST_ONLY and choices else choices


def level_and_user(users):
    """All pairs; in the first tier each level once, with the users in turn."""
    if FIRST_ONLY:
        return [(level, users[number % len(users)]) for number, level in enumerate(reversed(LEVELS))]
    return [(level, user) for level in LEVELS for user in users]


def at_each_level(test):
    @functools.wraps(test)
    def run(self):
        for level in some(test, LEVELS):
            with self.subTest(level=level):
                test(self, level)

    return run
