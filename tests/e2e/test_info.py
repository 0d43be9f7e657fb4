# SPDX-License-Identifier: Apache-2.0
"""mortise info: the page and its JSON."""
import json
import pathlib
import shutil
import unittest

from support import Case, ECHO, KG_PAGES, PLUGINS, PYTHON, YAMS_OK, without_color


class Page(Case):
    def page(self, *words):
        return self.ok("info", *words).out

    def test_commands(self):
        """What a plugin of the ayiou kind says of itself in metadata."""
        commands = [{"name": "weather", "description": "查询天气", "aliases": ["天气", "w"]}, {"name": "help"}, 7]
        page = self.ok(
            "info",
            "-d",
            "ayiou",
            "--",
            PYTHON,
            PLUGINS / "ayiou" / "stage.py",
            json.dumps({"commands": commands}),
        ).out
        self.assertIn("\ncommands\n  weather (天气, w): 查询天气\n  help\nstate ", page)

    def test_yams(self):
        page = self.page("-d", "yams", YAMS_OK)
        for text in (
            "yams_ok 1.0.0\n",
            "Counts the bytes",
            "The Mortise tests",
            "content_extractor_v1",
            "not confined",
            "extractor.extract",
            "plugin.shutdown",
        ):
            self.assertIn(text, page)
        self.assertRegex(page, r"(?m)^dialect +yams$")
        self.assertRegex(page, r"(?m)^state +ready \(process \d+\)$")
        self.assertRegex(
            page, r'(?m)^health +healthy: "ok" \(started: true, memory_mb: 12\), answered in \d+ ms$'
        )
        self.assertRegex(page, rf"(?m)^command +.*{YAMS_OK}$")
        self.assertRegex(page, r"(?m)^  plugin\.health +5 s$")
        self.assertNotRegex(page, r"(?m) $")

    def test_capabilities(self):
        page = self.page("-d", "yams", KG_PAGES)
        self.assertIn("capabilities\n  kg_entities\n    rpc_method: ghidra.getEntities\n", page)
        self.assertRegex(page, r"(?m)^interfaces +kg_entity_provider_v1, ghidra_analysis_v1$")

    def test_config_differences_are_marked(self):
        page = self.page("-d", "yams", YAMS_OK, "-c", "project_dir=/tmp/x", "-c", "ignored=1", "-c", "same=2")
        self.assertRegex(page, r"(?m)^  project_dir +/tmp/x +/tmp/x-12345 +\* differs$")
        self.assertRegex(page, r"(?m)^  ignored +1 +- +\* not applied$")
        self.assertRegex(page, r"(?m)^  max_functions +- +100 +\* added by the plugin$")
        self.assertRegex(page, r"(?m)^  same +2 +2$")

    def test_unhealthy(self):
        for word, verdict in (("error", "not healthy"), ("degraded", "healthy")):
            done = self.run_mortise("info", "-d", "yams", YAMS_OK, "-c", f"health={word}")
            self.assertEqual(done.code, 0, done.err)
            self.assertTrue(
                done.err.startswith(f'warning: yams_ok: health: the plugin says "{word}"'), done.err
            )
            self.assertRegex(done.out, rf'(?m)^health +{verdict}: "{word}"')

    def test_the_handshake_names_a_plugin_without_a_manifest(self):
        """A file's name is a guess, a name in mortise.toml is not."""
        where = self.file("plugin.py", pathlib.Path(YAMS_OK).read_bytes())
        self.assertEqual(self.ok("info", "--dialect", "yams", where).out.split()[0], "yams_ok")
        self.assertEqual(self.ok("info", "--json", "--dialect", "yams", where).json["name"], "yams_ok")
        self.assertEqual(
            self.ok("info", "--json", "--dialect", "yams", "--no-start", where).json["name"], "plugin"
        )
        self.assertEqual(
            self.ok("info", "--json", "--dialect", "yams", "-s", "plugin.name=mine", where).json["name"], "mine"
        )
        error = self.run_mortise("call", "--dialect", "yams", where, "nothing").err
        self.assertIn("yams_ok: Method not found", error)
        stage = [PYTHON, PLUGINS / "ayiou" / "stage.py", json.dumps({"name": "said"})]
        self.assertEqual(self.ok("info", "--json", "-d", "ayiou", "--", *stage).json["name"], "said")

    def test_plain(self):
        page = self.page(ECHO)
        self.assertRegex(page, r"(?m)^dialect +plain$")
        self.assertRegex(page, r"(?m)^state +ready")
        self.assertNotIn("health ", page)
        self.assertRegex(self.page("--", PYTHON, ECHO), r"(?m)^state +ready")

    def test_health_as_the_host_asks(self):
        """A plugin written from the specification reads the ping's timestamp; any answer is a good one."""
        done = self.run_mortise("info", "-d", "gassist", PLUGINS / "gassist.py", "--show-wire")
        self.assertEqual(done.code, 0, done.err)
        self.assertRegex(
            done.err, r'(?m)^> \{"jsonrpc":"2.0","id":2,"method":"ping","params":\{"timestamp":\d+\}\}$'
        )
        self.assertRegex(done.out, r"(?m)^health +healthy \(timestamp: \d+\), answered in \d+ ms$")
        told = self.ok("info", "-d", "gassist", "--json", PLUGINS / "gassist.py").json
        self.assertEqual((told["health"]["healthy"], told["health"]["status"]), (True, None))

    def test_capabilities_as_a_list(self):
        eager = self.file(
            "eager.py",
            (PLUGINS / "gassist.py")
            .read_text()
            .replace('"commands":', '"capabilities": ["streaming", "x"], "commands":'),
        )
        self.assertRegex(self.page("-d", "gassist", eager), r"(?m)^capabilities +streaming, x$")

    def test_no_start(self):
        where = self.plugin(
            "quiet", journal=str(self.dir / "journal"), manifest={"interfaces": ["content_extractor_v1"]}
        )
        page = self.page("--no-start", where)
        self.assertRegex(page, r"(?m)^state +stopped$")
        self.assertRegex(page, r"(?m)^interfaces +content_extractor_v1$")
        self.assertRegex(page, r"(?m)^manifest +.*yams-plugin.json$")
        self.assertFalse((self.dir / "journal").exists())

    def test_actions(self):
        """What a manifest lists, with the parameters that key=value is typed for."""
        where = self.dir / "lamp"
        where.mkdir()
        shutil.copy(ECHO, where / "plugin.py")
        (where / "mortise.toml").write_text('[plugin]\ndialect = "plain"\n')
        (where / "manifest.json").write_text(
            json.dumps(
                {
                    "manifestVersion": 1,
                    "protocol_version": "2.0",
                    "persistent": False,
                    "executable": "plugin.exe",
                    "functions": [
                        {
                            "name": "dim",
                            "description": "Dims it",
                            "required": ["level"],
                            "properties": {
                                "level": {"type": "number", "description": "0 to 100"},
                                "room": {"type": "string"},
                            },
                        },
                        {"name": "off", "description": "Switches it off"},
                    ],
                }
            )
        )
        page = self.page("--no-start", where)
        self.assertIn(
            "actions\n  dim: Dims it\n    level (number, required): 0 to 100\n    room (string)\n  off: Switches it off\n",
            page,
        )
        self.assertRegex(page, r"(?m)^command +/.*/lamp/plugin\.py$")
        told = self.ok("info", "--no-start", "--json", where).json
        self.assertEqual([a["name"] for a in told["actions"]], ["dim", "off"])
        self.assertEqual(told["actions"][0]["parameters"]["required"], ["level"])

    def test_color(self):
        done = self.in_terminal("info", "-d", "yams", YAMS_OK)
        self.assertIn("\x1b[32mhealthy\x1b[0m", done.out)
        self.assertIn("yams_ok 1.0.0", without_color(done.out))


class Json(Case):
    def test_members(self):
        told = self.ok("info", "-d", "yams", "--json", YAMS_OK, "-c", "project_dir=/tmp/x").json
        for member in (
            "name version description dialect state pid command cwd manifest identity interfaces capabilities "
            "health config config_applied init timeouts confinement counters warnings last_error last_stderr"
        ).split():
            self.assertIn(member, told)
        self.assertEqual(told["identity"]["author"], "The Mortise tests")
        self.assertEqual(told["config_applied"], {"project_dir": "/tmp/x-12345", "max_functions": 100})
        self.assertEqual((told["health"]["healthy"], told["health"]["status"]), (True, "ok"))
        self.assertEqual(told["health"]["result"]["memory_mb"], 12)
        self.assertEqual((told["confinement"]["level"], told["confinement"]["rung"]), ("guarded", "subreaper"))


class Failures(Case):
    def test_ends_at_start(self):
        where = self.plugin("dead", ready=False)
        done = self.run_mortise("info", where)
        self.assertEqual((done.code, len(done.error_lines)), (7, 1), done.err)
        self.assertTrue(done.err.startswith("crashed: dead: "), done.err)
        self.assertIn("numpy", done.err)
        self.assertRegex(done.out, r"(?m)^dead 1\.0\.0$")
        self.assertEqual(self.fails(7, "crashed", "info", "--json", where).json["kind"], "crashed")

    def test_not_a_plugin(self):
        self.fails(5, "not_found", "info", "nothing")
        done = self.run_mortise("info", "--", "no-such-program")
        self.assertEqual((done.code, len(done.error_lines)), (5, 1), done.err)
        self.assertRegex(done.out, r"(?m)^state +failed$")
        (self.dir / "empty").mkdir()
        self.fails(3, "manifest", "info", "./empty")

    def test_silent_handshake(self):
        words = ["info", "-d", "yams", "--timeout", "handshake.manifest=300ms", "--", "/bin/cat"]
        done = self.run_mortise(*words)
        self.assertNotEqual(done.code, 0)
        self.assertEqual(len(done.error_lines), 1, done.err)
        done = self.run_mortise(
            "info", "-d", "yams", "-t", "handshake.manifest=300ms", "--", "/bin/sleep", "60"
        )
        self.assertEqual((done.code, len(done.error_lines)), (6, 1), done.err)
        self.assertIn("handshake.manifest", done.err)

    def test_a_start_that_fails_is_told_by_its_cause(self):
        """Where there is no health method to ask, too: a client that does not greet, one process per call."""
        done = self.run_mortise("info", "-d", "kythe", "-t", "init=300ms", "--", "/bin/cat")
        self.assertEqual((done.code, len(done.error_lines)), (6, 1), done.err)
        self.assertTrue(done.err.startswith('timeout: cat: no "init" within 300 ms of its start'), done.err)
        self.assertRegex(done.out, r"(?m)^state +stopped")
        self.file(
            "once/plugin.toml",
            '[plugin]\nname = "once"\nversion = "1.0.0"\nentry = "./run"\n[commands.scaffold]\nx = "X"\n',
        )
        self.file("once/run", "#!/bin/sh\necho no Rust here >&2\nexit 3\n").chmod(0o755)
        done = self.run_mortise("info", "./once")
        self.assertEqual(
            (done.code, done.error_lines[-1]),
            (7, 'crashed: once: exited with status 3 before it answered; last stderr: "no Rust here"'),
            done.err,
        )

    def test_no_health_method(self):
        page = self.ok("info", "-d", "yams", PLUGINS / "yams_few.py").out
        self.assertRegex(page, r"(?m)^state +ready")
        self.assertRegex(page, r"(?m)^health +unknown: .*-32601")


class Unlisted(Case):
    def test_plain_says_where_a_list_could_come_from(self):
        self.assertRegex(
            self.ok("info", ECHO).out, r"(?m)^methods +not known: plain has no list, .*rpc\.discover"
        )


if __name__ == "__main__":
    unittest.main()
