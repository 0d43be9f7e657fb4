# SPDX-License-Identifier: Apache-2.0
"""What clients and a PostgreSQL say to each other: how long the messages are."""
import pathlib
import shutil
import socket
import struct
import tempfile
import threading


class Relay:
    """Between clients and a server, on unix sockets: knows where messages end (PostgreSQL's protocol 3.0)."""

    def __init__(self, server_dir, name=".s.PGSQL.5432"):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="mortise-relay-"))
        self.target, self.longest, self.count = str(server_dir / name), 0, 0
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.dir / name))
        self.listener.listen(64)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            target = socket.socket(socket.AF_UNIX)
            target.connect(self.target)
            for source, sink, begun in ((client, target, False), (target, client, True)):
                threading.Thread(target=self.carry, args=(source, sink, begun), daemon=True).start()

    def carry(self, source, sink, begun):
        """`begun`: its first message has a type, as all others have."""
        data = b""
        while piece := self.receive(source):
            data += piece
            head = 5 if begun else 4
            while len(data) >= head:
                size = struct.unpack("!I", data[head - 4 : head])[0] + head - 4
                if len(data) < size:
                    break
                self.longest, self.count = max(self.longest, size), self.count + 1
                data, begun, head = data[size:], True, 5
            sink.sendall(piece)
        try:
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    @staticmethod
    def receive(source):
        try:
            return source.recv(65536)
        except OSError:
            return b""

    def close(self):
        self.listener.close()
        shutil.rmtree(self.dir)
