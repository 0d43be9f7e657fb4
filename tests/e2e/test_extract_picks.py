# SPDX-License-Identifier: Apache-2.0
"""mortise extract without --plugin: which of the installed plugins is started for a file, and who gets it."""
import json
import shutil
import unittest

from store_support import Store
from support import Case, PYTHON, YAMS_OK

TEXT = {"formats": ["text/plain"], "extensions": [".txt"]}
ELF = {"formats": ["application/x-executable"], "extensions": ["elf"]}


class Picks(Case):
    def setUp(self):
        super().setUp()
        self.env["HOME"] = str(self.dir)
        self.store = Store(self.dir / "data")
        self.text = self.file("a.txt", "some text")

    def told(self, name, can, **self_description):
        """A manifest with what it can extract; None: it says nothing of that."""
        about = {"name": name, "journal": str(self.dir / f"{name}.journal"), **self_description}
        manifest = {"entry": {"cmd": [PYTHON, str(YAMS_OK), json.dumps(about)]}}
        if can is not None:
            manifest["capabilities"] = {"content_extraction": can}
        return manifest

    def install(self, name, can, manifest=None, **self_description):
        source = self.plugin(name, manifest={**self.told(name, can, **self_description), **(manifest or {})})
        place = self.store.install(name, source, dialect="yams")
        shutil.rmtree(source)
        return place

    def started(self):
        return sorted(path.stem for path in self.dir.glob("*.journal"))

    def by(self, *words):
        """Who extracted the file."""
        done = self.run_mortise("extract", "--json", *words)
        self.assertEqual((done.code, done.err), (0, ""))
        return done.json["plugin"]

    def test_only_those_whose_manifest_lists_the_kind(self):
        for i in range(9):
            self.install(f"elf{i}", ELF)
        self.install("words", TEXT)
        self.assertEqual(self.by(self.text), "words")
        self.assertEqual(self.started(), ["words"])

    def test_extension_or_type(self):
        self.install("a-type", {"formats": ["text/plain"]})
        self.install("b-extension", {"extensions": ["log"]})
        self.assertEqual(self.by(self.file("a.c", "some text")), "a-type")
        self.assertEqual(self.started(), ["a-type"])
        self.assertEqual(self.by(self.file("b.log", "<!DOCTYPE html><html></html>")), "b-extension")

    def test_confidence_then_name(self):
        self.install("a", TEXT, confidence=0.4)
        self.install("b", TEXT, confidence=0.9)
        self.install("c", TEXT, confidence=0.9)
        self.assertEqual(self.by(self.text), "b")

    def test_no_answer_is_no_confidence(self):
        """The specification: without the member, confidence is 1."""
        self.install("a", TEXT, confidence=0.9)
        self.install("b", TEXT)
        self.assertEqual(self.by(self.text), "b")

    def test_silent_manifest_is_asked_last(self):
        self.install("a-silent", None, confidence=1.0)
        self.install("words", TEXT, confidence=0.2)
        self.assertEqual(self.by(self.text), "words")
        self.assertEqual(self.started(), ["words"])

    def test_silent_manifest_is_asked_if_nobody_else_takes_it(self):
        self.install("silent", None)
        self.install("words", TEXT, supports="no")
        self.assertEqual(self.by(self.text), "silent")
        self.assertEqual(self.started(), ["silent", "words"])
        (self.dir / "words.journal").unlink()
        self.assertEqual(self.by(self.file("b.html", "<!DOCTYPE html><html></html>")), "silent")
        self.assertEqual(self.started(), ["silent"])

    def test_nobody(self):
        self.install("elf", ELF)
        self.install("other", {"extensions": [".x"]})
        done = self.fails(4, "unsupported", "extract", self.text)
        self.assertIn("no plugin that is installed, or in a trusted directory, supports text/plain", done.err)
        self.assertEqual(self.started(), [])

    def test_each_file_its_own(self):
        self.install("elf", ELF)
        self.install("words", TEXT)
        done = self.ok("extract", "--json", self.text, "/bin/true", self.file("b.txt", "more"))
        self.assertEqual([row["plugin"] for row in done.rows], ["words", "elf", "words"])

    def test_not_an_extractor(self):
        self.install("a-graph", None, manifest={"interfaces": ["kg_entity_provider_v1"]})
        self.install("b-words", None, manifest={"interfaces": [{"id": "content_extractor_v1", "version": 1}]})
        self.assertEqual(self.by(self.text), "b-words")
        self.assertEqual(self.started(), ["b-words"])

    def test_only_others(self):
        self.install("graph", None, manifest={"interfaces": ["kg_entity_provider_v1"]})
        self.assertIn("--plugin", self.fails(5, "not_found", "extract", self.text).err)

    def test_named_ones_are_all_asked(self):
        self.install("elf", ELF, confidence=1.0)
        self.install("words", TEXT, confidence=0.5)
        self.assertEqual(self.by(self.text, "-p", "elf", "-p", "words"), "elf")

    def test_one_that_may_not_run(self):
        """It is named with what to type, and the others go on."""
        place = self.install("a-changed", TEXT)
        (place / "more").write_text("x", encoding="utf-8")
        self.install("words", TEXT)
        done = self.run_mortise("extract", "--json", self.text)
        self.assertEqual((done.code, done.json["plugin"]), (0, "words"))
        self.assertIn("mortise approve a-changed@1.0.0", done.err)
        self.assertEqual(self.started(), ["words"])

    def test_one_with_a_broken_manifest(self):
        self.install("a-broken", TEXT, manifest={"entry": 5})
        self.install("words", TEXT)
        done = self.run_mortise("extract", "--json", self.text)
        self.assertEqual((done.code, done.json["plugin"]), (0, "words"))
        self.assertIn("going on without it", done.err)

    def test_why(self):
        self.install("a", TEXT, confidence=0.25)
        self.install("b", TEXT, confidence=0.75)
        self.install("c", ELF)
        self.install("d", None)
        self.install("e", TEXT, supports="no")
        done = self.run_mortise("extract", "-v", self.text)
        line = (
            'text/plain, extension ".txt": chosen: b (confidence 0.75); others: a (confidence 0.25), '
            "c (not started: its manifest lists other types), d (not started: its manifest lists nothing), e (no)"
        )
        self.assertIn(line, done.error_lines)

    def test_trusted_directories(self):
        """After the installed ones, and only if they are trusted."""
        own = self.dir / ".local/lib/yams/external-plugins"
        self.plugin(".local/lib/yams/external-plugins/far", manifest={"name": "far", **self.told("far", TEXT)})
        done = self.fails(2, "usage", "extract", self.text)
        self.assertIn(f"far lies in {own}, which you do not trust", done.err)
        self.assertIn(f"mortise trust add {own}", done.err)
        self.ok("trust", "add", own)
        self.assertEqual(self.by(self.text), "far")
        self.install("near", TEXT)
        self.assertEqual(self.by(self.text), "near")
        self.ok("trust", "remove", own)
        done = self.run_mortise("extract", "-v", self.text)
        self.assertIn("not used: far lies in", done.err)

    def test_last_run_of_one_that_was_not_meant(self):
        self.install("elf", ELF)
        self.run_mortise("extract", self.text)
        self.assertFalse((self.dir / "state/mortise/plugins/elf/run.json").exists())

    def test_part_on_a_terminal(self):
        self.install("words", TEXT)
        done = self.in_terminal("extract", "--shard", "2/3", self.text)
        self.assertEqual(done.code, 2)
        self.assertIn("add -o part-2", done.out)
        self.ok("extract", "--shard", "1/1", "-o", "part-1", self.text)


if __name__ == "__main__":
    unittest.main()
