#!/usr/bin/env python3
import json
import sys

class WeatherPlugin:
    def metadata(self):
        return {
            "name": "weather",
            "description": "天气查询插件",
            "version": "1.0.0",
            "commands": [
                {"name": "weather", "description": "查询天气", "aliases": []}
            ]
        }

    def matches(self, params):
        return {"matches": params["text"].startswith("/weather")}

    def handle(self, params):
        city = params["text"].replace("/weather", "").strip()
        return {
            "handled": True,
            "block": True,
            "reply": f"{city}天气：晴，25°C"
        }

    def lifecycle(self, params):
        event = params["event"]
        if "startup" in event:
            print("Plugin started!", file=sys.stderr)
        elif "shutdown" in event:
            print("Plugin shutting down!", file=sys.stderr)
        return {"ok": True}

def main():
    plugin = WeatherPlugin()

    for line in sys.stdin:
        try:
            req = json.loads(line)
            method = req["method"]
            params = req.get("params", {})

            if method == "metadata":
                result = plugin.metadata()
            elif method == "matches":
                result = plugin.matches(params)
            elif method == "handle":
                result = plugin.handle(params)
            elif method == "lifecycle":
                result = plugin.lifecycle(params)
            else:
                result = None

            response = {
                "jsonrpc": "2.0",
                "result": result,
                "id": req["id"]
            }
            print(json.dumps(response), flush=True)
        except Exception as e:
            error_response = {
                "jsonrpc": "2.0",
                "error": {
                    "code": -32603,
                    "message": str(e)
                },
                "id": req.get("id", 0)
            }
            print(json.dumps(error_response), flush=True)

if __name__ == "__main__":
    main()
