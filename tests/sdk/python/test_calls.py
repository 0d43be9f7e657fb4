#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""JSON-RPC over a real pipe: ids, notifications, batches, errors, framings."""
import json
import subprocess
import unittest

from support import LIMIT, Case, environment, interpreters

PLUGIN = """
    from tenon import Plugin, PluginError

    plugin = Plugin("demo", "1.0.0", "For tests", dialect="plain")

    @plugin.method
    def echo(value=None):
        return value

    @plugin.method
    def add(a: int, b: int = 1) -> int:
        return a + b

    @plugin.method
    def fail(code: int):
        raise PluginError(code, "as asked", {"why": "test"})

    @plugin.method
    def crash():
        return {}["no such key"]

    @plugin.method
    def odd(what: str):
        odd = {"nan": float("nan"), "inf": [float("inf")], "half": "\\ud800", "set": {1}, "object": object()}
        return odd[what]

    @plugin.method
    def pieces(call):
        call.stream("one ")
        call.progress(0.5, "half")
        return "two"

    if __name__ == "__main__":
        plugin.run()
"""


class Raw(Case):
    def talk(self, *lines, python="/usr/bin/python3"):
        """What it answers to lines, and its end."""
        data = b"\n".join(line if isinstance(line, bytes) else line.encode() for line in lines)
        done = subprocess.run(
            [python, str(self.write(PLUGIN))], input=data, capture_output=True, env=environment(), timeout=LIMIT
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.stderr = done.stderr.decode()
        return done.stdout.decode().splitlines()

    def test_ids_come_back_digit_by_digit(self):
        for text in (
            "1",
            "0",
            "-0",
            "-7",
            "9007199254740993",
            "123456789012345678901234567890",
            "1.50",
            "1e400",
            "-0.0",
            "1E+2",
            '"a\\nb"',
            '"\\ud800"',
            '"\\u00e9"',
            '""',
            "null",
            "true",
            "[1.0,2]",
            "7" * 5000,
        ):
            with self.subTest(id=text[:20]):
                lines = self.talk('{"jsonrpc":"2.0","id":%s,"method":"add","params":[1]}' % text)
                self.assertEqual(lines, ['{"jsonrpc":"2.0","id":%s,"result":2}' % text])
        lines = self.talk('[{"id":2.50,"method":"add","params":[1]},{"id":-0,"method":"add","params":[1]}]')
        self.assertIn('"id":2.50', lines[0])
        self.assertIn('"id":-0,', lines[0])

    def test_a_line_without_its_newline_is_answered(self):
        self.assertEqual(
            self.talk('{"id":1,"method":"add","params":[1]}'), ['{"jsonrpc":"2.0","id":1,"result":2}']
        )

    def test_nothing_answers_a_notification(self):
        self.assertEqual(
            self.talk(
                '{"method":"add","params":[1]}',
                '{"method":"add"}',
                '{"method":"crash"}',
                '{"method":"nope"}',
                '[{"method":"add","params":[1]}]',
                '{"jsonrpc":"2.0","id":1,"result":5}',
                '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}',
                "",
                "  \r",
            ),
            [],
        )

    def test_batches(self):
        batch = self.talk('[{"id":1,"method":"add","params":[1]},{"method":"add"},5,{"id":2,"method":"nope"}]')
        answers = json.loads(batch[0])
        self.assertEqual(len(batch), 1)
        self.assertEqual(
            [(a["id"], a.get("error", {}).get("code")) for a in answers],
            [(1, None), (None, -32600), (2, -32601)],
        )
        empty = json.loads(self.talk("[]")[0])
        self.assertEqual((empty["id"], empty["error"]["code"]), (None, -32600))

    def test_what_is_no_request(self):
        for line, code, ident in (
            ("{", -32700, None),
            ("nonsense", -32700, None),
            ('{"id":1,"method":"add"} x', -32700, None),
            ('{"id":1,"method":"echo","params":[NaN]}', -32700, None),
            (b'{"id":1,"method":"\xff"}', -32700, None),
            ("5.5", -32600, None),
            ('"x"', -32600, None),
            ("null", -32600, None),
            ('{"id":3}', -32600, 3),
            ('{"id":4,"method":5}', -32600, 4),
            ("[" * 100000, -32700, None),
            ("[" * 100000 + "]" * 100000, -32700, None),
            ('{"id":5,"method":"echo","params":' + "[" * 100000 + "]" * 100000 + "}", -32602, 5),
        ):
            with self.subTest(line=line[:40]):
                answers = [
                    json.loads(text) for text in self.talk(line, '{"id":99,"method":"add","params":[1]}')
                ]
                self.assertEqual((answers[0]["error"]["code"], answers[0]["id"]), (code, ident))
                self.assertEqual(answers[1], {"jsonrpc": "2.0", "id": 99, "result": 2})  # it goes on

    def test_wrong_parameters_name_the_field(self):
        for params, text in (
            ('{"a":"six"}', 'a: an integer is expected, not "six"'),
            ("{}", "a: is missing"),
            ('{"a":1,"b":true}', "b: an integer is expected, not true"),
            ('{"a":null}', "a: an integer is expected, not null"),
            ("[1,2,3]", "params: at most 2 are expected, not 3"),
            ("7", "params: an object or an array is expected, not 7"),
        ):
            answer = json.loads(self.talk('{"id":1,"method":"add","params":%s}' % params)[0])
            self.assertEqual(answer["error"], {"code": -32602, "message": text})

    def test_parameters_that_nobody_declared_are_dropped(self):
        self.assertIn('"result":3', self.talk('{"id":1,"method":"add","params":{"a":2,"zz":1}}')[0])

    def test_errors(self):
        self.assertEqual(
            json.loads(self.talk('{"id":1,"method":"fail","params":[-5]}')[0])["error"],
            {"code": -5, "message": "as asked", "data": {"why": "test"}},
        )
        error = json.loads(self.talk('{"id":1,"method":"crash"}')[0])["error"]
        self.assertEqual((error["code"], error["data"]), (-32603, {"reason": "KeyError"}))
        self.assertIn('return {}["no such key"]', self.stderr)  # the traceback, from the author's line on
        self.assertNotIn("serve.py", self.stderr)
        error = json.loads(self.talk('{"id":1,"method":"nope"}')[0])["error"]
        self.assertEqual((error["code"], error["message"]), (-32601, "Method not found: nope"))

    def test_results_that_json_cannot_say(self):
        for what, result in (("nan", None), ("inf", [None]), ("half", "?"), ("set", [1])):
            answer = json.loads(self.talk('{"id":1,"method":"odd","params":["%s"]}' % what)[0])
            self.assertEqual(answer["result"], result, what)
        answer = json.loads(self.talk('{"id":1,"method":"odd","params":["object"]}')[0])
        self.assertEqual(
            (answer["error"]["code"], answer["error"]["message"]), (-32603, "a object cannot be sent as JSON")
        )

    def test_pieces(self):
        self.assertEqual(
            [json.loads(line) for line in self.talk('{"id":"x","method":"pieces"}')],
            [
                {"jsonrpc": "2.0", "method": "stream", "params": {"request_id": "x", "data": "one "}},
                {
                    "jsonrpc": "2.0",
                    "method": "progress",
                    "params": {"request_id": "x", "fraction": 0.5, "text": "half"},
                },
                {"jsonrpc": "2.0", "id": "x", "result": "two"},
            ],
        )

    def test_every_framing(self):
        body = b'{"id":1,"method":"add","params":[1]}'
        answer = b'{"jsonrpc":"2.0","id":1,"result":2}'
        for frame in (
            lambda text: b"Content-Length: %d\r\n\r\n%s" % (len(text), text),
            lambda text: len(text).to_bytes(4, "big") + text,
            lambda text: b"%d\n%s" % (len(text), text),
            lambda text: text + b"\n",
        ):
            done = subprocess.run(
                ["/usr/bin/python3", str(self.write(PLUGIN))],
                input=frame(body) * 3,
                capture_output=True,
                env=environment(),
                timeout=LIMIT,
            )
            self.assertEqual(done.stdout, frame(answer) * 3)

    def test_other_interpreters(self):
        for python in interpreters():
            with self.subTest(python=python):
                self.assertIn('"result":2', self.talk('{"id":1,"method":"add","params":[1]}', python=python)[0])


class Bytewise(Case):
    def test_frames_in_pieces(self):
        host = self.plugin(PLUGIN)
        text = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "echo", "params": {"value": "ü日" * 50}})
        for byte in text.encode() + b"\n":
            host.process.stdin.write(bytes([byte]))
            host.process.stdin.flush()
        self.assertEqual(host.receive()["result"], "ü日" * 50)

    def test_large_messages(self):
        host = self.plugin(PLUGIN)
        for size in (1 << 16, 1 << 20, 20 << 20):
            self.assertEqual(len(host.call("echo", value="x" * size)), size)
        host.close()
        self.assertEqual(host.returncode, 0)

    def test_many_at_once(self):
        host = self.plugin(PLUGIN)
        lines = [json.dumps({"id": i, "method": "add", "params": [i]}) for i in range(1, 1001)]
        host.send("\n".join(lines).encode())
        self.assertEqual([host.receive()["result"] for _ in lines], list(range(2, 1002)))


if __name__ == "__main__":
    unittest.main()
