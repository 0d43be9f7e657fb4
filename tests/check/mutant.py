#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A plugin that keeps to its protocol, and can break it in one way for each check of `mortise check`.

mutant.py DIALECT [CHECK]: plain, yams, ayiou, gassist or sunscreen; CHECK as in "framing.split". Without CHECK
it is a good plugin. The faults of all dialects are in the class Server, those of one dialect in its own class.

It is started twenty thousand times by one run of all tests. So it takes the C halves of json and signal: to
import the whole modules costs more than everything else that it does.
"""
import _json
import _signal as signal
import binascii
import os
import select
import struct
import sys
import time

sys.tracebacklimit = 0  # a traceback shows the source, which a confined plugin must not read
MARK = 11  # the id of a request that some faults wait for, so that they happen once


class Reading:
    """What _json.make_scanner wants to know."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float


SCAN = _json.make_scanner(Reading)
ENCODE = _json.make_encoder(None, None, _json.encode_basestring, None, ": ", ", ", False, False, True)


def from_json(body):
    text = body.decode().strip(" \t\r\n")
    try:
        value, end = SCAN(text, 0)
    except (StopIteration, SystemError):  # the latter: its own exception is in the whole module
        raise ValueError("not JSON") from None
    if end != len(text):
        raise ValueError("more than one value")
    return value


def to_json(value):
    return "".join(ENCODE(value, 0)).encode()


class Failure(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.error = {"code": code, "message": message}


def wants(condition, message="bad params"):
    if not condition:
        raise Failure(-32602, message)


class Server:
    """Reads and answers. `fault` is the name of the check that it makes fail."""

    methods = {}
    known_note = ""

    def __init__(self, fault):
        self.fault = fault
        self.buffer = b""
        self.count = 0
        self.last_id = 0

    # ---- framing ----

    def enframe(self, body):
        return body + b"\n"

    def cut(self, data):
        """The first message of data and the rest; None: it is not whole yet."""
        line, end, rest = data.partition(b"\n")
        return (line, rest) if end else None

    def write(self, message):
        self.write_raw(self.enframe(to_json(message)))

    def write_raw(self, data):
        while data:
            data = data[os.write(1, data) :]

    def read(self):
        """Whole messages as they come, one list for each read()."""
        while True:
            chunk = os.read(0, 1 << 16)
            if not chunk:
                return
            if (
                self.fault in ("framing.split", "call.split")
                and self.cut(self.buffer + chunk) is None
                and len(chunk) < 60000
            ):
                continue  # as if one read() were one message
            if self.fault == "stop.answers-first" and b'"id":41,' in chunk and self.is_over():
                sys.exit(0)
            self.buffer += chunk
            bodies = []
            while (found := self.cut(self.buffer)) is not None:
                bodies.append(found[0])
                self.buffer = found[1]
            yield bodies

    # ---- life ----

    @staticmethod
    def is_over():
        """Nothing more will come. The host closes right after this request: that is waited for."""
        poll = select.poll()
        poll.register(0, select.POLLIN)
        return any(event & select.POLLHUP and not event & select.POLLIN for _, event in poll.poll(60000))

    def run(self):
        self.begin()
        for bodies in self.read():
            if self.fault == "framing.joined" and any(b'"id":12,' in body for body in bodies):
                bodies = bodies[:1]
            if self.fault == "load.pipeline" and len(bodies) > 2:
                bodies = bodies[:2]
            for body in bodies:
                self.take(body)
        self.end()

    def begin(self):
        if self.fault == "stop.term":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if self.fault == "start.silent" and not select.select([0], [], [], 0.05)[0]:
            self.write({"jsonrpc": "2.0", "id": 4711, "result": None})
        if self.fault == "stdout.clean":
            self.write_raw(b"loading the model\n")
        if self.fault == "stderr.small":
            os.write(2, b"debug: nothing is wrong here\n" * 3000)
        if self.fault == "stderr.text":
            os.write(2, b"\xff\xfe\n")

    def end(self):
        if self.fault == "stdout.whole":
            self.write_raw(self.enframe(b'{"jsonrpc":"2.0","method":"log"}')[:-2])
        if self.fault in ("stop.eof", "shutdown.exit"):
            signal.pause()
        if self.fault == "stop.status":
            os._exit(3)

    # ---- messages ----

    def loses(self, body):
        """Faults of plugins that search in the text instead of parsing it."""
        fault = self.fault
        return (
            (fault == "framing.large" and len(body) > 500000)
            or (fault == "framing.unicode" and not body.isascii())
            or (fault == "framing.spaces" and b'" :' in body)
            or (fault == "framing.order" and body.startswith(b'{"method"'))
            or (fault == "framing.crlf" and body.endswith(b"\r"))
        )

    def take(self, body):
        if self.loses(body):
            return
        if not body.strip():
            if self.fault == "framing.blank":
                sys.exit("an empty line")
            return
        try:
            message = from_json(body)
        except ValueError as why:
            if self.fault == "request.not-json":
                sys.exit(f"json: {why}")
            if self.fault != "request.not-json-code":
                self.fail(None, -32700, "Parse error")
            return
        if isinstance(message, list):
            self.take_batch(message)
        else:
            self.take_message(message)

    def fail(self, ident, code, text):
        self.write({"jsonrpc": "2.0", "id": ident, "error": {"code": code, "message": text}})

    def take_batch(self, batch):
        if not batch:
            if self.fault != "batch.empty":
                self.fail(None, -32600, "Invalid Request")
            return
        if self.fault == "batch.answers" and "id" in batch[0]:
            return
        replies = [self.reply(m) for m in batch if "id" in m]
        if self.fault == "batch.notes" and not replies:
            self.fail(None, -32601, "Method not found")
        if replies:
            self.write(replies)

    def ignores(self, message):
        """Requests that a faulty plugin does not answer."""
        fault, ident = self.fault, message.get("id")
        self.count += 1
        jumped = isinstance(ident, int) and 0 < ident < self.last_id
        self.last_id = ident if isinstance(ident, int) else self.last_id
        return (
            (fault == "request.extra" and "mortise" in message)
            or (fault == "request.no-method" and "method" not in message)
            or (fault == "request.method-type" and isinstance(message.get("method"), int))
            or (fault == "request.positions" and isinstance(message.get("params"), list))
            or (fault == "ids.large" and ident == 2147483647)
            or (fault == "ids.jump" and jumped)
            or (fault == "ids.zero" and ident == 0)
            or (fault == "ids.string" and isinstance(ident, str))
            or (fault == "ids.digits" and ident == 36028797018963969)
            or (fault == "load.repeat" and self.count > 30)
            or self.ignores_own(message)
        )

    def ignores_own(self, _):
        return False

    def take_message(self, message):
        if self.ignores(message):
            return
        method = message.get("method")
        if "id" not in message:
            known = isinstance(method, str) and method == self.known_note
            if self.fault == "note.unknown" and not known and method != "shutdown":
                self.fail(None, -32601, "Method not found")
            elif self.fault == "note.known" and known:
                self.write({"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "no id"}})
            else:
                self.take_note(message)
            return
        reply = self.reply(message)
        if reply is not None:
            self.spoil(message, reply)

    def take_note(self, message):
        pass

    def reply(self, message):
        ident, method = message.get("id"), message.get("method")
        reply = {"jsonrpc": "2.0", "id": ident}
        try:
            if not isinstance(method, str):
                raise Failure(-32600, "Invalid Request")
            if method not in self.methods:
                if self.fault == "method.unknown":
                    return {**reply, "result": None}
                raise Failure(-32601, "Method not found")
            return {**reply, "result": self.methods[method](self, message.get("params") or {})}
        except Failure as failure:
            return {**reply, "error": failure.error}

    def spoil(self, message, reply):
        """Faults of the answer itself, which happen once."""
        fault = self.fault
        if fault == "error.object" and message.get("id") == 27:
            reply["error"] = "Method not found"
        if message.get("id") != MARK:
            self.write(reply)
            return
        if fault == "json.version":
            del reply["jsonrpc"]
        if fault in ("response.one", "response.null"):
            other = "error" if "result" in reply else "result"
            reply[other] = {"code": 1, "message": "both"} if fault == "response.one" else None
        self.write(reply)
        if fault == "ids.once":
            self.write(reply)
        if fault == "ids.echo":
            self.write({"jsonrpc": "2.0", "id": str(MARK), "result": None})
        if fault == "json.valid":
            self.write_raw(self.enframe(b'{"jsonrpc":"2.0","method":"x","params":{"x":NaN,}}'))
        if fault == "json.message":
            self.write({"jsonrpc": "2.0", "answer": 42})
        if fault == "plugin.asks":
            self.write({"jsonrpc": "2.0", "id": 1, "method": "host.version"})
        if fault == "notes.params":
            self.write({"jsonrpc": "2.0", "method": "log", "params": {"level": 7}})


class Plain(Server):
    methods = {"echo": lambda self, params: params}

    def ignores_own(self, message):
        return self.fault == "call.named" and message.get("method") == "echo"


class Yams(Server):
    known_note = "plugin.health"

    def handshake(self, params):
        told = {
            "name": "mutant",
            "version": "1.0.0",
            "description": "Keeps to its protocol",
            "interfaces": ["content_extractor_v1"],
            "capabilities": {"content_extraction": {"formats": ["text/plain"], "extensions": [".txt"]}},
        }
        fault = self.fault
        if fault == "handshake.answer":
            return [told]
        if fault == "handshake.letter":
            told["interfaces"] = "content_extractor_v1"
        if fault == "handshake.name":
            told["name"] = "mu tant"
        if fault == "handshake.version":
            told["version"] = "1.0"
        if fault == "handshake.interfaces":
            told["interfaces"] = [{"id": "content_extractor_v1", "version": 1}]
        if fault == "handshake.formats":
            told["capabilities"] = {"content_extraction": {}}
        if fault == "handshake.twice" and self.count > 2:
            raise Failure(-32600, "again?")
        if fault == "start.again":
            told["version"] = f"1.0.{time.monotonic_ns()}"
        return told

    def init(self, params):
        wants(isinstance(params, dict))
        config = params.get("config", {})
        fault = self.fault
        if fault == "init.answer" and config == {} and self.count == 2:
            raise Failure(-32000, "no configuration")
        if fault == "init.flat":
            wants("mortise_check" not in params)
        if fault == "init.absent":
            wants(params)
        if fault == "init.twice" and self.count > 2:
            raise Failure(-32600, "again?")
        if fault != "init.bad-config":
            wants(isinstance(config, dict))
        return {"status": "ready" if fault == "init.letter" else "initialized"}

    def health(self, params):
        if self.fault == "health.answer":
            return {"healthy": True}
        return {"status": "degraded" if self.fault == "health.good" else "ok"}

    def supports(self, params):
        wants(isinstance(params, dict))
        if self.fault != "supports.nothing":
            wants("mime_type" in params or "extension" in params)
        elf = params.get("extension") == ".elf"
        if (self.fault == "supports.answer" and elf) or (self.fault == "supports.unknown" and not elf):
            return {"supported": "perhaps"}
        return {"supported": params.get("mime_type") == "text/plain", "confidence": 1.0}

    def extract(self, params):
        fault = self.fault
        if fault != "extract.no-source":
            wants(isinstance(params, dict) and isinstance(params.get("source"), dict))
        source = params.get("source", {})
        if fault == "extract.options":
            if "mime_type" in params.get("options", {}):
                sys.exit("an option that nobody knows")
        try:
            if source.get("type") == "path":
                with open(source["path"], "rb") as file:
                    data = file.read()
            elif source.get("type") == "bytes" and fault == "extract.bad-data":
                wants("data" in source)
                data = binascii.a2b_base64(source["data"])
            elif source.get("type") == "bytes" and fault == "extract.no-data":
                data = binascii.a2b_base64(source.get("data", ""), strict_mode=True)
            elif source.get("type") == "bytes":
                wants("data" in source)
                data = binascii.a2b_base64(source["data"], strict_mode=True)
            else:
                wants(fault in ("extract.source-type", "extract.no-source"))
                data = b""
        except ValueError:
            raise Failure(-32602, "data is not base64") from None
        except OSError as why:
            if fault != "extract.missing-file":
                return {"success": False, "content": None, "error": str(why)}
            data = b""
        if fault == "extract.result":
            return {"success": True, "content": 7}
        return {"success": True, "content": data.decode("utf-8", "replace")}

    def shutdown(self, params):
        return {"status": "bye"} if self.fault == "shutdown.null" else None

    methods = {
        "handshake.manifest": handshake,
        "plugin.init": init,
        "plugin.health": health,
        "extractor.supports": supports,
        "extractor.extract": extract,
        "plugin.shutdown": shutdown,
        "echo": lambda self, params: params,
    }

    def ignores_own(self, message):
        method, fault = message.get("method"), self.fault
        return (
            (fault == "shutdown.answer" and method == "plugin.shutdown")
            or (fault == "handshake.params" and method == "handshake.manifest" and "params" in message)
            or (fault == "health.early" and method == "plugin.health" and self.count == 2)
            or (
                fault == "extract.bytes"
                and method == "extractor.extract"
                and "options" not in message["params"]
            )
            or (fault == "call.named" and method == "echo")
        )

    def take_message(self, message):
        if self.fault == "method.case" and isinstance(message.get("method"), str):
            lower = {name.lower(): name for name in self.methods}
            message["method"] = lower.get(message["method"].lower(), message["method"])
        super().take_message(message)


class Ayiou(Server):
    known_note = "metadata"

    def metadata(self, params):
        told = {"name": "mutant", "description": "Keeps to its protocol", "version": "1.0.0", "commands": []}
        if self.fault == "metadata.answer":
            return "mutant"
        if self.fault == "metadata.letter":
            del told["description"]
        if self.fault == "start.again":
            told["version"] = f"1.0.{time.monotonic_ns()}"
        return told

    def lifecycle(self, params):
        wants(isinstance(params, dict) and "event" in params)
        event = params["event"]
        if self.fault == "startup.answer" and event == {"startup": None}:
            return {"ok": False}
        return None if self.fault == "startup.letter" else {"ok": True}

    def matches(self, params):
        if self.fault != "matches.no-text":
            wants(isinstance(params, dict) and isinstance(params.get("text"), str))
        text, group = params.get("text"), params.get("group_id")
        spoilt = {
            "matches.private": params.get("user_id") == 1 and group is None and text == "mortise check",
            "matches.group": group == 2,
            "matches.optional": "user_id" not in params,
            "matches.text": text == "",
            "matches.ids": group == 9223372036854775807,
        }
        return {"matches": 7 if spoilt.get(self.fault) else False}

    def handle(self, params):
        return {"handled": True, "reply": 7 if self.fault == "handle.named" else "done"}

    methods = {"metadata": metadata, "lifecycle": lifecycle, "matches": matches, "handle": handle}

    def ignores_own(self, message):
        params = message.get("params")
        event = params.get("event", 0) if isinstance(params, dict) else None
        is_object = isinstance(event, dict)
        return (
            (self.fault == "metadata.absent" and message.get("method") == "metadata" and params is None)
            or (self.fault == "startup.string" and event == "startup")
            or (self.fault == "connect.answer" and is_object and "bot_connect" in event)
            or (self.fault == "lifecycle.unknown" and is_object and "mortise_check" in event)
            or (self.fault == "lifecycle.no-event" and message.get("method") == "lifecycle" and event == 0)
            or (self.fault == "shutdown.answer" and is_object and "shutdown" in event)
        )


class Gassist(Server):
    known_note = "ping"

    def enframe(self, body):
        return struct.pack(">I", len(body)) + body

    def cut(self, data):
        if len(data) < 4:
            return None
        length = struct.unpack(">I", data[:4])[0]
        return (data[4 : 4 + length], data[4 + length :]) if len(data) >= 4 + length else None

    def initialize(self, params):
        told = {"name": "mutant", "version": "1.0.0", "commands": [{"name": "echo", "description": "d"}]}
        if self.fault == "initialize.answer" and "capabilities" in params and self.count == 1:
            return {"success": False}
        if self.fault == "initialize.bare" and "capabilities" not in params:
            raise Failure(-32602, "capabilities are missing")
        if self.fault == "initialize.letter":
            del told["version"]
        if self.fault == "manifest.functions":
            told["commands"] = [{"name": "other", "description": "d"}]
        if self.fault == "start.again":
            told["version"] = f"1.0.{time.monotonic_ns()}"
        return told

    def ping(self, params):
        return {"timestamp": 7 if self.fault == "ping.timestamp" else params.get("timestamp")}

    def execute(self, params):
        if params.get("function") != "echo":
            if self.fault == "execute.unknown":
                return {"success": True, "data": ""}
            raise Failure(-32601, "Unknown function")
        named = {} if self.fault == "execute.request-id" else {"request_id": self.last_id}
        if self.fault != "execute.named":
            self.write(
                {"jsonrpc": "2.0", "method": "complete", "params": {**named, "success": True, "data": "done"}}
            )
        return None

    def input(self, params):
        raise Failure(-32600, "no session")

    methods = {"initialize": initialize, "ping": ping, "execute": execute, "input": input}

    def ignores_own(self, message):
        params = message.get("params")
        ident = message.get("id")
        fault = self.fault
        if fault == "input.stray" and message.get("method") == "input":
            sys.exit("no session")
        return (
            (fault == "ping.answer" and ident == 9500)
            or (fault == "ping.absent" and params is None and message.get("method") == "ping")
            or (fault == "ping.busy" and ident == 72)
            or (fault == "execute.context" and isinstance(params, dict) and "context" in params)
            or (
                fault == "execute.no-arguments"
                and message.get("method") == "execute"
                and "arguments" not in params
            )
        )

    def reply(self, message):
        reply = super().reply(message)
        return None if reply.get("result", 0) is None and message.get("method") == "execute" else reply

    def take_note(self, message):
        if message.get("method") == "shutdown":
            if self.fault == "shutdown.silent":
                self.write({"jsonrpc": "2.0", "id": None, "result": {}})
            if self.fault == "shutdown.exit":
                signal.pause()
            if self.fault != "stop.eof":
                sys.exit(0)

    def end(self):
        if self.fault != "shutdown.exit":
            super().end()


class Sunscreen(Server):
    known_note = "commands"

    def commands(self, params):
        told = {"scaffold": {"echo": "d"}, "hook": {"after_build": "h"}}
        if self.fault == "commands.answer":
            return [told]
        if self.fault == "commands.same":
            told["scaffold"]["other"] = "d"
        if self.fault == "start.again":
            told["scaffold"]["echo"] = str(time.monotonic_ns())
        return told

    def run_command(self, params):
        fault, command = self.fault, params.get("command")
        if command == "scaffold:echo":
            return {"files_written": [], "summary": "done"}
        if "command" not in params:
            wants(fault == "run.no-command")
        elif not isinstance(command, str):
            wants(fault == "run.command-type")
        elif fault != "run.unknown":
            raise Failure(77 if fault == "run.code" else 4, "no such command")
        return {"files_written": [], "summary": "done"}

    def hook(self, params):
        if "name" not in params:
            wants(self.fault == "hook.no-name")
        elif self.fault != "hook.unknown":
            raise Failure(4, "no such hook")
        return {"files_written": [], "summary": "done"}

    methods = {"commands": commands, "run": run_command, "hook": hook}

    def begin(self):
        if self.fault == "sandbox.denied":
            try:
                open("/etc/shadow", "rb").close()
            except OSError:
                pass
        super().begin()

    def ignores_own(self, message):
        params, method = message.get("params"), message.get("method")
        named = isinstance(params, dict) and params.get("command") == "scaffold:echo"
        return (self.fault == "commands.params" and params == {} and method == "commands") or (
            self.fault == "run.named" and named
        )


class SunscreenJson(Server):
    """One request, one answer, the end."""

    ended = False

    def enframe(self, body):
        if self.fault == "call.framed":
            return body
        return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)

    def cut(self, data):
        head, end, body = data.partition(b"\r\n\r\n")
        if not end:
            return None
        lines = head.split(b"\r\n")
        if self.fault == "call.headers" and len(lines) > 1:
            sys.exit("a header that nobody knows")
        length = next(int(line[15:]) for line in lines if line.lower().startswith(b"content-length:"))
        return (body[:length], body[length:]) if len(body) >= length else None

    def loses(self, body):
        fault = self.fault
        return (
            (fault == "call.large" and len(body) > 500000)
            or (fault == "call.unicode" and not body.isascii())
            or (fault == "call.order" and body.startswith(b'{"params"'))
            or (fault == "call.words" and b"--flag" in body)
        )

    def begin(self):
        if self.fault == "sandbox.denied":
            try:
                os.mkdir("/usr/mortise-check")
            except OSError:
                pass
        super().begin()

    def spoil(self, message, reply):
        if self.fault == "error.object" and "error" in reply:
            reply["error"] = "no such command"
        if self.fault == "ids.echo":
            self.write({**reply, "id": "x"})
        else:
            super().spoil({**message, "id": MARK}, reply)  # every call is the first

    def call(self, params):
        fault, command = self.fault, params["command"]
        hook = params["kind"] == "hook"
        if command == "echo":
            if fault == "call.named":
                raise Failure(1, "not now")
            return {"message": "done"}
        if fault == ("hook.unknown" if hook else "call.unknown"):
            return {"message": "done"}
        raise Failure(4, "no such command")

    methods = {"sunscreen.command/run": call, "sunscreen.hook/run": call}

    def ignores_own(self, message):
        fault = self.fault
        kind = (message.get("params") or {}).get("kind")
        return (
            fault == "call.answer"
            or (fault == "call.scaffold" and kind == "scaffold")
            or (fault == "hook.answer" and kind == "hook")
            or (fault == "call.id" and message.get("id") == 7)
        )

    def write(self, message):
        super().write(message)
        if self.fault == "call.single":
            super().write({**message, "id": 2})

    def end(self):
        if self.fault == "stop.nothing" and self.count == 0:
            signal.pause()
        if self.fault == "call.exit":
            os._exit(1)
        super().end()


DIALECTS = {
    "plain": Plain,
    "yams": Yams,
    "ayiou": Ayiou,
    "gassist": Gassist,
    "sunscreen": Sunscreen,
    "sunscreen-json": SunscreenJson,
}


def main():
    DIALECTS[sys.argv[1]](sys.argv[2] if len(sys.argv) > 2 else "").run()


if __name__ == "__main__":
    main()
