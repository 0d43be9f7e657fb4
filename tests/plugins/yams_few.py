# SPDX-License-Identifier: Apache-2.0
"""A YAMS plugin with the methods that it must have, and no more: not even plugin.health."""
import json
import sys

for line in sys.stdin:
    m = json.loads(line)
    body = {"error": {"code": -32601, "message": "no"}}
    if m["method"] == "handshake.manifest":
        body = {"result": {"name": "few", "version": "1.0.0", "interfaces": []}}
    if m["method"] in ("plugin.init", "plugin.shutdown"):
        body = {"result": {"status": "ok"}}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], **body}), flush=True)
