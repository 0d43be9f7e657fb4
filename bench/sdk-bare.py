# SPDX-License-Identifier: Apache-2.0
# The same echo without a package, as the listings of the specifications have it.
import json
import sys


def echo(params):
    return {"path": params["path"], "options": params["options"], "text": params["text"]}


for line in sys.stdin:
    try:
        request = json.loads(line)
        method = request["method"]
        params = request.get("params", {})
        if method == "echo":
            result = echo(params)
        else:
            result = None
        print(json.dumps({"jsonrpc": "2.0", "result": result, "id": request["id"]}), flush=True)
    except Exception as e:
        print(json.dumps({"jsonrpc": "2.0", "error": {"code": -32603, "message": str(e)}, "id": 0}), flush=True)
