# SPDX-License-Identifier: Apache-2.0
"""--config, --env, --set, mortise.toml: what reaches the plugin."""
import json
import unittest

from support import Case, ECHO, PLUGINS, PYTHON, YAMS_OK


class Config(Case):
    def applied(self, *words, **how):
        done = self.ok("info", "-d", "yams", "--json", YAMS_OK, *words, **how)
        return done.json["config"]

    def test_forms(self):
        self.file("c.json", '{"a": {"x": 1, "y": 2}, "b": "file"}')
        self.file("c.toml", 'b = "toml"\n[a]\nx = 5\n')
        self.assertEqual(self.applied("--config", "c.json"), {"a": {"x": 1, "y": 2}, "b": "file"})
        self.assertEqual(self.applied("--config", "@c.json"), {"a": {"x": 1, "y": 2}, "b": "file"})
        self.assertEqual(self.applied("--config", "c.toml"), {"a": {"x": 5}, "b": "toml"})
        self.assertEqual(self.applied("--config", '{"n": 1}'), {"n": 1})
        self.assertEqual(
            self.applied("--config", "n=1", "-c", "m=word", "-c", "o:=[1]"), {"n": 1, "m": "word", "o": [1]}
        )
        self.assertEqual(self.applied("--config", "-", stdin=b'{"n": 1}'), {"n": 1})

    def test_later_wins_and_objects_merge(self):
        self.file("c.json", '{"a": {"x": 1, "y": 2}, "b": "file"}')
        self.assertEqual(
            self.applied("-c", "c.json", "-c", "a.x=9", "-c", '{"b": null}'), {"a": {"x": 9, "y": 2}, "b": None}
        )

    def test_over_the_files(self):
        where = self.plugin("yams_toml")
        self.file("yams_toml/mortise.toml", '[config]\na = 1\nb = 2\n')
        self.file("config/mortise/plugins/yams_toml.toml", '[config]\nb = 3\nc = 4\n')
        done = self.ok("info", "--json", where, "-c", "c=5", "--set", "config.d=6")
        self.assertEqual(done.json["config"], {"a": 1, "b": 3, "c": 5, "d": 6})

    def test_wrong(self):
        self.file("bad.json", "{")
        self.file("bad.toml", "a = [\n")
        self.file("list.json", "[1]")
        for word, code, kind, text in (
            ("missing.json", 5, "not_found", "not a file here"),
            ("bad.json", 4, "input", "bad.json is not JSON"),
            ("{bad", 4, "input", "--config is not JSON"),
            ("[1]", 4, "input", "expected a JSON object"),
            ("list.json", 4, "input", "expected a JSON object"),
            ("bad.toml", 3, "manifest", "bad.toml:"),
            (".", 4, "input", "directory"),
            ("missing.toml", 5, "not_found", "missing.toml"),
        ):
            self.assertIn(text, self.fails(code, kind, "info", "-d", "yams", YAMS_OK, "--config", word).err)


class Environment(Case):
    def env_of(self, name, *words, env=None):
        return self.ok("call", ECHO, "env", f'name="{name}"', *words, env=env).json

    def test_inherited_by_default(self):
        self.assertEqual(self.env_of("COLOUR", env={"COLOUR": "red"}), "red")

    def test_given(self):
        self.assertEqual(self.env_of("COLOUR", "--env", "COLOUR=blue=green"), "blue=green")
        self.assertEqual(self.env_of("COLOUR", "-e", "COLOUR=", env={"COLOUR": "red"}), "")

    def test_clean(self):
        self.assertIsNone(self.env_of("COLOUR", "--clean-env", env={"COLOUR": "red"}))
        self.assertEqual(self.env_of("COLOUR", "--clean-env", "--env", "COLOUR", env={"COLOUR": "red"}), "red")
        self.assertEqual(self.env_of("COLOUR", "--inherit-env", env={"COLOUR": "red"}), "red")
        names = self.ok("call", ECHO, "names", "--clean-env", env={"SECRET": "x"}).json
        self.assertIn("PATH", names)
        self.assertNotIn("SECRET", names)


class Settings(Case):
    def test_own_file_in_place_of_a_manifest(self):
        self.file(
            "own/mortise.toml",
            f'[plugin]\nname = "mine"\ncommand = ["{PYTHON}", "{ECHO}"]\n[env]\nCOLOUR = "red"\n'
            '[timeouts]\nhang = "200ms"\n',
        )
        self.assertEqual(self.ok("call", "./own", "env", "name=COLOUR", "--json").json["plugin"], "mine")
        self.assertEqual(self.ok("call", "./own", "env", "name=COLOUR").json, "red")
        self.assertEqual(
            self.ok("call", "./own", "env", "name=COLOUR", "--set", "env.COLOUR=blue").json, "blue"
        )
        self.assertIn("200 ms", self.fails(6, "timeout", "call", "./own", "hang").err)

    def test_timeouts_are_shown(self):
        limits = self.ok(
            "info",
            "-d",
            "yams",
            "--json",
            YAMS_OK,
            "--timeout",
            "extractor.extract=300s",
            "--set",
            "timeouts.plugin.init=7s",
        ).json["timeouts"]
        self.assertEqual((limits["extractor.extract"], limits["plugin.init"]), (300000, 7000))

    def test_wrong(self):
        for setting in ("plugin.frobnicate=1", "nosuch.key=1", "timeouts.x=soon", "limits.frame=many"):
            done = self.run_mortise("call", ECHO, "echo", "--set", setting)
            self.assertIn(done.code, (2, 3), done.err)
            self.assertEqual(len(done.error_lines), 1, done.err)
            self.assertIn(setting.split("=")[0].split(".")[0], done.err)

    def test_strict(self):
        """No "jsonrpc" member: the YAMS host of the field takes it, the specification does not."""
        script = PLUGINS / "loose.py"
        self.assertEqual(
            self.ok("call", "-d", "yams", "x", "--", PYTHON, script).json, {"name": "x", "status": "ok"}
        )
        self.fails(9, "protocol", "call", "--strict", "-d", "yams", "x", "--", PYTHON, script)


class ForeignManifest(Case):
    def test_directory(self):
        where = self.plugin("yams_dir", manifest={"description": "from the manifest"})
        told = self.ok("info", "--json", where).json
        self.assertEqual(
            (told["name"], told["dialect"], told["description"]), ("yams_dir", "yams", "from the manifest")
        )
        self.assertTrue(told["manifest"].endswith("yams_dir/yams-plugin.json"))
        self.assertEqual(told["command"][:2], [PYTHON, str(YAMS_OK)])
        self.assertEqual(json.loads(told["command"][2]), {})


class Gassist(Case):
    """How a G-Assist plugin is launched (the dialect is overridden: only the launch is looked at)."""

    def setUp(self):
        super().setUp()
        self.file(
            "lamp/manifest.json",
            json.dumps(
                {
                    "manifestVersion": 1,
                    "protocol_version": "2.0",
                    "persistent": True,
                    "executable": "plugin.exe",
                    "functions": [{"name": "on", "description": "On"}],
                }
            ),
        )
        self.file("lamp/mortise.toml", '[plugin]\ndialect = "plain"\n')
        self.file("lamp/libs/lamp.py", 'NAME = "lamp"\n')
        self.file("lamp/plugin.py", (PLUGINS / "launched.py").read_text(encoding="utf-8"))

    def told(self, **env):
        return self.ok("call", "--json", self.dir / "lamp", "anything", env=env).json["result"]

    def test_environment(self):
        where = self.dir.resolve()
        told = self.told(PYTHONPATH="/old:/older")
        self.assertEqual(told["path"], f"{where}/lamp/libs:/old:/older")
        self.assertEqual(told["data"], f"{where}/state/mortise/gassist/lamp")
        self.assertEqual((told["there"], told["cwd"], told["lamp"]), (True, f"{where}/lamp", "lamp"))
        self.assertEqual(self.told(PYTHONPATH="")["path"], f"{where}/lamp/libs")

    def test_confined(self):
        """Its scratch directory takes the place of one that it could not reach."""
        if self.run_mortise("doctor").code:
            self.skipTest("nothing can be confined here")
        for level in ("t0", "t1"):
            done = self.run_mortise("call", "--level", level, "--json", self.dir / "lamp", "anything")
            if "jail: " in done.err:
                continue  # this level is not to be had here; test_doctor says why
            told = json.loads(done.out)["result"]
            self.assertEqual((told["there"], told["path"]), (True, f"{self.dir.resolve()}/lamp/libs"))
            self.assertNotIn(str(self.dir), told["data"])

    def test_nothing_is_made_before_it_starts(self):
        self.ok("info", "--no-start", self.dir / "lamp")
        self.assertFalse((self.dir / "state").exists())


if __name__ == "__main__":
    unittest.main()
