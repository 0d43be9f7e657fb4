# SPDX-License-Identifier: Apache-2.0
"""Archives, good and hostile, through src/kit/bundle/unpack.c."""
import gzip
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import archives as kit  # noqa: E402

BUILD = pathlib.Path(os.environ.get("MORTISE_BUILD", "build")).resolve()
UNPACK = BUILD / "tests" / "bundle" / "bundle-unpack"


def listing(top):
    """Everything below a directory: path, kind and mode."""
    found = {}
    for path in sorted(top.rglob("*")):
        info = path.lstat()
        found[path.relative_to(top).as_posix()] = (stat.S_IFMT(info.st_mode), info.st_mode & 0o7777)
    return found


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="mortise-unpack-"))
        self.addCleanup(shutil.rmtree, self.dir)
        self.into = self.dir / "deep" / "down" / "into"
        self.into.mkdir(parents=True)
        (self.dir / "deep" / "down" / "out").write_text("mine")

    def unpack(self, data, *limits, env=None):
        archive = self.dir / "archive"
        archive.write_bytes(data)
        return subprocess.run(
            [str(UNPACK), str(archive), str(self.into), *map(str, limits)],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            env={**os.environ, **(env or {})},
        )

    def refused(self, data, line, *limits, **how):
        before = listing(self.dir)
        done = self.unpack(data, *limits, **how)
        before["archive"] = (stat.S_IFREG, (self.dir / "archive").stat().st_mode & 0o7777)
        self.assertEqual(done.returncode, 1, done)
        self.assertTrue(done.stdout.startswith("input: "), done.stdout)
        self.assertEqual(done.stdout.count("\n"), 1)
        text = done.stdout.removeprefix("input: ").rstrip("\n")
        self.assertEqual(text[: len(line)] if line.endswith(" ") else text, line)
        self.assertEqual(listing(self.dir), before)
        self.assertEqual((self.dir / "deep" / "down" / "out").read_text(), "mine")

    def unpacked(self, data, **how):
        done = self.unpack(data, **how)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        return {
            name: (self.into / name).read_bytes()
            for name, (kind, _) in listing(self.into).items()
            if kind == stat.S_IFREG
        }


class Hostile(Case):
    """One test for each row of archives.HOSTILE, under its name."""

    def test_in_the_c_locale_and_another(self):
        for locale in ("C", "C.UTF-8", "de_DE"):
            self.refused(kit.tar("a\udcffb"), '"a\\xffb" is not UTF-8', env={"LC_ALL": locale})

    def test_limits_are_limits(self):
        three = kit.tar((kit.entry("a"), b"12345"), (kit.entry("b"), b"12345"), (kit.entry("c"), b""))
        done = self.unpack(three, 10, 3, 250)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        for path in self.into.iterdir():
            path.unlink()
        self.refused(three, '"b" makes the plugin larger than 9 bytes', 9, 3, 250)
        self.refused(three, "holds more than 2 files", 10, 2, 250)

    def test_many_files_and_directories(self):
        files = gzip.compress(kit.tar(*(f"f{i}" for i in range(501))))
        self.refused(files, "holds more than 500 files", 1 << 20, 500, 250)
        folders = gzip.compress(kit.tar(*(kit.folder("d") for _ in range(1501))))
        self.refused(folders, "holds more than 1500 entries", 1 << 20, 500, 250)

    def test_hard_links_count(self):
        data = kit.tar((kit.entry("a"), b"x" * 6), kit.hard("b", "a"))
        self.refused(data, '"b" makes the plugin larger than 10 bytes', 10, 9, 250)


def add_hostile(number, name):
    make, line = kit.HOSTILE[name]

    def test(self):
        self.refused(make(), line)

    test.__doc__ = name
    setattr(Hostile, f"test_{number:02}_" + "".join(c if c.isalnum() else "_" for c in name), test)


for number, name in enumerate(kit.HOSTILE):
    add_hostile(number, name)


class Good(Case):
    def test_formats(self):
        plain = kit.good_tar()
        zipped = kit.zipped(*kit.GOOD.items())
        for data in (plain, gzip.compress(plain), kit.zstd(plain), zipped):
            self.assertEqual(self.unpacked(data), kit.GOOD)
            shutil.rmtree(self.into)
            self.into.mkdir()

    def test_one_top_directory(self):
        self.assertEqual(self.unpacked(kit.good_tar("greeter-1.0/")), kit.GOOD)

    def test_a_top_directory_with_a_dot_before(self):
        self.assertEqual(self.unpacked(kit.good_tar("./greeter-1.0/")), kit.GOOD)

    def test_a_top_directory_that_holds_its_own_name(self):
        data = kit.tar("run/run", "run/.mortise-top-0", (kit.entry("run/plugin.toml"), b"t"))
        self.assertEqual(self.unpacked(data), {"run": b"x", ".mortise-top-0": b"x", "plugin.toml": b"t"})

    def test_the_top_itself_is_an_entry(self):
        data = kit.tar(kit.folder("./"), kit.folder("./bin/"), "./bin/run", "./plugin.toml")
        self.assertEqual(self.unpacked(data), {"bin/run": b"x", "plugin.toml": b"x"})

    def test_modes_are_reduced(self):
        self.unpacked(
            kit.tar(
                (kit.entry("root", mode=0o6777), b"x"),
                (kit.entry("secret", mode=0o600), b"x"),
                (kit.entry("none", mode=0), b"x"),
                (kit.entry("sticky/x", mode=0o1644), b"x"),
            )
        )
        modes = {name: oct(mode) for name, (kind, mode) in listing(self.into).items() if kind == stat.S_IFREG}
        self.assertEqual(modes, {"root": "0o755", "secret": "0o644", "none": "0o644", "sticky/x": "0o644"})
        self.assertEqual({path.owner() for path in self.into.iterdir()}, {self.into.owner()})

    def test_links_inside(self):
        self.unpacked(
            kit.tar("t/bin/run", "t/lib/x/y", kit.link("t/run", "bin/run"), kit.link("t/bin/lib", "../lib/./x"))
        )
        self.assertEqual(os.readlink(self.into / "run"), "bin/run")
        self.assertEqual((self.into / "bin" / "lib" / "y").read_bytes(), b"x")

    def test_a_hard_link_becomes_a_copy(self):
        self.assertEqual(
            self.unpacked(kit.tar("d/run", kit.hard("run", "./d/run"))), {"d/run": b"x", "run": b"x"}
        )
        self.assertEqual((self.into / "run").stat().st_nlink, 1)

    def test_names_of_other_languages(self):
        names = ["\u00e4.txt", "\u6f22\u5b57/\u0440.txt"]
        for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
            data = kit.tar(*names, form=form)
            self.assertEqual(sorted(self.unpacked(data, env={"LC_ALL": "C"})), sorted(names))
            shutil.rmtree(self.into)
            self.into.mkdir()
        zipped = kit.zipped(*((name, b"x") for name in names))
        self.assertEqual(sorted(self.unpacked(zipped, env={"LC_ALL": "C"})), sorted(names))


if __name__ == "__main__":
    unittest.main()
