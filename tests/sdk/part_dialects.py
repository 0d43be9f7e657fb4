# SPDX-License-Identifier: Apache-2.0
"""What of a script is the library's doing and what an author's, in the dialects in which the host asks."""
import json
import re

from part import ANYTHING, DIALECTS, Call, CannotPlay, Deriver, key_of, literal
from talkfile import ANY, MORE


class Plain(Deriver):
    def request(self, method, params):
        return self.begin("method", method)


class Yams(Deriver):
    OWN = {"handshake.manifest", "plugin.init", "plugin.shutdown"}
    EITHER = {"plugin.health", "extractor.supports"}  # the library's, unless the script says something else

    def __init__(self, script):
        super().__init__(script)
        self.declared[("extract", "")] = []
        self.facts["formats"], self.facts["extensions"] = "text/plain", ".txt"
        self.said = {method: [] for method in self.EITHER}  # what the script answers
        self.asked = {}
        self.overridden = set()

    def request(self, method, params):
        if method in self.OWN | self.EITHER:
            self.asked[method] = params or {}
            return method
        if method == "extractor.extract":
            source = params.get("source", {})
            if not isinstance(source.get({"path": "path", "bytes": "data"}.get(source.get("type"))), str):
                raise CannotPlay("the library refuses such parameters")
            return self.begin("extract", "")
        return self.begin("method", method)

    def own_answer(self, method, message):
        if "error" in message:
            return self.own_error(method, message["error"])
        result = message["result"]
        if method == "handshake.manifest":
            return self.handshake(result)
        if method == "plugin.shutdown":
            message["result"] = ANY
        if method == "plugin.init" and result != {"status": "initialized"}:
            raise CannotPlay("another answer to plugin.init than the library's")
        if method in self.EITHER:
            self.said[method].append(result)
            own = result == {"status": "ok"} if method == "plugin.health" else self.supported(result)
            if not own:
                self.overridden.add(method)
        return ANYTHING

    def supported(self, result):
        """Whether the library would say it by itself, from what is declared."""
        params = self.asked["extractor.supports"]
        if not params:
            raise CannotPlay("the library refuses such parameters")
        if set(result) != {"supported"}:
            return False
        if result["supported"] is True:
            self.facts["formats"] += " " + params.get("mime_type", "")
            self.facts["extensions"] += " " + params.get("extension", "")
        return isinstance(result["supported"], bool)

    def scene(self):
        """A method of the author's wins over the library's own."""
        for method in sorted(self.overridden):
            for result in self.said[method]:
                call = self.begin("method", method)
                call.add("return", literal(result))
                self.finish(call)
        return super().scene()

    def own_error(self, method, error):
        if method != "plugin.init" or error.get("code") == -32601:
            raise CannotPlay("the library has this method")
        call = self.begin("start", "")
        self.declared.pop(("start", ""))
        self.failure(call, error)
        self.finish(call)
        return frozenset()

    def handshake(self, result):
        if not isinstance(result, dict) or not {"name", "version", "interfaces"} <= set(result):
            raise CannotPlay("an incomplete greeting")
        if any(not isinstance(item, str) for item in result["interfaces"]):
            raise CannotPlay("a greeting that is not in the specification")
        if not re.fullmatch(r"\w+", result["name"]):
            raise CannotPlay("the library sends names that the specification allows")
        for key in {"name", "version", "description", "author"} & set(result):
            self.facts[key] = result[key]
        formats = result.get("capabilities", {}).get("content_extraction", {})
        for key in {"formats", "extensions"} & set(formats):
            self.facts[key] = " ".join(formats[key])
        further = [item for item in result["interfaces"] if item != "content_extractor_v1"]
        if further:
            self.facts["interfaces"] = " ".join(further)
        if "content_extractor_v1" not in result["interfaces"]:
            self.declared.pop(("extract", ""), None)
            self.facts.pop("formats", None)
            self.facts.pop("extensions", None)
        if further:
            result["interfaces"] = ANY  # in which order is the library's choice
        return ANYTHING

    def result(self, call, value):
        if call.kind == "extract" and not any(isinstance(value.get(key), str) for key in ("content", "text")):
            if value.get("success") is not False:
                raise CannotPlay("a result that is not in the specification")
        call.add("return", literal(value))
        return ANYTHING if call.kind == "extract" else frozenset()


class Gassist(Deriver):
    def __init__(self, script):
        super().__init__(script)
        self.session = None
        self.pings = {}
        self.unknown = set()

    def request(self, method, params):
        if method == "execute":
            self.session = None
            if params["function"] in self.unknown:
                raise CannotPlay("the same function is known and unknown")
            return self.begin("command", params["function"])
        if method == "input":
            return "input"
        if method in ("initialize", "ping", "shutdown"):
            self.ending |= method == "shutdown"
            return method
        return self.begin("method", method)

    def send(self, message):
        super().send(message)
        message = self.moves[-1].value
        target = self.open.get(key_of(message.get("id")))
        if target == "ping":
            self.pings[key_of(message["id"])] = message["params"].get("timestamp")
        if target == "input":
            if not self.session:
                raise CannotPlay("input without a conversation")
            self.session.over, self.session.seen = False, self.sends
            self.open[key_of(message["id"])] = "input"
            self.open["turn " + key_of(message["id"])] = self.session
        elif isinstance(target, Call):
            self.open["turn " + key_of(message["id"])] = target

    def own_answer(self, method, message):
        if "error" in message:
            raise CannotPlay("the library has this method")
        result = message["result"]
        if method == "initialize":
            if not isinstance(result, dict) or "name" not in result or "error" in result or "success" in result:
                raise CannotPlay("another greeting than the library's")
            self.facts["name"] = result["name"]
            self.facts["version"] = result.get("version", self.facts["version"])
            message["result"] = {key: result[key] for key in ("name", "version") if key in result}
        if method == "ping" and result not in ({}, {"timestamp": self.pings[key_of(message["id"])]}):
            raise CannotPlay("another answer to ping than the library's")
        if method == "input" and result != {"acknowledged": True}:
            raise CannotPlay("the library answers input by an acknowledgement")
        return ANYTHING

    def answer(self, message):
        if "turn " + key_of(message.get("id")) in self.open and self.open.get(key_of(message["id"])) != "input":
            return self.unknown_function(message)
        return super().answer(message)

    def unknown_function(self, message):
        call = self.open["turn " + key_of(message["id"])]
        if message.get("error", {}).get("code") != -32601:
            raise CannotPlay("the library ends an execute by notifications")
        self.calls.remove(call)
        self.unknown.add(call.name)
        self.declared.pop(("command", call.name), None)
        message["error"] = {"code": -32601, MORE: 0}
        return frozenset()

    def note(self, message):
        method, params = message["method"], message.get("params")
        if method == "log":
            return self.log(params)
        if method not in ("stream", "complete", "error") or not isinstance(params, dict):
            raise CannotPlay("a notification that the library does not send")
        call = self.open.get("turn " + key_of(params.get("request_id")))
        if call is None:
            raise CannotPlay("a piece that belongs to no call")
        return getattr(self, "note_" + method)(call, params)

    def log(self, params):
        running = [call for call in self.calls if not call.over]
        if not isinstance(params.get("message"), str) or params.get("level") not in (
            "debug",
            "info",
            "warning",
            "error",
        ):
            raise CannotPlay("a log message that is not in the specification")
        if running:
            self.reach(running[-1])
            running[-1].add("log", params["level"], literal(params["message"]))
        elif "initialize" in self.open.values():
            call = self.begin("start", "")
            self.declared.pop(("start", ""))
            call.add("log", params["level"], literal(params["message"]))
            call.add("return", "null")
            self.finish(call)
        else:
            raise CannotPlay("a log message while nothing runs")
        return frozenset()

    def note_stream(self, call, params):
        self.reach(call)
        if not isinstance(params.get("data"), str):
            raise CannotPlay("a piece that is not a text")
        call.add("stream", literal(params["data"]))
        return frozenset()

    def note_complete(self, call, params):
        self.reach(call)
        self.finish(call)
        if params.get("success") is not True or "data" not in params:
            raise CannotPlay("complete without success: the library sends an error")
        keep = params.get("keep_session", False)
        if not isinstance(keep, bool):
            raise CannotPlay("a message that is not in the specification")
        if keep and not isinstance(params["data"], str):
            raise CannotPlay("a question that is not a text")
        call.add("ask" if keep else "return", literal(params["data"]))
        self.session = call if keep else None
        return frozenset({"keep_session"}) if "keep_session" not in params else frozenset()

    def note_error(self, call, params):
        self.reach(call)
        self.finish(call)
        if "keep_session" in params:
            raise CannotPlay("an error that keeps the conversation")
        self.failure(call, {key: item for key, item in params.items() if key != "request_id"})
        return frozenset()


class Ayiou(Deriver):
    def request(self, method, params):
        if method == "metadata":
            return method
        if method == "lifecycle":
            return "lifecycle"
        if method in ("matches", "handle") and not isinstance(params.get("text"), str):
            raise CannotPlay("the library refuses such parameters")
        if method == "matches":
            self.declare("handler", "")
            return self.begin("matches", "")
        if method == "handle":
            return self.begin("handler", "")
        return self.begin("method", method)

    def begin(self, kind, name):
        call = super().begin(kind, name)
        self.declared.pop(("matches", ""), None)
        return call

    def own_answer(self, method, message):
        if method == "metadata":
            return self.metadata(message)
        if "error" in message:
            raise CannotPlay("the library answers lifecycle by ok")
        if message["result"] != {"ok": True}:
            raise CannotPlay("the library answers lifecycle by ok")
        return frozenset()

    def metadata(self, message):
        result = message.get("result")
        if not isinstance(result, dict) or not {"name", "version", "description"} <= set(result):
            raise CannotPlay("an incomplete greeting")
        if set(result) - {"name", "version", "description", "author", "commands"}:
            raise CannotPlay("a greeting that is not in the specification")
        for key in ("name", "version", "description"):
            self.facts[key] = result[key]
        if result.get("author"):
            self.facts["author"] = result["author"]
        elif "author" in result:
            message["result"] = {key: item for key, item in result.items() if key != "author"}
        for command in result.get("commands", []):
            if "name" not in command:
                raise CannotPlay("a command without a name")
            more = self.declare("command", command["name"])
            more.append("about " + command["description"])
            if "aliases" in command:
                more.append("alias " + " ".join(command["aliases"]))
        if not result["description"]:
            del self.facts["description"]
        return frozenset({"author", "commands", "aliases"})

    def result(self, call, value):
        if call.kind == "matches":
            if value not in ({"matches": True}, {"matches": False}):
                raise CannotPlay("the library answers matches by true or false")
            call.add("return", "true" if value["matches"] else "false")
            return frozenset()
        if not isinstance(value, dict) or "handled" not in value:
            raise CannotPlay("an incomplete answer")
        types = {"handled": bool, "block": bool, "reply": (str, type(None)), "actions": (list, type(None))}
        if any(not isinstance(item, types.get(key, object)) for key, item in value.items()):
            raise CannotPlay("a result that is not in the specification")
        call.add("return", literal(value))
        return frozenset({"block", "reply", "actions"})


class Sunscreen(Deriver):
    def __init__(self, script):
        super().__init__(script)
        for manifest in script.acts("manifest"):
            about = json.loads(manifest)
            self.facts["name"] = about.get("plugin", about).get("name", "demo")

    def request(self, method, params):
        if method == "commands":
            return method
        if method == "run":
            return self.begin("command", params["command"])
        if method == "hook":
            return self.begin("hook", params["name"])
        return self.begin("method", method)

    def own_answer(self, method, message):
        result = message.get("result")
        if not isinstance(result, dict) or not result:
            raise CannotPlay("another answer to commands than the library's")
        for kind, names in result.items():
            for name, about in names.items():
                which = ("hook", name) if kind == "hook" else ("command", f"{kind}:{name}")
                self.declare(*which)[:] = ["about " + about]
        message["result"] = {**result, MORE: 0}
        return frozenset({"scaffold", "app", "hook"})

    def result(self, call, value):
        if not isinstance(value, dict) or not isinstance(value.get("summary"), str):
            raise CannotPlay("a result that is not in the specification")
        if any(not isinstance(item, str) for item in value.get("files_written", [])):
            raise CannotPlay("a result that is not in the specification")
        call.add("return", literal(value))
        return frozenset({"files_written"})


class SunscreenJson(Sunscreen):
    KINDS = {"sunscreen.command/run": "command", "sunscreen.hook/run": "hook"}

    def request(self, method, params):
        kind = self.KINDS.get(method)
        if not kind:
            return self.begin("method", method)
        name = params["command"]
        return self.begin(kind, name if kind == "hook" else f"{params['kind']}:{name}")

    def result(self, call, value):
        if not isinstance(value, dict):
            raise CannotPlay("the library makes an object of every result")
        call.add("return", literal(value))
        return frozenset({"files_written", "summary"})


DIALECTS.update(
    {
        "plain": Plain,
        "yams": Yams,
        "gassist": Gassist,
        "ayiou": Ayiou,
        "sunscreen": Sunscreen,
        "sunscreen-json": SunscreenJson,
    }
)
