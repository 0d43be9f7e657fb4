#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""./dev install and ./dev uninstall: what they put where, and that nothing of it is left."""
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

from installed import BUILD, NOBODY, ROOT, contents, dev, install

sys.path.append(str(ROOT / "tests/e2e"))
from tier import again  # noqa: E402

TOOL = ROOT / "tools/install"
EXPECTED = """bin/mortise libexec/mortise/mortise-full libexec/mortise/mortise-jail
    include/mortise/mortise.h include/tenon/tenon.h LIB/libmortise.so LIB/libmortise.so.1 LIB/libmortise.a
    LIB/libtenon.a LIB/libtenon.so LIB/libtenon.so.0 LIB/pkgconfig/mortise.pc LIB/pkgconfig/mortise-static.pc
    LIB/pkgconfig/tenon.pc LIB/pkgconfig/tenon-shared.pc include/tenon/analyzer.h include/tenon/testing.h
    LIB/mortise/plugins/lookout/manifest.json
    LIB/mortise/plugins/remind/plugin.mjs LIB/mortise/plugins/remind/node_modules/tenon/index.js
    share/mortise/sdk/node/package.json share/mortise/sdk/node/lib/wire.js
    share/man/man1/mortise.1 share/man/man1/mortise-call.1 share/bash-completion/completions/mortise
    share/zsh/site-functions/_mortise share/fish/vendor_completions.d/mortise.fish
    share/doc/mortise/guide/install.md share/doc/mortise/examples/hello.c
    share/mortise/mortise.abi.json include/mortise/jail.h share/mortise/installed""".split()


EXPECTED += [
    f"libexec/mortise/mortise-{wing}"
    for wing in ("kythe", "farm", "bot")
    if (BUILD / f"mortise-{wing}").exists()
]


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="mortise-put-"))
        self.addCleanup(shutil.rmtree, self.dir)

    def tool(self, *words, env=None, **how):
        done = subprocess.run(
            [TOOL, *map(str, words)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **(env or {})},
            **how,
        )
        self.assertNotIn("Traceback", done.stderr)
        return done

    def stage(self, *names):
        stage = self.dir / "stage"
        shutil.rmtree(stage, ignore_errors=True)
        for name in names:
            (stage / name).parent.mkdir(parents=True, exist_ok=True)
            (stage / name).write_bytes(os.fsencode(name))
        return stage


class Dev(Case):
    def uninstall(self, prefix, **how):
        done = dev("uninstall", "--prefix", str(prefix), **how)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def test_there_and_gone(self):
        prefix, place = self.dir / "a b" / "c", self.dir / "it's"  # any name of the temporary directory
        place.mkdir()
        done = install(prefix, env={"TMPDIR": str(place)})
        place.rmdir()  # empty
        self.assertIn(f"'{prefix}/bin/mortise' doctor", done.stderr)
        lib = next(prefix.glob("lib*/**/libmortise.so")).parent.relative_to(prefix)
        self.assertLessEqual({name.replace("LIB", str(lib)) for name in EXPECTED}, contents(prefix))
        self.assertEqual(os.readlink(prefix / lib / "libmortise.so"), "libmortise.so.1")
        self.uninstall(prefix)
        self.assertEqual(contents(self.dir), set())

    @again("three more installations")
    def test_modes_are_not_those_of_a_careless_umask(self):
        for umask in (0o000, 0o077):
            prefix = self.dir / f"{umask}"
            install(prefix, umask=umask)
            for path in [prefix, *prefix.rglob("*")]:
                mode = stat.S_IMODE(path.lstat().st_mode)
                if not path.is_symlink():
                    self.assertIn(mode & 0o777, [0o755] if path.is_dir() else [0o755, 0o644], path)

    def test_destdir(self):
        root = self.dir / "root"
        done = install("/opt/mor tise", env={"DESTDIR": str(root)})
        self.assertIn(f"; DESTDIR='{root}' ./dev uninstall --prefix '/opt/mor tise' takes it away", done.stderr)
        self.assertIn("root/opt/mor tise/bin/mortise", contents(self.dir))
        listed = (self.dir / "root/opt/mor tise/share/mortise/installed").read_text()
        self.assertNotIn("above", listed)  # it will be unpacked where these directories are not ours
        self.uninstall("/opt/mor tise", env={"DESTDIR": str(self.dir / "root")})
        self.assertEqual(contents(self.dir), {"root", "root/opt"})

    @again("an installation for what the class Tool shows with small files")
    def test_what_others_put_there_stays(self):
        prefix = self.dir / "p"
        (prefix / "share").mkdir(parents=True)
        install(prefix)
        (prefix / "bin/theirs").write_text("x")
        (prefix / "libexec/mortise/mortise-full").unlink()  # what is gone already is no fault
        done = self.uninstall(prefix)
        self.assertIn(f"{prefix}/bin stays", done.stderr)
        self.assertEqual(contents(self.dir), {"p", "p/share", "p/bin", "p/bin/theirs"})

    @again("three more installations")
    def test_again_over_itself_and_after_a_move(self):
        prefix = self.dir / "p"
        install(prefix)
        before = contents(prefix)
        install(prefix)
        self.assertEqual(contents(prefix), before)
        moved = self.dir / "moved here"
        prefix.rename(moved)
        self.uninstall(moved)
        self.assertEqual(contents(self.dir), set())

    def test_wrong_words(self):
        here = str(self.dir)
        for words, text in (
            (["install", "--prefix"], "--prefix needs a directory"),
            (["install", "--prefix", ""], "--prefix needs a directory"),
            (["install", "--build="], "--build needs a directory"),
            (["uninstall", "--force"], "usage: ./dev uninstall [--prefix DIR]"),
            (["install", "here"], "usage: ./dev install"),
            (["uninstall", "--prefix", here], "nothing of mortise was installed there"),
            (["uninstall", "--build", "x"], "takes no --build"),
            (["install", "--build", here], "not a build directory"),
        ):
            done = dev(*words)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(text, done.stderr)
        self.assertEqual(contents(self.dir), set())

    def test_a_prefix_that_cannot_be_is_told_before_the_build(self):
        (self.dir / "file").write_text("")
        done = dev("install", "--prefix", str(self.dir / "file/p"))
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(
            done.stderr, f"dev: {self.dir}/file is not a directory: nothing can be installed below it\n"
        )

    @again("three more installations")
    def test_files_of_others_only_by_force(self):
        prefix = self.dir / "p"
        (prefix / "bin").mkdir(parents=True)
        (prefix / "bin/mortise").write_text("of a package")
        done = dev("install", "--build", str(BUILD), "--prefix", str(prefix))
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"--force overwrites them:\n{prefix}/bin/mortise\n", done.stderr)
        self.assertEqual(contents(prefix), {"bin", "bin/mortise"})
        self.assertEqual((prefix / "bin/mortise").read_text(), "of a package")
        done = dev("install", "--force", "--build", str(BUILD), "--prefix", str(prefix))
        self.assertEqual(done.returncode, 0, done.stderr)
        install(prefix)  # now it is ours

    @unittest.skipUnless(os.geteuid() == 0, "needs root, whom other tests show")
    def test_a_file_system_that_cannot_be_written(self):
        place = self.dir / "ro"
        place.mkdir()
        words = (
            f"mount -t tmpfs -o ro none {place} || exit 77; exec {ROOT}/dev install --build {BUILD} --prefix"
        )
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", f"{words} {place}/p"], capture_output=True, text=True, check=False
        )
        if "unshare" in done.stderr or done.returncode == 77:
            self.skipTest("no mounts here")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"install: {place}/p: Read-only file system", done.stderr)
        self.assertNotIn("run this as root", done.stderr)

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_no_right_to_write(self):
        self.dir.chmod(0o555)
        words = ["install", "--build", str(BUILD), "--prefix", str(self.dir / "p")]
        done = dev(*words, env={"PATH": "/usr/bin:/bin"})
        self.dir.chmod(0o755)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("cannot be written", done.stderr)


class Tool(Case):
    def test_a_later_version_takes_away_what_it_has_no_more(self):
        target = self.dir / "t"
        self.tool("put", self.stage("bin/a", "lib/old/b"), target)
        (target / "bin/theirs").write_text("x")
        self.tool("put", self.stage("bin/a", "lib/c"), target)
        self.assertEqual(
            {name for name in contents(target) if (target / name).is_file()},
            {"bin/a", "bin/theirs", "lib/c", "share/mortise/installed"},
        )
        self.tool("remove", target)
        self.assertEqual(contents(target), {"bin", "bin/theirs"})

    def test_a_running_program_is_replaced_not_written_to(self):
        target = self.dir / "t"
        self.tool("put", self.stage("bin/a"), target)
        with open(target / "bin/a", encoding="utf-8") as old:
            (self.stage("bin/a") / "bin/a").write_text("new")
            self.tool("put", self.dir / "stage", target)
            self.assertEqual((old.read(), (target / "bin/a").read_text()), ("bin/a", "new"))

    def test_a_list_that_leads_out_is_refused(self):
        outside = self.dir / "outside"
        outside.write_text("x")
        listed = self.dir / "t/share/mortise/installed"
        listed.parent.mkdir(parents=True)
        for line in (
            "file ../outside",
            f"file {outside}",
            "above ../x",
            "what ever",
            "file a\n",
            "file",
            "dir ",
        ):
            listed.write_text(line + "\n")
            done = self.tool("remove", self.dir / "t")
            self.assertEqual(done.returncode, 1)
            self.assertIn("not a list of what was installed", done.stderr)
        self.assertTrue(outside.exists())

    def test_a_link_that_leads_out_is_not_followed(self):
        target, victim = self.dir / "t", self.dir / "victim"
        victim.mkdir()
        (victim / "f").write_text("x")
        self.tool("put", self.stage("bin/a", "share/x/f"), target)
        shutil.rmtree(target / "share/x")
        (target / "share/x").symlink_to(victim)
        done = self.tool("put", self.stage("bin/a", "share/x/f"), target)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"{target}/share/x is a link", done.stderr)
        done = self.tool("remove", target)
        self.assertIn(f"{target}/share/x/f stays", done.stderr)
        self.assertEqual((victim / "f").read_text(), "x")
        self.assertEqual(contents(target), {"share", "share/x"})

    def test_a_directory_where_a_file_belongs(self):
        target = self.dir / "t"
        (target / "bin/a").mkdir(parents=True)
        done = self.tool("put", self.stage("bin/a", "lib/b", "share/x/c"), target)
        self.assertIn(f"{target}/bin/a is a directory", done.stderr)
        self.assertEqual(contents(target), {"bin", "bin/a"})
        (target / "bin/a").rmdir()
        self.tool("put", self.dir / "stage", target)
        (target / "bin/a").unlink()
        (target / "bin/a").mkdir()
        shutil.rmtree(target / "share/x")
        (target / "lib/.b.new").write_text("cut short")
        done = self.tool("remove", target)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"{target}/bin/a stays", done.stderr)
        self.assertEqual(contents(target), {"bin", "bin/a"})

    def test_any_name_above(self):
        for name in (b"two\nlines", "a\u2028b".encode(), b"\xff\xfe", b"back\\slash\\n"):
            name = os.fsdecode(name)
            target = self.dir / name / "t"
            done = self.tool("put", self.stage("bin/a"), target)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            done = self.tool("remove", target)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertFalse((self.dir / name).exists())

    def test_any_name_inside(self):
        names = [os.fsdecode(name) for name in (b"two\nlines/f", b"\xff/f", b"back\\slash/n\\n")]
        target = self.dir / "t"
        self.tool("put", self.stage(*names), target)
        self.assertLessEqual(set(names), contents(target))
        self.tool("remove", target)
        self.assertFalse(target.exists())

    def test_directories_above_only_where_they_were_made(self):
        made, aside = self.dir / "made", self.dir / "aside"
        self.tool("put", self.stage("bin/a"), made / "t")
        made.rename(aside)
        made.mkdir()
        shutil.copytree(aside / "t", made / "t")  # unpacked where a directory of that name was before
        self.tool("remove", made / "t")
        self.assertEqual(contents(made), set())
        self.assertTrue(made.exists())
        self.tool("remove", aside / "t")
        self.assertFalse(aside.exists())


class NotAllowed(Case):
    """As an ordinary user, who may not write everywhere."""

    def setUp(self):
        super().setUp()
        self.how = {}
        if os.geteuid() == 0:
            self.dir.chmod(0o755)
            tool = pathlib.Path(shutil.copy(TOOL, self.dir))
            self.how = {"user": NOBODY, "group": NOBODY, "extra_groups": [], "executable": tool}
        self.target = self.dir / "t"

    def own(self, *paths):
        for path in paths:
            path.mkdir(exist_ok=True)
            if os.geteuid() == 0:
                os.chown(path, NOBODY, NOBODY)

    def test_after_an_error_the_rest_is_done(self):
        self.own(self.target, self.target / "share", self.target / "share/man")
        (self.target / "share/man").chmod(0o555)
        stage = self.stage("bin/a", "share/man/b", "share/man/deep/er/c", "lib/d")
        done = self.tool("put", stage, self.target, **self.how)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(
            done.stderr,
            f"install: {self.target}/share/man/deep: Permission denied\n"
            f"install: {self.target}/share/man/b: Permission denied\n"
            f"install: not complete: 2 of 4 files are in {self.target}\n",
        )
        self.assertIn("lib/d", contents(self.target))
        done = self.tool("remove", self.target, **self.how)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(contents(self.target), {"share", "share/man"})

    def test_nothing_stays_if_the_list_cannot_be_written(self):
        self.own(self.target, self.target / "share")
        (self.target / "share").chmod(0o555)
        done = self.tool("put", self.stage("bin/a"), self.target, **self.how)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, f"install: {self.target}/share/mortise: Permission denied\n")
        self.assertEqual(contents(self.target), {"share"})

    def test_what_cannot_be_removed_stays_in_the_list(self):
        self.own(self.target)
        self.tool("put", self.stage("bin/a", "lib/b"), self.target, **self.how)
        (self.target / "bin").chmod(0o555)
        done = self.tool("remove", self.target, **self.how)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"install: {self.target}/bin/a: Permission denied\n", done.stderr)
        self.assertNotIn("lib/b", contents(self.target))
        (self.target / "bin").chmod(0o755)
        done = self.tool("remove", self.target, **self.how)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_what_a_later_version_cannot_take_away_stays_in_the_list(self):
        self.own(self.target)
        self.tool("put", self.stage("bin/a", "lib/b"), self.target, **self.how)
        (self.target / "lib").chmod(0o555)
        done = self.tool("put", self.stage("bin/a"), self.target, **self.how)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"install: {self.target}/lib/b: Permission denied\n", done.stderr)
        (self.target / "lib").chmod(0o755)
        done = self.tool("remove", self.target, **self.how)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(contents(self.target), set())


class Layout(Case):
    def test_layout(self):
        """The compiler is asked, so a missing dpkg-architecture changes nothing."""
        asked = subprocess.run(["cc", "-print-multiarch"], capture_output=True, text=True, check=True)
        name = asked.stdout.strip()
        if not name or not pathlib.Path("/usr/lib", name).is_dir():
            self.skipTest("this system has no multiarch directories")
        tools = self.dir / "tools"  # a PATH without dpkg-architecture
        tools.mkdir()
        for tool in ("cc", "python3"):
            (tools / tool).symlink_to(shutil.which(tool))
        for prefix, want in (
            ("/usr", f"lib/{name}"),
            ("/usr/local", f"lib/{name}"),
            ("/opt/x", "lib"),
            ("/usr/local/x", "lib"),
        ):
            done = self.tool("layout", prefix, env={"PATH": str(tools)})
            self.assertEqual(done.stdout.splitlines()[0], f"-Dlibdir={want}", done.stderr)
            words = self.tool("layout", prefix, env={"CC": "env cc -g"})  # as ccache cc, cc -m64
            self.assertEqual(words.stdout, done.stdout)
        self.assertEqual(self.tool("layout", "/usr", env={"CC": "'"}).returncode, 0)  # meson will complain
        zsh = self.tool("layout", "/usr").stdout.splitlines()[1]
        want = "vendor-completions" if os.path.exists("/etc/debian_version") else "site-functions"
        self.assertEqual(zsh, f"-Dzsh_dir=share/zsh/{want}")


if __name__ == "__main__":
    unittest.main()
