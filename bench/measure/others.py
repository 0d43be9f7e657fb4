# SPDX-License-Identifier: Apache-2.0
"""What other programs do meanwhile: how many processors they have, on average. Ours are this process and all
below it that have ended."""
import os
import time

BUSY = 0.1  # of all processors: less is usual
TICKS = os.sysconf("SC_CLK_TCK")


def used_by_all(text):
    """Seconds of all processors, from /proc/stat: user, nice, system, interrupts, and what a
    hypervisor took."""
    numbers = [int(word) for word in text.splitlines()[0].split()[1:9]]
    return (sum(numbers) - numbers[3] - numbers[4]) / TICKS  # without idle, and idle with a disk to wait for


def look():
    """(seconds of the clock, of all processors, of ours)"""
    try:
        with open("/proc/stat", encoding="ascii") as stat:
            everybody = used_by_all(stat.read())
    except OSError:
        everybody = 0.0
    return time.monotonic(), everybody, sum(os.times()[:4])


class Others:
    """Adds up what others used, of the measurements between begin() and end()."""

    def __init__(self):
        self.seconds, self.used, self.begun = 0.0, 0.0, None

    def begin(self, now=None):
        self.begun = now or look()

    def end(self, now=None):
        now = now or look()
        clock, everybody, ours = (after - before for before, after in zip(self.begun, now))
        self.seconds += clock
        self.used += max(0.0, everybody - ours)

    def said(self, processors=None):
        """The line about it, or None."""
        processors = processors or os.cpu_count() or 1
        mean = self.used / self.seconds if self.seconds else 0.0
        if mean < BUSY * processors:
            return None
        return (
            f"the machine was busy (other programs had {mean:.1f} of {processors} processors): ratios may be "
            "missed for that reason"
        )
