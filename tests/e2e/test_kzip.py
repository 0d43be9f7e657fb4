# SPDX-License-Identifier: Apache-2.0
"""mortise kzip: archives made here, and the seven real ones where they are at hand (in $MORTISE_KZIPS, or
in shared/kzips beside the tree)."""
import hashlib
import json
import os
import pathlib
import unittest
import zipfile

from kzip_support import KzipCase, sha
from support import ROOT

EMPTY = hashlib.sha256(b"").hexdigest()

PLACES = [
    os.environ.get("MORTISE_KZIPS"),
    ROOT.parent / "shared" / "kzips",
    ROOT.parent.parent / "shared" / "kzips",
]

REAL = next((pathlib.Path(p) for p in PLACES if p and pathlib.Path(p).is_dir()), None)

FOO = b'{"unit":{"v_name":{"corpus":"foo","language":"bar"},"source_file":["blodgit"]},"index":{"revisions":["a","b","c"]}}'

BAR = b'{"unit":{"v_name":{"corpus":"bar","language":"foo"},"source_file":["ineffable"]},"index":{"revisions":["a","b","c"]}}'

FOO_PB = b"\n\x15\n\n\x12\x03foo*\x03bar2\x07blodgit\x12\t\n\x01a\n\x01b\n\x01c"

BAR_PB = b"\n\x17\n\n\x12\x03bar*\x03foo2\tineffable\x12\t\n\x01a\n\x01b\n\x01c"

FOO_NAME = "8dc36b36bbd39d5ed4fdb3029e1dc5c107d52171c99296f1f3d5b492f619a487"

BAR_NAME = "2ebc9d0c3a9a707b704a5776961529ec48823e08a10ab750fb1c3aa9e4a54f44"

JAVA_EMPTY = (
    b'{"unit":{"v_name":{"signature":"target1","language":"java"},"argument":["-bootclasspath",'
    b'"kythe/javatests/com/google/devtools/kythe/extractors/java/testdata/empty/fake-rt.jar","-sourcepath","","-cp",""],'
    b'"output_key":"output","details":[{"@type":"kythe.io/proto/kythe.proto.JavaDetails"}]}}'
)

JAVA_EMPTY_NAME = "3153ff30de552a27ad1f5416ad193e289ee8efc300dedb2d8700c9a164f652e3"


class Verdicts(KzipCase):
    """What is said of the real archives of Kythe's own tests, on archives of the same shapes."""

    def test_corner_case(self):
        """One unit with paths like !jar!/java/lang/Object.class."""
        files = {"!jar!/java/lang/Object.class": b"\xca\xfe\xba\xbe", "A.java": b"class A {}"}
        path = self.archive_of(
            "corner_case.kzip",
            files,
            details=[{"@type": "kythe.io/proto/kythe.proto.JavaDetails", "classpath": ["!jar!"]}],
        )
        done = self.run_mortise("kzip", "info", path, "--verify", "--json")
        self.assertEqual(done.code, 0, done.err)
        self.assertEqual(
            (done.json["units"][0]["inputs"], done.json["missing"], done.json["encoding"]), (2, 0, "json")
        )
        done = self.run_mortise("kzip", "cat", path, "!jar!/java/lang/Object.class")
        self.assertEqual((done.code, done.raw), (0, b"\xca\xfe\xba\xbe"))

    def test_test_kzip(self):
        """Two details; named by the digest of its text; flags 0x808: read with one warning."""
        files = {"!CLASS_PATH_JAR!/javax/annotation/Generated.class": b"one", "Names.java": b"two"}
        unit = self.unit(
            files,
            details=[
                {"@type": "kythe.io/proto/kythe.proto.JavaDetails", "classpath": ["x"]},
                {"@type": "kythe.io/proto/kythe.proto.BuildDetails", "build_target": "#5e"},
            ],
        )
        path = self.zip(
            "test.kzip",
            [("root/", b""), (f"root/units/{sha(unit)}", unit)]
            + [(f"root/files/{sha(c)}", c) for c in files.values()],
            flags=0x800,
        )
        done = self.run_mortise("kzip", "info", path, "--verify", "--json")
        self.assertEqual(done.code, 0)
        self.assertRegex(
            done.err,
            rf"^warning: .*: unit {sha(unit)}: its digest is [0-9a-f]{{64}}; its name is the digest of its text\n$",
        )
        self.assertEqual(len(done.json["units"][0]["details"]), 2)

    def test_java_empty(self):
        path = self.zip("java_empty.kzip", [("root/", b""), (f"root/units/{JAVA_EMPTY_NAME}", JAVA_EMPTY)])
        shown = self.ok("kzip", "info", path, "--json").json
        self.assertEqual((shown["files"], shown["units"][0]["inputs"]), (0, 0))

    def test_missing_unit(self):
        """The sets of units/ and pbunits/ differ."""
        both = [
            ("root/", b""),
            ("root/pbunits/", b""),
            (f"root/pbunits/{FOO_NAME}", FOO_PB),
            ("root/units/", b""),
            (f"root/units/{FOO_NAME}", FOO),
        ]
        self.ok("kzip", "info", self.zip("equal.kzip", both))
        path = self.zip("missing-unit.kzip", both + [(f"root/pbunits/{BAR_NAME}", BAR_PB)])
        self.assertIn(
            f"pbunits/{BAR_NAME} is missing in units/", self.fails(4, "input", "kzip", "info", path).err
        )
        path = self.zip("missing-pbunit.kzip", both + [(f"root/units/{BAR_NAME}", BAR)])
        self.assertIn(
            f"units/{BAR_NAME} is missing in pbunits/", self.fails(4, "input", "kzip", "info", path).err
        )

    def test_malformed(self):
        path = self.zip("malformed.kzip", [("units/", b""), ("files/", b"")])
        self.assertIn("lies outside the root directory", self.fails(4, "input", "kzip", "info", path).err)

    def test_empty(self):
        self.assertIn("not a kzip", self.fails(4, "input", "kzip", "info", self.file("empty.kzip")).err)
        self.assertIn(
            "not a kzip", self.fails(4, "input", "kzip", "info", self.file("text.kzip", "text " * 100)).err
        )

    def test_garbage_unit(self):
        """An unknown field spoils the unit; the files are intact."""
        path = self.zip(
            "garbage_unit.kzip",
            [("root/", b""), (f"root/units/{EMPTY}", b'{"unit":{"cos":1}}'), (f"root/files/{sha(b'x')}", b"x")],
        )
        self.assertIn("unit.cos: unknown field", self.run_mortise("kzip", "info", path).err)
        self.assertEqual(self.run_mortise("kzip", "info", path).code, 4)
        self.assertEqual(self.ok("kzip", "cat", path, sha(b"x")).raw, b"x")
        self.assertEqual(self.run_mortise("kzip", "info", path, "--json").json["broken"], 1)

    def test_double_encoded_and_empty_file(self):
        """stringset_with_empty_file.kzip: the unit is a JSON string, one file has no bytes."""
        unit = json.dumps(self.unit({"empty.go": b""}).decode()).encode()
        path = self.zip(
            "twice.kzip", [("root/", b""), (f"root/units/{sha(unit)}", unit), (f"root/files/{EMPTY}", b"")]
        )
        self.assertEqual(self.run_mortise("kzip", "info", path, "--verify").code, 0)
        self.assertEqual(self.run_mortise("kzip", "cat", path, "empty.go").raw, b"")

    def test_no_units(self):
        path = self.zip("none.kzip", [("root/", b"")])
        self.assertEqual(
            self.run_mortise("kzip", "info", path).err, f"warning: {path}: there is no unit in it\n"
        )

    def test_an_entry_twice(self):
        path = self.zip(
            "twice.kzip", [("root/", b""), (f"root/files/{EMPTY}", b""), (f"root/files/{EMPTY}", b"")]
        )
        self.assertIn("is in it twice", self.fails(4, "input", "kzip", "info", path).err)

    def test_hostile_names_touch_nothing(self):
        for name in ("../../escaped", "/tmp/escaped", "root/files/../../escaped", "root/units/\n"):
            path = self.zip("hostile.kzip", [("root/", b""), (name, b"x")])
            self.fails(4, "input", "kzip", "info", path)
        self.assertEqual([p.name for p in self.dir.iterdir()], ["hostile.kzip"])

    def test_content_that_lies(self):
        path = self.zip("lies.kzip", [("root/", b""), (f"root/files/{EMPTY}", b"not empty")])
        self.ok_with_warning(path)
        done = self.run_mortise("kzip", "info", path, "--verify")
        self.assertEqual(done.code, 4)
        self.assertIn("its content has another digest", done.err)
        done = self.run_mortise("kzip", "cat", path, EMPTY)
        self.assertEqual(done.code, 4)

    def ok_with_warning(self, path):
        self.assertEqual(self.run_mortise("kzip", "info", path).code, 0)

    def test_a_bomb(self):
        content = b"0" * (8 << 20)
        path = self.archive_of("bomb.kzip", {"bomb": content})
        self.assertIn("packed more than 250 to 1", self.run_mortise("kzip", "info", path, "--verify").err)


@unittest.skipUnless(REAL, "the real kzips are not here; MORTISE_KZIPS names their directory")
class RealFiles(KzipCase):
    def info(self, name):
        return self.run_mortise("kzip", "info", "--verify", "--json", REAL / name)

    def test_read(self):
        for name, inputs, size, warned in (
            ("corner_case", 7, 7407, 0),
            ("java_empty", 0, 0, 0),
            ("test", 2, 1724, 1),
        ):
            done = self.info(f"{name}.kzip")
            self.assertEqual(done.code, 0, done.err)
            self.assertEqual(len(done.error_lines), warned, done.err)
            (unit,) = done.json["units"]
            self.assertEqual((unit["v_name"]["language"], unit["inputs"], unit["missing"]), ("java", inputs, 0))
            self.assertEqual(done.json["bytes"], size)
            self.assertEqual(done.json["encoding"], "json")

    def test_refused(self):
        for name, text in (
            ("missing-unit", f"pbunits/{BAR_NAME} is missing in units/"),
            ("missing-pbunit", f"units/{BAR_NAME} is missing in pbunits/"),
            ("malformed", 'entry "files/" lies outside'),
            ("empty", "not a kzip"),
        ):
            self.assertIn(text, self.fails(4, "input", "kzip", "info", REAL / f"{name}.kzip").err)

    def test_units_go_round(self):
        """JSON to protobuf and back: the same unit under the same name."""
        for name in ("corner_case", "java_empty"):
            out, back = self.dir / "pb.kzip", self.dir / "json.kzip"
            self.ok("kzip", "merge", "-o", out, REAL / f"{name}.kzip")
            self.ok("kzip", "merge", "-o", back, "--encoding", "json", out)
            with zipfile.ZipFile(REAL / f"{name}.kzip") as real, zipfile.ZipFile(back) as ours:
                self.assertEqual(sorted(real.namelist()), ours.namelist())
                for entry in ours.namelist():
                    if "/units/" in entry:
                        self.assertEqual(json.loads(real.read(entry)), json.loads(ours.read(entry)))
                    else:
                        self.assertEqual(real.read(entry), ours.read(entry))

    def test_files(self):
        with zipfile.ZipFile(REAL / "corner_case.kzip") as real:
            for entry in real.namelist():
                if "/files/" in entry:
                    digest = entry.rsplit("/", 1)[1]
                    self.assertEqual(
                        self.ok("kzip", "cat", REAL / "corner_case.kzip", digest).raw, real.read(entry)
                    )


class Show(KzipCase):
    def test_table(self):
        path = self.archive_of("a.kzip", {"A.java": b"class A {}"})
        done = self.run_mortise("kzip", "info", path)
        lines = done.out.splitlines()
        self.assertEqual(lines[0], f"{path}: 1 unit (json), 1 file of 10 bytes")
        self.assertEqual(lines[1].split(), ["UNIT", "LANGUAGE", "INPUTS", "BYTES", "MISSING", "SOURCE"])
        self.assertEqual(lines[2].split()[1:], ["java", "1", "10", "bytes", "0", "A.java"])
        self.assertEqual(len(lines), 3)

    def test_missing_content(self):
        unit = self.unit({"a": b"a", "b": b"b"})
        path = self.zip(
            "m.kzip", [("root/", b""), (f"root/units/{sha(unit)}", unit), (f"root/files/{sha(b'a')}", b"a")]
        )
        done = self.run_mortise("kzip", "info", path, "--json")
        self.assertEqual((done.code, done.json["missing"]), (0, 1))
        self.assertIn("1 required input is not in the archive", done.err)
        self.fails_after_warning(4, "merge", "-o", "o.kzip", path)

    def fails_after_warning(self, code, *words):
        done = self.run_mortise("kzip", *words)
        self.assertEqual(done.code, code)
        self.assertRegex(done.error_lines[-1], r"^input: .*is not in the archive$")

    def test_cat(self):
        one, two = self.unit({"x": b"1"}, output_key="1"), self.unit({"x": b"2"}, output_key="2")
        path = self.zip(
            "c.kzip",
            [
                ("r/", b""),
                (f"r/units/{sha(one)}", one),
                (f"r/units/{sha(two)}", two),
                (f"r/files/{sha(b'1')}", b"1"),
                (f"r/files/{sha(b'2')}", b"2"),
            ],
        )
        quiet = lambda *words: self.run_mortise("kzip", "cat", path, *words)
        self.assertEqual(quiet(sha(b"1")[:12]).raw, b"1")
        self.assertEqual(quiet("--unit", sha(two)[:9], "x").raw, b"2")
        self.assertEqual(quiet("--unit", sha(one)).json["unit"]["output_key"], "1")
        done = quiet("x")
        self.assertEqual(done.code, 4)
        self.assertIn("different contents for the path x", done.err)
        self.assertEqual(quiet("nothing").code, 5)
        self.assertEqual(quiet("0123456789abcdef").code, 5)
        self.assertEqual(quiet("--unit", "ffffffff").code, 5)
        self.assertEqual(quiet("--unit", "").code, 4)

    def test_merge(self):
        a, b = self.archive_of("a.kzip", {"x": b"1", "y": b"2"}), self.archive_of(
            "b.kzip", {"y": b"2", "z": b"3"}
        )
        for out, inputs in (("ab.kzip", (a, b)), ("ba.kzip", (b, a, b))):
            done = self.run_mortise("kzip", "merge", "-o", out, *inputs)
            self.assertEqual((done.code, done.out), (0, f"{out}: 2 units, 3 files\n"))
        self.assertEqual((self.dir / "ab.kzip").read_bytes(), (self.dir / "ba.kzip").read_bytes())
        # Onto itself: what is read is read before it is replaced.
        self.ok("kzip", "merge", "-o", "ab.kzip", "ab.kzip")
        self.assertEqual((self.dir / "ab.kzip").read_bytes(), (self.dir / "ba.kzip").read_bytes())

    def test_merge_of_details_that_are_not_known(self):
        path = self.archive_of("u.kzip", {"x": b"1"}, details=[{"@type": "team/Other", "deep": {"a": 1}}])
        done = self.run_mortise("kzip", "merge", "-o", "o.kzip", path)
        self.assertEqual(done.code, 4)
        self.assertRegex(done.error_lines[-1], r'^unsupported: .*"team/Other".*; use --encoding json$')
        self.assertEqual(self.run_mortise("kzip", "merge", "-o", "o.kzip", "--encoding", "json", path).code, 0)
        with zipfile.ZipFile(self.dir / "o.kzip") as archive:
            (unit,) = (json.loads(archive.read(n)) for n in archive.namelist() if "/units/" in n)
        self.assertEqual(unit["unit"]["details"], [{"@type": "team/Other", "deep": {"a": 1}}])

    def test_a_thousand_files(self):
        files = {f"d/{i}.h": f"int x{i};\n".encode() * 50 for i in range(1000)}
        path = self.archive_of("big.kzip", files)
        self.assertEqual(self.run_mortise("kzip", "merge", "-o", "o.kzip", path).code, 0)
        done = self.ok("kzip", "info", "o.kzip", "--verify", "--json")
        self.assertEqual((done.json["files"], done.json["missing"]), (1000, 0))


class Words(KzipCase):
    def test_usage(self):
        for words, text in (
            ([], "create, info, cat, merge"),
            (["inf"], "did you mean info?"),
            (["explode"], "explode"),
            (["create"], "-o OUT.kzip"),
            (["create", "-o", "x"], "--compile-commands"),
            (["create", "-o", "x", "y.c"], "--source"),
            (["create", "-o", "x", "--input", "y"], "--source"),
            (["create", "-o", "x", "--", "cc"], "--compile-commands"),
            (["create", "-o", "x", "--compile-commands", "y", "--source", "z"], "cannot be used together"),
            (["info"], "FILE.kzip"),
            (["info", "a", "b"], "FILE.kzip"),
            (["cat", "a"], "DIGEST"),
            (["merge", "a"], "-o OUT.kzip"),
            (["merge", "-o", "x"], "FILE.kzip"),
            (["merge", "-o", "x", "--encoding", "xml", "a"], "json|proto|all"),
        ):
            self.assertIn(text, self.fails(2, "usage", "kzip", *words).err)

    def test_not_there(self):
        for words in (["info", "x.kzip"], ["cat", "x.kzip", "y"], ["merge", "-o", "o.kzip", "x.kzip"]):
            self.assertIn("x.kzip", self.fails(5, "not_found", "kzip", *words).err)
        self.assertFalse(self.run_mortise("kzip", "info", "x.kzip", "--json").json["ok"])


if __name__ == "__main__":
    unittest.main()
