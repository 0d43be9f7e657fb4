# SPDX-License-Identifier: Apache-2.0
"""What a program that may write its workspace cannot write there: its own permissions, what git runs,
what tools run by themselves. The ways round it are rows of tests/jail; here are plugins, real git, and
what people type.
"""
import json
import os
import shutil
import subprocess
import unittest

from support import Case, PYTHON
from sunscreen import LEVELS, Sunscreen
from test_jail_command import at_each_level

GIT = shutil.which("git", path="/usr/bin:/bin")
WHO = {f"GIT_{who}_{what}": f"a@{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
# A plugin that writes what it is told to, and says how that went.
WRITER = """
import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    try:
        what = asked.get("params") or {}
        if "to" in what:
            os.rename(what["path"], what["to"])
        else:
            with open(what["path"], "a") as f:
                f.write("changed\\n")
        result = "written"
    except OSError as e:
        result = e.strerror
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


def enters(*events):
    """Options of mortise jail that pass these variables."""
    return [word for name in events for word in ("--env", f"{name}={WHO[name]}")]


@unittest.skipUnless(LEVELS, "this machine cannot confine")
class Workspace(Case):
    def setUp(self):
        super().setUp()
        self.work = self.dir / "work"
        self.work.mkdir()

    def jail(self, level, *words, **how):
        return self.run_mortise("jail", "--level", level, "-w", self.work, "--write", *words, **how)

    def sh(self, level, script, *options):
        return self.jail(level, *options, "--", "/bin/sh", "-c", script, cwd=self.work)

    def refused(self, level, script, *options, why="no write to a protected path"):
        """It fails, or kills and names the reason; nothing has changed."""
        before = self.picture()
        denied = self.sh(level, script, *options)
        self.assertNotIn(denied.code, (0, 9), (script, denied.err))
        self.assertIn("denied: sh tried to", denied.err)
        self.assertEqual(self.picture(), before, script)
        done = self.sh(level, script, *options, "--on-denial=kill")
        self.assertEqual(done.code, 9, (script, done.err))
        self.assertIn(why, done.err)
        self.assertEqual(self.picture(), before, script)

    def picture(self):
        return {
            str(path.relative_to(self.work)): (
                path.lstat().st_mode,
                path.read_bytes() if path.is_file() else b"",
            )
            for path in self.work.rglob("*")
        }


class Names(Workspace):
    def test_usage(self):
        for words, text in (
            (["--git"], "--git needs --workspace DIR and --write"),
            (["--unprotect", ".vscode"], "--unprotect needs --workspace DIR and --write"),
            (["-w", ".", "--write", "--unprotect", ".vsc"], 'unprotect is ".vsc"'),
        ):
            self.assertIn(text, self.fails(125, "usage", "jail", *words, "--", "true").err)

    @at_each_level
    def test_refused_unless_named(self, level):
        self.refused(
            level, "echo x >.envrc", why="tools run it by themselves; to allow it, name it with --unprotect"
        )
        self.refused(level, "echo x >.envrc", "--unprotect", ".npmrc")
        done = self.sh(level, f"echo {level} >.envrc; echo x >Makefile", "--unprotect", ".envrc")
        self.assertEqual((done.code, done.err), (0, ""))
        self.assertEqual((self.work / ".envrc").read_text(), f"{level}\n")
        (self.work / ".envrc").unlink()
        done = self.sh(level, "mkdir -p .git/hooks && echo x >.git/hooks/x", "--spawn", "--unprotect", ".git")
        self.assertEqual((done.code, done.err), (0, ""))
        shutil.rmtree(self.work / ".git")

    @at_each_level
    def test_where_links_lead(self, level):
        """A protected name may be a link: what it leads to counts, by either name, there or not yet."""
        shutil.rmtree(self.work)
        for name in ("editor", "agent", ".claude"):
            (self.work / name).mkdir(parents=True)
        (self.work / "editor" / "tasks.json").write_text("{}")
        (self.work / "agent" / "settings.json").write_text("{}")
        (self.work / ".vscode").symlink_to("editor")
        (self.work / ".envrc").symlink_to("later")
        (self.work / ".claude" / "settings.json").symlink_to("../agent/settings.json")
        for name in ("editor/tasks.json", ".vscode/tasks.json", "later", ".envrc", "agent/settings.json"):
            self.refused(level, f"echo x >> {name}")
        self.refused(level, "mv editor other", "--spawn")
        self.assertEqual(self.sh(level, "echo x > agent/notes").code, 0)
        self.assertEqual(self.sh(level, "echo x > editor/tasks.json", "--unprotect", ".vscode").code, 0)

    @at_each_level
    def test_case_counts_where_it_does(self, level):
        """This file system tells .GIT from .git; tests/jail has one that we take for another kind."""
        self.assertEqual(self.sh(level, "echo x >.Envrc").code, 0)


@unittest.skipUnless(GIT, "there is no git")
class Commits(Workspace):
    def setUp(self):
        super().setUp()
        self.env.update(WHO, HOME=str(self.dir / "home"), GIT_CONFIG_NOSYSTEM="1")
        self.git("init", "-q", "-b", "main")
        self.file("work/a", "one\n")
        self.git("add", "a")
        self.git("commit", "-q", "-m", "first")

    def git(self, *words, at=None):
        done = subprocess.run(
            [GIT, "-C", at or self.work, *words], capture_output=True, text=True, env=self.env, check=False
        )
        self.assertEqual(done.returncode, 0, (words, done.stderr))
        return done.stdout.strip()

    def commit(self, level, *options, at="."):
        return self.sh(
            level,
            f"cd {at} && echo {level} >>a && git add a && git commit -q -m {level} && git tag -f t-{level}",
            *options,
            "--spawn",
            *enters(*WHO),
        )

    @at_each_level
    def test_with_git(self, level):
        done = self.commit(level, "--git")
        self.assertEqual(done.code, 0, done.err)
        self.assertEqual(self.git("log", "-1", "--format=%s", f"t-{level}"), level)
        self.assertEqual(self.git("status", "--short"), "")
        self.git("fsck", "--strict")

    @at_each_level
    def test_without(self, level):
        self.refused(
            level, "echo x >.git/index.lock", why="to allow it, add --git, which is enough for commits"
        )

    @at_each_level
    def test_no_more_than_commits(self, level):
        for script in (
            "echo x >.git/hooks/post-commit",
            "echo x >>.git/config",
            "echo x >.git/config.worktree",
            "echo x >.git/commondir",
            "echo x >.git/info/attributes",
            "mkdir .git/rebase-merge",
            "echo x >.git/objects/info/alternates",
            "ln -s ../../a .git/logs/refs/heads/main2",
            "mv .git .git2",
            "mv .git/hooks .git/refs/hooks",
        ):
            self.refused(level, script, "--git", "--spawn")

    @at_each_level
    def test_submodule_and_second_tree(self, level):
        self.git("clone", "-q", "--bare", str(self.work), str(self.dir / "origin.git"))
        shutil.rmtree(self.work / "sub", ignore_errors=True)
        shutil.rmtree(self.work / ".git/modules", ignore_errors=True)
        shutil.rmtree(self.dir / "origin.git/hooks")
        self.git(
            *("-c", "protocol.file.allow=always", "submodule", "add", "--force", "-q"),
            *(str(self.dir / "origin.git"), "sub"),
        )
        self.git("worktree", "add", "-q", "--detach", f"tree-{level}")
        for at in ("sub", f"tree-{level}"):
            done = self.commit(level, "--git", at=at)
            self.assertEqual(done.code, 0, (at, done.err))
            self.assertEqual(self.git("log", "-1", "--format=%s", at=self.work / at), level)
        for name in ("modules/sub/config", "modules/sub/hooks/x", f"worktrees/tree-{level}/gitdir"):
            self.refused(level, f"echo x >>.git/{name}", "--git")
        shutil.rmtree(self.dir / "origin.git")

    @at_each_level
    def test_hooks_path(self, level):
        self.git("config", "core.hooksPath", "./my/hooks")
        self.file("work/my/hooks/pre-commit", "#!/bin/sh\n")
        self.refused(level, "echo x >>my/hooks/pre-commit", "--git")
        self.refused(level, "mv my mine", "--spawn")
        self.assertEqual(self.sh(level, "echo x >my/other").code, 0)


@unittest.skipUnless(LEVELS, "this machine cannot confine")
class OwnPermissions(Case):
    """A plugin in the workspace that it may write."""

    def make(self, where, workspace):
        self.file(
            f"{where}/mortise.toml",
            f'[plugin]\ncommand = ["{PYTHON}", "main.py", "table.txt"]\n'
            f'[sandbox]\nworkspace = "{workspace}"\nworkspace_write = true\n',
        )
        self.file(f"{where}/main.py", WRITER)
        self.file(f"{where}/table.txt", "its table\n")
        self.file(f"{where}/other.py", "its other code\n")
        return self.dir / where

    def write(self, plugin, level, **what):
        return self.run_mortise(
            "call", "--set", f"sandbox.level={level}", plugin, "write", json.dumps(what), "--json"
        )

    def refused(self, plugin, level, path, **what):
        before = path.read_bytes() if path.is_file() else sorted(os.listdir(path))
        done = self.write(plugin, level, path=str(path), **what)
        self.assertEqual(done.code, 0, done.raw + done.err.encode())
        self.assertIn("Permission denied", done.out)
        self.assertIn('"event":"sandbox_denials"', done.err)
        self.assertEqual(path.read_bytes() if path.is_file() else sorted(os.listdir(path)), before)

    @at_each_level
    def test_directory_is_the_workspace(self, level):
        plugin = self.make(f"p-{level}", ".")
        for name in ("mortise.toml", "main.py", "table.txt"):
            self.refused(plugin, level, plugin / name)
        done = self.write(plugin, level, path=str(plugin / "other.py"))
        self.assertIn("written", done.out)
        self.assertIn("it can change its own code, because it may write", done.err)

    @at_each_level
    def test_directory_is_in_the_workspace(self, level):
        plugin = self.make(f"w-{level}/tools/plug", "../..")
        for name in ("mortise.toml", "main.py", "other.py"):
            self.refused(plugin, level, plugin / name)
        self.refused(plugin, level, plugin.parent, to=str(plugin.parent) + ".old")
        done = self.write(plugin, level, path=str(self.dir / f"w-{level}/free"))
        self.assertIn("written", done.out)
        self.assertNotIn("can change its own code", done.err)

    @at_each_level
    def test_what_its_user_decided(self, level):
        """The workspace is a home directory, and so the user's own settings are in it."""
        plugin = self.make(f"h-{level}/plug", "..")
        home = self.dir / f"h-{level}"
        mine = self.file(f"h-{level}/.config/mortise/plugins/plug.toml", "[sandbox]\nnetwork = false\n")
        self.env.update(XDG_CONFIG_HOME=str(home / ".config"), XDG_STATE_HOME=str(home / ".state"))
        self.refused(plugin, level, mine)

    @at_each_level
    def test_what_its_user_trusts(self, level):
        """The list of YAMS plugins that may run, and the settings that say where it is."""
        plugin = self.make(f"y-{level}/plug", "..")
        home = self.dir / f"y-{level}"
        trusted = self.file(f"y-{level}/.data/yams/plugins.trust", "# mine\n")
        settings = self.file(f"y-{level}/.config/yams/config.toml", "[core]\n")
        self.env.update(XDG_CONFIG_HOME=str(home / ".config"), XDG_DATA_HOME=str(home / ".data"))
        self.refused(plugin, level, trusted)
        self.refused(plugin, level, settings)


class SunscreenTable(Sunscreen):
    """The table of its specification has no such list: an error for the plugin, and no violation."""

    def write(self, level, plugin, path):
        return self.run_mortise(
            "run", "-w", self.work, "--level", level, plugin, "act", "--do", "write", "--at", path
        )

    @at_each_level
    def test_an_error_and_no_violation(self, level):
        (self.work / ".git").mkdir(exist_ok=True)
        self.file("ws/sunscreen.yml", "version: 1\n")
        plugin = self.toml(permissions={"workspace_write": True})
        for name in (".envrc", "mortise.toml", "sub.npmrc/.npmrc", ".git/index", "sunscreen.yml"):
            (self.work / name).parent.mkdir(exist_ok=True)
            done = self.write(level, plugin, self.work / name)
            self.assertNotEqual((done.code, "sandbox_violation" in done.err), (9, True), (name, done.err))
            self.assertIn("Permission denied", done.err + done.out, name)
        self.assertEqual((self.work / "sunscreen.yml").read_text(), "version: 1\n")
        self.assertEqual(self.write(level, plugin, self.work / "Makefile").code, 0)


if __name__ == "__main__":
    unittest.main()
