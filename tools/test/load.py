# SPDX-License-Identifier: Apache-2.0
"""A load beside the tests, so that what is slow becomes slower and what is late comes later: busy loops, two
for each processor, files written and synced, and processes that are forked and end. Each ends with the run, and
by itself if the run is killed."""
import contextlib
import os
import signal
import time

import place

WRITTEN = 16 << 20  # bytes, again and again
HOURS = 6  # at the longest


def spin(_, end):
    while time.monotonic() < end:
        for _ in range(100000):
            pass


def write(top, end):
    block = os.urandom(1 << 20)
    while time.monotonic() < end:
        with open(f"{top}/load-{os.getpid()}", "wb") as file:
            for _ in range(WRITTEN // len(block)):
                file.write(block)
            file.flush()
            os.fsync(file.fileno())


def fork(_, end):
    while time.monotonic() < end:
        pid = os.fork()
        if not pid:
            os._exit(0)
        os.waitpid(pid, 0)


def start(work, top):
    runner, pid = os.getpid(), os.fork()
    if pid:
        return pid
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    place.LIBC.prctl(place.PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() == runner:
        work(top, time.monotonic() + HOURS * 3600)
    os._exit(0)


@contextlib.contextmanager
def beside(wanted, top):
    pids = []
    try:
        if wanted:
            works = [spin] * (2 * len(os.sched_getaffinity(0))) + [write, fork]
            pids = [start(work, top) for work in works]
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
