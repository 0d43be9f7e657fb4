#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A plain JSON-RPC plugin: one request per line on stdin, one reply per line on stdout.

Written without an SDK, to show that a plugin needs nothing but a JSON parser. The examples call it.
"""
import json
import sys


def echo(params):
    return params


def greet(params):
    return {"text": "hello, %s" % params["name"]}


def add(params):
    return {"sum": sum(params["numbers"])}


METHODS = {"echo": echo, "greet": greet, "add": add}


def answer(method, params):
    if method not in METHODS:
        return {"error": {"code": -32601, "message": "no method " + method}}
    try:
        return {"result": METHODS[method](params)}
    except (KeyError, TypeError) as why:
        return {"error": {"code": -32602, "message": "bad params: %r" % why}}


def reply(request):
    """The reply to a request; None for a notification, which is never answered."""
    ident = request.get("id") if isinstance(request, dict) else None
    if not isinstance(request, dict) or not isinstance(request.get("method"), str):
        return {"jsonrpc": "2.0", "id": ident, "error": {"code": -32600, "message": "not a request"}}
    answered = answer(request["method"], request.get("params", {}))
    return {"jsonrpc": "2.0", "id": ident, **answered} if "id" in request else None


def replies(line):
    """A batch of requests gets one array; everything else is one request."""
    try:
        message = json.loads(line)
    except ValueError as why:
        return {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "not JSON: %s" % why}}
    if not isinstance(message, list) or not message:
        return reply(message)
    return [one for one in map(reply, message) if one] or None


for line in sys.stdin:
    out = replies(line) if line.strip() else None
    if out is not None:
        # flush: stdout is a pipe, and a reply in our buffer is one the host never sees.
        print(json.dumps(out, separators=(",", ":")), flush=True)
