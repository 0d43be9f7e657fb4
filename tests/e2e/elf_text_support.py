# SPDX-License-Identifier: Apache-2.0
"""plugins/elf-text, spoken to directly, and small ELF files. MORTISE_BUILD names the build directory (default:
build)."""
import base64
import json
import os
import pathlib
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
