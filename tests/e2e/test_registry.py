#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""mortise registry, install --from, upgrade: a team's plugins in a directory, and those who put
others there."""
import copy
import json
import os
import shutil
import unittest

from team_support import TeamCase


class Update(TeamCase):
    def test_index(self):
        team = self.registry("1.0.0", "1.10.0", "1.9.0")
        index = self.index()
        self.assertEqual(index["serial"], 1)
        self.assertEqual([p["version"] for p in index["plugins"]], ["1.10.0", "1.9.0", "1.0.0"])
        first = index["plugins"][0]
        self.assertEqual((first["name"], first["file"]), ("greeter", "greeter-1.10.0.tar.zst"))
        self.assertEqual(first["size"], os.path.getsize(team / first["file"]))
        self.assertIn("greeter  1.10.0", self.run_mortise("registry", "list", team).out)

    def test_same_files_same_bytes(self):
        one = self.registry("1.0.0", "1.1.0")
        shutil.copytree(one, self.dir / "two")
        (self.dir / "two/mortise-index.json").unlink()
        self.ok("registry", "update", self.dir / "two")
        self.assertEqual(
            (one / "mortise-index.json").read_bytes(), (self.dir / "two/mortise-index.json").read_bytes()
        )

    def test_serial(self):
        team = self.registry("1.0.0")
        self.assertIn("nothing has changed", self.ok("registry", "update", team).out)
        self.bundle("1.1.0")
        told = self.ok("registry", "update", team, "--json").json
        self.assertIn(": 1 plugin, 2 versions, serial 2", self.ok("registry", "update", team).out)
        self.assertEqual((told["serial"], told["plugins"], told["changed"]), (2, 2, True))
        (team / "greeter-1.0.0.tar.zst").unlink()
        self.assertEqual(self.ok("registry", "update", team, "--json").json["serial"], 3)

    def test_other_content_is_told(self):
        team = self.registry("1.0.0")
        self.bundle("1.0.0", more="network = true")
        done = self.done("registry", "update", team)
        self.assertIn("another content than before, in the same version 1.0.0", done.err)

    def test_signed(self):
        sign = self.key()
        team = self.registry("1.0.0", sign=sign)
        self.assertIn("that you do not know", self.run_mortise("registry", "list", team).err)
        self.bundle("1.1.0")
        done = self.fails(2, "usage", "registry", "update", team)
        self.assertIn("sign the new one, too", done.err)
        self.ok("registry", "update", team, *sign)
        self.assertEqual(self.index()["serial"], 2)

    def test_refused_archives(self):
        team = self.registry("1.0.0")
        before = (team / "mortise-index.json").read_bytes()
        self.bundle("1.0", name="short")
        self.assertIn(
            'short-1.0.tar.zst: its version is "1.0"', self.fails(4, "input", "registry", "update", team).err
        )
        (team / "short-1.0.tar.zst").unlink()
        self.file("team/odd.zip", "no archive")
        self.assertIn("odd.zip: ", self.fails(4, "input", "registry", "update", team).err)
        (team / "odd.zip").unlink()
        shutil.copy(team / "greeter-1.0.0.tar.zst", team / "again-1.0.0.tar.zst")
        self.assertIn("greeter 1.0.0 is listed twice", self.fails(4, "input", "registry", "update", team).err)
        (team / "again-1.0.0.tar.zst").unlink()
        self.assertEqual((team / "mortise-index.json").read_bytes(), before)
        (team / "latest.tar.zst").symlink_to("greeter-1.0.0.tar.zst")
        self.assertIn("latest.tar.zst: left out: it is a link", self.done("registry", "update", team).err)
        self.assertEqual(len(self.index()["plugins"]), 1)

    def test_leaves_nothing_in_tmp(self):
        temp = self.dir / "tmp"
        temp.mkdir()
        self.env["TMPDIR"] = str(temp)
        self.registry("1.0.0")
        self.file("team/odd.zip", "no archive")
        self.fails(4, "input", "registry", "update", self.dir / "team")
        self.assertEqual(os.listdir(temp), [])

    def test_wrong_words(self):
        self.fails(2, "usage", "registry")
        self.fails(2, "usage", "registry", "make", "x")
        self.fails(5, "not_found", "registry", "list", "nonesuch")
        self.assertIn("is no registry", self.fails(5, "not_found", "registry", "list", self.dir).err)


class Install(TeamCase):
    def test_newest(self):
        team = self.registry("1.0.0", "1.10.0", "1.9.0", "2.0.0-rc.1")
        done = self.done("install", "greeter", "--from", team)
        self.assertEqual(done.out, "installed greeter 1.10.0\n")
        self.assertIn("in an index that is not signed", done.err)
        row = self.ok("list", "--json").json["plugins"][0]
        self.assertEqual(row["from"], f"registry:{team}")
        self.assertEqual(self.ok("call", "greeter", "x").json, "1.10.0")

    def test_ranges(self):
        team = self.registry("1.0.0", "1.9.0", "1.9.5", "2.0.0-rc.1")
        for word, version in (
            ("greeter@1.9", "1.9.5"),
            ("greeter@~1.0", "1.0.0"),
            ("greeter@>=1,<1.9.5", "1.9.0"),
            ("greeter@1.0.0", "1.0.0"),
            ("greeter@2.0.0-rc.1", "2.0.0-rc.1"),
        ):
            with self.subTest(word):
                done = self.done("install", word, "--from", team, "--allow", "downgrade")
                self.assertIn(f" greeter {version}\n", done.out)

    def test_nothing_fits(self):
        team = self.registry("1.0.0")
        line = self.refused("install", "greeter@^2", "--from", team, code=5)
        self.assertIn('no version of greeter that fits "^2"; there is: 1.0.0', line)
        self.assertIn("did you mean greeter?", self.refused("install", "greter", "--from", team, code=5))
        self.assertIn("is no range", self.refused("install", "greeter@x", "--from", team, code=2))
        self.assertIn("cannot be the name", self.refused("install", "../x", "--from", team, code=2))

    def test_asks_as_ever(self):
        team = self.registry("1.0.0", more="network = true")
        line = self.refused("install", "greeter", "--from", team)
        self.assertIn(f"mortise install --allow network greeter --from {team}", line)
        self.done("install", "greeter", "--from", team, "--yes")

    def test_signed_bundle(self):
        sign = self.key(trust="acme")
        team = self.registry("1.0.0", sign=sign)
        done = self.done("install", "greeter", "--from", team)
        self.assertIn("signed    by acme", done.err)
        self.assertIn("in an index that is signed by acme", done.err)

    def test_upgrade(self):
        team = self.registry("1.0.0")
        self.done("install", "greeter", "--from", team)
        self.assertIn("nothing newer is in", self.ok("upgrade", "greeter").out)
        self.assertEqual(self.ok("upgrade", "greeter", "--json").json["done"], "nothing")
        self.assertEqual(self.run_mortise("outdated").code, 0)
        self.registry("1.1.0", "1.2.0")
        done = self.run_mortise("outdated")
        self.assertEqual(done.code, 1)
        self.assertIn("newer: 1.2.0", done.out)
        self.done("upgrade", "greeter@1.1")
        self.assertEqual(self.done("upgrade", "greeter").out, "upgraded greeter 1.2.0\n")
        self.assertIn("--allow downgrade", self.refused("upgrade", "greeter@1.1", "--yes"))
        self.assertEqual(self.run_mortise("outdated").code, 0)

    def test_upgrade_of_another_origin(self):
        self.done("install", self.source())
        self.assertIn("was not installed from a registry", self.refused("upgrade", "greeter", code=2))
        self.registry("1.1.0")
        self.done("upgrade", "greeter", "--from", self.dir / "team")
        self.assertEqual(self.listed(), [("greeter", "1.1.0")])


class Signer(TeamCase):
    """An attacker who can change an archive can leave its signature out, or sign it anew."""

    def setUp(self):
        super().setUp()
        self.sign = self.key(trust="acme")
        self.done("install", self.bundle("1.0.0", sign=self.sign))

    def state_key(self):
        return self.ok("list", "--json").json["plugins"][0]["key"]

    def check_refused(self, path, *facts):
        for words in (("upgrade", "greeter", path), ("install", path), ("install", path, "--yes")):
            done = self.run_mortise(*words)
            for fact in facts:
                self.assertIn(fact, done.err)
            self.assertIn("type: mortise " + words[0] + " --allow downgrade", self.refused(*words))

    def test_lost(self):
        self.check_refused(self.bundle("1.1.0"), "was signed by acme (", ", is not signed any more")
        self.done("upgrade", "greeter", self.dir / "team/greeter-1.1.0.tar.zst", "--allow", "downgrade")
        self.assertIsNone(self.state_key())
        self.done("upgrade", "greeter", self.bundle("1.2.0", team="more"))  # it is known to be unsigned

    def test_lost_of_the_same_version(self):
        path = self.dir / "team/greeter-1.0.0.tar.zst"
        (self.dir / "team/greeter-1.0.0.tar.zst.sig").unlink()
        self.check_refused(path, "is not signed any more")
        self.check_refused(self.source("1.0.0"), "is not signed any more")

    def test_another_key(self):
        sign = self.key("other.pem")
        path = self.bundle("1.1.0", sign=sign)
        self.check_refused(path, "was signed by acme (", "is signed by another key now: a key that you do not")
        self.ok("trust", "add", self.dir / "other.pem.pub", "--as", "zoe")
        self.check_refused(path, "is signed by another key now: zoe (")
        self.done("upgrade", "greeter", path, "--allow", "downgrade")

    def test_the_same_key(self):
        self.done("upgrade", "greeter", self.bundle("1.1.0", sign=self.sign))
        done = self.run_mortise("install", self.dir / "team/greeter-1.0.0.tar.zst", "--yes")
        self.assertEqual(done.code, 4)
        self.assertIn("an older version takes the place", done.err)
        self.assertNotIn("was signed by", done.err)

    def test_terminal(self):
        done = self.in_terminal("upgrade", "greeter", self.bundle("1.1.0"), answer=b"n\n")
        self.assertEqual(done.code, 4, done.out)
        self.assertLess(done.out.index("is not signed any more"), done.out.index("[y/N]"))

    def test_approve_keeps_it(self):
        key = self.state_key()
        kept = self.ok("list", "--json").json["plugins"][0]["directory"]
        with open(f"{kept}/run.py", "a", encoding="utf-8") as file:
            file.write("# mine\n")
        self.done("approve", "greeter", "--yes")
        self.assertEqual(self.state_key(), key)

    def test_registry(self):
        team = self.registry("1.1.0", team="unsigned")
        self.assertIn("--allow downgrade", self.refused("upgrade", "greeter", "--from", team, "--yes"))


class Attacks(TeamCase):
    """Somebody else can write to the directory."""

    def setUp(self):
        super().setUp()
        self.sign = self.key(trust="acme")
        self.team = self.registry("1.0.0", "1.1.0", sign=self.sign)
        self.good = self.index()

    def install(self, *more):
        return self.refused("install", "greeter", "--from", self.team, *more)

    def test_other_file(self):
        shutil.copy(self.team / "greeter-1.0.0.tar.zst", self.team / "greeter-1.1.0.tar.zst")
        self.assertIn("is not the file that the index lists as greeter 1.1.0", self.install())

    def test_same_size(self):
        path = self.team / "greeter-1.1.0.tar.zst"
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)
        self.assertIn("its sha256 is another", self.install())

    def test_changed_index(self):
        index = copy.deepcopy(self.good)
        index["plugins"][0]["version"] = "9.0.0"
        self.put_index(index)
        self.assertIn("its signature does not fit", self.install())

    def test_signature_of_another_serial(self):
        index = copy.deepcopy(self.good)
        index["serial"] = 7
        self.put_index(index)
        self.assertIn("its signature does not fit", self.install())

    def test_index_lies_about_content(self):
        """Without a signature anybody can write one; what it lists must still be what comes."""
        for member, value, why in (
            ("version", "1.2.0", "its version is another"),
            ("name", "greeter2", "its name is another"),
            ("digest", "0" * 64, "its content is another"),
        ):
            with self.subTest(member):
                index = copy.deepcopy(self.good)
                del index["signature"]
                index["plugins"] = index["plugins"][:1]
                index["plugins"][0][member] = value
                self.put_index(index)
                line = self.refused("install", index["plugins"][0]["name"], "--from", self.team)
                self.assertIn(why, line)

    def test_lost_signature_of_a_bundle(self):
        (self.team / "greeter-1.1.0.tar.zst.sig").unlink()
        self.assertIn("its signature is missing", self.install())

    def test_old_index(self):
        shutil.copytree(self.team, self.dir / "old")
        self.registry("1.2.0", sign=self.sign)
        self.done("install", "greeter", "--from", self.team)
        shutil.rmtree(self.team)
        shutil.copytree(self.dir / "old", self.team)
        self.ok("remove", "greeter")
        self.assertIn("is older than the one that you used last: its serial is 1, not 2", self.install())
        self.done("install", "greeter", "--from", self.team, "--allow", "downgrade")
        self.done("install", "greeter", "--from", self.team)

    def test_signature_goes_away(self):
        self.done("install", "greeter@1.0.0", "--from", self.team)
        index = copy.deepcopy(self.good)
        del index["signature"]
        self.put_index(index)
        self.assertIn("is not signed; when you used it last, it was signed", self.install())
        self.ok("registry", "update", self.team, *self.key("other.pem"))
        self.assertIn("signed by a key that you do not know", self.install())

    def test_links(self):
        path = self.team / "greeter-1.1.0.tar.zst"
        path.rename(self.dir / "outside.tar.zst")
        path.symlink_to(self.dir / "outside.tar.zst")
        self.assertIn("greeter-1.1.0.tar.zst: it is a link", self.install())
        index = self.team / "mortise-index.json"
        index.rename(self.dir / "outside.json")
        index.symlink_to(self.dir / "outside.json")
        self.assertIn("mortise-index.json: it is a link", self.install())
        index.unlink()
        os.mkfifo(index)
        self.assertIn("it is no file", self.install())

    def test_hostile_indexes(self):
        """Each is refused with one line that says why."""
        entry = self.good["plugins"][0]

        def with_entry(**members):
            return {"mortise_index": 1, "serial": 9, "plugins": [{**entry, **members}]}

        beside = "is not the name of a file beside the index"
        rows = {
            "no JSON": (b"{", "it is no JSON"),
            "not UTF-8": (b'{"mortise_index":"\xff"}', "it is no JSON"),
            "deep": (b"[" * 100000, "it is no JSON"),
            "no object": (b"[]", "it is no index that this version of mortise knows"),
            "newer": ({"mortise_index": 2}, "it is no index that this version of mortise knows"),
            "no serial": ({"mortise_index": 1, "plugins": []}, "its serial or its list of plugins"),
            "negative": ({"mortise_index": 1, "serial": -1, "plugins": []}, "its serial"),
            "huge serial": (b'{"mortise_index":1,"serial":1e300,"plugins":[]}', "its serial"),
            "no list": ({"mortise_index": 1, "serial": 1, "plugins": {}}, "its list of plugins"),
            "no entry": ({"mortise_index": 1, "serial": 1, "plugins": [7]}, "cannot be the name of a plugin"),
            "name climbs": (with_entry(name="../greeter"), "cannot be the name of a plugin"),
            "name invisible": (with_entry(name="gree\u200bter"), "cannot be the name of a plugin"),
            "name with version": (with_entry(name="greeter@1"), "cannot be the name of a plugin"),
            "version": (with_entry(version="1.0"), '"1.0" is no semantic version'),
            "version with zeros": (with_entry(version="1.02.3"), "is no semantic version"),
            "version climbs": (with_entry(version="1.0.0/../.."), "is no semantic version"),
            "version is long": (with_entry(version="1.0.0-" + "x" * 99), "is no semantic version"),
            "file climbs": (with_entry(file="../x.tar"), beside),
            "file is absolute": (with_entry(file="/etc/passwd"), beside),
            "file in a directory": (with_entry(file="a/b.tar"), beside),
            "file is hidden": (with_entry(file=".x.tar"), beside),
            "no file": (with_entry(file=""), beside),
            "file with controls": (with_entry(file="a\u001b[2J.tar"), "control"),
            "size": (with_entry(size=-1), "its size, sha256 or digest"),
            "sum": (with_entry(sha256="../" + "0" * 61), "its size, sha256 or digest"),
            "key": (with_entry(key="ed25519:7"), "its key is none"),
            "signature": ({**with_entry(), "signature": {"key": "x"}}, "its signature does not fit"),
            "twice": (
                {"mortise_index": 1, "serial": 9, "plugins": [entry, entry]},
                "greeter 1.1.0 is listed twice",
            ),
            "twice but for the build": (
                {"mortise_index": 1, "serial": 9, "plugins": [entry, {**entry, "version": "1.1.0+b"}]},
                "is listed twice",
            ),
            "many": (
                {"mortise_index": 1, "serial": 9, "plugins": [0] * 20001},
                "it lists more than 20000 plugins",
            ),
        }
        for name, (index, why) in rows.items():
            with self.subTest(name):
                self.put_index(index)
                done = self.run_mortise("install", "greeter", "--from", self.team)
                self.assertEqual(done.code, 4, done.err)
                self.assertEqual(len(done.error_lines), 1, done.err)
                self.assertIn("mortise-index.json: ", done.err)
                self.assertIn(why, done.err)
                self.assertNotIn("\x1b", done.err)
        self.assertEqual(self.listed("--all"), [])

    def test_large_index(self):
        with open(self.team / "mortise-index.json", "wb") as file:
            file.truncate(100 << 20)
        self.assertIn("it is larger than 16 MiB", self.install())

    def test_hostile_bundle(self):
        """It is as for any archive: tests/bundle has all of them."""
        self.put_index({"mortise_index": 1, "serial": 9, "plugins": self.good["plugins"]})
        self.file("team/greeter-1.1.0.tar.zst", b"PK\x03\x04 nothing")
        self.assertIn(
            "its size is another",
            self.refused("install", "greeter", "--from", self.team, "--allow", "downgrade"),
        )


class Memory(TeamCase):
    def test_without_a_place(self):
        """Nothing is remembered then, and nothing fails."""
        team = self.registry("1.0.0")
        self.env.pop("HOME", None)
        self.env.pop("XDG_STATE_HOME")
        self.done("install", "greeter", "--from", team)

    def test_damaged(self):
        team = self.registry("1.0.0")
        self.done("install", "greeter", "--from", team)
        seen = list((self.dir / "state/mortise/registries").iterdir())
        self.assertEqual(len(seen), 1)
        self.assertEqual(json.loads(seen[0].read_bytes()), {"path": str(team), "serial": 1, "key": None})
        seen[0].write_text("{")
        self.done("install", "greeter", "--from", team)


if __name__ == "__main__":
    unittest.main()
