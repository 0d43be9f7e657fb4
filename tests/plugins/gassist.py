#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A G-Assist plugin for the tests, written like the official SDKs: one thread, a function per word.

It answers no ping while a function runs, never responds to a successful execute (complete does), acknowledges
input, and exits at the end of its stdin. Arguments of a function say what it does.

gassist.py [threads]: answers pings while a function runs, until "deafen".
"""
import json
import os
import queue
import select
import struct
import sys
import threading
import time

LOCK = threading.Lock()
DEAF = threading.Event()


def write(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    with LOCK:
        sys.stdout.buffer.write(struct.pack(">I", len(body)) + body)
        sys.stdout.buffer.flush()


def read():
    head = sys.stdin.buffer.read(4)
    if len(head) < 4:
        return None
    return json.loads(sys.stdin.buffer.read(struct.unpack(">I", head)[0]))


def stream(request, data):
    write({"method": "stream", "params": {"request_id": request, "data": data}})


def complete(request, data, keep=False, success=True):
    write(
        {
            "method": "complete",
            "params": {"request_id": request, "success": success, "data": data, "keep_session": keep},
        }
    )


def execute(request, params):
    name, args = params["function"], params["arguments"]
    if name == "echo":
        complete(request, params)
    elif name == "count":
        for i in range(int(args.get("to", 3))):
            stream(request, f"{i + 1} ")
            time.sleep(args.get("pause", 0))
        complete(request, "done")
    elif name == "nap":
        time.sleep(args["seconds"])
        complete(request, "awake")
    elif name == "pid":
        complete(request, os.getpid())
    elif name == "env":
        complete(request, os.environ.get(args["name"]))
    elif name == "refuse":
        complete(request, args.get("text", "no"), success=False)
    elif name == "fail":
        write(
            {
                "method": "error",
                "params": {
                    "request_id": request,
                    "code": args.get("code", -1),
                    "message": args.get("text", "broken"),
                },
            }
        )
    elif name == "fail_twice":  # as the emulator's own example does: no request_id, and both ends
        write({"method": "error", "params": {"code": -32601, "message": "Unknown function"}})
        write({"method": "complete", "params": {"success": False, "data": "told twice"}})
    elif name == "end_twice":  # neither end names the request; the second one is written when the gate says so
        write({"method": "complete", "params": {"success": True, "data": "first"}})
        if args["unread"]:  # the next request is there, but has not been read
            select.select([0], [], [])
            write({"method": "complete", "params": {"success": True, "data": "second"}})
            open(args["gate"], "rb").close()
        else:
            open(args["gate"], "rb").close()
            write({"method": "complete", "params": {"success": True, "data": "second"}})
            open(args["gate"], "wb").close()
    elif name == "talk":
        complete(request, "What is your name?", keep=True)
    elif name == "print":
        print("a stray print")
        sys.stdout.flush()
        complete(request, "printed")
    elif name == "late":
        complete(request, "first")
        stream(request, "too late")
        complete(request, "second")
        write({"id": 4711, "result": {"success": True, "data": "nobody asked"}})
    elif name == "big":
        complete(request, "x" * args["bytes"])
    elif name == "log":
        write({"method": "log", "params": {"level": args.get("level", "info"), "message": args["text"]}})
        complete(request, None)
    elif name == "ask":
        write({"id": "q", "method": "engine.version"})
        complete(request, read())
    elif name == "hold":  # until a file is there
        stream(request, "first ")
        while not os.path.exists(args["file"]):
            time.sleep(0.01)
        complete(request, "last")
    elif name == "deafen":
        time.sleep(args["after"])
        DEAF.set()
        time.sleep(3600)
    elif name == "nan":
        complete(request, {"x": float("nan")})
    elif name == "freeze":
        complete(request, "frozen from now on")
        time.sleep(3600)
    elif name == "crash":
        print("no way on", file=sys.stderr)
        sys.exit(3)
    else:
        write({"id": request, "error": {"code": -32601, "message": f"Unknown function: {name}"}})


def on_input(request, text):
    write({"id": request, "result": {"acknowledged": True}})
    if text == "exit":
        complete(request, "Bye.")
    elif text.startswith("sleep "):
        time.sleep(float(text[6:]))
        complete(request, "Slept.", keep=True)
    else:
        stream(request, "Hello ")
        complete(request, f"{text}!", keep=True)


def answer(message):
    method, request = message.get("method"), message.get("id")
    if method == "initialize":
        names = ["echo", "count", "nap", "pid", "refuse", "fail", "talk"]
        write(
            {
                "id": request,
                "result": {
                    "name": "gassist",
                    "version": "1.2.3",
                    "description": "A plugin for tests",
                    "protocol_version": "2.0",
                    "commands": [{"name": n, "description": f"The function {n}"} for n in names],
                },
            }
        )
    elif method == "ping" and not DEAF.is_set():
        write({"id": request, "result": {"timestamp": message["params"]["timestamp"]}})
    elif method == "execute":
        execute(request, message["params"])
    elif method == "input":
        on_input(request, message["params"]["content"])
    elif method == "shutdown":
        os._exit(0)


def main():
    if sys.argv[1:] != ["threads"]:
        while (message := read()) is not None:
            answer(message)
        return
    work = queue.Queue()

    def worker():
        while True:
            answer(work.get())

    threading.Thread(target=worker, daemon=True).start()
    while (message := read()) is not None:
        if message.get("method") in ("ping", "shutdown"):
            answer(message)
        else:
            work.put(message)


if __name__ == "__main__":
    main()
