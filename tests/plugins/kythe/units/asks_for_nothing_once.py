# SPDX-License-Identifier: Apache-2.0
# The first process says nothing after init.
import os

if not os.path.exists(state + "/x"):
    open(state + "/x", "w").close()
    wire.until_closed()
    raise SystemExit
