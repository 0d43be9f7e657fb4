# SPDX-License-Identifier: Apache-2.0
"""Kythe's analyzers speak first: the plugin asks, the host answers."""
from part import ANYTHING, DIALECTS, CannotPlay, Deriver, Move, key_of, literal
from talkfile import Name


class Kythe(Deriver):
    """An analysis is a call: it begins with the host's answer to `analyze` and ends with `done`."""

    def __init__(self, script):
        super().__init__(script)
        self.analysis = None
        self.asked = {}  # requests of the plugin, by id
        self.names = {}
        self.inits = 0
        self.types = []

    def send(self, message):
        if not isinstance(message, dict) or "method" in message:
            raise CannotPlay("the driver asks nothing")
        method = self.asked.pop(key_of(message.get("id")), None)
        if method is None:
            raise CannotPlay("an answer to what no library sends")
        if "error" in message and method != "vname":
            raise CannotPlay("the plugin breaks the protocol")
        message = {**message, "id": self.id_of(message)}
        if method == "analyze":
            message["result"] = {**message["result"], "output": "out"}  # a real file
        if method == "init":
            message["result"] = {**message["result"], "outputEncoding": Name("encoding")}
        self.moves.append(Move("send", message))
        self.sends += 1
        if method == "analyze":
            self.analysis = self.begin("analysis", self.types[0] if self.types else "")
            self.analysis.seen = self.sends
        elif self.analysis:
            self.analysis.seen = self.sends

    def expect(self, message):
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0" or "method" not in message:
            raise CannotPlay("a message that no library sends")
        method, params = message["method"], message.get("params")
        handler = getattr(self, "say_" + str(method), None)
        if not handler:
            raise CannotPlay("a method that no library asks for")
        if ("id" in message) != (method in ("init", "analyze", "vname")):
            raise CannotPlay("a request as a notification, or the reverse")
        if "id" in message:
            if message["id"] is None or key_of(message["id"]) in self.asked:
                raise CannotPlay("an id that no library sends")
            self.asked[key_of(message["id"])] = method
            self.names[key_of(message["id"])] = Name(f"id {len(self.names)} {len(self.moves)}")
        more = handler(params, message)
        if "id" in message:
            message = {**message, "id": self.id_of(message)}
        self.moves.append(Move("expect", message, more))

    def id_of(self, message):
        """The library has ids of its own: what stands for one in the script."""
        return self.names[key_of(message["id"])]

    def say_init(self, params, message):
        self.inits += 1
        if self.inits > 1 or not isinstance(params, dict):
            raise CannotPlay("the plugin breaks the protocol")
        if params.get("protocol") != "kythe1" or params.get("outputEncoding") not in ("json", "protobuf"):
            raise CannotPlay("another init than the library's")
        if set(params) != {"protocol", "outputEncoding"}:
            raise CannotPlay("another init than the library's")
        self.facts["encoding"] = params["outputEncoding"]
        message["params"] = {**params, "outputEncoding": Name("encoding")}  # C has protobuf only
        return ANYTHING

    def say_analyze(self, params, message):
        if "init" in self.asked.values() or (self.analysis and not self.analysis.over):
            raise CannotPlay("the plugin does not wait for an answer")
        if not isinstance(params, dict) or set(params) != {"types"} or not isinstance(params["types"], list):
            raise CannotPlay("another analyze than the library's")
        self.types = params["types"]
        for one in self.types:
            if not isinstance(one, str):
                raise CannotPlay("another analyze than the library's")
            self.declare("analysis", one)
        return frozenset()

    def running(self):
        if not self.analysis or self.analysis.over:
            raise CannotPlay("the plugin speaks while it has no work")
        self.reach(self.analysis)
        return self.analysis

    def say_vname(self, params, message):
        if not isinstance(params, dict) or not all(isinstance(item, str) for item in params.values()):
            raise CannotPlay("a question that no library asks")
        self.running().add("vname", literal(params))
        return frozenset()

    def say_done(self, params, message):
        call = self.running()
        if params:
            raise CannotPlay("the library says how it went by its end, not by done")
        call.add("return", "null")
        self.finish(call)
        message.pop("params", None)
        return ANYTHING

    def scene(self):
        self.declare("analysis", "/kythe/index/c")
        return super().scene()


DIALECTS["kythe"] = Kythe
