# SPDX-License-Identifier: Apache-2.0
"""A plugin that tells how it was launched: directory, search path, data; `lamp` is beside it."""
import json
import os
import sys

import lamp

for line in sys.stdin:
    data = os.environ["PROGRAMDATA"]
    told = {
        "path": os.environ["PYTHONPATH"],
        "data": data,
        "there": os.path.isdir(data),
        "cwd": os.getcwd(),
        "lamp": lamp.NAME,
    }
    print(json.dumps({"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": told}), flush=True)
