#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""mortise lock, install --locked, outdated, and what a name means in a project."""
import json
import os
import shutil
import unittest

from team_support import TeamCase


class LockCase(TeamCase):
    """A project with a registry inside it."""

    def setUp(self):
        super().setUp()
        self.project = self.dir / "project"
        self.below = self.project / "a" / "b"
        self.below.mkdir(parents=True)

    def team(self, *versions, **how):
        return self.registry(*versions, team="project/team", **how)

    def pinned(self, version="1.0.0", *allow):
        """A project that uses greeter from its registry."""
        team = self.team(version)
        self.done("install", "greeter", "--from", team, *allow)
        self.ok("lock", "greeter", cwd=self.project)
        return team

    def lock(self):
        return json.loads((self.project / "mortise.lock").read_bytes())

    def put_lock(self, lock):
        self.file("project/mortise.lock", lock if isinstance(lock, bytes) else json.dumps(lock))

    def other_machine(self):
        """The same project, a new user."""
        for name in ("data", "state", "config"):
            shutil.rmtree(self.dir / name, ignore_errors=True)

    def here(self, *args):
        return self.run_mortise(*args, cwd=self.below)


class Lock(LockCase):
    def test_what_is_pinned(self):
        self.pinned()
        entry = self.lock()["plugins"][0]
        row = self.ok("list", "--json").json["plugins"][0]
        self.assertEqual(
            (entry["name"], entry["version"], entry["digest"], entry["registry"]),
            ("greeter", "1.0.0", row["digest"], "team"),
        )
        self.assertEqual(entry["permissions"], row["permissions"])
        self.assertEqual(entry["interface"], {"dialect": "plain", "offers": [], "interfaces": []})
        text = (self.project / "mortise.lock").read_text()
        self.assertIn('\n      "version": "1.0.0",\n', text)
        self.assertTrue(text.endswith("}\n"))

    def test_again(self):
        self.pinned()

        def state():  # but for the time of access
            found = (self.project / "mortise.lock").stat()
            return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns

        before = state()
        self.assertIn("nothing has changed", self.ok("lock", cwd=self.below).out)
        self.assertEqual(state(), before)
        self.assertFalse((self.below / "mortise.lock").exists())

    def test_sorted_and_removed(self):
        self.done("install", self.source(name="zebra"))
        self.done("install", self.source(name="ant"))
        self.done("install", self.source(name="mouse"))
        self.ok("lock", "zebra", "ant", cwd=self.project)
        told = self.ok("lock", "mouse", "--json", cwd=self.below).json
        self.assertEqual((told["changed"], told["file"]), (True, str(self.project / "mortise.lock")))
        self.assertEqual([p["name"] for p in self.lock()["plugins"]], ["ant", "mouse", "zebra"])
        self.assertIn("no longer pinned", self.ok("lock", "--remove", "mouse", cwd=self.project).out)
        self.assertEqual([p["name"] for p in self.lock()["plugins"]], ["ant", "zebra"])
        self.fails(5, "not_found", "lock", "--remove", "mouse", cwd=self.project)

    def test_paths(self):
        """Inside the project they are relative to it."""
        shutil.copytree(self.source(), self.project / "tools" / "greeter")
        self.done("install", self.project / "tools" / "greeter")
        self.done("install", self.source(name="other"))
        self.ok("lock", "greeter", "other", cwd=self.project)
        places = {p["name"]: p["path"] for p in self.lock()["plugins"]}
        self.assertEqual(places, {"greeter": "tools/greeter", "other": str(self.dir / "src/other")})

    def test_home_is_not_in_it(self):
        self.env["HOME"] = str(self.dir / "alice")
        self.done("install", self.source(more='read = ["~/.config/x", "/etc/hosts"]'), "--yes")
        self.ok("lock", "greeter", cwd=self.project)
        self.assertEqual(self.lock()["plugins"][0]["permissions"]["read"], ["/etc/hosts", "~/.config/x"])
        self.other_machine()
        self.env["HOME"] = str(self.dir / "bob")
        self.done("install", "--locked", "--yes", cwd=self.project)

    def test_only_what_was_approved(self):
        team = self.team("1.0.0")
        self.done("install", "greeter", "--from", team)
        kept = self.ok("list", "--json").json["plugins"][0]["directory"]
        with open(f"{kept}/run.py", "a", encoding="utf-8") as file:
            file.write("# changed\n")
        done = self.fails(9, "sandbox_violation", "lock", "greeter", cwd=self.project)
        self.assertIn("run.py was changed", done.err)
        self.assertFalse((self.project / "mortise.lock").exists())

    def test_wrong_words(self):
        self.fails(5, "not_found", "lock", cwd=self.project)
        self.fails(5, "not_found", "lock", "nonesuch", cwd=self.project)
        self.fails(2, "usage", "lock", "--remove", cwd=self.project)
        self.assertEqual(os.listdir(self.project), ["a"])


class Names(LockCase):
    def test_pinned_version_is_used(self):
        self.pinned()
        self.team("1.1.0")
        done = self.done("upgrade", "greeter", cwd=self.below)
        self.assertIn("still pins greeter 1.0.0", done.err)
        self.assertEqual(self.ok("call", "greeter", "x", cwd=self.below).json, "1.0.0")
        self.assertEqual(self.ok("call", "greeter@1.1.0", "x", cwd=self.below).json, "1.1.0")
        self.assertEqual(self.ok("call", "greeter", "x").json, "1.1.0")
        self.assertIn("greeter 1.1.0, before: 1.0.0", self.ok("lock", cwd=self.below).out)
        self.assertEqual(self.ok("call", "greeter", "x", cwd=self.below).json, "1.1.0")

    def test_whose_lock_counts(self):
        """In a directory that many share, another user's lock does not choose for us."""
        self.pinned()
        lock = self.project / "mortise.lock"
        self.team("1.1.0")
        self.done("upgrade", "greeter", cwd=self.below)
        lock.chmod(0o666)
        self.assertEqual(self.ok("call", "greeter", "x", cwd=self.below).json, "1.1.0")
        lock.chmod(0o644)
        self.assertEqual(self.ok("call", "greeter", "x", cwd=self.below).json, "1.0.0")
        if os.geteuid() != 0:
            self.skipTest("only root can give files away")
        os.chown(lock, 4711, -1)
        self.assertEqual(self.ok("call", "greeter", "x", cwd=self.below).json, "1.1.0")
        os.chown(self.project, 4711, -1)
        self.assertEqual(self.ok("call", "greeter", "x", cwd=self.below).json, "1.0.0")

    def test_not_installed(self):
        self.pinned()
        self.other_machine()
        done = self.fails(4, "input", "call", "greeter", "x", cwd=self.below)
        self.assertIn("pins greeter 1.0.0, which is not installed", done.err)
        self.assertIn("type: mortise install --locked greeter", done.err)

    def test_differs(self):
        self.pinned()
        self.done("install", self.source("1.0.0", more="spawn = true"), "--allow", "spawn,replace")
        done = self.fails(4, "input", "call", "greeter", "x", cwd=self.below)
        self.assertIn("greeter 1.0.0 is installed with another content than", done.err)
        self.assertIn("type: mortise install --locked greeter", done.err)
        self.assertEqual(self.ok("call", "greeter", "x").json, "1.0.0")

    def test_other_plugins_and_damaged_locks(self):
        self.pinned()
        self.done("install", self.source("3.0.0", name="other"))
        self.assertEqual(self.ok("call", "other", "x", cwd=self.below).json, "3.0.0")
        self.put_lock(b"<<<<<<< HEAD")
        done = self.fails(4, "input", "call", "other", "x", cwd=self.below)
        self.assertIn("mortise.lock: it is no JSON", done.err)
        self.assertEqual(self.ok("call", "other@3.0.0", "x", cwd=self.below).json, "3.0.0")

    def test_hostile_locks(self):
        self.pinned()
        good = self.lock()

        def with_entry(**members):
            return {"mortise_lock": 1, "plugins": [{**good["plugins"][0], **members}]}

        rows = {
            "newer": ({"mortise_lock": 2}, "it is no lock that this version of mortise knows"),
            "no list": ({"mortise_lock": 1, "plugins": {}}, "its list of plugins is missing"),
            "deep": (b"[" * 100000, "it is no JSON"),
            "name": (with_entry(name="../x"), "cannot be those of a plugin"),
            "version": (with_entry(version="../../x"), "cannot be those of a plugin"),
            "digest": (with_entry(digest="x"), "its digest, permissions or interface"),
            "permissions": (with_entry(permissions=[]), "its digest, permissions or interface"),
            "twice": ({"mortise_lock": 1, "plugins": good["plugins"] * 2}, "greeter is listed twice"),
            "large": (b" " * (5 << 20), "it is larger than 4 MiB"),
        }
        for name, (lock, why) in rows.items():
            for words in (["call", "greeter", "x"], ["install", "--locked"], ["outdated"], ["lock"]):
                with self.subTest(name, command=words[0]):
                    self.put_lock(lock)
                    self.assertIn(why, self.fails(4, "input", *words, cwd=self.below).err)


class Locked(LockCase):
    def test_reproduces(self):
        self.pinned()
        self.team("1.1.0")
        want = self.ok("list", "--json").json["plugins"][0]
        self.other_machine()
        done = self.here("install", "--locked")
        self.assertEqual((done.code, done.out), (0, "installed greeter 1.0.0\n"), done.err)
        got = self.ok("list", "--json").json["plugins"][0]
        for member in ("version", "digest", "permissions", "from", "offers", "interface"):
            self.assertEqual(got[member], want[member])
        self.assertEqual(self.here("call", "greeter", "x").json, "1.0.0")
        self.assertIn("is installed as pinned", self.here("install", "--locked").out)
        self.assertEqual(self.here("outdated").code, 1)

    def test_approves_nothing(self):
        team = self.team("1.0.0", more="network = true")
        self.done("install", "greeter", "--from", team, "--yes")
        self.ok("lock", "greeter", cwd=self.project)
        self.other_machine()
        line = self.refused("install", "--locked", cwd=self.below)
        self.assertIn(
            "nobody has agreed to network; to agree, type: mortise install --allow network --locked", line
        )
        self.done("install", "--locked", "--allow", "network", cwd=self.below)

    def test_moved_project(self):
        self.pinned()
        self.other_machine()
        self.project.rename(self.dir / "elsewhere")
        self.done("install", "--locked", cwd=self.dir / "elsewhere")

    def test_differs(self):
        """Each one thing, by name and reason; nothing is installed."""
        self.pinned()
        good = self.lock()
        self.other_machine()
        rows = {
            "content": ({"digest": "0" * 64}, "greeter 1.0.0: its content is not what"),
            "permissions": (
                {"permissions": {**good["plugins"][0]["permissions"], "network": True}},
                "greeter 1.0.0: its permissions are not what",
            ),
            "interface": (
                {"interface": {"dialect": "plain", "offers": ["x"], "interfaces": []}},
                "greeter 1.0.0: its interface is not what",
            ),
            "version": ({"version": "1.0.1"}, 'no version of greeter that fits "1.0.1"'),
        }
        for name, (members, why) in rows.items():
            with self.subTest(name):
                self.put_lock({"mortise_lock": 1, "plugins": [{**good["plugins"][0], **members}]})
                line = self.refused(
                    "install", "--locked", "--yes", code=5 if name == "version" else 4, cwd=self.project
                )
                self.assertIn(why, line)
                self.assertEqual(self.listed("--all"), [])

    def test_other_version_at_a_path(self):
        shutil.copytree(self.source(), self.project / "greeter")
        self.done("install", self.project / "greeter")
        self.ok("lock", "greeter", cwd=self.project)
        self.other_machine()
        shutil.rmtree(self.project / "greeter")
        shutil.copytree(self.source("2.0.0"), self.project / "greeter")
        line = self.refused("install", "--locked", cwd=self.below)
        self.assertIn("greeter: ", line)
        self.assertIn("mortise.lock pins 1.0.0, but", line)
        self.assertIn("holds greeter 2.0.0; nothing was installed", line)

    def test_bundle_in_the_project(self):
        path = self.bundle(team="project/bundles")
        self.done("install", path)
        self.ok("lock", "greeter", cwd=self.project)
        self.assertEqual(self.lock()["plugins"][0]["path"], "bundles/greeter-1.0.0.tar.zst")
        self.other_machine()
        self.done("install", "--locked", cwd=self.below)
        path.unlink()
        self.assertIn("is installed as pinned", self.here("install", "--locked").out)

    def test_beside_a_newer_one(self):
        """One project does not change what the name means elsewhere."""
        self.pinned()
        self.other_machine()
        self.done("install", self.source("2.0.0"))
        line = self.refused("install", "--locked", "--yes", cwd=self.below)
        self.assertIn("--allow downgrade", line)
        self.done("install", "--locked", "--allow", "downgrade", cwd=self.below)
        self.assertEqual(self.listed("--all"), [("greeter", "2.0.0"), ("greeter", "1.0.0")])
        self.assertEqual(self.here("call", "greeter", "x").json, "1.0.0")
        self.assertEqual(self.ok("call", "greeter", "x").json, "2.0.0")

    def test_confined_by_the_user(self):
        """A plugin without permissions: how it was confined is pinned, too."""
        place = self.plugin("words")
        self.done("install", place, "--confine")
        self.ok("lock", "words", cwd=self.project)
        self.assertTrue(self.lock()["plugins"][0]["confine"])
        self.other_machine()
        self.done("install", "--locked", cwd=self.project)
        self.ok("remove", "words")
        self.done("install", place, "--allow", "unconfined")
        self.assertIn("installed with other permissions", self.here("outdated").out)
        shutil.rmtree(place)
        self.done("install", "--locked", cwd=self.project)  # from the store itself
        self.assertTrue(self.ok("list", "--json").json["plugins"][0]["confine"])
        self.assertEqual(self.here("outdated").code, 0)

    def test_confine_is_not_offered(self):
        """The lock pins that it is not confined: --confine would be refused."""
        self.done("install", self.plugin("words"), "--allow", "unconfined")
        self.ok("lock", "words", cwd=self.project)
        self.other_machine()
        done = self.here("install", "--locked")
        self.assertEqual(done.code, 4, done.err)
        self.assertNotIn("--confine", done.err)
        self.assertIn("to agree, type: mortise install --allow unconfined --locked", done.err)
        self.done("install", "--locked", "--allow", "unconfined", cwd=self.project)

    def test_signer_is_kept(self):
        """Taken from the store itself, it is still what its signature was for."""
        path = self.dir / "words.tar.zst"
        self.ok("bundle", self.plugin("words"), "-o", path, *self.key(trust="acme"))
        self.done("install", path, "--confine")
        self.ok("lock", "words", cwd=self.project)
        self.done("install", path, "--allow", "unconfined")
        row = self.ok("list", "--json").json["plugins"][0]
        done = self.done("install", "--locked", cwd=self.project)
        self.assertIn("signed    by acme", done.err)
        self.assertNotIn("was signed by", done.err)
        self.assertTrue(row["key"])
        self.assertEqual(self.ok("list", "--json").json["plugins"][0]["key"], row["key"])

    def test_other_place(self):
        self.pinned()
        self.other_machine()
        (self.project / "team").rename(self.dir / "moved")
        self.assertIn("project/team", self.refused("install", "--locked", code=5, cwd=self.project))
        self.done("install", "--locked", "--from", self.dir / "moved", cwd=self.project)

    def test_others_go_on(self):
        self.done("install", self.source(name="ant"))
        self.done("install", self.source(name="zebra"))
        self.ok("lock", "ant", "zebra", cwd=self.project)
        self.other_machine()
        shutil.rmtree(self.dir / "src/ant")
        done = self.here("install", "--locked")
        self.assertEqual((done.code, done.out), (5, "installed zebra 1.0.0\n"), done.err)
        self.assertIn("src/ant", done.err)
        done = self.here("install", "--locked", "zebra", "--json")
        self.assertEqual((done.code, done.json["done"]), (0, "nothing"))
        self.assertIn('pins no plugin called "mouse"', self.here("install", "--locked", "mouse").err)

    def test_no_lock(self):
        self.assertIn("there is no mortise.lock", self.fails(5, "not_found", "install", "--locked").err)


class Outdated(LockCase):
    def row(self, code=1):
        done = self.here("outdated", "--json")
        self.assertEqual(done.code, code, done.err)
        return done.json["plugins"][0]

    def test_states(self):
        team = self.pinned()
        row = self.row(0)
        self.assertEqual((row["locked"], row["installed"], row["newest"]), ("1.0.0", "1.0.0", "1.0.0"))
        self.assertIsNone(row["differs"])
        self.assertEqual(self.here("outdated").out, "")
        self.team("1.2.0", "2.0.0-rc.1")
        self.assertEqual((self.row()["newest"], self.row()["differs"]), ("1.2.0", "newer: 1.2.0"))
        self.bundle("1.0.0", team="project/team", more="spawn = true")
        self.done("registry", "update", team)
        self.assertIn("the registry has another content of 1.0.0", self.row()["differs"])
        (team / "greeter-1.0.0.tar.zst").unlink()
        self.done("registry", "update", team)
        self.assertIn("the registry does not have 1.0.0", self.row()["differs"])
        (team / "mortise-index.json").unlink()
        self.assertIn("the registry cannot be read: ", self.row()["differs"])
        self.ok("remove", "greeter")
        self.assertIsNone(self.row()["installed"])
        self.assertIn("not installed", self.here("outdated").out)

    def test_nothing_is_cut_in_a_pipe(self):
        self.pinned()
        far = self.dir / ("d" * 150) / "team"
        lock = self.project / "mortise.lock"
        lock.write_text(lock.read_text().replace('"registry": "team"', f'"registry": "{far}"'))
        done = self.here("outdated")
        self.assertIn(str(far), done.out, lock.read_text())

    def test_all(self):
        self.pinned()
        other = self.registry("1.0.0", name="other", team="other")
        self.done("install", "other", "--from", other)
        self.registry("1.1.0", name="other", team="other")
        self.assertEqual(self.here("outdated").code, 0)
        done = self.here("outdated", "--all")
        self.assertEqual(done.code, 1)
        self.assertIn("newer: 1.1.0", done.out)
        self.assertNotIn("greeter", done.out)
        self.fails(2, "usage", "outdated", "x")


if __name__ == "__main__":
    unittest.main()
