#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""While the author's code runs: pings, health, acknowledgements, cancellation, and the end of everything.

A command is held at a gate, a file that the test makes. What the plugin must say meanwhile is waited for."""
import os
import signal
import subprocess
import unittest

from support import LIMIT, Case, environment

HELD = """
    import os, sys, time
    from tenon import Plugin

    plugin = Plugin("held", "1.0.0", "For tests")
    state = []

    @plugin.on_start
    def start():
        state.append("started")

    @plugin.on_stop
    def stop():
        print("stopped " + " ".join(state), file=sys.stderr)

    @plugin.command
    def busy(call):
        "Never gives the processor away by itself."
        print("running", file=sys.stderr, flush=True)
        while not os.path.exists("gate") and not call.cancelled:
            sum(range(100))
        return "cancelled" if call.cancelled else "through"

    @plugin.command
    def asleep(call):
        "Blocks in the kernel."
        while not os.path.exists("gate") and not call.cancelled:
            time.sleep(0.01)
        return "cancelled" if call.cancelled else "through"

    @plugin.command
    def stubborn():
        "Does not look at call.cancelled."
        while not os.path.exists("gate"):
            time.sleep(0.01)
        return "through"

    @plugin.command
    def quick(n: int = 0):
        return str(n)

    @plugin.command
    def ask():
        answer = yield "Well?"
        while not os.path.exists("gate"):
            time.sleep(0.01)
        return answer

    @plugin.extractor(extensions=[".x"])
    def extract(path, call):
        return asleep(call)

    plugin.run()
"""


class Guard(Case):
    def open_gate(self):
        (self.dir / "gate").touch()

    def execute(self, host, name, ident=10, **arguments):
        params = {"function": name, "arguments": arguments}
        host.send({"jsonrpc": "2.0", "id": ident, "method": "execute", "params": params})

    def ping(self, host, ident):
        host.send({"jsonrpc": "2.0", "id": ident, "method": "ping", "params": {"timestamp": ident * 1.5}})

    def pong(self, host, ident):
        answer = {"jsonrpc": "2.0", "id": ident, "result": {"timestamp": ident * 1.5}}
        self.assertEqual(host.receive(), answer)

    def test_pings_while_a_command_runs(self):
        for name in ("busy", "asleep"):
            with self.subTest(name=name):
                host = self.plugin(HELD, "gassist")
                host.greet()
                self.execute(host, name)
                for ident in range(20, 25):
                    self.ping(host, ident)
                    self.pong(host, ident)
                self.open_gate()
                self.assertEqual(host.receive()["params"]["data"], "through")
                (self.dir / "gate").unlink()
                host.close()
                self.assertEqual(host.returncode, 0)

    def test_a_ping_that_came_with_the_command(self):
        host = self.plugin(HELD, "gassist")
        host.greet()
        bodies = (
            b'{"id":1,"method":"execute","params":{"function":"asleep"}}',
            b'{"id":2,"method":"execute","params":{"function":"quick"}}',
            b'{"id":3,"method":"ping"}',
        )
        os.write(host.process.stdin.fileno(), b"".join(len(b).to_bytes(4, "big") + b for b in bodies))
        self.assertEqual(host.receive(), {"jsonrpc": "2.0", "id": 3, "result": {}})
        self.open_gate()
        self.assertEqual([host.receive()["params"]["request_id"] for _ in range(2)], [1, 2])

    def test_the_rest_stays_in_order(self):
        host = self.plugin(HELD, "gassist")
        host.greet()
        self.execute(host, "asleep")
        for ident in range(11, 40):
            self.execute(host, "quick", ident, n=ident)
        self.ping(host, 99)
        self.pong(host, 99)
        self.open_gate()
        self.assertEqual(host.receive()["params"]["data"], "through")
        self.assertEqual(
            [host.receive()["params"]["data"] for _ in range(11, 40)], [str(i) for i in range(11, 40)]
        )
        self.execute(host, "quick", 50, n=50)
        self.assertEqual(host.receive()["params"]["data"], "50")

    def test_short_calls_after_long_ones(self):
        host = self.plugin(HELD, "gassist")
        host.greet()
        for turn in range(3):
            self.execute(host, "asleep", 100 + turn)
            self.ping(host, 200 + turn)
            self.pong(host, 200 + turn)
            self.open_gate()
            self.assertEqual(host.receive()["params"]["data"], "through")
            (self.dir / "gate").unlink()
            for n in range(20):
                self.assertEqual(host.call("quick", n=n), str(n))

    def test_an_input_is_acknowledged_at_once(self):
        host = self.plugin(HELD, "gassist")
        self.assertEqual(host.call("ask"), "Well?")
        for ident in (30, 31):
            host.send({"jsonrpc": "2.0", "id": ident, "method": "input", "params": {"content": str(ident)}})
            self.assertEqual(host.receive(), {"jsonrpc": "2.0", "id": ident, "result": {"acknowledged": True}})
        self.open_gate()
        self.assertEqual(host.receive()["params"]["data"], "30")
        self.assertEqual(host.receive()["method"], "error")  # the second found no conversation

    def test_health_while_extracting(self):
        host = self.plugin(HELD, "yams")
        host.greet()
        source = {"source": {"type": "bytes", "data": ""}}
        host.send({"jsonrpc": "2.0", "id": 10, "method": "extractor.extract", "params": source})
        host.send({"jsonrpc": "2.0", "id": 11, "method": "plugin.health"})
        self.assertEqual(
            host.receive(), {"jsonrpc": "2.0", "id": 11, "result": {"status": "ok", "started": True}}
        )
        self.open_gate()
        self.assertEqual(host.receive()["result"]["content"], "through")

    def test_one_call_is_cancelled(self):
        host = self.plugin(HELD, "gassist")
        host.greet()
        self.execute(host, "busy", 10)
        self.execute(host, "asleep", 11)
        self.ping(host, 1)
        self.pong(host, 1)
        for ident in (11, 10, 99):
            host.notify("$/cancelRequest", {"id": ident})
        ends = [host.receive()["params"] for _ in range(2)]
        self.assertEqual(
            [(end["request_id"], end["data"]) for end in ends], [(10, "cancelled"), (11, "cancelled")]
        )
        self.assertEqual(host.call("quick", n=5), "5")  # and it goes on

    # ---- the end

    def test_shutdown_cancels(self):
        host = self.plugin(HELD, "gassist")
        host.greet()
        self.execute(host, "busy")
        host.notify("shutdown")
        self.assertEqual(host.receive()["params"]["data"], "cancelled")
        self.assertEqual(host.process.wait(LIMIT), 0)
        self.assertIn("stopped started", host.stderr)

    def test_shutdown_of_one_that_does_not_listen(self):
        host = self.plugin(HELD, "gassist")
        host.greet()
        self.execute(host, "stubborn")
        host.notify("shutdown")
        self.assertEqual(host.process.wait(LIMIT), 0)
        self.assertNotIn("stopped", host.stderr)  # its state is in use

    def test_yams_goes_on_after_shutdown(self):
        host = self.plugin(HELD, "yams")
        host.greet()
        source = {"source": {"type": "bytes", "data": ""}}
        host.send({"jsonrpc": "2.0", "id": 10, "method": "extractor.extract", "params": source})
        host.send({"jsonrpc": "2.0", "id": 11, "method": "plugin.shutdown"})
        self.assertEqual(host.receive()["result"]["content"], "cancelled")
        self.assertEqual(host.receive(), {"jsonrpc": "2.0", "id": 11, "result": None})
        self.fails(-32003, host.request, "quick")
        self.assertEqual(host.request("plugin.init", {"config": {}})["status"], "initialized")
        self.assertEqual(host.request("quick"), "0")
        host.close()
        self.assertEqual(host.returncode, 0)

    def test_sigterm_while_idle(self):
        host = self.plugin(HELD, "gassist")
        host.call("quick")
        host.process.send_signal(signal.SIGTERM)
        self.assertEqual(host.process.wait(LIMIT), 0)
        self.assertIn("stopped started", host.stderr)

    def test_sigterm_while_busy(self):
        for name in ("busy", "asleep"):
            host = self.plugin(HELD, "gassist")
            host.greet()
            self.execute(host, name)
            self.ping(host, 1)
            self.pong(host, 1)
            host.process.send_signal(signal.SIGTERM)
            self.assertEqual(host.receive()["params"]["data"], "cancelled")
            self.assertEqual(host.process.wait(LIMIT), 0)
            self.assertIn("stopped started", host.stderr)

    def test_end_of_stdin_cancels_nothing(self):
        frame = b'{"id":1,"method":"execute","params":{"function":"%s"}}'
        bodies = [frame % b"asleep", frame % b"quick"]
        self.open_gate()
        data = b"".join(len(body).to_bytes(4, "big") + body for body in bodies)
        done = subprocess.run(
            ["/usr/bin/python3", str(self.write(HELD))],
            input=data,
            capture_output=True,
            env=environment(),
            cwd=self.dir,
            timeout=LIMIT,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b'"data":"through"', done.stdout)
        self.assertIn(b'"data":"0"', done.stdout)

    def test_a_host_that_is_gone(self):
        host = self.plugin(HELD, "gassist")
        host.greet()
        self.execute(host, "busy")
        self.ping(host, 1)
        self.pong(host, 1)
        host.process.stdin.close()
        host.process.stdout.close()
        self.assertEqual(host.process.wait(LIMIT), 0)
        self.assertIn("stopped started", host.stderr)
        host.returncode = 0

    def test_nobody_reads_the_answer(self):
        host = self.plugin(HELD, "gassist")
        host.greet()
        host.process.stdout.close()
        self.execute(host, "quick")
        self.assertEqual(host.process.wait(LIMIT), 0)
        self.assertNotIn("Traceback", host.stderr)
        host.returncode = 0


if __name__ == "__main__":
    unittest.main()
