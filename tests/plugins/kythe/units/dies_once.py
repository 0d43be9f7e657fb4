# SPDX-License-Identifier: Apache-2.0
# when: before or after init. status: how.
import os
import sys

if not os.path.exists(state + "/x"):
    open(state + "/x", "w").close()
    sys.exit(status)
