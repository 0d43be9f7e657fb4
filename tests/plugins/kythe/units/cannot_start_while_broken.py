# SPDX-License-Identifier: Apache-2.0
# Before init: ends while there is the file broken.
import os
import sys

if os.path.exists(state + "/broken"):
    sys.exit(5)
