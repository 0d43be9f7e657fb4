# SPDX-License-Identifier: Apache-2.0
"""--shard K/N and mortise join: any number of parts give the bytes of one run; wrong parts are
refused by name."""
import os
import re
import shutil
import subprocess
import unittest

import events
from kythe_support import IndexCase, SIMPLE, simple
from support import LIMIT, MORTISE, ROOT, YAMS_OK, Case

CRASH = "import os\nos._exit(3)\n"


class Index(IndexCase):
    def setUp(self):
        super().setUp()
        self.archive = self.kzip(simple(7))

    def shard(self, k, n, *words, code=0, archive=None, **how):
        part = self.dir / f"part.{k}"
        done = self.index(archive or self.archive, "--shard", f"{k}/{n}", "-o", part, *words, **how)
        self.assertEqual(done.code, code, done.err)
        return part

    def whole(self, *words, code=0, archive=None):
        done = self.index(archive or self.archive, "-o", self.dir / "whole", *words)
        self.assertEqual(done.code, code, done.err)
        return (self.dir / "whole").read_bytes()

    def join(self, *parts):
        done = self.run_mortise("join", "-o", "joined", *parts)
        return done, (self.dir / "joined").read_bytes() if (self.dir / "joined").exists() else None

    def test_rule_2_any_number(self):
        whole = self.whole()
        for n in (1, 2, 7, 9):
            with self.subTest(n=n):
                parts = [self.shard(k, n) for k in range(1, n + 1)]
                done, joined = self.join(*reversed(parts))
                self.assertEqual((done.code, joined), (0, whole), done.err)

    def test_says_what_it_joined(self):
        parts = [self.shard(k, 2) for k in (1, 2)]
        self.assertRegex(self.join(*parts)[0].err, r"^2 parts: 7 of 7 units, 0 failed, \d+ bytes\n$")
        report = self.ok("join", "--json", "-o", "joined", *parts).json
        self.assertEqual(
            {name: report[name] for name in ("ok", "parts", "units", "done", "failed", "failures")},
            {"ok": True, "parts": 2, "units": 7, "done": 7, "failed": 0, "failures": []},
        )

    def test_json_entries(self):
        whole = self.whole("--format=json")
        self.assertEqual(self.join(*[self.shard(k, 3, "--format=json") for k in (1, 2, 3)])[1], whole)

    def test_failed_records(self):
        archive = self.kzip(simple(4) + simple(1, CRASH, name="bad"), name="bad.kzip")
        whole = self.whole("--retries=0", code=1, archive=archive)
        parts = []
        for k in (1, 2, 3):
            part = self.dir / f"part.{k}"
            done = self.index(archive, "--shard", f"{k}/3", "--retries=0", "-o", part)
            self.assertIn(done.code, (0, 1), done.err)
            parts.append(part)
        done, joined = self.join(*parts)
        self.assertEqual((done.code, joined), (1, whole))
        self.assertRegex(done.err, r"(?m)^failed: bad0\.toy: .*exited with status 3")
        failures = self.run_mortise("join", "--json", "-o", "joined", *parts).json["failures"]
        self.assertEqual([failure["name"] for failure in failures], ["bad0.toy"])

    def test_resume_of_a_shard(self):
        """Killed in the middle of its last unit: --resume keeps the others, and the part is the same."""
        held = "hold()\n" + SIMPLE
        archive = self.kzip(simple(3) + simple(1, held, name="held"), name="held.kzip")
        gate = self.gate()
        words = self.words(archive, "--shard", "1/1", "-o", "part.1", "-j", "1")
        with subprocess.Popen(
            [str(MORTISE), *map(str, words)], cwd=self.dir, env=self.env, stderr=subprocess.DEVNULL
        ) as run:
            events.until((self.state / "held").exists, self.state, process=run)
            run.kill()
        self.assertFalse((self.dir / "part.1").exists())
        gate.open()
        self.shard(1, 1, "--resume", archive=archive)
        done, joined = self.join("part.1")
        self.assertEqual((done.code, joined), (0, self.whole(archive=archive)), done.err)

    def refuse(self, text, *parts):
        (self.dir / "joined").write_text("old")
        done, joined = self.join(*parts)
        self.assertIn(text, done.err)
        self.assertNotEqual(done.code, 0)
        self.assertEqual(joined, b"old")

    def test_rule_2_missing_doubled_foreign(self):
        parts = [self.shard(k, 4) for k in range(1, 5)]
        self.refuse("part 2 of 4 is missing", parts[0], parts[2], parts[3])
        self.refuse("part 4 of 4 is missing", *parts[:3])
        self.refuse("parts 1 to 3 of 4 are missing", parts[3])
        shutil.copy(parts[1], self.dir / "copy")
        self.refuse("are both part 2 of 4", *parts, "copy")
        parts[0].rename(self.dir / "other.1")
        self.refuse("is a part of another run than", self.shard(1, 4, "--format=json"), *parts[1:])
        self.refuse("part 1 of 5", self.shard(1, 5), *parts[1:])
        other = self.kzip(simple(7, name="w"), name="other.kzip")
        self.refuse("is a part of another run than", self.shard(1, 4, archive=other), *parts[1:])
        self.refuse("is a part of another run than", self.shard(1, 4, "--set", "limits.frame=2M"), *parts[1:])

    def test_damaged(self):
        first, second = self.shard(1, 2), self.shard(2, 2)
        good = second.read_bytes()
        for name, bytes_, text in (
            ("a bit of a piece", bytes([good[0] ^ 1]) + good[1:], "the bytes of unit 4 are not those"),
            ("cut at the end", good[:-1], "no part, or not a whole one"),
            ("cut at the front", good[1:], "the list at its end is damaged"),
            (
                "a bit of the list",
                good[:-60] + bytes([good[-60] ^ 1]) + good[-59:],
                "the list at its end is damaged",
            ),
            ("no part", b"hello\n" * 20, "no part, or not a whole one"),
            ("nothing", b"", "no part, or not a whole one"),
        ):
            with self.subTest(name):
                second.write_bytes(bytes_)
                self.refuse(text, first, second)
        self.refuse("No such file", first, "nowhere")
        self.refuse("this is no file", first, self.dir)

    def test_bad_words(self):
        for word, text in (
            ("0/2", "K counts from 1 to N"),
            ("3/2", "K counts from 1 to N"),
            ("1/0", "N is from 1 to 1000000"),
            ("1", "expected K/N"),
            ("1/2/3", "expected K/N"),
            ("-1/2", "expected K/N"),
            ("", "expected K/N"),
        ):
            with self.subTest(word):
                done = self.index(self.archive, "--shard", word, "-o", "x")
                self.assertIn(text, done.err)
                self.assertEqual(done.code, 2)
        self.fails(2, "usage", "join", "-o", "x")
        self.fails(2, "usage", "join", "x")


class Guide(IndexCase):
    """The lines of docs/guide/many-machines.md, with an analyzer of ours."""

    def setUp(self):
        super().setUp()
        self.kzip(simple(9), name="app.kzip")
        self.env["PATH"] = f"{MORTISE.parent}:{self.env.get('PATH', os.defpath)}"
        self.page = (ROOT / "docs" / "guide" / "many-machines.md").read_text(encoding="utf-8")
        self.analyzer = self.dir / "analyzer"
        words = " ".join(f"'{word}'" for word in self.puppet())
        self.analyzer.write_text(f"#!/bin/sh\nexec {words}\n")
        self.analyzer.chmod(0o755)
        done = self.index("app.kzip", "-o", "whole", analyzer=("--analyzer", "./analyzer"))
        self.assertEqual(done.code, 0, done.err)

    def shell(self, text, **env):
        text = text.replace("build/plugins/kythe-clang", "./analyzer --view=directory")
        done = subprocess.run(
            ["bash", "-c", text],
            cwd=self.dir,
            env={**self.env, **env},
            capture_output=True,
            text=True,
            timeout=4 * LIMIT,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)

    def expect_joined(self):
        self.shell("mortise join -o app.entries part.*")
        self.assertEqual((self.dir / "app.entries").read_bytes(), (self.dir / "whole").read_bytes())

    @unittest.skipUnless(shutil.which("parallel"), "no GNU parallel here")
    def test_parallel(self):
        (line,) = re.findall(r"^    (parallel .*)$", self.page, re.M)
        self.shell(line)
        self.expect_joined()

    def test_slurm(self):
        """What a task of the array runs; Slurm gives it these variables."""
        script = re.search(r"^    (#!/bin/bash\n(?:    .*\n)+)", self.page, re.M).group(1)
        script = re.sub(r"(?m)^    ", "", script)
        for task in range(1, 4):
            self.shell(script, SLURM_ARRAY_TASK_ID=str(task), SLURM_ARRAY_TASK_COUNT="3", TMPDIR=str(self.dir))
        self.expect_joined()


class Extract(Case):
    def setUp(self):
        super().setUp()
        self.names = [f"{letter}.txt" for letter in "abcde"]
        for name in self.names:
            self.file(name, f"text of {name}\n")

    def extract(self, *words, code=0):
        done = self.run_mortise("extract", *words, *self.names, "--plugin", YAMS_OK)
        self.assertEqual(done.code, code, done.err)
        return done

    def joined(self, n, *words, code=0):
        for k in range(1, n + 1):
            done = self.run_mortise(
                "extract", "--shard", f"{k}/{n}", "-o", f"part.{k}", *words, *self.names, "--plugin", YAMS_OK
            )
            self.assertIn(done.code, (0, code), done.err)
        done = self.run_mortise("join", "-o", "joined", *[f"part.{k}" for k in range(1, n + 1)])
        self.assertEqual(done.code, code, done.err)
        return (self.dir / "joined").read_text()

    def test_text(self):
        whole = self.extract().out
        for n in (1, 2, 3, 8):
            with self.subTest(n=n):
                self.assertEqual(self.joined(n), whole)

    def test_rows(self):
        def timeless(text):
            return re.sub(r'"(time_ms|pid)":\d+', "", text)

        self.assertEqual(timeless(self.joined(3, "--json")), timeless(self.extract("--json").out))

    def test_a_file_that_fails(self):
        """The first of all: no blank line before the second."""
        self.names[0] = "nowhere.txt"
        whole = self.extract(code=1).out
        self.assertEqual(self.joined(3, code=1), whole)

    def test_stdin(self):
        done = self.run_mortise("extract", "--shard", "1/2", "-o", "x", "-", "a.txt", "--plugin", YAMS_OK)
        self.assertEqual(done.code, 2)
        self.assertIn("not the same for every shard", done.err)


if __name__ == "__main__":
    unittest.main()
