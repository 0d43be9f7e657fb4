# SPDX-License-Identifier: Apache-2.0
# For a later unit of the same process.
import mmap

with open(unit["output"], "r+b") as f:
    wire.mapping = mmap.mmap(f.fileno(), 0)
