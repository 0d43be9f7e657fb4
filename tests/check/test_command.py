#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The options of `mortise check`, its reports and its exit status."""
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.dont_write_bytecode = True
import patience  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
MORTISE = pathlib.Path(os.environ["MORTISE_BUILD"]) / "mortise"


def mutant(dialect, fault=""):
    return ["-d", dialect, "--", "/usr/bin/python3", "-I", "-S", str(HERE / "mutant.py"), dialect, fault]


def check(*words):
    return subprocess.run(
        [MORTISE, "check", "--timeout", patience.limit, *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=3000,
    )


@patience.patient
class Command(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.dir = pathlib.Path(place.name)

    def test_a_plugin_that_answers_for_ever(self):
        """It fails, and fills no memory: 500 MB are more than enough for the check itself."""
        answer = '{"jsonrpc":"2.0","id":1,"result":1}'
        done = subprocess.run(
            [MORTISE, "check", "--timeout", "3s", "--limit", "3000s", "--only", "plain.start.silent"]
            + ["--only", "plain.stop.eof", "--", "yes", answer],
            capture_output=True,
            text=True,
            check=False,
            timeout=3000,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (500 << 20, 500 << 20)),
        )
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("FAIL plain.start.silent", done.stdout)
        self.assertIn("FAIL plain.stop.eof", done.stdout)

    def test_a_longer_time_holds_for_the_end_too(self):
        """The host of plain waits 2 s: on a slow machine that is not the plugin's fault."""
        done = check("--timeout", "3s", "--only", "plain.stop.eof", *mutant("plain", "stop.eof"))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("it still runs 3 s later", done.stdout)

    def test_people(self):
        done = check("--only", "stop", "--only", "plain.ids.zero", *mutant("plain", "ids.zero"))
        self.assertEqual(done.returncode, 2, done.stderr)
        done = check("--only", "plain.ids", *mutant("plain", "ids.zero"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("  warn plain.ids.zero: takes the id 0 for an id\n", done.stdout)
        self.assertIn(f"       no answer to id 0: nothing came in {patience.limit[:-1]} s\n", done.stdout)
        self.assertIn('         > {"jsonrpc":"2.0","id":0,', done.stdout)
        self.assertIn("       what to do: test whether the member id is there", done.stdout)
        self.assertTrue(
            done.stdout.endswith(
                "good: /usr/bin/python3: 6 passed, 0 failed, 1 warned, 0 not observed (plain)\n"
            ),
            done.stdout,
        )

    def test_strict(self):
        done = check("--strict", "--only", "plain.ids.zero", *mutant("plain", "ids.zero"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("  FAIL plain.ids.zero", done.stdout)

    def test_json(self):
        done = check("--json", "--only", "plain.method.unknown", *mutant("plain", "method.unknown"))
        self.assertEqual(done.returncode, 1)
        report = json.loads(done.stdout)
        self.assertFalse(report["ok"])
        self.assertEqual(report["summary"], {"pass": 0, "fail": 1, "warn": 0, "not_observed": 0, "expected": 0})
        row = report["checks"][0]
        self.assertEqual((row["id"], row["result"], row["level"]), ("plain.method.unknown", "fail", "must"))
        self.assertEqual(row["why"], "expected an error (-32601), got a result")
        self.assertEqual([line[0] for line in row["talk"]], [">", "<"])

    def test_tap(self):
        done = check("--tap", "--only", "plain.ids.zero", "--only", "plain.call", *mutant("plain"))
        self.assertEqual(
            done.stdout,
            "TAP version 13\n1..2\n"
            "ok 1 - plain.ids.zero: takes the id 0 for an id\n"
            "ok 2 - plain.call.named: answers the functions named by --call "
            "# SKIP functions of the author are called only with --call\n",
        )

    def test_junit(self):
        file = self.dir / "report.xml"
        done = check(
            "--junit",
            str(file),
            "--only",
            "plain.method",
            "--only",
            "plain.call",
            *mutant("plain", "method.unknown"),
        )
        self.assertEqual(done.returncode, 1)
        suite = xml.etree.ElementTree.parse(file).getroot()[0]
        self.assertEqual((suite.get("tests"), suite.get("failures"), suite.get("skipped")), ("2", "1", "1"))
        self.assertEqual(suite[0][0].tag, "failure")
        self.assertIn('"mortise.check"', suite[0][0].text)

    def test_baseline(self):
        file = self.dir / "expected.txt"
        only = ["--only", "plain.method", "--only", "plain.ids.zero"]
        done = check("--write-baseline", str(file), *only, *mutant("plain", "method.unknown"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("plain.method.unknown  # answers", file.read_text())
        done = check("--baseline", str(file), *only, *mutant("plain", "method.unknown"))
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("1 failed (1 expected)", done.stdout)
        done = check("--baseline", str(file), *only, *mutant("plain"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("stale: plain.method.unknown is in the baseline", done.stdout)
        file.write_text("plain.nosuch\n")
        done = check("--baseline", str(file), *only, *mutant("plain"))
        self.assertEqual(done.returncode, 4)
        self.assertIn('expected.txt:1: there is no check "plain.nosuch"', done.stderr)

    def test_usage(self):
        self.assertEqual(check("--only", "plain.nosuch", *mutant("plain")).returncode, 2)
        self.assertEqual(check().returncode, 2)
        self.assertEqual(check("-d", "nosuch", "--", "cat").returncode, 5)
        done = check("--", "./no-such-program")
        self.assertEqual(done.returncode, 3, done.stderr)

    def test_list(self):
        done = check("--list", "-d", "yams")
        self.assertIn("yams.handshake.name", done.stdout)
        self.assertNotIn("plain.", done.stdout)

    def test_total_limit(self):
        done = check("--limit", "1ms", "--json", *mutant("plain"))
        whys = {row["why"] for row in json.loads(done.stdout)["checks"]}
        self.assertIn("the time of the whole run was over", whys)

    def test_no_greeting(self):
        """One cause, one failure: the others say where to look."""
        done = check(
            "--json", "-d", "yams", "--only", "yams.handshake.answer", "--only", "yams.init", "--", "cat"
        )
        rows = {row["id"]: row for row in json.loads(done.stdout)["checks"]}
        self.assertEqual(rows["yams.handshake.answer"]["result"], "fail")
        self.assertEqual(rows["yams.init.twice"]["result"], "not_observed")
        self.assertIn("see yams.handshake.answer", rows["yams.init.twice"]["why"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
