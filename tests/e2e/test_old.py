#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What version 0.1 wrote (tests/e2e/old/README.md) is read by the command of today, and goes on being used."""
import json
import os
import pathlib
import shutil
import unittest

from support import Case

OLD = pathlib.Path(__file__).parent / "old" / "0.1"
SAID = {"hello": "Ada", "tone": "kind"}


class Old(Case):
    def setUp(self):
        super().setUp()
        shutil.copytree(OLD, self.dir, dirs_exist_ok=True)
        for top, _, _ in os.walk(self.dir / "data"):
            os.chmod(top, 0o700)  # as the command made them; git keeps only who may execute
        self.project = self.dir / "project"
        self.state = self.dir / "data/mortise/plugins/greeter/state.json"
        self.state.write_text(self.state.read_text().replace("/tmp/0.1/", f"{self.dir}/"))  # where it came from

    def greet(self):
        return self.ok("call", "greeter", "greet", "name=Ada").json

    def listed(self):
        return [
            (row["name"], row["version"], row["approved"]) for row in self.ok("list", "--json").json["plugins"]
        ]

    def test_store_approval_and_settings(self):
        """It runs without being asked about again: confined as it was approved, with what its user has set."""
        self.assertEqual(self.listed(), [("greeter", "1.0.0", True)])
        told = self.ok("info", "--no-start", "--json", "greeter").json
        self.assertEqual(told["timeouts"], {"*": 20000, "greet": 3000})
        self.assertEqual(self.greet(), SAID)

    def test_approval_still_holds_the_plugin(self):
        """A file that is not what was approved with 0.1 does not run."""
        (program,) = self.dir.glob("data/mortise/plugins/greeter/*/greeter/run.py")
        program.write_bytes(program.read_bytes() + b"# changed\n")
        done = self.run_mortise("call", "greeter", "greet")
        self.assertEqual((done.code, "run.py" in done.err), (9, True), done.err)

    def test_lock_and_registry(self):
        """Nothing differs, and nothing is to be written anew; the key that 0.1 trusted is still known."""
        done = self.run_mortise("outdated", "--json", cwd=self.project)
        self.assertEqual((done.code, done.json["differences"]), (0, 0), done.out)
        self.assertEqual(done.json["plugins"][0]["newest"], "1.0.0")
        self.assertIn("nothing has changed", self.ok("lock", cwd=self.project).out)

    def test_lock_on_another_machine(self):
        shutil.rmtree(self.dir / "data")
        done = self.run_mortise("install", "--locked", "--allow", "read", cwd=self.project)
        self.assertEqual(done.code, 0, done.err)
        self.assertIn("signed    by team", done.err)
        self.assertEqual(self.greet(), SAID)

    def test_store_is_written_further(self):
        self.file("new/mortise.toml", '[plugin]\nname = "greeter"\nversion = "2.0.0"\ncommand = ["/bin/cat"]\n')
        done = self.run_mortise("install", self.dir / "new", "--allow", "unconfined,downgrade")
        self.assertEqual(done.code, 0, done.err)
        self.assertEqual(len(json.loads(self.state.read_bytes())["versions"]), 2)
        done = self.run_mortise("rollback", "greeter")
        self.assertEqual(done.code, 0, done.err)
        self.assertEqual(self.greet(), SAID)

    def test_recording(self):
        """Played to the plugin and as the plugin."""
        (plugin,) = self.dir.glob("data/mortise/plugins/greeter/*/greeter")
        done = self.run_mortise(
            "replay", "greeter.talk", "--secret", "token_1=x", "--env", "TONE=kind", "--", plugin / "run.py"
        )
        self.assertEqual(done.code, 0, done.err)


if __name__ == "__main__":
    unittest.main()
