# SPDX-License-Identifier: Apache-2.0
"""gassist: functions that stream, and conversations. Frames with a length in four bytes."""
from __future__ import annotations

from ..call import Call, NOTHING
from ..dialect import Asked, Dialect, text_of
from ..errors import INVALID_PARAMS, METHOD_NOT_FOUND, PluginError
from ..wire import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Set

    from ..dialect import Handler
    from ..serve import Session


class Gassist(Dialect):
    name = "gassist"
    framing = "be32"
    limit = 10 << 20
    failure = -1

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.conversation: Any = None  # the generator that waits for the next input, and its call
        self.acknowledged: Set[bytes] = set()  # inputs that the guard has
        self.quick = {"ping": self.quick_ping, "input": self.quick_input}

    def table(self) -> Dict[str, Handler]:
        return {
            "initialize": self.initialize,
            "ping": self.ping,
            "execute": self.execute,
            "input": self.input,
            "shutdown": self.shutdown,
            **self.functions(),
        }

    # ---- lifecycle

    def initialize(self, call: Call) -> Any:
        params = call.params if isinstance(call.params, dict) else {}
        if not self.session.started:
            self.session.start(params.get("config") or {}, call)
        return {
            "name": self.plugin.name,
            "version": self.plugin.version,
            "description": self.plugin.description,
            "protocol_version": "2.0",
            "capabilities": ["streaming", "passthrough"],
            "commands": [
                {"name": name, "description": function.description}
                for name, function in self.plugin.commands.items()
            ],
        }

    def ping(self, call: Call) -> Any:
        params = call.params if isinstance(call.params, dict) else {}
        return {"timestamp": params["timestamp"]} if "timestamp" in params else {}

    def quick_ping(self, call: Call) -> bool:
        call.answer(self.ping(call))
        return False

    def shutdown(self, call: Call) -> Any:
        self.session.ending = True
        self.session.stop()
        return {"success": True}

    def is_stop(self, method: str, params: Any) -> bool:
        return method == "shutdown"

    def close(self) -> None:
        if self.conversation is not None:
            (conversation, _), self.conversation = self.conversation, None
            conversation.close()

    # ---- functions

    def execute(self, call: Call) -> Any:
        params = call.params if isinstance(call.params, dict) else {}
        name = params.get("function")
        function = self.plugin.commands.get(name) if isinstance(name, str) else None
        if function is None:
            raise PluginError(METHOD_NOT_FOUND, "Method not found: %s" % name, {"function": name})
        call.method = function.name
        call.context = params.get("context")
        call.system_info = params.get("system_info")
        if not self.session.started:
            self.begin(call)
        arguments = function.bind(params.get("arguments"), self.plugin.strict)
        for given in function.given:
            arguments[given] = call if given == "call" else getattr(call, given)
        self.close()  # who calls another function has left the conversation
        return self.turn(call, lambda: self.session.invoke(call, function, arguments))

    def turn(self, call: Call, run: Any) -> Any:
        """Runs, and ends the request by a notification."""
        try:
            result = run()
        except PluginError as problem:
            self.error(call, problem)
        except Exception as problem:
            self.session.report()
            self.error(call, PluginError(None, str(problem) or type(problem).__name__))
        else:
            self.complete(call, result)
        return NOTHING

    def complete(self, call: Call, result: Any) -> None:
        keep = call.keep_session
        if isinstance(result, Asked):
            self.conversation, result, keep = (result.generator, call), result.question, True
        result = text_of(result)
        data = encode("" if result is None else result)
        members = b'"success":%s,"data":%s,"keep_session":%s' % (encode(call.success), data, encode(keep))
        self.note(call, "complete", members)

    def error(self, call: Call, problem: PluginError) -> None:
        code = self.failure if problem.code is None else problem.code
        members = b'"code":%d,"message":%s' % (code, encode(problem.message))
        if problem.data is not None:
            members += b',"data":' + encode(problem.data)
        self.note(call, "error", members)

    # ---- conversations

    def input(self, call: Call) -> Any:
        params = call.params if isinstance(call.params, dict) else {}
        content = params.get("content")
        if not isinstance(content, str):
            raise PluginError(INVALID_PARAMS, "content: a string is expected")
        if call.id_text is not None and call.id_text in self.acknowledged:
            self.acknowledged.discard(call.id_text)
        else:
            call.answer({"acknowledged": True})
        conversation, self.conversation = self.conversation, None
        inputs = self.plugin.inputs
        if conversation is not None:
            generator, first = conversation
            first.continues(call)
            return self.turn(first, lambda: self.session.resume(first, generator, content))
        if inputs is not None:
            arguments = {field.name: content for field in inputs.fields[:1]}
            return self.turn(call, lambda: self.session.invoke(call, inputs, arguments))
        self.error(call, PluginError(None, "no conversation waits for input"))
        return NOTHING

    def quick_input(self, call: Call) -> bool:
        params = call.params
        if call.id_text is not None and isinstance(params, dict) and isinstance(params.get("content"), str):
            self.acknowledged.add(call.id_text)
            call.answer({"acknowledged": True})
        return True

    # ---- notifications

    def note(self, call: Call, method: str, members: bytes) -> None:
        self.session.wire.send(
            b'{"jsonrpc":"2.0","method":"%s","params":{"request_id":%s,%s}}'
            % (method.encode(), call.id_text or b"null", members)
        )

    def stream(self, call: Call, text: str) -> None:
        self.note(call, "stream", b'"data":' + encode(text))

    def progress(self, call: Call, fraction: float, text: str) -> None:
        self.log("info", "%d%% %s" % (round(fraction * 100), text))

    def log(self, level: str, text: str) -> None:
        self.session.wire.send(
            b'{"jsonrpc":"2.0","method":"log","params":%s}' % encode({"level": level, "message": text})
        )
