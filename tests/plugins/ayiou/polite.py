#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The best-behaved of them, with two surprises: its lines end in CRLF, so its first line names no interpreter, and a line
that is empty or no JSON is the end of the conversation to it."""
import json
import sys


def handle(params):
    text = params["text"]
    if text.startswith("/ping"):
        reply = "Pong!"
    else:
        reply = text[len("/echo "):]
    return {"handled": True, "block": True, "reply": reply, "actions": []}


def lifecycle(params):
    event = params["event"]
    name = event if isinstance(event, str) else next(iter(event))
    if name == "bot_connect":
        print("connected as", event[name]["self_id"], file=sys.stderr, flush=True)
    else:
        print("lifecycle", name, file=sys.stderr, flush=True)
    return {"ok": True}


METHODS = {
    "metadata": lambda params: {"name": "polite", "description": "ping and echo", "version": "1.0.0", "author": None,
                                "commands": [{"name": "ping", "description": "", "aliases": []},
                                             {"name": "echo", "description": "", "aliases": ["回声"]}]},
    "matches": lambda params: {"matches": params["text"].startswith(("/ping", "/echo "))},
    "handle": handle,
    "lifecycle": lifecycle,
}

while True:
    try:
        request = json.loads(sys.stdin.readline())
    except ValueError:
        print("EOF received", file=sys.stderr)
        sys.exit(0)
    method = METHODS.get(request["method"])
    if method:
        reply = {"result": method(request.get("params") or {})}
    else:
        reply = {"error": {"code": -32601, "message": "Method not found"}}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}), flush=True)
