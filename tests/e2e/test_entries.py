# SPDX-License-Identifier: Apache-2.0
"""mortise entries: streams as they are; what is damaged is named. Manifests: test_farm.py."""
import unittest

from kythe_support import IndexCase, simple


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

    def test_damage_is_named(self):
        out = self.stream()
        cut = self.file("cut", out.read_bytes()[:-3])
        self.assertIn("cut: record 3", self.fails(4, "input", "entries", "stat", cut).err)
        self.assertIn("nowhere", self.fails(5, "not_found", "entries", "cat", "nowhere").err)
        manifest = self.file("m", b"mortise-manifest 1 entries 3\nstore /x\n")
        self.assertIn("this manifest was cut", self.fails(4, "input", "entries", "cat", manifest).err)

    def test_usage(self):
        self.assertIn("entries cat, or entries stat", self.fails(2, "usage", "entries", "sort", "x").err)
        self.assertIn("name a stream", self.fails(2, "usage", "entries", "cat").err)


if __name__ == "__main__":
    unittest.main()
