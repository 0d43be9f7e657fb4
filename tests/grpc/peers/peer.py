#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A Sunscreen plugin on gRPC's own library (python3-grpcio) and protobuf, without Tenon.
peer.mjs does the same.

It listens on MORTISE_GRPC_SOCKET; without that, or with PEER_LINE set, in TMPDIR, and prints HashiCorp's line.

  app hello WORD...   {"words": [...]}; over the stream with a progress, a log and a piece before it
  app fail            not ok, with a plain text
  app broken          ok, with what is no JSON
  app crash           the process ends with status 3
  app wait            over the stream; until it is cancelled
  hook post-build     {"context": the context}
"""
import json
import os
import pathlib
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import grpc  # noqa: E402
from service import CALLS, PLUGIN, STREAM, M  # noqa: E402

over = threading.Event()
COMMANDS = ["hello", "fail", "broken", "crash", "wait"]


def initialize(asked, _context):
    return {"protocol_version": asked.protocol_version, "accepted_capabilities": ["peer"]}


def capabilities(_asked, _context):
    commands = [{"kind": "app", "name": name, "summary": f"{name} of a peer"} for name in COMMANDS]
    return {"commands": commands, "hooks": ["post-build"], "extensions": ["mortise.sunscreen.v1.Stream"]}


def run_command(asked, _context):
    if asked.name == "crash":
        os._exit(3)
    if asked.name == "hello":
        return {"ok": True, "json_result": json.dumps({"words": list(asked.args)})}
    return {"broken": {"ok": True, "json_result": "{no"}}.get(asked.name, {"json_result": "it has failed"})


def run_hook(asked, _context):
    return {"ok": True, "json_result": json.dumps({"context": json.loads(asked.json_context)})}


def shutdown(_asked, _context):
    over.set()
    return {"ok": True}


def health(_asked, _context):
    return {"status": 1}


def run_stream(messages, context):
    make = M["FromPlugin"]
    asked = next(messages).run
    if asked.name == "wait":
        gone = threading.Event()
        context.add_callback(gone.set)
        threading.Thread(target=lambda: any(m.HasField("cancel") for m in messages) and gone.set()).start()
        yield make(progress={"text": "waits"})
        gone.wait()
        yield make(result={"ok": True, "json_result": '"cancelled"'})
        return
    yield make(progress={"fraction": 0.25, "text": "a quarter"})
    yield make(log={"level": "warning", "text": "a line of a peer"})
    yield make(piece={"text": "a piece "})
    yield make(result=run_command(asked, context))


HANDLERS = {
    PLUGIN + "Initialize": initialize,
    PLUGIN + "Capabilities": capabilities,
    PLUGIN + "RunCommand": run_command,
    PLUGIN + "RunHook": run_hook,
    PLUGIN + "Shutdown": shutdown,
    "/grpc.health.v1.Health/Check": health,
}


class Service(grpc.GenericRpcHandler):
    def service(self, details):
        if details.method == STREAM:
            return grpc.stream_stream_rpc_method_handler(
                run_stream, M["FromHost"].FromString, M["FromPlugin"].SerializeToString
            )
        if details.method not in HANDLERS:
            return None
        work, (takes, gives) = HANDLERS[details.method], CALLS[details.method]
        return grpc.unary_unary_rpc_method_handler(
            lambda asked, context: M[gives](**work(asked, context)),
            M[takes].FromString,
            M[gives].SerializeToString,
        )


def main():
    path = os.environ.get("MORTISE_GRPC_SOCKET", "")
    line = not path or "PEER_LINE" in os.environ
    if line:
        path = os.path.join(tempfile.gettempdir(), "peer.sock")
    server = grpc.server(ThreadPoolExecutor(8))
    server.add_generic_rpc_handlers((Service(),))
    server.add_insecure_port("unix:" + path)
    server.start()
    if line:
        print(f"1|1|unix|{path}|grpc", flush=True)
    over.wait()
    server.stop(1).wait()


main()
