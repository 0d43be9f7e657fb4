# SPDX-License-Identifier: Apache-2.0
"""Answers without a "jsonrpc" member: hosts of the field take it, the specification does not."""
import json
import sys

for line in sys.stdin:
    m = json.loads(line)
    print(json.dumps({"id": m["id"], "result": {"name": "x", "status": "ok"}}), flush=True)
