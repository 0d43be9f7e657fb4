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

    def test_interrupted(self):
        """Ctrl-C at the question is 128 + SIGINT, as with all commands."""
        place = self.make(more="network = true")
        done = self.in_terminal("install", place, answer=b"\x03")
        self.assertEqual(done.code, 130, done.out)
        self.assertIn("interrupted by signal 2", done.out)
        self.assertEqual(self.listed(), [])

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

    def test_every_path_is_shown(self):
        """However many there are, and however long: none is cut off."""
        paths = [f"/srv/{'x' * 60}/{i:03}" for i in range(100)]
        hosts = [f"host-{i:03}.example.com:443" for i in range(50)]
        place = self.make(more=f"read = {json.dumps(paths)}\nnetwork = {json.dumps(hosts)}")
        done = self.run_mortise("install", place)
        for fact in paths + hosts:
            self.assertIn(f"\n    {fact}\n", done.err)

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
        self.assertEqual(sorted(os.listdir(self.plugins)), [".lock"])

    def test_where_something_is_wrong(self):
        """As people know it: the directory or archive, and the path in it; never our copy."""
        place = self.make()
        (place / "mortise.toml").write_text("[plugin]\ncommand = 7\n")
        done = self.run_mortise("install", place)
        self.assertIn(f"{place}/mortise.toml:2", done.err)
        with tarfile.open(self.dir / "greeter.tar", "w") as archive:
            archive.add(place, "greeter-1.0.0")
        self.assertIn("greeter.tar/mortise.toml:2", self.run_mortise("install", "greeter.tar").err)
        self.assertNotIn(".new-", done.err + self.run_mortise("install", "greeter.tar").err)

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
        self.assertIn("no plugin called", self.fails(5, "not_found", "upgrade", "nonesuch", self.make()).err)


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
        self.assertEqual(sorted(os.listdir(self.plugins)), [".lock"])
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

    def test_same_version_other_files(self):
        """It is said, needs a word of its own, and the old files can be reached."""
        place = self.make(says="Says goodbye")
        line = self.refused("upgrade", "greeter", place, "--yes")
        self.assertIn("--allow replace", line)
        self.assertEqual(self.listed("--all"), [("greeter", "1.0.0")])
        first = self.ok("list", "--json").json["plugins"][0]
        done = self.run_mortise("upgrade", "greeter", place, "--allow", "replace")
        self.assertEqual((done.code, done.out), (0, "installed greeter 1.0.0\n"), done.err)
        self.assertIn("version 1.0.0 with other files takes the place of 1.0.0", done.err)
        old = f"1.0.0~{first['digest'][:8]}"
        self.assertEqual(self.listed("--all"), [("greeter", "1.0.0"), ("greeter", old)])
        self.assertEqual(self.ok("list", "--json").json["plugins"][0]["description"], "Says goodbye")
        self.assertEqual(self.ok("rollback", "greeter").out, f"now in use: greeter {old}\n")
        row = self.ok("list", "--json").json["plugins"][0]
        self.assertEqual((row["description"], row["digest"]), ("Says hello", first["digest"]))
        self.assertTrue(row["approved"])
        done = self.run_mortise("call", "greeter@" + old, "x")
        self.assertNotEqual(done.code, 9, done.err)  # it runs, though it says nothing
        self.assertIn("as you approved it", self.ok("approve", "greeter@" + old).out)
        self.assertEqual(self.ok("rollback", "greeter").out, "now in use: greeter 1.0.0\n")
        self.assertEqual(self.run_mortise("install", self.make(), "--allow", "replace").code, 0)
        self.assertEqual(len(self.listed("--all")), 2)  # the first files again, and those that they replace
        self.assertEqual(self.ok("list", "--json").json["plugins"][0]["digest"], first["digest"])

    def test_same_version_same_files(self):
        done = self.run_mortise("install", self.make())
        self.assertEqual((done.code, done.out), (0, "installed greeter 1.0.0\n"), done.err)
        self.assertEqual(self.listed("--all"), [("greeter", "1.0.0")])

    def test_allow_says_what_is_new(self):
        self.assertEqual(
            self.run_mortise(
                "upgrade", "greeter", self.make("1.1", "network = true"), "--allow", "network"
            ).code,
            0,
        )
        place = self.make("1.2", 'network = true\nread = ["/etc/hosts"]')
        self.assertIn("--allow network,read", self.refused("upgrade", "greeter", place))
        done = self.run_mortise("upgrade", "greeter", place, "--allow", "read")
        self.assertEqual(done.code, 0, done.err)
        self.assertEqual(self.ok("list", "--json").json["plugins"][0]["allow"], ["network", "read"])

    def test_confined_stays_confined(self):
        for version in ("1.0.0", "1.1.0"):
            self.file(
                "free/mortise.toml", f'[plugin]\nname = "free"\nversion = "{version}"\ncommand = "./run"\n'
            )
            self.file("free/run", "#!/bin/sh\n").chmod(0o755)
            words = ["--confine"] if version == "1.0.0" else []
            done = self.run_mortise("install", self.dir / "free", *words)
            self.assertEqual(done.code, 0, done.err)
        row = next(row for row in self.ok("list", "--json").json["plugins"] if row["name"] == "free")
        self.assertTrue(row["confine"] and row["permissions"]["confined"], row)
        done = self.run_mortise("install", self.dir / "free", "--allow", "unconfined")
        self.assertEqual(done.code, 0, done.err)
        row = next(row for row in self.ok("list", "--json").json["plugins"] if row["name"] == "free")
        self.assertFalse(row["confine"] or row["permissions"]["confined"], row)

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
        self.assertNotIn(str(self.plugins), seen)
        self.assertEqual(len(self.listed("--all")), 1)

    def test_approve_nothing(self):
        done = self.ok("approve", "greeter")
        self.assertEqual(done.out, "greeter 1.0.0 is as you approved it: there is nothing to do\n")
        self.assertEqual(self.ok("approve", "greeter", "--json").json["done"], "nothing")

    def test_approve_another_version(self):
        """The one that was named; the version in use stays in use."""
        self.assertEqual(self.run_mortise("upgrade", "greeter", self.make("1.1.0")).code, 0)
        rows = self.ok("list", "--all", "--json").json["plugins"]
        kept = next(row["directory"] for row in rows if row["version"] == "1.0.0")
        with open(f"{kept}/run.py", "a", encoding="utf-8") as file:
            file.write("# changed\n")
        done = self.run_mortise("approve", "greeter@1.0.0", "--yes")
        self.assertEqual((done.code, done.out), (0, "approved greeter 1.0.0\n"), done.err)
        self.assertIn("Compared with greeter 1.0.0", done.err)
        self.assertEqual(self.listed(), [("greeter", "1.1.0")])
        self.assertIn("nothing to do", self.ok("approve", "greeter@1.0.0").out)
        self.assertIn("nothing to do", self.ok("approve", "greeter").out)

    def test_approve_another_number(self):
        kept = self.ok("list", "--json").json["plugins"][0]["directory"]
        with open(f"{kept}/mortise.toml", encoding="utf-8") as file:
            text = file.read()
        with open(f"{kept}/mortise.toml", "w", encoding="utf-8") as file:
            file.write(text.replace("1.0.0", "7.0"))
        self.assertIn("calls itself 7.0 now", self.refused("approve", "greeter", "--yes"))


class Damaged(Store):
    """One plugin's state is no dead end: for nobody else, and not for itself."""

    TEXTS = {
        "empty": b"",
        "cut": b'{"name":"greeter","curr',
        "binary": bytes(range(256)),
        "list": b"[]",
        "text": b'"greeter"',
        "no versions": b'{"name":"greeter","current":"1.0.0"}',
        "versions of another type": b'{"name":"greeter","current":"1.0.0","versions":{"a":1}}',
        "entries of another type": b'{"name":"greeter","current":"1.0.0","versions":[7,null]}',
        "another plugin": b'{"name":"other","current":"1.0.0","versions":[]}',
        "name of another type": b'{"name":7,"current":"1.0.0","versions":[]}',
    }

    def damages(self):
        """Each way, as a name."""
        state = self.plugins / "greeter" / "state.json"
        good = state.read_bytes()
        for name, text in self.TEXTS.items():
            state.write_bytes(text)
            yield name
        told = json.loads(good)
        told["versions"][0]["directory"] = "../other"
        state.write_text(json.dumps(told))
        yield "directory elsewhere"
        told = json.loads(good)
        del told["versions"][0]["digest"]
        state.write_text(json.dumps(told))
        yield "no digest"
        state.unlink()
        os.mkfifo(state)
        yield "pipe"
        state.unlink()
        (state / "sub").mkdir(parents=True)
        yield "directory"

    def setUp(self):
        super().setUp()
        self.assertEqual(self.run_mortise("install", self.make()).code, 0)
        self.assertEqual(self.run_mortise("install", self.make(name="other", folder="other")).code, 0)

    def test_others_go_on(self):
        for way in self.damages():
            with self.subTest(way):
                done = self.run_mortise("list", "--json")
                self.assertEqual(done.code, 0)
                self.assertEqual([row["name"] for row in done.json["plugins"]], ["other"])
                self.assertEqual(done.json["damaged"], ["greeter"])
                self.assertEqual(len(done.error_lines), 1, done.err)
                self.assertIn("mortise remove greeter", done.err)
                done = self.fails(1, "system", "info", "greeter@1.0.0", "--no-start")
                self.assertIn("greeter: its state.json is damaged", done.err)
                self.assertIn("mortise remove greeter", done.err)
                self.ok("info", "other@1.0.0", "--no-start")
                done = self.run_mortise("install", self.dir / "other")
                self.assertEqual(done.code, 0, done.err)

    def test_remove_heals(self):
        for way in self.damages():
            with self.subTest(way):
                self.ok("remove", "greeter")
                self.assertEqual(self.listed(), [("other", "1.0.0")])
                self.assertEqual(sorted(os.listdir(self.plugins)), [".lock", "other"])
                self.assertEqual(self.run_mortise("install", self.make()).code, 0)

    def test_install_heals(self):
        for way in self.damages():
            with self.subTest(way):
                done = self.run_mortise("install", self.make())
                self.assertEqual(done.code, 0, done.err)
                self.assertIn("what is installed as greeter is damaged", done.err)
                self.assertEqual(self.listed(), [("greeter", "1.0.0"), ("other", "1.0.0")])

    def test_links_are_no_way_out(self):
        """Where one of its directories is a link, installing again writes nothing through it."""
        kept = self.plugins / "greeter"
        (version,) = (p for p in kept.iterdir() if p.is_dir())
        for moved in (kept, version):
            with self.subTest(moved.name):
                outside = self.dir / "outside"
                moved.rename(outside)
                moved.symlink_to(outside)
                before = sorted(p.as_posix() for p in outside.rglob("*"))
                done = self.run_mortise("install", self.make())
                self.assertEqual(done.code, 0, done.err)
                self.assertFalse(moved.is_symlink())
                self.assertEqual(sorted(p.as_posix() for p in outside.rglob("*")), before)
                self.assertEqual(len(self.listed()), 2)
                outside.rename(self.dir / f"outside-{moved.name}")


class Names(Store):
    def test_names_of_the_store(self):
        """No plugin can have the name of a file of the store."""
        for name in ("lock", "state.json", "work", "run.json"):
            with self.subTest(name):
                done = self.run_mortise("install", self.make(name=name, folder="any"))
                self.assertEqual(done.code, 0, done.err)
                self.assertEqual(self.listed(), [(name, "1.0.0")])
                self.ok("info", f"{name}@1.0.0", "--no-start")
                self.ok("remove", name)
        for name in (".lock", ".new-abcdef", "..", "a/b"):
            with self.subTest(name):
                self.assertIn("cannot be the name", self.refused("install", self.make(name=name, folder="any")))

    def test_names_that_windows_reserves(self):
        for name in ("CON", "nul.txt", "COM1"):
            with self.subTest(name):
                self.assertIn("Windows reserves", self.refused("install", self.make(name=name, folder="any")))

    def test_names_that_differ_in_case(self):
        self.assertEqual(self.run_mortise("install", self.make()).code, 0)
        line = self.refused("install", self.make(name="Greeter", folder="any"))
        self.assertIn("differ in case only", line)
        self.assertEqual(self.listed(), [("greeter", "1.0.0")])


class Others(Store):
    """Who else can write the store can write approvals."""

    def setUp(self):
        super().setUp()
        self.assertEqual(self.run_mortise("install", self.make()).code, 0)

    def test_writable_by_others(self):
        home = self.plugins / "greeter"
        for place in (self.plugins, home, home / "state.json"):
            for mode in (0o777, 0o770):
                with self.subTest(place=place.name, mode=oct(mode)):
                    before = place.stat().st_mode & 0o777
                    place.chmod(mode)
                    done = self.fails(9, "sandbox_violation", "call", "greeter@1.0.0", "x")
                    self.assertIn("can be written by other users", done.err)
                    self.assertIn(f"chmod -R go-w {self.plugins}", done.err)
                    place.chmod(before)
        self.plugins.chmod(0o777)
        self.assertIn("can be written by other users", self.run_mortise("list").err)
        self.fails(9, "sandbox_violation", "install", self.dir / "greeter")
        self.assertEqual(subprocess.run(["chmod", "-R", "go-w", self.plugins], check=False).returncode, 0)
        self.assertEqual(self.run_mortise("list").err, "")

    def test_of_another_user(self):
        if os.geteuid() != 0:
            self.skipTest("only root can give files away")
        os.chown(self.plugins, 12345, -1)
        done = self.fails(9, "sandbox_violation", "call", "greeter@1.0.0", "x")
        self.assertIn("belongs to another user", done.err)
        self.fails(9, "sandbox_violation", "install", self.dir / "greeter")

    def test_installing_again_takes_nothing_over(self):
        """What others could write is not believed, also after it is closed to them."""
        (self.plugins / "greeter").chmod(0o777)
        done = self.run_mortise("install", self.make(more="network = true"), "--yes")
        self.assertEqual(done.code, 0, done.err)
        self.assertEqual((self.plugins / "greeter").stat().st_mode & 0o777, 0o700)
        self.assertEqual(self.listed("--all"), [("greeter", "1.0.0")])


class NoPlace(Store):
    def test_no_home(self):
        place = self.make()
        for name in ("HOME", "XDG_DATA_HOME"):
            self.env.pop(name, None)
        done = self.fails(1, "system", "install", place)
        self.assertIn("neither XDG_DATA_HOME nor HOME", done.err)
        self.assertIn("no plugin is installed", self.run_mortise("list").err)
        self.fails(5, "not_found", "remove", "greeter")

    def test_relative_places(self):
        """The specification says: what is no absolute path is not set."""
        place = self.make()
        self.env.update(XDG_DATA_HOME="data", HOME=str(self.dir / "home"))
        self.assertEqual(self.run_mortise("install", place).code, 0)
        self.assertTrue((self.dir / "home/.local/share/mortise/plugins/greeter/state.json").exists())
        self.assertFalse((self.dir / "data").exists())
        self.env["HOME"] = "home"
        done = self.fails(1, "system", "install", place)
        self.assertIn("neither XDG_DATA_HOME nor HOME is an absolute path", done.err)

    def in_mount(self, script, *command):
        """Runs it where `script` has mounted something at $0, which is our data directory."""
        (self.dir / "data").mkdir(exist_ok=True)
        front = ["unshare", "-rm", "sh", "-c", script + ' && exec "$@"', str(self.dir / "data")]
        probe = subprocess.run([*front, "true"], env=self.env, capture_output=True, check=False)
        if probe.returncode != 0:
            self.skipTest("no mount namespace can be had here")
        return subprocess.run(
            [*front, *map(str, command)],
            env=self.env,
            cwd=self.dir,
            capture_output=True,
            text=True,
            check=False,
        )

    def test_read_only(self):
        """What is installed can be listed and used; nothing can be changed, and each command says so."""
        self.assertEqual(self.run_mortise("install", self.make()).code, 0)
        kept = self.ok("list", "--json").json["plugins"][0]["directory"]
        with open(f"{kept}/run.py", "a", encoding="utf-8") as file:
            file.write("# changed\n")
        only = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0"'
        before = sorted(p.as_posix() for p in self.plugins.rglob("*"))
        for words in (
            ["install", "greeter"],
            ["remove", "greeter"],
            ["rollback", "greeter@1.0.0"],
            ["upgrade", "greeter", "greeter"],
            ["approve", "greeter", "--yes"],
        ):
            with self.subTest(words[0]):
                done = self.in_mount(only, MORTISE, *words)
                self.assertEqual(done.returncode, 1, done.stderr)
                line = done.stderr.splitlines()[-1]
                self.assertIn(f"{self.plugins} cannot be written: Read-only file system", line)
                self.assertIn("nothing was changed", line)
        for words in (["list"], ["info", "greeter@1.0.0", "--no-start"]):
            self.assertEqual(self.in_mount(only, MORTISE, *words).returncode, 0)
        self.assertEqual(sorted(p.as_posix() for p in self.plugins.rglob("*")), before)

    def test_no_room(self):
        """A place that cannot be written, by root neither."""
        self.env["XDG_DATA_HOME"] = "/proc/self"
        done = self.fails(1, "system", "install", self.make())
        self.assertIn("/proc/self/mortise/plugins cannot be written", done.err)
        self.assertIn("nothing was changed", done.err)

    def test_full_disk(self):
        """A real one of 64 KiB, in a mount namespace of our own."""
        (self.make() / "large").write_bytes(b"x" * 200000)
        done = self.in_mount('mount -t tmpfs -o size=64k none "$0"', MORTISE, "install", "greeter")
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
