# SPDX-License-Identifier: Apache-2.0
"""The Node package as npm sees it: its tarball, its types, its version."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ["MORTISE_BUILD"]).resolve()
sys.path.append(str(ROOT / "tests/e2e"))
from tier import again  # noqa: E402

PACKAGE = ROOT / "sdk/node"
TYPES = ROOT / "tests/sdk/node/types"
MODULES = pathlib.Path(os.environ.get("MORTISE_TYPESCRIPT", BUILD / "typescript")) / "node_modules"
LIMIT = 300  # seconds: only to end what hangs
GREETER = """
import { Plugin } from "tenon";
const plugin = new Plugin({ name: "greeter", version: "1.0.0" });
plugin.method("greet", ({ name }) => `Hello ${name}`);
plugin.run(import.meta);
"""


# npm asks nobody, not even whether there is a newer one.
NOWHERE = {"npm_config_registry": "http://127.0.0.1:9/", "npm_config_update_notifier": "false"}


def run(*words, **how):
    done = subprocess.run(
        [str(word) for word in words],
        env={**os.environ, **NOWHERE},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
        **how,
    )
    if done.returncode:
        raise AssertionError(f"{words}: {done.stdout}{done.stderr}")
    return done.stdout


class Package(unittest.TestCase):
    def setUp(self):
        where = tempfile.TemporaryDirectory(prefix="mortise-npm-")
        self.addCleanup(where.cleanup)
        self.dir = pathlib.Path(where.name)
        self.about = json.loads((PACKAGE / "package.json").read_text())

    def packed(self):
        """The tarball, and the files in it."""
        tarball = self.dir / "tenon.tgz"
        run(PACKAGE / "pack", tarball)
        return tarball, run("tar", "tzf", tarball).split()

    def test_version_is_that_of_the_project(self):
        version = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text())[1]
        self.assertEqual(self.about["version"], version)
        self.assertTrue((BUILD / f"sdk/node/tenon-{version}.tgz").is_file())

    def test_no_dependencies(self):
        kinds = [key for key in self.about if "ependencies" in key]
        self.assertEqual(kinds, ["peerDependencies", "peerDependenciesMeta"])
        optional = {name for name, about in self.about[kinds[1]].items() if about == {"optional": True}}
        self.assertEqual(set(self.about[kinds[0]]), optional)

    def test_every_file_is_in_it_and_known_to_the_build(self):
        sources = {str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*") if path.is_file()}
        shipped = {name[len("package/") :] for name in self.packed()[1]}
        self.assertEqual(sources - shipped, {"meson.build", "pack"})
        listed = set(re.findall(r"^  '([^']+)',$", (PACKAGE / "meson.build").read_text(), re.M))
        self.assertEqual(listed, shipped)

    def test_the_same_bytes_every_time(self):
        first = self.packed()[0].read_bytes()
        self.assertEqual(first, self.packed()[0].read_bytes())

    @unittest.skipUnless(shutil.which("npm"), "npm is not installed")
    def test_as_npm_packs_it(self):
        told = json.loads(run("npm", "pack", "--dry-run", "--json", cwd=PACKAGE))
        theirs = {"package/" + file["path"] for file in told[0]["files"]} - {"package/pack"}
        self.assertEqual(set(self.packed()[1]), theirs)

    @unittest.skipUnless(shutil.which("npm"), "npm is not installed")
    def test_installs_without_a_network(self):
        tarball = self.packed()[0]
        project = self.dir / "project"
        project.mkdir()
        (project / "package.json").write_text('{"name":"project","private":true}')
        (project / "greeter.mjs").write_text(GREETER)
        cache = ["--cache", self.dir / "c"]
        run("npm", "install", "--no-audit", "--no-fund", *cache, tarball, cwd=project)
        said = run(BUILD / "mortise", "call", "greet", "name=Ada", "--", "node", "greeter.mjs", cwd=project)
        self.assertEqual(said, '"Hello Ada"\n')

    @again("ten seconds of the TypeScript compiler")
    @unittest.skipUnless(
        MODULES.is_dir(), "TypeScript is not installed: ./dev test does that where npm has a registry"
    )
    def test_types(self):
        """Inferred as declared.mts says; strictly, from the installed package."""
        run(PACKAGE / "pack", self.dir / "node_modules/tenon", self.dir / "stamp")
        os.symlink(MODULES / "@types", self.dir / "node_modules/@types")
        for name in ("declared.mts", "tsconfig.json"):
            shutil.copy(TYPES / name, self.dir)
        run("node", MODULES / "typescript/bin/tsc", "-p", self.dir)


if __name__ == "__main__":
    unittest.main()
