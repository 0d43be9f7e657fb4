# SPDX-License-Identifier: Apache-2.0
"""What a busy machine has done, it does not do again with more time."""
import functools

LIMITS = ("1s", "10s", "60s")
limit = LIMITS[0]  # what --timeout is now


def try_each(test):
    @functools.wraps(test)
    def run(self):
        global limit
        for limit in LIMITS:
            try:
                return test(self)
            except AssertionError:
                if limit == LIMITS[-1]:
                    raise

    return run


def patient(case):
    """A class of tests that ask with `limit`: one that fails is tried again with the next one."""
    for name in [name for name in dir(case) if name.startswith("test_") and callable(getattr(case, name))]:
        setattr(case, name, try_each(getattr(case, name)))
    return case
