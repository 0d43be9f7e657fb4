#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A YAMS plugin written from the specification alone.

yams_ok.py [JSON]: what it says of itself, and how it answers extractor.supports:
  name, version, interfaces, capabilities  members of the handshake
  supports   "yes" (default), "no", "listed" (yes to the formats of its capabilities), or an error code
  init       an error code for plugin.init; init_data: the error's data
  confidence
  journal    a file to which each method is appended, with the process's id
  ready      false: it ends before the handshake
"""
import base64
import json
import os
import sys

SELF = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
state = {"initialized": False}


class Failure(Exception):
    def __init__(self, code, message, **data):
        super().__init__(message)
        self.error = {"code": code, "message": message, "data": data}


def journal(method, params):
    if "journal" in SELF:
        entry = json.dumps({"pid": os.getpid(), "method": method, "params": params})
        with open(SELF["journal"], "a", encoding="utf-8") as file:
            file.write(entry + "\n")


def manifest(_):
    told = {
        "name": SELF.get("name", "yams_ok"),
        "version": SELF.get("version", "1.0.0"),
        "description": "Counts the bytes of what it is given",
        "author": "The Mortise tests",
        "interfaces": SELF.get("interfaces", ["content_extractor_v1"]),
    }
    if "capabilities" in SELF:
        told["capabilities"] = SELF["capabilities"]
    return told


def init(params):
    if "init" in SELF:
        raise Failure(SELF["init"], "not here", **SELF.get("init_data", {}))
    state["initialized"] = True
    state["config"] = params["config"]
    applied = dict(params["config"])
    if "project_dir" in applied:
        applied["project_dir"] += "-12345"
    applied["max_functions"] = applied.get("max_functions", 100)
    applied.pop("ignored", None)
    return {"status": "initialized", "config_applied": applied}


def health(_):
    return {
        "status": state.get("config", {}).get("health", "ok"),
        "started": state["initialized"],
        "memory_mb": 12,
    }


def supports(params):
    answer = SELF.get("supports", "yes")
    if isinstance(answer, int):
        raise Failure(answer, "not here")
    if set(params) != {"mime_type", "extension"}:
        raise Failure(-32602, "both parameters are wanted")
    if answer == "listed":
        answer = "yes" if params["mime_type"] in SELF["capabilities"]["content_extraction"]["formats"] else "no"
    return {"supported": answer == "yes", "confidence": SELF.get("confidence", 1.0), "method": "count"}


def content_of(source):
    if source["type"] == "bytes":
        return base64.b64decode(source["data"], validate=True)
    with open(source["path"], "rb") as file:
        return file.read()


def extract(params):
    if not state["initialized"]:
        raise Failure(-32003, "Plugin not initialized. Call plugin.init first.", reason="NotInitialized")
    data = content_of(params["source"])
    return {
        "success": True,
        "content": f"{len(data)} bytes by {manifest(None)['name']}\n" + data.decode("utf-8", "replace"),
        "metadata": {"bytes": str(len(data)), "source": params["source"].get("path", "inline")},
        "stats": {"options": params.get("options"), "pid": os.getpid()},
    }


METHODS = {
    "handshake.manifest": manifest,
    "plugin.init": init,
    "plugin.health": health,
    "plugin.shutdown": lambda _: None,
    "extractor.supports": supports,
    "extractor.extract": extract,
}


def handle(message):
    method, params = message["method"], message.get("params") or {}
    journal(method, params)
    try:
        if method not in METHODS:
            raise Failure(-32601, f"Method not found: {method}", method=method)
        return {"result": METHODS[method](params)}
    except Failure as failure:
        return {"error": failure.error}


def main():
    if SELF.get("ready") is False:
        sys.exit("ImportError: no module named numpy")
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **handle(message)}), flush=True)


if __name__ == "__main__":
    main()
