#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A YAMS plugin that fails as the first word of a file's content says; any other content is given back.

After "raw" comes the result, as it is to be spelled. yams_errors.py [DIR]: where `recoverable` leaves a mark,
so that it fails but once.
"""
import base64
import json
import os
import sys

ERRORS = {
    "failed": (
        -32000,
        "Extraction failed: could not analyze binary",
        {"reason": "UnsupportedArchitecture", "architecture": "ARM:BE:32:Cortex", "partial_functions": 5},
    ),
    "unsupported": (
        -32001,
        "Unsupported file format: application/octet-stream",
        {"reason": "UnsupportedFormat", "details": "only programs", "recoverable": False},
    ),
    "timeout": (
        -32002,
        "Extraction timed out after 30 seconds",
        {"reason": "Timeout", "timeout_sec": 30, "partial_extraction": True},
    ),
    "uninitialized": (
        -32003,
        "Plugin not initialized. Call plugin.init first.",
        {"reason": "NotInitialized", "required_method": "plugin.init"},
    ),
    "dependency": (
        -32603,
        "Ghidra not found.",
        {
            "reason": "DependencyMissing",
            "dependency": "ghidra",
            "env_var": "GHIDRA_INSTALL_DIR",
            "config_key": "ghidra_install",
        },
    ),
    "nodata": (-32603, "no data member", None),
}
RESULTS = {
    "textnull": {"text": None, "metadata": {}, "error": "pyghidra not available"},
    "successfalse": {"success": False},
    "nocontent": {"success": True, "metadata": {}},
    "textonly": {"text": "spelled as real plugins do", "metadata": {}, "error": None},
}


def fails_once(name):
    mark = os.path.join(sys.argv[1], name)
    if os.path.exists(mark):
        return {"result": {"success": True, "content": "at last", "metadata": {}}}
    with open(mark, "w", encoding="utf-8"):
        pass
    return {"error": {"code": -32000, "message": "busy", "data": {"reason": "Busy", "recoverable": True}}}


def extract(params):
    text = base64.b64decode(params["source"]["data"]).decode()
    word = text.split()[0]
    if word in ERRORS:
        code, message, data = ERRORS[word]
        return {"error": {"code": code, "message": message, **({"data": data} if data else {})}}
    if word in RESULTS:
        return {"result": RESULTS[word]}
    if word == "recoverable":
        return fails_once(text.split()[1])
    if word == "crash":
        print("about to crash", file=sys.stderr, flush=True)
        os._exit(7)
    if word == "hang":
        return None
    if word == "raw":
        return {"raw": text.split(maxsplit=1)[1]}
    return {"result": {"success": True, "content": text, "metadata": {}}}


def answer(method, params):
    if method == "handshake.manifest":
        return {"result": {"name": "yams_errors", "version": "0.1.0", "interfaces": ["content_extractor_v1"]}}
    if method == "plugin.init":
        return {"result": {"status": "initialized"}}
    if method == "plugin.health":
        return {"result": {"status": "ok"}}
    if method == "plugin.shutdown":
        return {"result": None}
    if method == "extractor.supports":
        return {"result": {"supported": True}}
    if method == "extractor.extract":
        return extract(params)
    return {"error": {"code": -32601, "message": "Method not found", "data": {"method": method}}}


def main():
    for line in sys.stdin:
        message = json.loads(line)
        body = answer(message["method"], message.get("params"))
        if body and "raw" in body:
            print('{"jsonrpc":"2.0","id":%d,"result":%s}' % (message["id"], body["raw"]), flush=True)
        elif body is not None:
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}), flush=True)


if __name__ == "__main__":
    main()
