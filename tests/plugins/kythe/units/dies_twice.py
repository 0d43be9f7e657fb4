# SPDX-License-Identifier: Apache-2.0
# how: in which way.
import os
import sys

out.fact("/lost", "x")
if attempt < 3:
    exec(how)
out.path = unit["output"]
out.fact("/pid", str(os.getpid()))
