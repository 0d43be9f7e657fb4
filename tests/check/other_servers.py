# SPDX-License-Identifier: Apache-2.0
"""Servers that are no plugins of ours: MCP, LSP, and one that reads one framing and writes another."""
import json
import sys

IN, OUT = sys.stdin.buffer, sys.stdout.buffer


def read(framing):
    if framing == "lines":
        line = IN.readline()
        return line or None
    length = None
    while line := IN.readline().strip():
        if line.startswith(b"Content-Length: "):
            length = int(line[16:])
        elif length is None:
            return b""  # no header: a language server waits for one
    return None if length is None else IN.read(length)


def write(framing, message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    heads = {
        "lines": b"",
        "headers": b"Content-Length: %d\r\n\r\n" % len(body),
        "be32": len(body).to_bytes(4, "big"),
    }
    OUT.write(heads[framing] + body + (b"\n" if framing == "lines" else b""))
    OUT.flush()


def greet(kind, params):
    about = {"serverInfo": {"name": "other", "version": "1"}, "capabilities": {}}
    return {**about, "protocolVersion": params["protocolVersion"]} if kind == "mcp" else about


def main(kind, reads="lines", answers=None):
    reads = "headers" if kind == "lsp" else reads
    answers = answers or reads
    while (body := read(reads)) is not None:
        try:
            asked = json.loads(body)
        except ValueError:
            continue
        if kind == "lsp":
            write(answers, {"method": "window/logMessage", "params": {"type": 3, "message": "hello"}})
        if kind != "mixed" and asked["method"] == "initialize":
            write(answers, {"id": asked["id"], "result": greet(kind, asked["params"])})
        elif "id" in asked:
            write(answers, {"id": asked["id"], "error": {"code": -32601, "message": "Method not found"}})


main(*sys.argv[1:])
