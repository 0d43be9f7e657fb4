# SPDX-License-Identifier: Apache-2.0
"""test_abi.py LIBRARY ABI HEADER…: mortise.abi.json says what the headers and the library have."""
import ctypes
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

LIBRARY, ABI, *HEADERS = sys.argv[1:] if len(sys.argv) > 3 else ("", "")
sys.argv[1:] = []
SANITIZED = "__asan_init" in subprocess.run(["nm", "-D", LIBRARY], stdout=subprocess.PIPE, text=True).stdout


class Abi(unittest.TestCase):
    def setUp(self):
        self.abi = json.loads(pathlib.Path(ABI).read_text(encoding="utf-8"))

    def compiles(self, lines):
        """In one program with all headers; the compiler's words if it does not."""
        include = pathlib.Path(HEADERS[0]).resolve().parents[1]
        text = [f"#include <mortise/{name}>" for name in self.abi["headers"]] + lines
        with tempfile.TemporaryDirectory(prefix="mortise-abi-") as place:
            source = pathlib.Path(place, "abi.c")
            source.write_text("\n".join(text), encoding="utf-8")
            command = ["cc", "-std=gnu11", "-Wall", "-Werror", "-fsyntax-only", f"-I{include}", source]
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_functions_are_those_of_the_library(self):
        listing = subprocess.check_output(["nm", "-D", "--defined-only", LIBRARY], text=True)
        exported = {line.split()[-1].split("@")[0] for line in listing.splitlines() if " T " in line}
        self.assertEqual(set(self.abi["functions"]), exported)

    def test_nothing_is_left_out(self):
        """Counted in another way than tools/abi reads them."""
        text = "".join(pathlib.Path(path).read_text(encoding="utf-8") for path in HEADERS)
        for pattern, part in (
            (r"^MORTISE_API ", "functions"),
            (r"^typedef struct \w+ \{", "structs"),
            (r"^typedef struct \w+ \w+;", "handles"),
            (r"^enum \w+ \{", "enums"),
            (r"^typedef .*_fn\(", "callbacks"),
            (r"^\tX\(E\w+,", "errors"),
        ):
            with self.subTest(part):
                self.assertEqual(len(self.abi[part]), len(re.findall(pattern, text, re.M)))

    def test_signatures(self):
        lines = []
        for name, row in self.abi["functions"].items():
            args = ", ".join(p["type"] for p in row["parameters"]) or "void"
            lines.append(f"{row['returns']} (*const p_{name})({args}) = {name};")
        for name, row in self.abi["callbacks"].items():
            args = ", ".join(p["type"] for p in row["parameters"]) or "void"
            lines.append(f"extern {row['returns']} x_{name}({args}); {name} *p_{name} = x_{name};")
        self.compiles(lines)

    def test_sizes_and_places(self):
        lines = []
        for name, struct in self.abi["structs"].items():
            lines.append(f'_Static_assert(sizeof({name}) == {struct["size"]}, "{name}");')
            for field in struct["fields"] + struct.get("union", []):
                at = f"{name}.{field['name']}"
                where = f"offsetof({name}, {field['name']}) == {field['offset']}"
                lines.append(f'_Static_assert({where}, "{at}");')
                count = f"[{field['count']}]" if "count" in field else ""
                lines.append(f"typedef __typeof__((({name} *)0)->{field['name']}) t_{at.replace('.', '_')};")
                same = f"__typeof__({field['type']}{count})"
                kind = f"__builtin_types_compatible_p(t_{at.replace('.', '_')}, {same})"
                lines.append(f'_Static_assert({kind}, "{at}: {field["type"]}");')
        for row in self.abi["enums"].values():
            lines += [f'_Static_assert({key} == {value}, "{key}");' for key, value in row["values"].items()]
        self.compiles(lines)

    def test_options_end_without_padding(self):
        """What is added later must not lie in what older programs call padding."""
        for name, struct in self.abi["structs"].items():
            if name.endswith("_options"):
                last = struct["fields"][-1]
                self.assertEqual(last["offset"] + last["size"], struct["size"], name)
                self.assertEqual(struct["fields"][0]["name"], "size")

    def test_flags_have_one_width(self):
        for name, struct in self.abi["structs"].items():
            for field in struct["fields"]:
                if field["name"] == "flags":
                    self.assertEqual(field["type"], "uint64_t", name)

    @unittest.skipIf(SANITIZED, "python has no run-time of a sanitizer")
    def test_tables_are_those_of_the_library(self):
        lib = ctypes.CDLL(LIBRARY)
        for name in "mortise_status_text", "mortise_status_kind", "mortise_status_name", "mortise_version":
            getattr(lib, name).restype = ctypes.c_char_p
        for row in self.abi["errors"]:
            value = row["value"]
            self.assertEqual(lib.mortise_status_kind(value).decode(), row["kind"])
            self.assertEqual(lib.mortise_status_text(value).decode(), row["text"])
            self.assertIn(lib.mortise_status_name(value).decode(), row["name"])
            self.assertEqual(lib.mortise_status_exit_code(value), row["exit_code"])
        self.assertEqual(lib.mortise_version().decode(), self.abi["version"])


unittest.main()
