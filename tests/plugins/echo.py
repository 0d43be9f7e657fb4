#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A plain JSON-RPC plugin for the tests of the command: it does what the method says.

echo.py [lines|headers]: how messages are cut.
"""
import json
import os
import sys

HEADERS = sys.argv[1:] == ["headers"]


def read():
    if not HEADERS:
        line = sys.stdin.buffer.readline()
        return json.loads(line) if line else None
    length = None
    while True:
        line = sys.stdin.buffer.readline().strip()
        if not line:
            break
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return json.loads(sys.stdin.buffer.read(length)) if length else None


def write(message):
    body = json.dumps(message).encode()
    out = b"Content-Length: %d\r\n\r\n%s" % (len(body), body) if HEADERS else body + b"\n"
    sys.stdout.buffer.write(out)
    sys.stdout.buffer.flush()


def say(text):
    print(text, file=sys.stderr, flush=True)


def answer(method, params):
    """A result, or an exception's own error; None for what is never answered."""
    if method == "echo":
        return {"result": params}
    if method == "env":
        return {"result": os.environ.get(params["name"])}
    if method == "names":
        return {"result": sorted(os.environ)}
    if method == "pid":
        return {"result": os.getpid()}
    if method == "fail":
        return {"error": params}
    if method == "say":
        say(params["text"])
        return {"result": None}
    if method == "noise":
        print("this is no message", flush=True)
        return {"result": "said"}
    if method == "exit":
        say(params.get("text", "good bye"))
        sys.exit(params.get("status", 3))
    if method == "hang":
        say("hanging")
        return None
    return {"error": {"code": -32601, "message": f"no method {method}"}}


def main():
    while True:
        message = read()
        if message is None:
            return
        if "id" not in message:
            say(f"note {message['method']} of {len(message.get('params') or [])}")
            continue
        body = answer(message["method"], message.get("params"))
        if body is not None:
            write({"jsonrpc": "2.0", "id": message["id"], **body})


if __name__ == "__main__":
    main()
