#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A plugin that speaks HTTP/2 by hand, without a library, and breaks its rules. GRPC_FAULT names the fault
(see below); GRPC_SEED makes it send random frames. It answers the first calls properly, so that the fault
meets RunCommand."""
import os
import random
import signal
import socket
import struct
import sys

DATA, HEADERS, RST, SETTINGS, PING, GOAWAY, WINDOW, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
END_STREAM, END_HEADERS, ACK = 1, 4, 1
FAULT = os.environ.get("GRPC_FAULT", "none")
SEED = os.environ.get("GRPC_SEED")


def frame(kind, flags, stream, body=b""):
    return struct.pack(">I", len(body))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + body


def literal(name, value):
    """A header field without compression (RFC 7541, section 6.2.2)."""
    return b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


HEAD = b"\x88" + literal("content-type", "application/grpc")
TAIL = literal("grpc-status", "0")


def message(body=b""):
    return b"\0" + struct.pack(">I", len(body)) + body


def answer(stream, body=b""):
    return (
        frame(HEADERS, END_HEADERS, stream, HEAD)
        + frame(DATA, 0, stream, message(body))
        + frame(HEADERS, END_HEADERS | END_STREAM, stream, TAIL)
    )


def unimplemented(stream):
    return frame(HEADERS, END_HEADERS | END_STREAM, stream, HEAD + literal("grpc-status", "12"))


OK = b"\x08\x01\x12\x04true"


class Peer:
    def __init__(self):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(os.environ["MORTISE_GRPC_SOCKET"])
        listener.listen(1)
        self.socket = listener.accept()[0]
        self.buffer = b""
        self.calls = 0

    def take(self, count):
        while len(self.buffer) < count:
            more = self.socket.recv(65536)
            if not more:
                sys.exit(0)
            self.buffer += more
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def send(self, data):
        try:
            self.socket.sendall(data)
        except OSError:
            sys.exit(0)

    def serve(self):
        self.take(24)  # the preface
        self.send(frame(SETTINGS, 0, 0, WINDOWS.get(FAULT, b"")))
        while True:
            head = self.take(9)
            size = int.from_bytes(head[:3], "big")
            kind, flags, stream = head[3], head[4], int.from_bytes(head[5:9], "big")
            body = self.take(size)
            if kind == SETTINGS and not flags & ACK:
                self.send(frame(SETTINGS, ACK, 0))
            elif kind == PING and not flags & ACK:
                self.send(frame(PING, ACK, 0, body))
            elif kind == HEADERS:
                self.called(stream)

    def called(self, stream):
        """health, Initialize, Capabilities, RunCommand, Shutdown: in this order."""
        self.calls += 1
        if self.calls == 1:
            self.send(unimplemented(stream))
        elif self.calls == 4 and SEED:
            self.send(storm(random.Random(int(SEED)), stream))
        elif self.calls == 4:
            FAULTS[FAULT](self, stream)
        else:
            self.send(answer(stream))


def storm(chance, stream):
    """Frames of any kind, with any bytes: the streams are often the right one."""
    out = b""
    for _ in range(chance.randrange(1, 40)):
        kind = chance.choice([DATA, HEADERS, 2, RST, SETTINGS, 5, PING, GOAWAY, WINDOW, CONTINUATION, 10, 77])
        good = chance.choice(
            [HEAD, TAIL, HEAD + TAIL, message(OK), message(b"x" * 100)[: chance.randrange(1, 105)]]
        )
        body = good if chance.random() < 0.6 else chance.randbytes(chance.choice([0, 4, 5, 8, 60]))
        flags = chance.choice([0, END_STREAM, END_HEADERS, END_HEADERS | END_STREAM, chance.randrange(256)])
        out += frame(kind, flags, chance.choice([stream, stream, stream, 0, 2, stream + 2]), body)
    return out


def forever(make):
    def flood(peer, stream):
        while True:
            peer.send(make(stream) * 200)

    return flood


def once(make):
    return lambda peer, stream: peer.send(make(stream))


def silent(_peer, _stream):
    signal.pause()


def closes(peer, stream):
    """The connection is gone, the process is not."""
    peer.socket.close()
    silent(peer, stream)


# SETTINGS_INITIAL_WINDOW_SIZE 0: we may send it nothing.
WINDOWS = {"no-window": struct.pack(">HI", 4, 0)}
FAULTS = {
    "none": once(lambda s: answer(s, OK)),
    "html": once(
        lambda s: frame(HEADERS, END_HEADERS | END_STREAM, s, b"\x88" + literal("content-type", "text/html"))
    ),
    "http-503": once(lambda s: frame(HEADERS, END_HEADERS | END_STREAM, s, b"\0\x07:status\x03503")),
    "no-trailers": once(
        lambda s: frame(HEADERS, END_HEADERS, s, HEAD) + frame(DATA, END_STREAM, s, message(OK))
    ),
    "no-message": once(lambda s: frame(HEADERS, END_HEADERS | END_STREAM, s, HEAD + TAIL)),
    "two-messages": once(
        lambda s: frame(HEADERS, END_HEADERS, s, HEAD)
        + frame(DATA, 0, s, message(OK) * 2)
        + frame(HEADERS, END_HEADERS | END_STREAM, s, TAIL)
    ),
    "half-a-message": once(
        lambda s: frame(HEADERS, END_HEADERS, s, HEAD)
        + frame(DATA, 0, s, message(OK)[:-1])
        + frame(HEADERS, END_HEADERS | END_STREAM, s, TAIL)
    ),
    "huge-message": once(
        lambda s: frame(HEADERS, END_HEADERS, s, HEAD) + frame(DATA, 0, s, b"\0\xff\xff\xff\xff")
    ),
    "compressed": once(
        lambda s: frame(HEADERS, END_HEADERS, s, HEAD) + frame(DATA, 0, s, b"\1" + message(OK)[1:])
    ),
    "reset": once(lambda s: frame(RST, 0, s, struct.pack(">I", 8))),
    "goaway": once(lambda s: frame(GOAWAY, 0, 0, struct.pack(">II", 0, 11) + b"tired")),
    "data-first": once(lambda s: frame(DATA, 0, s, message(OK))),
    "not-http2": once(lambda s: b"HTTP/1.1 400 Bad Request\r\n\r\n" * 3),
    "bad-hpack": once(lambda s: frame(HEADERS, END_HEADERS, s, b"\xff\xff\xff\xff\xff\xff")),
    "settings-flood": forever(lambda s: frame(SETTINGS, 0, 0)),
    "ping-flood": forever(lambda s: frame(PING, 0, 0, b"12345678")),
    "empty-data-flood": forever(lambda s: frame(DATA, 0, s)),
    "headers-flood": forever(
        lambda s: frame(HEADERS, 0, s, HEAD) + frame(CONTINUATION, 0, s, literal("x", "y" * 99))
    ),
    "window-flood": forever(lambda s: frame(WINDOW, 0, 0, struct.pack(">I", 1))),
    "reset-flood": forever(lambda s: frame(RST, 0, s, struct.pack(">I", 8))),
    "bytes-flood": forever(
        lambda s: frame(HEADERS, END_HEADERS, s, HEAD) + frame(DATA, 0, s, message(b"x" * 9000))
    ),
    "no-window": silent,
    "silent": silent,
    "closes": closes,
}

if __name__ == "__main__":
    Peer().serve()
