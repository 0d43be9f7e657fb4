# SPDX-License-Identifier: Apache-2.0
"""A new dialect touches one file, one line of the registry, one folder of scripts, one page, and one entry for
the fault tests. A made-up one
is added to a copy of the tree, and that is built and tried: its scripts, the tests of all tables, and those
of the pages."""
import json
import os
import shutil
import subprocess
import unittest

from support import BUILD, Case, ROOT

TABLE = """/* SPDX-License-Identifier: Apache-2.0 */
/* parrot: says again what it is told. */
#include "dialect/internal.h"

static const struct mor_field say_params[] = {
	{ "words", MOR_T_STRING, MOR_F_REQUIRED, .doc = "What to say" },
	{ 0 },
};

static const struct mor_method methods[] = {
	{ "perch", MOR_ROLE_HELLO, .timing = MOR_TIMING(.timeout_ms = 1000), .spec = "1",
	  .doc = "It sits down." },
	{ "say", MOR_ROLE_CALL,
	  .timing = MOR_TIMING(.timeout_ms = 2000),
	  .outcome = MOR_OUTCOME(.ok = "/said", .why = "/mood"),
	  .params = say_params,
	  .spec = "2",
	  .doc = "It says it, or it does not feel like it." },
	{ 0 },
};

static const struct mor_code codes[] = { MOR_CODES_JSONRPC, { 0 } };

const struct mor_dialect mor_dialect_parrot = {
	.name = "parrot",
	.title = "Parrots",
	.spec_url = "made up",
	.doc = "For the test that adds a dialect.",
	.example = "mortise call -d parrot say words=hello -- ./parrot",
	.link = { .framing = MOR_FRAMING_LINES, .frame_limit = MOR_MIB, .queue_limit = MOR_MIB },
	.life = {
		.max_in_flight = 1,
		.stop = { .term_ms = 1000, .kill_ms = 1000 },
		.restart = MOR_RESTART_USUAL,
	},
	.methods = methods,
	.codes = codes,
};
"""
SCRIPT = """talk 1 parrot
# 1 and 2: it sits down, speaks, and does not feel like it.
* start
> {"jsonrpc":"2.0","id":1,"method":"perch"}
< {"jsonrpc":"2.0","id":1,"result":null}
* call say {"words":"hello"}
> {"jsonrpc":"2.0","id":2,"method":"say","params":{"words":"hello"}}
< {"jsonrpc":"2.0","id":2,"result":{"said":true}}
* result {"said":true}
* call say {"words":"again"}
> {"jsonrpc":"2.0","id":3,"method":"say","params":{"words":"again"}}
< {"jsonrpc":"2.0","id":3,"result":{"said":false,"mood":"not now"}}
* fails EREMOTE text="not now"
"""
PAGE = """# parrot

| rule | test |
|---|---|
| 1 `perch` within 1 s, 2 `say` `words` within 2 s, -32700 … -32600 | `say` |
"""
TONGUE = """	{
		.name = "parrot",
		.dialect = "parrot",
		.framing = MOR_FRAMING_LINES,
		.action = "say",
		.params = "{\\"words\\":%}",
		.form = AS_TEXT,
		.method = "say",
		.at = "/words",
		.head = "{\\"said\\":true,\\"mood\\":\\"",
		.tail = "\\"}",
		.greeting = { "perch" },
		.fixed = { { "perch", "null" } },
		.greets = true,
	},
"""
BUILT = (
    "tests/unit/host/talk-player tests/unit/dialect_all mortise-jail tests/fault/fault-matrix "
    "tests/fault/fault-plugin tests/fault/fault-jail"
).split()
BUILT_FROM = ("include", "src", "sdk", "plugins", "docs", "examples", "tests", "bench", "tools")


class MadeUp(Case):
    def tree(self):
        tree = self.dir / "tree"
        tree.mkdir()
        for part in BUILT_FROM:
            shutil.copytree(
                ROOT / part,
                tree / part,
                symlinks=True,
                ignore=shutil.ignore_patterns("node_modules", "__pycache__"),
            )
        for file in ROOT.glob("*"):
            if file.is_file():
                shutil.copy(file, tree)
        return tree

    def add(self, tree):
        (tree / "src/lib/dialect/parrot.c").write_text(TABLE, encoding="utf-8")
        registry = tree / "src/lib/dialect/meson.build"
        old = registry.read_text(encoding="utf-8")
        registry.write_text(old.replace("  'kythe',\n", "  'kythe',\n  'parrot',\n", 1), encoding="utf-8")
        (tree / "tests/talk/parrot").mkdir()
        (tree / "tests/talk/parrot/say.talk").write_text(SCRIPT, encoding="utf-8")
        (tree / "docs/dialects/parrot.md").write_text(PAGE, encoding="utf-8")

        tongues = tree / "tests/kit/tongue.c"
        old = tongues.read_text(encoding="utf-8")
        tongues.write_text(old.replace("};\nconst size_t", f"{TONGUE}}};\nconst size_t", 1), encoding="utf-8")

    def runs(self, *words, **how):
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **how)
        self.assertEqual(done.returncode, 0, done.stdout[-4000:] + done.stderr[-4000:])
        return done.stdout

    def pkg_config_path(self):
        options = json.loads(self.runs("/usr/bin/meson", "introspect", "--buildoptions", BUILD))
        return ":".join(next(option["value"] for option in options if option["name"] == "pkg_config_path"))

    def test_five_places(self):
        tree = self.tree()
        self.add(tree)
        build = tree / "build"
        self.runs(
            "/usr/bin/meson",
            "setup",
            build,
            tree,
            "--buildtype=plain",  # half the time of one with debug information
            "--pkg-config-path",
            self.pkg_config_path(),
        )
        self.runs("ninja", "-C", build, *BUILT)
        self.assertIn("ok 1", self.runs(build / "tests/unit/host/talk-player", tree / "tests/talk/parrot"))
        self.runs(build / "tests/unit/dialect_all")
        self.assertIn("ok 1", self.runs(build / "tests/fault/fault-matrix", "parrot", "crash/call"))
        self.assertIn(
            "parrot", self.runs("/usr/bin/meson", "test", "-C", build, "--list", "fault-matrix-parrot")
        )
        self.runs(
            "/usr/bin/python3",
            tree / "tests/e2e/test_docs.py",
            "Names",
            env={**os.environ, "MORTISE_BUILD": str(build)},
        )
        self.runs("/usr/bin/python3", tree / "tools/check", "length", cwd=tree)


if __name__ == "__main__":
    unittest.main()
