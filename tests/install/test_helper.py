#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Which mortise-jail is run: the one that came with the library, wherever one stands and whatever one is told,
unless others could have written it."""
import json
import os
import shutil
import unittest

from installed import NOBODY, Tree

HELLO = '{"text":"hello, world"}\n'
FORGED = "#!/bin/sh\necho forged >&2\nexit 0\n"
# Loads the library by a relative name, goes elsewhere, and only then starts a plugin.
LOADER = r"""#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
#include <mortise/mortise.h>

#define GET(name) ((__typeof__(&name))dlsym(lib, #name))

int main(int argc, char **argv)
{
	void *lib = argc == 4 ? dlopen(argv[1], RTLD_NOW) : NULL;
	mortise_plugin_options opt = { .size = sizeof(opt), .path = argv[3] };
	mortise_json params = { "{\"name\":\"world\"}", 16 };
	mortise_host *host = NULL;
	mortise_plugin *plugin = NULL;
	mortise_error err = { 0 };
	char *result = NULL;

	if (!lib || chdir(argv[2]) < 0)
		return 2;
	if (GET(mortise_host_new)(NULL, &host, &err) < 0 ||
	    GET(mortise_plugin_new)(host, &opt, &plugin, &err) < 0 ||
	    GET(mortise_call_sync)(plugin, "greet", params, NULL, &result, &err) < 0)
		fprintf(stderr, "%s\n", err.text);
	else
		puts(result);
	return err.code != 0; /* the system takes the rest */
}
"""


class Helper(Tree):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.jail = cls.helpers / "mortise-jail"

    def setUp(self):
        super().setUp()
        self.plugin = self.example("echo-plugin.py")

    def call(self, user=None, **how):
        return self.run_as(user, self.mortise, "call", self.plugin, "greet", "name=world", **how)

    def forge(self, *names):
        for name in names:
            path = self.dir / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(FORGED)
            path.chmod(0o755)

    def without(self, path):
        """Until the end of the test the file is elsewhere."""
        aside = path.with_name("aside")
        path.rename(aside)
        self.addCleanup(aside.rename, path)


class Sought(Helper):
    HINTS = [
        place + name for place in ("", "bin/", "libexec/mortise/") for name in ("mortise-jail", "mortise-full")
    ]

    def hints(self):
        """The ways to tell a program where to look."""
        here = str(self.dir)
        env = {
            "PATH": f"{here}:{here}/bin:/usr/bin:/bin",
            "MORTISE_JAIL": f"{here}/mortise-jail",
            "MORTISE_LIBEXECDIR": f"{here}/libexec",
            "LD_ORIGIN_PATH": here,
        }
        return {"cwd": self.dir, "env": env}

    def test_nothing_else_is_run(self):
        self.forge(*self.HINTS)
        self.assertEqual(self.call(**self.hints()).stdout, HELLO)
        self.without(self.jail)
        done = self.call(**self.hints())
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertIn(
            "libexec/mortise/mortise-jail: the helper that guards plugins cannot be run: No such file",
            done.stderr,
        )
        self.assertIn(", nor in ", done.stderr)
        self.assertIn("/bin; install it, or name it in jail_helper", done.stderr)
        self.assertNotIn("forged", done.stderr)

    def test_nor_for_the_other_program(self):
        self.forge(*self.HINTS)
        self.without(self.helpers / "mortise-full")
        done = self.run_as(None, self.mortise, "explain", "yams", **self.hints())
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "^system: only .*mortise-full can do this, and it cannot be run: No such")

    def test_a_name_that_the_caller_gave_says_nothing(self):
        """argv[0], which the loader takes for the program's name."""
        self.forge(*self.HINTS)
        shutil.copy(self.mortise, self.dir / "bin/mortise")
        name = str(self.dir / "bin/mortise")
        done = self.run_as(None, name, "call", self.plugin, "greet", "name=world", executable=self.mortise)
        self.assertEqual((done.stdout, done.stderr), (HELLO, ""))

    def test_embedder(self):
        self.forge(*self.HINTS)
        program = self.embedder(self.example("hello.c"), self.dir / "bin/hello")
        self.assertEqual(self.ok(program, self.plugin, **self.hints()), HELLO)

    def test_library_that_was_loaded_by_a_relative_name(self):
        self.forge("elsewhere/mortise-jail", "elsewhere/libexec/mortise/mortise-jail")
        source = self.dir / "loader.c"
        source.write_text(LOADER)
        program = self.compile(source, self.dir / "loader", *self.pkg_config("--cflags", "mortise"), "-ldl")
        name = os.path.relpath(self.libdir / "libmortise.so.1", self.prefix)
        # There the same relative name leads to a copy, beside a helper that is forged.
        (self.dir / "elsewhere" / name).parent.mkdir(parents=True)
        shutil.copy(self.libdir / "libmortise.so.1", self.dir / "elsewhere" / name)
        shown = self.ok(program, f"./{name}", self.dir / "elsewhere", self.plugin, cwd=self.prefix)
        self.assertEqual(shown, HELLO)

    def test_beside_the_library(self):
        """A bundle: library, helper and program in one directory."""
        for name in (self.libdir / "libmortise.so.1", self.jail):
            shutil.copy(name, self.dir)
        self.dir.chmod(0o755)
        flags = self.pkg_config("--cflags", "--libs", "mortise")
        program = self.compile(self.example("hello.c"), self.dir / "hello", *flags, "-Wl,-rpath,$ORIGIN")
        self.without(self.jail)
        self.assertEqual(self.ok(program, self.plugin, cwd="/"), HELLO)


class Refused(Helper):
    def refused(self, text, user=None):
        done = self.call(user)
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertIn(f"{self.jail}: the helper that guards plugins cannot be run: {text}", done.stderr)

    def call_in(self, prefix, user):
        return self.ok(prefix / "bin/mortise", "call", self.plugin, "greet", "name=world", user=user)

    def mode(self, path, mode):
        self.addCleanup(path.chmod, path.stat().st_mode & 0o7777)
        path.chmod(mode)

    def test_file_that_everybody_can_write(self):
        self.mode(self.jail, 0o757)
        self.refused(f"everybody can write it: chmod o-w {self.jail}")

    def test_directory_that_everybody_can_write(self):
        self.mode(self.helpers, 0o1777)
        for user in self.users():
            self.refused(f"everybody can write its directory: chmod o-w {self.helpers}", user)
        done = self.run_as(None, self.mortise, "jail", "--", "true")
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertIn(
            f"{self.jail}, the helper that sets up the jail: everybody can write its directory", done.stderr
        )
        done = self.run_as(None, self.mortise, "explain", "yams")
        self.assertEqual(done.returncode, 1)
        self.assertIn(
            f"only {self.helpers}/mortise-full can do this, and it cannot be run: everybody can write its",
            done.stderr,
        )

    def test_directories_above_that_others_can_write(self):
        """There they could replace the whole directory, between our look at it and the start."""
        for path in (self.prefix / "libexec", self.prefix, self.prefix.parent):
            self.mode(path, 0o777)
            self.refused(f"everybody can write a directory above it: chmod o-w {path}")
            done = self.run_as(None, self.mortise, "explain", "yams")
            self.assertIn("cannot be run: everybody can write a directory above it", done.stderr)
            path.chmod(0o1777)
            self.assertEqual(self.call().stdout, HELLO)  # sticky: only we can replace what is ours
            path.chmod(0o755)

    def test_a_group_that_can_write(self):
        """Even the user's own: another user can have it as the first group."""
        if os.geteuid() == 0:
            for path in (self.jail, self.helpers, self.prefix / "libexec"):
                os.chown(path, 0, NOBODY)
                self.addCleanup(os.chown, path, 0, 0)
        self.mode(self.jail, 0o775)
        self.refused("others can write it (group ")
        self.mode(self.helpers, 0o775)
        self.refused("others can write its directory (group ")
        self.mode(self.prefix / "libexec", 0o775)
        self.refused("others can write a directory above it (group ")

    def test_link_to_another_place(self):
        """The helper's directory is moved, and a link leads to it."""
        place = self.prefix / "libexec"
        elsewhere = self.dir / "elsewhere"
        place.rename(elsewhere)
        place.symlink_to(elsewhere)
        self.addCleanup(lambda: (place.unlink(), elsewhere.rename(place)))
        self.assertEqual(self.call().stdout, HELLO)
        self.mode(elsewhere, 0o777)
        self.refused(f"everybody can write a directory above it: chmod o-w {elsewhere}")

    def test_doctor_says_it(self):
        self.mode(self.jail, 0o777)
        told = json.loads(self.run_as(None, self.mortise, "doctor", "--json").stdout)
        check = next(row for row in told["checks"] if row["name"] == "helper")
        self.assertEqual(check["state"], "missing")
        self.assertIn("everybody can write it", json.dumps(told["levels"]))

    def test_an_embedder_is_told(self):
        program = self.embedder(self.example("hello.c"), self.dir / "hello")
        self.mode(self.jail, 0o757)
        done = self.run_as(None, program, self.plugin)
        self.assertEqual(done.returncode, 1)
        self.assertIn("the helper that guards plugins cannot be run: everybody can write it", done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "needs root to give files away")
    def test_of_another_user(self):
        os.chown(self.jail, 4000, -1)
        self.addCleanup(os.chown, self.jail, 0, -1)
        for user in self.users():
            self.refused("it belongs to another user (4000): install it anew", user)

    @unittest.skipUnless(os.geteuid() == 0, "needs root to give files away")
    def test_a_tree_of_another_user_as_a_whole(self):
        """The owner of the code that runs owns the helper, too."""
        copy = self.dir / "theirs"
        shutil.copytree(self.prefix, copy, symlinks=True)
        for path in [copy, *copy.rglob("*")]:
            os.chown(path, 4000, 4000, follow_symlinks=False)
        for user in self.users():
            self.assertEqual(self.call_in(copy, user), HELLO)

    @unittest.skipUnless(os.geteuid() == 0, "needs root to be another user")
    def test_an_ordinary_user_runs_what_root_installed_and_his_own(self):
        self.assertEqual(self.call(NOBODY).stdout, HELLO)
        copy = self.dir / "own"
        shutil.copytree(self.prefix, copy, symlinks=True)
        for path in [copy, *copy.rglob("*")]:
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
        self.assertEqual(self.call_in(copy, NOBODY), HELLO)


if __name__ == "__main__":
    unittest.main()
