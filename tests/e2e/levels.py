# SPDX-License-Identifier: Apache-2.0
"""The levels of the sandbox that this machine has."""
import functools
import json
import subprocess

from support import LIMIT, MORTISE


def levels():
    """Those that can confine here. A kernel that has what t0 needs must have t0: test_doctor sees to it."""
    if not MORTISE.exists():
        return []
    done = subprocess.run([str(MORTISE), "doctor", "--json"], capture_output=True, timeout=LIMIT, check=False)
    return [
        level["level"]
        for level in json.loads(done.stdout)["levels"]
        if level["available"] and level["level"] != "guarded"
    ]


LEVELS = levels()


def at_each_level(test):
    @functools.wraps(test)
    def run(self):
        for level in LEVELS:
            with self.subTest(level=level):
                test(self, level)

    return run
