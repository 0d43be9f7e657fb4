# SPDX-License-Identifier: Apache-2.0
"""plugins/elf-text and files made by hand: small ones for each machine, refused ones, damaged ones."""
import os
import pathlib
import random
import struct
import unittest

from elf_text_support import ElfText, Plugin, make_elf


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
