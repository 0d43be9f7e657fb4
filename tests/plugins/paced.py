#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A plain JSON-RPC plugin for `mortise bench`: its methods take their time in different ways.

echo answers at once; sleep {ms}; compute {ms} of processor time; chat {bytes} to stderr; fail {every}: each so
many calls; die {after} so many calls; stream {pieces} notifications before the answer; gate {path} opens a FIFO
for reading before it answers the first call, so that a test can hold it; large {bytes} in its answer. With an
argument it prints that first.
"""
import json
import sys
import time

calls = 0


def compute(ms):
    end = time.process_time_ns() + ms * 1000000
    while time.process_time_ns() < end:
        pass


def tell(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def answer(method, params):
    if method == "sleep":
        time.sleep(params["ms"] / 1000)
    elif method == "compute":
        compute(params["ms"])
    elif method == "chat":
        sys.stderr.write("x" * (params["bytes"] - 1) + "\n")
        sys.stderr.flush()
    elif method == "fail" and calls % params["every"] == 0:
        return {"error": {"code": 7, "message": "not this one"}}
    elif method == "die" and calls > params["after"]:
        sys.exit("good bye")
    elif method == "stream":
        for i in range(params["pieces"]):
            tell({"jsonrpc": "2.0", "method": "piece", "params": {"number": i}})
    elif method == "gate" and calls == params["at"]:
        with open(params["path"]) as gate:
            gate.read()
    elif method == "large":
        return {"result": "x" * params["bytes"]}
    elif method == "missing":
        return {"error": {"code": -32601, "message": "no such method"}}
    return {"result": calls}


for banner in sys.argv[1:]:
    print(banner, flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        calls += 1
        tell({"jsonrpc": "2.0", "id": message["id"], **answer(message["method"], message.get("params"))})
