# SPDX-License-Identifier: Apache-2.0
"""What the tests of mortise index share: records, archives, and what comes out."""
import hashlib
import json
import os
import subprocess
import zipfile

import events
from support import Case, Done, LIMIT, MORTISE, PLUGINS, PYTHON

PUPPET = PLUGINS / "kythe" / "puppet.py"
UNITS = PLUGINS / "kythe" / "units"
SIMPLE = "out.fact('/t', open(unit['inputs'][0]).read(), path=unit['inputs'][0])\n"


def namespaces():
    """None, or why a view of the file system cannot be had here."""
    try:
        done = subprocess.run(
            ["unshare", "-Urm", "true"], capture_output=True, text=True, timeout=LIMIT, check=False
        )
    except FileNotFoundError:
        return "no unshare(1) to find out about user namespaces"
    return None if done.returncode == 0 else f"no user namespaces here: {done.stderr.strip()}"


NO_NAMESPACES = namespaces()


def digest(content):
    return hashlib.sha256(content if isinstance(content, bytes) else content.encode()).hexdigest()


class Unit:
    """A record. files: path -> content; the first is the source. lacking: paths whose content the
    archive has not."""

    def __init__(self, files, sources=None, cwd="/src", lacking=(), digests=None, language="toy", **members):
        self.files = {path: text if isinstance(text, bytes) else text.encode() for path, text in files.items()}
        self.name = next(iter(files), "")
        self.lacking, self.digests = lacking, digests or {}
        self.message = {
            "v_name": {"language": language, "corpus": "c", "signature": "s"},
            "source_file": list(files)[:1] if sources is None else sources,
            "working_directory": cwd,
            "output_key": "key",
            "entry_context": "context",
            "argument": ["tool", "-x"],
            **members,
        }
        self.message["required_input"] = [
            {"v_name": {"corpus": "c", "path": path}, "info": {"path": path, "digest": self.digest(path)}}
            for path in files
        ]

    def digest(self, path):
        return self.digests.get(path, digest(self.files[path]))


def program(name, **given):
    """A unit's program, or a part of the puppet, from its file; what is given are variables of it."""
    variables = "".join(f"{key} = {value!r}\n" for key, value in given.items())
    return variables + (UNITS / f"{name}.py").read_text(encoding="utf-8")


def simple(count, program=SIMPLE, name="u", **members):
    return [Unit({f"{name}{i}.toy": f"# {name}{i}\n{program}"}, **members) for i in range(count)]


def write_kzip(path, units, damaged=()):
    """damaged: contents that are stored under a name that is not theirs, (digest, bytes)."""
    stored = set()
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("root/", "root/units/", "root/files/"):
            archive.writestr(name, b"")
        for unit in units:
            body = json.dumps({"unit": unit.message}).encode()
            archive.writestr("root/units/" + digest(body), body)
        for unit in units:
            for file, content in unit.files.items():
                if file not in unit.lacking and unit.digest(file) not in stored:
                    archive.writestr("root/files/" + unit.digest(file), content)
                    stored.add(unit.digest(file))
        for name, content in damaged:
            archive.writestr("root/files/" + name, content)
    return path


def read_varint(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at


def read_fields(data):
    at, fields = 0, {}
    while at < len(data):
        tag, at = read_varint(data, at)
        length, at = read_varint(data, at)
        assert tag & 7 == 2
        fields[tag >> 3] = data[at : at + length]
        at += length
    return fields


def read_records(data):
    at, records = 0, []
    while at < len(data):
        length, at = read_varint(data, at)
        assert at + length <= len(data), "half a record"
        records.append(data[at : at + length])
        at += length
    return records


def read_entries(data):
    """[(path of the source, fact, value)]"""
    entries = []
    for record in read_records(data):
        fields = read_fields(record)
        entries.append((read_fields(fields[1]).get(4, b"").decode(), fields[4].decode(), fields.get(5, b"")))
    return entries


def running(needle):
    """Processes that have this text in their arguments."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if needle.encode() in file.read() and int(pid) != os.getpid():
                    found.append(int(pid))
        except OSError:
            pass
    return found


class IndexCase(Case):
    view = "directory"  # needs nothing; the tests of views say otherwise

    def setUp(self):
        super().setUp()
        self.env["XDG_CACHE_HOME"] = str(self.dir / "cache")
        self.state = self.dir / "state-of-puppets"
        self.state.mkdir()
        self.addCleanup(self.nothing_is_left)

    def gate(self):
        """Where puppets that hold() wait: closed as yet."""
        gate = events.Gate(self.state / "gate")
        self.addCleanup(gate.forget)
        return gate

    def nothing_is_left(self):
        while found := running(str(self.dir)):
            self.assertEqual(events.until_ended(found), [], "analyzers are left")

    def kzip(self, units, name="in.kzip", **how):
        return write_kzip(self.dir / name, units, **how)

    def puppet(self, **config):
        """The words of a command."""
        return [PYTHON, PUPPET, json.dumps({"state": str(self.state), **config})]

    def words(self, kzip, *words, analyzer=None, view=None):
        return [
            "index",
            kzip,
            "--view",
            view or self.view,
            *words,
            *(analyzer if isinstance(analyzer, tuple) else ["--", *(analyzer or self.puppet())]),
        ]

    def index(self, kzip, *words, analyzer=None, view=None, **how):
        done = subprocess.run(
            [str(MORTISE), *map(str, self.words(kzip, *words, analyzer=analyzer, view=view))],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={**self.env, **how.pop("env", {})},
            cwd=self.dir,
            timeout=LIMIT,
            check=False,
            **how,
        )
        return Done(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"))

    def report(self, kzip, *words, code=0, **how):
        """(report, entries of the result). code None: 0 or 1."""
        result = self.dir / "result"
        done = self.index(kzip, "--json", "-o", result, *words, **how)
        self.assertIn(done.code, (0, 1) if code is None else (code,), done.err + done.out)
        report = done.json
        report["stderr"] = done.err
        return report, read_entries(result.read_bytes())

    def seen(self, kzip, *words, **how):
        """All went well: {(path, fact): value}; JSON where the value is JSON."""
        report, entries = self.report(kzip, *words, **how)
        self.assertEqual((report["failed"], report["ok"]), (0, True), report)
        return {(path, fact): value for path, fact, value in entries}

    def expect_simple(self, entries, units):
        self.assertEqual(entries, [(unit.name, "/t", unit.files[unit.name]) for unit in units])

    def reasons(self, report):
        return {failure["name"]: failure["reason"] for failure in report["failures"]}
