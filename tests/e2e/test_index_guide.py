# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/guide/index-code.md and the analyzers in examples/analyzers."""
import unittest

from support import BUILD, PYTHON, ROOT, Case

COUNT = BUILD / "examples" / "analyzer-count"


class Guide(Case):
    def setUp(self):
        super().setUp()
        self.env["PYTHONPATH"] = str(ROOT / "sdk" / "python")
        self.source = self.dir / "main.let"
        self.source.write_text("#- @x defines/binding X\n#- X.node/kind variable\nlet x\n#- @x ref X\nuse x\n")
        self.ok(
            "kzip",
            "create",
            "-o",
            self.dir / "x.kzip",
            "--language",
            "let",
            "--source",
            "main.let",
            cwd=self.dir,
        )

    def index(self, *command, more=()):
        done = self.run_mortise(
            "index",
            self.dir / "x.kzip",
            "-o",
            self.dir / "out",
            "--cache",
            self.dir / "cache",
            *more,
            "--",
            *command,
            env=self.env,
        )
        self.assertEqual(done.code, 0, done.err)

    def test_python(self):
        self.index(PYTHON, ROOT / "examples" / "analyzers" / "let.py", more=["-e", "PYTHONPATH"])
        self.ok("verify-entries", "--goal-prefix", "#-", self.dir / "out", self.source)
        done = self.ok("verify-entries", "--goal-regex", "#-(.*)", self.dir / "out", self.source)
        self.assertTrue(done.out.startswith("3 goals met by "), done.out)
        self.assertIn(
            "another --format?",
            self.fails(4, "input", "verify-entries", "--format", "json", self.dir / "out", self.source).err,
        )
        self.assertIn(
            "no line matches GOAL(.*)",
            self.fails(
                4, "input", "verify-entries", "--goal-regex", "GOAL(.*)", self.dir / "out", self.source
            ).err,
        )
        self.assertIn(
            "has 0 groups",
            self.fails(2, "usage", "verify-entries", "--goal-regex", "#-", self.dir / "out", self.source).err,
        )
        self.assertIn(
            "not both",
            self.fails(
                2,
                "usage",
                "verify-entries",
                "--goal-regex",
                "#-(.*)",
                "--goal-prefix",
                "#-",
                self.dir / "out",
                self.source,
            ).err,
        )

    @unittest.skipUnless(COUNT.exists(), f"{COUNT} is not built")
    def test_c(self):
        self.index(COUNT, more=["--format=json"])
        self.assertIn('"fact_name":"/example/lines"', (self.dir / "out").read_text())


if __name__ == "__main__":
    unittest.main()
