"""mortise extract: who gets a file. extractor.supports, capabilities, several plugins, plugins that will not do."""
import collections
import json
import unittest

from support import Case, ECHO, KG_PAGES, PYTHON, YAMS_OK


class Journal(Case):
    def setUp(self):
        super().setUp()
        self.journal = self.dir / "journal"

    def entries(self):
        return [json.loads(line) for line in self.journal.read_text().splitlines()]

    def count(self):
        return collections.Counter(entry["method"] for entry in self.entries())


class Flow(Journal):
    def test_as_printed(self):
        self.file("a.txt", "text\n")
        where = self.plugin("flow", journal=str(self.journal))
        self.ok("extract", "a.txt", "--plugin", where, "-c", "k=1")
        self.assertEqual([entry["method"] for entry in self.entries()],
                         ["handshake.manifest", "plugin.init", "plugin.health", "extractor.supports", "extractor.extract",
                          "plugin.shutdown"])
        self.assertEqual(self.entries()[1]["params"]["config"], {"k": 1})
        self.assertEqual(self.entries()[3]["params"], {"mime_type": "text/plain", "extension": ".txt"})

    def test_each_kind_is_asked_about_once(self):
        names = [self.file(f"f{i}.{'txt' if i % 2 else 'log'}", "text\n").name for i in range(20)]
        names.append(self.file("page.txt", "<!DOCTYPE html><html></html>").name)
        where = self.plugin("kinds", journal=str(self.journal))
        self.ok("extract", "-j2", *names, "--plugin", where)
        asked = [tuple(e["params"].values()) for e in self.entries() if e["method"] == "extractor.supports"]
        self.assertEqual(sorted(asked), [("text/html", ".txt"), ("text/plain", ".log"), ("text/plain", ".txt")])
        self.assertEqual(self.count()["extractor.extract"], 21)


class Capabilities(Journal):
    CAN = {"content_extraction": {"formats": ["text/html"], "extensions": [".txt", "log"]}}

    def extract(self, name, content="x", **told):
        self.file(name, content)
        where = self.plugin("capable", journal=str(self.journal), **told)
        return self.run_mortise("extract", name, "--plugin", where)

    def test_decide_where_supports_does_not_answer(self):
        for code in (-32601, -32602, -32603):
            for name, content, good in (("a.txt", "x", True), ("a.log", "x", True), ("a.c", "x", False), ("plain", "x", False),
                                        ("a.x", "<!DOCTYPE html><html></html>", True)):
                done = self.extract(name, content, supports=code, capabilities=self.CAN)
                self.assertEqual(done.code, 0 if good else 4, (code, name, done.err))

    def test_refusal_names_what_it_can(self):
        done = self.extract("a.c", supports=-32601, capabilities=self.CAN)
        self.assertEqual(len(done.error_lines), 1)
        self.assertTrue(done.err.startswith("unsupported: a.c: "), done.err)
        self.assertIn("text/html", done.err)
        self.assertNotIn("extractor.extract", self.count())

    def test_supports_wins_over_capabilities(self):
        self.assertEqual(self.extract("a.txt", supports="no", capabilities=self.CAN).code, 4)
        self.assertEqual(self.extract("a.c", supports="yes", capabilities=self.CAN).code, 0)

    def test_neither_means_try(self):
        self.assertEqual(self.extract("a.c", supports=-32601).code, 0)


class Several(Case):
    def who(self, *plugins):
        self.file("a.txt", "text\n")
        words = [word for plugin in plugins for word in ("--plugin", plugin)]
        (row,) = self.ok("extract", "--json", "a.txt", *words).rows
        return row["plugin"]

    def test_the_most_confident_wins(self):
        low, high = self.plugin("low", confidence=0.2), self.plugin("high", confidence=0.9)
        self.assertEqual(self.who(low, high), "high")
        self.assertEqual(self.who(high, low), "high")

    def test_order_breaks_ties(self):
        one, two = self.plugin("one", confidence=0.5), self.plugin("two", confidence=0.5)
        self.assertEqual(self.who(one, two), "one")
        self.assertEqual(self.who(two, one), "two")

    def test_a_yes_beats_a_guess(self):
        guess, sure = self.plugin("guess", supports=-32601), self.plugin("sure", confidence=0.1)
        self.assertEqual(self.who(guess, sure), "sure")

    def test_a_no_is_passed_over(self):
        self.assertEqual(self.who(self.plugin("no", supports="no", confidence=1.0), self.plugin("yes", confidence=0.0)), "yes")

    def test_nobody(self):
        self.file("a.txt", "text\n")
        done = self.fails(4, "unsupported", "extract", "a.txt", "--plugin", self.plugin("no", supports="no"),
                          "--plugin", self.plugin("neither", supports="no"))
        self.assertIn("none of the plugins supports text/plain", done.err)

    def test_a_command_among_them(self):
        self.file("a.txt", "text\n")
        (row,) = self.ok("extract", "--json", "a.txt", "--plugin", self.plugin("low", confidence=0.1), "--",
                         PYTHON, YAMS_OK).rows
        self.assertEqual(row["plugin"], "yams_ok")


class Unusable(Case):
    def setUp(self):
        super().setUp()
        self.file("a.txt", "text\n")
        self.file("b.txt", "x")

    def test_without_the_interface(self):
        done = self.fails(4, "unsupported", "extract", "a.txt", "b.txt", "--plugin", KG_PAGES)
        self.assertIn("content_extractor_v1", done.err)
        self.assertIn("it has kg_entity_provider_v1, ghidra_analysis_v1", done.err)
        none = self.plugin("none", interfaces=[])
        self.assertIn("no interfaces", self.fails(4, "unsupported", "extract", "a.txt", "--plugin", none).err)

    def test_does_not_start(self):
        """One line, not one per file."""
        done = self.fails(7, "crashed", "extract", "-j2", "a.txt", "b.txt", "--plugin", self.plugin("dead", ready=False))
        self.assertIn("numpy", done.err)
        self.fails(5, "not_found", "extract", "a.txt", "b.txt", "--", "no-such-program")

    def test_silent_handshake(self):
        done = self.fails(6, "timeout", "extract", "a.txt", "b.txt", "-t", "handshake.manifest=300ms", "--", "/bin/sleep", "60")
        self.assertIn("handshake.manifest", done.err)

    def test_no_yams_plugin(self):
        done = self.run_mortise("extract", "a.txt", "--plugin", ECHO)
        self.assertNotEqual(done.code, 0)
        self.assertEqual(len(done.error_lines), 1, done.err)

    def test_bad_plugin_words(self):
        self.fails(5, "not_found", "extract", "a.txt", "--plugin", "nothing")
        (self.dir / "empty").mkdir()
        self.fails(3, "manifest", "extract", "a.txt", "--plugin", "empty")
        self.fails(5, "not_found", "extract", "a.txt", "--plugin", YAMS_OK, "--dialect", "klingon")

    def test_as_json(self):
        done = self.fails(4, "unsupported", "extract", "--json", "a.txt", "--plugin", KG_PAGES)
        self.assertEqual((done.json["ok"], done.json["kind"]), (False, "unsupported"))


if __name__ == "__main__":
    unittest.main()
