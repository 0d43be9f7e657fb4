# SPDX-License-Identifier: Apache-2.0
"""The second tier, inside a test program (tests/README.md, "Two tiers"). tests/plan has whole programs."""
import os

# ./dev test sets it unless it is to run everything. A test program that is started by hand runs all it has.
FIRST_ONLY = os.environ.get("MORTISE_TIER") == "1"


def again(why):
    """A test, or a class of tests, that tries once more, in another way, what another test tries: only
    ./dev test --all runs it, and ./dev test PIECE. ./dev test --list shows `why`."""
    assert why
    return (lambda test: None) if FIRST_ONLY else (lambda test: test)
