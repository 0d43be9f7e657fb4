# SPDX-License-Identifier: Apache-2.0
"""What tenon.h promises, tried on sdk/c/contract.c. MORTISE_BUILD names the build directory
(default: build)."""
import json
import os
import pathlib
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("MORTISE_BUILD", ROOT / "build")) / "sdk" / "c" / "tenon-contract"


@unittest.skipUnless(BINARY.exists(), f"{BINARY} is not built")
class Tenon(unittest.TestCase):
    def talk(self, *lines):
        """All lines at once; the answers, parsed. Everything on stdout must be an answer."""
        done = subprocess.run(
            [str(BINARY)], input="".join(line + "\n" for line in lines).encode(), capture_output=True
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.stderr = done.stderr.decode()
        return [json.loads(line) for line in done.stdout.decode().splitlines()]

    def call(self, method, params=None):
        request = {"jsonrpc": "2.0", "id": 1, "method": method}
        if params is not None:
            request["params"] = params
        (answer,) = self.talk(json.dumps(request))
        self.assertEqual(answer["id"], 1)
        return answer

    def test_greet(self):
        self.assertEqual(
            self.call("greet", {"name": "Ada"})["result"],
            {"greeting": "hello", "to": "Ada", "length": 3, "half": 0.5, "none": None, "polite": True},
        )
        self.assertEqual(self.call("greet")["result"]["to"], "world")
        self.assertEqual(self.call("greet", {"name": 5})["result"]["to"], "world")
        self.assertEqual(self.call("greet", {"name": "a\0b"})["result"]["to"], "world")
        self.assertEqual(
            self.call("greet", {"name": ""})["error"], {"code": -32602, "message": "name must not be empty"}
        )

    def test_printing_stays_off_the_wire(self):
        request = '{"jsonrpc":"2.0","id":7,"method":"noisy"}'
        answers = self.talk(request, request)
        self.assertEqual(answers, [{"jsonrpc": "2.0", "id": 7, "result": {"input_empty": True}}] * 2)
        for said in ["printed before", "forged", "from a child"]:
            self.assertIn(said, self.stderr)

    def test_accessors(self):
        full = {
            "list": [1, {"name": "n"}],
            "int": 5,
            "double": 2.5,
            "bool": False,
            "has": 0,
            "bytes": "AP9oaQ==",
        }
        self.assertEqual(
            self.call("look", full)["result"],
            {
                "type": 5,
                "size": 2,
                "deep": "n",
                "int": 5,
                "double": 2.5,
                "bool": False,
                "has": True,
                "bytes": "\0\ufffdhi",
            },
        )
        wrong = {"list": "x", "int": 1.5, "double": "2", "bool": 0, "has": None, "bytes": "A"}
        self.assertEqual(
            self.call("look", wrong)["result"],
            {"type": 4, "size": 0, "deep": "?", "int": -1, "double": -1, "bool": True, "has": False},
        )
        for none in [None, [], {}]:
            self.assertEqual(self.call("look", none)["result"]["type"], 0)
        self.assertEqual(self.call("look", {"bytes": ""})["result"]["bytes"], "")

    def test_raw_params(self):
        for params in [{"a": [1, {"b": None}]}, [1, "x"]]:
            self.assertEqual(self.call("echo", params)["result"], params)
        self.assertIsNone(self.call("echo")["result"])
        (answer,) = self.talk(
            '{"jsonrpc":"2.0","id":1,"method":"echo","params":{"big":12345678901234567890.10}\r}'
        )
        self.assertIn("big", answer["result"])

    def test_one_answer_each(self):
        self.assertEqual(self.call("twice")["result"], {"which": "first"})
        for params in [{}, {"fail": True}]:
            self.assertEqual(self.call("silent", params)["error"]["code"], -32603)

    def test_what_is_no_json_does_not_go_out(self):
        self.assertEqual(self.call("no_json")["error"]["code"], -32603)
        self.assertEqual(self.call("bad_data")["error"]["code"], -32603)
        for how in range(7):
            self.assertEqual(self.call("misbuilt", {"how": how})["error"]["code"], -32603, how)

    def test_limits(self):
        self.assertEqual(len(self.call("big", {"count": 10000})["result"]["list"]), 10000)
        self.assertEqual(self.call("big", {"count": 20000})["error"]["code"], -32603)
        long_line = '{"jsonrpc":"2.0","id":1,"method":"echo","params":["%s"]}' % ("x" * 200000)
        first, second = self.talk(long_line, '{"jsonrpc":"2.0","id":2,"method":"echo"}')
        self.assertEqual((first["id"], first["error"]["code"]), (None, -32600))
        self.assertIn("65536", first["error"]["message"])
        self.assertEqual(second, {"jsonrpc": "2.0", "id": 2, "result": None})

    def test_batch_that_does_not_fit(self):
        (answer,) = self.talk("[" + "1," * 2000 + "1]")
        self.assertEqual((answer["id"], answer["error"]["code"]), (None, -32603))


if __name__ == "__main__":
    unittest.main()
