# SPDX-License-Identifier: Apache-2.0
"""The store of a farm: its mark, who may write it, and that gc removes only what is the store's."""
import os
import shutil
import unittest

from farm_support import NO_POSTGRES
from kythe_support import simple
from levels import NOBODY, NOT_NOBODY, as_user
from test_farm import FarmCase

DIGEST = "31" + "0" * 62


@unittest.skipIf(NO_POSTGRES, NO_POSTGRES)
class Store(FarmCase):
    def gc(self, store, *words):
        return self.run_mortise("farm", "gc", self.url, "--store", store, "--days", "0", *words)

    def old(self, name):
        path = self.file(name, b"old")
        os.utime(path, (1000, 1000))
        return path

    def test_gc_of_what_is_no_store(self):
        """The directory of somebody else, whose folders have the same names."""
        other = [
            self.old("home/new/d/deep"),
            self.old("home/files/31/holiday.jpg"),
            self.old("elsewhere/31/" + DIGEST),
        ]
        (self.dir / "home/segments").symlink_to(self.dir / "elsewhere")
        done = self.gc("home")
        self.assertEqual(done.code, 4)
        self.assertIn("home is no store of a farm: it has no file mortise-store", done.err)
        done = self.run_mortise("worker", "--farm", self.url, "--store", "home", "--once")
        self.assertIn("it has no file mortise-store", done.err)
        done = self.run_mortise("farm", "init", self.url, "--store", "home")
        self.assertIn("it has files, but no mortise-store", done.err)
        for path in other:
            self.assertTrue(path.exists(), path)

    def test_gc_removes_only_what_is_the_stores(self):
        for name in ("files/a/b/c/deep", "files/31/holiday.jpg", "files/32/" + DIGEST, "new/d/deep",
                     "new/notes", "holiday.jpg", "segments/31/deep/" + DIGEST):  # fmt: skip
            self.old("store/" + name)
        shutil.rmtree(self.store / "keys")
        kept = [self.old("elsewhere/31/" + DIGEST), self.old("elsewhere/" + DIGEST)]
        (self.store / "keys").symlink_to(self.dir / "elsewhere")
        (self.store / "specs/31").symlink_to(self.dir / "elsewhere/31")
        (self.store / "segments/31" / DIGEST).symlink_to(kept[0])
        kept += [path for path in self.store.rglob("*") if path.is_file()]
        gone = [self.old("store/files/31/" + DIGEST), self.old("store/new/0123456789abcdef")]
        done = self.gc("store")
        self.assertIn("removed 2 files from the store", done.err)
        for path in kept:
            self.assertTrue(path.exists(), path)
        for path in gone:
            self.assertFalse(path.exists(), path)

    def test_a_store_without_a_mark(self):
        """It was made before stores had one: an owner adds it, and until then gc refuses."""
        gone = self.old("store/files/31/" + DIGEST)
        (self.store / "mortise-store").unlink()
        self.assertEqual(self.gc("store").code, 4)
        self.assertTrue(gone.exists())
        self.assertEqual(self.run_mortise("farm", "init", self.url, "--store", self.store).code, 0)
        self.assertIn("removed 1 file from the store", self.gc("store").err)
        self.old("store/files/31/" + DIGEST)
        done = self.gc("store", "--json")
        self.assertEqual(done.json, {"runs": 0, "workers": 0, "files": 1, "bytes": 3})
        self.assertEqual(done.err, "")

    def test_no_directory_is_made(self):
        done = self.run_mortise("farm", "init", self.url, "--store", "no/where")
        self.assertEqual(done.code, 5)
        self.assertIn("make it first: mkdir no/where", done.err)
        self.assertFalse((self.dir / "no").exists())

    def test_gc_and_manifests(self):
        self.worker()
        self.farm(self.kzip(simple(4)), "--batch", "2", "--manifest", out="app.manifest")
        done = self.gc("store", "--keep", "app.manifest")
        self.assertEqual(done.code, 0, done.err)
        self.ok("entries", "stat", "app.manifest")
        for path in (self.store / "segments").rglob("*"):
            os.utime(path, (1000, 1000))
        self.ok("entries", "stat", "app.manifest")  # reading is a use
        self.run_mortise("farm", "gc", self.url, "--store", self.store, "--days", "7")
        self.ok("entries", "stat", "app.manifest")
        for path in (self.store / "segments").rglob("*"):
            os.utime(path, (1000, 1000))
        self.gc("store")
        done = self.fails(5, "not_found", "entries", "stat", "app.manifest")
        self.assertIn("mortise farm gc removes what was not used for long", done.err)
        self.assertIn("it is no manifest", self.gc("store", "--keep", self.file("x", b"text")).err)

    @unittest.skipIf(NOT_NOBODY, NOT_NOBODY)
    def test_a_worker_of_another_user(self):
        """What is made in the store has the mode and the group of the store, whatever the umask says."""
        store = self.dir / "shared"
        store.mkdir()
        os.chown(store, 0, NOBODY)
        store.chmod(0o2770)
        self.assertEqual(self.run_mortise("farm", "init", self.url, "--store", store).code, 0)
        shutil.rmtree(self.store)
        self.store = store
        self.dir.chmod(0o755)
        for path in (self.dir / "cache", self.state):
            path.mkdir(exist_ok=True)
            os.chown(path, NOBODY, NOBODY)
        self.worker("--cache", "cache", **as_user(NOBODY), umask=0o077)
        self.farm(self.kzip(simple(4)), "--batch", "2")
        modes = {(path.is_dir(), oct(path.stat().st_mode & 0o7777), path.stat().st_gid)
                 for path in store.rglob("*")}  # fmt: skip
        self.assertEqual(modes, {(True, "0o2770", NOBODY), (False, "0o660", NOBODY)})
        owners = {path.stat().st_uid for path in (store / "segments").rglob("*") if path.is_file()}
        self.assertEqual(owners, {NOBODY})


if __name__ == "__main__":
    unittest.main()
