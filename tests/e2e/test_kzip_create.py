# SPDX-License-Identifier: Apache-2.0
"""mortise kzip create: records from named files, from a compiler, from compile_commands.json."""
import json
import os
import signal
import subprocess
import unittest
import zipfile

import events
from kzip_support import KzipCase, sha
from support import BUILD, LIMIT, MORTISE, ROOT


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
        events.until(lambda: pid.exists() and pid.read_text().strip(), self.dir, process=process)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(LIMIT), 130)
        self.assertEqual(events.until_ended([int(pid.read_text())]), [])
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
        mine = [c for c in commands if "/src/core/wire/" in c["command"]]
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
            self.ok("kzip", "cat", "o.kzip", "src/core/wire/json.h").raw,
            (ROOT / "src/core/wire/json.h").read_bytes(),
        )


if __name__ == "__main__":
    unittest.main()
