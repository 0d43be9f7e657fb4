# SPDX-License-Identifier: Apache-2.0
# Every way to change a file or its directory; the name of the error of each.
import errno
import os


def attempt_to(what, *args):
    try:
        what(*args)
        return "done"
    except OSError as error:
        return errno.errorcode[error.errno]


tries = [
    attempt_to(open, "/src/h", "w"),
    attempt_to(open, "/src/new", "w"),
    attempt_to(os.unlink, "/src/h"),
    attempt_to(os.rename, "/src/h", "/src/i"),
    attempt_to(os.chmod, "/src/h", 0o666),
    attempt_to(os.utime, "/src/h"),
    attempt_to(os.truncate, "/src/h", 0),
    attempt_to(os.mkdir, "/src/dir"),
    attempt_to(os.link, "/src/h", "/src/j"),
    attempt_to(os.symlink, "x", "/src/s"),
]
out.fact("/tries", tries)
