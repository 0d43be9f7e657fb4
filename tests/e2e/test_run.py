# SPDX-License-Identifier: Apache-2.0
"""mortise run, by plugin.toml: words, workspace, configuration, hooks, what is printed, what it ends with."""
import json
import os
import signal
import subprocess
import unittest

from support import ECHO, LIMIT, MORTISE
from sunscreen import Sunscreen


class Words(Sunscreen):
    def told(self, *words):
        params = self.echo(self.toml(), *words)["params"]
        return params["args"], params["flags"]

    def test_flags(self):
        self.assertEqual(self.told("Trades", "--program", "app"), (["Trades"], {"program": "app"}))
        self.assertEqual(self.told("--program=app", "Trades"), (["Trades"], {"program": "app"}))
        self.assertEqual(self.told("Trades", "--force"), (["Trades"], {"force": True}))
        self.assertEqual(self.told("--tag", "a", "--tag=b", "--tag"), ([], {"tag": ["a", "b", True]}))
        self.assertEqual(self.told("--empty="), ([], {"empty": ""}))
        self.assertEqual(self.told("--eq=a=b", "--n", "5"), ([], {"eq": "a=b", "n": "5"}))

    def test_a_word_after_a_flag_is_its_value_unless_it_begins_with_a_dash(self):
        self.assertEqual(self.told("--force", "Trades"), ([], {"force": "Trades"}))
        self.assertEqual(self.told("--force", "--dry", "-"), ([], {"force": True, "dry": "-"}))

    def test_after_dashes_all_is_the_plugins(self):
        self.assertEqual(
            self.told("a", "--force", "--", "b", "--workspace", "x", "-5", "--json"),
            (["a", "b", "-5"], {"force": True, "workspace": "x", "json": True}),
        )

    def test_second_dashes_end_the_flags(self):
        self.assertEqual(
            self.told("--", "--force", "--", "--not-a-flag", "--", "x"),
            (["--not-a-flag", "--", "x"], {"force": True}),
        )

    def test_wrong(self):
        p = self.toml()
        self.assertIn("go after \"--\"", self.run_fails(2, "usage", p, "echo", "-x").err)
        self.assertIn("needs a name", self.run_fails(2, "usage", p, "echo", "--", "--=x").err)
        self.assertIn("name the COMMAND", self.run_fails(2, "usage", p).err)
        self.assertIn(
            "name the COMMAND", self.fails(2, "usage", "run", p).err
        )  # before it looks for a workspace
        self.assertIn("--context", self.run_fails(2, "usage", p, "echo", "--context", "{}").err)
        self.assertIn("PLUGIN", self.fails(2, "usage", "run").err)
        self.assertIn("G-Assist", self.run_fails(2, "usage", p, "echo", "--system-info", "x").err)
        self.assertIn("unknown option --force", self.fails(2, "usage", "run", "--force", p).err)
        self.assertIn("use 'mortise call'", self.fails(2, "usage", "run", ECHO, "x").err)
        self.assertIn("no such file", self.fails(5, "not_found", "run", "./nowhere", "x").err)

    def test_command_names(self):
        p = self.toml()
        self.assertEqual(self.run_ok(p, "scaffold:echo", "--json").json["command"], "scaffold:echo")
        self.assertIn(
            "it has hook:after_build, scaffold:act, ", self.run_fails(4, "unsupported", p, "ecco").err
        )
        self.assertIn("scaffold:act", self.run_fails(4, "unsupported", p, "hook:echo").err)
        both = self.toml("both", commands=("sync",), hooks=("sync",))
        self.assertIn("may mean hook:sync, scaffold:sync", self.run_fails(4, "input", both, "sync").err)


class Workspace(Sunscreen):
    def test_absolute_and_without_links(self):
        p = self.toml()
        (self.dir / "link").symlink_to(self.work)
        done = self.ok("run", p, "echo", "--workspace", "link", "--json")
        self.assertEqual(
            json.loads(done.json["summary"])["params"]["workspace_root"], os.path.realpath(self.work)
        )

    def test_nearest_upwards(self):
        p = self.toml()
        self.file("ws/sunscreen.yml", "version: 1\n")
        inside = self.work / "a" / "b"
        inside.mkdir(parents=True)
        done = self.ok("run", p, "echo", "--json", cwd=inside)
        self.assertEqual(
            json.loads(done.json["summary"])["params"]["workspace_root"], os.path.realpath(self.work)
        )
        self.assertIn("--workspace DIR", self.fails(5, "not_found", "run", p, "echo").err)
        self.fails(5, "not_found", "run", p, "echo", "--workspace", "nowhere")
        self.fails(4, "input", "run", p, "echo", "--workspace", "p/plugin.toml")

    def test_config(self):
        p = self.toml()
        self.assertEqual(self.echo(p)["params"]["config"], {})
        self.file("ws/sunscreen.yml", "version: 1\nproject: {name: my-app}\nids: [9007199254740993]\non: yes\n")
        self.assertEqual(
            self.echo(p)["params"]["config"],
            {"version": 1, "project": {"name": "my-app"}, "ids": [9007199254740993], "on": "yes"},
        )
        self.file("other.yml", "a: 1\n")
        self.file("other.json", '{"a": 2}')
        self.assertEqual(self.echo(p, "--config", "other.yml")["params"]["config"], {"a": 1})
        self.assertEqual(
            self.echo(p, "--config", "other.json", "-c", "b=3")["params"]["config"], {"a": 2, "b": 3}
        )
        self.file("ws/sunscreen.yml", "a: [\n")
        self.assertIn("sunscreen.yml:", self.run_fails(3, "manifest", p, "echo").err)
        self.fails(5, "not_found", "run", p, "echo", "--workspace", self.work, "--config", "nothing.yml")

    def test_environment_and_directory(self):
        told = self.echo(self.toml(), env={"SECRET_TOKEN": "x"})
        self.assertEqual(told["cwd"], os.path.realpath(self.dir / "p"))
        self.assertEqual(told["env"]["SUNSCREEN_WORKSPACE_ROOT"], os.path.realpath(self.work))
        self.assertEqual(told["env"]["HOME"], told["env"]["TMPDIR"])
        self.assertNotIn("SECRET_TOKEN", told["env"])
        self.assertEqual(self.echo(self.dir / "p", "--env", "A=1")["env"]["A"], "1")


class Output(Sunscreen):
    def test_summary_and_files(self):
        self.file("ws/src/a.rs")
        done = self.run_ok(self.toml(), "claim", "./src//x/../a.rs", os.path.realpath(self.work) + "/note")
        self.assertEqual(done.out, "claimed\n  src/a.rs\n  note\n")
        done = self.run_ok(self.toml(), "claim", "note", "--json").json
        self.assertEqual(
            {k: done[k] for k in ("ok", "plugin", "command", "summary", "files_written", "result")},
            {
                "ok": True,
                "plugin": "p",
                "command": "claim",
                "summary": "claimed",
                "files_written": ["note"],
                "result": {"files_written": ["note"], "summary": "claimed"},
            },
        )

    def test_control_bytes_do_not_reach_the_terminal(self):
        done = self.run_ok(self.toml(), "answer", "--result", json.dumps({"summary": "a\x1b[2Jb\nc"}))
        self.assertNotIn("\x1b", done.out)
        self.assertEqual(len(done.out.splitlines()), 1)

    def test_no_summary(self):
        self.assertEqual(self.run_ok(self.toml(), "answer", "--result", "null").out, "p ran answer\n")

    def test_claims_are_verified(self):
        p = self.toml()
        self.file("outside", "x")
        (self.work / "away").symlink_to(self.dir / "outside")
        (self.work / "up").symlink_to(self.dir)
        (self.work / "here").symlink_to("note")
        (self.work / "dir").mkdir()
        for claim, why in (
            ("../outside", "leads out"),
            ("a/../../outside", "leads out"),
            ("/etc/passwd", "outside the workspace"),
            (str(self.work) + "2/x", "outside the workspace"),
            ("away", "a link that leads out"),
            ("up/outside", "a link that leads out"),
            ("nothing.rs", "does not exist"),
            ("dir", "is no file"),
            ("", "is no file"),
            (".", "is no file"),
        ):
            with self.subTest(claim=claim):
                done = self.run_fails(9, "protocol", p, "claim", "--", "--", claim)
                self.assertIn(why, done.err)
        self.assertEqual(self.run_ok(p, "claim", "here").out, "claimed\n  here\n")
        self.assertIn(
            "array of strings",
            self.run_fails(9, "protocol", p, "answer", "--result", '{"files_written":"note"}').err,
        )
        done = self.run_plugin(p, "answer", "--result", '{"files_written":[1]}')
        self.assertEqual((done.code, "array of strings" in done.err), (9, True))

    def test_claims_without_permission(self):
        p = self.toml(permissions={})
        self.assertIn("may not write", self.run_fails(9, "protocol", p, "claim", "note").err)
        self.assertEqual(self.run_ok(p, "claim").out, "claimed\n")

    def test_stderr_is_shown(self):
        done = self.run_plugin(self.toml(), "act", "--do", "stderr", "--at", "half way")
        self.assertEqual((done.code, done.err), (0, "p| half way\n"))

    def test_commands_differ(self):
        p = self.toml()
        self.file("p/bin/commands.json", '{"scaffold": {"echo": "x", "more": "y"}}')
        done = self.run_plugin(p, "claim")
        self.assertEqual((done.code, done.out), (0, "claimed\n"))
        self.assertIn(
            "only plugin.toml has hook:after_build, scaffold:act, scaffold:answer, scaffold:claim", done.err
        )
        self.assertIn("only the plugin has scaffold:more", done.err)


class Ends(Sunscreen):
    def test_codes_pass(self):
        p = self.toml()
        for code in range(1, 10):
            done = self.run_fails(code, "plugin_error", p, "fail", "--code", code, "--message", "no")
            self.assertIn(f"p: no (code {code}, ", done.err)
        for code in (0, 10, 255, -32602, 4000):
            self.run_fails(1, "plugin_error", p, "fail", f"--code={code}")

    def test_next_step(self):
        p = self.toml()
        words = (
            "fail",
            "--code",
            "4",
            "--message",
            "instruction index_trades already exists",
            "--next",
            "pass --force",
        )
        self.assertTrue(self.run_fails(4, "plugin_error", p, *words).err.endswith("; try: pass --force\n"))
        done = self.run_fails(4, "plugin_error", p, *words, "--json").json
        self.assertEqual(
            {k: done[k] for k in ("ok", "kind", "next_step", "exit_code", "rpc_code")},
            {"ok": False, "kind": "plugin_error", "next_step": "pass --force", "exit_code": 4, "rpc_code": 4},
        )

    def test_three_kinds_of_nine(self):
        p = self.toml()
        kinds = [
            self.run_plugin(p, *words, "--json").json["kind"]
            for words in (
                ("fail", "--code", "9"),
                ("act", "--do", "read", "--at", "/etc/shadow"),
                ("claim", "nothing.rs"),
            )
        ]
        self.assertEqual(kinds, ["plugin_error", "sandbox_violation", "protocol"])

    def test_time_limit(self):
        p = self.toml()
        self.assertIn(
            "timeouts.run sets the limit",
            self.run_fails(6, "timeout", p, "act", "--do", "sleep", "--at", "60", "--timeout", "run=200ms").err,
        )
        self.run_fails(6, "timeout", p, "act", "--do", "sleep", "--at", "60", "--timeout", "200ms")

    def test_crash(self):
        self.assertIn(
            "status 3", self.run_fails(7, "crashed", self.toml(), "act", "--do", "exit", "--at", "3").err
        )

    def test_violation_after_the_answer(self):
        self.assertIn(
            "/etc/shadow",
            self.run_fails(
                9, "sandbox_violation", self.toml(), "act", "--do", "read", "--at", "/etc/shadow", "--later"
            ).err,
        )

    def test_interrupt(self):
        words = ["run", "-w", self.work, "--show-wire", self.toml(), "act", "--do", "sleep", "--at", "60"]
        with subprocess.Popen(
            [str(MORTISE), *map(str, words)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.env,
        ) as run:
            while b'"method":"run"' not in run.stderr.readline():
                self.assertIsNone(run.poll())
            run.send_signal(signal.SIGINT)
            out, err = run.communicate(timeout=LIMIT)
        self.assertEqual((run.returncode, out), (130, b""))
        self.assertTrue(err.decode().splitlines()[-1].startswith("cancelled: "), err)

    def test_the_next_run_works(self):
        p = self.toml()
        self.run_fails(9, "sandbox_violation", p, "act", "--do", "fork", "--at", "x")
        self.assertEqual(self.run_ok(p, "claim").out, "claimed\n")


class Hooks(Sunscreen):
    def context(self, *words, plugin=None):
        done = self.ok(
            "run", "--hook", "after_build", plugin or self.toml(), "-w", self.work, "--json", *words
        ).json
        self.assertEqual((done["ok"], done["hook"]), (True, "after_build"))
        params = json.loads(done["reports"][0]["summary"])["params"]
        self.assertEqual(params["name"], "after_build")
        return params["context"]

    def test_context(self):
        self.assertEqual(self.context(), {"workspace_root": os.path.realpath(self.work)})
        self.assertEqual(self.context("--context", '{"more": [1]}')["more"], [1])
        self.assertEqual(
            self.context("--context", '{"workspace_root": "/", "idl": 5}'),
            {"workspace_root": os.path.realpath(self.work), "idl": 5},
        )

    def test_idl(self):
        self.file("ws/target/idl/app.json", '{"name": "app"}')
        self.assertEqual(self.context()["idl"], {"name": "app"})
        self.file("other.json", "{}")
        self.assertEqual(self.context("--idl", self.dir / "other.json")["idl"], {})
        self.file("ws/target/idl/README.md")
        self.assertEqual(self.context()["idl"], {"name": "app"})
        self.file("ws/target/idl/second.json", "{}")
        self.assertNotIn("idl", self.context())
        (self.work / "target/idl/second.json").unlink()
        self.file("ws/target/idl/app.json", "{")
        self.assertIn(
            "app.json is not JSON",
            self.fails(4, "input", "run", "--hook", "after_build", self.toml(), "-w", self.work).err,
        )

    def test_in_order(self):
        first, second = self.toml("first"), self.toml("second")
        done = self.ok("run", "--hook", "after_build", second, first, "-w", self.work, "--json").json
        self.assertEqual([report["plugin"] for report in done["reports"]], ["second", "first"])

    def test_a_failure_ends_it(self):
        bad = self.toml("bad", program="#!/usr/bin/python3\nraise SystemExit(3)\n")
        good = self.toml("good")
        done = self.run_mortise("run", "--hook", "after_build", bad, good, "-w", self.work)
        self.assertEqual((done.code, done.out), (7, ""))
        self.assertIn("not run, because an earlier plugin failed", done.err)
        done = self.run_mortise(
            "run", "--hook", "after_build", "--keep-going", bad, good, "-w", self.work, "--json"
        )
        self.assertEqual(
            (done.code, [r["ok"] for r in done.json["reports"]], done.json["ok"]), (7, [False, True], False)
        )
        self.assertEqual(done.json["reports"][0]["kind"], "crashed")

    def test_who_has_it(self):
        without, with_it = self.toml("without", hooks=("other",)), self.toml("with")
        self.assertIn(
            "no plugin here has the hook",
            self.fails(4, "unsupported", "run", "--hook", "after_build", without, "-w", self.work).err,
        )
        done = self.run_mortise("run", "--hook", "after_build", without, with_it, "-w", self.work)
        self.assertEqual(done.code, 0)
        self.assertIn("has no hook after_build", done.err)

    def test_wrong(self):
        p = self.toml()
        self.assertIn(
            "no flags",
            self.fails(2, "usage", "run", "--hook", "after_build", p, "--force", "-w", self.work).err,
        )
        self.assertIn(
            "--context",
            self.fails(2, "usage", "run", "--hook", "after_build", p, "-w", self.work, "--", "x").err,
        )
        self.assertIn(
            "JSON object",
            self.fails(4, "input", "run", "--hook", "after_build", p, "-w", self.work, "--context", "[]").err,
        )
        self.assertIn(
            "no such hooks",
            self.fails(2, "usage", "run", "--hook", "after_build", p, ECHO, "-w", self.work).err,
        )

    def test_by_name_alone(self):
        self.assertIn("after_build", self.run_ok(self.toml(), "after_build").out)


class Manifest(Sunscreen):
    """The rules of the manifest that a run must hold to; tests/unit/manifest has the rest."""

    def test_entry_stays_inside(self):
        p = self.toml()
        text = (p / "plugin.toml").read_text()
        self.program("elsewhere", "#!/bin/sh\n")
        for entry in ("../elsewhere", "./bin/../../elsewhere", str(self.dir / "elsewhere")):
            self.file("p/plugin.toml", text.replace("./bin/plugin", entry))
            self.run_fails(9, "sandbox_violation", p, "echo")
        self.file("p/plugin.toml", text)
        (p / "bin/plugin").unlink()
        (p / "bin/plugin").symlink_to(self.dir / "elsewhere")
        self.run_fails(9, "sandbox_violation", p, "echo")

    def test_names_that_would_leave_a_path(self):
        p = self.toml()
        text = (p / "plugin.toml").read_text()
        for name in ("../../TRAVERSED", ".hidden", "a/b", ""):
            self.file("p/plugin.toml", text.replace('name = "p"', f'name = "{name}"'))
            self.run_fails(3, "manifest", p, "echo")
        for version in ("1/2", "..", ""):
            self.file("p/plugin.toml", text.replace('"1.0.0"', f'"{version}"'))
            self.run_fails(3, "manifest", p, "echo")

    def test_oddities_are_warnings(self):
        p = self.toml(permissions={"declared_paths": ["/no/such/place"]})
        done = self.run_plugin(p, "claim")
        self.assertEqual((done.code, done.out), (0, "claimed\n"))
        self.assertIn("warning: /no/such/place: there is no such path", done.err)

    def test_spawn_cannot_be_granted(self):
        done = self.run_plugin(self.toml(), "echo", "--set", "sandbox.spawn=true")
        self.assertNotEqual(done.code, 0)
        self.assertIn("spawn", done.err)

    def test_a_second_file_grants_nothing(self):
        p = self.toml(permissions={})
        self.file("p/mortise.toml", "[sandbox]\nworkspace_write = true\n")
        self.assertIn("permissions are those of its manifest", self.run_fails(3, "manifest", p, "echo").err)


if __name__ == "__main__":
    unittest.main()
