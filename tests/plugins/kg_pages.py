#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A YAMS plugin with kg_entity_provider_v1 and no content_extractor_v1: entities in pages.

The file's bytes are its entities; opts.stuck makes next_offset stand still.
"""
import base64
import json
import sys


def entities(params):
    data, opts = base64.b64decode(params["source"]["data"]), params.get("opts", {})
    offset, limit = opts.get("offset", 0), opts.get("limit", 3)
    page = data[offset : offset + limit]
    return {
        "nodes": [
            {"node_key": f"k{offset + i}", "label": chr(byte), "type": "byte"} for i, byte in enumerate(page)
        ],
        "edges": [],
        "aliases": [],
        "total_functions": len(data),
        "next_offset": offset if opts.get("stuck") else offset + len(page),
        "has_more": bool(opts.get("stuck")) or offset + len(page) < len(data),
    }


def answer(method, params):
    if method == "handshake.manifest":
        return {
            "result": {
                "name": "kg_pages",
                "version": "0.1.0",
                "interfaces": ["kg_entity_provider_v1", "ghidra_analysis_v1"],
                "capabilities": {"kg_entities": {"rpc_method": "ghidra.getEntities"}},
            }
        }
    if method == "plugin.init":
        return {"result": {"status": "initialized"}}
    if method == "plugin.health":
        return {"result": {"status": "ok"}}
    if method == "plugin.shutdown":
        return {"result": None}
    if method == "ghidra.getEntities":
        return {"result": entities(params)}
    return {"error": {"code": -32601, "message": "Method not found", "data": {"method": method}}}


def main():
    for line in sys.stdin:
        message = json.loads(line)
        print(
            json.dumps(
                {"jsonrpc": "2.0", "id": message["id"], **answer(message["method"], message.get("params"))}
            ),
            flush=True,
        )


if __name__ == "__main__":
    main()
