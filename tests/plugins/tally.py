#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A plain plugin with a state. add {by}; tell (a notification and a line on stderr); ask {method} (asks the
host, and answers with what it was told); hold (answers when somebody calls release); die; echo."""
import json
import sys

total, held, asked = 0, [], {}


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def take(request):
    global total
    method, params, own = request.get("method"), request.get("params") or {}, request.get("id")
    if method is None:
        send({"id": asked.pop(own), "result": request.get("result", request.get("error"))})
    elif method == "add":
        total += params["by"]
        send({"id": own, "result": total})
    elif method == "tell":
        send({"method": "told", "params": {"total": total, **params}})
        print("on stderr", file=sys.stderr, flush=True)
        send({"id": own, "result": None})
    elif method == "ask":
        asked["a1"] = own
        send({"id": "a1", "method": params["method"], "params": {}})
    elif method == "hold":
        held.append(own)
        send({"method": "holding", "params": {}})
    elif method == "release":
        for one in held:
            send({"id": one, "result": "late"})
        held.clear()
        send({"id": own, "result": None})
    elif method == "die":
        sys.exit(3)
    elif own is not None:
        send({"id": own, "result": params})


for line in sys.stdin:
    take(json.loads(line))
