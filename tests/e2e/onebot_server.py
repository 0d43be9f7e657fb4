# SPDX-License-Identifier: Apache-2.0
"""A small OneBot v11 for the tests: the side of the chat network, over WebSockets, of the
standard library alone.

`Server` listens (the bot connects: forward), `dial` connects (reverse). A thread per connection; whatever
it hears comes to a queue; nothing here waits for time to pass. By default each call is answered with
{"status": "ok"}.
"""
import base64
import hashlib
import json
import os
import queue
import socket
import ssl
import struct
import threading

from events import LIMIT

MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


class Gone(Exception):
    """The other side has closed the connection, or it was cut."""


def frame(opcode, payload=b"", final=True, mask=False, rsv=0):
    head = bytes([(0x80 if final else 0) | rsv << 4 | opcode])
    marked = 0x80 if mask else 0
    if len(payload) < 126:
        head += bytes([marked | len(payload)])
    elif len(payload) < 65536:
        head += bytes([marked | 126]) + struct.pack(">H", len(payload))
    else:
        head += bytes([marked | 127]) + struct.pack(">Q", len(payload))
    if not mask:
        return head + payload
    key = os.urandom(4)
    return head + key + bytes(byte ^ key[i % 4] for i, byte in enumerate(payload))


class Connection:
    """One WebSocket, with its handshake done."""

    def __init__(self, sock, head, masks, answer=None):
        self.sock, self.head, self.masks = sock, head, masks
        self.answer = answer or (lambda call: {"status": "ok", "retcode": 0, "data": {"message_id": 1}})
        self.calls = queue.Queue()  # dicts, as they come
        self.frames = queue.Queue()  # (opcode, payload) of all others
        self.pongs = True  # answer pings
        self.lock = threading.Lock()
        self.thread = threading.Thread(target=self.listen, daemon=True)

    def begin(self):
        self.thread.start()
        return self

    def exactly(self, count):
        got = b""
        while len(got) < count:
            piece = self.sock.recv(min(65536, count - len(got)))
            if not piece:
                raise Gone
            got += piece
        return got

    def read_frame(self):
        first, second = self.exactly(2)
        size = second & 0x7F
        if size == 126:
            (size,) = struct.unpack(">H", self.exactly(2))
        elif size == 127:
            (size,) = struct.unpack(">Q", self.exactly(8))
        key = self.exactly(4) if second & 0x80 else None
        payload = self.exactly(size)
        assert bool(key) != self.masks, "the bot masks what a client sends, and only that"
        if key:
            payload = bytes(byte ^ key[i % 4] for i, byte in enumerate(payload))
        return first & 15, payload

    def listen(self):
        try:
            while True:
                opcode, payload = self.read_frame()
                if opcode == TEXT:
                    self.take(json.loads(payload))
                    continue
                self.frames.put((opcode, payload))
                if opcode == PING and self.pongs:
                    self.raw(frame(PONG, payload, mask=self.masks))
                if opcode == CLOSE:
                    self.raw(frame(CLOSE, payload, mask=self.masks))
                    break
        except (Gone, OSError, ssl.SSLError):
            pass
        self.calls.put(None)
        self.frames.put((None, b""))

    def take(self, call):
        answer = self.answer(call)
        self.calls.put(call)
        if answer is not None:
            self.send({"echo": call.get("echo"), **answer})

    def raw(self, data):
        with self.lock:
            self.sock.sendall(data)

    def raw_if_open(self, data):
        try:
            self.raw(data)
        except OSError:
            return False
        return True

    def send(self, *events):
        self.raw(
            b"".join(
                frame(TEXT, (e if isinstance(e, str) else json.dumps(e)).encode(), mask=self.masks)
                for e in events
            )
        )

    def call(self):
        """The next call of the bot; None: it is gone."""
        return self.calls.get(timeout=LIMIT)

    def texts(self, count):
        return [self.call()["params"]["message"][0]["data"]["text"] for _ in range(count)]

    def until_frame(self, opcode):
        """The next frame of that kind; its payload. None: the connection is gone before."""
        while True:
            kind, payload = self.frames.get(timeout=LIMIT)
            if kind == opcode:
                return payload
            if kind is None:
                return None

    def cut(self):
        """As a machine that loses its power: no good-bye."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def close(self):
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.sock.close()


def read_head(sock):
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        piece = sock.recv(1)
        if not piece:
            raise Gone
        head += piece
    first, *lines = head.decode().split("\r\n")[:-2]
    return first, {
        name.strip().lower(): value.strip() for name, value in (line.split(":", 1) for line in lines)
    }


def accept_of(key):
    return base64.b64encode(hashlib.sha1(key.encode() + MAGIC).digest()).decode()


class Server:
    """Forward: the bot connects to us."""

    def __init__(self, case, token=None, tls=None, door=None, answer=None, connect_event=True, self_id=10001):
        self.token, self.tls, self.answer, self.connect_event, self.self_id = (
            token,
            tls,
            answer,
            connect_event,
            self_id,
        )
        self.requests = queue.Queue()  # (first line, headers) of every handshake
        self.connections = queue.Queue()
        self.all, self.open = [], True
        self.listener = door or socket.create_server(("127.0.0.1", 0))
        self.listener.listen()
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()
        case.addCleanup(self.stop)

    def url(self, path="/"):
        return f"{'wss' if self.tls else 'ws'}://127.0.0.1:{self.port}{path}"

    def serve(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            self.all.append(sock)
            try:
                self.welcome(sock)
            except (Gone, OSError, ssl.SSLError):
                sock.close()

    def refusal(self, first, headers):
        given = headers.get("authorization", "")
        if self.token and not given:
            return "401 Unauthorized"
        return "403 Forbidden" if self.token and given != f"Bearer {self.token}" else None

    def welcome(self, sock):
        if self.tls:
            sock = self.tls.wrap_socket(sock, server_side=True)
            self.all.append(sock)
        first, headers = read_head(sock)
        self.requests.put((first, headers))
        refusal = self.refusal(first, headers)
        if refusal:
            sock.sendall(f"HTTP/1.1 {refusal}\r\nContent-Length: 0\r\n\r\n".encode())
            sock.close()
            return
        sock.sendall(
            (
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                f"Sec-WebSocket-Accept: {accept_of(headers['sec-websocket-key'])}\r\n\r\n"
            ).encode()
        )
        connection = Connection(sock, (first, headers), False, self.answer)
        if self.connect_event:
            connection.send(lifecycle(self.self_id))
        self.connections.put(connection.begin())

    def connection(self):
        return self.connections.get(timeout=LIMIT)

    def stop(self):
        self.listener.close()
        for sock in self.all:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            sock.close()


def dial(case, port, headers=(), path="/", tls=None, answer=None):
    """Reverse: we connect to the bot. The status, and the connection where it is 101."""
    sock = socket.create_connection(("127.0.0.1", port))
    case.addCleanup(sock.close)
    if tls:
        sock = tls.wrap_socket(sock, server_hostname="localhost")
        case.addCleanup(sock.close)
    key = base64.b64encode(os.urandom(16)).decode()
    lines = [
        f"GET {path} HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Key: {key}",
        "Sec-WebSocket-Version: 13",
        *(f"{name}: {value}" for name, value in dict(headers).items()),
        "",
        "",
    ]
    sock.sendall("\r\n".join(lines).encode())
    first, found = read_head(sock)
    status = int(first.split()[1])
    if status != 101:
        sock.close()
        return status, None
    assert found["sec-websocket-accept"] == accept_of(key)
    return status, Connection(sock, (first, found), True, answer).begin()


def lifecycle(self_id=10001):
    return {
        "post_type": "meta_event",
        "meta_event_type": "lifecycle",
        "sub_type": "connect",
        "self_id": self_id,
        "time": 1,
    }


def heartbeat(interval, online=True, self_id=10001):
    return {
        "post_type": "meta_event",
        "meta_event_type": "heartbeat",
        "interval": interval,
        "status": {"online": online, "good": online},
        "self_id": self_id,
        "time": 1,
    }


def message(text, number, user=7, group=None, self_id=10001):
    event = {
        "post_type": "message",
        "message_type": "group" if group else "private",
        "sub_type": "friend",
        "time": 1,
        "self_id": self_id,
        "message_id": number,
        "user_id": user,
        "message": [{"type": "text", "data": {"text": text}}],
        "raw_message": text,
        "font": 0,
        "sender": {},
    }
    return {**event, "group_id": group} if group else event
