#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tools/lint finds a planted fault of each kind, names a tool that fails, and remembers only what is clean.

The trees here are small and the tools are the real ones; a test whose tool is missing is skipped.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = "clang clang-tidy cppcheck clang-format black".split()
COPIED = ["tools", ".clang-format", ".clang-tidy"]
FLAGS = "-I../include -Isrc -I../src -I../src/core -Wall -Wextra -Werror -std=gnu11 -O2 -D_GNU_SOURCE -Wshadow"
FIRST = "/* SPDX-License-Identifier: Apache-2.0 */\n"
SHADOW = (
    "static inline int shade(int a)\n{\n\tif (a > 0) {\n\t\tint a = 1;\n\t\treturn a;\n\t}\n\treturn a;\n}\n"
)
STDLIB = "#include <stdlib.h>\n"

# {file: (text, [part and what is said of it])}
FAULTS = {
    # warnings of clang: in a source, in a header, in a test, and only where a second build reads it
    "src/core/base/warned.c": (
        "static int never(void)\n{\n\treturn 0;\n}\n",
        ["clang-diagnostic-unused-function"],
    ),
    "src/core/base/shadow.h": (SHADOW, ["src/core/base/shadow.h:5:7: .*clang-diagnostic-shadow"]),
    "src/core/base/shadow.c": ('#include "base/shadow.h"\nint main(void)\n{\n\treturn shade(1);\n}\n', []),
    "plugins/p/own.h": (SHADOW, ["plugins/p/own.h:5:7: .*clang-diagnostic-shadow"]),
    "plugins/p/main.c": ('#include "own.h"\nint main(void)\n{\n\treturn shade(1);\n}\n', []),
    "tests/unit/t.c": (
        "int main(void)\n{\n\tint a;\n\treturn 0;\n}\n",
        ["tests/unit/t.c:4:.*Wunused-variable"],
    ),
    "src/core/base/twice.c": (
        "#ifdef SECOND\nint f(int a, int b)\n{\n\treturn a;\n}\n#endif\nint g(void);\n",
        ["src/core/base/twice.c:3:.*Wunused-parameter"],
    ),
    # clang-tidy, one of each family in .clang-tidy
    "src/core/base/t_bug.c": (
        "#include <string.h>\nint f(const char *a);\nint f(const char *a)\n{\n\treturn strcmp(a, \"b\") == 7;\n}\n",
        ["bugprone-suspicious-string-compare"],
    ),
    "src/core/base/t_null.c": (
        "int f(int *a);\nint f(int *a)\n{\n\tif (!a)\n\t\treturn *a;\n\treturn 0;\n}\n",
        ["clang-analyzer-core.NullDereference"],
    ),
    "src/core/base/t_leak.c": (
        STDLIB + "int f(int a);\nint f(int a)\n{\n\tchar *b = malloc(3);\n\tif (!b || a == 3)\n\t\treturn -1;\n"
        "\tfree(b);\n\treturn 0;\n}\n",
        ["clang-analyzer-unix.Malloc"],
    ),
    "src/core/base/t_freed.c": (
        STDLIB + "int f(char *a);\nstatic void drop(char *a)\n{\n\tfree(a);\n}\nint f(char *a)\n{\n\tdrop(a);\n"
        "\treturn a[0];\n}\n",
        ["clang-analyzer-unix.Malloc"],
    ),
    "src/core/base/t_dead.c": (
        "int f(int a);\nint f(int a)\n{\n\tint b = a;\n\n\tb = a + 1;\n\tb = a + 2;\n\treturn b;\n}\n",
        ["clang-analyzer-deadcode.DeadStores"],
    ),
    "src/core/base/t_unused.c": (
        "static int f(int a)\n{\n\treturn 0;\n}\nint g(void);\nint g(void)\n{\n\treturn f(1);\n}\n",
        ["misc-unused-parameters"],
    ),
    "src/core/base/t_twice.c": ("#include <stdio.h>\n#include <stdio.h>\n", ["readability-duplicate-include"]),
    "src/core/base/t_indent.c": (
        "int f(int a);\n/* clang-format off */\nint f(int a)\n{\n\tif (a)\n\t\ta++;\n\t\ta--;\n\treturn a;\n}\n",
        ["readability-misleading-indentation|Wmisleading-indentation|clang-diagnostic-misleading-indentation"],
    ),
    "src/core/base/t_flow.c": (
        "void f(int *a);\nvoid f(int *a)\n{\n\t*a = 1;\n\treturn;\n}\n",
        ["readability-redundant-control-flow"],
    ),
    "src/lib/manifest/t_copy.cpp": (
        "#include <string>\nsize_t f(std::string a);\nsize_t f(std::string a)\n{\n\treturn a.size();\n}\n",
        ["performance-unnecessary-value-param"],
    ),
    # cppcheck: each severity, and a configuration that no build here has
    "src/core/base/c_out.c": (
        "int f(void);\nint f(void)\n{\n\tint a[2] = { 0, 1 };\n\tint b = 3;\n\treturn a[b];\n}\n",
        [r"src/core/base/c_out.c:7:.*\[arrayIndexOutOfBounds\]"],
    ),
    "src/core/base/c_format.c": (
        "#include <stdio.h>\nvoid f(long a);\nvoid f(long a)\n{\n\t(void)sscanf(\"1\", \"%d\", &a);\n}\n",
        [r"src/core/base/c_format.c:6:.*\[invalidScanfArgType_int\]"],
    ),
    "src/core/base/c_other.c": (
        "#ifdef SOMEWHERE_ELSE\nint f(void)\n{\n\tint *a = 0;\n\treturn *a;\n}\n#endif\n",
        [r"src/core/base/c_other.c:6:.*\[nullPointer\]"],
    ),
    "src/core/base/c_port.c": (
        "int f(int *a);\nint f(int *a)\n{\n\tint b = a;\n\treturn b;\n}\n",
        [r"src/core/base/c_port.c:5:.*\[AssignmentAddressToInteger\]"],
    ),
    # the format, and the rules of the house
    "src/core/base/f.c": ("int  a;\n", ["src/core/base/f.c:2: not in its form"]),
    "tools/odd.py": ("a = {1:2}\n", ["tools/odd.py:2: not in its form"]),
    "src/core/base/banned.c": (
        "void f(char *a);\nvoid f(char *a)\n{\n\tstrcpy(a, \"b\");\n}\n",
        [r"strcpy\(\) is banned"],
    ),
    "src/core/base/lone.h": ("size_t f(void);\n", ["src/core/base/lone.h:1: alone"]),
}
CLEAN = {
    "src/core/base/a.h": "int mor_a_get(int a);\n",
    "src/core/base/a.c": '#include "base/a.h"\n\nint mor_a_get(int a)\n{\n\treturn a + 1;\n}\n',
    "tests/unit/t.c": '#include "base/a.h"\n\nint main(void)\n{\n\treturn mor_a_get(-1);\n}\n',
}


class Tree:
    def __init__(self, top, texts):
        self.top = pathlib.Path(top)
        for name in COPIED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, self.top / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / name, self.top / name)
        for name, text in texts.items():
            self.put(name, text)
        (self.top / "include").mkdir(exist_ok=True)
        self.configure([name for name in texts if name.endswith((".c", ".cpp"))])

    def put(self, name, text):
        file = self.top / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(
            (FIRST if name.endswith((".c", ".h", ".cpp")) else "# SPDX-License-Identifier: Apache-2.0\n") + text
        )

    def configure(self, sources):
        """As meson would; no more than this file of a build directory is read."""
        build = self.top / "build-lint"
        build.mkdir(exist_ok=True)
        entries = []
        for name in sources:
            compiler = "clang++" if name.endswith(".cpp") else "clang"
            flags = FLAGS.replace("gnu11", "c++17") if compiler == "clang++" else FLAGS
            for more in ["", *(["-DSECOND"] if "twice" in name else [])]:
                command = f"{compiler} -Ix.p {flags} {more} -MD -MQ x.o -MF x.o.d -o x.o -c ../{name}"
                entries.append({"directory": str(build), "command": command, "file": f"../{name}"})
        (build / "compile_commands.json").write_text(json.dumps(entries))

    def lint(self, *words, path=None):
        """(status, output)"""
        env = {**os.environ, "XDG_CACHE_HOME": str(self.top / "cache"), "PATH": path or os.environ["PATH"]}
        done = subprocess.run(
            ["/usr/bin/python3", str(self.top / "tools/lint"), *words],
            cwd=self.top,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return done.returncode, done.stdout


def known(output):
    """{part: (files, those that were known)}"""
    rows = re.findall(r"^lint: (\S+) +(\d+) (?:(\d+) known)?", output, re.M)
    return {part: (int(files), int(number or 0)) for part, files, number in rows}


@unittest.skipIf(
    missing := [tool for tool in TOOLS if not shutil.which(tool)],
    f"{' '.join(missing)} missing: ./dev lint installs them",
)
class TestLint(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()

    def test_every_planted_fault_is_found(self):
        tree = Tree(self.folder, {name: text for name, (text, _) in FAULTS.items()})
        status, output = tree.lint()
        self.assertEqual(status, 1, output)
        for name, (_, wants) in FAULTS.items():
            for want in wants:
                self.assertRegex(output, want, f"{name}: {want} was not found")
        for part in ("check", "format", "clang-tidy", "clang", "cppcheck"):
            self.assertRegex(output, rf"(?m)^lint: {part} .* \d+ with findings$")
        self.assertIn("lint: not clean; ", output.splitlines()[-1])
        self.assertNotIn("could not be judged", output)
        # What had a fault is not remembered as clean.
        _, again = tree.lint(
            "src/core/base/t_null.c", "src/core/base/c_out.c", "src/core/base/f.c", "tests/unit/t.c"
        )
        for want in ("core.NullDereference", "arrayIndexOutOfBounds", "not in its form", "tests/unit/t.c:4:"):
            self.assertIn(want, again)

    def test_what_is_clean_is_remembered_until_a_header_changes(self):
        tree = Tree(self.folder, CLEAN)
        files = list(CLEAN)
        status, output = tree.lint(*files)
        self.assertEqual(status, 0, output)
        self.assertEqual(
            known(output), {"format": (3, 0), "clang-tidy": (1, 0), "clang": (1, 0), "cppcheck": (1, 0)}
        )
        _, output = tree.lint(*files)
        self.assertEqual(
            known(output), {"format": (3, 3), "clang-tidy": (1, 1), "clang": (1, 1), "cppcheck": (1, 1)}
        )
        _, output = tree.lint("--fresh", *files)
        self.assertEqual(known(output)["clang-tidy"], (1, 0))
        with (tree.top / ".clang-tidy").open("a") as file:
            file.write("# a setting counts, too\n")
        _, output = tree.lint(*files)
        self.assertEqual(
            known(output), {"format": (3, 3), "clang-tidy": (1, 0), "clang": (1, 1), "cppcheck": (1, 1)}
        )
        tree.put("src/core/base/a.h", CLEAN["src/core/base/a.h"] + SHADOW)
        status, output = tree.lint(*files)
        self.assertEqual(status, 1)
        self.assertEqual(
            known(output), {"format": (3, 2), "clang-tidy": (1, 0), "clang": (1, 0), "cppcheck": (1, 0)}
        )
        self.assertIn("clang-diagnostic-shadow", output)

    def test_a_header_is_read_through_a_source(self):
        tree = Tree(self.folder, CLEAN)
        tree.put("src/core/base/a.h", CLEAN["src/core/base/a.h"] + SHADOW)
        status, output = tree.lint("src/core/base/a.h")
        self.assertEqual(status, 1)
        self.assertRegex(output, r"src/core/base/a.h:6:7: error: .*clang-diagnostic-shadow")

    def test_a_tool_that_crashes_is_said_by_name(self):
        crash = "#pragma clang __debug crash\n"
        tree = Tree(self.folder, {"src/core/base/x.c": crash, "tests/unit/y.c": crash, **CLEAN})
        status, output = tree.lint("src/core/base/x.c", "tests/unit/y.c", "src/core/base/a.c")
        self.assertEqual(status, 1)
        self.assertRegex(output, r"lint: clang-tidy failed on src/core/base/x.c \((ended by SIG|status )")
        self.assertRegex(output, r"lint: clang failed on tests/unit/y.c \((ended by SIG|status )")
        self.assertRegex(output, r"lint: clang-tidy +2 .* 1 could not be judged")
        self.assertRegex(output, r"lint: cppcheck +2 .* ok")

    def test_a_tool_that_is_missing_is_said_by_name(self):
        tree = Tree(self.folder, CLEAN)
        bin_ = self.folder / "bin"
        bin_.mkdir()
        for tool in ("clang", "clang++", "clang-tidy", "clang-format", "gcc", "env"):
            (bin_ / tool).symlink_to(shutil.which(tool))
        status, output = tree.lint("src/core/base/a.c", path=str(bin_))
        self.assertEqual(status, 1)
        self.assertIn("lint: cppcheck is missing: apt-get install cppcheck", output)
        self.assertRegex(output, r"lint: clang-tidy +1 .* ok")

    def test_without_a_home_nothing_is_remembered(self):
        tree = Tree(self.folder, CLEAN)
        words = ["/usr/bin/python3", str(tree.top / "tools/lint"), "src/core/base/a.c"]
        for _ in range(2):
            done = subprocess.run(
                words, cwd=tree.top, env={"PATH": os.environ["PATH"]}, capture_output=True, text=True
            )
            self.assertEqual((done.returncode, known(done.stdout)["clang-tidy"]), (0, (1, 0)), done.stdout)


if __name__ == "__main__":
    unittest.main()
