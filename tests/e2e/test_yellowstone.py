# SPDX-License-Identifier: Apache-2.0
"""plugins/yellowstone-indexer: the manifest that the specification prints, both scaffolds, the hook,
error 4, --force."""
import json
import re
import subprocess
import tomllib
import unittest

from support import BUILD, LIMIT, PYTHON
from sunscreen import LEVELS, RUSTFMT, Sunscreen

PLUGIN = BUILD / "plugins" / "yellowstone-indexer"
SPECIFIED = """[plugin]
name = "yellowstone-indexer"
version = "0.3.0"
description = "Scaffold a Yellowstone gRPC indexer slice."
entry = "./bin/plugin"

[permissions]
workspace_write = true       # default: false
network = false              # if true, prompts user at install time
declared_paths = []          # extra read-only paths outside workspace

[commands.scaffold]
indexer = "Scaffold a Yellowstone indexer slice"
listener = "Scaffold an event listener"

[commands.hook]
after_build = "Update indexer config when IDL changes"
"""
IDL = {
    "address": "Fg6PaFpoGXkYsidMpWTK6W2BeZ7FEfcYkg476zPFsLnS",
    "metadata": {"name": "app"},
    "events": [{"name": "Swap", "discriminator": [1, 2, 3, 4, 5, 6, 7, 255]}],
}


class Yellowstone(Sunscreen):
    def setUp(self):
        super().setUp()
        self.file("ws/sunscreen.yml", "version: 1\nname: my-app\n")
        self.file("ws/programs/app/src/lib.rs", "pub mod instructions;\n")
        self.file("ws/programs/app/src/instructions/mod.rs", "pub mod initialize;")

    def text(self, path):
        return (self.work / path).read_text(encoding="utf-8")

    def hook(self, *words):
        return self.ok("run", "--hook", "after_build", PLUGIN, "-w", self.work, *words)

    def test_manifest_is_the_specifications(self):
        self.assertEqual((PLUGIN / "plugin.toml").read_text(encoding="utf-8"), SPECIFIED)

    def test_indexer(self):
        for level in LEVELS:
            done = self.run_ok(
                PLUGIN, "scaffold:indexer", "Trades", "--program", "app", "--level", level, "--force"
            )
            self.assertTrue(
                done.out.startswith(
                    "scaffolded indexer Trades\n  programs/app/src/instructions/index_trades.rs\n"
                )
            )
        rust = self.text("programs/app/src/instructions/index_trades.rs")
        self.assertIn("pub struct IndexTrades<'info>", rust)
        self.assertEqual(
            self.text("programs/app/src/instructions/mod.rs"),
            "pub mod initialize;\npub mod index_trades;\npub use index_trades::*;\n",
        )
        self.assertEqual(
            tomllib.loads(self.text("indexers/trades/Cargo.toml"))["package"]["name"], "trades-indexer"
        )
        self.assertEqual(tomllib.loads(self.text("indexers/trades/indexer.toml"))["program"], "app")
        for path in self.work.rglob("*.rs"):
            self.assertNotRegex(path.read_text(encoding="utf-8"), r"@\w+@")

    def test_exists(self):
        self.run_ok(PLUGIN, "indexer", "Trades")
        before = self.text("indexers/trades/src/main.rs")
        self.file("ws/programs/app/src/instructions/index_trades.rs", "// mine\n")
        done = self.run_fails(4, "plugin_error", PLUGIN, "indexer", "Trades")
        self.assertIn("instruction index_trades already exists", done.err)
        self.assertIn("try: pass --force or pick a different name", done.err)
        self.assertEqual(self.text("programs/app/src/instructions/index_trades.rs"), "// mine\n")
        self.run_ok(PLUGIN, "indexer", "Trades", "--force")
        self.assertIn("TradesCheckpoint", self.text("programs/app/src/instructions/index_trades.rs"))
        self.assertEqual(self.text("indexers/trades/src/main.rs"), before)
        self.assertEqual(self.text("programs/app/src/instructions/mod.rs").count("pub mod index_trades;"), 1)

    def test_half_is_not_written(self):
        self.file("ws/indexers/trades/indexer.toml", "mine = 1\n")
        self.run_fails(4, "plugin_error", PLUGIN, "indexer", "Trades")
        self.assertFalse((self.work / "programs/app/src/instructions/index_trades.rs").exists())

    def test_listener(self):
        done = self.run_ok(PLUGIN, "scaffold:listener", "SwapDone", "--json").json
        self.assertEqual(
            done["files_written"],
            [
                "listeners/swap_done/Cargo.toml",
                "listeners/swap_done/src/main.rs",
                "listeners/swap_done/listener.toml",
            ],
        )
        numbers = re.search(
            r"DISCRIMINATOR: \[u8; 8\] = \[(.*)\];", self.text("listeners/swap_done/src/main.rs")
        ).group(1)
        self.assertEqual(len([n for n in numbers.split(", ") if 0 <= int(n) < 256]), 8)

    def test_hook(self):
        self.assertEqual(self.hook().out, "no IDL: nothing to update\n")
        self.run_ok(PLUGIN, "indexer", "Trades")
        self.run_ok(PLUGIN, "listener", "Swap")
        mine = self.text("indexers/trades/indexer.toml").replace("confirmed", "finalized", 1)
        self.file("ws/indexers/trades/indexer.toml", mine)
        self.file("ws/target/idl/app.json", json.dumps(IDL))
        self.assertEqual(
            self.hook().out,
            "updated 2 configurations\n  indexers/trades/indexer.toml\n  listeners/swap/listener.toml\n",
        )
        told = tomllib.loads(self.text("indexers/trades/indexer.toml"))
        self.assertEqual(
            (told["commitment"], told["program_id"], told["events"]),
            ("finalized", IDL["address"], [{"name": "Swap", "discriminator": "01020304050607ff"}]),
        )
        self.assertEqual(self.hook().out, "everything is up to date\n")
        self.assertEqual(
            self.hook("--idl", self.file("other.json", json.dumps({**IDL, "metadata": {"name": "other"}}))).out,
            "everything is up to date\n",
        )

    def test_input(self):
        self.assertIn("name: is missing", self.run_fails(1, "plugin_error", PLUGIN, "indexer").err)
        for words, text in (
            (("indexer", "2fast"), "no name for Rust code"),
            (("indexer", "A", "--program", "nope"), "pass --program with one of: app"),
        ):
            self.assertIn(text, self.run_fails(4, "plugin_error", PLUGIN, *words).err)
        self.file("ws/programs/second/src/lib.rs")
        self.assertIn("which program?", self.run_fails(4, "plugin_error", PLUGIN, "indexer", "A").err)
        for name in ("app", "second"):
            (self.dir / f"ws/programs/{name}/src/lib.rs").unlink()
        done = self.run_fails(4, "plugin_error", PLUGIN, "indexer", "A")
        self.assertTrue(
            done.err.splitlines()[0].endswith("try: make one first: programs/NAME/src/lib.rs"), done.err
        )

    def test_wire(self):
        """Without a host: unknown methods and broken lines are answered, and the next line works."""
        asked = '{"id":1,"method":"nope"}\nnot json\n{"id":2,"method":"run"}\n{"id":3,"method":"commands"}\n'
        done = subprocess.run(
            [PYTHON, str(PLUGIN / "bin/plugin")],
            input=asked,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=True,
        )
        replies = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([r.get("error", {}).get("code") for r in replies], [-32601, -32700, -32602, None])
        self.assertEqual(replies[3]["result"], {k: v for k, v in tomllib.loads(SPECIFIED)["commands"].items()})

    @unittest.skipUnless(RUSTFMT, "rustfmt is not installed")
    def test_rust_is_rust(self):
        self.run_ok(PLUGIN, "indexer", "Trades")
        self.run_ok(PLUGIN, "listener", "Swap")
        for path in (
            "programs/app/src/instructions/index_trades.rs",
            "indexers/trades/src/main.rs",
            "listeners/swap/src/main.rs",
        ):
            self.assert_formatted(self.work / path)


if __name__ == "__main__":
    unittest.main()
