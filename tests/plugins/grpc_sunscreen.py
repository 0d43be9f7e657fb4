#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A Sunscreen plugin over gRPC, on Debian's python3-grpcio. GRPC_HOW says how it lets itself be met (see MEET);
what it does with a command is that command's name (see Commands)."""
import concurrent.futures
import json
import os
import signal
import socket
import sys
import tempfile
import threading

import grpc

SERVICE = "sunscreen.plugin.v1.Plugin"
STREAM = "mortise.sunscreen.v1.Stream"


# ---- protobuf, as far as it is needed ----


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def fields(data):
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = number()
        value = number()
        if key & 7 == 2:
            value, at = data[at : at + value], at + value
        yield key >> 3, value


def texts(data, wanted):
    return [value.decode() for number, value in fields(data) if number == wanted]


def result(ok, value):
    return (field(1, 1) if ok else b"") + field(2, value if isinstance(value, str) else json.dumps(value))


# ---- what it does ----


class Commands:
    """A command is a method: it gets the words and the call's context, and returns an answer."""

    def __init__(self):
        self.over = threading.Event()

    def hello(self, words, _context):
        return result(True, {"summary": f"hello {' '.join(words)}", "files_written": [], "args": words})

    def fails(self, _words, _context):
        return result(False, {"message": "no such thing", "next_step": "think again"})

    def fails_plainly(self, _words, _context):
        return result(False, "it is Monday")

    def fails_with_code(self, _words, _context):
        return result(False, {"code": 4, "message": "bad input", "data": {"next_step": "read the manual"}})

    def no_json(self, _words, _context):
        return result(True, "{")

    def nothing(self, _words, _context):
        return field(1, 1)

    def status(self, words, context):
        context.abort(getattr(grpc.StatusCode, words[0]), " ".join(words[1:]))

    def raises(self, _words, _context):
        raise ValueError("oops")

    def dies(self, words, _context):
        print("going down", file=sys.stderr, flush=True)
        os._exit(int(words[0]))

    def hangs(self, words, context):
        """Until the host leaves; the file says so."""
        context.add_callback(self.over.set)
        self.over.wait(60)
        if words:
            with open(words[0], "w", encoding="utf-8") as file:
                file.write("cancelled")
        return result(True, "late")

    def stops(self, _words, _context):
        os.kill(os.getpid(), signal.SIGSTOP)
        self.over.wait(60)

    def big(self, words, _context):
        return result(True, {"summary": "big", "files_written": [], "fill": "x" * int(words[0])})

    def size(self, words, _context):
        return result(True, {"summary": str(sum(map(len, words))), "files_written": []})

    def remaining(self, _words, context):
        return result(True, {"summary": str(context.time_remaining() is not None), "files_written": []})

    def writes(self, words, _context):
        path = os.path.join(os.environ["SUNSCREEN_WORKSPACE_ROOT"], words[0])
        with open(path, "w", encoding="utf-8") as file:
            file.write("made\n")
        return result(True, {"summary": "written", "files_written": [words[0]]})

    def dials(self, _words, _context):
        with socket.create_connection(("127.0.0.1", 9)):
            return result(True, "connected")

    def where(self, _words, _context):
        names = ("TMPDIR", "MORTISE_GRPC_SOCKET", "PLUGIN_PROTOCOL_VERSIONS", os.environ.get("COOKIE", ""))
        return result(
            True, {"summary": "env", "files_written": [], "env": {n: os.environ.get(n) for n in names}}
        )

    def prints(self, _words, _context):
        print("noise on stdout", flush=True)
        return result(True, {"summary": "printed", "files_written": []})


class Plugin:
    def __init__(self):
        self.commands = Commands()
        self.over = threading.Event()
        self.kinds = os.environ.get("GRPC_OFFERS", "scaffold:hello").split()

    def Initialize(self, message, _context):
        self.hello = texts(message, 1) + texts(message, 3)
        return field(1, os.environ.get("GRPC_VERSION", "1"))

    def Capabilities(self, _message, _context):
        out = b""
        for item in self.kinds:
            kind, name = item.split(":")
            out += (
                field(2, name) if kind == "hook" else field(1, field(1, kind) + field(2, name) + field(3, ""))
            )
        return out + (field(1000, STREAM) if "GRPC_STREAMS" in os.environ else b"")

    def RunCommand(self, message, context):
        name = texts(message, 2)[0]
        return getattr(self.commands, name.replace("-", "_"))(texts(message, 3), context)

    def RunHook(self, message, _context):
        return result(
            True,
            {
                "summary": "hook " + texts(message, 1)[0],
                "files_written": [],
                "context": json.loads(texts(message, 2)[0]),
            },
        )

    def Shutdown(self, _message, _context):
        if "GRPC_STAYS" not in os.environ:
            self.over.set()
        return field(1, 1)


class Streamed:
    """The same commands, and those that say more."""

    def __init__(self, plugin):
        self.plugin = plugin

    def RunCommandStream(self, messages, context):
        run = next(value for number, value in fields(next(messages)) if number == 1)
        name = texts(run, 2)[0]
        if name == "builds":
            yield field(1, b"\x09" + b"\0\0\0\0\0\0\xd0\x3f" + field(2, "a quarter"))
            yield field(2, field(1, "warning") + field(2, "one file is old"))
            yield field(3, field(1, "built a.rs"))
            yield field(4, result(True, {"summary": "built", "files_written": []}))
        elif name == "waits":
            yield field(1, field(2, "waiting"))
            for number, _value in fields(next(messages)):
                with open(texts(run, 3)[0], "w", encoding="utf-8") as file:
                    file.write("asked to stop" if number == 2 else "what?")
            yield field(4, result(False, "stopped"))
        elif name == "never":
            yield field(1, field(2, "no result follows"))
        else:
            yield field(4, self.plugin.RunCommand(run, context))


def serve(plugin, path):
    server = grpc.server(
        concurrent.futures.ThreadPoolExecutor(4),
        options=[("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)],
    )
    unary, stream = grpc.unary_unary_rpc_method_handler, grpc.stream_stream_rpc_method_handler
    names = "Initialize Capabilities RunCommand RunHook Shutdown".split()
    missing = os.environ.get("GRPC_WITHOUT", "").split()
    rows = {name: unary(getattr(plugin, name)) for name in names if name not in missing}
    handlers = [grpc.method_handlers_generic_handler(SERVICE, rows)]
    if "GRPC_STREAMS" in os.environ:
        handlers.append(
            grpc.method_handlers_generic_handler(
                STREAM, {"RunCommandStream": stream(Streamed(plugin).RunCommandStream)}
            )
        )
    if "GRPC_HEALTH" in os.environ:
        answer = field(1, int(os.environ["GRPC_HEALTH"]))
        handlers.append(
            grpc.method_handlers_generic_handler(
                "grpc.health.v1.Health", {"Check": unary(lambda _message, _context: answer)}
            )
        )
    server.add_generic_rpc_handlers(handlers)
    if not server.add_insecure_port(f"unix:{path}"):
        sys.exit(f"cannot listen on {path}")
    server.start()
    return server


# ---- how it is met ----


def say(line):
    print(line, flush=True)


def main():
    plugin = Plugin()
    how = os.environ.get("GRPC_HOW", "socket")
    path = os.environ["MORTISE_GRPC_SOCKET"]
    if how == "line":
        path = os.path.join(tempfile.gettempdir(), "other.sock")
    elif how == "elsewhere":
        path = os.path.join(os.environ["GRPC_ELSEWHERE"], "x.sock")
    elif how in ("silent", "says"):
        say(os.environ.get("GRPC_SAYS", "")) if how == "says" else None
        signal.pause()
    elif how in ("borrows", "links"):  # a socket of another program, as if it were its own
        path = os.path.join(tempfile.gettempdir(), "mine.sock")
        (os.rename if how == "borrows" else os.symlink)(os.environ["GRPC_ELSEWHERE"], path)
        say(f"1|1|unix|{path}|grpc")
        signal.pause()
    elif how == "exits":
        sys.exit("no licence")
    server = serve(plugin, path)
    if how in ("line", "elsewhere"):
        say("a banner of some library")
        say(f"1|{os.environ.get('GRPC_APP', '1')}|unix|{path}|grpc")
        say("noise after it")
    plugin.over.wait()
    server.stop(1).wait()


main()
