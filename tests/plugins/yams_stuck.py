# SPDX-License-Identifier: Apache-2.0
"""yams_stuck.py FIFO: an extractor that never answers for the content "two", and opens FIFO
when it has that."""
import json
import sys

for line in sys.stdin:
    asked = json.loads(line)
    result = {"name": "stuck", "version": "1", "interfaces": ["content_extractor_v1"]}
    if asked["method"] == "extractor.supports":
        result = {"supported": True}
    elif asked["method"] == "extractor.extract":
        if "dHdvCg==" in line:
            open(sys.argv[1], "w").close()
            sys.stdin.read()
        result = {"text": "first", "metadata": {}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked.get("id"), "result": result}), flush=True)
