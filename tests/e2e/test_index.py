# SPDX-License-Identifier: Apache-2.0
"""mortise index: what analyzers are told, what becomes of what they say and write. Rules and decisions as in
docs/dialects/kythe.md."""
import base64
import json
import os
import unittest

from kythe_support import IndexCase, SIMPLE, Unit, program, read_entries, read_records, simple


class Reply(IndexCase):
    def test_r25_members(self):
        unit = Unit(
            {"a.toy": "out.fact('/reply', unit)\n"},
            cwd="/src",
            argument=["cc", "-c", "ü"],
            environment=[{"name": "N", "value": "v"}],
            details=[{"@type": "kythe.io/proto/kythe.proto.BuildDetails", "build_target": "//t"}],
        )
        seen = self.seen(self.kzip([unit]))
        reply = json.loads(seen["-", "/reply"])
        self.assertEqual(
            set(reply),
            {
                "workingDir",
                "inputs",
                "input",
                "arguments",
                "environment",
                "output",
                "entryContext",
                "outputKey",
                "details",
            },
        )
        self.assertEqual((reply["entryContext"], reply["outputKey"]), ("context", "key"))

    def test_a04_inputs_and_input(self):
        files = {"a.toy": "out.fact('/reply', unit)\n", "b.toy": ""}
        reply = json.loads(self.seen(self.kzip([Unit(files, sources=["a.toy", "b.toy"])]))["-", "/reply"])
        self.assertEqual((reply["inputs"], reply["input"]), (["a.toy", "b.toy"], "a.toy"))

    def test_a04_no_source(self):
        self.report(
            self.kzip([Unit({"a.toy": ""}, sources=[])]), analyzer=self.puppet(ready=program("keep_reply"))
        )
        reply = json.loads((self.state / "reply").read_text())
        self.assertEqual(reply["inputs"], [])
        self.assertNotIn("input", reply)

    def test_a23_arguments_environment_details(self):
        known = {"@type": "kythe.io/proto/kythe.proto.BuildDetails", "build_target": "//t"}
        unit = Unit(
            {"a.toy": "out.fact('/reply', unit)\n"},
            argument=["cc", "-Dx=\"y\"", ""],
            environment=[{"name": "A", "value": "1"}, {"name": "B"}],
            details=[known, {"@type": "elsewhere/x.Y", "z": [1, {"k": None}]}],
        )
        reply = json.loads(self.seen(self.kzip([unit]))["-", "/reply"])
        self.assertEqual(reply["arguments"], ["cc", "-Dx=\"y\"", ""])
        self.assertEqual(reply["environment"], [{"name": "A", "value": "1"}, {"name": "B", "value": ""}])
        self.assertEqual(
            reply["details"],
            [
                {"@type": "kythe.io/proto/kythe.proto.BuildDetails", "buildTarget": "//t"},
                {"@type": "elsewhere/x.Y", "z": [1, {"k": None}]},
            ],
        )

    def test_r23_each_record_once(self):
        """Every record goes to one analyzer, once, however many ask."""
        units = simple(24, "import os\nout.fact('/pid', str(os.getpid()), path=unit['input'])\n")
        report, entries = self.report(self.kzip(units), "-j4")
        self.assertEqual([path for path, _, _ in entries], [unit.name for unit in units])
        self.assertEqual(
            sorted(os.path.getsize(self.state / name) for name in os.listdir(self.state)), [1] * 24
        )
        self.assertEqual(report["entries"], 24)

    def test_a24_working_directory(self):
        """None, or a relative one: an absolute one is made up. The output's path is absolute; inputs
        stay as spelled."""
        for cwd in ("", "sub/dir", "/somewhere/else"):
            reply = json.loads(
                self.seen(self.kzip([Unit({"x/a.toy": "out.fact('/reply', unit)\n"}, cwd=cwd)]))["-", "/reply"]
            )
            self.assertTrue(os.path.isabs(reply["workingDir"]) and os.path.isabs(reply["output"]), reply)
            self.assertEqual(reply["inputs"], ["x/a.toy"])

    def test_a21_output(self):
        """There already, empty, 0600; a new name for each attempt."""
        _, entries = self.report(self.kzip([Unit({"a.toy": program("looks_at_output")})]))
        self.assertEqual(
            [(fact, json.loads(value)) for _, fact, value in entries], [("/stat", [0o600, 0, os.getuid()])]
        )
        outputs = (self.state / "outputs").read_text().split()
        self.assertEqual(len(set(outputs)), 3)
        self.assertFalse(any(map(os.path.exists, outputs)))


class Types(IndexCase):
    def offered(self, types, *words, **members):
        """Whether an analyzer that asks for these gets the record."""
        units = simple(1, **members)
        report, entries = self.report(self.kzip(units), *words, code=None, analyzer=self.puppet(types=types))
        self.assertEqual(len(entries), report["done"])
        return report["done"] == 1

    def test_a25_asked(self):
        for types in (
            ["/kythe/index/toy"],
            ["kythe/index/toy"],
            ["/kythe/indexer/toy"],
            ["kythe/indexer/toy"],
            [],
            ["/"],
            ["/kythe"],
            ["/kythe/index"],
            ["/kythe/index/java", "/kythe/index/toy"],
        ):
            self.assertTrue(self.offered(types), types)

    def test_a25_not_asked(self):
        """A record that nobody asks for is waited for, and named at the end: not a reason to hang."""
        units = simple(2) + simple(1, name="j", language="java")
        report, entries = self.report(
            self.kzip(units), "-j3", code=1, analyzer=self.puppet(types=["/kythe/index/toy"])
        )
        self.expect_simple(entries, units[:2])
        self.assertIn("/kythe/index/java", self.reasons(report)["j0.toy"])
        for types in (["/kythe/index/to"], ["/kythe/index/toy/x"], ["/kythe/index/java"]):
            self.assertFalse(self.offered(types), types)

    def test_type_option(self):
        self.assertTrue(self.offered(["/team/lines"], "--type", "/team/lines"))
        self.assertTrue(self.offered(["/team/lines"], "--type", "/x", "--type", "/team/lines"))
        self.assertTrue(self.offered(["/team"], "--type", "/team/lines"))
        self.assertFalse(self.offered(["/kythe/index/toy"], "--type", "/team/lines"))

    def test_r36_grammar(self):
        kzip = self.kzip(simple(1))
        for wrong in ("/a//b", "/a/", "/a b", "/a*", "//", "/a\t", "/«x»"):
            done = self.index(kzip, "--type", wrong)
            self.assertEqual(done.code, 2, wrong)
            self.assertIn("usage: ", done.err)
            self.assertIn("--type", done.err)
        self.assertTrue(self.offered(["/schön/日本/a-.@#$%&_+:()9"], "--type", "/schön/日本/a-.@#$%&_+:()9"))

    def test_r36_asked_invalid(self):
        """-32602 that names it; the analyzer may ask again."""
        units = simple(1)
        _, entries = self.report(
            self.kzip(units), analyzer=self.puppet(ready=program("asks_for_invalid_types"))
        )
        self.expect_simple(entries, units)
        first, second = (self.state / "answers").read_text().splitlines()
        self.assertIn("-32602", first)
        self.assertIn('"/a//b"', first)
        self.assertIn("-32602", second)
        self.assertIn('"/x y"', second)

    def test_a27_language(self):
        """RFC 2966 asks with a language."""
        units = simple(1, name="j", language="java") + simple(1)
        analyzer = self.puppet(ready=program("asks_with_a_language"))
        report, _ = self.report(self.kzip(units), "-j1", code=1, analyzer=analyzer)
        self.assertEqual((self.state / "reply").read_text(), "u0.toy")
        self.assertEqual((report["done"], list(self.reasons(report))), (1, ["j0.toy"]))


class Names(IndexCase):
    ASK = "out.fact('/vname', wire.call('vname', path=%r, signature=%r))\n"

    def vname(self, path, *words, signature="", unit=None):
        unit = unit or Unit({"a.toy": self.ASK % (path, signature)})
        return json.loads(self.seen(self.kzip([unit]), *words)["-", "/vname"])

    def test_a06_nested_and_flat(self):
        reply = self.vname("a.toy", signature="sig")
        nested = reply.pop("vname")
        self.assertEqual(nested, reply)
        self.assertEqual((reply["path"], reply["corpus"], reply["signature"]), ("a.toy", "c", "sig"))

    def test_vnames_option(self):
        rules = self.file(
            "vnames.json",
            json.dumps([{"pattern": "gen/(.*)", "vname": {"corpus": "rules", "root": "gen", "path": "@1@"}}]),
        )
        self.assertEqual(
            self.vname("gen/x.toy", "--vnames", rules)["vname"],
            {"signature": "", "corpus": "rules", "root": "gen", "path": "x.toy", "language": ""},
        )
        bad = self.file("bad.json", "[{]")
        done = self.index(self.kzip(simple(1)), "--vnames", bad)
        self.assertEqual(done.code, 4, done.err)
        self.assertIn("bad.json", done.err)

    def idle(self, *words):
        """What vname, log and done come to when nothing is under way; the channel stays open."""
        units = simple(1)
        analyzer = self.puppet(ready=program("talks_while_idle"))
        report, entries = self.report(self.kzip(units), *words, analyzer=analyzer)
        self.expect_simple(entries, units)
        return report, json.loads((self.state / "answer").read_text())

    def test_a19_idle_without_rules(self):
        report, answer = self.idle()
        self.assertEqual(answer["error"]["code"], -1)
        self.assertEqual([message["text"] for message in report["messages"]], ["nothing to do"])
        self.assertNotIn("u0.toy", report["messages"][0]["unit"])

    def test_a19_idle_with_rules(self):
        rules = self.file(
            "vnames.json", json.dumps([{"pattern": "(.*)", "vname": {"corpus": "rules", "path": "@1@"}}])
        )
        self.assertEqual(self.idle("--vnames", rules)[1]["result"]["corpus"], "rules")


class Messages(IndexCase):
    LINES = ["a.toy: plain", "a.toy: h.toy:7:3: camel", "a.toy: h.toy:8:1: snake", "a.toy: a.toy:9: line only"]

    def test_a07_string_or_diagnostic(self):
        log = self.dir / "messages"
        report, _ = self.report(self.kzip([Unit({"a.toy": program("messages")})]), "--log", log)
        lines = log.read_text().splitlines()
        self.assertEqual(lines[:4], self.LINES)
        self.assertEqual(lines[5], "a.toy: the end")
        self.assertEqual(len(lines), 6)
        self.assertNotIn("\x1b", lines[4])
        self.assertEqual(report["stderr"].splitlines(), lines)
        self.assertEqual(
            report["messages"][1], {"unit": "a.toy", "file": "h.toy", "line": 7, "column": 3, "text": "camel"}
        )
        self.assertEqual(
            [message["text"] for message in report["messages"]],
            ["plain", "camel", "snake", "line only", "two\nlines \x1b[31m", "the end"],
        )

    def test_log_that_cannot_be_written(self):
        done = self.index(self.kzip(simple(1)), "--log", self.dir / "no" / "where", "-o", self.dir / "result")
        self.assertEqual(done.code, 4)
        self.assertIn("--log", done.err)
        self.assertFalse((self.dir / "result").exists())


class Output(IndexCase):
    PROGRAM = """
out.fact("/kythe/node/kind", "file", path="p", signature="s")
out.fact("/kythe/text", bytes(range(256)), path="p")
out.fact("/empty", b"", path="p")
"""

    def test_r33_r34_same_entries(self):
        kzip = self.kzip([Unit({"a.toy": self.PROGRAM})])
        results = []
        for encoding in ("json", "protobuf"):
            self.report(kzip, analyzer=self.puppet(encoding=encoding))
            results.append((self.dir / "result").read_bytes())
        self.assertEqual(results[0], results[1])
        self.assertEqual(
            [fact for _, fact, _ in read_entries(results[0])], ["/kythe/node/kind", "/kythe/text", "/empty"]
        )

    def test_format_json(self):
        kzip = self.kzip([Unit({"a.toy": self.PROGRAM})] + simple(2))
        for encoding in ("json", "protobuf"):
            done = self.index(kzip, "--format=json", "-j1", analyzer=self.puppet(encoding=encoding))
            self.assertEqual(done.code, 0, done.err)
            rows = [json.loads(line) for line in done.out.splitlines()]
            self.assertEqual(
                [row["fact_name"] for row in rows], ["/kythe/node/kind", "/kythe/text", "/empty", "/t", "/t"]
            )
            self.assertEqual(base64.b64decode(rows[1]["fact_value"]), bytes(range(256)))

    def test_r35_raw(self):
        """Records that are no entries pass as they are; their lengths must be right."""
        units = [
            Unit({"a.toy": "out.record(b'\\xff\\x00 no entry')\nout.record(b'')\n"}),
            Unit({"b.toy": "out.record(b'{\"lines\":1}')\n"}),
        ]
        done = self.index(
            self.kzip(units),
            "--format=raw",
            "--type",
            "/team/lines",
            analyzer=self.puppet(types=["/team/lines"]),
        )
        self.assertEqual(done.code, 0, done.err)
        self.assertEqual(read_records(done.raw), [b"\xff\x00 no entry", b"", b'{"lines":1}'])
        report, entries = self.report(self.kzip(units), "--retries", "0", code=1)
        self.assertEqual((entries, sorted(self.reasons(report))), ([], ["a.toy", "b.toy"]))

    def test_r35_raw_half(self):
        units = [Unit({"a.toy": "out.raw(b'\\x05abc')\n"})] + simple(1)
        done = self.index(self.kzip(units), "--format=raw", "--retries", "0")
        self.assertEqual(done.code, 1)
        self.assertEqual(done.raw, read_back(units[1:]))
        self.assertIn("failed: a.toy: ", done.err)

    def test_a22_spellings(self):
        _, entries = self.report(
            self.kzip([Unit({"a.toy": program("spellings")})]), analyzer=self.puppet(encoding="json")
        )
        self.assertEqual(entries, [("p", fact, b"\xfb\xff") for fact in ("/a", "/b", "/c", "/d")])

    def test_invalid_entries(self):
        """No source, no fact name, an edge without a target: no entry, whatever the lengths say."""
        bodies = {
            "no-source": b'{"factName":"/a"}',
            "no-fact": b'{"source":{"path":"p"}}',
            "half-edge": b'{"source":{"path":"p"},"factName":"/","edgeKind":"/e"}',
            "no-json": b"{",
            "base64": b'{"source":{"path":"p"},"factName":"/a","factValue":"*"}',
        }
        units = [Unit({name: f"out.record({body!r})\n"}) for name, body in bodies.items()] + simple(1)
        report, entries = self.report(
            self.kzip(units), "--retries", "0", "-j2", code=1, analyzer=self.puppet(encoding="json")
        )
        self.assertEqual(sorted(self.reasons(report)), sorted(bodies))
        self.expect_simple(entries, units[-1:])

    def test_nothing_written(self):
        """No entries is a result, too; but it is told."""
        kzip = self.kzip([Unit({"a.toy": "pass\n"})] + simple(1) + [Unit({"b.toy": "raise SystemExit(7)\n"})])
        report, entries = self.report(kzip, "--retries", "0", code=1)
        self.assertEqual((report["done"], report["failed"], report["empty"], len(entries)), (2, 1, 1, 1))
        (empty,) = report["empty_units"]
        self.assertEqual((empty["name"], empty["kzip"], empty["earlier"]), ("a.toy", str(kzip), False))
        self.assertIn("warning: a.toy: the analyzer wrote nothing\n", report["stderr"])
        done = self.index(self.kzip([Unit({"a.toy": "pass\n"})] + simple(1)), "-o", self.dir / "result")
        self.assertEqual(done.code, 0, done.err)  # it said done
        self.assertIn("2 of 2 units (1 empty), 0 failed", done.err)
        self.assertNotIn("empty", self.index(self.kzip(simple(1)), "-o", self.dir / "result").err)

    def test_large(self):
        """What is beyond 16 MB goes to the disk at once: the bytes are the same, also where some
        are taken back."""
        units = [Unit({f"{n}.toy": program("ten_large_facts", number=n)}) for n in range(4)]
        _, entries = self.report(self.kzip(units), "-j1")
        self.assertEqual(
            [(value[:1], len(value)) for _, _, value in entries], [(bytes([i]), 999000 + i) for i in range(40)]
        )


def read_back(units):
    """The result of simple units."""
    body = b""
    for unit in units:
        source = b"\x22" + bytes([len(unit.name)]) + unit.name.encode()
        value = unit.files[unit.name]
        record = b"\x0a" + bytes([len(source)]) + source + b"\x22\x02/t" + b"\x2a" + bytes([len(value)]) + value
        body += bytes([len(record)]) + record
    return body


class Order(IndexCase):
    def test_input_order(self):
        """Later units end first: still the order of the archives, and of the units in them."""
        both = [
            Unit({f"u{i}.toy": program("waits_for_a_later_one", number=i, count=24) + SIMPLE})
            for i in range(24)
        ]
        more, units = both[:8], both[8:]
        first, second = self.kzip(units), self.kzip(more, "more.kzip")
        report, entries = self.report(second, first, "-j4")
        self.expect_simple(entries, more + units)
        self.assertEqual((report["units"], report["done"]), (24, 24))

    def test_same_record_twice(self):
        """Named twice: analysed twice, both in the result."""
        units = simple(2)
        kzip = self.kzip(units)
        _, entries = self.report(kzip, kzip)
        self.expect_simple(entries, units + units)

    def test_no_units(self):
        report, entries = self.report(self.kzip([]))
        self.assertEqual((report["units"], report["ok"], entries), (0, True, []))


if __name__ == "__main__":
    unittest.main()
