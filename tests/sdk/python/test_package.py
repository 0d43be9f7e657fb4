#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The wheels and the source archive: installed without a network, and what pip builds from the sources."""
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
import unittest
import zipfile

from support import BUILD, Case, ROOT, SDK

sys.path.append(str(ROOT / "tests/e2e"))
from tier import again  # noqa: E402

PACKED = BUILD / "sdk" / "python"
PLUGIN = """
    import tenon, yams_sdk, gassist_sdk
    plugin = tenon.Plugin("here", dialect="plain")
    plugin.method("where")(lambda: tenon.__file__)
    plugin.run()
"""


def clean():
    """An environment in which only what is installed is found."""
    return {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PIP_INDEX_URL")}


def contents(wheel):
    """The files of a wheel, without what says who made it."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if ".dist-info/" not in name}


class Package(Case):
    def run_quietly(self, *command, **options):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300, **options)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_versions_agree(self):
        version = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text()).group(1)
        for path in (SDK / "pyproject.toml", SDK / "compat/pyproject.toml"):
            self.assertEqual(tomllib.loads(path.read_text())["project"]["version"], version)
        self.assertIn(f'__version__ = "{version}"', (SDK / "tenon/__init__.py").read_text())

    def test_every_module_is_packed(self):
        have = {str(path.relative_to(SDK)) for path in (SDK / "tenon").rglob("*.py")} | {"tenon/py.typed"}
        self.assertEqual(set(contents(*PACKED.glob("tenon-*.whl"))), have)

    def test_installed_without_a_network(self):
        if importlib.util.find_spec("pip") is None:
            self.skipTest("needs python3-pip")
        # Without a pip of its own: to put one there takes longer than all the rest.
        self.run_quietly("/usr/bin/python3", "-m", "venv", "--without-pip", self.dir / "v", env=clean())
        pip = ["/usr/bin/python3", "-m", "pip", "--python", self.dir / "v/bin/python", "install"]
        self.run_quietly(*pip, "--no-index", "--find-links", PACKED, "tenon[compat]", env=clean())
        path = self.write(PLUGIN)
        said = self.run_quietly(
            self.dir / "v/bin/python", path, input='{"id":1,"method":"where"}\n', env=clean(), cwd=self.dir
        )
        self.assertIn(str(self.dir / "v"), said)

    @again("what pip makes of it; the package itself is tried beside it")
    def test_pip_builds_the_same(self):
        missing = [name for name in ("pip", "setuptools", "wheel") if importlib.util.find_spec(name) is None]
        if missing:
            self.skipTest("needs python3-" + ", python3-".join(missing))
        (packed,) = PACKED.glob("tenon-*.tar.gz")
        self.run_quietly("tar", "-xf", packed, "-C", self.dir)
        shutil.copytree(SDK / "compat", self.dir / "compat", ignore=shutil.ignore_patterns("__pycache__"))
        build = [sys.executable, "-m", "pip", "wheel", "--no-index", "--no-build-isolation", "--no-deps"]
        for source, name in ((next(self.dir.glob("tenon-*")), "tenon"), (self.dir / "compat", "tenon_compat")):
            self.run_quietly(*build, "-w", self.dir / "made", source, env=clean())
            (made,) = (self.dir / "made").glob(name + "-*.whl")
            (ours,) = PACKED.glob(name + "-*.whl")
            self.assertEqual(contents(made), contents(ours))
            with zipfile.ZipFile(made) as archive:
                info = [n for n in archive.namelist() if n.endswith("METADATA")][0]
                theirs = archive.read(info).decode().splitlines()
            with zipfile.ZipFile(ours) as archive:
                mine = archive.read(info).decode().splitlines()
            wanted = ("Name", "Version", "Summary", "Requires-Python")
            pick = lambda lines: sorted(line for line in lines if line.split(":")[0] in wanted)
            self.assertEqual(pick(theirs), pick(mine))


class Page(unittest.TestCase):
    def test_the_reference_is_up_to_date(self):
        done = subprocess.run([ROOT / "tools/python-reference", "--check"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)


class Start(unittest.TestCase):
    def test_what_is_imported(self):
        """Modules that cost more than the library itself; bench/README.md has the time of a start."""
        heavy = "asyncio, inspect, dataclasses, typing, threading, subprocess, logging, traceback, tempfile"
        code = (
            "import sys; before = set(sys.modules); from tenon import Plugin; from tenon import serve, wire; "
        )
        code += "print(sorted((set(sys.modules) - before) & set(%r.split(', '))))" % heavy
        done = subprocess.run(
            [sys.executable, "-S", "-c", code],
            capture_output=True,
            text=True,
            env=dict(clean(), PYTHONPATH=str(SDK)),
        )
        self.assertEqual(done.stdout.strip(), "[]", done.stderr)


if __name__ == "__main__":
    unittest.main()
