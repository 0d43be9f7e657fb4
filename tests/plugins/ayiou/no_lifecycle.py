#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A weather plugin from before there was a lifecycle: null for whatever it does not know."""
import json
import sys

for line in sys.stdin:
    request = json.loads(line)
    params = request.get("params") or {}
    result = None
    if request["method"] == "metadata":
        result = {"name": "old-weather", "description": "no lifecycle", "version": "0.1"}
    elif request["method"] == "matches":
        result = {"matches": params["text"].startswith("/old")}
    elif request["method"] == "handle":
        result = {"handled": True, "block": True, "reply": "old: " + params["text"][4:].strip()}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
