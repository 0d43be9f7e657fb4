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


def answer(request):
    method = METHODS.get(request["method"])
    if method is None:
        return {"error": {"code": -32601, "message": "no method " + request["method"]}}
    try:
        return {"result": method(request.get("params", {}))}
    except (KeyError, TypeError) as why:
        return {"error": {"code": -32602, "message": "bad params: %r" % why}}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        reply = {"jsonrpc": "2.0", "id": request["id"], **answer(request)}
        # flush: stdout is a pipe, and a reply in our buffer is one the host never sees.
        print(json.dumps(reply, separators=(",", ":")), flush=True)
