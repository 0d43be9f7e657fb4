# SPDX-License-Identifier: Apache-2.0
"""leaves_by_signal.py NUMBER: says {}, and ends with status 42 when that signal comes."""
import signal
import sys

signal.signal(int(sys.argv[1]), lambda *_: sys.exit(42))
print("{}", flush=True)
signal.pause()
