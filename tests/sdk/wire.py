# SPDX-License-Identifier: Apache-2.0
"""A plugin as a real process, and the four framings, seen from the host's side."""
import os
import re
import select
import signal
import subprocess
import time

LIMIT = 300  # seconds: only to end what hangs


class Framing:
    """encode(body) gives a frame; take(buffer) gives (body, rest), or None while the frame is incomplete."""

    @staticmethod
    def lines_encode(body):
        return body + b"\n"

    @staticmethod
    def lines_take(buffer):
        line, newline, rest = buffer.partition(b"\n")
        return (line, rest) if newline else None

    @staticmethod
    def be32_encode(body):
        return len(body).to_bytes(4, "big") + body

    @staticmethod
    def be32_take(buffer):
        size = 4 + int.from_bytes(buffer[:4], "big")
        return (buffer[4:size], buffer[size:]) if len(buffer) >= max(4, size) else None

    @staticmethod
    def decimal_encode(body):
        return b"%d\n" % len(body) + body

    @staticmethod
    def decimal_take(buffer):
        digits, newline, rest = buffer.partition(b"\n")
        if not newline or len(rest) < int(digits):
            return None
        return rest[: int(digits)], rest[int(digits) :]

    @staticmethod
    def headers_encode(body):
        return b"Content-Length: %d\r\n\r\n" % len(body) + body

    @staticmethod
    def headers_take(buffer):
        head, end, rest = buffer.partition(b"\r\n\r\n")
        found = re.search(rb"(?im)^content-length:\s*(\d+)\s*$", head)
        if not end or not found or len(rest) < int(found.group(1)):
            return None
        return rest[: int(found.group(1))], rest[int(found.group(1)) :]


def encode(framing, body):
    return getattr(Framing, framing + "_encode")(body)


def take(framing, buffer):
    return getattr(Framing, framing + "_take")(buffer)


class Gone(Exception):
    """stdout has ended."""


class Late(Exception):
    """Nothing came within the limit."""


class Plugin:
    """One process. Its stderr is kept in a file, to be shown when a test fails."""

    def __init__(self, command, framing, cwd, env=None):
        self.framing, self.buffer = framing, b""
        self.stderr_path = os.path.join(cwd, "stderr")
        with open(self.stderr_path, "ab") as stderr:
            self.process = subprocess.Popen(
                [str(word) for word in command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                cwd=cwd,
                env=env,
                bufsize=0,
            )

    def write(self, data, bytewise=False):
        """False: nobody reads any more."""
        try:
            for piece in [data[i : i + 1] for i in range(len(data))] if bytewise else [data]:
                view = memoryview(piece)
                while view:
                    view = view[self.process.stdin.write(view) :]
        except (BrokenPipeError, ValueError):
            return False
        return True

    def send(self, body, bytewise=False):
        return self.write(encode(self.framing, body), bytewise)

    def close(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass

    def fill(self, limit=LIMIT):
        """More bytes from stdout. Gone at its end."""
        if not select.select([self.process.stdout], [], [], limit)[0]:
            raise Late(f"nothing within {limit} s")
        data = os.read(self.process.stdout.fileno(), 1 << 16)
        if not data:
            raise Gone("stdout has ended" + (f" after {self.buffer!r}" if self.buffer else ""))
        self.buffer += data

    def receive(self, limit=LIMIT):
        """The next message's bytes."""
        end = time.monotonic() + limit
        while True:
            found = take(self.framing, self.buffer)
            if found:
                self.buffer = found[1]
                return found[0]
            self.fill(max(0.01, end - time.monotonic()))

    def rest(self):
        """Everything until stdout ends."""
        try:
            while True:
                self.fill()
        except Gone:
            data, self.buffer = self.buffer, b""
            return data

    def wait(self):
        """The exit status; negative: a signal."""
        return self.process.wait(LIMIT)

    def kill(self, number=signal.SIGKILL):
        if self.process.poll() is None:
            self.process.send_signal(number)

    def stderr(self):
        with open(self.stderr_path, "rb") as file:
            return file.read().decode(errors="replace")

    def end(self):
        """Leaves nothing behind."""
        self.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream:
                try:
                    stream.close()
                except BrokenPipeError:
                    pass
