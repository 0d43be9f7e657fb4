# SPDX-License-Identifier: Apache-2.0
# What the output is when the attempt begins; two attempts end with half of it written.
import os
import stat
import sys

st = os.stat(unit["output"])
with open(state + "/outputs", "a") as file:
    file.write(unit["output"] + "\n")
if attempt < 3:
    out.fact("/half", "of attempt %d" % attempt)
    sys.exit(1)
out.fact("/stat", [stat.S_IMODE(st.st_mode), st.st_size, st.st_uid])
