# SPDX-License-Identifier: Apache-2.0
"""YAMS' plugin directories: mortise trust for paths, its list plugins.trust, and plugins that lie there."""
import json
import os
import pathlib
import shutil
import stat
import subprocess
import unittest

from support import BUILD, MORTISE, Case, PYTHON, YAMS_OK, needs_elf_text

CAN = {"content_extraction": {"formats": ["text/plain"], "extensions": [".txt"]}}


class Trusted(Case):
    def setUp(self):
        super().setUp()
        self.env["HOME"] = str(self.dir)
        for name in ("YAMS_PLUGIN_TRUST_FILE", "YAMS_DATA_DIR", "YAMS_STORAGE", "YAMS_CONFIG"):
            self.env.pop(name, None)
        self.own = self.dir / ".local/lib/yams/external-plugins"
        self.list = self.dir / "data/yams/plugins.trust"

    def yams(self, called="words", where=None, **manifest):
        """A plugin in YAMS' own directory, or in `where`."""
        told = {
            "name": called,
            "version": "1.2.0",
            "interfaces": ["content_extractor_v1"],
            "capabilities": CAN,
            "entry": {"cmd": [PYTHON, "./main.py"]},
            **manifest,
        }
        place = (where or self.own) / called
        place.mkdir(parents=True)
        shutil.copy(YAMS_OK, place / "main.py")
        (place / "yams-plugin.json").write_text(json.dumps(told), encoding="utf-8")
        return place

    def write(self, text, mode=0o600):
        self.list.parent.mkdir(parents=True, exist_ok=True)
        self.list.write_bytes(text if isinstance(text, bytes) else text.encode())
        self.list.chmod(mode)

    def health(self, name="words"):
        return self.run_mortise("call", "-d", "yams", name, "plugin.health")

    def runs(self, name="words"):
        done = self.health(name)
        self.assertEqual((done.code, done.err), (0, ""))
        self.assertEqual(done.json["status"], "ok")

    def refused(self, *words, name="words"):
        """Nothing of it was started, and the line says why."""
        done = self.fails(9, "sandbox_violation", "call", "-d", "yams", name, "plugin.health")
        for word in words:
            self.assertIn(str(word), done.err)
        return done.err

    def trusted(self):
        return [row["what"] for row in self.ok("trust", "--json").json["trusted"]]


class Use(Trusted):
    def test_default_directory_is_not_trusted_by_itself(self):
        self.yams()
        command = self.refused("lies in").split("to trust it: ")[1].split()
        self.assertEqual(command, ["mortise", "trust", "add", str(self.own)])
        self.assertEqual(self.ok(*command[1:]).out, f"path {self.own}\n")
        self.runs()

    def test_info_and_chat(self):
        self.yams()
        self.ok("trust", "add", self.own)
        self.assertEqual(self.ok("info", "--no-start", "--json", "words").json["version"], "1.2.0")
        done = self.run_mortise("chat", "words", stdin=b"/plugin.health\n")
        self.assertEqual(done.code, 0, done.err)

    def test_script_is_known_by_its_file(self):
        """YAMS runs it to find its name; nothing is run here."""
        self.own.mkdir(parents=True)
        (self.own / "bare.py").write_text(f"open({str(self.dir / 'ran')!r}, 'w')", encoding="utf-8")
        listed = self.run_mortise("list", "--json").json["yams"]
        self.assertEqual([(row["name"], row["trusted"]) for row in listed], [("bare", False)])
        self.refused("lies in", name="bare")
        self.assertFalse((self.dir / "ran").exists())

    def test_what_is_a_plugin(self):
        """As for YAMS: a directory with a manifest, .py, .js, an executable that is no binary. One level."""
        self.own.mkdir(parents=True)
        for name, text, mode in (
            ("a.py", b"", 0o644),
            ("b.js", b"", 0o644),
            ("run-me", b"#!/bin/sh\n", 0o755),
            ("notes.txt", b"no", 0o644),
            (".hidden.py", b"", 0o644),
            ("elf", b"\x7fELF\x02\x01", 0o755),
            ("pe", b"MZ\x90\x00", 0o755),
            ("macho", b"\xcf\xfa\xed\xfe", 0o755),
            ("fat", b"\xca\xfe\xba\xbe", 0o755),
            ("one", b"x", 0o755),
        ):
            (self.own / name).write_bytes(text)
            (self.own / name).chmod(mode)
        self.yams("deep", where=self.own / "more")
        os.mkfifo(self.own / "pipe.py")
        names = [row["name"] for row in self.run_mortise("list", "--json").json["yams"]]
        self.assertEqual(names, ["a", "b", "run-me"])

    @needs_elf_text
    def test_installed_wins(self):
        self.ok("trust", "add", self.yams("elf_text"))
        self.assertEqual(self.ok("info", "--no-start", "--json", "elf_text").json["version"], "1.2.0")
        self.assertEqual(self.run_mortise("install", BUILD / "plugins/elf-text", "--confine").code, 0)
        self.assertNotEqual(self.ok("info", "--no-start", "--json", "elf_text").json["version"], "1.2.0")

    def test_list(self):
        self.yams()
        done = self.run_mortise("list")
        self.assertIn(f"words  1.2.0  not trusted: it lies in {self.own}, which you do not trust", done.out)
        self.ok("trust", "add", self.own)
        done = self.run_mortise("list")
        self.assertIn(f"words  1.2.0  trusted: {self.own}/words", done.out)
        row = {"name": "words", "version": "1.2.0", "path": f"{self.own}/words", "trusted": True, "why": None}
        self.assertEqual(self.run_mortise("list", "--json").json["yams"], [row])

    def test_trust_one_plugin_only(self):
        place, _ = self.yams(), self.yams("other")
        self.ok("trust", "add", place)
        self.runs()
        self.refused("lies in", name="other")

    def test_trust_one_file_only(self):
        self.own.mkdir(parents=True)
        shutil.copy(YAMS_OK, self.own / "bare.py")
        shutil.copy(YAMS_OK, self.own / "other.py")
        self.ok("trust", "add", self.own / "bare.py")
        self.runs("bare")
        self.refused("lies in", name="other")

    def test_other_directory(self):
        place = self.yams(where=self.dir / "plugins")
        self.fails(5, "not_found", "call", "-d", "yams", "words", "plugin.health")
        self.ok("trust", "add", place.parent)
        self.runs()

    def test_by_part_not_by_prefix(self):
        self.yams(where=self.dir / "a/b")
        self.yams("evil", where=self.dir / "a/bc")
        self.ok("trust", "add", self.dir / "a/b")
        self.runs()
        (self.dir / "a/b/link").symlink_to(self.dir / "a/bc/evil")
        self.refused("is a link to", self.dir / "a/bc/evil", name="evil")

    def test_names_from_others_are_made_visible(self):
        self.yams(name="w\x1b[31m\u202e")
        self.assertNotIn("\x1b", self.run_mortise("list").out)

    def test_path_is_your_own_choice(self):
        place = self.yams()
        self.ok("call", place, "plugin.health")


class File(Trusted):
    def test_as_yams_writes_it(self):
        place = self.yams(where=self.dir / "plugins").parent
        self.write(f"# YAMS Plugin Trust List\n# One plugin path per line\n{place}\n")
        self.runs()
        self.assertEqual(self.ok("trust").out, f"path {place}\n")

    def test_new_one(self):
        place = self.yams().parent
        self.ok("trust", "add", place)
        self.assertEqual(stat.S_IMODE(self.list.stat().st_mode), 0o600)
        lines = self.list.read_text(encoding="utf-8").splitlines()
        self.assertEqual([line for line in lines if not line.startswith("#")], [str(place)])

    def test_comments_order_and_line_ends_stay(self):
        for name in ("one", "two", "three"):
            (self.dir / name).mkdir()
        d = str(self.dir).encode()
        text = b"# mine\r\n\t" + d + b"/two  \r\n\r\n  # more\n" + d + b"/gone\n" + d + b"/one"
        self.write(text, 0o644)
        self.ok("trust", "add", self.dir / "three")
        self.assertEqual(self.list.read_bytes(), text + b"\n" + d + b"/three\n")
        self.assertEqual(stat.S_IMODE(self.list.stat().st_mode), 0o600)  # as YAMS leaves it
        self.ok("trust", "remove", self.dir / "gone")
        self.ok("trust", "remove", self.dir / "two")
        self.assertEqual(self.list.read_bytes(), b"# mine\r\n\r\n  # more\n" + d + b"/one\n" + d + b"/three\n")

    def test_replaced_not_written(self):
        """A reader has the old file or the new one."""
        (self.dir / "one").mkdir()
        self.write("# old\n")
        with open(self.list, "rb") as old:
            self.ok("trust", "add", self.dir / "one")
            self.assertEqual(old.read(), b"# old\n")
        self.assertEqual([path.name for path in self.list.parent.iterdir()], ["plugins.trust"])

    def test_list_that_is_a_link(self):
        (self.dir / "one").mkdir()
        kept = self.file("dotfiles/plugins.trust", "# kept\n")
        kept.chmod(0o600)
        self.list.parent.mkdir(parents=True)
        self.list.symlink_to(kept)
        self.ok("trust", "add", self.dir / "one")
        self.assertTrue(self.list.is_symlink())
        self.assertIn(str(self.dir / "one"), kept.read_text(encoding="utf-8"))

    def test_places(self):
        """In the order in which YAMS looks."""
        (self.dir / "one").mkdir()
        config = self.file("config/yams/config.toml", '[core]\ndata_dir = "~/from-config"\n')
        exact = self.dir / "exact/list"
        for env, file in (
            ({"YAMS_PLUGIN_TRUST_FILE": str(exact), "YAMS_DATA_DIR": "/nowhere"}, exact),
            ({"YAMS_DATA_DIR": str(self.dir / "x")}, self.dir / "from-config/plugins.trust"),
            ({"YAMS_CONFIG": "/no/such", "YAMS_DATA_DIR": str(self.dir / "x")}, self.dir / "x/plugins.trust"),
            ({"YAMS_CONFIG": "/no/such", "YAMS_STORAGE": str(self.dir / "y")}, self.dir / "y/plugins.trust"),
            ({"YAMS_CONFIG": "/no/such"}, self.list),
        ):
            with self.subTest(env=env):
                self.ok("trust", "add", self.dir / "one", env=env)
                self.assertIn(str(self.dir / "one"), file.read_text(encoding="utf-8"))
        config.unlink()
        both = {"YAMS_DATA_DIR": "/a", "YAMS_STORAGE": "/b"}
        self.assertIn("unset one", self.fails(4, "input", "trust", env=both).err)
        for name in ("YAMS_PLUGIN_TRUST_FILE", "YAMS_DATA_DIR"):
            self.assertIn("absolute", self.fails(4, "input", "trust", env={name: "here"}).err)
        self.file("config/yams/config.toml", "[core\n")
        self.assertIn("config.toml:1", self.fails(3, "manifest", "trust").err)

    def test_older_file_is_taken_over(self):
        (self.dir / "one").mkdir()
        place = self.yams(where=self.dir / "plugins").parent
        older = self.file("config/yams/plugins_trust.txt", f"# older\n{place}\n")
        older.chmod(0o600)
        self.runs()
        self.ok("trust", "add", self.dir / "one")
        self.assertEqual(self.list.read_text(), f"# older\n{place}\n{self.dir}/one\n")
        self.assertEqual(older.read_text(), f"# older\n{place}\n")
        self.ok("trust", "remove", place)
        self.fails(5, "not_found", "call", "-d", "yams", "words", "plugin.health")  # not from the older one

    def test_two_at_once(self):
        names = [self.dir / f"d{i}" for i in range(12)]
        for name in names:
            name.mkdir()
        running = [
            subprocess.Popen([MORTISE, "trust", "add", name], env=self.env, stdout=subprocess.DEVNULL)
            for name in names
        ]
        self.assertEqual([process.wait() for process in running], [0] * len(names))
        self.assertEqual(sorted(self.trusted()), sorted(map(str, names)))

    def test_without_a_home(self):
        nowhere = {"XDG_DATA_HOME": "", "XDG_CONFIG_HOME": "", "HOME": ""}
        self.assertEqual(self.ok("trust", env=nowhere).out, "")
        done = self.fails(1, "system", "trust", "add", self.dir, env=nowhere)
        self.assertIn("neither XDG_DATA_HOME nor HOME", done.err)

    def test_cannot_be_written(self):
        self.file("data", "no directory")
        done = self.fails(1, "system", "trust", "add", self.dir)
        self.assertIn("cannot be written", done.err)


class Words(Trusted):
    def setUp(self):
        super().setUp()
        self.place = self.yams(where=self.dir / "plugins").parent

    def test_however_it_is_typed(self):
        (self.dir / "link").symlink_to(self.place)
        for word in ("plugins", "./plugins/", "plugins//.", "plugins/../plugins", "link", f"{self.place}/"):
            with self.subTest(word=word):
                done = self.ok("trust", "add", word)
                self.assertTrue(done.out.startswith(f"path {self.place}"), done.out)
                self.assertEqual("leads there" in done.out, word == "link")
                self.assertEqual(self.trusted(), [str(self.place)])
                self.runs()
                self.ok("trust", "remove", word)
                self.assertEqual(self.trusted(), [])

    def test_twice(self):
        self.ok("trust", "add", "plugins")
        before = self.list.read_bytes()
        self.assertIn("was trusted already", self.ok("trust", "add", "plugins").out)
        self.assertIn(f"already, by {self.place}", self.ok("trust", "add", "plugins/words").out)
        self.assertEqual(self.list.read_bytes(), before)

    def test_remove_what_is_not_there(self):
        self.assertIn("no key and no path", self.fails(5, "not_found", "trust", "remove", "plugins").err)
        self.assertFalse(self.list.exists())
        self.ok("trust", "add", "plugins")
        done = self.fails(4, "input", "trust", "remove", "plugins/words")
        self.assertIn(f"mortise trust remove {self.place}", done.err)

    def test_refused(self):
        self.assertIn("every program", self.fails(4, "input", "trust", "add", "/").err)
        self.fails(5, "not_found", "trust", "add", "nowhere")
        self.assertIn("is no key", self.fails(2, "usage", "trust", "add", "plugins", "--as", "me").err)
        for name in ("new\nline", "return\r", "blank ", "escape\x1b"):
            (self.dir / name).mkdir()
            done = self.fails(4, "input", "trust", "add", self.dir / name)
            self.assertIn("cannot stand in the list", done.err)
        self.assertFalse(self.list.exists())

    def test_not_utf8(self):
        name = os.fsencode(self.dir) + b"/caf\xe9"
        place = pathlib.Path(os.fsdecode(name))
        self.yams("latin", where=place)
        done = self.run_mortise("trust", "add", place)
        self.assertEqual((done.code, done.err), (0, ""))
        self.assertIn("caf\\xe9", done.out)
        self.assertIn(name + b"\n", self.list.read_bytes())
        self.runs("latin")
        self.assertEqual(self.run_mortise("trust", "remove", place).code, 0)
        self.assertNotIn(name, self.list.read_bytes())


class Hostile(Trusted):
    def setUp(self):
        super().setUp()
        self.place = self.yams(where=self.dir / "plugins")

    def trust(self, path=None):
        self.write(f"{path or self.place.parent}\n")

    def test_list_for_everybody(self):
        self.trust()
        self.list.chmod(0o666)
        self.assertIn(f"chmod o-w {self.list}", self.refused("does not count"))
        done = self.fails(9, "sandbox_violation", "trust", "add", self.dir)
        self.assertIn("chmod o-w", done.err)
        self.fails(9, "sandbox_violation", "trust", "list")
        self.list.chmod(0o600)
        self.list.parent.chmod(0o777)
        self.refused(f"chmod o-w {self.list.parent}")
        self.list.parent.chmod(0o755)
        self.runs()

    def test_list_for_a_group(self):
        self.trust()
        self.list.chmod(0o660)
        if os.geteuid() == 0:
            os.chown(self.list, 0, 4242)
            self.refused("can be changed by group 4242")
            os.chown(self.list, 0, 0)
        if os.geteuid() == os.getegid():  # a group that is the user's own
            self.runs()

    @unittest.skipUnless(os.geteuid() == 0, "only root can give a file away")
    def test_somebody_elses(self):
        self.trust()
        for path in (self.list, self.list.parent, self.place, self.place.parent, self.place / "main.py"):
            with self.subTest(path=path.name):
                os.chown(path, 4242, 0)
                self.refused(f"{path} belongs to user 4242")
                os.chown(path, 0, 0)
        self.runs()

    def test_directory_for_everybody(self):
        """The directory, one of its parents, the plugin's own, a file in that: each lets others choose."""
        self.trust()
        for path in (self.place.parent, self.place, self.place / "main.py", self.place / "yams-plugin.json"):
            with self.subTest(path=path.name):
                mode = path.stat().st_mode
                path.chmod(mode | 0o002)
                self.refused(f"chmod o-w {path}")
                path.chmod(mode)
        self.trust(self.place)
        self.place.parent.chmod(0o777)
        self.refused(f"chmod o-w {self.place.parent}")
        self.place.parent.chmod(0o1777)  # others cannot rename what is ours
        self.runs()

    def test_add_for_everybody(self):
        self.place.parent.chmod(0o777)
        done = self.fails(4, "input", "trust", "add", self.place.parent)
        self.assertIn(f"chmod o-w {self.place.parent}", done.err)
        self.assertFalse(self.list.exists())

    def test_link_out(self):
        """In a trusted directory, and in a plugin's own."""
        elsewhere = self.yams("evil", where=self.dir / "elsewhere")
        self.trust()
        (self.place.parent / "evil").symlink_to(elsewhere)
        self.assertIn(f"mortise trust add {elsewhere}", self.refused("is a link to", name="evil"))
        (self.place / "part.py").symlink_to(elsewhere / "main.py")
        said = self.refused("has a link, part.py, that leads out of what you trust, to", elsewhere)
        self.assertNotIn("trust add", said)
        self.ok("trust", "add", elsewhere)
        self.runs()
        self.runs("evil")

    def test_link_inside(self):
        self.trust()
        (self.place / "same.py").symlink_to("main.py")
        (self.place / "dangling.py").symlink_to("nothing")
        self.runs()

    def test_link_in_the_list(self):
        """It trusts what it leads to, as in YAMS; if others can change the link, it trusts nothing."""
        links = self.dir / "links"
        links.mkdir()
        (links / "here").symlink_to(self.place.parent)
        self.trust(links / "here")
        self.runs()
        self.assertEqual(self.trusted(), [str(self.place.parent)])
        links.chmod(0o777)
        row = self.ok("trust", "--json").json["trusted"][0]
        self.assertIn(f"does not count: {links} can be changed by everybody", row["note"])
        self.refused("does not count")

    def test_lines_that_do_not_count(self):
        self.write(
            "plugins\n~/plugins\n./plugins\n../plugins\nplugins/words\n".encode()
            + f"{self.place.parent}\0x\n{self.dir}/plugin\n{self.place.parent}s\n".encode()
        )
        self.fails(5, "not_found", "call", "-d", "yams", "words", "plugin.health", cwd=self.dir)
        rows = self.ok("trust", "--json").json["trusted"]
        self.assertEqual(len(rows), 8)
        for row in rows:
            self.assertIn("does not count", row["note"])

    def test_dots_and_slashes(self):
        for line in ("{}/", "{}//", "{}/.", "{}/words/..", "{}/../plugins", "//{}", "  {}\t"):
            with self.subTest(line=line):
                self.trust(line.format(self.place.parent))
                self.runs()

    def test_a_megabyte(self):
        lines = "".join(f"/nowhere/{i:07}/{'x' * 12}\n" for i in range(30_000))
        self.assertGreater(len(lines), 800_000)
        self.write(lines + str(self.place.parent) + "\n" + lines[:200_000])
        self.runs()
        self.ok("trust", "remove", self.place.parent)
        self.assertEqual(self.list.read_text(), lines + lines[:200_000])

    def test_one_line_of_a_megabyte(self):
        self.write("/" + "x" * 1_000_000 + "\n" + str(self.place.parent) + "\n")
        self.runs()

    def test_too_large(self):
        self.write(b"#" * (4 * 1024 * 1024 + 1))
        self.refused("more than 4 MiB")

    def test_not_a_file(self):
        self.list.mkdir(parents=True)
        self.assertIn("directory", self.health().err)
        self.list.rmdir()
        os.mkfifo(self.list, 0o600)
        self.assertEqual(self.fails(4, "input", "trust").code, 4)

    def test_broken_manifest(self):
        self.trust()
        for text in (b"", b"{", b"[]", b'{"name": 5}', b"\xff\xfe", b'{"name":"' + b"x" * 2_000_000):
            (self.place / "yams-plugin.json").write_bytes(text)
            self.assertEqual(self.run_mortise("list").code, 0)
            done = self.health()
            self.assertNotIn("sandbox_violation", done.err)


class Keys(Trusted):
    def setUp(self):
        super().setUp()
        self.ok("key", "new", self.dir / "release.pem")

    def test_private_key_is_refused(self):
        done = self.fails(4, "input", "trust", "add", "release.pem")
        self.assertIn("private key", done.err)
        self.assertIn("release.pem.pub", done.err)
        self.assertEqual(self.trusted(), [])

    def test_rename_is_said(self):
        key = self.ok("trust", "add", "release.pem.pub").out.split()[1]
        self.assertNotIn("until now", self.ok("trust", "add", "release.pem.pub").out)
        done = self.ok("trust", "add", "release.pem.pub", "--as", "acme")
        self.assertEqual(done.out, f"key {key} acme (until now: release)\n")
        row = self.ok("trust", "add", key, "--as", "x", "--json").json["trusted"][0]
        self.assertEqual((row["note"], row["before"]), ("x", "acme"))

    def test_beside_paths(self):
        place = self.yams().parent
        self.ok("trust", "add", place)
        self.ok("trust", "add", "release.pem.pub", "--as", "acme")
        self.assertEqual([row["kind"] for row in self.ok("trust", "--json").json["trusted"]], ["key", "path"])
        self.ok("trust", "remove", "acme")
        self.ok("trust", "remove", place)
        self.assertEqual(self.trusted(), [])


if __name__ == "__main__":
    unittest.main()
