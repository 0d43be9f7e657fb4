# SPDX-License-Identifier: Apache-2.0
"""mortise entries: streams as they are; what is damaged is named. Manifests: test_farm.py."""
import signal
import subprocess
import unittest

from kythe_support import IndexCase, simple
from support import LIMIT, MORTISE


class Entries(IndexCase):
    def stream(self, count=3):
        done = self.index(self.kzip(simple(count)), "-o", "out")
        self.assertEqual(done.code, 0, done.err)
        return self.dir / "out"

    def test_cat_is_the_same_bytes(self):
        out = self.stream()
        self.assertEqual(self.ok("entries", "cat", out).raw, out.read_bytes())
        self.assertEqual(self.ok("entries", "cat", "-", stdin=out.read_bytes()).raw, out.read_bytes())
        self.ok("entries", "cat", out, out, "-o", "twice")
        self.assertEqual((self.dir / "twice").read_bytes(), 2 * out.read_bytes())

    def test_stat_counts(self):
        out = self.stream(3)
        report = self.ok("entries", "stat", "--json", out).json
        self.assertEqual(report, {"entries": 3, "nodes": 0, "edges": 0, "bytes": out.stat().st_size})
        self.assertRegex(self.ok("entries", "stat", out).out, r"^3 entries: 0 nodes, 0 edges; \d+ bytes\n$")

    def test_signals_end_it(self):
        """Also while nothing comes."""
        for verb in ("cat", "sort", "stat"):
            for number in (signal.SIGINT, signal.SIGTERM):
                words = [MORTISE, "entries", verb, "-"]
                with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
                    process.send_signal(number)
                    self.assertEqual(process.wait(LIMIT), -number)

    def test_not_for_a_terminal(self):
        done = self.in_terminal("entries", "cat", self.stream())
        self.assertEqual(done.code, 2)
        self.assertIn("not for a terminal", done.out)

    def test_damage_is_named(self):
        out = self.stream()
        cut = self.file("cut", out.read_bytes()[:-3])
        self.assertIn("cut: record 3", self.fails(4, "input", "entries", "stat", cut).err)
        self.assertIn("nowhere", self.fails(5, "not_found", "entries", "cat", "nowhere").err)
        self.assertIn("cut: record 3 at byte", self.fails(4, "input", "entries", "cat", cut, "-o", "x").err)
        self.assertFalse((self.dir / "x").exists())
        wrong = self.file("wrong", out.read_bytes() + b"\3abc" + out.read_bytes())
        for words in (("wrong",), (out, wrong)):
            err = self.fails(4, "input", "entries", "cat", *words, "-o", "x").err
            self.assertIn(f"wrong: record 4 at byte {out.stat().st_size}: ", err)
        self.assertIn(
            "-: record 3", self.fails(4, "input", "entries", "cat", "-", "-o", "x", stdin=cut.read_bytes()).err
        )
        manifest = self.file("m", b"mortise-manifest 1 entries 3\nstore /x\n")
        self.assertIn("this manifest was cut", self.fails(4, "input", "entries", "cat", manifest).err)

    def test_sort_is_the_same_for_every_order(self):
        """With so little memory that it goes through files; twice the same stream, once with --unique."""
        parts = [self.index_alone(name, 40) for name in "ab"]
        first = self.ok("entries", "sort", *parts).raw
        self.ok("entries", "sort", "--memory=1KiB", *reversed(parts), "-o", "sorted")
        self.assertEqual((self.dir / "sorted").read_bytes(), first)
        self.assertEqual(len(first), sum(part.stat().st_size for part in parts))
        done = self.run_mortise("entries", "sort", "-v", "--unique", *parts, "sorted")
        self.assertEqual(done.raw, first)
        self.assertIn("160 entries, 80 of them left out", done.err)
        self.assertIn("cut: record 40", self.fails(4, "input", "entries", "sort", self.cut(parts[0])).err)

    def index_alone(self, name, count):
        done = self.index(self.kzip(simple(count, name=name), f"{name}.kzip"), "-o", name)
        self.assertEqual(done.code, 0, done.err)
        return self.dir / name

    def cut(self, stream):
        return self.file("cut", stream.read_bytes()[:-1])

    def test_usage(self):
        self.assertIn("entries sort, or entries stat", self.fails(2, "usage", "entries", "mix", "x").err)
        self.assertIn("name a stream", self.fails(2, "usage", "entries", "cat").err)


if __name__ == "__main__":
    unittest.main()
