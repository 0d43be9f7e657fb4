# SPDX-License-Identifier: Apache-2.0
"""Pings, health, cancellation and shutdown while a function of the author runs. The function waits at a gate,
so that an answer that needs its end never comes."""
import os
import signal
import unittest

from wire import WAIT_S, Gated, Puppet


class Busy(Gated):
    def open_gate(self):
        os.write(self.held, b"x")

    def begin(self, p, dialect):
        """A call that is held; its id."""
        if dialect == "yams":
            p.result("plugin.init", {})
        if dialect == "gassist":
            request = p.send("execute", {"function": "hold", "arguments": {"gate": self.gate}})
        else:
            request = p.send("hold", {"gate": self.gate})
        p.await_stderr("holding")
        return request

    def test_ping(self):
        with Puppet("gassist") as p:
            request = self.begin(p, "gassist")
            for stamp in range(5):
                self.assertEqual(p.result("ping", {"timestamp": stamp}), {"timestamp": stamp})
            self.open_gate()
            self.assertEqual(p.receive()["params"]["request_id"], request)
            self.assertEqual(p.result("ping", {"timestamp": 9}), {"timestamp": 9})

    def test_health(self):
        with Puppet("yams") as p:
            request = self.begin(p, "yams")
            self.assertTrue(p.result("plugin.health")["busy"])
            self.open_gate()
            self.assertEqual(p.receive()["id"], request)
            self.assertFalse(p.result("plugin.health")["busy"])

    def test_the_rest_waits_in_order(self):
        with Puppet("gassist") as p:
            first = self.begin(p, "gassist")
            later = [p.send("execute", {"function": "greet", "arguments": {"name": str(i)}}) for i in range(20)]
            self.assertEqual(p.result("ping", {"timestamp": 1}), {"timestamp": 1})
            p.send("nothing")
            self.open_gate()
            got = [p.receive()["params"]["request_id"] for _ in range(21)]
            self.assertEqual(got, [first, *later])
            self.assertEqual(p.receive()["error"]["code"], -32601)

    def test_input_is_acknowledged_once(self):
        with Puppet("gassist") as p:
            self.begin(p, "gassist")
            self.assertEqual(p.result("input", {"content": "x"}), {"acknowledged": True})
            self.open_gate()
            self.assertEqual(p.receive()["method"], "complete")
            self.assertEqual(p.receive()["method"], "error")
            self.assertEqual(p.end(), [])

    def test_cancel_request(self):
        with Puppet("plain") as p:
            request = self.begin(p, "plain")
            p.send("$/cancelRequest", {"id": 77}, note=True)
            p.send("$/cancelRequest", {"id": request}, note=True)
            self.assertEqual(p.receive(), {"jsonrpc": "2.0", "id": request, "result": "cancelled"})

    def test_shutdown_cancels(self):
        for dialect, method, params in [
            ("gassist", "shutdown", {}),
            ("yams", "plugin.shutdown", None),
        ]:
            with self.subTest(dialect=dialect), Puppet(dialect) as p:
                request = self.begin(p, dialect)
                stop = p.send(method, params)
                done = p.receive()
                self.assertEqual(done.get("id", done.get("params", {}).get("request_id")), request)
                self.assertEqual(p.receive()["id"], stop)
                p.end()
                self.assertEqual(p.status, 0)
                self.assertEqual(p.stderr[-1], "on_stop puppet")

    def test_term_cancels(self):
        with Puppet("plain") as p:
            self.begin(p, "plain")
            p.process.send_signal(signal.SIGTERM)
            self.assertEqual(p.receive()["result"], "cancelled")
            self.assertEqual(p.process.wait(WAIT_S), 0)
            p.listener.join()
            self.assertEqual(p.stderr[-1], "on_stop puppet")

    def test_the_end_of_stdin_cancels_nothing(self):
        with Puppet("plain") as p:
            self.begin(p, "plain")
            p.process.stdin.close()
            self.open_gate()
            self.assertEqual(p.receive()["result"], "held")
            self.assertIsNone(p.receive())
            self.assertEqual(p.process.wait(WAIT_S), 0)

    def test_a_host_that_has_gone_cancels(self):
        with Puppet("plain") as p:
            self.begin(p, "plain")
            p.process.stdout.close()
            p.process.stdin.close()
            self.assertEqual(p.process.wait(WAIT_S), 0)
            p.listener.join()
            self.assertEqual(p.stderr[-1], "on_stop puppet")

    def test_stuck(self):
        with Puppet("plain") as p:
            p.send("stuck")
            p.await_stderr("stuck")
            p.process.send_signal(signal.SIGTERM)
            self.assertEqual(p.process.wait(WAIT_S), 0)
            p.listener.join()
            self.assertNotIn("on_stop puppet", p.stderr)
            self.assertIn("2000 ms", p.stderr[-1])


if __name__ == "__main__":
    unittest.main()
