# SPDX-License-Identifier: Apache-2.0
"""mortise jail --learn and --audit: what a program needs, as a policy under which it runs."""
import json
import os
import shlex
import shutil
import subprocess
import tomllib
import unittest

from levels import LEVELS, NO_GETFD, at_each_level, refused_already
from support import Case, MORTISE, PLUGINS, PYTHON


@unittest.skipUnless("t0" in LEVELS, "this machine has no t0")
class Learn(Case):
    def setUp(self):
        super().setUp()
        self.work = self.dir / "work"
        self.work.mkdir()
        self.env["HOME"] = str(self.dir / "home")

    def learn(self, *words, options=(), code=0):
        """The command line that was learnt, its options, and the table."""
        done = self.run_mortise(
            "jail", "--learn", "--yes", "-o", self.dir / "policy.toml", *options, "--", *words, cwd=self.work
        )
        self.assertEqual(done.code, code, done.err)
        text = (self.dir / "policy.toml").read_text(encoding="utf-8")
        line = text.splitlines()[1].removeprefix("# ")
        self.assertIn(f"learn: it needs: {line}", done.err)
        self.assertTrue(line.startswith("mortise jail "), line)
        return shlex.split(line)[2:], tomllib.loads(text)["sandbox"], text

    def passes(self, words, level):
        """Under what was learnt it ends well, and nothing is denied."""
        done = self.run_mortise("jail", "--level", level, *words, cwd=self.work)
        self.assertEqual((done.code, done.err), (0, ""), done.raw)
        return done.out

    @at_each_level
    def test_python_with_a_configuration(self, level):
        """Three files of one directory become the directory, one stays a file; the workspace is no rule."""
        for n in range(4):
            self.file(f"etc/tool/{n}.toml", str(n))
        self.file("lonely.txt", "x")
        self.file("work/own.txt", "y")
        script = self.file(
            "work/tool.py",
            f"names = [f'{self.dir}/etc/tool/{{n}}.toml' for n in range(4)]\n"
            f"for name in names + ['{self.dir}/lonely.txt', 'own.txt']: print(open(name).read(), end='')\n"
            "open('out.txt', 'w').write('done')\n",
        )
        words, table, _ = self.learn(PYTHON, script, options=["-w", "."])
        self.assertEqual(
            table,
            {
                "workspace": str(self.work),
                "workspace_write": True,
                "read": [f"{self.dir}/etc/tool", f"{self.dir}/lonely.txt"],
            },
        )
        self.assertEqual((self.work / "out.txt").read_text(encoding="utf-8"), "done")
        self.assertEqual(self.passes(words, level), "0123xy")

    @at_each_level
    def test_make_and_a_compiler(self, level):
        self.file("include/x.h", "#define X 0\n")
        self.file("work/Makefile", f"hello: hello.c\n\tcc -I{self.dir}/include -o hello hello.c\n\t./hello\n")
        self.file(
            "work/hello.c", '#include <stdio.h>\n#include "x.h"\nint main(void) { puts("hi"); return X; }\n'
        )
        words, table, _ = self.learn("make", "-s", options=["-w", "."])
        self.assertTrue(table["spawn"] and table["workspace_write"])
        self.assertEqual(table["read"], [f"{self.dir}/include/x.h"])
        (self.work / "hello").unlink()
        self.assertEqual(self.passes(words, level), "hi\n")

    @unittest.skipUnless(shutil.which("git"), "there is no git")
    @at_each_level
    def test_git(self, level):
        """Commits are learnt; what git runs stays closed meanwhile."""
        repository = self.work / level
        for words in (["init", "-q", repository], ["-C", repository, "config", "user.name", "n"]):
            subprocess.run(["git", *words], check=True, env=self.env)
        subprocess.run(["git", "-C", repository, "config", "user.email", "a@b.c"], check=True, env=self.env)
        (repository / "a").write_text("1", encoding="utf-8")
        commit = f"cd {level} && date +%N >> a && git add a && git commit -qm one && git log --format=%s -1"
        words, table, _ = self.learn("sh", "-c", commit, options=["-w", "."])
        self.assertTrue(table["git"] and table["workspace_write"] and table["spawn"])
        self.assertEqual(self.passes(words, level), "one\n")
        hook = repository / ".git/hooks/pre-commit"
        _, table, text = self.learn("sh", "-c", f"echo x > {hook}; true", options=["-w", "."])
        self.assertFalse(hook.exists())
        self.assertIn('#   "git_runs"', text)

    def test_secrets_are_comments(self):
        key = self.file("home/.ssh/id_ed25519", "key")
        env = self.file("app/.env", "TOKEN=1")
        plain = self.file("app/plain", "p")
        _, table, text = self.learn("cat", key, env, plain)
        self.assertEqual(table, {"read": [str(plain)]})
        for path in (key, env):
            self.assertIn(f'#   "{path}",', text)
        self.assertIn("# Not granted: may be secret", text)

    @unittest.skipUnless(os.geteuid() == 0, "only root has files of others")
    def test_files_of_others_are_comments(self):
        path = self.file("theirs.txt", "t")
        os.chown(path, 4321, 4321)
        os.chmod(self.dir, 0o755)
        _, table, text = self.learn("cat", path)
        self.assertEqual(table, {})
        self.assertIn(f"# Not granted: another user's.\n#   \"{path}\",", text)

    def test_nothing_is_written_outside(self):
        out = self.dir / "outside"
        _, table, text = self.learn("sh", "-c", f"echo x > {out}; true", options=["-w", "."])
        self.assertFalse(out.exists())
        self.assertEqual(table, {"workspace": str(self.work)})
        self.assertIn(f"# Not granted: a write outside of the workspace.\n#   \"{out}\",", text)

    def test_no_way_to_write_outside(self):
        """Not by links, moves, handles or descriptors; nor do other processes' files open. All of
        it works bare."""
        script = shutil.copy(PLUGINS / "writes_outside.py", self.work)
        names = {}
        for words in ([], [MORTISE, "jail", "--learn", "--yes", "-w", ".", "--"]):
            out = self.file("out/file", "old")
            done = subprocess.run(
                [*map(str, words), PYTHON, script, str(out)],
                cwd=self.work,
                env=self.env,
                capture_output=True,
                check=False,
            )
            names[bool(words)] = done.stdout.decode().splitlines()
            if words:
                self.assertEqual((done.returncode, names[True]), (0, []), done.stderr)
                self.assertEqual(out.read_text(encoding="utf-8"), "old")
                self.assertEqual(os.listdir(out.parent), ["file"])
            shutil.rmtree(self.dir / "out")
            for name in os.listdir(self.work):
                if name != "writes_outside.py":
                    os.unlink(self.work / name)
        self.assertGreater(len(names[False]), 10)

    def test_no_network_without_the_option(self):
        connect = "import socket\ntry: socket.create_connection(('127.0.0.1', 9))\nexcept OSError as e: print(e.errno)\n"
        script = self.file("work/net.py", connect)
        _, table, text = self.learn(PYTHON, script, options=["-w", "."])
        self.assertNotIn("network", table)
        self.assertIn("only --network grants it.\n# network = true", text)
        self.assertEqual(self.learn(PYTHON, script, options=["-w", ".", "--network"])[1]["network"], True)
        if not NO_GETFD:
            _, table, text = self.learn(PYTHON, script, options=["-w", ".", "--network=127.0.0.1:9"])
            self.assertEqual(table["network"], ["127.0.0.1:9"])

    @unittest.skipIf(refused_already("syscall(248, 0, 0, 0, 0, 0)"), "the container refuses it before the jail")
    def test_what_kills_still_kills(self):
        keyring = "import ctypes\nctypes.CDLL(None).syscall(248, b'user', b'x', b'y', 1, -2)\n"
        script = self.file("work/keys.py", keyring)
        _, table, text = self.learn(PYTHON, script, options=["-w", "."], code=9)
        self.assertIn('# Not granted: no permission allows it.\n#   "keys"', text)

    def test_wide_directories_are_comments(self):
        _, table, text = self.learn("ls", "/", "/etc")
        self.assertEqual(table, {})
        self.assertIn('# Not granted: too much lies in it.\n#   "/",\n#   "/etc",', text)

    def test_what_was_asked_for_stays(self):
        given = self.file("given.txt", "g")
        words, table, _ = self.learn(
            "cat",
            given,
            options=["--read", given, "--limit", "files=64", "--limit", "memory=1G", "-e", "LANG=C"],
        )
        self.assertEqual(table, {"read": [str(given)], "files": 64, "memory": "1G"})
        self.assertIn("LANG=C", words)

    def test_odd_names_do_not_leave_their_comment(self):
        odd = self.file("odd\n[sandbox]\nnetwork = true\n#", "o")
        done = self.run_mortise("jail", "--learn", "--yes", "-o", "policy.toml", "--", "cat", odd)
        self.assertEqual((done.code, done.out), (0, "o"), done.err)
        table = tomllib.loads((self.dir / "policy.toml").read_text(encoding="utf-8"))
        self.assertEqual(table, {"sandbox": {}})

    def test_the_table_is_one_for_plugins(self):
        """mortise.toml of a plugin takes it as it is."""
        data = self.file("data/words.txt", "hello")
        answer = (
            "import json, sys\ncall = json.loads(sys.stdin.readline() or '{\"id\": 1}')\n"
            f"print(json.dumps({{'jsonrpc': '2.0', 'id': call['id'], 'result': open('{data}').read()}}), flush=True)\n"
        )
        script = self.file("plug/main.py", answer)
        _, table, text = self.learn(PYTHON, script)
        self.assertEqual(table, {"read": [str(data)]})
        self.file("plug/mortise.toml", f'[plugin]\ncommand = ["{PYTHON}", "main.py"]\n{text}')
        self.assertEqual(self.ok("call", self.dir / "plug", "echo").out, '"hello"\n')


class Words(Case):
    def test_wrong_together(self):
        for words, text in (
            (["--learn", "--audit"], "cannot be used together"),
            (["--learn", "--level", "t1"], "level t0 only"),
            (["--learn", "--on-denial", "kill"], "leave --on-denial out"),
            (["-o", "x"], "--output needs --learn or --audit"),
            (["--yes"], "--yes needs --learn"),
        ):
            self.assertIn(text, self.fails(125, "usage", "jail", *words, "--", "true").err)

    def test_needs_a_yes(self):
        done = self.run_mortise("jail", "--learn", "--", "touch", "made")
        self.assertEqual(done.code, 125)
        self.assertRegex(done.err, "warning: --learn: touch may read everything that you can read")
        self.assertRegex(done.err, "cancelled: nothing was run: --learn needs your yes")

    @unittest.skipUnless("t0" in LEVELS, "this machine has no t0")
    def test_a_link_is_not_followed(self):
        """The program may have put it there."""
        target = self.file("target", "old")
        link = "import os\nos.symlink('" + str(target) + "', 'policy.toml')\n"
        self.file("work/link.py", link)
        done = self.run_mortise(
            "jail",
            "--learn",
            "--yes",
            "-w",
            ".",
            "-o",
            "policy.toml",
            "--",
            PYTHON,
            "link.py",
            cwd=self.dir / "work",
        )
        self.assertEqual(done.code, 125, done.err)
        self.assertIn("it is a link now", done.err)
        self.assertEqual(target.read_text(encoding="utf-8"), "old")


@unittest.skipUnless(LEVELS, "this machine cannot confine")
class Audit(Case):
    @at_each_level
    def test_it_denies_and_tells(self, level):
        path = self.file("data.txt", "secret")
        done = self.run_mortise("jail", "--audit", "--level", level, "--", "cat", path)
        self.assertEqual((done.code, done.out), (1, ""))
        self.assertIn(f"audit: it needs: mortise jail --read {path} -- cat {path}\n", done.err)
        self.assertEqual(
            tomllib.loads(done.err[done.err.index("[sandbox]") :])["sandbox"], {"read": [str(path)]}
        )

    @at_each_level
    def test_for_machines(self, level):
        """The policy is a record; that of the end is still the last line."""
        path = self.file("data.txt", "secret")
        done = self.run_mortise("jail", "--audit", "--json", "--level", level, "--", "cat", path)
        records = [json.loads(line) for line in done.error_lines if line.startswith("{")]
        self.assertEqual([record["event"] for record in records], ["jail_policy", "jail_end"])
        self.assertEqual(tomllib.loads(records[0]["toml"])["sandbox"]["read"], [str(path)])


if __name__ == "__main__":
    unittest.main()
