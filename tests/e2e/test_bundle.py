# SPDX-License-Identifier: Apache-2.0
"""mortise bundle, key, trust: plugins as archives, and whose they are."""
import json
import os
import shutil
import stat
import subprocess
import tarfile
import unittest

from support import Case


class BundleCase(Case):
    def greeter(self, name="greeter", version="1.0.0"):
        """A plugin with something of everything."""
        top = self.dir / "src" / name
        self.file(
            f"src/{name}/yams-plugin.json",
            json.dumps({"name": name, "version": version, "entry": {"cmd": ["./run"]}}),
        )
        self.file(f"src/{name}/run", "#!/bin/sh\n").chmod(0o755)
        self.file(f"src/{name}/lib/data \u00e4.txt", "text\n" * 1000)
        self.file(f"src/{name}/.git/config", "mine")
        self.file(f"src/{name}/__pycache__/x.pyc", "old")
        (top / "again").symlink_to("lib/data \u00e4.txt")
        return top

    def bundle(self, top, name="out.tar.zst", *more):
        return self.ok("bundle", top, "-o", self.dir / name, "--json", *more).json

    def members(self, name="out.tar.zst"):
        plain = subprocess.run(["zstd", "-dcq", self.dir / name], capture_output=True, check=True).stdout
        (self.dir / "plain.tar").write_bytes(plain)
        with tarfile.open(self.dir / "plain.tar") as archive:
            return archive.getmembers()


class Pack(BundleCase):
    def test_what_is_in_it(self):
        told = self.bundle(self.greeter())
        self.assertEqual(
            (told["name"], told["version"], told["files"], told["signed"]), ("greeter", "1.0.0", 4, False)
        )
        found = self.members()
        self.assertEqual(
            [(m.name, oct(m.mode)) for m in found],
            [
                ("greeter-1.0.0/again", "0o755"),
                ("greeter-1.0.0/lib/data \u00e4.txt", "0o644"),
                ("greeter-1.0.0/run", "0o755"),
                ("greeter-1.0.0/yams-plugin.json", "0o644"),
            ],
        )
        self.assertEqual({(m.uid, m.gid, m.uname, m.gname, m.mtime) for m in found}, {(0, 0, "", "", 0)})

    def test_same_content_same_bytes(self):
        top = self.greeter()
        self.bundle(top, "a")
        other = self.dir / "elsewhere"
        shutil.copytree(top, other, symlinks=True)
        for path in sorted(other.rglob("*"), reverse=True):
            os.utime(path, (1, 1), follow_symlinks=False)
        (other / "lib").chmod(0o700)
        (other / "run").chmod(0o700)
        (other / "yams-plugin.json").chmod(0o600)
        done = self.ok("bundle", other, "-o", self.dir / "b", env={"LC_ALL": "C", "TZ": "Asia/Tokyo"})
        self.assertIn("greeter 1.0.0, 4 files\n", done.out)
        self.assertEqual((self.dir / "a").read_bytes(), (self.dir / "b").read_bytes())

    def test_other_content_other_digest(self):
        top = self.greeter()
        before = self.bundle(top)["digest"]
        (top / "run").chmod(0o644)
        self.assertNotEqual(self.bundle(top)["digest"], before)

    def test_refused(self):
        top = self.greeter()
        self.fails(2, "usage", "bundle", top)
        self.fails(2, "usage", "bundle", "-o", "x")
        self.fails(5, "not_found", "bundle", self.dir / "no", "-o", self.dir / "x")
        self.fails(5, "not_found", "bundle", "nobody-has-it", "-o", self.dir / "x")
        os.mkfifo(top / "pipe")
        done = self.fails(4, "input", "bundle", top, "-o", self.dir / "x")
        self.assertIn("pipe", done.err)
        self.assertFalse((self.dir / "x").exists())

    def test_no_version(self):
        top = self.file("p/mortise.toml", '[plugin]\nname = "p"\ncommand = ["./run"]\n').parent
        done = self.fails(3, "manifest", "bundle", top, "-o", self.dir / "x")
        self.assertIn("has no version, and a bundle needs one", done.err)

    def test_the_old_file_stays_when_it_cannot_be_read(self):
        top = self.greeter()
        (self.dir / "x").write_text("old")
        self.file("bad.pem", "no key")
        self.fails(4, "input", "bundle", top, "-o", self.dir / "x", "--sign", self.dir / "bad.pem")
        self.assertEqual((self.dir / "x").read_text(), "old")


class Install(BundleCase):
    """What a signature says, and what it does not."""

    def setUp(self):
        super().setUp()
        self.env["XDG_DATA_HOME"] = str(self.dir / "data")
        self.ok("key", "new", self.dir / "acme.pem")
        self.bundle(self.greeter(), "g.tar.zst", "--sign", self.dir / "acme.pem")
        self.key = self.ok("key", "show", self.dir / "acme.pem").out.strip()

    def install(self, *more):
        return self.run_mortise("install", self.dir / "g.tar.zst", *more)

    def test_a_key_that_nobody_knows(self):
        done = self.install("--allow", "unconfined")
        self.assertEqual(done.code, 0, done.err)
        self.assertIn(f"  signed    by a key that you do not know: {self.key}\n", done.err)

    def test_a_key_proves_and_never_approves(self):
        self.ok("trust", "add", self.dir / "acme.pem.pub")
        done = self.install()
        self.assertNotEqual(done.code, 0)
        self.assertIn("  signed    by acme (ed25519:", done.err)
        done = self.install("--allow", "unconfined")
        self.assertEqual(done.code, 0, done.err)
        state = json.loads((self.dir / "data/mortise/plugins/greeter/state.json").read_text())
        self.assertEqual(state["versions"][0]["key"], self.key)
        # What is installed can be packed again: the same bytes.
        self.bundle("greeter", "again.tar.zst")
        self.assertEqual((self.dir / "again.tar.zst").read_bytes(), (self.dir / "g.tar.zst").read_bytes())

    def test_a_signature_of_other_files(self):
        self.ok("trust", "add", self.dir / "acme.pem.pub")
        kept = (self.dir / "g.tar.zst.sig").read_bytes()
        (self.dir / "src" / "greeter" / "run").write_text("#!/bin/sh\nrm -rf /\n")
        self.bundle(self.dir / "src" / "greeter", "g.tar.zst")
        (self.dir / "g.tar.zst.sig").write_bytes(kept)
        done = self.install("--allow", "unconfined")
        self.assertEqual(done.code, 4, done.err)
        self.assertIn("they were changed, or it belongs to another plugin", done.err)
        self.assertFalse((self.dir / "data/mortise/plugins/greeter").exists())


class Keys(BundleCase):
    def key(self, name="release.pem"):
        return self.ok("key", "new", self.dir / name, "--json").json["key"]

    def test_new(self):
        key = self.key()
        self.assertRegex(key, "^ed25519:[0-9a-f]{64}$")
        self.assertEqual(stat.S_IMODE((self.dir / "release.pem").stat().st_mode), 0o600)
        self.assertNotIn("PRIVATE", (self.dir / "release.pem.pub").read_text())
        for name in ("release.pem", "release.pem.pub"):
            self.assertEqual(self.ok("key", "show", self.dir / name).out, key + "\n")
        before = (self.dir / "release.pem").read_text()
        done = self.fails(4, "input", "key", "new", self.dir / "release.pem")
        self.assertIn("File exists", done.err)
        self.assertEqual((self.dir / "release.pem").read_text(), before)

    def test_of_openssl(self):
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", self.dir / "o.pem"], check=True)
        self.assertRegex(self.ok("key", "show", self.dir / "o.pem").out, "^ed25519:")
        subprocess.run(["openssl", "genpkey", "-algorithm", "x25519", "-out", self.dir / "x.pem"], check=True)
        self.assertIn("a key of another kind", self.fails(4, "input", "key", "show", self.dir / "x.pem").err)
        locked = ["openssl", "pkey", "-in", self.dir / "o.pem", "-aes128", "-passout", "pass:x", "-out"]
        subprocess.run([*locked, self.dir / "l.pem"], check=True)
        done = self.fails(
            4, "input", "bundle", self.greeter(), "-o", self.dir / "b", "--sign", self.dir / "l.pem"
        )
        self.assertIn("without a password", done.err)

    def test_signature_is_of_openssl_too(self):
        """What is signed is written down: anybody can check it without Mortise."""
        key = self.key()
        told = self.bundle(self.greeter(), "b", "--sign", self.dir / "release.pem")
        signature = json.loads((self.dir / "b.sig").read_text())
        self.assertEqual(signature["key"], key)
        self.assertEqual((signature["digest"], signature["name"]), (told["digest"], "greeter"))
        self.assertTrue(told["signed"])
        # Ed25519 has no chance in it: the same content and key give the same signature.
        self.bundle(self.dir / "src" / "greeter", "c", "--sign", self.dir / "release.pem")
        self.assertEqual((self.dir / "b.sig").read_bytes(), (self.dir / "c.sig").read_bytes())
        self.bundle(self.dir / "src" / "greeter", "b")
        self.assertFalse((self.dir / "b.sig").exists())

    def test_trust(self):
        one, two = self.key(), self.key("other.pem")
        self.assertEqual(self.ok("trust").out, "")
        self.assertEqual(self.ok("trust", "add", self.dir / "release.pem.pub").out, f"key {one} release\n")
        self.ok("trust", "add", two, "--as", "Ann B.")
        self.assertEqual(self.ok("trust", "list").out, f"key {two} Ann B.\nkey {one} release\n")
        kept = self.dir / "config" / "mortise" / "keys"
        self.assertEqual(stat.S_IMODE(kept.stat().st_mode), 0o700)
        self.assertEqual({stat.S_IMODE(path.stat().st_mode) for path in kept.iterdir()}, {0o600})
        self.ok("trust", "add", one, "--as", "Ann B.")
        done = self.fails(4, "input", "trust", "remove", "Ann B.")
        self.assertIn("more than one key", done.err)
        self.assertEqual(self.ok("trust", "remove", one[:20]).out, f"not trusted any more: key {one} Ann B.\n")
        self.ok("trust", "remove", "Ann B.")
        self.fails(5, "not_found", "trust", "remove", "Ann B.")
        self.assertEqual(self.ok("trust", "list", "--json").json, {"ok": True, "trusted": []})

    def test_trust_refused(self):
        key = self.key()
        self.fails(5, "not_found", "trust", "add", self.dir / "no.pem")
        self.fails(4, "input", "trust", "add", self.file("text", "text"))
        self.assertIn("--as NAME", self.fails(2, "usage", "trust", "add", key).err)
        done = self.fails(4, "input", "trust", "add", key, "--as", "a\u202eb")
        self.assertIn("cannot be the name of a key's owner", done.err)
        self.fails(2, "usage", "trust", "sell", key)

    def test_without_a_home(self):
        key = self.key()
        nowhere = {"XDG_CONFIG_HOME": "", "HOME": ""}
        self.assertEqual(self.ok("trust", env=nowhere).out, "")
        done = self.fails(1, "system", "trust", "add", key, "--as", "me", env=nowhere)
        self.assertIn("neither XDG_CONFIG_HOME nor HOME", done.err)

    def test_a_key_under_another_name_is_none(self):
        one, two = self.key(), self.key("other.pem")
        self.ok("trust", "add", one, "--as", "me")
        kept = self.dir / "config" / "mortise" / "keys"
        (kept / (one[8:] + ".json")).rename(kept / (two[8:] + ".json"))
        self.assertEqual(self.ok("trust").out, "")


class Name(BundleCase):
    """A plugin that is called like its directory (G-Assist) has its name inside the archive."""

    def notes(self, folder="my-2nd-notes"):
        self.file(
            f"src/{folder}/manifest.json",
            json.dumps(
                {
                    "manifestVersion": 1,
                    "protocol_version": "2.0",
                    "version": "1.2.0",
                    "executable": "./plugin.py",
                    "persistent": True,
                    "functions": [{"name": "echo", "description": "says it", "tags": [], "properties": {}}],
                }
            ),
        )
        self.file(f"src/{folder}/plugin.py", "#!/usr/bin/python3\n").chmod(0o755)
        return self.dir / "src" / folder

    def installed(self, archive):
        done = self.run_mortise("install", archive, "--allow", "unconfined,downgrade,replace")
        self.assertEqual(done.code, 0, done.err)
        self.ok("remove", done.out.split(" ", 1)[1].rsplit(" ", 1)[0])
        return done

    def test_renamed_bundle(self):
        self.ok("key", "new", self.dir / "k")
        self.bundle(self.notes(), "a.tar.zst", "--sign", self.dir / "k")
        os.rename(self.dir / "a.tar.zst", self.dir / "download-7 (1).tar.zst")
        os.rename(self.dir / "a.tar.zst.sig", self.dir / "download-7 (1).tar.zst.sig")
        done = self.installed(self.dir / "download-7 (1).tar.zst")
        self.assertEqual(done.out, "installed my-2nd-notes 1.2.0\n")
        self.assertIn("signed    by a key", done.err)

    def test_archives_of_others(self):
        for top, file, name in (
            ("notes", "x.tar", "notes"),
            ("notes-1.2.0", "x.tar", "notes"),
            ("notes-3", "x.tar", "notes"),
            ("", "notes-9.tar", "notes"),
            ("", "my notes.tar", "my notes"),
        ):
            with self.subTest(top=top, file=file):
                with tarfile.open(self.dir / file, "w") as archive:
                    for path in sorted(self.notes().iterdir()):
                        archive.add(path, f"{top}/{path.name}" if top else path.name)
                self.assertEqual(self.installed(self.dir / file).out, f"installed {name} 1.2.0\n")


if __name__ == "__main__":
    unittest.main()
