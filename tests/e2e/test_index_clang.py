# SPDX-License-Identifier: Apache-2.0
"""kythe-clang from end to end: kzip create, index, verify-entries. The goals are in tests/kythe/clang/."""
import json
import shutil
import unittest

from kythe_support import IndexCase, NO_NAMESPACES, read_fields, read_records
from support import BUILD, ROOT

CLANG = BUILD / "plugins" / "kythe-clang"
GOALS = ROOT / "tests" / "kythe" / "clang"


def varint(number):
    out = b""
    while number > 0x7F:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def goal_files(name):
    """A source, and the header of the same name where that has goals, too."""
    header = GOALS / name.replace(".c", ".h")
    return [name] + ([header.name] if header.is_file() and "//-" in header.read_text(encoding="utf-8") else [])


@unittest.skipUnless((CLANG / "kythe-clang").exists(), "kythe-clang is not built (it needs libclang-dev)")
@unittest.skipUnless(shutil.which("cc"), "no cc to ask for dependencies")
@unittest.skipIf(NO_NAMESPACES, NO_NAMESPACES)
class Clang(IndexCase):
    view = "namespace"

    def entries_of(self, name):
        """The entry stream of one of the sources with goals, and where it lies."""
        project = self.dir / "project"
        shutil.copytree(GOALS, project, dirs_exist_ok=True)
        kzip, result = self.dir / f"{name}.kzip", self.dir / f"{name}.entries"
        meta = ["--input", f"{name}.meta"] if (GOALS / f"{name}.meta").exists() else []
        self.ok(
            "kzip", "create", "-o", kzip, "--corpus", "test", *meta, "--", "cc", "-I.", "-c", name, cwd=project
        )
        done = self.index(kzip, "--json", "-o", result, analyzer=("--analyzer", CLANG))
        self.assertEqual(done.code, 0, done.err)
        self.assertEqual((done.json["failed"], done.json["messages"], done.json["view"]), (0, [], "namespace"))
        return result, project

    def test_goals(self):
        sources = sorted(path.name for path in GOALS.glob("*.c"))
        self.assertGreater(len(sources), 4)
        for name in sources:
            with self.subTest(source=name):
                result, project = self.entries_of(name)
                done = self.run_mortise("verify-entries", result, *goal_files(name), cwd=project)
                self.assertEqual(done.code, 0, done.out + done.err)

    def test_confined(self):
        """In a jail it sees as much: the record's files, and the headers that come with libclang itself."""
        (self.dir / "own.c").write_text(
            "#include <stdarg.h>\n#include <stddef.h>\n#include <stdio.h>\n"
            "size_t twice(size_t n, ...) { va_list more; va_start(more, n); va_end(more); return 2 * n; }\n"
        )
        kzip = self.dir / "own.kzip"
        self.ok("kzip", "create", "-o", kzip, "--", "cc", "-c", "own.c", cwd=self.dir)
        results = []
        for how in ([], ["--confine"]):
            done = self.index(
                kzip, "--json", "-o", self.dir / "own.entries", *how, analyzer=("--analyzer", CLANG)
            )
            self.assertEqual((done.code, done.json["failed"], done.json["messages"]), (0, 0, []), done.err)
            results.append((self.dir / "own.entries").read_bytes())
        self.assertGreater(len(results[0]), 10000)
        self.assertEqual(*results)

    def test_goals_can_fail(self):
        """Without its edges no stream meets its goals."""
        for path in sorted(GOALS.glob("*.c")):
            with self.subTest(source=path.name):
                result, project = self.entries_of(path.name)
                facts = b"".join(
                    varint(len(record)) + record
                    for record in read_records(result.read_bytes())
                    if 2 not in read_fields(record)
                )
                result.write_bytes(facts)
                self.assertEqual(
                    self.run_mortise("verify-entries", result, *goal_files(path.name), cwd=project).code, 1
                )

    def test_errors_are_told(self):
        """A source that does not compile: messages with their place, what can be known is known, the
        unit is done."""
        project = self.dir / "project"
        self.file(
            "project/bad.c",
            "//- @good defines/binding Good\n//- Good.node/kind function\nint good(void);\nint bad = nowhere;\n",
        )
        kzip, result = self.dir / "bad.kzip", self.dir / "bad.entries"
        self.ok("kzip", "create", "-o", kzip, "--", "cc", "-c", "bad.c", cwd=project)
        done = self.index(kzip, "-o", result, analyzer=("--analyzer", CLANG))
        self.assertEqual(done.code, 0, done.err)
        self.assertRegex(done.err, r"(?m)^bad\.c: .*bad\.c:4:11: .*nowhere")
        self.assertEqual(self.run_mortise("verify-entries", result, "bad.c", cwd=project).code, 0)

    @unittest.skipUnless((BUILD / "compile_commands.json").exists(), "no compile_commands.json")
    def test_own_sources(self):
        """A handful of Mortise's own: no failures; a second staging of the same inputs writes nothing; both
        results are the same."""
        commands = json.loads((BUILD / "compile_commands.json").read_text())
        chosen = {command["file"]: command for command in commands if "/src/core/base/" in command["file"]}
        chosen = list(chosen.values())[:6]
        if len(chosen) < 6:
            self.skipTest("the build has no src/core/base")
        database = self.file("compile_commands.json", json.dumps(chosen))
        kzip = self.dir / "own.kzip"
        self.ok("kzip", "create", "-o", kzip, "--corpus", "mortise", "--compile-commands", database)
        reports, results = [], []
        for run in range(2):
            result = self.dir / f"own{run}.entries"
            done = self.index(kzip, "--json", "-o", result, analyzer=("--analyzer", CLANG))
            self.assertEqual(done.code, 0, done.err)
            reports.append(done.json)
            results.append(result.read_bytes())
        for report in reports:
            self.assertEqual((report["failed"], report["done"], report["view"]), (0, 6, "namespace"))
        self.assertGreater(reports[0]["staging"]["written"], 0)
        self.assertEqual(reports[1]["staging"]["written"], 0)
        self.assertEqual(results[0], results[1])
        self.assertGreater(reports[0]["entries"], 1000)


if __name__ == "__main__":
    unittest.main()
