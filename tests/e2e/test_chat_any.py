#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""mortise chat in the protocols that have no conversations of their own, and what plugins ask."""
import json
import unittest

from support import PLUGINS, PYTHON, YAMS_OK, Case

TALLY = PLUGINS / "tally.py"
WEATHER = PLUGINS / "ayiou" / "spec_weather.py"


class Plain(Case):
    def chat(self, text, *options):
        return self.run_mortise("chat", *options, "--", PYTHON, TALLY, stdin=text.encode())

    def test_one_process(self):
        done = self.chat("/add by=2\n/add by=3\n/echo {\"data\":1,\"success\":true}\n")
        self.assertEqual((done.code, done.err), (0, ""))
        self.assertEqual(
            [json.loads(line) for line in done.out.splitlines()], [2, 5, {"data": 1, "success": True}]
        )

    def test_notifications(self):
        done = self.chat("/note add by=5\n/tell\n/add by=1\n")
        self.assertEqual(done.out.split(), ["6"])
        self.assertEqual(done.err, 'tally: note told {"total": 5}\n')
        self.assertEqual(self.chat("/note\n").err, "input: name the METHOD after /note\n")

    def test_notifications_for_machines(self):
        rows = self.chat("/tell\n", "--json").rows
        self.assertEqual(rows[0], {"note": "told", "params": {"total": 0}, "plugin": "tally"})
        self.assertEqual(rows[1]["ok"], True)

    def test_what_it_asks(self):
        done = self.chat("/ask method=settings\n/ask method=other\n/add by=1\n", "--answer", "settings=[4]")
        self.assertEqual(done.out.splitlines(), ["[4]", "1"])  # null is nothing to print
        self.assertEqual(done.error_lines, ["tally asks settings {}", "tally asks other {}"])

    def test_the_person_answers(self):
        """The call waits for it; at the end of the lines it gets what it would get without a person."""
        done = self.chat(
            '/ask method=a\n/add by=1\n/answer {"x": "y z"}\n/ask method=b\n/refuse 7 not today\n/ask method=c\n',
            "--ask",
        )
        self.assertEqual(
            [json.loads(line) for line in done.out.splitlines()],
            [{"x": "y z"}, {"code": 7, "message": "not today"}],
        )
        self.assertIn("tally asks a {}; it waits for /answer JSON or /refuse [CODE] TEXT", done.err)
        self.assertIn("input: a plugin waits for /answer JSON", done.err)
        self.assertEqual(done.code, 4)

    def test_nobody_asked(self):
        self.assertIn("no plugin waits for an answer", self.chat("/answer 1\n").err)
        self.assertIn("one JSON value", self.chat("/answer {\n").err)
        self.fails(2, "usage", "chat", "--answer", "x", "--", PYTHON, TALLY)


class Others(Case):
    def test_yams(self):
        done = self.run_mortise(
            "chat",
            "-d",
            "yams",
            "--",
            PYTHON,
            YAMS_OK,
            stdin=b"/functions\n/extractor.supports mime_type=text/plain extension=.txt\n",
        )
        self.assertIn("/extractor.supports [mime_type=] [extension=]", done.err)
        self.assertIn("supported", done.json)

    def test_ayiou(self):
        done = self.run_mortise(
            "chat",
            "-d",
            "ayiou",
            "--",
            PYTHON,
            WEATHER,
            stdin=b"/matches text=/weather message_type=private user_id=1\n",
        )
        self.assertEqual((done.code, done.json.get("matches", done.json)), (0, True), done.out)

    def test_those_that_do_not_stay(self):
        self.fails(2, "usage", "chat", "-d", "sunscreen", "--level", "guarded", "--", PYTHON, TALLY)


if __name__ == "__main__":
    unittest.main()
