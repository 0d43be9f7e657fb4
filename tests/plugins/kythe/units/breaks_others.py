# SPDX-License-Identifier: Apache-2.0
# Fails its first attempt, and from then on nobody can be started.
import sys

if attempt == 1:
    hear("begun")
    open(state + "/broken", "w").close()
    sys.exit(1)
