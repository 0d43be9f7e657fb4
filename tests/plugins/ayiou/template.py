#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The smallest plugin that has everything."""
import json
import sys


def answer(method, params):
    if method == "metadata":
        return {"name": "template", "description": "", "version": "1.0.0", "commands": [{"name": "mycommand", "description": ""}]}
    if method == "matches":
        return {"matches": params.get("text", "").startswith("/mycommand")}
    if method == "handle":
        return {"handled": True, "block": True, "reply": "from Python"}
    if method == "lifecycle":
        return {"ok": True}
    raise ValueError("Unknown method: " + method)


for line in sys.stdin:
    request = {}
    try:
        request = json.loads(line)
        reply = {"result": answer(request["method"], request.get("params", {}))}
    except Exception as error:
        reply = {"error": {"code": -32603, "message": str(error)}}
    print(json.dumps({"jsonrpc": "2.0", "id": request.get("id", 0), **reply}), flush=True)
