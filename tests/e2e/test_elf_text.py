# SPDX-License-Identifier: Apache-2.0
"""plugins/elf-text, spoken to directly: the C SDK's side of JSON-RPC, the YAMS methods, and hostile files.

MORTISE_BUILD names the build directory (default: build).
"""
import base64
import glob
import json
import os
import pathlib
import random
import struct
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("MORTISE_BUILD", ROOT / "build"))
HOME = BUILD / "plugins" / "elf-text"
BINARY = HOME / "elf-text"


class Plugin:
    """One running plugin; requests go out and answers come back one line at a time."""

    def __init__(self, init=True, **config):
        self.process = subprocess.Popen([str(BINARY)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.last_id = 0
        if init:
            self.ask("plugin.init", {"config": config})

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind:
            self.process.kill()
        rest, _ = self.process.communicate()
        if not kind:
            assert rest == b"", f"unasked: {rest[:200]!r}"
            assert self.process.returncode == 0, f"exit status {self.process.returncode}"

    def write(self, raw):
        self.process.stdin.write(raw)
        self.process.stdin.flush()

    def read(self):
        line = self.process.stdout.readline()
        assert line.endswith(b"\n"), f"no answer; the plugin ended with {self.process.wait()}"
        return json.loads(line.decode("utf-8"))

    def raw(self, text):
        self.write(text.encode() + b"\n")
        return self.read()

    def message(self, method, params=None):
        self.last_id += 1
        request = {"jsonrpc": "2.0", "id": self.last_id, "method": method}
        if params is not None:
            request["params"] = params
        answer = self.raw(json.dumps(request))
        assert answer["jsonrpc"] == "2.0" and answer["id"] == self.last_id, answer
        assert ("result" in answer) != ("error" in answer), answer
        return answer

    def ask(self, method, params=None):
        answer = self.message(method, params)
        assert "result" in answer, answer
        return answer["result"]

    def refused(self, method, params=None):
        answer = self.message(method, params)
        assert "error" in answer, str(answer)[:500]
        return answer["error"]

    def extract(self, path, **options):
        return self.ask(
            "extractor.extract", {"source": {"type": "path", "path": str(path)}, "options": options}
        )

    def extract_bytes(self, data, **options):
        return self.message(
            "extractor.extract",
            {"source": {"type": "bytes", "data": base64.b64encode(data).decode()}, "options": options},
        )


def make_elf(
    machine, code=b"", symbols=(), bits=64, big=False, kind=2, entry=0x1000, rodata=b"", sections=True
):
    """A small ELF file: .text at 0x1000, .rodata at 0x8000, .symtab with (name, offset in .text, size)."""
    order, wide = ">" if big else "<", bits == 64
    ehdr_size, shdr_size = (64, 64) if wide else (52, 40)
    base = 0 if kind == 1 else 0x1000
    names, table = b"\0", b"\0" * (24 if wide else 16)
    for name, offset, size in symbols:
        info, value = 0x12, base + offset
        if wide:
            table += struct.pack(order + "IBBHQQ", len(names), info, 0, 1, value, size)
        else:
            table += struct.pack(order + "IIIBBH", len(names), value, size, info, 0, 1)
        names += name + b"\0"
    section_names = b"\0.text\0.rodata\0.symtab\0.strtab\0.shstrtab\0"
    rows = [
        (b"", 0, 0, 0, b"", 0, 0),
        (b".text", 1, 6, base, code, 0, 0),
        (b".rodata", 1, 2, 0 if kind == 1 else 0x8000, rodata, 0, 0),
        (b".symtab", 2, 0, 0, table, 4, 24 if wide else 16),
        (b".strtab", 3, 0, 0, names, 0, 0),
        (b".shstrtab", 3, 0, 0, section_names, 0, 0),
    ]
    body, headers = b"", b""
    for name, stype, flags, addr, data, link, entsize in rows:
        body += b"\0" * (-len(body) % 8)
        at = section_names.index(name + b"\0") if name else 0
        form = order + ("IIQQQQIIQQ" if wide else "IIIIIIIIII")
        headers += struct.pack(
            form,
            at,
            stype,
            flags,
            addr,
            ehdr_size + len(body) if stype else 0,
            len(data),
            link,
            1 if stype == 2 else 0,
            8,
            entsize,
        )
        body += data
    body += b"\0" * (-(len(body) + ehdr_size) % 8)
    ident = b"\x7fELF" + bytes([2 if wide else 1, 2 if big else 1, 1]) + b"\0" * 9
    form = order + ("HHIQQQIHHHHHH" if wide else "HHIIIIIHHHHHH")
    head = struct.pack(
        form,
        kind,
        machine,
        1,
        entry,
        0,
        ehdr_size + len(body) if sections else 0,
        0,
        ehdr_size,
        0,
        0,
        shdr_size,
        len(rows) if sections else 0,
        5 if sections else 0,
    )
    return ident + head + body + (headers if sections else b"")


@unittest.skipUnless(BINARY.exists(), f"{BINARY} is not built")
class ElfText(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)


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
        self.assertEqual(done.returncode, 1)  # and not killed by SIGPIPE

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
            self.assertEqual((health["status"], health["started"], health["extractions"]), ("ok", True, 1))
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
                ({"mime_type": "text/plain", "extension": ".so"}, 0),
                ({"extension": ".txt"}, 0),
                ({"mime_type": None, "extension": ""}, 0),
            ]:
                result = p.ask("extractor.supports", params)
                self.assertEqual((result["supported"], result["confidence"]), (want > 0, want), params)
                self.assertEqual(result["method"], "elf_disassemble")
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


class Crafted(ElfText):
    """Files made here, so that every architecture can be tried on this one."""

    def text_of(self, image, **config):
        with Plugin(**config) as p:
            answer = p.extract_bytes(image)
        self.assertIn("result", answer, answer)
        return answer["result"]

    def test_architectures(self):
        for machine, bits, big, code, name, instruction in [
            (183, 64, False, "e0031f2ac0035fd6", "AARCH64:LE:64:v8A", "ret"),
            (183, 64, True, "e0031f2ac0035fd6", "AARCH64:BE:64:v8A", "ret"),
            (40, 32, False, "1eff2fe1", "ARM:LE:32:v8", "bx lr"),
            (8, 32, True, "03e0000800000000", "MIPS:BE:32:default", "jr $ra"),
            (8, 64, False, "0800e00300000000", "MIPS:LE:64:default", "jr $ra"),
            (20, 32, True, "4e800020", "PowerPC:BE:32:default", "blr"),
            (21, 64, False, "2000804e", "PowerPC:LE:64:default", "blr"),
            (2, 32, True, "81c3e00801000000", "sparc:BE:32:default", "retl"),
            (43, 64, True, "81c3e00801000000", "sparc:BE:64:default", "retl"),
            (22, 64, True, "07fe", "SystemZ:BE:64:default", "br %r14"),
            (4, 32, True, "4e75", "68000:BE:32:default", "rts"),
            (3, 32, False, "c3", "x86:LE:32:default", "ret"),
            (62, 64, False, "c3", "x86:LE:64:default", "ret"),
        ]:
            code = bytes.fromhex(code)
            result = self.text_of(make_elf(machine, code, [(b"f", 0, len(code))], bits, big))
            with self.subTest(name):
                self.assertEqual(result["metadata"]["architecture"], name)
                self.assertIn(
                    f"\nType: ELF {bits}-bit {'MSB' if big else 'LSB'} executable\n", result["content"]
                )
                self.assertIn(
                    f"---\nFunction: f\nAddress: 0x1000\nSize: {len(code)} bytes\nDisassembly:\n",
                    result["content"],
                )
                self.assertIn(": " + instruction, result["content"])
                self.assertEqual(result["stats"]["functions_decompiled"], 1)

    def test_thumb(self):
        result = self.text_of(make_elf(40, bytes.fromhex("7047"), [(b"f", 1, 2)], 32))
        self.assertIn("Address: 0x1000\n", result["content"])
        self.assertIn("0x1000: bx lr\n", result["content"])

    def test_unknown_architectures_are_listed_without_code(self):
        for machine, big in [(243, False), (0xFEED, False), (62, True)]:
            result = self.text_of(make_elf(machine, b"\xc3" * 8, [(b"f", 0, 4), (b"g", 4, 4)], 64, big))
            self.assertIn("\nFunction: g\n", result["content"])
            self.assertNotIn("Disassembly:", result["content"])
            self.assertEqual(
                (result["stats"]["functions_decompiled"], result["stats"]["decompilation_failures"]), (0, 2)
            )

    def test_patched_true(self):
        image = bytearray(pathlib.Path("/bin/true").read_bytes())
        image[18:20] = struct.pack("<H", 183)
        self.assertEqual(self.text_of(bytes(image))["metadata"]["architecture"], "AARCH64:LE:64:v8A")

    def test_order_aliases_sizes(self):
        symbols = [
            (b"late", 32, 4),
            (b"first", 0, 8),
            (b"alias", 0, 8),
            (b"liar", 16, 1 << 60),
            (b"sizeless", 8, 0),
        ]
        content = self.text_of(make_elf(62, b"\x90" * 48, symbols))["content"]
        heads = [part.split("\nDisassembly")[0] for part in content.split("\nStrings:")[0].split("---\n")[1:]]
        self.assertEqual(
            heads,
            [
                "Function: alias\nAliases: first\nAddress: 0x1000\nSize: 8 bytes",
                "Function: sizeless\nAddress: 0x1008\nSize: 8 bytes (estimated)",
                "Function: liar\nAddress: 0x1010\nSize: 32 bytes",
                "Function: late\nAddress: 0x1020\nSize: 4 bytes",
            ],
        )

    def test_largest_are_chosen(self):
        symbols = [(b"f%d" % i, 16 * i, i + 1) for i in range(16)]
        result = self.text_of(make_elf(62, b"\x90" * 256, symbols), max_functions=4, disassemble_functions=2)
        self.assertEqual([f"f{i}" in result["content"].split() for i in range(16)], [False] * 12 + [True] * 4)
        self.assertEqual(result["stats"]["functions_decompiled"], 2)
        self.assertEqual(result["metadata"]["functions_count"], "16")
        self.assertIn("(12 more functions)\n", result["content"])

    def test_relocatable(self):
        content = self.text_of(make_elf(62, b"\x90\x90\xc3", [(b"f", 1, 2)], kind=1, entry=0))["content"]
        self.assertIn("Type: ELF 64-bit LSB relocatable\n", content)
        self.assertIn(
            "Function: f\nAddress: 0x1\nSection: .text\nSize: 2 bytes\nDisassembly:\n  0x1: nop\n  0x2: ret\n",
            content,
        )

    def test_names_cannot_forge_or_break(self):
        symbols = [
            (b"evil\nFunction: forged", 0, 1),
            (b"\xff\xfe\xc3(", 1, 1),
            ("größe".encode(), 2, 1),
            (b"n" * 5000, 3, 1),
            (b'"\\', 4, 1),
        ]
        content = self.text_of(make_elf(62, b"\xc3" * 8, symbols))["content"]
        self.assertNotIn("\nFunction: forged", content)
        self.assertIn("Function: evil\\x0aFunction: forged\n", content)
        self.assertIn("Function: \ufffd\ufffd\ufffd(\n", content)
        self.assertIn("Function: größe\n", content)
        self.assertIn("n" * 1024 + "...\n", content)
        self.assertIn('Function: "\\\n', content)

    def test_strings(self):
        rodata = (
            b"\0hello world\0hello world\0abc\0h\xc3\xa9llo\xe2\x82\xac\0\xed\xa0\x80\xed\xa0\x80\x01tab\there\0"
            + b"no end"
        )
        content = self.text_of(make_elf(62, b"\xc3", rodata=rodata))["content"]
        self.assertEqual(content.split("\nStrings:\n")[1], "hello world\nhéllo€\ntab\there\nno end\n")

    def test_entry_only(self):
        content = self.text_of(make_elf(62, b"\x90\xc3", entry=0x1001))["content"]
        self.assertIn(
            "Function: entry\nAddress: 0x1001\nSize: 1 bytes (estimated)\nDisassembly:\n  0x1001: ret\n",
            content,
        )

    def test_header_alone(self):
        result = self.text_of(make_elf(62, sections=False, entry=0))
        self.assertEqual(result["stats"]["functions_extracted"], 0)

    def test_bytes_that_are_no_code(self):
        result = self.text_of(make_elf(183, b"\xff" * 16, [(b"f", 0, 16)]))
        self.assertEqual(
            (result["stats"]["functions_decompiled"], result["stats"]["decompilation_failures"]), (0, 1)
        )


class Refusals(ElfText):
    def extraction_error(self, p, path, **options):
        return p.refused(
            "extractor.extract", {"source": {"type": "path", "path": str(path)}, "options": options}
        )

    def test_bad_params(self):
        path = {"type": "path", "path": "/bin/true"}
        with Plugin() as p:
            for params in [
                None,
                {},
                [],
                {"source": "x"},
                {"source": {}},
                {"source": {"type": "path"}},
                {"source": {"type": "path", "path": 1}},
                {"source": {"type": "path", "path": ""}},
                {"source": {"type": "path", "path": "/bin/true\0x"}},
                {"source": {"type": "url", "path": "/bin/true"}},
                {"source": {"type": "bytes"}},
                {"source": {"type": "bytes", "data": 5}},
                {"source": {"type": "bytes", "data": "f0VM*"}},
                {"source": {"type": "bytes", "data": "f0V"}},
                {"source": path, "options": []},
                {"source": path, "options": {"max_functions": -1}},
                {"source": path, "options": {"max_functions": "many"}},
                {"source": path, "options": {"decompile": 1}},
                {"source": path, "options": {"include_metadata": "no"}},
                {"source": path, "options": {"timeout_sec": 0}},
            ]:
                with self.subTest(params):
                    self.assertEqual(p.refused("extractor.extract", params)["code"], -32602)
            p.extract("/bin/true")

    def test_what_is_no_elf(self):
        (self.scratch / "notes.txt").write_text("some text\n")
        (self.scratch / "empty").write_bytes(b"")
        with Plugin() as p:
            error = self.extraction_error(p, self.scratch / "notes.txt")
            self.assertEqual(error["code"], -32001)
            self.assertEqual(
                (error["data"]["reason"], error["data"]["extension"]), ("UnsupportedFormat", ".txt")
            )
            self.assertIn("application/x-executable", error["data"]["supported_formats"])
            error = self.extraction_error(p, self.scratch / "empty", mime_type="text/x", extension=".q")
            self.assertEqual(
                (error["code"], error["data"]["mime_type"], error["data"]["extension"]),
                (-32001, "text/x", ".q"),
            )
            self.assertEqual(p.extract_bytes(b"")["error"]["code"], -32001)

    def test_what_cannot_be_read(self):
        os.mkfifo(self.scratch / "fifo")
        with Plugin() as p:
            for path, reason in [
                ("/no/such", "FileNotFound"),
                (self.scratch, "FileUnreadable"),
                (self.scratch / "fifo", "FileUnreadable"),
            ]:
                error = self.extraction_error(p, path)
                self.assertEqual((error["code"], error["data"]["reason"]), (-32000, reason))
                self.assertIs(error["data"]["recoverable"], False)
                self.assertEqual(error["data"]["partial_functions"], 0)

    def test_damaged(self):
        image = pathlib.Path("/bin/true").read_bytes()
        bad_class = image[:4] + b"\x07" + image[5:]
        with Plugin() as p:
            for data in [image[:4], image[:20], image[:63], image[:100], image[: len(image) // 2], bad_class]:
                error = p.extract_bytes(data)["error"]
                self.assertEqual((error["code"], error["data"]["reason"]), (-32000, "CorruptFile"))
                self.assertTrue(error["data"]["details"])

    def test_time_limits(self):
        with Plugin(timeout_sec=1e-9) as p:
            error = self.extraction_error(p, "/bin/bash")
            self.assertEqual(
                (error["code"], error["data"]["reason"], error["data"]["timeout_sec"]),
                (-32002, "Timeout", 1e-9),
            )
            self.assertEqual(
                (error["data"]["partial_extraction"], error["data"]["functions_extracted"]), (False, 0)
            )
        with Plugin() as p:
            result = p.extract("/bin/true", timeout_sec=1e-9)
            self.assertIn("(time limit reached)\n", result["content"])
            self.assertEqual(result["stats"]["functions_decompiled"], 0)
            self.assertGreater(result["stats"]["decompilation_failures"], 0)
            self.assertGreater(result["stats"]["functions_extracted"], 0)


class Mutation(ElfText):
    """Every damaged copy gets an answer, and the plugin lives on. The seed is fixed: a failure repeats."""

    def mutate(self, rng, image):
        image = bytearray(image)
        if rng.random() < 0.2:
            del image[rng.randrange(len(image)) :]
        # Headers and tables are a small part of the file and the interesting one: aim there half the time.
        section_table = struct.unpack_from("<Q", image, 40)[0] if len(image) > 64 else 0
        for _ in range(rng.choice([1, 3, 20])):
            start = rng.choice([0, section_table, 0, -1])
            at = rng.randrange(len(image) or 1) if start < 0 else start + rng.randrange(1500 if start else 700)
            if at < len(image):
                image[at] = rng.choice([0, 0xFF, 0x7F, 0x80, image[at] ^ 1 << rng.randrange(8)])
        return bytes(image)

    def run_copies(self, original, seed, count):
        rng, codes = random.Random(seed), {}
        with Plugin(disassemble_functions=5, max_instructions=200, timeout_sec=20) as p:
            for _ in range(count):
                answer = p.extract_bytes(self.mutate(rng, original))
                code = answer.get("error", {}).get("code", 0)
                codes[code] = codes.get(code, 0) + 1
            p.ask("plugin.health")
        self.assertLessEqual(set(codes), {0, -32000, -32001, -32002})
        self.assertGreater(codes.get(0, 0), count // 10)

    def test_true(self):
        self.run_copies(pathlib.Path("/bin/true").read_bytes(), 20240607, 300)

    def test_crafted_with_symbols(self):
        symbols = [(b"f%d" % i, 16 * i, 16) for i in range(20)]
        for bits, big, machine in [(64, False, 62), (32, True, 8), (32, False, 40), (64, True, 183)]:
            image = make_elf(machine, bytes(range(256)) * 2, symbols, bits, big, rodata=b"some text\0" * 20)
            self.run_copies(image, machine, 75)


if __name__ == "__main__":
    unittest.main()
