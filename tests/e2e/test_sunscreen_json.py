# SPDX-License-Identifier: Apache-2.0
"""sunscreen-plugin.json: shell scripts as upstream's own tests have them, unchanged, and each way to
answer oddly."""
import json
import os
import unittest

from sunscreen import LEVELS, Sunscreen
from support import LIMIT

# Upstream's example: keeps a copy of its input if it can, and answers with a frame and id 1.
HELLO = r'''cat >/tmp/sunscreen-plugin-stdin.$$ || true
body='{"jsonrpc":"2.0","id":1,"result":{"message":"hello from plugin"}}'
printf 'Content-Length: %s\r\n\r\n%s' "${#body}" "$body"
'''


def answers(text):
    return f"cat >/dev/null\nprintf '%b' '{text}'\n"


def body(result="1", ident="1"):
    return f'{{"jsonrpc":"2.0","id":{ident},"result":{result}}}'


class Wire(Sunscreen):
    """What goes to the plugin, exactly."""

    def told(self, *words, hook=False):
        p = self.sh(
            'cat >"$SUNSCREEN_PLUGIN_SCRATCH/stdin"\nenv >"$SUNSCREEN_PLUGIN_SCRATCH/env"\n'
            'pwd >"$SUNSCREEN_PLUGIN_SCRATCH/cwd"\nprintf \'%s\' \'' + body() + "'\n"
        )
        if hook:
            self.ok("run", "--hook", "post-codama", "-w", self.work, p, *words)
        else:
            self.run_ok(p, *words)
        self.scratch = self.work / ".sunscreen/plugins/hello"
        head, _, text = (self.scratch / "stdin").read_bytes().partition(b"\r\n\r\n")
        self.assertEqual(head, f"Content-Length: {len(text)}".encode())
        return json.loads(text)

    def test_command(self):
        ws = os.path.realpath(self.work)
        self.assertEqual(
            self.told("hello", "Alice", "b c", "--", "--flag"),
            {
                "id": 1,
                "jsonrpc": "2.0",
                "method": "sunscreen.command/run",
                "params": {
                    "args": ["Alice", "b c", "--flag"],
                    "command": "hello",
                    "kind": "app",
                    "plugin": "hello",
                    "scratch": f"{ws}/.sunscreen/plugins/hello",
                    "workspace": ws,
                },
            },
        )

    def test_words_are_verbatim(self):
        self.assertEqual(
            self.told("indexer", "Trades", "--program", "app")["params"]["args"], ["Trades", "--program", "app"]
        )
        self.assertEqual(self.told("scaffold:indexer", "--a=b")["params"]["kind"], "scaffold")

    def test_hook(self):
        told = self.told("--", "x", "--y", hook=True)
        self.assertEqual(
            (told["method"], told["params"]["kind"], told["params"]["command"], told["params"]["args"]),
            ("sunscreen.hook/run", "hook", "post-codama", ["x", "--y"]),
        )
        self.assertNotIn("context", told["params"])

    def test_environment_and_directory(self):
        self.env["SECRET_TOKEN"] = "x"
        self.told("hello")
        env = dict(line.split("=", 1) for line in (self.scratch / "env").read_text().splitlines())
        ws = os.path.realpath(self.work)
        self.assertEqual(
            {k: v for k, v in env.items() if k not in ("HOME", "TMPDIR", "PWD", "OLDPWD", "SHLVL", "_")},
            {
                "PATH": "/usr/bin:/bin",
                "NO_COLOR": "1",
                "SUNSCREEN_WORKSPACE_ROOT": ws,
                "SUNSCREEN_PLUGIN_SCRATCH": f"{ws}/.sunscreen/plugins/hello",
            },
        )
        self.assertEqual((env["HOME"], env["TMPDIR"]), (str(self.scratch), str(self.scratch)))
        self.assertEqual((self.scratch / "cwd").read_text().strip(), os.path.realpath(self.dir / "hello"))


class Answers(Sunscreen):
    def result(self, script):
        done = self.run_ok(self.sh(script), "hello", "--json")
        return done.json["result"]

    def test_hello(self):
        self.assertEqual(self.result(HELLO), {"message": "hello from plugin"})
        self.assertEqual(self.run_ok(self.dir / "hello", "hello").out, '{"message":"hello from plugin"}\n')
        done = self.ok("run", "--hook", "post-codama", "-w", self.work, self.dir / "hello", "--json").json
        self.assertEqual(done["reports"][0]["result"], {"message": "hello from plugin"})
        for level in LEVELS:
            self.assertEqual(self.run_plugin(self.dir / "hello", "hello", "--level", level).code, 0)

    def test_any_result(self):
        for result in ("null", "7", '"text"', "[1,2]", '{"files":[{"path":"a","action":"created"}]}'):
            self.assertEqual(self.result(answers(body(result))), json.loads(result))

    def test_ids_do_not_matter(self):
        for ident in ('"zzz"', "99", "null"):
            self.assertEqual(self.result(answers(body("5", ident))), 5)

    def test_bare_json(self):
        self.assertEqual(self.result(answers(body())), 1)
        self.assertEqual(self.result(answers(body() + r"\n")), 1)
        self.assertEqual(
            self.result(answers(r'{\n  "jsonrpc": "2.0",\n  "id": 1,\n  "result": {\n    "a": 1\n  }\n}\n')),
            {"a": 1},
        )

    def test_frames(self):
        for head in (
            r"Content-Length: 35\r\n\r\n",
            r"content-length: 35\n\n",
            r"X-A: b\r\nContent-Length: 35\r\n\r\n",
        ):
            self.assertEqual(self.result(answers(head + body())), 1)
        self.assertEqual(self.result(answers(r"Content-Length: 35\r\n\r\n" + body() + r"trailing\n")), 1)

    def test_log_lines(self):
        self.assertEqual(self.result(answers(r"starting\n" + r"Content-Length: 35\r\n\r\n" + body())), 1)
        self.assertEqual(self.result(answers(r"info: starting\n" + body() + r"\n")), 1)

    def test_two_lines(self):
        self.assertEqual(self.result(answers(body("1") + r"\n" + body("2") + r"\n")), 1)

    def test_input_never_read(self):
        """Upstream's race: a plugin that does not read must not fail for it."""
        for _ in range(10):
            self.assertEqual(self.result(f"printf '%s' '{body()}'\n"), 1)
        big = "x" * 100000
        p = self.sh(f"exec <&-\nprintf '%s' '{body()}'\nsleep 0.2\n")
        self.run_ok(p, "hello", big)

    def test_lingers(self):
        self.assertEqual(self.result(f"cat >/dev/null\nprintf '%s' '{body()}'\nsleep 0.3\n"), 1)
        p = self.sh(answers(body() + r"\n") + "sleep 600\n")
        done = self.in_time(
            lambda limit: self.run_plugin(p, "hello", "--timeout", limit),
            lambda done: "did not exit after it had answered" in done.err,
        )
        self.assertEqual((done.code, done.err.split(":")[0], len(done.error_lines)), (9, "timeout", 1))

    def test_background_child_does_not_block(self):
        p = self.sh(f"sleep {10 * LIMIT} &\nprintf '%s' '{body()}'\n")
        self.run_ok(p, "hello")

    def test_stdout_closed_early(self):
        self.assertEqual(self.result(f"printf '%s' '{body()}'\nexec >&-\nsleep 0.3\n"), 1)


class Failures(Sunscreen):
    """Whatever goes wrong in the plugin is 9; the kind tells what it was."""

    def test_nonzero(self):
        p = self.sh("cat >/dev/null\necho boom >&2\nexit 23\n")
        done = self.run_fails(9, "crashed", p, "hello")
        self.assertIn("exited with status 23", done.err)
        self.assertIn('last stderr: "boom"', done.err)

    def test_nonzero_after_an_answer(self):
        self.assertIn(
            "after it had answered",
            self.run_fails(9, "crashed", self.sh(answers(body()) + "exit 1\n"), "hello").err,
        )

    def test_error(self):
        p = self.sh(
            answers(
                '{"jsonrpc":"2.0","id":1,"error":{"code":4,"message":"exists","data":{"next_step":"use --force"}}}'
            )
        )
        done = self.run_fails(9, "plugin_error", p, "hello", "--json")
        self.assertEqual(
            (done.json["kind"], done.json["rpc_code"], done.json["exit_code"], done.json["next_step"]),
            ("plugin_error", 4, 9, "use --force"),
        )
        self.assertIn("try: use --force", done.err)

    def test_no_answer(self):
        for text in (
            "",
            "hello\\n",
            "Content-Length: 99\\r\\n\\r\\n{",
            '{"jsonrpc":"2.0"',
            '{"jsonrpc":"1.0","id":"x","result":1}',
        ):
            self.run_fails(9, "protocol", self.sh(answers(text)), "hello")

    def test_stderr_is_silent_on_success(self):
        self.assertEqual(self.run_ok(self.sh("echo chatter >&2\n" + answers(body())), "hello").err, "")

    def test_three_kinds(self):
        kinds = [
            self.run_plugin(self.sh(script), "hello", "--json").json["kind"]
            for script in (
                answers('{"jsonrpc":"2.0","id":1,"error":{"code":9,"message":"m"}}'),
                "cat /etc/shadow >/dev/null\n",
                answers("nothing"),
            )
        ]
        self.assertEqual(kinds, ["plugin_error", "sandbox_violation", "protocol"])

    def test_files_written_are_told_not_judged(self):
        p = self.sh(
            answers('{"jsonrpc":"2.0","id":1,"result":{"summary":"s","files_written":["note","../x"]}}')
        )
        done = self.run_plugin(p, "hello")
        self.assertEqual((done.code, done.out), (0, "s\n  note\n"))
        self.assertIn("leads out of the workspace", done.err)


class Manifest(Sunscreen):
    def test_traversal(self):
        p = self.sh(HELLO, entrypoint=["../hello/plugin.sh"])
        self.run_fails(9, "sandbox_violation", p, "hello")
        p = self.sh(HELLO)
        told = p / "sunscreen-plugin.json"
        told.write_text(
            told.read_text().replace('"name": "hello", "version"', '"name": "../../../TRAVERSED", "version"')
        )
        self.assertIn("TRAVERSED", told.read_text())
        self.run_fails(3, "manifest", p, "hello")
        self.assertFalse((self.dir / "TRAVERSED").exists())

    def test_unknown_key(self):
        self.run_fails(3, "manifest", self.sh(HELLO, surprise=1), "hello")

    def test_ambiguous(self):
        p = self.sh(HELLO, commands=[{"name": "go", "kind": "app"}, {"name": "go", "kind": "scaffold"}])
        self.assertIn("may mean app:go, scaffold:go", self.run_fails(4, "input", p, "go").err)
        self.assertEqual(self.run_plugin(p, "scaffold:go").code, 0)

    def test_no_configuration(self):
        self.assertIn(
            "no configuration", self.run_fails(2, "usage", self.sh(HELLO), "hello", "--config", "a=1").err
        )

    def test_interpreter_from_path(self):
        p = self.sh(answers(body()), entrypoint=["sh", "./plugin.sh"])
        self.run_ok(p, "hello")


class Confined(Sunscreen):
    def write(self, level, place, **manifest):
        p = self.sh(f"echo x >{place} || exit 5\n" + answers(body()), **manifest)
        return self.run_plugin(p, "hello", "--level", level)

    def test_places(self):
        for level in LEVELS:
            with self.subTest(level=level):
                self.assertEqual(self.write(level, '"$SUNSCREEN_WORKSPACE_ROOT/new"').code, 0)
                self.assertEqual(self.write(level, '"$SUNSCREEN_PLUGIN_SCRATCH/new"').code, 0)
                self.assertEqual(self.write(level, '"$TMPDIR/new2"').code, 0)
                done = self.write(level, self.dir / "new")
                self.assertEqual((done.code, done.err.split(":")[0]), (9, "sandbox_violation"))
                self.assertFalse((self.dir / "new").exists())

    def test_scratch_only(self):
        only = {"capabilities": {"filesystem": ["scratch"]}}
        for level in LEVELS:
            with self.subTest(level=level):
                self.assertEqual(self.write(level, '"$SUNSCREEN_PLUGIN_SCRATCH/new"', **only).code, 0)
                self.assertEqual(self.write(level, '"$SUNSCREEN_WORKSPACE_ROOT/other"', **only).code, 9)
                self.assertFalse((self.work / "other").exists())
                p = self.sh('cat "$SUNSCREEN_WORKSPACE_ROOT/note"\n', **only)
                self.assertIn("sandbox_violation", self.run_plugin(p, "hello", "--level", level).err)

    def test_scratch_follows_no_links(self):
        p = self.sh(HELLO)
        (self.dir / "elsewhere").mkdir()
        (self.work / ".sunscreen").symlink_to(self.dir / "elsewhere")
        self.assertIn("links are not followed", self.run_fails(4, "input", p, "hello").err)
        self.assertEqual(list((self.dir / "elsewhere").iterdir()), [])
        (self.work / ".sunscreen").unlink()
        self.run_fails(4, "input", p, "hello", "--set", "plugin.name=../../x")
        self.assertFalse((self.work / "x").exists())

    def test_network_denied(self):
        p = self.sh(
            "/usr/bin/python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 9))'\n"
            + answers(body())
        )
        for level in LEVELS:
            done = self.run_plugin(p, "hello", "--level", level)
            self.assertEqual((done.code, done.err.split(":")[0]), (9, "sandbox_violation"))
            self.assertIn("network", done.err)

    def test_children_are_confined_too(self):
        for level in LEVELS:
            done = self.run_plugin(
                self.sh("cat /etc/shadow >/dev/null\n" + answers(body())), "hello", "--level", level
            )
            self.assertEqual((done.code, done.err.split(":")[0]), (9, "sandbox_violation"))


if __name__ == "__main__":
    unittest.main()
