# SPDX-License-Identifier: Apache-2.0
"""plugins/elf-text, spoken to directly: the C SDK's side of JSON-RPC, and the YAMS methods."""
import glob
import json
import os
import pathlib
import subprocess
import unittest

from elf_text_support import BINARY, ElfText, HOME, Plugin


class Wire(ElfText):
    """JSON-RPC 2.0 as the SDK answers it."""

    def error_of(self, plugin, text):
        answer = plugin.raw(text)
        self.assertNotIn("result", answer)
        return answer["id"], answer["error"]["code"]

    def test_what_is_no_request(self):
        with Plugin() as p:
            for text, want in [
                ("{", (None, -32700)),
                ("stray words", (None, -32700)),
                ('{"jsonrpc":"2.0","id":1,"method":"plugin.health"} x', (None, -32700)),
                ('{"a":"\\ud800"}', (None, -32700)),
                ("17", (None, -32600)),
                ("{}", (None, -32600)),
                ('{"jsonrpc":"2.0","method":1,"id":5}', (5, -32600)),
                ('{"id":"x","method":"plugin.health"}', ("x", -32600)),
                ('{"jsonrpc":"2.0","id":6,"method":"plugin.health","params":3}', (6, -32600)),
                ('{"jsonrpc":"2.0","id":true,"method":"plugin.health"}', (None, -32600)),
                ('{"jsonrpc":"2.0","id":7,"method":"plugin.healthy"}', (7, -32601)),
                ('{"jsonrpc":"2.0","id":8,"method":"Plugin.health"}', (8, -32601)),
                ("[" * 5000, (None, -32700)),
                ("[]", (None, -32600)),
            ]:
                with self.subTest(text[:60]):
                    self.assertEqual(self.error_of(p, text), want)
            p.ask("plugin.health")

    def test_invalid_utf8_is_a_parse_error(self):
        with Plugin() as p:
            p.write(b'{"jsonrpc":"2.0","id":1,"method":"\xff"}\n')
            self.assertEqual(p.read()["error"]["code"], -32700)

    def test_unknown_method_is_named(self):
        with Plugin() as p:
            self.assertEqual(p.refused("no\"such\n")["data"], {"method": "no\"such\n"})

    def test_escaped_method_name(self):
        with Plugin() as p:
            answer = p.raw('{"jsonrpc":"2.0","id":1,"method":"plugin.h\\u0065alth"}')
            self.assertEqual(answer["result"]["status"], "ok")

    def test_ids_come_back_as_they_went(self):
        with Plugin() as p:
            for text in [
                "0",
                "-1",
                "123456789012345678901234567890",
                "1.50",
                "2e3",
                '"a\\u00e9\\/"',
                '""',
                "null",
            ]:
                p.write(b'{"jsonrpc":"2.0","id":%s,"method":"plugin.shutdown"}\n' % text.encode())
                line = p.process.stdout.readline().decode()
                self.assertIn(f'"id":{text},', line.replace(": ", ":"))

    def test_notifications_are_not_answered(self):
        with Plugin() as p:
            p.write(b'{"jsonrpc":"2.0","method":"plugin.health"}\n{"jsonrpc":"2.0","method":"no.such"}\n')
            p.write(b'{"jsonrpc":"2.0","method":"extractor.extract","params":{}}\n')
            p.write(
                b'{"jsonrpc":"2.0","id":1,"result":null}\n{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}\n'
            )
            p.ask("plugin.health")

    def test_batch(self):
        with Plugin() as p:
            health = {"jsonrpc": "2.0", "method": "plugin.health"}
            answers = p.raw(
                json.dumps(
                    [health, {**health, "id": 1}, 5, health, {**health, "id": "b", "method": "x"}, [], health]
                )
            )
            self.assertEqual([a["id"] for a in answers], [1, None, "b", None])
            self.assertEqual([a.get("error", {}).get("code") for a in answers], [None, -32600, -32601, -32600])
            p.write(json.dumps([health, health]).encode() + b"\n")
            p.ask("plugin.health")

    def test_lines(self):
        with Plugin() as p:
            p.write(b'\n   \r\n\r\n{"jsonrpc":"2.0","id":1,"method":"plugin.shutdown"}\r\n')
            self.assertEqual(p.read(), {"jsonrpc": "2.0", "id": 1, "result": None})
            whole = b'{"jsonrpc":"2.0","id":2,"method":"plugin.shutdown"}\n'
            for i in range(len(whole)):
                p.write(whole[i : i + 1])
            self.assertEqual(p.read()["id"], 2)
            p.write(whole * 3000)
            self.assertEqual([p.read()["id"] for _ in range(3000)], [2] * 3000)

    def test_last_line_without_newline(self):
        for tail, want in [
            (b'{"jsonrpc":"2.0","id":2,"method":"plugin.shutdown"}', b'"id":2'),
            (b'{"jsonrpc"', b"-32700"),
        ]:
            done = subprocess.run([str(BINARY)], input=tail, stdout=subprocess.PIPE)
            self.assertEqual(done.returncode, 0)
            self.assertIn(want, done.stdout)

    def test_end_of_input(self):
        self.assertEqual(subprocess.run([str(BINARY)], input=b"", stdout=subprocess.PIPE).stdout, b"")
        with Plugin(init=False):
            pass

    def test_host_that_has_gone(self):
        read_end, write_end = os.pipe()
        os.close(read_end)
        line = b'{"jsonrpc":"2.0","id":1,"method":"plugin.health"}\n'
        done = subprocess.run([str(BINARY)], input=line, stdout=write_end)
        os.close(write_end)
        self.assertEqual(done.returncode, 0)  # quietly: nobody is left to be told

    def test_without_stderr(self):
        line = '{"jsonrpc":"2.0","id":1,"method":"plugin.shutdown"}'
        done = subprocess.run(
            ["/bin/sh", "-c", 'exec "$0" 2>&-', str(BINARY)], input=line.encode(), stdout=subprocess.PIPE
        )
        self.assertEqual(json.loads(done.stdout)["id"], 1)

    def test_params_null_and_absent(self):
        with Plugin(init=False) as p:
            self.assertEqual(
                p.raw('{"jsonrpc":"2.0","id":1,"method":"plugin.init","params":null}')["result"]["status"],
                "initialized",
            )
            self.assertEqual(p.ask("plugin.init")["status"], "initialized")


class Lifecycle(ElfText):
    def test_manifest_is_the_one_on_disk(self):
        disk = json.loads((HOME / "yams-plugin.json").read_text())
        with Plugin(init=False) as p:
            said = p.ask("handshake.manifest")
        for key in ["name", "version", "description", "author", "interfaces", "capabilities"]:
            self.assertEqual(said[key], disk[key])
        self.assertEqual(disk["transport"], "external")
        self.assertTrue(
            os.access(disk["entry"]["binary"]["linux"].replace("${plugin_dir}", str(HOME)), os.X_OK)
        )

    def test_init_takes_settings_wrapped_bare_and_both(self):
        with Plugin(init=False) as p:
            for params, functions, timeout in [
                ({"config": {"max_functions": 7}}, 7, 30),
                ({"max_functions": 8, "timeout_sec": 2.5}, 8, 2.5),
                ({"config": {"max_functions": 9}, "max_functions": 9, "timeout_sec": 4}, 9, 4),
                ({"config": None, "other": [1]}, 100, 30),
                ({}, 100, 30),
            ]:
                result = p.ask("plugin.init", params)
                self.assertEqual(result["status"], "initialized")
                self.assertEqual(result["config_applied"]["max_functions"], functions)
                self.assertEqual(result["config_applied"]["timeout_sec"], timeout)
                self.assertNotIn("other", result["config_applied"])

    def test_init_refuses_bad_settings(self):
        with Plugin(init=False) as p:
            for params, key in [
                ({"config": []}, "config"),
                ({"max_functions": -1}, "max_functions"),
                ({"max_functions": "9"}, "max_functions"),
                ({"config": {"max_functions": 1.5}}, "max_functions"),
                ({"timeout_sec": 0}, "timeout_sec"),
                ({"timeout_sec": True}, "timeout_sec"),
                ({"max_content_bytes": 1 << 40}, "max_content_bytes"),
            ]:
                error = p.refused("plugin.init", params)
                self.assertEqual((error["code"], error["data"]["config_key"]), (-32602, key))
            self.assertEqual(p.refused("plugin.init", [1])["code"], -32602)
            self.assertFalse(p.ask("plugin.health")["started"])

    def test_health_and_shutdown(self):
        with Plugin(init=False) as p:
            self.assertEqual(p.ask("plugin.health")["started"], False)
            p.ask("plugin.init", {})
            p.extract("/bin/true")
            health = p.ask("plugin.health")
            self.assertEqual((health["status"], health["started"], health["busy"]), ("ok", True, False))
            self.assertGreater(health["memory_mb"], 0)
            self.assertGreaterEqual(health["uptime_sec"], 0)
            self.assertIsNone(p.ask("plugin.shutdown"))
            self.assertEqual(p.refused("extractor.extract")["code"], -32003)
            p.ask("plugin.init", {})
            p.extract("/bin/true")

    def test_not_initialized(self):
        with Plugin(init=False) as p:
            error = p.refused("extractor.extract", {"source": {"type": "path", "path": "/bin/true"}})
            self.assertEqual(error["code"], -32003)
            self.assertEqual(error["data"], {"reason": "NotInitialized", "required_method": "plugin.init"})

    def test_supports(self):
        with Plugin(init=False) as p:
            for params, want in [
                ({"mime_type": "application/x-executable", "extension": ".elf"}, 1.0),
                ({"mime_type": "application/x-sharedlib"}, 1.0),
                ({"extension": ".so"}, 0.8),
                ({"extension": "KO"}, 0.8),
                ({"mime_type": "application/octet-stream", "extension": ".o"}, 0.8),
                ({"mime_type": "text/plain", "extension": ".so"}, 0.8),
                ({"mime_type": "text/plain"}, 0),
                ({"extension": ".txt"}, 0),
                ({"mime_type": None, "extension": ""}, 0),
            ]:
                result = p.ask("extractor.supports", params)
                self.assertEqual((result["supported"], result["confidence"]), (want > 0, want), params)
                self.assertEqual(result["method"], "elf_text")
            for params in [{}, None, {"mime_type": 1}, {"extension": []}, ["a", "b"], {"mime_type": None}]:
                self.assertEqual(p.refused("extractor.supports", params)["code"], -32602, params)


class Extraction(ElfText):
    def check_shape(self, result):
        self.assertIs(result["success"], True)
        self.assertIsNone(result["error"])
        self.assertEqual(result["content"], result["text"])
        self.assertTrue(all(isinstance(v, str) for v in result.get("metadata", {}).values()))
        self.assertEqual(
            set(result["stats"]),
            {"functions_extracted", "functions_decompiled", "extraction_time_ms", "decompilation_failures"},
        )

    def test_true(self):
        with Plugin() as p:
            result = p.extract("/bin/true")
        self.check_shape(result)
        lines = result["content"].split("\n")
        self.assertEqual(lines[0], "Binary: /bin/true")
        self.assertRegex(lines[1], r"^Type: ELF (32|64)-bit [LM]SB (pie executable|executable)$")
        self.assertEqual(lines[2], "Architecture: " + result["metadata"]["architecture"])
        self.assertEqual(lines[3], "Entry Point: " + result["metadata"]["entry_point"])
        self.assertIn("\nNeeded Libraries:\nlibc.so.6\n", result["content"])
        self.assertIn("\nDisassembly:\n", result["content"])
        self.assertEqual(result["content"].count("\nFunction: "), result["stats"]["functions_extracted"])
        for key in ["type", "functions_count", "extraction_method", "extraction_time_ms"]:
            self.assertIn(key, result["metadata"])

    def test_same_text_every_time_and_from_bytes(self):
        with Plugin() as p:
            first, second = p.extract("/bin/bash"), p.extract("/bin/bash")
            third = p.extract_bytes(pathlib.Path("/bin/bash").read_bytes())["result"]
        self.assertEqual(first["content"], second["content"])
        self.assertEqual(third["content"].replace("Binary: (bytes)", "Binary: /bin/bash"), first["content"])

    def test_options(self):
        with Plugin() as p:
            result = p.extract("/bin/bash", max_functions=3, decompile=False, include_metadata=False)
            self.check_shape(result)
            self.assertNotIn("metadata", result)
            self.assertNotIn("Disassembly:", result["content"])
            self.assertEqual(result["content"].count("\nFunction: "), 3)
            self.assertEqual(
                (result["stats"]["functions_extracted"], result["stats"]["functions_decompiled"]), (3, 0)
            )
            self.assertEqual(p.extract("/bin/bash", max_functions=0)["content"].count("\nFunction: "), 0)
            self.assertLessEqual(p.extract("/bin/bash")["stats"]["functions_extracted"], 100)
            self.assertLessEqual(len(p.extract("/bin/bash", max_text_size=5000)["content"].encode()), 5000)

    def test_libc(self):
        found = glob.glob("/lib/*/libc.so.6") + glob.glob("/lib*/libc.so.6")
        if not found:
            self.skipTest("no libc.so.6")
        with Plugin(max_functions=100000, disassemble_functions=2) as p:
            result = p.extract(found[0])
        self.assertIn("\nSoname: libc.so.6\n", result["content"])
        self.assertRegex(result["content"], r"\nType: ELF \d\d-bit .SB shared object\n")
        self.assertRegex(
            result["content"], r"\nFunction: (\w+\nAliases: [\w, ]*)?printf\b|\nFunction: printf\n"
        )
        self.assertEqual(result["stats"]["functions_decompiled"], 2)
        self.assertGreater(int(result["metadata"]["functions_count"]), 1000)

    def test_limits(self):
        with Plugin(max_content_bytes=4096, max_strings=3, min_string_length=8) as p:
            result = p.extract("/bin/bash")
            self.assertLessEqual(len(result["content"].encode()), 4096)
            self.assertEqual(result["metadata"]["truncated"], "true")
        with Plugin(max_strings=3, min_string_length=8, disassemble_functions=0) as p:
            strings = p.extract("/bin/bash")["content"].split("\nStrings:\n")[1].splitlines()
            self.assertEqual(len(strings), 3)
            self.assertTrue(all(len(s) >= 8 for s in strings))
        with Plugin(max_instructions=4) as p:
            content = p.extract("/bin/true")["content"]
            self.assertIn(" more bytes)\n", content)
        with Plugin(max_file_bytes=64) as p:
            error = p.refused("extractor.extract", {"source": {"type": "path", "path": "/bin/true"}})
            self.assertEqual((error["code"], error["data"]["reason"]), (-32000, "FileTooLarge"))


if __name__ == "__main__":
    unittest.main()
