# SPDX-License-Identifier: Apache-2.0
"""Waiting for what happens, without sleeping: changes in directories, ends of processes, gates for puppets."""
import ctypes
import fcntl
import os
import select
import struct

LIMIT = 300  # seconds: only to end a test that hangs
LIBC = ctypes.CDLL(None, use_errno=True)
MODIFY, ATTRIB, CLOSE_WRITE, MOVED_FROM, MOVED_TO, CREATE, DELETE = 2, 4, 8, 0x40, 0x80, 0x100, 0x200
ANYTHING = MODIFY | ATTRIB | CLOSE_WRITE | MOVED_FROM | MOVED_TO | CREATE | DELETE


class Ended(Exception):
    """The process has ended before what was waited for."""


class Directories:
    """Tells when anything in them changes (inotify): what lies in them, not what lies deeper."""

    def __init__(self, *paths):
        self.fd = LIBC.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        for path in paths:
            if self.fd < 0 or LIBC.inotify_add_watch(self.fd, os.fsencode(path), ANYTHING) < 0:
                raise OSError(ctypes.get_errno(), f"inotify: {path}")

    def fileno(self):
        return self.fd

    def take(self):
        """How many changes there were since it was last asked."""
        try:
            data = os.read(self.fd, 65536)
        except BlockingIOError:
            return 0
        at = count = 0
        while at < len(data):
            at += 16 + struct.unpack_from("I", data, at + 12)[0]
            count += 1
        return count

    def __enter__(self):
        return self

    def __exit__(self, *how):
        os.close(self.fd)


def until(condition, *directories, process=None):
    """Returns when the condition holds, which depends on files in these directories. Ended, if the process ends
    before; TimeoutError after LIMIT."""
    pidfd = os.pidfd_open(process.pid) if process and process.returncode is None else None
    try:
        with Directories(*directories) as changes:
            while not condition():
                ready = select.select([changes, *([pidfd] if pidfd else [])], [], [], LIMIT)[0]
                if not ready:
                    raise TimeoutError(f"nothing has happened for {LIMIT} s")
                if pidfd in ready and not condition():
                    raise Ended
                changes.take()
    finally:
        if pidfd:
            os.close(pidfd)


def until_ended(pids):
    """Waits for the ends of these processes, which need not be ours. Those that still run after LIMIT."""
    left = []
    for pid in pids:
        try:
            pidfd = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        if not select.select([pidfd], [], [], LIMIT)[0]:
            left.append(pid)
        os.close(pidfd)
    return left


class Gate:
    """A file at which puppets wait (a shared flock) until the test opens it; from then on all pass."""

    def __init__(self, path):
        self.path, self.file = path, open(path, "w", encoding="utf-8")
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def __str__(self):
        return str(self.path)

    def open(self):
        fcntl.flock(self.file, fcntl.LOCK_UN)

    def close(self):
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def forget(self):
        self.file.close()
