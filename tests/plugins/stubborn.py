# SPDX-License-Identifier: Apache-2.0
"""Ignores both the end of stdin and SIGTERM; tells on stderr who it is, and when it was asked for something."""
import os
import signal
import sys

signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("deaf", os.getpid(), file=sys.stderr, flush=True)
sys.stdin.readline()
print("asked", file=sys.stderr, flush=True)
while True:
    signal.pause()
