# SPDX-License-Identifier: Apache-2.0
"""What the C SDK says in each dialect, frame by frame, from tests/sdk/c/puppet.c."""
import base64
import signal
import tempfile
import unittest

from wire import BE32, DECIMAL, HEADERS, LINES, WAIT_S, Puppet, enframe


def note(method, **params):
    return {"jsonrpc": "2.0", "method": method, "params": params}


def execute(function, **arguments):
    return {"function": function, "arguments": arguments}


def said(text, user=1, group=None):
    return {"message_type": "group" if group else "private", "user_id": user, "group_id": group, "text": text}


class Plain(unittest.TestCase):
    def test_every_framing_is_guessed(self):
        for framing in (LINES, HEADERS, BE32, DECIMAL):
            with self.subTest(framing=framing), Puppet("plain", framing) as p:
                self.assertEqual(p.result("greet", {"name": "Ada"}), "Hello, Ada.")
                self.assertEqual((p.end(), p.status), ([], 0))

    def test_fields(self):
        with Puppet("plain") as p:
            self.assertEqual(p.error("greet", {}), (-32602, "name: is missing"))
            self.assertEqual(p.error("greet", {"name": None}), (-32602, "name: is missing"))
            self.assertEqual(p.error("greet", {"name": 5}), (-32602, "name: a string is expected, not 5"))
            self.assertEqual(
                p.error("typed", {"whole": "six"}), (-32602, 'whole: an integer is expected, not "six"')
            )
            self.assertEqual(p.error("typed", {"whole": 1.5})[0], -32602)
            self.assertEqual(
                p.error("typed", {"unit": "kelvin"}),
                (-32602, 'unit: one of celsius, fahrenheit is expected, not "kelvin"'),
            )
            self.assertEqual(p.result("greet", ["Ada", True]), "Hello, Ada!")
            self.assertEqual(p.result("typed", {"list": [1, 2]})["list"], 2)
            self.assertEqual(p.result("typed")["whole"], 1)
            long = p.error("greet", {"name": ["ä" * 100]})[1]
            self.assertTrue(long.endswith("…") and len(long) < 90, long)

    def test_pieces(self):
        with Puppet("plain") as p:
            p.send("pieces", {"count": 1}, id="x")
            self.assertEqual(p.receive(), note("progress", request_id="x", fraction=0.1, text="piece 1"))
            self.assertEqual(p.receive(), note("stream", request_id="x", data="1 "))
            self.assertEqual(p.receive()["result"], "end")
            self.assertEqual(p.end(), [])
            self.assertIn("puppet: warning: that was all", p.stderr)

    def test_errors(self):
        with Puppet("plain") as p:
            self.assertEqual(p.error("fail"), (-32603, "the method failed without an answer"))
            chosen = p.ask("fail", {"code": 77})["error"]
            self.assertEqual(chosen, {"code": 77, "message": "chosen", "data": {"why": "asked"}})
            self.assertEqual(p.error("nothing"), (-32601, "Method not found: nothing"))
            self.assertEqual(p.error("travel"), (-32603, "plain: this dialect has no conversations"))

    def test_json_rpc(self):
        with Puppet("plain") as p:
            for identity in ("12345678901234567890123", "1.50", '"a\\u00e9"', "-0", "null"):
                p.send_bytes(b'{"jsonrpc":"2.0","id":%s,"method":"typed"}\n' % identity.encode())
                self.assertIn(b'"id":%s,' % identity.encode(), p.process.stdout.readline())
            p.send("greet", {"name": "x"}, note=True)
            p.send_bytes(
                b'[{"jsonrpc":"2.0","id":1,"method":"greet.raw"},{"jsonrpc":"2.0","method":"typed"},1]\n'
            )
            first, second = p.receive()
            self.assertEqual((first["id"], second["id"], second["error"]["code"]), (1, None, -32600))
            for line, code in [(b"[]", -32600), (b"{", -32700), (b"nonsense", -32700), (b"[" * 100000, -32700)]:
                p.send_bytes(line + b"\n")
                answer = p.receive()
                self.assertEqual((answer["id"], answer["error"]["code"]), (None, code), line[:20])
            p.send_bytes(b'{"jsonrpc":"2.0","id":9,"result":1}\n')
            self.assertEqual((p.end(), p.status), ([], 0))

    def test_life(self):
        with Puppet("plain") as p:
            p.result("typed")
            p.result("typed")
            self.assertEqual(p.end(), [])
            self.assertEqual(
                [line for line in p.stderr if line.startswith("on_")], ["on_start", "on_stop puppet"]
            )

    def test_what_was_asked_is_answered_after_the_end(self):
        with Puppet("plain") as p:
            for name in "abc":
                p.send("greet", {"name": name})
            self.assertEqual([answer["id"] for answer in p.end()], [1, 2, 3])


class Guess(unittest.TestCase):
    """Without MORTISE_DIALECT: the first bytes."""

    def test_dialects(self):
        for method, params, key in [
            ("handshake.manifest", None, "interfaces"),
            ("metadata", {}, "commands"),
            ("commands", None, "scaffold"),
        ]:
            with self.subTest(method=method), Puppet() as p:
                self.assertIn(key, p.result(method, params))
        with Puppet(framing=BE32) as p:
            self.assertEqual(p.result("ping", {"timestamp": 5}), {"timestamp": 5})
        with Puppet(framing=HEADERS) as p:
            params = {"command": "greet", "kind": "app", "args": ["Ada"], "workspace": "/w"}
            self.assertEqual(p.result("sunscreen.command/run", params)["summary"], "Hello, Ada.")
        with Puppet() as p:
            self.assertEqual(p.result("greet", {"name": "Ada"}), "Hello, Ada.")

    def test_a_header_in_any_case_and_in_pieces(self):
        with Puppet(framing=HEADERS) as p:
            body = enframe(HEADERS, b'{"jsonrpc":"2.0","id":1,"method":"greet","params":["x"]}')
            for byte in body.replace(b"Content-Length", b"content-LENGTH"):
                p.send_bytes(bytes([byte]))
            self.assertEqual(p.receive()["error"]["code"], -32601)


class Yams(unittest.TestCase):
    def init(self, p, **config):
        return p.ask("plugin.init", {"config": config})

    def test_life(self):
        with Puppet("yams") as p:
            manifest = p.result("handshake.manifest")
            self.assertEqual(manifest["interfaces"], ["content_extractor_v1"])
            self.assertEqual(manifest["capabilities"]["content_extraction"]["extensions"], [".txt"])
            early = p.ask("greet", {"name": "x"})["error"]
            self.assertEqual((early["code"], early["data"]["required_method"]), (-32003, "plugin.init"))
            self.assertEqual(p.ask("extractor.extract", {})["error"]["code"], -32003)
            self.assertFalse(p.result("plugin.health")["started"])
            self.assertEqual(
                self.init(p, refuse=True)["error"], {"code": -32603, "message": "refused as asked"}
            )
            answer = self.init(p, level=3)["result"]
            self.assertEqual(answer, {"status": "initialized", "config_applied": {"level": 3}})
            health = p.result("plugin.health")
            self.assertEqual((health["status"], health["started"], health["busy"]), ("ok", True, False))
            self.assertEqual(p.result("greet", {"name": "x"}), "Hello, x.")
            self.assertIsNone(p.result("plugin.shutdown"))
            self.assertEqual(p.error("greet", {"name": "x"})[0], -32003)
            self.init(p)
            p.end()
            self.assertEqual(p.stderr.count("on_stop puppet"), 2)

    def test_extract(self):
        with Puppet("yams") as p, tempfile.NamedTemporaryFile() as file:
            file.write(b"text")
            file.flush()
            self.init(p)
            for source in [
                {"type": "path", "path": file.name},
                {"type": "bytes", "data": base64.b64encode(b"text").decode()},
            ]:
                result = p.result("extractor.extract", {"source": source})
                self.assertEqual(result["content"], "4 bytes: text")
                self.assertEqual(result["text"], result["content"])
                self.assertEqual((result["success"], result["error"]), (True, None))
            for source, code, text in [
                (None, -32602, "source: an object is required"),
                ({"type": "x"}, -32602, 'source.type: must be "path" or "bytes"'),
                ({"type": "bytes", "data": "%"}, -32602, "source.data: is no base64 text"),
                ({"type": "path", "path": "/nowhere"}, -32000, "Extraction failed: No such file or directory"),
                ({"type": "path", "path": "/dev/null"}, -32000, "Extraction failed: not a regular file"),
                (
                    {"type": "bytes", "data": "QUFB" * 400},
                    -32000,
                    "Extraction failed: the data are larger than the limit",
                ),
            ]:
                self.assertEqual(p.error("extractor.extract", {"source": source}), (code, text))

    def test_supports(self):
        with Puppet("yams") as p:
            for params, sure in [
                ({"mime_type": "TEXT/plain"}, 1.0),
                ({"mime_type": "text/html", "extension": ".txt"}, 0.8),
                ({"mime_type": "text/html", "extension": ".html"}, 0.0),
                ({"mime_type": "", "extension": "txt"}, 0.8),
                ({"mime_type": "application/octet-stream", "extension": ".TXT"}, 0.8),
                ({"extension": ".c"}, 0.0),
            ]:
                result = p.result("extractor.supports", params)
                self.assertEqual((result["supported"], result["confidence"]), (sure > 0, sure), params)
            self.assertEqual(p.error("extractor.supports", {})[0], -32602)


class Gassist(unittest.TestCase):
    def test_functions(self):
        with Puppet("gassist") as p:
            hello = p.result("initialize", {"protocol_version": "2.0"})
            self.assertEqual((hello["name"], hello["protocol_version"]), ("puppet", "2.0"))
            self.assertIn({"name": "greet", "description": "Greets"}, hello["commands"])
            complete = note("complete", request_id=2, success=True, data="Hello, Ada.", keep_session=False)
            self.assertEqual(p.ask("execute", execute("greet", name="Ada")), complete)
            self.assertEqual(p.error("execute", execute("greet")), (-32602, "name: is missing"))
            self.assertEqual(p.error("execute", execute("x")), (-32601, "Method not found: x"))
            self.assertEqual(p.error("execute", {}), (-32602, "function: is missing"))
            failed = p.ask("execute", execute("fail"))["params"]
            self.assertEqual((failed["request_id"], failed["code"]), (6, -1))
            self.assertEqual(p.ask("execute", execute("fail", code=-3))["params"]["code"], -3)
            self.assertEqual(p.ask("execute", execute("object"))["params"]["data"], {"x": "value"})

    def test_pieces(self):
        with Puppet("gassist") as p:
            p.send("execute", execute("pieces", count=1))
            self.assertEqual(p.receive(), note("log", level="info", message="10 % piece 1"))
            self.assertEqual(p.receive(), note("stream", request_id=1, data="1 "))
            self.assertEqual(p.receive(), note("log", level="warning", message="that was all"))
            self.assertEqual(p.receive()["params"]["data"], "end")

    def test_conversation(self):
        with Puppet("gassist") as p:
            first = p.ask("execute", execute("travel"))["params"]
            self.assertEqual((first["data"], first["keep_session"]), ("Where to?", True))
            self.assertEqual(p.result("ping", {"timestamp": 1}), {"timestamp": 1})
            self.assertEqual(p.result("input", {"content": "Rome"}), {"acknowledged": True})
            self.assertEqual(p.receive(), note("stream", request_id=3, data="Ah, Rome. "))
            self.assertEqual(p.receive()["params"]["data"], "When?")
            self.assertEqual(p.result("input", {"content": "Now"}), {"acknowledged": True})
            last = p.receive()["params"]
            self.assertEqual(
                (last["request_id"], last["data"], last["keep_session"]), (4, "Now to Rome", False)
            )
            self.assertEqual(p.result("input", {"content": "?"}), {"acknowledged": True})
            self.assertEqual(p.receive()["params"]["code"], -32600)

    def test_a_conversation_that_is_left(self):
        with Puppet("gassist") as p:
            p.ask("execute", execute("travel"))
            self.assertEqual(p.ask("execute", execute("greet", name="x"))["params"]["data"], "Hello, x.")
            p.ask("execute", execute("travel"))
            self.assertEqual((p.end(), p.status), ([], 0))
            self.assertEqual(p.stderr.count("travel: no answer"), 2)

    def test_many_conversations_one_after_the_other(self):
        with Puppet("gassist") as p:
            for _ in range(50):
                p.ask("execute", execute("travel"))
                p.result("input", {"content": "Rome"})
                p.receive(), p.receive()
                p.result("input", {"content": "Now"})
                self.assertEqual(p.receive()["params"]["data"], "Now to Rome")

    def test_shutdown(self):
        for as_note in (True, False):
            with self.subTest(note=as_note), Puppet("gassist") as p:
                p.result("initialize", {})
                p.send("shutdown", {}, note=as_note)
                self.assertEqual(
                    p.receive(), None if as_note else {"jsonrpc": "2.0", "id": 2, "result": {"success": True}}
                )
                self.assertEqual(p.process.wait(WAIT_S), 0)
                p.listener.join()
                self.assertIn("on_stop puppet", p.stderr)

    def test_a_frame_that_is_too_big(self):
        with Puppet("gassist") as p:
            p.send_bytes((11 << 20).to_bytes(4, "big") + b"{" + b" " * ((11 << 20) - 1))
            self.assertIn("limit of 10485760 bytes", p.receive()["error"]["message"])
            self.assertEqual(p.result("ping", {}), {"timestamp": None})


class Ayiou(unittest.TestCase):
    def test_messages(self):
        with Puppet("ayiou") as p:
            metadata = p.result("metadata")
            self.assertIn(
                {"name": "greet", "description": "Greets", "aliases": ["hi", "hello"]}, metadata["commands"]
            )
            for event in ("startup", {"startup": None}, {"type": "startup"}):
                self.assertEqual(p.result("lifecycle", {"event": event}), {"ok": True})
            for text, expected in [
                ("/greet Ada", True),
                ("/hi x", True),
                ("hey puppet", True),
                ("/x", False),
                ("", False),
            ]:
                self.assertEqual(p.result("matches", said(text)), {"matches": expected}, text)
            reply = {"handled": True, "block": True, "reply": "Hello, Ada L.", "actions": []}
            self.assertEqual(p.result("handle", said('/greet "Ada L"')), reply)
            self.assertEqual(p.result("handle", said("/hi 'x' true"))["reply"], "Hello, x!")
            self.assertEqual(p.result("handle", said("puppet!"))["reply"], "puppet! from 1")
            self.assertEqual(p.result("handle", said("nothing"))["handled"], False)
            self.assertEqual(p.error("handle", said("/greet")), (-32602, "name: is missing"))
            typed = p.result("handle", said("/pieces 2"))
            self.assertEqual(typed["reply"], "1 2 end")
            self.assertEqual(p.result("lifecycle", {"event": {"shutdown": None}}), {"ok": True})
            self.assertIsNone(p.receive())
            self.assertEqual(p.process.wait(WAIT_S), 0)

    def test_conversations_of_several_users(self):
        with Puppet("ayiou") as p:
            users = range(1, 6)
            for user in users:
                self.assertEqual(p.result("handle", said("/travel", user))["reply"], "Where to?")
            self.assertEqual(p.result("handle", said("/travel", 1, group=7))["reply"], "Where to?")
            for user in users:
                self.assertEqual(p.result("matches", said("Rome", user)), {"matches": True})
                self.assertEqual(
                    p.result("handle", said(f"Rome {user}", user))["reply"], f"Ah, Rome {user}. When?"
                )
            self.assertEqual(p.result("handle", said("/greet x", 99))["reply"], "Hello, x.")
            for user in reversed(users):
                self.assertEqual(p.result("handle", said("now", user))["reply"], f"now to Rome {user}")
            self.assertEqual(p.result("handle", said("home", 1, group=7))["reply"], "Ah, home. When?")
            self.assertEqual(p.result("matches", said("Rome", 1)), {"matches": False})
            self.assertEqual((p.end(), p.status), ([], 0))

    def test_more_conversations_than_are_kept(self):
        with Puppet("ayiou") as p:
            for user in range(1, 71):
                self.assertEqual(p.result("handle", said("/travel", user))["reply"], "Where to?")
            self.assertEqual(p.result("matches", said("Rome", 1)), {"matches": False})
            self.assertEqual(p.result("handle", said("Rome", 70))["reply"], "Ah, Rome. When?")
            self.assertEqual((p.end(), p.status), ([], 0))


class Sunscreen(unittest.TestCase):
    def run_command(self, p, command, *args, **flags):
        return p.ask("run", {"command": command, "args": list(args), "flags": flags, "workspace_root": "/w"})

    def test_commands(self):
        with Puppet("sunscreen") as p:
            listed = p.result("commands")
            self.assertEqual((listed["scaffold"]["greet"], listed["hook"]), ("Greets", {"after_build": ""}))
            done = {"files_written": [], "summary": "Hello, Ada!"}
            self.assertEqual(self.run_command(p, "scaffold:greet", "Ada", loud=True)["result"], done)
            self.assertEqual(self.run_command(p, "greet", loud="true", name="Ada")["result"], done)
            typed = self.run_command(p, "typed", "5", real="2.5", list="a", any="x", unit="celsius")["result"]
            self.assertEqual(
                (typed["whole"], typed["real"], typed["list"], typed["any"], typed["summary"]),
                (5, 2.5, 1, "x", ""),
            )
            self.assertEqual(self.run_command(p, "typed", "six")["error"]["code"], -32602)
            self.assertEqual(self.run_command(p, "app:greet")["error"]["code"], -32601)
            self.assertEqual(self.run_command(p, "fail")["error"]["code"], 1)
            self.assertEqual(self.run_command(p, "pieces", "2")["result"]["summary"], "1 2 end")
            hook = p.result("hook", {"name": "after_build", "context": {"workspace_root": "/w"}})
            self.assertEqual(hook, {"files_written": ["built.txt"], "summary": "built in /w"})

    def test_json(self):
        with Puppet("sunscreen-json") as p:
            p.send(
                "sunscreen.command/run",
                {"command": "greet", "kind": "app", "args": ["--loud", "Ada", "--x", "y"]},
            )
            p.process.stdin.close()
            self.assertEqual(p.receive()["result"]["summary"], "Hello, Ada!")
            self.assertIsNone(p.receive())
            self.assertEqual(p.process.wait(WAIT_S), 0)


class Signals(unittest.TestCase):
    def test_term_while_idle(self):
        for dialect in ("plain", "gassist", "yams"):
            with self.subTest(dialect=dialect), Puppet(dialect) as p:
                p.ask("ping" if dialect == "gassist" else "plugin.init", {})
                p.process.send_signal(signal.SIGTERM)
                self.assertEqual(p.process.wait(WAIT_S), 0)

    def test_term_in_a_conversation(self):
        with Puppet("gassist") as p:
            p.ask("execute", execute("travel"))
            p.process.send_signal(signal.SIGTERM)
            self.assertEqual(p.process.wait(WAIT_S), 0)
            p.listener.join()
            self.assertEqual(p.stderr[-2:], ["travel: no answer", "on_stop puppet"])


if __name__ == "__main__":
    unittest.main()
