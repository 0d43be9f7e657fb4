# SPDX-License-Identifier: Apache-2.0
"""mortise chat --config with ws_url: a real bot, and a small OneBot v11 as its network."""
import json
import os
import queue
import re
import signal
import socket
import struct
import unittest

from bot_network_support import NetworkCase, closed_door
from bot_support import BIG
from onebot_server import CLOSE, PING, PONG, Server, frame, heartbeat, message
from support import LIMIT


class Forward(NetworkCase):
    def test_events_and_calls(self):
        server = Server(self)
        self.begin(ws_url=server.url("/onebot?x=1"))
        connection = server.connection()
        first, headers = connection.head
        self.assertEqual(first, "GET /onebot?x=1 HTTP/1.1")
        self.assertNotIn("authorization", headers)
        self.hears("connected: ws://127.0.0.1")
        connection.send(message("hello", 1), message("in a group", 2, group=BIG))
        calls = sorted((connection.call() for _ in range(2)), key=lambda call: call["echo"])
        self.assertEqual(
            calls[0],
            {
                "action": "send_private_msg",
                "params": {"user_id": 7, "message": [{"type": "text", "data": {"text": "hello"}}]},
                "echo": "a/1/1",
            },
        )
        self.assertEqual((calls[1]["action"], calls[1]["params"]["group_id"]), ("send_group_msg", BIG))
        told = self.end()
        self.assertEqual(connection.until_frame(CLOSE), struct.pack(">H", 1001) + b"the bot ends")
        self.assertNotIn("lost:", told)
        self.assertNotIn("x=1", told)  # a query may hold a token
        self.assertEqual(
            self.asked("a", "lifecycle"),
            ['{"startup": null}', '{"bot_connect": {"self_id": 10001}}', '{"shutdown": null}'],
        )

    def test_self_id_reaches_plugins(self):
        server = Server(self)
        self.begin(words=("--show-wire",), ws_url=server.url())
        self.echoes(server.connection(), "x")
        self.assertIn('"self_id":10001', self.hears('"method":"handle"'))
        self.end()

    def test_token(self):
        server = Server(self, token="right")
        self.begin(ws_url=server.url(), access_token="right")
        self.echoes(server.connection(), "x")
        self.assertNotIn("right", self.end())

    def test_wrong_token(self):
        for given, code in ({"access_token": "wrong"}, 403), ({}, 401):
            server = Server(self, token="right")
            self.begin(ws_url=server.url(), **given)
            self.assertIn(
                f"it refuses the access token (HTTP {code}); trying again in about 1 s",
                self.hears("disconnected: "),
            )
            server.token = given.get("access_token")  # the mistake is found, and mended at the other side
            self.echoes(server.connection(), "x")
            self.end()

    def test_server_comes_later(self):
        door = closed_door(self)
        self.begin(ws_url=f"ws://127.0.0.1:{door.getsockname()[1]}")
        self.hears("Connection refused; trying again in about 1 s")
        server = Server(self, door=door)
        self.echoes(server.connection(), "x")
        self.end()

    def test_no_such_host(self):
        self.begin(ws_url="ws://no-such-host.invalid")
        self.hears("disconnected: ws://no-such-host.invalid:80/: no-such-host.invalid: ")
        self.end()

    def test_no_websocket(self):
        """A web server, something else, a handshake that never ends."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        self.begin(ws_url=f"ws://127.0.0.1:{listener.getsockname()[1]}")
        for answer, part in (
            (b"HTTP/1.1 200 OK\r\n\r\n", "it answers as a web server, not as a WebSocket (HTTP 200)"),
            (b"220 mail.example.org ESMTP\r\n\r\n", "its answer is not HTTP"),
            (b"x" * 20000, "its handshake is too long"),
            (b"HTTP/1.1 101 OK\r\n", "the connection was closed during the handshake"),
        ):
            sock, _ = listener.accept()
            sock.recv(65536)
            try:
                sock.sendall(answer)
                sock.shutdown(socket.SHUT_WR)
            except OSError:  # it has seen enough
                pass
            self.hears(part)
            sock.close()
        self.end()

    def test_stdio_all_the_same(self):
        bot = self.bot(self.stage("a", answer={"reply": "@"}))
        bot.write_text(bot.read_text() + '[bot]\nws_url = "ws://127.0.0.1:1"\n')
        done = self.chat(bot, {"text": "x"}, words=("--stdio",))
        self.assertEqual([row["echo"] for row in done.rows], ["a/1"])

    def test_unknown_keys_warn(self):
        server = Server(self)
        self.begin(ws_url=server.url(), name="my bot", admins=1)
        self.hears("bot.admins is not known and ignored")
        self.end()


class Reconnect(NetworkCase):
    def test_a_server_that_is_killed_comes_back(self):
        """Events before, between and after: none is lost, none handled twice."""
        server = Server(self)
        self.begin(ws_url=server.url())
        first = server.connection()
        self.echoes(first, "1", "2")
        first.cut()
        self.hears("disconnected: ")
        second = server.connection()
        second.send(message("2", 2), message("1", 1), message("3", 3))  # what it is not sure of, it sends again
        self.assertEqual(second.texts(1), ["3"])
        self.end()
        self.assertEqual(self.asked("a", "handle"), ["1", "2", "3"])
        self.assertEqual(self.asked("a", "lifecycle").count('{"bot_connect": {"self_id": 10001}}'), 2)

    def test_events_under_way_are_finished(self):
        """A plugin has an event, others wait, when the connection is cut: the answers go out over
        the next one."""
        gate = self.gate()
        server = Server(self)
        self.begin(
            self.stage("a", gate=["1", str(gate)], answer={"reply": "@"}),
            ws_url=server.url(),
        )
        first = server.connection()
        first.send(*(message(str(number), number) for number in range(1, 6)))
        self.wait_for(lambda: self.asked("a", "handle"))
        first.cut()
        second = server.connection()
        gate.open()
        self.assertEqual(second.texts(5), ["1", "2", "3", "4", "5"])
        self.end()

    def test_many_events_right_before_the_end(self):
        """All that was written before the cut is handled, though it is read after it."""
        server = Server(self)
        self.begin(ws_url=server.url())
        first = server.connection()
        first.send(*(message(str(number), number) for number in range(1, 1001)))
        first.sock.shutdown(socket.SHUT_WR)
        self.hears("disconnected: ")
        server.connection().send(message("last", 2000))
        self.wait_for(lambda: len(self.asked("a", "handle")) == 1001)
        self.end()
        self.assertEqual(self.asked("a", "handle"), [*map(str, range(1, 1001)), "last"])

    def test_close_is_told_with_its_reason(self):
        server = Server(self)
        self.begin(ws_url=server.url())
        connection = server.connection()
        connection.raw(frame(CLOSE, struct.pack(">H", 1001) + "update".encode()))
        self.hears("it closed the connection (1001 going away: update); trying again in about 1 s")
        self.echoes(server.connection(), "x")
        self.end()

    def test_backoff_grows_and_begins_anew(self):
        """With a server that only refuses the tries come later and later; one that works sets that back."""
        server = Server(self, token="t")
        self.begin(ws_url=server.url())
        told = [self.hears("disconnected: ") for _ in range(3)]
        waits = [int(re.search(r"about (\d+) s", line).group(1)) for line in told]
        self.assertLessEqual(waits[0], 1)
        self.assertIn(waits[2], (2, 3, 4))
        server.token = None
        connection = server.connection()
        self.echoes(connection, "x")
        connection.cut()
        self.assertRegex(self.hears("disconnected: "), r"about [01] s")
        self.end()


class Alive(NetworkCase):
    def test_heartbeats_that_stop(self):
        """Three intervals of silence are the end, though the WebSocket itself answers all the while."""
        server = Server(self)
        self.begin(ws_url=server.url(), ping="300s")
        first = server.connection()
        first.send(heartbeat(300))
        while first.raw_if_open(frame(PING, b"x")) and first.until_frame(PONG) is not None:
            pass
        self.hears("no heartbeat for 900 ms; trying again in about")
        server.connection()
        self.end()

    def test_heartbeats_that_go_on(self):
        server = Server(self)
        self.begin(ws_url=server.url())
        connection = server.connection()
        for number in range(1, 20):
            connection.send(heartbeat(20000))
            self.echoes(connection, str(number), first=number)
        self.end()
        self.assertTrue(server.connections.empty())

    def test_offline_is_told_once(self):
        server = Server(self)
        self.begin(ws_url=server.url())
        connection = server.connection()
        connection.send(*[heartbeat(60000, online=False)] * 3, heartbeat(60000))
        self.hears("the account is not in the chat network")
        self.hears("the account is again in the chat network")
        self.assertEqual(self.end().count("the account is not"), 1)

    def test_pings_that_nobody_answers(self):
        server = Server(self)
        self.begin(ws_url=server.url(), ping="100ms")
        connection = server.connection()
        connection.pongs = False
        self.hears("no sign of life for ")
        server.connection()
        self.end()

    def test_pings_of_theirs_are_answered(self):
        server = Server(self)
        self.begin(ws_url=server.url())
        connection = server.connection()
        connection.raw(frame(PING, b"are you there"))
        self.assertEqual(connection.until_frame(PONG), b"are you there")
        self.end()


class Results(NetworkCase):
    """What becomes of calls."""

    def test_refused_by_the_network(self):
        server = Server(
            self, answer=lambda call: {"status": "failed", "retcode": 100, "wording": "no such group"}
        )
        self.begin(ws_url=server.url())
        server.connection().send(message("x", 1, group=5))
        self.assertIn(
            "refused: event 1: stage (a): send_group_msg to 5: no such group", self.hears("refused: ")
        )
        self.end()

    def test_no_answer(self):
        server = Server(self, answer=lambda call: None)
        self.begin(ws_url=server.url(), api_timeout="200ms")
        server.connection().send(message("x", 1))
        self.hears(
            "timeout: event 1: stage (a): send_private_msg to 7: no answer in 200 ms (api_timeout in the bot's file sets the limit)"
        )
        self.end()

    def test_lost_with_the_connection(self):
        """It is not sent again: whether it was done nobody knows."""
        server = Server(self, answer=lambda call: None)
        self.begin(ws_url=server.url())
        connection = server.connection()
        connection.send(message("x", 1))
        self.assertEqual(connection.texts(1), ["x"])
        connection.cut()
        self.hears("lost: event 1: stage (a): send_private_msg to 7: the connection was lost before the answer")
        server.answer = None
        self.echoes(server.connection(), "y", first=2)
        self.end()

    def test_not_sent(self):
        """There is nobody to take it for as long as it may take."""
        gate = self.gate()
        server = Server(self)
        self.begin(
            self.stage("a", gate=["x", str(gate)], answer={"reply": "@"}),
            ws_url=server.url(),
            api_timeout="100ms",
        )
        connection = server.connection()
        connection.send(message("x", 1))
        self.wait_for(lambda: self.asked("a", "handle"))
        server.stop()
        self.hears("disconnected: ")
        gate.open()
        self.hears(
            "lost: event 1: stage (a): send_private_msg to 7: not sent: for 100 ms there was no connection that accepts calls"
        )
        self.end()

    def test_told_to_the_plugin_that_acted(self):
        """Only to one whose metadata asks for it; the others see nothing but what the specification has."""

        def answer(call):
            if call["params"].get("group_id"):
                return {"status": "failed", "retcode": 1404, "msg": "gone"}
            return {"status": "ok", "retcode": 0, "data": {"message_id": BIG}}

        actions = [
            {"type": "image", "url": "https://example.org/x.png"},
            {"type": "send", "target_type": "group", "target_id": 9, "message": "m"},
        ]
        metadata = {"metadata": {"name": "told", "description": "", "version": "1", "results": True}}
        server = Server(self, answer=answer)
        self.begin(
            self.stage("a", answers=metadata, answer={"reply": "r", "actions": actions}),
            self.stage("b", answer={"reply": "b"}),
            ws_url=server.url(),
        )
        server.connection().send(message("x", 1))
        self.wait_for(lambda: sum("action_result" in line for line in self.asked("a", "lifecycle")) == 3)
        told = [
            json.loads(line)["action_result"]
            for line in self.asked("a", "lifecycle")
            if "action_result" in line
        ]
        self.assertEqual(
            sorted(told, key=lambda one: -1 if one["index"] is None else one["index"]),
            [
                {
                    "target_type": "private",
                    "target_id": 7,
                    "index": None,
                    "status": "ok",
                    "retcode": 0,
                    "message": None,
                    "data": {"message_id": BIG},
                },
                {
                    "target_type": "private",
                    "target_id": 7,
                    "index": 0,
                    "status": "ok",
                    "retcode": 0,
                    "message": None,
                    "data": {"message_id": BIG},
                },
                {
                    "target_type": "group",
                    "target_id": 9,
                    "index": 1,
                    "status": "failed",
                    "retcode": 1404,
                    "message": "gone",
                    "data": None,
                },
            ],
        )
        self.end()
        self.assertNotIn("action_result", " ".join(self.asked("b")))

    def test_one_after_the_other_to_the_same_target(self):
        """A network that works on calls at once cannot turn them round; those to others do not wait."""
        held, order = [], queue.Queue()

        def answer(call):
            order.put(call)
            held.append(call["echo"])

        actions = [
            {"type": "image", "url": "u"},
            {"type": "send", "target_type": "group", "target_id": 9, "message": "elsewhere"},
        ]
        server = Server(self, answer=answer)
        self.begin(self.stage("a", answer={"reply": "first", "actions": actions}), ws_url=server.url())
        connection = server.connection()
        connection.send(message("x", 1))
        got = [order.get(timeout=LIMIT) for _ in range(2)]
        self.assertEqual([call["action"] for call in got], ["send_private_msg", "send_group_msg"])
        connection.send({"status": "ok", "retcode": 0, "echo": held[0]})
        self.assertEqual(order.get(timeout=LIMIT)["params"]["message"][0]["type"], "image")
        connection.send(*({"status": "ok", "retcode": 0, "echo": echo} for echo in held[1:]))
        self.assertNotIn("lost", self.end())

    def test_answers_to_nothing(self):
        server = Server(self)
        self.begin(words=("-v",), ws_url=server.url())
        connection = server.connection()
        for echo in ("a/1/1", "a/1/99999999999999999999", "/", "", None, 7, {"x": 1}):
            connection.send({"status": "ok", "retcode": 0, "echo": echo})
        self.echoes(connection, "x")
        connection.send({"status": "ok", "retcode": 0, "echo": "a/1/1"})  # twice
        self.echoes(connection, "y", first=2)
        self.end()

    def test_json(self):
        server = Server(self, answer=lambda call: {"status": "failed", "retcode": 1})
        self.begin(words=("--json",), ws_url=server.url())
        server.connection().send(message("x", 1))
        told = json.loads(self.hears('"refused"'))
        self.assertEqual((told["plugin"], told["line"]), ("a", 1))
        self.end()


class Ends(NetworkCase):
    def test_politely(self):
        """What a plugin has under way is answered and sent; its result is waited for."""
        for number in (signal.SIGINT, signal.SIGTERM):
            gate, server = self.gate(), Server(self)
            self.begin(
                self.stage("a", gate=["slow", str(gate)], answer={"reply": "@"}),
                words=("--set", "stop.bye=900s", "--set", "stop.term=1000s", "-v"),
                ws_url=server.url(),
            )
            connection = server.connection()
            seen = len(self.asked("a", "handle")) if (self.dir / "a.log").exists() else 0
            connection.send(message("slow", 1))
            self.wait_for(lambda: len(self.asked("a", "handle")) > seen)
            self.process.send_signal(number)
            self.hears("-> draining")
            gate.open()
            told = self.end(number, send=False)
            self.assertEqual(connection.texts(1), ["slow"])
            self.assertNotIn("lost", told)
            self.assertIsNotNone(connection.until_frame(CLOSE))

    def test_a_network_that_says_nothing_any_more(self):
        """Two seconds each for answers and for the good-bye, then it ends."""
        server = Server(self, answer=lambda call: None)
        self.begin(ws_url=server.url())
        connection = server.connection()
        connection.send(message("x", 1))
        self.assertEqual(connection.texts(1), ["x"])
        self.assertIn("lost: 1 calls had no answer when the bot ended", self.end())

    def test_while_it_is_not_connected(self):
        self.begin(ws_url=f"ws://127.0.0.1:{closed_door(self).getsockname()[1]}")
        self.hears("disconnected: ")
        self.end()

    def test_twice(self):
        server = Server(self, answer=lambda call: None)
        self.begin(
            self.stage("a", slow=["slow", 1000, "handle"]),
            words=("--set", "stop.bye=900s", "--set", "stop.term=1000s", "-v"),
            ws_url=server.url(),
        )
        server.connection().send(message("slow", 1))
        self.wait_for(lambda: self.asked("a", "handle"))
        self.process.send_signal(signal.SIGTERM)
        self.hears("-> draining")
        self.end()

    def test_terminal_hangs_up(self):
        server = Server(self)
        bot = self.bot(self.stage("a"))
        bot.write_text(bot.read_text() + f'[bot]\nws_url = "{server.url()}"\n')
        process, ours = self.start_on_terminal(bot)
        server.connection()
        self.until(process.stderr, "connected: ")
        os.close(ours)
        process.stderr.read()
        self.assertEqual(process.wait(LIMIT), 128 + signal.SIGHUP)


class Changes(NetworkCase):
    """The file of a bot that is connected."""

    def rewrite(self, *plugins):
        """Only the plugins: [bot] stays."""
        path = self.dir / "bot.toml"
        text = self.bot_text(*plugins) + "[bot]\n" + path.read_text().split("[bot]\n")[1]
        (self.dir / "new").write_text(text)
        os.rename(self.dir / "new", path)

    def test_plugins_come_and_go_under_traffic(self):
        """Events go on all the while; each is handled exactly once, by the old one or the new one."""
        server = Server(self)
        self.begin(self.stage("a", answer={"reply": "@"}), ws_url=server.url())
        connection = server.connection()
        for number in range(1, 301):
            connection.send(message(str(number), number))
            if number % 60 == 0:
                self.rewrite(self.stage("a", answer={"reply": "@", "handled": number > 0, "version": number}))
                self.hears("replaces ")
        self.assertEqual(connection.texts(300), [str(number) for number in range(1, 301)])
        self.assertEqual(self.asked("a", "handle"), [str(number) for number in range(1, 301)])
        self.end()
        self.assertTrue(server.connections.empty())  # the connection stayed

    def test_enable_and_disable(self):
        server = Server(self)
        a, b = self.stage("a", answer={"reply": "a"}), self.stage("b", answer={"reply": "b"})
        self.begin(a, (*b, "enabled = false"), ws_url=server.url())
        connection = server.connection()
        connection.send(message("x", 1))
        self.assertEqual(connection.texts(1), ["a"])
        self.rewrite((*a, "enabled = false"), b)
        self.hears("starts b; ends stage (a); 0 unchanged")
        self.hears("is ready")
        connection.send(message("x", 2))
        self.assertEqual(connection.texts(1), ["b"])
        self.end()
        self.assertIn('{"bot_connect": {"self_id": 10001}}', self.asked("b", "lifecycle"))

    def test_connection_settings_wait(self):
        server = Server(self)
        self.begin(ws_url=server.url())
        connection = server.connection()
        path = self.dir / "bot.toml"
        path.write_text(path.read_text() + 'access_token = "new"\n')
        self.hears("[bot] has changed: start the bot again to use it")
        self.echoes(connection, "x")
        self.end()


if __name__ == "__main__":
    unittest.main()
