# SPDX-License-Identifier: Apache-2.0
"""plugins/spl-token-2022: mints from a template, extensions, drift, both hooks, --force, every code."""
import itertools
import json
import subprocess
import tomllib
import unittest

from support import BUILD, LIMIT, PYTHON
from sunscreen import LEVELS, RUSTFMT, Sunscreen

PLUGIN = BUILD / "plugins" / "spl-token-2022"
EXTENSIONS = ["close-authority", "metadata-pointer", "permanent-delegate", "transfer-hook"]
IDL = {
    "address": "Fg6PaFpoGXkYsidMpWTK6W2BeZ7FEfcYkg476zPFsLnS",
    "metadata": {"name": "app"},
    "instructions": [{"name": "create_gold"}, {"name": "other"}],
}


class SplToken(Sunscreen):
    def setUp(self):
        super().setUp()
        self.file("ws/sunscreen.yml", "version: 1\nname: my-app\ntoken:\n  decimals: 6\n")
        self.file("ws/programs/app/src/lib.rs", "pub mod token;\n")

    def text(self, path):
        return (self.work / path).read_text(encoding="utf-8")

    def token(self, name="gold"):
        return tomllib.loads(self.text(f"tokens/{name}.toml"))

    def hook(self, name, *words):
        return self.run_mortise("run", "--hook", name, PLUGIN, "-w", self.work, *words)

    def refused(self, code, text, *words):
        done = self.run_fails(code, "plugin_error", PLUGIN, *words)
        self.assertIn(text, done.err)

    def test_manifest_is_what_the_plugin_declares(self):
        """But for the comments: name, entry, permissions, commands with their descriptions."""
        made = subprocess.run(
            [PYTHON, str(PLUGIN / "bin/plugin"), "--manifest", "sunscreen"],
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=True,
        )
        mine, theirs = tomllib.loads((PLUGIN / "plugin.toml").read_text()), tomllib.loads(made.stdout)
        self.assertEqual(mine["commands"], theirs["commands"])
        for key in ("name", "version", "description"):
            self.assertEqual(mine["plugin"][key], theirs["plugin"][key])

    def test_mint(self):
        for level in LEVELS:
            done = self.run_ok(PLUGIN, "scaffold:mint", "Gold", "--level", level, "--force")
            self.assertTrue(
                done.out.startswith(
                    "scaffolded mint Gold\n  programs/app/src/token/gold.rs\n  tokens/gold.toml\n"
                ),
                done.out,
            )
        rust = self.text("programs/app/src/token/gold.rs")
        self.assertIn("pub struct CreateGold<'info>", rust)
        self.assertIn("GOLD_DECIMALS: u8 = 6;", rust)
        self.assertNotIn("extensions::", rust)
        self.assertEqual(self.text("programs/app/src/token/mod.rs"), "pub mod gold;\npub use gold::*;\n")
        told = self.token()
        self.assertEqual((told["program"], told["decimals"], told["extensions"]), ("app", 6, []))

    def test_flags(self):
        self.run_ok(PLUGIN, "mint", "Gold", "--decimals", "2", "--extensions", "transfer-hook,close-authority")
        self.assertEqual(self.token()["decimals"], 2)
        self.assertEqual(self.token()["extensions"], ["close-authority", "transfer-hook"])
        words = ("--extensions=metadata-pointer", "--extensions=close-authority", "--program=app")
        self.run_ok(PLUGIN, "mint", "SilverCoin", *words)
        self.assertEqual(self.token("silver_coin")["extensions"], ["close-authority", "metadata-pointer"])
        self.assertIn("token::gold::create(ctx)", self.text("programs/app/src/token/gold.rs"))

    def test_extension_and_drift(self):
        self.run_ok(PLUGIN, "mint", "Gold")
        done = self.run_ok(
            PLUGIN, "scaffold:extension", "Gold", "permanent-delegate,metadata-pointer", "--json"
        )
        self.assertEqual(done.json["summary"], "added metadata-pointer, permanent-delegate to Gold")
        self.assertIn("extensions::permanent_delegate", self.text("programs/app/src/token/gold.rs"))
        self.assertIn("already", self.run_ok(PLUGIN, "extension", "Gold", "metadata-pointer").out)
        changed = self.text("programs/app/src/token/gold.rs") + "// mine\n"
        self.file("ws/programs/app/src/token/gold.rs", changed)
        self.refused(6, "was changed by hand", "extension", "Gold", "transfer-hook")
        self.assertEqual(self.text("programs/app/src/token/gold.rs"), changed)
        self.run_ok(PLUGIN, "extension", "Gold", "transfer-hook", "--force")
        self.assertNotIn("// mine", self.text("programs/app/src/token/gold.rs"))

    def test_in_the_way(self):
        self.file("ws/tokens/gold.toml", "mine = 1\n")
        self.refused(4, "try: pass --force or pick a different name", "mint", "Gold")
        self.assertFalse((self.work / "programs/app/src/token").exists())
        self.run_ok(PLUGIN, "mint", "Gold", "--force")
        self.assertEqual(self.token()["program"], "app")

    def test_input(self):
        self.refused(1, "name: is missing", "mint")
        self.refused(1, 'decimals: an integer is expected, not "x"', "mint", "A", "--decimals", "x")
        self.refused(4, "0 to 18", "mint", "A", "--decimals", "99")
        self.refused(4, "no name for Rust code", "mint", "2fast")
        self.refused(4, "use some of: close-authority", "mint", "A", "--extensions", "nope")
        self.refused(4, "there is no mint gold", "extension", "Gold", "transfer-hook")
        self.refused(4, "pass --program with one of: app", "mint", "A", "--program", "nope")
        self.file("ws/tokens/gold.toml", "program = 7\n")
        self.refused(3, "tokens/gold.toml: program", "extension", "Gold", "transfer-hook")
        self.file("ws/sunscreen.yml", "version: 1\nname: my-app\ntoken:\n  decimals: many\n")
        self.refused(3, "token.decimals", "mint", "A")

    def test_hooks(self):
        self.assertEqual(self.hook("before_build").out, "0 mints checked\n")
        self.assertEqual(self.hook("after_build").out, "no IDL: nothing to write\n")
        self.run_ok(PLUGIN, "mint", "Gold")
        self.file("ws/target/idl/app.json", json.dumps(IDL))
        self.assertEqual(self.hook("after_build").out, "wrote 1 file\n  tokens/gold.toml\n")
        told = self.token()
        self.assertEqual((told["program_id"], told["instructions"]), (IDL["address"], ["create_gold"]))
        self.assertEqual(self.hook("after_build").out, "up to date\n")
        self.run_ok(PLUGIN, "extension", "Gold", "transfer-hook")
        self.assertEqual(self.token()["program_id"], IDL["address"])  # it is kept
        self.assertEqual(self.hook("before_build").out, "1 mint checked\n")
        self.file("ws/programs/app/src/token/gold.rs", "// mine\n")
        self.assertIn("gold.rs was changed by hand", self.hook("before_build").err)
        (self.work / "programs/app/src/token/gold.rs").unlink()
        gone = self.hook("before_build")
        self.assertEqual(gone.code, 6)
        self.assertIn("try: scaffold:mint gold --force", gone.err)

    @unittest.skipUnless(RUSTFMT, "rustfmt is not installed")
    def test_rust_is_rust(self):
        """With every set of extensions."""
        sets = [list(some) for size in range(5) for some in itertools.combinations(EXTENSIONS, size)]
        chosen = [sets[0], *sets[1:5], sets[-1]]
        for number, some in enumerate(chosen):
            flag = ["--extensions", ",".join(some)] if some else []
            self.run_ok(PLUGIN, "mint", f"Coin{number}", *flag)
        files = sorted(self.work.glob("programs/app/src/token/coin*.rs"))
        self.assertEqual(len(files), len(chosen))
        self.assert_formatted(*files)


if __name__ == "__main__":
    unittest.main()
