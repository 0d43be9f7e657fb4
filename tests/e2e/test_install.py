#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""mortise install, list, upgrade, rollback, approve, remove: what a person sees and types."""
import json
import os
import subprocess
import tarfile
import unittest

from support import MORTISE, Case

TOML = """
[plugin]
name = "{name}"
version = "{version}"
description = "{says}"
dialect = "plain"
command = ["./run.py"]
[sandbox]
level = "auto"
{more}
"""


class Store(Case):
    def setUp(self):
        super().setUp()
        self.plugins = self.dir / "data" / "mortise" / "plugins"

    def make(self, version="1.0.0", more="", says="Says hello", name="greeter", folder="greeter"):
        self.file(f"{folder}/mortise.toml", TOML.format(name=name, version=version, says=says, more=more))
        self.file(f"{folder}/run.py", "#!/usr/bin/python3\nprint()\n").chmod(0o755)
        return self.dir / folder

    def listed(self, *options):
        return [(row["name"], row["version"]) for row in self.ok("list", "--json", *options).json["plugins"]]

    def refused(self, *args):
        """The answer is no, with the line to type: that line."""
        done = self.run_mortise(*args)
        self.assertEqual(done.code, 4, done.err)
        self.assertEqual(done.out, "")
        return done.error_lines[-1]

    def asked(self, answer, *args):
        """Runs on a terminal and types the answer. What appeared, and the exit code."""
        done = self.in_terminal(*args, answer=answer)
        return done.out, done.code, "[y/N]" in done.out


class Install(Store):
    def test_nothing_to_ask(self):
        done = self.run_mortise("install", self.make())
        self.assertEqual((done.code, done.out), (0, "installed greeter 1.0.0\n"), done.err)
        for fact in ("greeter 1.0.0 (plain)", '"Says hello"', "run.py", "may not use the network"):
            self.assertIn(fact, done.err)
        self.assertEqual(self.listed(), [("greeter", "1.0.0")])
        self.assertIn("greeter  1.0.0", self.ok("list").out)

    def test_without_a_terminal(self):
        place = self.make(more='network = true\nread = ["/etc/hosts"]')
        line = self.refused("install", place)
        self.assertIn(f"type: mortise install --allow network,read {place}", line)
        self.assertEqual(self.listed(), [])
        self.refused("install", place, "--allow", "network")
        self.assertEqual(self.run_mortise("install", place, "--allow", "network,read").code, 0)
        row = self.ok("list", "--json").json["plugins"][0]
        self.assertEqual(row["allow"], ["network", "read"])
        self.assertEqual(row["permissions"]["read"], ["/etc/hosts"])

    def test_yes_once(self):
        self.assertEqual(self.run_mortise("install", self.make(more="network = true"), "--yes").code, 0)

    def test_terminal(self):
        place = self.make(more="network = true")
        seen, code, typed = self.asked(b"n\n", "install", place)
        self.assertTrue(typed)
        self.assertEqual(code, 4, seen)
        self.assertIn("you said no", seen)
        self.assertLess(seen.index("may use the network"), seen.index("[y/N]"))
        self.assertEqual(self.listed(), [])
        seen, code, _ = self.asked(b"y\n", "install", place)
        self.assertEqual(code, 0, seen)
        self.assertEqual(self.listed(), [("greeter", "1.0.0")])

    def test_everything(self):
        place = self.plugin("words")
        line = self.refused("install", place, "--yes")
        self.assertIn("may do everything that you may", line)
        self.assertIn("mortise install --confine", line)
        self.assertIn("mortise install --allow unconfined", line)
        done = self.run_mortise("install", place, "--allow", "unconfined")
        self.assertEqual(done.code, 0, done.err)
        self.assertIn("read and change all your files", done.err)
        self.assertEqual(self.run_mortise("remove", "words").code, 0)
        self.assertEqual(self.run_mortise("install", place, "--confine").code, 0)
        self.assertTrue(self.ok("list", "--json").json["plugins"][0]["confine"])

    def test_words_of_the_plugin(self):
        place = self.make(says="good\\u001b[2J\\u202Egpj.exe\\nWhat it may do: nothing")
        done = self.run_mortise("install", place)
        self.assertEqual(done.code, 0, done.err)
        self.assertNotIn("\x1b", done.err)
        self.assertNotIn("\u202e", done.err)
        self.assertNotIn("\nWhat it may do: nothing", done.err)

    def test_archive(self):
        place = self.make()
        with tarfile.open(self.dir / "greeter.tar.gz", "w:gz") as archive:
            archive.add(place, "greeter-1.0.0")
        done = self.run_mortise("install", "greeter.tar.gz")
        self.assertEqual((done.code, done.out), (0, "installed greeter 1.0.0\n"), done.err)

    def test_refused_trees(self):
        place = self.make()
        os.symlink("/etc/passwd", place / "out")
        self.assertIn("leads out", self.refused("install", place))
        os.unlink(place / "out")
        os.mkfifo(place / "pipe")
        self.assertIn("neither file, link nor directory", self.refused("install", place))
        os.unlink(place / "pipe")
        (place / "README").touch()
        (place / "readme").touch()
        self.refused("install", place)
        self.assertEqual(self.listed(), [])
        self.assertEqual(sorted(os.listdir(self.plugins)), ["lock"])

    def test_left_out(self):
        place = self.make()
        self.file("greeter/.git/config", "x")
        self.file("greeter/sub/__pycache__/a.pyc", "x")
        self.assertEqual(self.run_mortise("install", place).code, 0)
        kept = self.ok("list", "--json").json["plugins"][0]["directory"]
        self.assertEqual(sorted(os.listdir(kept)), ["mortise.toml", "run.py"])

    def test_wrong_words(self):
        self.fails(2, "usage", "install")
        self.fails(2, "usage", "install", "x", "--allow", "fun")
        self.fails(5, "not_found", "install", "nonesuch")


class Versions(Store):
    def setUp(self):
        super().setUp()
        self.assertEqual(self.run_mortise("install", self.make()).code, 0)

    def test_upgrade_and_back(self):
        place = self.make("1.1.0")
        self.file("greeter/more.py", "")
        done = self.run_mortise("upgrade", "greeter", place)
        self.assertEqual((done.code, done.out), (0, "upgraded greeter 1.1.0\n"), done.err)
        self.assertIn("added     more.py", done.err)
        self.assertIn("changed   mortise.toml", done.err)
        self.assertEqual(self.listed("--all"), [("greeter", "1.1.0"), ("greeter", "1.0.0")])
        self.assertEqual(self.ok("rollback", "greeter").out, "now in use: greeter 1.0.0\n")
        self.assertEqual(self.listed(), [("greeter", "1.0.0")])
        self.ok("remove", "greeter@1.0.0")
        self.assertEqual(self.listed("--all"), [("greeter", "1.1.0")])
        self.ok("remove", "greeter")
        self.assertEqual(sorted(os.listdir(self.plugins)), ["lock"])
        self.fails(5, "not_found", "remove", "greeter")

    def test_wider_needs_allow(self):
        place = self.make("1.1.0", "network = true")
        self.assertIn("--allow network", self.refused("upgrade", "greeter", place, "--yes"))
        done = self.run_mortise("upgrade", "greeter", place, "--allow", "network")
        self.assertEqual(done.code, 0, done.err)
        self.assertIn("may more  network", done.err)
        done = self.run_mortise("upgrade", "greeter", self.make("1.2.0", "network = true"), "--yes")
        self.assertEqual(done.code, 0, done.err)

    def test_downgrade_needs_allow(self):
        place = self.make("0.9")
        self.assertIn("--allow downgrade", self.refused("install", place, "--yes"))
        self.assertEqual(self.run_mortise("install", place, "--allow", "downgrade").code, 0)

    def test_another_plugin(self):
        place = self.make(name="other", folder="other")
        self.assertIn('called "other", not "greeter"', self.refused("upgrade", "greeter", place))

    def test_approve(self):
        kept = self.ok("list", "--json").json["plugins"][0]["directory"]
        with open(f"{kept}/run.py", "a", encoding="utf-8") as file:
            file.write("# changed\n")
        line = self.refused("approve", "greeter")
        self.assertIn("mortise approve --yes greeter", line)
        seen, code, typed = self.asked(b"yes\n", "approve", "greeter")
        self.assertTrue(typed)
        self.assertEqual(code, 0, seen)
        self.assertIn("changed   run.py", seen)
        self.assertEqual(len(self.listed("--all")), 1)

    def test_damaged_state(self):
        (self.plugins / "greeter" / "state.json").write_text("{")
        done = self.run_mortise("list")
        self.assertIn("damaged", done.err)
        self.assertEqual(done.code, 0)


class NoPlace(Store):
    def test_no_home(self):
        place = self.make()
        for name in ("HOME", "XDG_DATA_HOME"):
            self.env.pop(name, None)
        done = self.fails(1, "system", "install", place)
        self.assertIn("neither XDG_DATA_HOME nor HOME", done.err)
        self.assertIn("no plugin is installed", self.run_mortise("list").err)
        self.fails(5, "not_found", "remove", "greeter")

    def test_no_room(self):
        """A place that cannot be written, whoever we are."""
        self.env["XDG_DATA_HOME"] = "/proc/self"
        done = self.fails(1, "system", "install", self.make())
        self.assertIn("/proc/self/mortise/plugins cannot be written", done.err)
        self.assertIn("nothing was changed", done.err)

    def test_full_disk(self):
        """A real one of 64 KiB, in a mount namespace of our own."""
        (self.make() / "large").write_bytes(b"x" * 200000)
        script = 'mount -t tmpfs -o size=64k none "$0" && shift 0 && exec "$@"'
        (self.dir / "data").mkdir()
        command = ["unshare", "-rm", "sh", "-c", script, str(self.dir / "data"), str(MORTISE), "install"]
        probe = subprocess.run(command[:5] + [str(self.dir / "data"), "true"], env=self.env, check=False)
        if probe.returncode != 0:
            self.skipTest("no mount namespace can be had here")
        done = subprocess.run(
            [*command, "greeter"], env=self.env, cwd=self.dir, capture_output=True, text=True, check=False
        )
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("No space left on device", done.stderr)
        self.assertIn("nothing was changed", done.stderr)


class Protected(Store):
    def test_store_inside_a_workspace(self):
        """A confined program that may write a workspace with the store in it may not write the store."""
        self.assertEqual(self.run_mortise("install", self.make()).code, 0)
        state = self.plugins / "greeter" / "state.json"
        before = state.read_text()
        for level in ("t0", "t1"):
            done = self.run_mortise(
                "jail", "--level", level, "-w", self.dir, "--write", "--", "sh", "-c", f"echo x > {state}"
            )
            if done.code == 125:
                self.skipTest(f"this machine has no {level}: {done.err}")
            self.assertIn(f"sh tried to write {state}", done.err)
            self.assertEqual(state.read_text(), before)


class Many(Store):
    def test_a_thousand(self):
        """All are listed, in order, and one of them is found. ./dev bench says how long it takes."""
        self.assertEqual(self.run_mortise("install", self.make()).code, 0)
        state = json.loads((self.plugins / "greeter" / "state.json").read_text())
        for i in range(1000):
            state["name"] = f"many{i:04}"
            self.file(f"data/mortise/plugins/many{i:04}/state.json", json.dumps(state))
        names = [name for name, _ in self.listed()]
        self.assertEqual(len(names), 1001)
        self.assertEqual(names, sorted(names))


if __name__ == "__main__":
    unittest.main()
