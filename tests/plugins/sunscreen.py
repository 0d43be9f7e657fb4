#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A Sunscreen plugin by plugin.toml whose commands do what their flags say. Tests copy it to bin/plugin.

echo      summary is the params as JSON
act       --do WHAT --at PLACE: one thing that the sandbox has an opinion of
claim     files_written is what the arguments say, word by word
fail      --code N --message M [--next STEP]
answer    --result JSON: as it is
Before anything, bin/commands.json beside it may replace what "commands" answers.
"""
import json
import os
import pathlib
import socket
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
COMMANDS = {
    "scaffold": {name: name for name in ("echo", "act", "claim", "fail", "answer")},
    "hook": {"after_build": "h"},
}


def act(what, at):
    if what == "read":
        return pathlib.Path(at).read_text(encoding="utf-8").strip()
    if what == "write":
        pathlib.Path(at).write_text("written\n", encoding="utf-8")
        return "written"
    if what == "list":
        return " ".join(sorted(os.listdir(at)))
    if what == "connect":
        with socket.create_connection(("127.0.0.1", int(at)), timeout=10) as connection:
            return connection.recv(100).decode()
    if what == "python":
        exec(at, {"os": os, "pathlib": pathlib, "sys": sys, "time": time})  # pylint: disable=exec-used
        return "done"
    if what == "lookup":
        return str(socket.getaddrinfo(at, 80))
    if what == "fork":
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
        return "forked"
    if what == "exec":
        os.execv(at, [at])
    if what == "sleep":
        time.sleep(float(at))
        return "slept"
    if what == "exit":
        os._exit(int(at))
    if what == "stderr":
        print(at, file=sys.stderr, flush=True)
        return "told"
    raise ValueError(what)


def run(params):
    command = params.get("command", "hook:")
    if command == "scaffold:act":
        flags = params["flags"]
        if flags.get("later"):  # when its input ends: after the answer
            later.append((flags["do"], flags["at"]))
            return {"result": {"files_written": [], "summary": "later"}}
        return {"result": {"files_written": [], "summary": act(flags["do"], flags["at"])}}
    if command == "scaffold:claim":
        return {"result": {"files_written": params["args"], "summary": "claimed"}}
    if command == "scaffold:fail":
        flags = params["flags"]
        data = {"data": {"next_step": flags["next"]}} if "next" in flags else {}
        return {"error": {"code": int(flags["code"]), "message": flags.get("message", "failed"), **data}}
    if command == "scaffold:answer":
        return {"result": json.loads(params["flags"]["result"])}
    return {
        "result": {
            "files_written": [],
            "summary": json.dumps({"params": params, "env": dict(os.environ), "cwd": os.getcwd()}),
        }
    }


later = []


def main():
    told = HERE / "commands.json"
    for line in sys.stdin:
        request = json.loads(line)
        if request["method"] == "commands":
            reply = {"result": json.loads(told.read_text()) if told.exists() else COMMANDS}
        else:
            reply = run(request["params"])
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}), flush=True)
    for what, at in later:
        act(what, at)


main()
