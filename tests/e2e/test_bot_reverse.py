# SPDX-License-Identifier: Apache-2.0
"""mortise chat --config with listen, and with TLS: networks that come to the bot, and whom it trusts."""
import socket
import ssl
import struct
import subprocess
import unittest

from bot_network_support import NetworkCase
from onebot_server import CLOSE, Server, dial, lifecycle, message
from support import LIMIT


class Reverse(NetworkCase):
    def listen(self, *plugins, url="ws://127.0.0.1:{}/onebot/v11/ws", **network):
        self.port = self.begin_listening(*plugins, url=url, **network)

    def dial(self, headers=None, path="/onebot/v11/ws", **how):
        return dial(
            self,
            self.port,
            {"X-Self-ID": "10001", "X-Client-Role": "Universal"} if headers is None else headers,
            path,
            **how,
        )

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
        """Each is answered over its own connection, not the newest one."""
        self.listen()
        _, one = self.dial({"X-Self-ID": "1", "X-Client-Role": "Universal"})
        _, two = self.dial({"X-Self-ID": "2", "X-Client-Role": "Universal"})
        for number in range(1, 6):
            one.send(message(f"one {number}", number, self_id=1))
            two.send(
                message(f"two {number}", number, self_id=2)
            )  # the same ids, and no duplicates: another account
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
        for headers, path, status in (
            (who, "", 401),
            ({**who, "Authorization": "Bearer s_e%cx"}, "", 403),
            ({**who, "Authorization": "Bearer s_e%"}, "", 403),
            ({**who, "Authorization": "Basic s_e%c"}, "", 401),
            (who, "?access_token=", 403),
            (who, "?xaccess_token=s_e%25c", 401),
        ):
            self.assertEqual(self.dial(headers, "/onebot/v11/ws" + path)[0], status, (headers, path))
        self.hears("refused: 127.0.0.1 port ")
        self.assertNotIn("s_e%c", self.end())

    def test_paths_and_origins(self):
        self.listen()
        for path, status in (
            ("/onebot/v11/ws", 101),
            ("/onebot/v11/ws/", 101),
            ("/onebot/v11/ws/api", 101),
            ("/onebot/v11/wsx", 404),
            ("/", 404),
        ):
            self.assertEqual(self.dial(path=path)[0], status, path)
        self.assertEqual(
            self.dial({"Origin": "https://evil.example"})[0], 403
        )  # a web page in somebody's browser
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
        """localhost is two addresses: a client of either is let in."""
        self.listen(url="ws://localhost:{}")
        port = self.port
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
        """Any client could play the chat network: that is told, and not with a token."""
        self.listen(url="ws://0.0.0.0:{}/")
        self.hears("warning: other machines can reach ws://0.0.0.0")
        self.end()
        self.listen(url="ws://0.0.0.0:{}/", access_token="x")
        self.assertNotIn("other machines", self.end())

    def test_crowds(self):
        """Many at the door that say nothing, and one that does; those who refuse to speak HTTP do not
        fill the log."""
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
    signer = "authorityKeyIdentifier=keyid\n"
    extensions.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n" + signer)
    other = directory / "other-names"
    other.write_text("subjectAltName=DNS:elsewhere.example\n" + signer)

    def request(name, end, subject, *more):
        key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout".split()
        openssl("req", *key, f"{name}.key", "-out", f"{name}.{end}", "-subj", f"/CN={subject}", *more)

    own = "-x509", "-days", "2"
    # Python 3.13 wants to read what an authority may do, and who signed.
    request("ca", "pem", "test authority", *own, "-addext", "keyUsage=critical,keyCertSign,cRLSign")
    for name, names in (("good", "names"), ("wrong", "other-names")):
        request(name, "csr", name)
        signed = f"-req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out {name}.pem -days 2"
        openssl("x509", *signed.split(), "-extfile", names)
    request("self", "pem", "localhost", *own, "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1")


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
        for network, part in (
            (
                {"ws_url": "wss://localhost", "ca_file": "none.pem"},
                "none.pem: no certificates can be read from it: No such file or directory",
            ),
            ({"ws_url": "wss://localhost", "ca_file": "names"}, "names: no certificates can be read from it"),
            (
                {"listen": "wss://127.0.0.1:1", "cert_file": "good.pem", "key_file": "self.key"},
                "it is not the key of",
            ),
        ):
            self.begin(**network)
            self.hears(part)
            self.assertEqual(self.process.wait(LIMIT), 3)

    def test_reverse(self):
        port = self.begin_listening(url="wss://127.0.0.1:{}", cert_file="good.pem", key_file="good.key")
        status, connection = dial(
            self, port, {"X-Self-ID": "10001"}, tls=ssl.create_default_context(cafile=self.dir / "ca.pem")
        )
        self.assertEqual(status, 101)
        self.echoes(connection, "x")
        self.end()


if __name__ == "__main__":
    unittest.main()
