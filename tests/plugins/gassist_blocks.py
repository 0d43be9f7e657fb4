# SPDX-License-Identifier: Apache-2.0
"""A G-Assist plugin that reads whole blocks of 4096 bytes: it hangs, unless frames are padded for it."""
import json
import struct
import sys

pending = b""
while block := sys.stdin.buffer.read(4096):
    pending += block
    while len(pending) >= 4 and len(pending) >= 4 + struct.unpack(">I", pending[:4])[0]:
        size = struct.unpack(">I", pending[:4])[0]
        message, pending = json.loads(pending[4 : 4 + size]), pending[4 + size :]
        if "id" in message:
            result = {"success": True, "data": message["method"]}
            body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
            sys.stdout.buffer.write(struct.pack(">I", len(body)) + body)
            sys.stdout.buffer.flush()
