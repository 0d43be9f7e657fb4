# SPDX-License-Identifier: Apache-2.0
"""src/remote/grpc against gRPC's own library, as python3-grpcio has it: a server in this process, on a unix
socket. GRPC_CALLER names the program that calls (caller.c)."""
import concurrent.futures
import os
import subprocess
import tempfile
import threading
import unittest

try:
    import grpc
except ImportError:
    grpc = None

CALLER = os.environ["GRPC_CALLER"]
LIMIT = 300  # seconds: only to end a test that hangs
BIG = 64 * 1024 * 1024 - 1024


class Handlers:
    """The service t.T: messages are bytes."""

    def __init__(self):
        self.gone = threading.Event()  # the client has left a call
        self.waits = threading.Event()  # a call has come
        self.timeouts = []

    def echo(self, message, context):
        self.timeouts.append(context.time_remaining())
        return message

    def metadata(self, _message, context):
        return repr(sorted(context.invocation_metadata())).encode()

    def fail(self, message, context):
        context.abort(grpc.StatusCode.FAILED_PRECONDITION, message.decode())

    def crash(self, _message, _context):
        raise ValueError("oops")

    def wait(self, _message, context):
        context.add_callback(self.gone.set)
        self.waits.set()
        self.gone.wait(LIMIT)
        return b"late"

    def length(self, message, _context):
        return str(len(message)).encode()

    def zeros(self, message, _context):
        return bytes(int(message))

    def squeeze(self, _message, context):
        context.set_compression(grpc.Compression.Gzip)
        return b"x" * 1000

    def count(self, message, _context):
        for i in range(int(message)):
            yield str(i).encode()

    def forever(self, _message, context):
        context.add_callback(self.gone.set)
        yield b"first"
        self.gone.wait(LIMIT)

    def chat(self, messages, _context):
        for message in messages:
            yield b"re: " + message

    def total(self, messages, _context):
        return str(sum(len(m) for m in messages)).encode()


def service(handlers):
    kinds = {
        grpc.unary_unary_rpc_method_handler: "echo metadata fail crash wait length zeros squeeze",
        grpc.unary_stream_rpc_method_handler: "count forever",
        grpc.stream_stream_rpc_method_handler: "chat",
        grpc.stream_unary_rpc_method_handler: "total",
    }
    rows = {name: kind(getattr(handlers, name)) for kind, names in kinds.items() for name in names.split()}
    return grpc.method_handlers_generic_handler("t.T", rows)


@unittest.skipUnless(grpc, "python3-grpcio is not installed")
class Real(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.socket = os.path.join(folder.name, "s")
        self.handlers = Handlers()
        self.pool = concurrent.futures.ThreadPoolExecutor(4)
        sizes = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
        self.server = grpc.server(self.pool, options=sizes)
        self.server.add_generic_rpc_handlers((service(self.handlers),))
        self.server.add_insecure_port("unix:" + self.socket)
        self.server.start()
        self.addCleanup(lambda: self.server.stop(None).wait())
        self.addCleanup(self.handlers.gone.set)

    def start(self, method, *words, timeout_ms=0):
        return subprocess.Popen(
            [CALLER, self.socket, "/t.T/" + method, str(timeout_ms), *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def call(self, method, *words, **more):
        """The lines of one call."""
        out, err = self.start(method, *words, **more).communicate(timeout=LIMIT)
        self.assertEqual(err, "")
        return out.splitlines()

    def test_unary(self):
        self.assertEqual(self.call("echo", "=hello", "."), ["message 5 hello", "end 0 OK OK "])
        self.assertEqual(self.call("echo", "=", "."), ["message 0 ", "end 0 OK OK "])

    def test_metadata(self):
        (line, end) = self.call("metadata", "=", ".")
        self.assertIn("user-agent", line)
        self.assertEqual(end, "end 0 OK OK ")

    def test_timeout_is_told(self):
        self.call("echo", "=", ".", timeout_ms=9_000_000)
        self.call("echo", "=", ".")
        told, none = self.handlers.timeouts
        self.assertTrue(8000 < told <= 9000, told)
        self.assertTrue(none is None or none > 10**9, none)  # how this library says "no limit"

    def test_error_text(self):
        self.assertEqual(
            self.call("fail", "=no such file: 你好, 100%", "."),
            ["end 9 FAILED_PRECONDITION EREMOTE FAILED_PRECONDITION: no such file: 你好, 100%"],
        )
        (end,) = self.call("crash", "=", ".")
        self.assertEqual(end, "end 2 UNKNOWN EREMOTE UNKNOWN: Exception calling application: oops")

    def test_unknown_method(self):
        (end,) = self.call("nosuch", "=", ".")
        self.assertEqual(end, "end 12 UNIMPLEMENTED EUNSUPPORTED UNIMPLEMENTED: Method not found!")

    def test_deadline(self):
        for timeout_ms in (50, 1000, 20_000):  # until it was long enough for the call to come there at all
            (end,) = self.call("wait", "=", ".", timeout_ms=timeout_ms)
            # Ours, or the server's own, whichever comes first.
            self.assertIn("end 4 DEADLINE_EXCEEDED ETIMEOUT ", end)
            if self.handlers.waits.is_set():
                break
        self.assertTrue(self.handlers.gone.wait(LIMIT))

    def test_cancel(self):
        lines = self.call("forever", "=", ".", "?", "!")
        self.assertEqual(lines, ["message 5 first", "end 1 CANCELLED ECANCELED call was cancelled"])
        self.assertTrue(self.handlers.gone.wait(LIMIT))

    def test_server_stream(self):
        lines = self.call("count", "=5000", ".")
        self.assertEqual(len(lines), 5001)
        self.assertEqual((lines[0], lines[-2], lines[-1]), ("message 1 0", "message 4 4999", "end 0 OK OK "))

    def test_both_ways(self):
        lines = self.call("chat", "=a", "?", "=b", "?", "=c", "?", ".")
        self.assertEqual(lines, [*(f"message 5 re: {c}" for c in "abc"), "end 0 OK OK "])

    def test_client_stream(self):
        self.assertEqual(
            self.call("total", "=abc", "~", "=", "*100000", "."), ["message 6 100003", "end 0 OK OK "]
        )

    def test_big(self):
        self.assertEqual(
            self.call("length", f"*{BIG}", "."), [f"message {len(str(BIG))} {BIG}", "end 0 OK OK "]
        )
        (message, end) = self.call("zeros", f"={BIG}", ".")
        self.assertTrue(message.startswith(f"message {BIG} "), message)
        self.assertEqual(end, "end 0 OK OK ")

    def test_too_big(self):
        (end,) = self.call("zeros", f"={BIG + 2048}", ".")
        self.assertIn(f"ELIMIT sent a message of {BIG + 2048} bytes; the limit is 67108864", end)

    def test_compressed(self):
        """We say that we take none, but gRPC's library does what its application says."""
        (end,) = self.call("squeeze", "=", ".")
        self.assertIn('EPROTO sent a compressed message (grpc-encoding "gzip"), though we said', end)

    def test_server_stops(self):
        process = self.start("forever", "=", ".")
        self.assertEqual(process.stdout.readline(), "message 5 first\n")
        self.server.stop(None)
        out, err = process.communicate(timeout=LIMIT)
        self.assertEqual(err, "")
        self.assertRegex(out, r"^end \d+ \w+ (ECLOSED|EREMOTE) ")


if __name__ == "__main__":
    unittest.main()
