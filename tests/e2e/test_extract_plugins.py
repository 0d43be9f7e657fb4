# SPDX-License-Identifier: Apache-2.0
"""mortise extract: who gets a file. extractor.supports, capabilities, several plugins, plugins
that will not do."""
import collections
import json
import unittest

from support import BUILD, Case, ECHO, KG_PAGES, PYTHON, YAMS_OK, needs_elf_text


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
        self.assertEqual(
            [entry["method"] for entry in self.entries()],
            [
                "handshake.manifest",
                "plugin.init",
                "plugin.health",
                "extractor.supports",
                "extractor.extract",
                "plugin.shutdown",
            ],
        )
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
            for name, content, good in (
                ("a.txt", "x", True),
                ("a.log", "x", True),
                ("a.c", "x", False),
                ("plain", "x", False),
                ("a.x", "<!DOCTYPE html><html></html>", True),
            ):
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


class Types(Journal):
    """MIME types are sent as YAMS calls them, unless the plugin itself lists another word for the same."""

    def asked(self, mime, *options, **told):
        self.file("a.bin", "x")
        where = self.plugin("types", journal=str(self.journal), **told)
        done = self.run_mortise("extract", "--json", "a.bin", "--mime", mime, "--plugin", where, *options)
        types = [
            entry["params"]["mime_type"] for entry in self.entries() if entry["method"] == "extractor.supports"
        ]
        self.journal.unlink()
        return done, types

    def test_normalised(self):
        for found, sent in (
            ("application/x-pie-executable", "application/x-executable"),
            ("application/x-elf", "application/x-executable"),
            ("application/x-dosexec", "application/x-msdownload"),
            ("application/x-java-class", "application/java-vm"),
            ("application/x-sharedlib", "application/x-sharedlib"),
            ("Text/Plain", "text/plain"),
            ("APPLICATION/X-ELF", "application/x-executable"),
        ):
            done, types = self.asked(found)
            self.assertEqual(types, [sent])
            (row,) = done.rows
            self.assertEqual((row["mime_type"], row["stats"]["options"]["mime_type"]), (sent, sent))

    def test_libmagic(self):
        where = self.plugin("types", journal=str(self.journal))
        (row,) = self.ok("extract", "--json", "/bin/true", "--plugin", where).rows
        self.assertIn(row["mime_type"], ("application/x-executable", "application/x-sharedlib"))

    def test_a_listed_raw_type_matches(self):
        """Where supports answers by that list, and where it does not answer at all."""
        raw = {"content_extraction": {"formats": ["application/x-pie-executable"], "extensions": []}}
        for supports, types in (
            ("listed", ["application/x-executable", "application/x-pie-executable"]),
            (-32601, ["application/x-executable"]),
        ):
            done, asked = self.asked("application/x-pie-executable", supports=supports, capabilities=raw)
            self.assertEqual((done.code, asked), (0, types), done.err)
            self.assertEqual(done.rows[0]["stats"]["options"]["mime_type"], "application/x-pie-executable")

    def test_another_word_for_the_same_matches(self):
        elf = {"content_extraction": {"formats": ["application/x-elf"]}}
        done, asked = self.asked("application/x-pie-executable", supports="listed", capabilities=elf)
        self.assertEqual((done.code, asked), (0, ["application/x-executable", "application/x-elf"]), done.err)

    def test_a_no_stays_a_no(self):
        other = {"content_extraction": {"formats": ["application/x-sharedlib", "application/x-executable"]}}
        done, asked = self.asked("application/x-pie-executable", supports="no", capabilities=other)
        self.assertEqual((done.code, asked), (4, ["application/x-executable"]))


class ByTheLetter(Journal):
    def strict(self, name, *options, **told):
        self.file(name, "text\n")
        where = self.plugin("letter", journal=str(self.journal), **told)
        return self.run_mortise("extract", "--strict", "--json", name, "--plugin", where, *options)

    def params(self, method):
        (entry,) = [entry for entry in self.entries() if entry["method"] == method]
        return entry["params"]

    def test_options(self):
        """By default type and extension are among them, as the real host sends them."""
        self.file("a.txt", "text\n")
        where = self.plugin("letter", journal=str(self.journal))
        self.ok("extract", "a.txt", "--plugin", where, "-O", "max_functions=3")
        self.assertEqual(
            self.params("extractor.extract")["options"],
            {"mime_type": "text/plain", "extension": ".txt", "max_functions": 3},
        )

    def test_strict_options(self):
        self.assertEqual(self.strict("a.txt", "-O", "max_functions=3", "-c", "k=1").code, 0)
        self.assertEqual(self.params("extractor.extract")["options"], {"max_functions": 3})
        self.assertEqual(self.params("plugin.init"), {"config": {"k": 1}})
        self.assertEqual(self.params("extractor.supports"), {"mime_type": "text/plain", "extension": ".txt"})

    def test_an_option_that_the_specification_has_not(self):
        done = self.strict("a.txt", "-O", "color=red")
        self.assertEqual(done.code, 4, done.err)
        self.assertIn(
            "/options/color: is not in the specification, which has max_functions, decompile", done.err
        )
        self.assertIn("/options/color", done.rows[0]["message"])

    def test_no_extension_is_left_out(self):
        self.strict("plain", capabilities=Capabilities.CAN)
        self.assertEqual(self.params("extractor.supports"), {"mime_type": "text/plain"})

    def test_what_breaks_the_letter_is_shown(self):
        """Without -v: a user who asks for the letter wants to know."""
        done = self.strict("a.txt", supports=-32601, capabilities=Capabilities.CAN)
        self.assertEqual(done.code, 0, done.err)
        self.assertIn("warning: letter: extractor.supports gives no answer", done.err)


class Health(Case):
    def said(self, status, *options):
        self.file("a.txt", "text\n")
        self.file("b.txt", "text\n")
        done = self.run_mortise(
            "extract",
            "-j2",
            "a.txt",
            "b.txt",
            "--plugin",
            self.plugin("ill"),
            "-c",
            f"health={status}",
            *options,
        )
        self.assertEqual(done.code, 0, done.err)
        return done.err

    def test_degraded_health_warns(self):
        """Once, though two processes say it; with what else it says."""
        self.assertEqual(
            self.said("degraded").count("warning: ill: health: the plugin says \"degraded\": {"), 1
        )

    def test_bad_health_warns(self):
        self.assertEqual(self.said("error").count("warning: ill: health: the plugin says \"error\": {"), 1)

    def test_good_health_is_silent(self):
        self.assertEqual(self.said("ok") + self.said("healthy"), "")


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
        self.assertEqual(
            self.who(self.plugin("no", supports="no", confidence=1.0), self.plugin("yes", confidence=0.0)),
            "yes",
        )

    def test_nobody(self):
        self.file("a.txt", "text\n")
        done = self.fails(
            4,
            "unsupported",
            "extract",
            "a.txt",
            "--plugin",
            self.plugin("no", supports="no"),
            "--plugin",
            self.plugin("neither", supports="no"),
        )
        self.assertIn("none of the plugins supports text/plain", done.err)

    def test_one_that_refuses_is_said(self):
        """The others go on; nobody is left: then it is the run's error."""
        self.file("b.log", "text\n")
        good, dead = self.plugin("good"), self.plugin("dead", ready=False)
        for bad, why in (
            (dead, "numpy"),
            (self.plugin("other", interfaces=["x_v1"]), "does not offer content_extractor_v1"),
            (self.plugin("unwilling", init=-32603), "not here"),
        ):
            for words in ((bad, good), (good, bad)):
                self.file("a.txt", "text\n")
                done = self.run_mortise(
                    "extract", "--json", "a.txt", "b.log", "--plugin", words[0], "--plugin", words[1]
                )
                self.assertEqual(
                    (done.code, [row["plugin"] for row in done.rows]), (0, ["good", "good"]), done.err
                )
                self.assertEqual(len(done.error_lines), 1, done.err)
                self.assertTrue(done.err.startswith("warning: "), done.err)
                self.assertIn(why, done.err)
                self.assertIn("; going on without it", done.err)
        done = self.run_mortise(
            "extract", "a.txt", "--plugin", dead, "--plugin", self.plugin("dead2", ready=False)
        )
        self.assertEqual((done.code, len(done.error_lines)), (7, 2), done.err)
        self.assertIn("; going on without it\ncrashed: ", done.err)

    def test_a_command_among_them(self):
        self.file("a.txt", "text\n")
        (row,) = self.ok(
            "extract", "--json", "a.txt", "--plugin", self.plugin("low", confidence=0.1), "--", PYTHON, YAMS_OK
        ).rows
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
        done = self.fails(
            7, "crashed", "extract", "-j2", "a.txt", "b.txt", "--plugin", self.plugin("dead", ready=False)
        )
        self.assertIn("numpy", done.err)
        self.fails(5, "not_found", "extract", "a.txt", "b.txt", "--", "no-such-program")

    def test_refuses_its_configuration(self):
        """At once, with the plugin's own code, message and data; one process, one error. Even where it says
        that another try might help: who refuses its configuration would refuse it again."""
        for code, data in (
            (-32602, {"reason": "InvalidConfig", "config_key": "k"}),
            (-32603, {"reason": "DependencyMissing", "dependency": "d", "recoverable": True}),
        ):
            journal = self.dir / f"journal{code}"
            where = self.plugin("unwilling", init=code, init_data=data, journal=str(journal))
            done = self.run_mortise(
                "extract", "--json", "-j2", "a.txt", self.file("c.txt", "text\n"), "--plugin", where
            )
            (row,) = done.rows
            self.assertEqual(
                (done.code, row["kind"], row["rpc_code"], row["data"]), (1, "plugin_error", code, data)
            )
            self.assertIn("not here", row["message"])
            self.assertEqual(len({json.loads(line)["pid"] for line in journal.read_text().splitlines()}), 1)

    @needs_elf_text
    def test_elf_text_refuses_its_configuration(self):
        done = self.run_mortise(
            "extract", "--json", "a.txt", "--plugin", BUILD / "plugins" / "elf-text", "-c", "max_functions=abc"
        )
        (row,) = done.rows
        self.assertEqual((done.code, row["rpc_code"], row["data"]["config_key"]), (1, -32602, "max_functions"))

    def test_silent_handshake(self):
        done = self.fails(
            6,
            "timeout",
            "extract",
            "a.txt",
            "b.txt",
            "-t",
            "handshake.manifest=300ms",
            "--",
            "/bin/sleep",
            "60",
        )
        self.assertIn("handshake.manifest", done.err)

    def test_no_yams_plugin(self):
        done = self.run_mortise("extract", "a.txt", "--plugin", ECHO)
        self.assertNotEqual(done.code, 0)
        self.assertEqual(len(done.error_lines), 1, done.err)

    def test_bad_plugin_words(self):
        self.fails(5, "not_found", "extract", "a.txt", "--plugin", "nothing")
        (self.dir / "empty").mkdir()
        self.fails(3, "manifest", "extract", "a.txt", "--plugin", "./empty")
        self.fails(5, "not_found", "extract", "a.txt", "--plugin", YAMS_OK, "--dialect", "klingon")

    def test_as_json(self):
        done = self.fails(4, "unsupported", "extract", "--json", "a.txt", "--plugin", KG_PAGES)
        self.assertEqual((done.json["ok"], done.json["kind"]), (False, "unsupported"))


if __name__ == "__main__":
    unittest.main()
