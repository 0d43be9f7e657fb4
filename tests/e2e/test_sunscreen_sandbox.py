# SPDX-License-Identifier: Apache-2.0
"""The sandbox table of Sunscreen's specification, row by row: denied with exit 9, and with its toggle
where it has one.

Each row at every level that this machine can do; the catalogue of escapes is in tests/jail.
"""
import json
import os
import socket
import threading
import unittest

from levels import at_each_level
from support import LIMIT, without_color
from sunscreen import Sunscreen


class Table(Sunscreen):
    def does(self, level, plugin, what, at, *more):
        done = self.run_mortise(
            "run", "-w", self.work, "--level", level, *more, plugin, "act", "--do", what, "--at", at
        )
        self.assertEqual((done.code, done.err), (0, ""))
        return done.out.rstrip("\n")

    def violates(self, level, plugin, what, at, rule):
        done = self.run_mortise(
            "run", "-w", self.work, "--level", level, "--json", plugin, "act", "--do", what, "--at", at
        )
        self.assertEqual(done.code, 9, done.err)
        self.assertTrue(done.err.startswith("sandbox_violation: "), done.err)
        told = done.json
        self.assertEqual(
            (told["kind"], told["exit_code"], told["data"]["event"]),
            ("sandbox_violation", 9, "sandbox_violation"),
        )
        self.assertIn(rule, told["message"])

    @at_each_level
    def test_read_workspace_is_always_allowed(self, level):
        self.assertEqual(self.does(level, self.toml(permissions={}), "read", self.work / "note"), "inside")
        self.assertIn("note", self.does(level, self.toml(permissions={}), "list", self.work))

    @at_each_level
    def test_write_workspace_denied(self, level):
        self.violates(
            level, self.toml(permissions={}), "write", self.work / "new", "workspace_write is not granted"
        )
        self.assertFalse((self.work / "new").exists())
        self.violates(
            level,
            self.toml(permissions={"workspace_write": False}),
            "write",
            self.work / "note",
            "workspace_write",
        )
        self.assertEqual((self.work / "note").read_text(), "inside\n")

    @at_each_level
    def test_write_workspace_toggled(self, level):
        self.assertEqual(
            self.does(level, self.toml(permissions={"workspace_write": True}), "write", self.work / level),
            "written",
        )
        self.assertEqual((self.work / level).read_text(), "written\n")

    @at_each_level
    def test_write_elsewhere_is_never_allowed(self, level):
        self.violates(
            level,
            self.toml(permissions={"workspace_write": True}),
            "write",
            self.dir / "new",
            "outside what it may write",
        )
        self.assertFalse((self.dir / "new").exists())

    @at_each_level
    def test_git_hooks_stay_protected(self, level):
        """Our own announced exception."""
        (self.work / ".git/hooks").mkdir(parents=True, exist_ok=True)
        self.violates(level, self.toml(), "write", self.work / ".git/hooks/pre-commit", "protected")

    @at_each_level
    def test_read_outside_denied(self, level):
        secret = self.file("secret", "s\n")
        self.violates(level, self.toml(), "read", secret, "not in declared_paths")
        self.violates(level, self.toml(), "read", f"{self.work}/../secret", "not in declared_paths")
        self.violates(level, self.toml(), "list", self.dir, "not in declared_paths")

    @at_each_level
    def test_read_outside_declared(self, level):
        shared = self.file("shared/data", "d\n")
        p = self.toml(permissions={"declared_paths": [str(self.dir / "shared")]})
        self.assertEqual(self.does(level, p, "read", shared), "d")
        self.violates(level, p, "write", shared, "outside what it may write")
        self.violates(level, p, "read", self.file("secret", "s"), "not in declared_paths")

    @at_each_level
    def test_network_denied(self, level):
        self.violates(level, self.toml(), "connect", "9", "network")

    @at_each_level
    def test_a_look_up_lacks_the_network(self, level):
        self.violates(
            level,
            self.toml(),
            "lookup",
            "host.invalid",
            "look up a name on the network (by /etc/host.conf): network is not granted; "
            "to allow it, set network = true under [permissions] in its plugin.toml",
        )
        script = "getent hosts host.invalid"
        done = self.run_mortise("run", "-w", self.work, "--level", level, self.sh(script), "hello")
        self.assertEqual(done.code, 9)
        self.assertIn("capabilities.network is not granted", done.err)

    @at_each_level
    def test_network_toggled(self, level):
        with socket.create_server(("127.0.0.1", 0)) as server:

            def serve():
                connection, _ = server.accept()
                connection.sendall(b"welcome")
                connection.close()

            thread = threading.Thread(target=serve, daemon=True)
            thread.start()
            p = self.toml(permissions={"network": True})
            self.assertEqual(self.does(level, p, "connect", server.getsockname()[1], "--yes"), "welcome")
            thread.join(LIMIT)

    @at_each_level
    def test_spawn_denied_and_not_toggleable(self, level):
        self.violates(level, self.toml(), "fork", "x", "plugins with a plugin.toml may not start programs")
        self.violates(level, self.toml(), "exec", "/bin/true", "start")
        done = self.run_mortise(
            "run",
            "-w",
            self.work,
            "--level",
            level,
            "--set",
            "sandbox.spawn=true",
            self.toml(),
            "act",
            "--do",
            "fork",
            "--at",
            "x",
        )
        self.assertNotEqual(done.code, 0)

    def test_unconfined_only_if_asked_for(self):
        done = self.run_mortise(
            "run",
            "-w",
            self.work,
            "--unconfined",
            self.toml(),
            "act",
            "--do",
            "read",
            "--at",
            self.file("secret", "s\n"),
        )
        self.assertEqual((done.code, done.out), (0, "s\n"))
        self.assertIn("warning: --unconfined", done.err)


class Approval(Sunscreen):
    """Only the network needs the user's word: once per directory and permission set."""

    def setUp(self):
        super().setUp()
        self.asks = {"network": True, "workspace_write": True, "declared_paths": ["/opt"]}

    def run_claim(self, plugin, *options):
        return self.run_mortise("run", "-w", self.work, *options, plugin, "claim")

    def refused(self, plugin):
        done = self.run_claim(plugin)
        self.assertEqual((done.code, done.out), (4, ""))
        self.assertTrue(done.err.startswith("input: "), done.err)
        return done.err

    def test_without_a_terminal(self):
        p = self.toml(permissions=self.asks)
        text = self.refused(p)
        self.assertIn("asks for the network", text)
        self.assertIn(f"mortise run --yes -w {self.work} {p} claim", text)

    def test_yes_is_remembered(self):
        p = self.toml(permissions=self.asks)
        self.assertEqual(self.run_claim(p, "--yes").code, 0)
        self.assertEqual(self.run_claim(p).code, 0)
        files = list((self.dir / "state/mortise/approvals").glob("*.json"))
        self.assertEqual(len(files), 1)
        told = json.loads(files[0].read_text())
        self.assertEqual(
            (told["name"], told["version"], told["permission"], told["directory"]),
            ("p", "1.0.0", "network", os.path.realpath(p)),
        )
        self.assertEqual(files[0].stat().st_mode & 0o777, 0o600)

    def test_another_set_is_another_question(self):
        p = self.toml(permissions=self.asks)
        self.run_claim(p, "--yes")
        self.toml(permissions=self.asks, version="1.0.1")
        self.refused(p)
        self.toml(permissions={**self.asks, "declared_paths": []})
        self.refused(p)
        self.toml(permissions=self.asks)
        self.assertEqual(self.run_claim(p).code, 0)
        self.refused(self.toml("elsewhere", permissions=self.asks))

    def test_a_damaged_record_grants_nothing(self):
        p = self.toml(permissions=self.asks)
        self.run_claim(p, "--yes")
        for path in (self.dir / "state/mortise/approvals").glob("*.json"):
            path.write_text("{}")
        self.refused(p)

    def test_other_permissions_need_no_word(self):
        self.assertEqual(
            self.run_claim(self.toml(permissions={"workspace_write": True, "declared_paths": ["/opt"]})).code, 0
        )

    def test_the_users_own_word(self):
        self.assertEqual(self.run_claim(self.toml(permissions={}), "--set", "sandbox.network=true").code, 0)
        self.assertEqual(
            self.run_claim(self.toml(permissions=self.asks), "--set", "sandbox.network=false").code, 0
        )

    def test_json_manifests_ask_too(self):
        p = self.sh("printf '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1}'", capabilities={"network": True})
        self.assertIn("asks for the network", self.run_fails(4, "input", p, "hello").err)
        self.assertEqual(self.run_mortise("run", "-y", "-w", self.work, p, "hello").code, 0)

    def test_other_commands_go_without(self):
        p = self.toml(permissions=self.asks)
        done = self.run_mortise("info", "--json", p)
        self.assertEqual((done.code, done.json["confinement"]["policy"]["network"]), (0, False))
        self.assertIn("nobody has granted it", done.err)
        self.run_claim(p, "--yes")
        done = self.run_mortise("info", "--json", p)
        self.assertEqual((done.err, done.json["confinement"]["policy"]["network"]), ("", True))

    def test_the_machine_gets_json(self):
        done = self.run_mortise("run", "-w", self.work, "--json", self.toml(permissions=self.asks), "claim")
        self.assertEqual((done.code, done.json["kind"], done.json["exit_code"]), (4, "input", 4))

    def ask(self, plugin, answer):
        """Runs on a terminal and types the answer when it is asked for. What appeared, and the exit code."""
        done = self.in_terminal("run", "-w", self.work, plugin, "claim", answer=answer)
        return done.code, without_color(done.out), "[y/N]" in done.out

    def test_on_a_terminal(self):
        p = self.toml(permissions=self.asks)
        code, seen, typed = self.ask(p, b"n\n")
        self.assertEqual((code, typed), (4, True))
        for fact in (
            "p 1.0.0",
            "network",
            "send there what it can read",
            f"read {os.path.realpath(self.work)}, and write in it",
            "/opt",
        ):
            self.assertIn(fact, seen)
        self.assertEqual(self.ask(p, b"\n")[0], 4)
        code, seen, _ = self.ask(p, b"yes\n")
        self.assertEqual(code, 0, seen)
        self.assertIn("claimed", seen)
        code, _, typed = self.ask(p, b"")
        self.assertEqual((code, typed), (0, False))

    def test_end_of_input_is_no(self):
        code, seen, _ = self.ask(self.toml(permissions=self.asks), b"\x04")
        self.assertEqual(code, 4, seen)


if __name__ == "__main__":
    unittest.main()
