# SPDX-License-Identifier: Apache-2.0
"""mortise run with plugins that the workspace declares: plugins[] of sunscreen.yml."""
import unittest

from sunscreen import Sunscreen


class Declared(Sunscreen):
    def run_mortise(self, *args, **how):
        """From within the workspace: elsewhere the plugins' directories would be found as such."""
        return super().run_mortise(*args, **{"cwd": self.work, **how})

    def declare(self, *entries):
        """The workspace's file; each entry is a source, or several lines of YAML."""
        self.file(
            "ws/sunscreen.yml",
            "name: app\nplugins:\n"
            + "".join(f"  - {entry}\n" if ":" in entry else f"  - source: {entry}\n" for entry in entries),
        )

    def test_by_source_base_and_name(self):
        self.toml("tools/indexer")
        self.file(
            "tools/indexer/plugin.toml",
            (self.dir / "tools/indexer/plugin.toml").read_text().replace('"tools/indexer"', '"yellow"'),
        )
        self.declare("../tools/indexer/")
        for word in ("../tools/indexer/", "indexer", "yellow"):
            with self.subTest(word=word):
                done = self.ok("run", "--json", word, "echo")
                self.assertEqual(done.json["plugin"], "yellow")

    def test_absolute_source(self):
        plugin = self.toml("p")
        self.declare(str(plugin))
        self.assertEqual(self.run_ok("p", "echo", "--json").json["plugin"], "p")

    def test_what_lies_here_needs_a_slash(self):
        self.toml("p")
        other = self.toml("other/p")
        self.file("other/p/plugin.toml", (other / "plugin.toml").read_text().replace('"other/p"', '"near"'))
        self.declare("../p")
        for word, plugin in (("p", "p"), ("./p", "near")):
            done = self.run_ok(word, "echo", "--json", cwd=self.dir / "other")
            self.assertEqual(done.json["plugin"], plugin)

    def test_several(self):
        self.toml("a/p")
        self.toml("b/p")
        for name in ("a", "b"):
            path = self.dir / name / "p/plugin.toml"
            path.write_text(path.read_text().replace(f'"{name}/p"', f'"{name}"'))
        self.declare("../a/p", "../b/p")
        err = self.run_fails(4, "input", "p", "echo").err
        self.assertIn("2 plugins of", err)
        self.assertIn("type the exact source of one (../a/p, ../b/p)", err)
        self.assertEqual(self.run_ok("../b/p", "echo", "--json").json["plugin"], "b")

    def test_unknown(self):
        self.declare("../p")
        self.assertIn("q: no plugin of", self.run_fails(5, "not_found", "q", "echo").err)
        self.assertIn("is not here (nothing is downloaded)", self.run_fails(5, "not_found", "p", "echo").err)
        self.file("ws/sunscreen.yml", "name: app\n")
        self.assertNotIn("sunscreen.yml", self.run_fails(5, "not_found", "q", "echo").err)

    def test_hook_of_all(self):
        first, second, third = self.toml("first"), self.toml("second"), self.toml("third", hooks=("other",))
        self.declare(f"../{second.name}", f"../{first.name}", f"../{third.name}", "../gone")
        done = self.run_mortise("run", "--hook", "after_build", "-w", self.work, "--json")
        self.assertEqual(done.code, 0)
        self.assertEqual([report["plugin"] for report in done.json["reports"]], ["second", "first"])
        self.assertIn("gone is not here", done.err)
        self.assertIn("third: has no hook after_build", done.err)

    def test_hook_of_none(self):
        self.declare("../gone")
        done = self.run_mortise("run", "--hook", "after_build")
        self.assertEqual(done.code, 4)
        self.assertIn("declares none that is here", done.err)
        self.file("ws/sunscreen.yml", "plugins: []\n")
        self.assertIn(
            "declares none that is here",
            self.fails(4, "unsupported", "run", "--hook", "after_build", "-w", self.work).err,
        )
        self.assertIn(
            "no workspace", self.fails(5, "not_found", "run", "--hook", "after_build", cwd=self.dir).err
        )

    def test_version_is_a_wish(self):
        self.toml("p", version="1.0.0")
        self.declare("{source: ../p, version: v1.0.0}")
        self.assertNotIn("version", self.run_ok("p", "echo").err)
        self.declare("{source: ../p, version: 2.0.0}")
        self.assertIn(
            "p: sunscreen.yml wants version 2.0.0, its manifest says 1.0.0", self.run_plugin("p", "echo").err
        )

    def test_refused(self):
        self.toml("p")
        for entry, text in (
            ("{source: ../p, entrypoint: [x]}", "plugins[0].entrypoint: this cannot replace the manifest"),
            (
                "{source: ../p, capabilities: {network: true}}",
                "plugins[0].capabilities: this cannot replace the manifest",
            ),
            ("{source: ../p, hooks: [x]}", "plugins[0].hooks is not known: use source, version"),
        ):
            with self.subTest(entry=entry):
                self.declare(entry)
                self.assertIn(text, self.run_fails(3, "manifest", "p", "echo").err)
        self.declare("{version: 1.0.0}")
        self.assertIn(
            "plugins[0] must be a mapping with a source",
            self.fails(3, "manifest", "run", "--hook", "after_build", "-w", self.work).err,
        )
        self.file("ws/sunscreen.yml", "plugins: 1\n")
        self.assertIn("plugins must be an array", self.run_fails(3, "manifest", "p", "echo").err)

    def test_a_broken_neighbour_costs_nothing(self):
        self.toml("p")
        self.declare("{source: ../broken, hooks: [x]}", "../p")
        self.run_ok("p", "echo")


if __name__ == "__main__":
    unittest.main()
