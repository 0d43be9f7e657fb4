# SPDX-License-Identifier: Apache-2.0
"""Sunscreen's service for tests: its messages, made by protoc of the files in sdk/proto, and a client on
grpcio. None of it is Tenon's own code."""
import json
import os
import pathlib
import queue
import subprocess
import tempfile

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PROTO = pathlib.Path(__file__).resolve().parents[2] / "sdk" / "proto"
PLUGIN = "/sunscreen.plugin.v1.Plugin/"
STREAM = "/mortise.sunscreen.v1.Stream/RunCommandStream"
LIMIT = 300  # seconds: only to end a test that hangs
HEALTH = """syntax = "proto3"; package grpc.health.v1;
message HealthCheckRequest { string service = 1; }
message HealthCheckResponse { int32 status = 1; }
message Empty {}"""


def classes():
    """The classes of all messages, by their full names."""
    pool = descriptor_pool.DescriptorPool()
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "health.proto").write_text(HEALTH)
        out = os.path.join(folder, "all.desc")
        files = ["sunscreen_plugin.proto", "sunscreen_stream.proto", "health.proto"]
        subprocess.run(
            ["protoc", f"-I{PROTO}", f"-I{folder}", f"--descriptor_set_out={out}", *files], check=True
        )
        described = descriptor_pb2.FileDescriptorSet.FromString(pathlib.Path(out).read_bytes())
    found = {}
    for file in described.file:
        pool.Add(file)
    factory = message_factory.MessageFactory(pool)
    for file in described.file:
        for message in file.message_type:
            name = f"{file.package}.{message.name}"
            found[message.name] = factory.GetPrototype(pool.FindMessageTypeByName(name))
    return found


M = classes()
CALLS = {
    PLUGIN + "Initialize": ("InitializeRequest", "InitializeResponse"),
    PLUGIN + "Capabilities": ("CapabilitiesRequest", "CapabilitiesResponse"),
    PLUGIN + "RunCommand": ("RunCommandRequest", "RunResponse"),
    PLUGIN + "RunHook": ("RunHookRequest", "RunResponse"),
    PLUGIN + "Shutdown": ("ShutdownRequest", "ShutdownResponse"),
    "/grpc.health.v1.Health/Check": ("HealthCheckRequest", "HealthCheckResponse"),
    "/plugin.GRPCController/Shutdown": ("Empty", "Empty"),
}


class Client:
    """A connection to a plugin that listens, or will soon."""

    def __init__(self, path):
        sizes = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
        quick = [("grpc.initial_reconnect_backoff_ms", 20), ("grpc.max_reconnect_backoff_ms", 100)]
        self.channel = grpc.insecure_channel("unix:" + path, options=sizes + quick)

    def close(self):
        self.channel.close()

    def start(self, method, timeout=LIMIT, **fields):
        """A call that runs: .result(), .cancel()."""
        takes, gives = CALLS[method]
        stub = self.channel.unary_unary(method, M[takes].SerializeToString, M[gives].FromString)
        return stub.future(M[takes](**fields), timeout=timeout, wait_for_ready=True)

    def call(self, method, **fields):
        return self.start(method, **fields).result()

    def plugin(self, method, **fields):
        return self.call(PLUGIN + method, **fields)

    def run(self, name, *args, kind="scaffold"):
        """ok, and what json_result holds."""
        answer = self.plugin("RunCommand", kind=kind, name=name, args=args)
        return answer.ok, json.loads(answer.json_result)

    def stream(self, *messages):
        return Stream(self.channel, messages)


class Stream:
    """RunCommandStream, message by message."""

    def __init__(self, channel, messages):
        self.queue = queue.SimpleQueue()
        stub = channel.stream_stream(STREAM, M["FromHost"].SerializeToString, M["FromPlugin"].FromString)
        for message in messages:
            self.send(**message)
        self.call = stub(iter(self.queue.get, None), timeout=LIMIT, wait_for_ready=True)

    def send(self, **fields):
        self.queue.put(M["FromHost"](**fields))

    def finish(self):
        self.queue.put(None)

    def next(self):
        """The field that is set, and it; None at the end."""
        message = next(self.call, None)
        return message and (message.WhichOneof("message"), getattr(message, message.WhichOneof("message")))
