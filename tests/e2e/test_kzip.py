# SPDX-License-Identifier: Apache-2.0
"""mortise kzip: archives made here, and the seven real ones where they are at hand (in $MORTISE_KZIPS, or
in shared/kzips beside the tree)."""
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import unittest
import warnings
import zipfile

from support import BUILD, Case, LIMIT, MORTISE, ROOT

EMPTY = hashlib.sha256(b"").hexdigest()
PLACES = [
    os.environ.get("MORTISE_KZIPS"),
    ROOT.parent / "shared" / "kzips",
    ROOT.parents[1] / "shared" / "kzips",
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


def sha(content):
    return hashlib.sha256(content).hexdigest()


class KzipCase(Case):
    def zip(self, name, entries, flags=0):
        """An archive as Python writes it; a name that ends in "/" is a directory."""
        path = self.dir / name
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about names that come twice
            for entry, content in entries:
                info = zipfile.ZipInfo(entry, (2019, 8, 6, 13, 6, 34))
                info.compress_type = zipfile.ZIP_DEFLATED
                info.flag_bits |= flags
                archive.writestr(info, content)
        return path

    def unit(self, files, **more):
        """JSON of a unit that requires these {path: content}."""
        return json.dumps(
            {
                "unit": {
                    "v_name": {"language": "java"},
                    "required_input": [
                        {
                            "v_name": {"corpus": "kythe", "path": path.strip("!")},
                            "info": {"path": path, "digest": sha(content)},
                        }
                        for path, content in files.items()
                    ],
                    "source_file": sorted(files)[:1],
                    **more,
                }
            }
        ).encode()

    def archive_of(self, name, files, unit_name=None, **more):
        unit = self.unit(files, **more)
        return self.zip(
            name,
            [("root/", b""), (f"root/units/{unit_name or sha(unit)}", unit)]
            + [(f"root/files/{sha(c)}", c) for c in files.values()],
        )


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


class Create(KzipCase):
    def project(self):
        self.file("inc/a b.h", "#define A 1\n")
        self.file("src/x.c", '#include "a b.h"\n#include <stddef.h>\nint x = A;\n')

    def units(self, path):
        digests = [u["digest"] for u in self.ok("kzip", "info", path, "--json").json["units"]]
        return [self.ok("kzip", "cat", path, "--unit", d).json["unit"] for d in digests]

    def test_one_command(self):
        self.project()
        done = self.ok(
            "kzip", "create", "-o", "o.kzip", "--corpus", "c", "--", "cc", "-Iinc", "-c", "src/x.c", "-o", "x.o"
        )
        self.assertRegex(done.out, r"^o\.kzip: 1 unit, \d+ files\n$")
        self.assertFalse((self.dir / "x.o").exists())
        (unit,) = self.units("o.kzip")
        self.assertEqual(unit["v_name"], {"corpus": "c", "language": "c++"})
        self.assertEqual(unit["argument"], ["cc", "-Iinc", "-c", "src/x.c", "-o", "x.o"])
        self.assertEqual((unit["source_file"], unit["output_key"]), (["src/x.c"], "x.o"))
        self.assertEqual(unit["working_directory"], os.path.realpath(self.dir))
        inputs = {i["info"]["path"]: i for i in unit["required_input"]}
        self.assertEqual(inputs["inc/a b.h"]["info"]["digest"], sha(b"#define A 1\n"))
        self.assertEqual(inputs["inc/a b.h"]["v_name"], {"corpus": "c", "path": "inc/a b.h"})
        (system,) = (p for p in inputs if p.endswith("/stddef.h"))
        self.assertTrue(system.startswith("/"))
        self.assertFalse(inputs[system]["v_name"]["path"].startswith("/"))
        self.assertEqual(self.ok("kzip", "cat", "o.kzip", "src/x.c").raw, (self.dir / "src/x.c").read_bytes())
        self.assertEqual(
            self.ok("kzip", "cat", "o.kzip", self.dir / "src" / "." / "x.c").raw,
            (self.dir / "src/x.c").read_bytes(),
        )

    def test_launchers_are_left_out(self):
        self.project()
        self.ok("kzip", "create", "-o", "o.kzip", "--", "ccache", "cc", "-Iinc", "src/x.c")
        self.assertEqual(self.units("o.kzip")[0]["argument"][0], "cc")

    def test_named_files(self):
        """Any language; nothing is run."""
        self.file("m.go", "package m")
        self.file("fmt.a", b"\0\xff")
        self.ok(
            "kzip",
            "create",
            "-o",
            "o.kzip",
            "--source",
            "m.go",
            "--input",
            "fmt.a",
            "--input",
            "m.go",
            "--",
            "/nonexistent/compile",
            "-o",
            "m.a",
            "m.go",
        )
        (unit,) = self.units("o.kzip")
        self.assertEqual(unit["v_name"], {"language": "go"})
        self.assertEqual({i["info"]["path"] for i in unit["required_input"]}, {"m.go", "fmt.a"})
        self.assertEqual(unit["argument"][0], "/nonexistent/compile")
        self.assertEqual(unit["output_key"], "m.a")

    def test_input_beside_a_command(self):
        """What the compiler cannot know of."""
        self.project()
        self.file("x.meta", "{}")
        self.ok("kzip", "create", "-o", "o.kzip", "--input", "x.meta", "--", "cc", "-Iinc", "-c", "src/x.c")
        (unit,) = self.units("o.kzip")
        paths = [one["info"]["path"] for one in unit["required_input"]]
        self.assertTrue({"x.meta", "inc/a b.h", "src/x.c"} <= set(paths), paths)

    def test_language(self):
        self.file("thing.xyz", "x")
        self.assertIn(
            "--language", self.fails(2, "usage", "kzip", "create", "-o", "o.kzip", "--source", "thing.xyz").err
        )
        self.ok("kzip", "create", "-o", "o.kzip", "--language", "xyz", "--source", "thing.xyz")
        self.assertEqual(self.units("o.kzip")[0]["v_name"]["language"], "xyz")
        done = self.fails(
            2, "usage", "kzip", "create", "-o", "p.kzip", "--language", "", "--source", "thing.xyz"
        )
        self.assertIn("--language must not be empty", done.err)

    def test_vnames(self):
        self.project()
        self.file(
            "vnames.json",
            json.dumps(
                [
                    {
                        "pattern": "(/usr/.*|.*/lib/.*)/([^/]*)",
                        "vname": {"corpus": "system", "root": "@1@", "path": "@2@"},
                    },
                    {
                        "pattern": "inc/(?P<rest>.*)",
                        "vname": {"corpus": "headers", "path": "@rest@", "signature": "never"},
                    },
                ]
            ),
        )
        self.ok(
            "kzip",
            "create",
            "-o",
            "o.kzip",
            "--corpus",
            "c",
            "--vnames",
            "vnames.json",
            "--",
            "cc",
            "-Iinc",
            "src/x.c",
        )
        names = {i["info"]["path"]: i["v_name"] for i in self.units("o.kzip")[0]["required_input"]}
        self.assertEqual(names["inc/a b.h"], {"corpus": "headers", "path": "a b.h"})
        self.assertEqual(names["src/x.c"], {"corpus": "c", "path": "src/x.c"})
        (system,) = (n for p, n in names.items() if p.endswith("/stddef.h"))
        self.assertEqual((system["corpus"], system["path"]), ("system", "stddef.h"))
        self.file("bad.json", '[{"pattern":"(a)\\\\1","vname":{}}]')
        done = self.fails(
            4, "input", "kzip", "create", "-o", "p.kzip", "--vnames", "bad.json", "--", "cc", "src/x.c"
        )
        self.assertIn("bad.json: rule 1: ", done.err)

    def compdb(self, *entries):
        return self.file("build/compile_commands.json", json.dumps(entries))

    def test_compile_commands(self):
        self.project()
        build = str(self.dir / "build")
        self.file("src/y.c", '#include "../inc/a b.h"\nint y;\n')
        db = self.compdb(
            {
                "directory": build,
                "file": "../src/x.c",
                "command": "ccache cc -I../inc '-DX=\"a b\"' -MD -MF x.d -o x.o -c ../src/x.c",
            },
            {
                "directory": ".",
                "file": str(self.dir / "src/y.c"),
                "arguments": ["cc", "-c", "../src/y.c", "-oy.o"],
            },
        )
        done = self.ok("kzip", "create", "-o", "o.kzip", "--compile-commands", db, "--json")
        self.assertEqual((done.json["units"], done.json["failed"]), (2, 0))
        self.assertEqual([p.name for p in (self.dir / "build").iterdir()], ["compile_commands.json"])
        by_source = {u["source_file"][0]: u for u in self.units("o.kzip")}
        self.assertEqual(set(by_source), {"../src/x.c", "../src/y.c"})
        unit = by_source["../src/x.c"]
        self.assertEqual(
            unit["argument"],
            ["cc", "-I../inc", '-DX="a b"', "-MD", "-MF", "x.d", "-o", "x.o", "-c", "../src/x.c"],
        )
        self.assertEqual(unit["working_directory"], build)
        names = {i["info"]["path"]: i["v_name"]["path"] for i in unit["required_input"]}
        self.assertEqual(names["../inc/a b.h"], "inc/a b.h")
        self.assertEqual(self.ok("kzip", "cat", "o.kzip", "inc/a b.h").raw, b"#define A 1\n")

    def test_same_content_same_bytes(self):
        self.project()
        db = self.compdb(
            *(
                {"directory": str(self.dir), "file": "src/x.c", "command": f"cc -Iinc -DN={n} -c src/x.c"}
                for n in range(6)
            )
        )
        for name, jobs, zone in (("a.kzip", 1, "UTC"), ("b.kzip", 4, "America/New_York")):
            self.ok("kzip", "create", "-o", name, "-j", jobs, "--compile-commands", db, env={"TZ": zone})
        self.assertEqual((self.dir / "a.kzip").read_bytes(), (self.dir / "b.kzip").read_bytes())

    def test_a_command_that_fails(self):
        """It is told by name; the others are recorded; the exit code is 1."""
        self.project()
        self.file("src/bad.c", "#include <not-there.h>\n")
        here = str(self.dir)
        db = self.compdb(
            {"directory": here, "file": "src/bad.c", "command": "cc -c src/bad.c"},
            {"directory": here, "file": "src/x.c", "command": "cc -Iinc -c src/x.c"},
            {"directory": here, "file": "z.c", "command": "/nonexistent/cc -c z.c"},
            {"directory": here, "file": "q.c", "command": "cc 'z.c"},
            {"file": "lost.c"},
        )
        done = self.run_mortise("kzip", "create", "-o", "o.kzip", "--compile-commands", db)
        self.assertEqual(done.code, 1)
        self.assertRegex(done.out, r"^o\.kzip: 1 unit, \d+ files\n$")
        self.assertRegex(done.err, r"(?m)^input: src/bad\.c: the compiler ended with 1 .*not-there\.h")
        self.assertRegex(done.err, r"(?m)^start: z\.c: cannot run /nonexistent/cc")
        self.assertRegex(done.err, r"(?m)^input: q\.c: the command has a quote that is not closed")
        self.assertRegex(done.err, r"(?m)^input: lost\.c: .*command 5 lacks")
        self.assertEqual(len(done.error_lines), 4)

    def test_nothing_to_record(self):
        done = self.run_mortise("kzip", "create", "-o", "o.kzip", "--", "cc", "-c", "not-there.c")
        self.assertEqual(done.code, 4)
        self.assertFalse((self.dir / "o.kzip").exists())
        db = self.compdb({"directory": str(self.dir), "file": "not-there.c", "command": "cc -c not-there.c"})
        done = self.run_mortise("kzip", "create", "-o", "o.kzip", "--compile-commands", db)
        self.assertEqual(done.code, 4)
        self.assertFalse((self.dir / "o.kzip").exists())
        for text in ("{}", "[]", "no"):
            self.fails(
                4, "input", "kzip", "create", "-o", "o.kzip", "--compile-commands", self.file("db.json", text)
            )
        self.fails(5, "not_found", "kzip", "create", "-o", "o.kzip", "--compile-commands", "nowhere.json")

    def test_interrupted(self):
        """Ctrl-C ends the compilers that are being asked and leaves no archive."""
        slow = self.file("slow-cc", "#!/bin/sh\necho $$ > pid\nexec sleep 1000\n")
        slow.chmod(0o755)
        db = self.compdb({"directory": str(self.dir), "file": "x.c", "arguments": [str(slow), "x.c"]})
        process = subprocess.Popen(
            [MORTISE, "kzip", "create", "-o", "o.kzip", "--compile-commands", db],
            cwd=self.dir,
            env=self.env,
            stderr=subprocess.PIPE,
        )
        self.addCleanup(process.stderr.close)
        pid = self.dir / "pid"
        while not (pid.exists() and pid.read_text().strip()):
            self.assertIsNone(process.poll())
            os.sched_yield()
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(LIMIT), 130)
        with self.assertRaises(ProcessLookupError):
            os.kill(int(pid.read_text()), 0)
        self.assertFalse((self.dir / "o.kzip").exists())

    def test_output_that_cannot_be(self):
        self.file("x.c", "int x;")
        self.fails(5, "not_found", "kzip", "create", "-o", "no/such/dir/o.kzip", "--source", "x.c")
        self.fails(5, "not_found", "kzip", "create", "-o", "o.kzip", "--source", "y.c")
        (self.dir / "d.kzip").mkdir()
        self.assertNotEqual(self.run_mortise("kzip", "create", "-o", "d.kzip", "--source", "x.c").code, 0)

    def test_encodings(self):
        self.file("x.c", "int x;")
        for how, env, places in (
            ([], {}, {"pbunits"}),
            (["--encoding", "json"], {}, {"units"}),
            (["--encoding", "ALL"], {}, {"units", "pbunits"}),
            ([], {"KYTHE_KZIP_ENCODING": "JSON"}, {"units"}),
            (["--encoding", "proto"], {"KYTHE_KZIP_ENCODING": "JSON"}, {"pbunits"}),
        ):
            self.ok("kzip", "create", "-o", "o.kzip", "--source", "x.c", *how, env=env)
            with zipfile.ZipFile(self.dir / "o.kzip") as archive:
                self.assertIsNone(archive.testzip())
                self.assertEqual(archive.comment, b"Kythe kzip archive")
                self.assertEqual({n.split("/")[1] for n in archive.namelist()[1:]}, places | {"files"})
        self.fails(
            2, "usage", "kzip", "create", "-o", "o.kzip", "--source", "x.c", env={"KYTHE_KZIP_ENCODING": "xml"}
        )

    @unittest.skipUnless((BUILD / "compile_commands.json").exists(), "the build has no compile_commands.json")
    def test_mortise_itself(self):
        commands = json.loads((BUILD / "compile_commands.json").read_text())
        mine = [c for c in commands if "/src/wire/" in c["command"]]
        self.assertGreater(len(mine), 5)
        db = self.file("db.json", json.dumps(mine))
        self.ok(
            "kzip",
            "create",
            "-o",
            self.dir / "o.kzip",
            "--corpus",
            "mortise",
            "--compile-commands",
            db,
            cwd=ROOT,
        )
        done = self.ok("kzip", "info", "o.kzip", "--verify", "--json")
        self.assertEqual(
            (len(done.json["units"]), done.json["missing"], done.json["broken"]), (len(mine), 0, 0)
        )
        self.assertEqual(
            self.ok("kzip", "cat", "o.kzip", "src/wire/json.h").raw, (ROOT / "src/wire/json.h").read_bytes()
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
