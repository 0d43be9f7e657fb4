#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""An installed tree that was moved is used: the command, its plugins, and programs compiled against it."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import unittest

from installed import BARE, BUILD, LIMIT, ROOT, Tree

sys.path.insert(1, str(ROOT / "tests/e2e"))
import test_guides  # noqa: E402

HELLO = '{"text":"hello, world"}\n'
WHOLE = """#include <stdio.h>
#include <mortise/mortise.h>

int main(void)
{
mortise_host *host = NULL;
mortise_plugin *plugin = NULL;
mortise_error err = { 0 };
char *result = NULL;
%s
mortise_free(result);
mortise_plugin_unref(plugin);
mortise_host_free(host);
return 0;
}
"""
PLUGIN = """#include <tenon/tenon.h>

static int greet(tenon_call *call)
{
	return tenon_reply(call, TENON("text", "hello"), TENON("to", tenon_str(call, "name", "world")));
}

int main(void)
{
	static const tenon_method methods[] = { { .name = "greet", .fn = greet }, { 0 } };

	return tenon_run(&(tenon_plugin){ .name = "outside", .version = "1", .methods = methods });
}
"""


# The programs beside mortise, and the libraries that none of the others may need: dependencies of one wing.
PARTS = {"kythe": {"zip", "pcre2-8"}, "farm": {"zip", "pcre2-8", "pq"}, "bot": {"wslay", "ssl"}}


def needed(program):
    """The shared libraries that it is linked with."""
    shown = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"\(NEEDED\).*\[lib([\w+-]+)\.so", shown))


class Programs(Tree):
    def test_a_wing_keeps_its_libraries_to_itself(self):
        self.assertLessEqual(needed(self.mortise), {"c"})
        wings = set.union(*PARTS.values())
        self.assertEqual(needed(self.helpers / "mortise-full") & wings, set())
        for name, own in PARTS.items():
            if (BUILD / f"mortise-{name}").exists():
                self.assertEqual(needed(self.helpers / f"mortise-{name}") & wings, own, name)

    def test_the_library_holds_nothing_of_the_bot(self):
        for library in ("libmortise.so", "libmortise.a"):
            shown = subprocess.run(["nm", BUILD / library], capture_output=True, text=True, check=True).stdout
            self.assertEqual(re.findall(r"\bmor_bot\w*", shown), [], library)

    def test_each_starts_and_prints_help(self):
        whole = self.ok(self.mortise, "--help")
        row = re.compile(r'X\(\w+, "([\w-]+)", (\w+),')
        table = row.findall((ROOT / "src/app/cli/commands.h").read_text(encoding="utf-8"))
        self.assertGreater(len(table), 30)
        for program in ["full", *PARTS]:
            path = self.helpers / f"mortise-{program}"
            if (BUILD / f"mortise-{program}").exists():
                self.assertEqual(self.ok(path, "--help"), whole)
                self.assertRegex(self.ok(path, "--version"), r"^mortise \d")
                for command in {name for name, by in table if by == program.upper()} or {"chat"}:
                    shown = self.ok(path, command, "--help")
                    self.assertTrue(shown.startswith(f"mortise {command}: "), shown)
                    self.assertEqual(self.ok(self.mortise, "help", command), shown)

    def test_without_a_part(self):
        """Help and completion speak of all commands; one that is not here says what to install."""
        for program, words in (
            ("kythe", ["kzip", "info", "x"]),
            ("farm", ["farm", "status", "postgres://x"]),
            ("farm", ["extract", "x", "-o", "y", "--farm", "postgres://x", "--store", "z", "--", "true"]),
            ("bot", ["chat", "--config", "bot.toml"]),
        ):
            path = self.helpers / f"mortise-{program}"
            aside = self.dir / path.name
            is_here = path.exists()
            if is_here:
                path.rename(aside)
            try:
                self.assertIn(f"mortise {words[0]}: ", self.ok(self.mortise, "help", words[0]))
                done = self.run_as(None, self.mortise, *words)
            finally:
                if is_here:
                    aside.rename(path)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(f"only {path} can do this, and it cannot be run: No such file or dir", done.stderr)
            self.assertIn("install mortise's part for", done.stderr)


class Command(Tree):
    def test_both_programs(self):
        for user in self.users():
            self.assertRegex(self.ok(self.mortise, "--version", user=user), r"^mortise \d")
            self.assertIn("extractor.extract", self.ok(self.mortise, "explain", "yams", user=user, cwd="/"))

    def test_a_plugin(self):
        plugin = self.example("echo-plugin.py")
        for user in self.users():
            self.assertEqual(self.ok(self.mortise, "call", plugin, "greet", "name=world", user=user), HELLO)

    def test_what_the_manual_names(self):
        """Examples are written for the tree; what they name is where mortise(1) says, and runs there."""
        doc = self.prefix / "share/doc/mortise"
        manual = "".join(path.read_text() for path in (self.prefix / "share/man/man1").iterdir())
        manual = re.sub(r"\\(&|(?=-))", "", manual)  # as a reader sees it
        pages = set(re.findall(r"share/doc/mortise/([\w/-]+\.md)", manual))
        self.assertLessEqual({"guide/write-by-hand.md", "reference/verify-entries.md"}, pages)
        for name in {f"examples/{name}" for name in re.findall(r"examples/([\w.-]+\.py)", manual)} | pages:
            self.assertTrue((doc / name).is_file(), name)
        for name in re.findall(r"build/plugins/([\w-]+)", manual):
            if (BUILD / "plugins" / name).exists():
                self.assertTrue((self.plugins / name).is_dir(), name)
        for user in self.users():
            plugin = doc / "examples/echo-plugin.py"
            self.assertEqual(self.ok(self.mortise, "call", plugin, "greet", "name=world", user=user), HELLO)

    def test_through_a_link(self):
        link = self.dir / "m"
        link.symlink_to(self.mortise)
        self.assertIn("extractor.extract", self.ok(link, "explain", "yams"))

    def test_the_plugins_that_come_with_it(self):
        for user in self.users():
            if (self.plugins / "elf-text").exists():
                plugin = self.plugins / "elf-text"
                out = self.ok(self.mortise, "extract", "/bin/true", "--plugin", plugin, user=user)
                self.assertIn("Needed Libraries:\nlibc.so.6\n", out)
        for plugin in self.plugins.iterdir():
            self.assertIn(plugin.name, self.ok(self.mortise, "info", plugin, user=self.users()[-1]))

    def test_confined(self):
        for user in self.users():
            levels = {row["level"]: row["available"] for row in self.doctor(user)["levels"]}
            done = self.run_as(user, self.mortise, "jail", "--on-denial=kill", "--", "cat", "/etc/shadow")
            if not levels["t0"]:
                self.assertEqual(done.returncode, 125, done.stderr)
                continue
            self.assertEqual(done.returncode, 9, done.stderr)
            self.assertRegex(done.stderr, "^sandbox_violation: cat tried to read /etc/shadow")
            self.assertEqual(self.ok(self.mortise, "jail", "--", "echo", "fine", user=user), "fine\n")

    def doctor(self, user):
        return json.loads(self.ok(self.mortise, "doctor", "--json", user=user))

    def test_doctor_names_the_helper_that_was_moved_too(self):
        check = next(row for row in self.doctor(None)["checks"] if row["name"] == "helper")
        self.assertTrue(check["found"].startswith(f"{self.helpers}/mortise-jail, version "), check)

    def test_what_readme_prints(self):
        """Its commands, typed where "build" leads to the tree, answer as printed."""
        here = self.dir / "build"
        here.mkdir()
        (here / "mortise").symlink_to(self.mortise)
        (here / "plugins").symlink_to(self.plugins)
        lines = [
            row
            for block in test_guides.BLOCK.finditer(test_guides.page("README.md"))
            if block["kind"] == "console"
            for row in test_guides.commands(block["text"])
        ]
        self.assertGreater(len(lines), 4)
        confines = any(row["level"] == "t0" and row["available"] for row in self.doctor(None)["levels"])
        for line, wanted in lines:
            if " jail " in line and not confines:
                continue
            done = self.run_as(None, "bash", "-c", line)
            if line != "echo $?":
                self.assertEqual(done.stdout + done.stderr, wanted)

    def test_packed_and_unpacked(self):
        with tarfile.open(self.dir / "m.tar", "w") as tar:
            tar.add(self.prefix, "m")
        with tarfile.open(self.dir / "m.tar") as tar:
            tar.extractall(self.dir / "un packed")
        plugin = self.example("echo-plugin.py")
        command = self.dir / "un packed/m/bin/mortise"
        self.assertEqual(self.ok(command, "call", plugin, "greet", "name=world"), HELLO)

    def test_nothing_names_the_build_directory(self):
        others = self.helpers.glob("mortise-[!j]*")
        for path in (self.mortise, *others, self.libdir / "libmortise.so.1"):
            shown = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True).stdout
            self.assertNotRegex(shown, "RPATH|RUNPATH")
        for path in self.pkgconfig.iterdir():
            self.assertNotIn("/usr/local", path.read_text())


class Embedder(Tree):
    def test_hello(self):
        source, plugin = self.example("hello.c"), self.example("echo-plugin.py")
        for user in self.users():
            program = self.embedder(source, self.dir / f"hello {user}", user=user)
            self.assertEqual(self.ok(program, plugin, user=user), HELLO)
            self.assertEqual(self.ok(program, user=user), HELLO)  # ./echo-plugin.py

    def test_lines_of_the_guide(self):
        """The lines that install.md prints for another prefix, typed into a shell; this one has a blank in its
        name. Their programs find the library, or have it inside."""
        lines = re.findall(
            r"^    (.*hello\.c -o hello .*)$",
            (ROOT / "docs/guide/install.md").read_text(encoding="utf-8"),
            re.M,
        )
        escaped = [line for line in lines if line.startswith("eval ")]
        inside = [f'eval "{line}"' for line in lines if "mortise-static" in line]
        self.assertEqual((len(escaped), len(inside)), (1, 1), lines)
        self.example("hello.c"), self.example("echo-plugin.py")
        (self.dir / "bin").mkdir()
        (self.dir / "libexec").symlink_to(self.prefix / "libexec")
        env = {"PKG_CONFIG_PATH": str(self.pkgconfig)}
        for line, needs in ((escaped[0], True), (inside[0], False)):
            self.ok(
                "sh", "-c", f"libdir=$(pkg-config --variable=libdir mortise)\n{line}\nmv hello bin", env=env
            )
            self.assertEqual("libmortise.so" in self.ok("readelf", "-d", "bin/hello"), needs, line)
            self.assertEqual(self.ok("bin/hello"), HELLO)

    def test_readme(self):
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        snippet = re.search(r"^```c\n(.*?)^```", readme, re.M | re.S).group(1)
        source = self.dir / "readme.c"
        source.write_text(WHOLE % snippet)
        self.example("echo-plugin.py")
        for user in self.users():
            program = self.embedder(source, self.dir / f"readme {user}", user=user)
            self.assertEqual(self.ok(program, user=user), HELLO)

    def test_soname(self):
        program = self.embedder(self.example("hello.c"), self.dir / "hello")
        shown = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout
        self.assertIn("[libmortise.so.1]", shown)
        self.assertNotIn("yyjson", shown)

    def test_yyjson_is_nobodys_business(self):
        for package in ("mortise", "mortise-static", "tenon", "tenon-shared"):
            for words in (["--libs", "--cflags"], ["--static", "--libs"], ["--print-requires-private"]):
                self.assertNotIn("yyjson", " ".join(self.pkg_config(*words, package)))

    def test_variables(self):
        for name, want in (("helperdir", self.helpers), ("plugindir", self.plugins), ("libdir", self.libdir)):
            told = " ".join(self.pkg_config(f"--variable={name}", "mortise"))
            self.assertEqual(pathlib.Path(told).resolve(), want)

    def test_static(self):
        """Then the program is what the helper is sought from: in bin/ of the prefix it is found."""
        words = self.pkg_config("--cflags", "--libs", "mortise-static")
        program = self.compile(self.example("hello.c"), self.prefix / "bin/static hello", *words)
        self.addCleanup(program.unlink)
        self.assertNotIn("libmortise", self.ok("readelf", "-d", program))
        plugin = self.example("echo-plugin.py")
        self.assertEqual(self.ok(program, plugin), HELLO)
        done = self.run_as(None, shutil.copy(program, self.dir), plugin)
        self.assertEqual(done.returncode, 1)
        self.assertIn("mortise-jail: the helper that guards plugins cannot be run: No such file", done.stderr)

    def test_archives_have_public_names_only(self):
        for name in ("mortise", "tenon"):
            shown = self.ok("nm", "-g", "--defined-only", "--format=posix", self.libdir / f"lib{name}.a")
            names = {line.split()[0] for line in shown.splitlines()[1:]}
            self.assertEqual({name for name in names if not name.startswith(("mortise_", "tenon_"))}, set())

    def test_plugin_with_tenon(self):
        source = self.dir / "plugin.c"
        source.write_text(PLUGIN)
        for user in self.users():
            flags = self.pkg_config("--cflags", "--libs", "tenon")
            program = self.compile(source, self.dir / f"plugin {user}", *flags, user=user)
            out = self.ok(self.mortise, "call", "greet", "name=you", "--", program, user=user)
            self.assertEqual(out, '{"text":"hello","to":"you"}\n')

    def test_the_example_with_either_library(self):
        source = self.prefix / "share/doc/mortise/examples/plugins/c/plain.c"
        rpath = "-Wl,-rpath," + self.pkg_config("--variable=libdir", "tenon")[0]
        for package, more, shared in (("tenon", [], False), ("tenon-shared", [rpath], True)):
            flags = self.pkg_config("--cflags", "--libs", package)
            program = self.compile(source, self.dir / f"mean {package}", *flags, *more)
            self.assertEqual("libtenon.so.0" in self.ok("readelf", "-d", program), shared)
            out = self.ok(self.mortise, "call", "mean", "numbers:=[1,2,6]", "--", program)
            self.assertEqual(out, '{"mean":3.0}\n')


IN_USR_LOCAL = r"""set -eu
mount -t tmpfs own /usr/local
mkdir "$1/up" "$1/work"
mount -t overlay -o "lowerdir=/etc,upperdir=$1/up,workdir=$1/work" own /etc
"$2/dev" install --build "$3" >&2
cc -Werror "$2/examples/hello.c" -o "$1/hello" $(pkg-config --cflags --libs mortise)
"$1/hello" "$2/examples/echo-plugin.py"
mortise --version
man -w mortise-call
"$2/dev" uninstall >&2
find /usr/local -mindepth 1
ldconfig -p | grep mortise || true
"""


class System(Tree):
    def test_usr_local(self):
        """As root in the default prefix, which only this test sees: nothing but the names is needed."""
        if pathlib.Path("/usr/local") in ROOT.parents:
            self.skipTest("the tree itself lies in /usr/local")
        own = pathlib.Path("/dev/shm", f"mt-{os.getpid()}-install")
        can = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs own /usr/local && mount -t overlay"]
        if os.geteuid() != 0 or subprocess.run(can, capture_output=True, check=False).returncode != 0:
            self.skipTest("needs root, and mounts of one's own")
        own.mkdir()
        self.addCleanup(shutil.rmtree, own)
        command = ["unshare", "--mount", "sh", "-c", IN_USR_LOCAL, "sh", own, ROOT, BUILD]
        env = {**BARE, "HOME": str(self.dir), "PATH": "/usr/local/bin:/usr/sbin:/sbin:/usr/bin:/bin"}
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=LIMIT, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        page = r"/usr/local/share/man/man1/mortise-call\.1"
        self.assertRegex(done.stdout, rf"^{re.escape(HELLO)}mortise \S+\n{page}\n$")


if __name__ == "__main__":
    unittest.main()
