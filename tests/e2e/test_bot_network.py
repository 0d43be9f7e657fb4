# SPDX-License-Identifier: Apache-2.0
"""mortise chat --config with ws_url or listen: a real bot, and a small OneBot v11 as its network."""
import fcntl
import json
import os
import pty
import queue
import re
import signal
import socket
import ssl
import struct
import subprocess
import termios
import threading
import unittest

from bot_support import BIG, BotCase
from onebot_server import CLOSE, PING, Server, TEXT, dial, frame, heartbeat, lifecycle, message
from support import LIMIT, MORTISE


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return sock.getsockname()[1]


class NetworkCase(BotCase):
    def begin(self, *plugins, words=(), **network):
        """A bot with this [bot]; plugins default to one that answers with what it hears."""
        text = self.bot_text(*(plugins or (self.stage("a", answer={"reply": "@"}),)))
        text += "[bot]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in network.items())
        self.process = self.start(self.file("bot.toml", text), *words)
        self.process.stdin.close()
        self.lines = queue.Queue()
        reader = threading.Thread(target=self.follow, args=(self.process.stderr, self.lines), daemon=True)
        reader.start()
        self.addCleanup(reader.join, LIMIT)
        self.addCleanup(self.process.kill)
        self.told = []

    @staticmethod
    def follow(stream, lines):
        for line in stream:
            lines.put(line)
        lines.put(None)  # into its own queue: a later bot of the same test has another one

    def hears(self, part):
        """The next line on stderr that has this; those before it are in self.told."""
        while True:
            line = self.lines.get(timeout=LIMIT)
            self.assertIsNotNone(line, f"ended before it said {part!r}: {''.join(self.told)}")
            self.told.append(line)
            if part in line:
                return line

    def end(self, number=signal.SIGTERM):
        """Politely; all that it told."""
        self.process.send_signal(number)
        self.assertEqual(self.process.wait(LIMIT), 128 + number)
        while True:
            line = self.lines.get(timeout=LIMIT)
            if line is None:
                break
            self.told.append(line)
        self.assertNotIn("Sanitizer", "".join(self.told))
        return "".join(self.told)

    def echoes(self, connection, *texts, first=1):
        """The bot answers these, in order: it is well."""
        connection.send(*(message(text, first + number) for number, text in enumerate(texts)))
        self.assertEqual(connection.texts(len(texts)), list(texts))


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
        self.assertEqual(calls[0], {"action": "send_private_msg", "params": {"user_id": 7, "message": [{"type": "text", "data": {"text": "hello"}}]},
                                    "echo": "a/1/1"})
        self.assertEqual((calls[1]["action"], calls[1]["params"]["group_id"]), ("send_group_msg", BIG))
        told = self.end()
        self.assertEqual(connection.until_frame(CLOSE), struct.pack(">H", 1001) + b"the bot ends")
        self.assertNotIn("lost:", told)
        self.assertNotIn("x=1", told)  # a query may hold a token
        self.assertEqual(self.asked("a", "lifecycle"), ['{"startup": null}', '{"bot_connect": {"self_id": 10001}}', '{"shutdown": null}'])

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
            self.assertIn(f"it refuses the access token (HTTP {code}); another try in about 1 s", self.hears("disconnected: "))
            server.token = given.get("access_token")  # the mistake is found, and mended at the other side
            self.echoes(server.connection(), "x")
            self.end()

    def test_server_comes_later(self):
        port = free_port()
        self.begin(ws_url=f"ws://127.0.0.1:{port}")
        self.hears("Connection refused; another try in about 1 s")
        server = Server(self, port=port)
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
        for answer, part in ((b"HTTP/1.1 200 OK\r\n\r\n", "it answers as a web server, not as a WebSocket (HTTP 200)"),
                             (b"220 mail.example.org ESMTP\r\n\r\n", "its answer is no HTTP"), (b"x" * 20000, "its handshake is too long"),
                             (b"HTTP/1.1 101 OK\r\n", "the connection was closed during the handshake")):
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
        """A plugin has an event, others wait, when the connection is cut: the answers go out over the next one."""
        gate = self.gate()
        server = Server(self)
        self.begin(self.stage("a", "timeout = { matches = \"30s\" }", gate=["1", str(gate)], answer={"reply": "@"}), ws_url=server.url())
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
        self.hears("it closed the connection (1001 going away: update); another try in about 1 s")
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
        """Three intervals of silence are the end, though the WebSocket itself answers."""
        server = Server(self)
        self.begin(ws_url=server.url(), ping="1s")
        first = server.connection()
        first.send(heartbeat(1000))
        self.hears("no heartbeat for 3 s; another try in about")
        self.assertIsNotNone(first.until_frame(PING))
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
        self.assertEqual(connection.until_frame(10), b"are you there")
        self.end()


class Results(NetworkCase):
    """What becomes of calls."""

    def test_refused_by_the_network(self):
        server = Server(self, answer=lambda call: {"status": "failed", "retcode": 100, "wording": "no such group"})
        self.begin(ws_url=server.url())
        server.connection().send(message("x", 1, group=5))
        self.assertIn("refused: event 1: stage (a): send_group_msg to 5: no such group", self.hears("refused: "))
        self.end()

    def test_no_answer(self):
        server = Server(self, answer=lambda call: None)
        self.begin(ws_url=server.url(), api_timeout="200ms")
        server.connection().send(message("x", 1))
        self.hears("timeout: event 1: stage (a): send_private_msg to 7: no answer in 200 ms (api_timeout in the bot's file gives it longer)")
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
        self.begin(self.stage("a", gate=["x", str(gate)], answer={"reply": "@"}), ws_url=server.url(), api_timeout="100ms")
        connection = server.connection()
        connection.send(message("x", 1))
        self.wait_for(lambda: self.asked("a", "handle"))
        server.stop()
        self.hears("disconnected: ")
        gate.open()
        self.hears("lost: event 1: stage (a): send_private_msg to 7: not sent: for 100 ms there was no connection that takes calls")
        self.end()

    def test_told_to_the_plugin_that_acted(self):
        """Only to one whose metadata asks for it; the others see nothing but what the specification has."""
        def answer(call):
            if call["params"].get("group_id"):
                return {"status": "failed", "retcode": 1404, "msg": "gone"}
            return {"status": "ok", "retcode": 0, "data": {"message_id": BIG}}
        actions = [{"type": "image", "url": "https://example.org/x.png"}, {"type": "send", "target_type": "group", "target_id": 9, "message": "m"}]
        metadata = {"metadata": {"name": "told", "description": "", "version": "1", "results": True}}
        server = Server(self, answer=answer)
        self.begin(self.stage("a", answers=metadata, answer={"reply": "r", "actions": actions}), self.stage("b", answer={"reply": "b"}), ws_url=server.url())
        server.connection().send(message("x", 1))
        self.wait_for(lambda: sum("action_result" in line for line in self.asked("a", "lifecycle")) == 3)
        told = [json.loads(line)["action_result"] for line in self.asked("a", "lifecycle") if "action_result" in line]
        self.assertEqual(sorted(told, key=lambda one: -1 if one["index"] is None else one["index"]), [
            {"target_type": "private", "target_id": 7, "index": None, "status": "ok", "retcode": 0, "message": None, "data": {"message_id": BIG}},
            {"target_type": "private", "target_id": 7, "index": 0, "status": "ok", "retcode": 0, "message": None, "data": {"message_id": BIG}},
            {"target_type": "group", "target_id": 9, "index": 1, "status": "failed", "retcode": 1404, "message": "gone", "data": None}])
        self.end()
        self.assertNotIn("action_result", " ".join(self.asked("b")))

    def test_one_after_the_other_to_the_same_target(self):
        """A network that works on calls at once cannot turn them round; those to others do not wait."""
        held, order = [], queue.Queue()

        def answer(call):
            order.put(call)
            held.append(call["echo"])
        actions = [{"type": "image", "url": "u"}, {"type": "send", "target_type": "group", "target_id": 9, "message": "elsewhere"}]
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


class Reverse(NetworkCase):
    def listen(self, *plugins, **network):
        self.port = free_port()
        scheme = "wss" if "cert_file" in network else "ws"
        self.begin(*plugins, **{"listen": f"{scheme}://127.0.0.1:{self.port}/onebot/v11/ws", **network})
        self.hears("listening: ")

    def dial(self, headers=None, path="/onebot/v11/ws", **how):
        return dial(self, self.port, {"X-Self-ID": "10001", "X-Client-Role": "Universal"} if headers is None else headers, path, **how)

    def test_universal(self):
        self.listen()
        status, connection = self.dial()
        self.assertEqual(status, 101)
        self.assertIn("(10001)", self.hears("connected: 127.0.0.1 port "))
        connection.send(lifecycle())
        self.echoes(connection, "x", "y")
        self.end()
        self.assertEqual(connection.until_frame(CLOSE)[:2], struct.pack(">H", 1001))

    def test_event_and_api(self):
        """Two connections: what comes over one is answered over the other."""
        self.listen()
        _, events = self.dial({"X-Self-ID": "10001", "X-Client-Role": "Event"}, "/onebot/v11/ws/event")
        self.hears("for events")
        events.send(message("early", 1))
        self.wait_for(lambda: self.asked("a", "handle"))
        _, calls = self.dial({"X-Self-ID": "10001", "x-client-role": "api"}, "/onebot/v11/ws/api")
        self.assertEqual(calls.texts(1), ["early"])
        events.send(message("x", 2))
        self.assertEqual(calls.texts(1), ["x"])
        self.assertTrue(events.calls.empty())
        self.end()

    def test_two_accounts(self):
        """Each is answered over its own connection, whoever came last."""
        self.listen()
        _, one = self.dial({"X-Self-ID": "1", "X-Client-Role": "Universal"})
        _, two = self.dial({"X-Self-ID": "2", "X-Client-Role": "Universal"})
        for number in range(1, 6):
            one.send(message(f"one {number}", number, self_id=1))
            two.send(message(f"two {number}", number, self_id=2))  # the same ids, and no duplicates: another account
        self.assertEqual(one.texts(5), [f"one {number}" for number in range(1, 6)])
        self.assertEqual(two.texts(5), [f"two {number}" for number in range(1, 6)])
        self.end()

    def test_the_same_account_twice(self):
        """The newest takes the calls; an event that both bring is handled once."""
        self.listen()
        _, old = self.dial()
        _, new = self.dial()
        for connection in (old, new):
            connection.send(message("x", 1))
        new.send(message("y", 2))
        self.assertEqual(new.texts(2), ["x", "y"])
        new.cut()
        self.hears("disconnected: ")
        old.send(message("z", 3))
        self.assertEqual(old.texts(1), ["z"])
        self.end()
        self.assertEqual(self.asked("a", "handle"), ["x", "y", "z"])

    def test_token(self):
        self.listen(access_token="s e%c".replace(" ", "_"))
        who = {"X-Self-ID": "1"}
        self.assertEqual(self.dial({**who, "Authorization": "Bearer s_e%c"})[0], 101)
        self.assertEqual(self.dial({**who, "Authorization": "Token s_e%c"})[0], 101)  # older implementations
        self.assertEqual(self.dial(who, "/onebot/v11/ws?a=b&access_token=s_e%25c")[0], 101)
        for headers, path, status in ((who, "", 401), ({**who, "Authorization": "Bearer s_e%cx"}, "", 403), ({**who, "Authorization": "Bearer s_e%"}, "", 403),
                                      ({**who, "Authorization": "Basic s_e%c"}, "", 401), (who, "?access_token=", 403), (who, "?xaccess_token=s_e%25c", 401)):
            self.assertEqual(self.dial(headers, "/onebot/v11/ws" + path)[0], status, (headers, path))
        self.hears("refused: 127.0.0.1 port ")
        self.assertNotIn("s_e%c", self.end())

    def test_paths_and_origins(self):
        self.listen()
        for path, status in (("/onebot/v11/ws", 101), ("/onebot/v11/ws/", 101), ("/onebot/v11/ws/api", 101), ("/onebot/v11/wsx", 404), ("/", 404)):
            self.assertEqual(self.dial(path=path)[0], status, path)
        self.assertEqual(self.dial({"Origin": "https://evil.example"})[0], 403)  # a web page in somebody's browser
        self.end()

    def test_it_comes_back(self):
        self.listen()
        for number in range(1, 4):
            _, connection = self.dial()
            connection.send(message("again", 1))  # known after the first time
            self.echoes(connection, f"x{number}" if number > 1 else "again", first=number if number > 1 else 1)
            connection.cut()
            self.hears("disconnected: ")
        self.end()
        self.assertEqual(self.asked("a", "handle"), ["again", "x2", "x3"])

    def test_by_name(self):
        """localhost is two addresses: whoever comes to either is let in."""
        self.listen(listen=f"ws://localhost:{free_port()}")
        port = int(self.told[-1].rsplit(":", 1)[1].strip().strip("/"))
        for host in {found[4][0] for found in socket.getaddrinfo("localhost", port, type=socket.SOCK_STREAM)}:
            socket.create_connection((host, port)).close()
        self.assertEqual(dial(self, port, {})[0], 101)
        self.end()

    def test_port_taken(self):
        with socket.create_server(("127.0.0.1", 0)) as sock:
            self.begin(listen=f"ws://127.0.0.1:{sock.getsockname()[1]}")
            self.assertEqual(self.process.wait(LIMIT), 1)
            self.hears("Address already in use")

    def test_open_to_the_world(self):
        """Whoever comes could play the chat network: that is told, and not with a token."""
        self.listen(listen=f"ws://0.0.0.0:{free_port()}/")
        self.hears("warning: others than this machine can reach ws://0.0.0.0")
        self.end()
        self.listen(listen=f"ws://0.0.0.0:{free_port()}/", access_token="x")
        self.assertNotIn("others than this machine", self.end())

    def test_crowds(self):
        """Many at the door that say nothing, and one that does; those who refuse to speak HTTP do not fill the log."""
        self.listen()
        idle = [socket.create_connection(("127.0.0.1", self.port)) for _ in range(12)]
        for sock in idle:
            self.addCleanup(sock.close)
        for _ in range(100):
            with socket.create_connection(("127.0.0.1", self.port)) as sock:
                sock.sendall(b"rubbish\r\n\r\n")
                self.assertIn(b"400", sock.recv(100))
        self.echoes(self.dial()[1], "x")
        self.assertLess(self.end().count("refused: "), 10)


def make_certificates(directory):
    """An authority, a certificate for localhost and 127.0.0.1 by it, and one that nobody has signed."""
    def openssl(*words):
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=directory)
    extensions = directory / "names"
    extensions.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    other = directory / "other-names"
    other.write_text("subjectAltName=DNS:elsewhere.example\n")
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=test authority")
    for name, names in (("good", "names"), ("wrong", "other-names")):
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", f"{name}.pem", "-days", "2", "-extfile", names)
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "self.key", "-out", "self.pem", "-days", "2", "-subj", "/CN=localhost",
            "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1")


class Tls(NetworkCase):
    def setUp(self):
        super().setUp()
        make_certificates(self.dir)

    def server(self, name):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.dir / f"{name}.pem", self.dir / f"{name}.key")
        return Server(self, tls=context)

    def test_good(self):
        """By address and by name; much in both directions."""
        for host in ("127.0.0.1", "localhost"):
            server = self.server("good")
            self.begin(ws_url=server.url().replace("127.0.0.1", host), ca_file="ca.pem")
            connection = server.connection()
            self.echoes(connection, "x" * 300000, "y")
            self.end()

    def refused(self, name, part, **network):
        server = self.server(name)
        self.begin(ws_url=server.url(), **network)
        self.assertIn(part, self.hears("disconnected: "))
        self.assertTrue(server.requests.empty())  # not even the request, which has the token, was sent
        self.end()

    def test_not_trusted(self):
        self.refused("good", "its certificate is not trusted: unable to get local issuer certificate")
        self.refused("self", "its certificate is not trusted: self-signed certificate")
        self.refused("self", "its certificate is not trusted: self-signed certificate", ca_file="ca.pem")
        self.refused("wrong", "its certificate is not trusted: IP address mismatch", ca_file="ca.pem")

    def test_self_signed_and_named(self):
        server = self.server("self")
        self.begin(ws_url=server.url(), ca_file="self.pem")
        self.echoes(server.connection(), "x")
        self.end()

    def test_wrong_name(self):
        server = self.server("wrong")
        self.begin(ws_url=server.url().replace("127.0.0.1", "localhost"), ca_file="ca.pem")
        self.hears("its certificate is not trusted: hostname mismatch")
        self.end()

    def test_no_tls_there(self):
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        self.begin(ws_url=f"wss://127.0.0.1:{listener.getsockname()[1]}", ca_file="ca.pem")
        sock, _ = listener.accept()
        self.addCleanup(sock.close)
        sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        self.assertIn("TLS: wrong version number", self.hears("disconnected: "))
        self.end()

    def test_reconnect(self):
        server = self.server("good")
        self.begin(ws_url=server.url(), ca_file="ca.pem")
        connection = server.connection()
        self.echoes(connection, "x")
        connection.cut()
        self.hears("disconnected: ")
        self.echoes(server.connection(), "y", first=2)
        self.end()

    def test_files_that_are_none(self):
        for network, part in (({"ws_url": "wss://localhost", "ca_file": "none.pem"}, "none.pem: no certificates can be read from it: No such file or directory"),
                              ({"ws_url": "wss://localhost", "ca_file": "names"}, "names: no certificates can be read from it"),
                              ({"listen": "wss://127.0.0.1:1", "cert_file": "good.pem", "key_file": "self.key"}, "it is not the key of")):
            self.begin(**network)
            self.hears(part)
            self.assertEqual(self.process.wait(LIMIT), 3)

    def test_reverse(self):
        port = free_port()
        self.begin(listen=f"wss://127.0.0.1:{port}", cert_file="good.pem", key_file="good.key")
        self.hears("listening: wss://")
        status, connection = dial(self, port, {"X-Self-ID": "10001"}, tls=ssl.create_default_context(cafile=self.dir / "ca.pem"))
        self.assertEqual(status, 101)
        self.echoes(connection, "x")
        self.end()


class Hostile(NetworkCase):
    """A network that keeps no rule: the bot goes on, over this connection or the next."""

    def memory(self):
        """The most it has had, in KiB."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return int(re.search(r"VmHWM:\s+(\d+)", status.read()).group(1))

    def meets(self, *data, part="disconnected: ", after=True):
        server = Server(self)
        self.begin(ws_url=server.url())
        connection = server.connection()
        for one in data:
            try:
                connection.raw(one)
            except OSError:  # it has closed already
                pass
        told = self.hears(part)
        if after:
            connection = server.connection()
        self.echoes(connection, "still there")
        self.end()
        return told

    def test_frames(self):
        for data, status in ((frame(TEXT, b"x", rsv=4), 1002), (frame(3, b"x"), 1002), (frame(0, b"x"), 1002), (frame(TEXT, b"\xff\xfe"), 1007),
                             (frame(TEXT, b"x", mask=True), 1002), (frame(PING, b"x" * 126), 1002), (b"\x81\x7f" + b"\x7f" + b"\xff" * 7 + b"x", 1009)):
            self.assertIn(f"({status} ", self.meets(data))

    def test_too_long(self):
        """One byte more than may be, in one frame and in many; the limit itself is fine."""
        event = json.dumps(message("@", 1)).encode()
        padded = event[:-1] + b" " * ((16 << 20) - len(event)) + event[-1:]
        self.assertIn("(1009 too long a message)", self.meets(frame(TEXT, padded + b" ")))
        pieces = frame(TEXT, padded, final=False) + frame(0, b" ", final=False) + frame(0, b"")
        self.assertIn("(1009 ", self.meets(pieces))
        server = Server(self)
        self.begin(ws_url=server.url())
        connection = server.connection()
        connection.raw(frame(TEXT, padded))
        self.assertEqual(connection.texts(1), ["@"])
        self.end()

    def test_fragments(self):
        """In single bytes, pings between, empty ones among them: a message all the same."""
        event = json.dumps(message("in pieces", 1)).encode()
        server = Server(self)
        self.begin(ws_url=server.url())
        connection = server.connection()
        data = frame(TEXT, event[:1], final=False)
        for byte in event[1:]:
            data += frame(0, bytes([byte]), final=False) + frame(PING, b"p") + frame(0, b"", final=False)
        connection.raw(data + frame(0, b""))
        self.assertEqual(connection.texts(1), ["in pieces"])
        self.end()

    def test_a_message_in_a_million_frames(self):
        """4 MiB in frames of one byte: the memory of the bot does not swell."""
        server = Server(self)
        self.begin(ws_url=server.url())
        connection = server.connection()
        before = self.memory()
        event = json.dumps(message("x", 1)).encode()
        padding = (frame(0, b" ", final=False)) * (1 << 16)
        connection.raw(frame(TEXT, event[:-1], final=False))
        for _ in range(64):
            connection.raw(padding)
        connection.raw(frame(0, event[-1:]))
        self.assertEqual(connection.texts(1), ["x"])
        self.assertLess(self.memory() - before, 150_000)
        self.end()

    def test_binary(self):
        self.assertIn("a binary message of 3 bytes", self.meets(frame(2, b"abc"), part="input: ", after=False))

    def test_rubbish(self):
        """Told a few times, then the connection is closed."""
        told = self.meets(*[frame(TEXT, b"{broken")] * 200)
        self.assertIn("what it sends is no OneBot", told)
        self.assertEqual("".join(self.told).count("input: "), 7)  # 1st, 2nd, 4th ... 64th

    def test_events_that_are_none(self):
        server = Server(self)
        self.begin(ws_url=server.url())
        connection = server.connection()
        connection.send({"text": "/short"}, "[]", "null", '"x"', "{}", {"post_type": "message"}, {"post_type": 7}, {"post_type": "message", "message_type": "group", "user_id": 1},
                        {**message("x", 1), "user_id": "abc"}, {**message("x", 1), "message": {}}, heartbeat("soon"), heartbeat(-5), heartbeat(10**30),
                        {"post_type": "meta_event", "meta_event_type": "lifecycle", "sub_type": "connect", "self_id": "x"}, "[" * 5000 + "]" * 5000)
        self.echoes(connection, "fine")
        told = self.end()
        self.assertIn("it has no post_type", told)
        self.assertEqual(self.asked("a", "handle"), ["fine"])

    def test_flood_of_events(self):
        """Far more than plugins can do, as fast as it goes: the bot reads no faster than it can, and each is handled."""
        server = Server(self)
        self.begin(self.stage("a"), ws_url=server.url(), ping="60s")
        connection = server.connection()
        padding = "x" * 2000
        for begin in range(0, 6000, 500):
            connection.send(*(message(f"{number} {padding}", number + 1) for number in range(begin, begin + 500)))
        self.wait_for(lambda: len(self.asked("a", "handle")) == 6000)
        self.assertEqual([text.split()[0] for text in self.asked("a", "handle")], [str(number) for number in range(6000)])
        self.assertNotIn("overloaded", self.end())

    def test_flood_of_pings(self):
        """From one who reads none of the answers: they are not piled up."""
        server = Server(self)
        self.begin(ws_url=server.url(), ping="200ms")
        connection = server.connection()
        before = self.memory()
        connection.exactly = lambda count: threading.Event().wait()  # reads no more
        threading.Thread(target=self.push, args=(connection, frame(PING, b"x" * 125) * 1000), daemon=True).start()
        self.hears("it has taken nothing for ")
        self.assertLess(self.memory() - before, 150_000)
        server.connection()
        self.end()

    def push(self, connection, data):
        try:
            while True:
                connection.sock.sendall(data)
        except OSError:
            pass

    def test_slow(self):
        """A byte at a time."""
        server = Server(self)
        self.begin(ws_url=server.url())
        connection = server.connection()
        for byte in frame(TEXT, json.dumps(message("slow", 1)).encode()):
            connection.raw(bytes([byte]))
        self.assertEqual(connection.texts(1), ["slow"])
        self.end()

    def test_a_network_that_takes_no_calls(self):
        """Up to a bound they wait; then events wait, and nothing is lost while it is only slow."""
        gate = threading.Event()

        def answer(call):
            gate.wait(LIMIT)
            return {"status": "ok", "retcode": 0}
        server = Server(self, answer=answer)
        self.begin(self.stage("a", answer={"reply": "@" + "x" * 20000}), ws_url=server.url())
        connection = server.connection()
        connection.send(*(message(str(number), number, user=number) for number in range(1, 201)))
        self.hears("calls wait for the chat network: no event is taken until it has caught up")
        self.assertLess(len(self.asked("a", "handle")), 100)
        gate.set()
        self.assertEqual(len([connection.call() for _ in range(200)]), 200)
        self.assertNotIn("lost", self.end())


class Ends(NetworkCase):
    def test_politely(self):
        """What a plugin has under way is answered and sent; its result is waited for."""
        for number in (signal.SIGINT, signal.SIGTERM):
            server = Server(self)
            self.begin(self.stage("a", slow=["slow", 1, "handle"], answer={"reply": "@"}), ws_url=server.url())
            connection = server.connection()
            seen = len(self.asked("a", "handle")) if (self.dir / "a.log").exists() else 0
            connection.send(message("slow", 1))
            self.wait_for(lambda: len(self.asked("a", "handle")) > seen)
            told = self.end(number)
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
        self.begin(ws_url="ws://127.0.0.1:1")
        self.hears("disconnected: ")
        self.end()

    def test_twice(self):
        server = Server(self, answer=lambda call: None)
        self.begin(self.stage("a", slow=["slow", 1000, "handle"]), words=("--set", "stop.bye=900s", "--set", "stop.term=1000s", "-v"), ws_url=server.url())
        server.connection().send(message("slow", 1))
        self.wait_for(lambda: self.asked("a", "handle"))
        self.process.send_signal(signal.SIGTERM)
        self.hears("-> draining")
        self.end()

    def test_terminal_hangs_up(self):
        server = Server(self)
        bot = self.bot(self.stage("a"))
        bot.write_text(bot.read_text() + f'[bot]\nws_url = "{server.url()}"\n')
        ours, theirs = pty.openpty()
        process = subprocess.Popen([MORTISE, "chat", "--config", bot], stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, env=self.env,
                                   start_new_session=True, text=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.addCleanup(process.stderr.close)
        os.close(theirs)
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
        self.hears("[bot] has changed, which takes effect when the bot is started again")
        self.echoes(connection, "x")
        self.end()


if __name__ == "__main__":
    unittest.main()
