#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A plugin as HashiCorp's go-plugin makes them, on Debian's python3-grpcio: the handshake with its magic
cookie, health, the controller, forwarded stdio, and a small service that it keeps (test.KV). GO_PLUGIN says
what is different, in words: "no-reflection", "only-alpha", "no-stdio", "no-controller", "sick", "version-7",
"reflection-lies", "reflection-fails", "reflection-hangs", "files-one-by-one"."""
import concurrent.futures
import os
import sys
import threading

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, empty_pb2, message_factory, timestamp_pb2

HOW = os.environ.get("GO_PLUGIN", "").split()
if os.environ.get("KV_PLUGIN") != "hello":
    sys.exit("This binary is a plugin. These are not meant to be executed directly.")


# ---- the service, described as protoc would ----


def describe():
    file = descriptor_pb2.FileDescriptorProto(name="kv.proto", package="test", syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto")
    kinds = {"string": 9, "int64": 3, "bytes": 12}
    for name, fields in {
        "Key": [("key", "string")],
        "Entry": [
            ("key", "string"),
            ("value", "bytes"),
            ("count", "int64"),
            ("set_at", ".google.protobuf.Timestamp"),
        ],
        "Nothing": [],
    }.items():
        message = file.message_type.add(name=name)
        for number, (field, kind) in enumerate(fields, 1):
            if kind in kinds:
                message.field.add(name=field, number=number, type=kinds[kind], label=1)
            else:
                message.field.add(name=field, number=number, type=11, label=1, type_name=kind)
    service = file.service.add(name="KV")
    for name, taken, given, streams in [
        ("Get", "Key", "Entry", False),
        ("Put", "Entry", "Nothing", False),
        ("Watch", "Key", "Entry", True),
        ("Print", "Key", "Nothing", False),
        ("Hang", "Nothing", "Nothing", False),
        ("Die", "Nothing", "Nothing", False),
        ("Garbage", "Nothing", "Entry", False),
        ("Environment", "Nothing", "Entry", False),
    ]:
        service.method.add(
            name=name, input_type=f".test.{taken}", output_type=f".test.{given}", server_streaming=streams
        )
    return file


FILE = describe()
FILES = [FILE, descriptor_pb2.FileDescriptorProto.FromString(timestamp_pb2.DESCRIPTOR.serialized_pb)]
POOL = descriptor_pool.DescriptorPool()
for one in reversed(FILES):
    POOL.Add(one)
FACTORY = message_factory.MessageFactory(POOL)
Key, Entry, Nothing = (
    FACTORY.GetPrototype(POOL.FindMessageTypeByName(f"test.{name}")) for name in ("Key", "Entry", "Nothing")
)
if len(sys.argv) == 3 and sys.argv[1] == "--describe":
    with open(sys.argv[2], "wb") as out:
        out.write(descriptor_pb2.FileDescriptorSet(file=FILES).SerializeToString())
    sys.exit(0)

# ---- what it does ----

kept = {}
told = concurrent.futures.Future()
printed, sent = [], 0
more = threading.Condition()


def get(request, context):
    if request.key not in kept:
        context.abort(grpc.StatusCode.NOT_FOUND, f"no key {request.key}")
    return kept[request.key]


def put(request, context):
    request.count += 1
    request.set_at.FromSeconds(1500000000)
    kept[request.key] = request
    return Nothing()


def say(request, context):
    """Answers when what it printed has been sent on."""
    with more:
        printed.append((2 if request.key.startswith("!") else 1, request.key.encode()))
        wanted = len(printed)
        more.notify_all()
        more.wait_for(lambda: sent >= wanted or "no-stdio" in HOW)
    return Nothing()


def hang(request, context):
    ended = threading.Event()
    context.add_callback(ended.set)
    ended.wait()
    return Nothing()


def environment(request, context):
    names = ("PLUGIN_MIN_PORT", "PLUGIN_MAX_PORT", "PLUGIN_PROTOCOL_VERSIONS", "KV_PLUGIN")
    return Entry(value="\n".join(f"{name}={os.environ.get(name)}" for name in names).encode())


METHODS = {
    "Get": (get, Key),
    "Put": (put, Entry),
    "Print": (say, Key),
    "Hang": (hang, Nothing),
    "Die": (lambda request, context: os._exit(3), Nothing),
    "Garbage": (lambda request, context: b"\x0a\xff", Nothing),
    "Environment": (environment, Nothing),
}


def stdio(request, context):
    global sent
    ended = []
    context.add_callback(lambda: wake(ended))
    while not ended:
        with more:
            more.wait_for(lambda: len(printed) > sent or ended)
            new = printed[sent:]
        for channel, data in new:
            yield bytes([8, channel, 18, len(data)]) + data
        with more:
            sent += len(new)
            more.notify_all()


def wake(ended):
    with more:
        ended.append(True)
        more.notify_all()


def shutdown(request, context):
    told.set_result(None)
    return empty_pb2.Empty()


def reflect(requests, context):
    """grpc.reflection: the fields that matter, by their numbers."""
    for request in requests:
        kind, text = request[0] >> 3, request[2:].decode()
        if "reflection-hangs" in HOW:
            hang(None, context)
        if "reflection-lies" in HOW:
            yield part(4, part(1, b"\xff\xff\xff"))
        elif "reflection-fails" in HOW:
            yield part(7, part(2, b"out of order"))
        elif kind == 7:
            names = ("test.KV", "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection")
            yield part(6, b"".join(part(1, part(1, name.encode())) for name in names))
        elif kind == 4 and text == "test.KV":
            files = FILES[:1] if "files-one-by-one" in HOW else FILES
            yield part(4, b"".join(part(1, file.SerializeToString()) for file in files))
        elif kind == 3 and text == FILES[1].name:
            yield part(4, part(1, FILES[1].SerializeToString()))
        else:
            yield part(7, part(2, b"not found"))


def part(number, data):
    size, out = len(data), b""
    while size > 127:
        out += bytes([size & 127 | 128])
        size >>= 7
    return bytes([number << 3 | 2]) + out + bytes([size]) + data


def raw(message):
    return message if isinstance(message, bytes) else message.SerializeToString()


class Handler(grpc.GenericRpcHandler):
    def service(self, details):
        path = details.method
        name = path.rsplit("/", 1)[1]
        if path.startswith("/test.KV/") and name in METHODS:
            function, takes = METHODS[name]
            return grpc.unary_unary_rpc_method_handler(function, takes.FromString, raw)
        if path == "/grpc.health.v1.Health/Check":
            sick = b"\x08\x02" if "sick" in HOW else b"\x08\x01"
            return grpc.unary_unary_rpc_method_handler(lambda request, context: sick)
        if path == "/plugin.GRPCController/Shutdown" and "no-controller" not in HOW:
            return grpc.unary_unary_rpc_method_handler(shutdown, None, raw)
        if path == "/plugin.GRPCStdio/StreamStdio" and "no-stdio" not in HOW:
            return grpc.unary_stream_rpc_method_handler(stdio)
        versions = [] if "no-reflection" in HOW else ["v1alpha"] if "only-alpha" in HOW else ["v1", "v1alpha"]
        if path in [
            f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo" for version in versions
        ]:
            return grpc.stream_stream_rpc_method_handler(reflect)
        return None


server = grpc.server(concurrent.futures.ThreadPoolExecutor(8))
server.add_generic_rpc_handlers((Handler(),))
path = os.path.join(os.environ["TMPDIR"], "plugin123")
server.add_insecure_port(f"unix:{path}")
server.start()
version = 7 if "version-7" in HOW else 1
print(f"1|{version}|unix|{path}|grpc", flush=True)
told.result()
server.stop(0.5).wait()
if "GO_PLUGIN_END" in os.environ:
    with open(os.environ["GO_PLUGIN_END"], "w") as out:
        out.write("shut down\n")
