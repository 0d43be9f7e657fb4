#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A plugin that never answers, in as many ways as there are diagnoses (src/lib/host/diagnosis.h). argv: the
way, and for some its parameter. It speaks for itself only what the way needs; the host gets no answer. It is
started very often: what one way alone needs, and takes long to load, is imported there."""
import json
import os
import signal
import socket
import struct
import sys
import time

ANSWER = b'{"jsonrpc":"2.0","id":1,"result":"ok"}'


def request():
    return json.loads(sys.stdin.buffer.readline())


def say(data):
    os.write(1, data)


def hang():
    """Waits for something that is not stdin."""
    ours, theirs = socket.socketpair()
    ours.recv(1)
    return theirs


def frame(framing, body):
    head = {
        "lines": b"",
        "headers": b"Content-Length: %d\r\n\r\n" % len(body),
        "decimal": b"%d\n" % len(body),
        "be32": struct.pack(">I", len(body)),
    }[framing]
    return head + body + (b"\n" if framing == "lines" else b"")


# ---- ways ----


def sleeps():
    request()
    time.sleep(600)


def never_reads():
    time.sleep(600)


def spins():
    request()
    while True:
        pass


def hides():
    """Nobody but root can look into a process that may not be dumped."""
    import ctypes

    ctypes.CDLL(None).prctl(4, 0)  # PR_SET_DUMPABLE
    request()
    time.sleep(600)


def vforks():
    """The kernel lets the parent wait in state D until the child, which never does, starts a program."""
    import ctypes

    request()
    libc = ctypes.PyDLL(None)
    if libc.vfork() == 0:
        libc.pause()


def stops():
    request()
    os.kill(os.getpid(), signal.SIGSTOP)


def stops_at_once():
    os.kill(os.getpid(), signal.SIGSTOP)


def reads_lengths():
    """Takes our line for a length of two gigabytes."""
    (size,) = struct.unpack(">I", os.read(0, 4))
    while size > 0:
        size -= len(os.read(0, min(size, 65536)))


def event_loop():
    import asyncio

    async def wait():
        loop = asyncio.get_running_loop()
        loop.add_reader(0, lambda: os.read(0, 4096))
        await asyncio.Event().wait()

    asyncio.run(wait())


def polls():
    import selectors

    with selectors.PollSelector() as selector:
        selector.register(0, selectors.EVENT_READ)
        while selector.select():
            os.read(0, 4096)


def locks():
    import threading

    request()
    lock = threading.Lock()
    with lock:
        lock.acquire()


def waits():
    request()
    hang()


def half(framing):
    """The beginning of a whole answer."""
    request_any(framing)
    say(frame(framing, ANSWER)[:20])
    hang()


def request_any(framing):
    if framing == "be32":
        (size,) = struct.unpack(">I", sys.stdin.buffer.read(4))
        sys.stdin.buffer.read(size)
    else:
        sys.stdin.buffer.readline()


def answers_in(framing):
    """A whole answer in its own framing, whatever came; then it waits for more."""
    os.read(0, 4096)
    say(frame(framing, ANSWER))
    os.read(0, 4096)
    os.read(0, 4096)


def speaks_in(framing):
    """Does not wait to be asked."""
    say(frame(framing, ANSWER))
    hang()


def other_id(given):
    request()
    say(frame("lines", ANSWER.replace(b'"id":1', b'"id":' + given.encode())))
    sys.stdin.buffer.readline()


def prints(*lines):
    request()
    for line in lines:
        say(line.encode() + b"\n")
    sys.stdin.buffer.readline()


def answers_badly():
    """The one way that answers: with a banner before it, and without "jsonrpc"."""
    given = request()
    say(b"Starting\n")
    say(json.dumps({"id": given["id"], "result": {}}).encode() + b"\n")
    sys.stdin.buffer.readline()


def noisy():
    """A YAMS plugin that works, and prints a banner before each answer."""
    about = {"name": "noisy", "version": "1", "interfaces": ["content_extractor_v1"]}
    while line := sys.stdin.buffer.readline():
        given = json.loads(line)
        result = {"handshake.manifest": about, "extractor.extract": {"content": "text"}}.get(
            given["method"], {}
        )
        if given["method"] == "extractor.supports":
            result = {"supported": True}
        say(
            b"Starting\n" + json.dumps({"jsonrpc": "2.0", "id": given["id"], "result": result}).encode() + b"\n"
        )


def notes(method):
    request()
    say(frame("lines", json.dumps({"jsonrpc": "2.0", "method": method, "params": {}}).encode()))
    sys.stdin.buffer.readline()


def floods(stream):
    """A wrapper that does not read what its child writes: the child fills the pipe."""
    import subprocess

    program = f"import os\nwhile True: os.write({ {'stdout': 1, 'stderr': 2}[stream] }, b'x' * 65536)"
    child = subprocess.Popen([sys.executable, "-c", program], **{stream: subprocess.PIPE})
    child.wait()


def complains(*lines):
    for line in lines:
        print(line, file=sys.stderr)
    sys.exit(3)


def dies(name):
    request()
    os.kill(os.getpid(), getattr(signal, name))
    time.sleep(600)


def denied(path):
    """Tries what its sandbox may not allow, and hangs for it."""
    request()
    try:
        with open(path, encoding="utf-8"):
            pass
    except OSError as error:
        print(error, file=sys.stderr, flush=True)
    hang()


def raises():
    request()
    try:
        {}["key"]
    except KeyError as error:
        raise ValueError("two lines\nof text") from error


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
