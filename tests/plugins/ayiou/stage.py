# SPDX-License-Identifier: Apache-2.0
"""stage.py PART: plays the part that the JSON object PART gives it.

    log       file to which each request is appended as "METHOD TEXT"; lifecycle as "lifecycle EVENT"
    match     texts that contain this are matched (default: all)
    answer    result of handle, whole; "@" in its strings is the text (default {"handled": true})
    answers   {method: result} instead
    errors    {method: error object}
    crash     handle (crash_in: another method) of texts that contain this ends the process with status 7
    slow      [text, seconds, method]: that method of texts that contain the first sleeps
    gate      [text, file, method]: that method (default: handle) of texts that contain the first waits while
              somebody has locked the file
    silent    methods that are never answered
    noise     a line that is printed before every answer
    start_dies  how many times it dies at once; counted in the file named by "log"
"""
import fcntl
import json
import os
import sys
import time

part = json.loads(sys.argv[1])
log = open(part["log"], "a", buffering=1) if part.get("log") else None


def fill(value, text):
    if isinstance(value, str):
        return value.replace("@", text)
    if isinstance(value, list):
        return [fill(one, text) for one in value]
    if isinstance(value, dict):
        return {key: fill(one, text) for key, one in value.items()}
    return value


def result(method, params, text):
    if method in part.get("answers", {}):
        return fill(part["answers"][method], text)
    if method == "metadata":
        return {"name": part.get("name", "stage"), "description": "", "version": "1", "commands": part.get("commands", [])}
    if method == "matches":
        return {"matches": part.get("match", "") in text}
    if method == "handle":
        return fill(part.get("answer", {"handled": True}), text)
    return {"ok": True}


def note(method, params, text):
    if log:
        log.write(f"{method} {json.dumps(params['event']) if method == 'lifecycle' else text}\n")


if part.get("start_dies") and log:
    with open(part["log"]) as lines:
        if len(lines.readlines()) < part["start_dies"]:
            log.write("died\n")
            sys.exit(3)
for line in sys.stdin:
    request = json.loads(line)
    method, params = request["method"], request.get("params") or {}
    text = params.get("text", "")
    note(method, params, text)
    if part.get("crash") and method == part.get("crash_in", "handle") and part["crash"] in text:
        print("about to crash", file=sys.stderr, flush=True)
        os._exit(7)
    slow = part.get("slow", ["\0", 0, "handle"])
    if method == slow[2] and slow[0] in text:
        time.sleep(slow[1])
    gate = [*part.get("gate", ["\0", ""]), "handle"]
    if method == gate[2] and gate[0] in text:
        with open(gate[1]) as file:
            fcntl.flock(file, fcntl.LOCK_SH)
    if part.get("noise"):
        print(part["noise"], flush=True)
    if method in part.get("silent", []):
        continue
    reply = {"jsonrpc": "2.0", "id": request["id"]}
    if method in part.get("errors", {}):
        reply["error"] = part["errors"][method]
    else:
        reply["result"] = result(method, params, text)
    print(json.dumps(reply), flush=True)
