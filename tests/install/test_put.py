#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""./dev install and ./dev uninstall: what they put where, and that nothing of it is left."""
import os
import pathlib
import shutil
import stat
import subprocess
import tempfile
import unittest

from installed import BUILD, ROOT, contents, dev, install

TOOL = ROOT / "tools/install"
EXPECTED = """bin/mortise libexec/mortise/mortise-full libexec/mortise/mortise-jail
    include/mortise/mortise.h include/tenon/tenon.h LIB/libmortise.so LIB/libmortise.so.0 LIB/libmortise.a
    LIB/libtenon.a LIB/pkgconfig/mortise.pc LIB/pkgconfig/mortise-static.pc LIB/pkgconfig/tenon.pc
    LIB/mortise/plugins/lookout/manifest.json
    share/man/man1/mortise.1 share/man/man1/mortise-call.1 share/bash-completion/completions/mortise
    share/zsh/site-functions/_mortise share/fish/vendor_completions.d/mortise.fish
    share/doc/mortise/guide/install.md share/doc/mortise/examples/hello.c
    share/mortise/installed""".split()


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="mortise-put-"))
        self.addCleanup(shutil.rmtree, self.dir)

    def tool(self, *words, env=None):
        return subprocess.run(
            [TOOL, *map(str, words)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **(env or {})},
        )


class Dev(Case):
    def uninstall(self, prefix, **how):
        done = dev("uninstall", "--prefix", str(prefix), **how)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def test_there_and_gone(self):
        prefix = self.dir / "a b" / "c"
        done = install(prefix)
        self.assertIn(f"'{prefix}/bin/mortise' doctor", done.stderr)
        lib = next(prefix.glob("lib*/**/libmortise.so")).parent.relative_to(prefix)
        self.assertLessEqual({name.replace("LIB", str(lib)) for name in EXPECTED}, contents(prefix))
        self.assertEqual(os.readlink(prefix / lib / "libmortise.so"), "libmortise.so.0")
        self.uninstall(prefix)
        self.assertEqual(contents(self.dir), set())

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
        self.uninstall("/opt/mor tise", env={"DESTDIR": str(self.dir / "root")})
        self.assertEqual(contents(self.dir), set())

    def test_what_others_put_there_stays(self):
        prefix = self.dir / "p"
        (prefix / "share").mkdir(parents=True)
        install(prefix)
        (prefix / "bin/theirs").write_text("x")
        (prefix / "libexec/mortise/mortise-full").unlink()  # what is gone already is no fault
        done = self.uninstall(prefix)
        self.assertIn(f"{prefix}/bin stays", done.stderr)
        self.assertEqual(contents(self.dir), {"p", "p/share", "p/bin", "p/bin/theirs"})

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

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_no_right_to_write(self):
        self.dir.chmod(0o555)
        words = ["install", "--build", str(BUILD), "--prefix", str(self.dir / "p")]
        done = dev(*words, env={"PATH": "/usr/bin:/bin"})
        self.dir.chmod(0o755)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("cannot be written", done.stderr)


class Tool(Case):
    def stage(self, *names):
        stage = self.dir / "stage"
        shutil.rmtree(stage, ignore_errors=True)
        for name in names:
            (stage / name).parent.mkdir(parents=True, exist_ok=True)
            (stage / name).write_text(name)
        return stage

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
        for line in ("file ../outside", f"file {outside}", "above ../x", "what ever"):
            listed.write_text(line + "\n")
            done = self.tool("remove", self.dir / "t")
            self.assertEqual(done.returncode, 1)
            self.assertIn("not a list of what was installed", done.stderr)
        self.assertTrue(outside.exists())

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
        zsh = self.tool("layout", "/usr").stdout.splitlines()[1]
        want = "vendor-completions" if os.path.exists("/etc/debian_version") else "site-functions"
        self.assertEqual(zsh, f"-Dzsh_dir=share/zsh/{want}")


if __name__ == "__main__":
    unittest.main()
