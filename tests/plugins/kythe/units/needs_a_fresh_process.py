# SPDX-License-Identifier: Apache-2.0
# Fails once; then tells whether a unit has been done in this process before.
import os
import sys

if attempt == 1:
    sys.exit(1)
out.fact("/first", str(os.environ.get("seen")))
