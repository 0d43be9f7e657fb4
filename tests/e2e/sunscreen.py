# SPDX-License-Identifier: Apache-2.0
"""What the tests of Sunscreen plugins share."""
import json
import os
import pathlib
import shutil
import subprocess

from levels import LEVELS
from support import Case, LIMIT, PLUGINS

# Debian's, where it is: the one of rustup looks into HOME for others.
RUSTFMT = shutil.which("rustfmt", path=f"/usr/bin{os.pathsep}{os.environ.get('PATH', '')}")
PERMISSIONS = {"workspace_write": True}


class Sunscreen(Case):
    def setUp(self):
        super().setUp()
        if not LEVELS:
            self.skipTest("this machine cannot confine")
        self.env.update(XDG_STATE_HOME=str(self.dir / "state"))
        self.work = self.dir / "ws"
        self.work.mkdir()
        self.file("ws/note", "inside\n")

    def toml(
        self,
        name="p",
        permissions=None,
        commands=("echo", "act", "claim", "fail", "answer"),
        hooks=("after_build",),
        program=PLUGINS / "sunscreen.py",
        version="1.0.0",
    ):
        """A directory with plugin.toml and the test plugin, or another program, as its entry."""
        table = "".join(
            f"{key} = {json.dumps(value)}\n"
            for key, value in (PERMISSIONS if permissions is None else permissions).items()
        )
        self.file(
            f"{name}/plugin.toml",
            f'[plugin]\nname = "{name}"\nversion = "{version}"\ndescription = "d"\nentry = "./bin/plugin"\n'
            f"[permissions]\n{table}[commands.scaffold]\n"
            + "".join(f'{c} = "{c}"\n' for c in commands)
            + "[commands.hook]\n"
            + "".join(f'{h} = "{h}"\n' for h in hooks),
        )
        self.program(f"{name}/bin/plugin", program)
        return self.dir / name

    def assert_formatted(self, *files):
        """As rustfmt wants them."""
        done = subprocess.run(
            [RUSTFMT, "--edition", "2021", "--check", *map(str, files)],
            capture_output=True,
            timeout=LIMIT,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stdout.decode() + done.stderr.decode())

    def program(self, name, source):
        path = self.dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(source, pathlib.Path):
            shutil.copy(source, path)
        else:
            path.write_text(source, encoding="utf-8")
        path.chmod(0o755)
        return path

    def sh(self, script, name="hello", **manifest):
        """A directory with sunscreen-plugin.json and a shell script, as upstream's own tests have them."""
        told = {
            "name": name,
            "version": "0.1.0",
            "transport": "stdio-jsonrpc",
            "entrypoint": ["./plugin.sh"],
            "capabilities": {"network": False, "filesystem": ["workspace", "scratch"]},
            "commands": [
                {"name": "hello", "kind": "app", "summary": "s"},
                {"name": "indexer", "kind": "scaffold"},
            ],
            "hooks": ["post-codama"],
            **manifest,
        }
        self.file(f"{name}/sunscreen-plugin.json", json.dumps(told))
        self.program(f"{name}/plugin.sh", "#!/bin/sh\n" + script)
        return self.dir / name

    def run_plugin(self, plugin, *words, **how):
        return self.run_mortise("run", "--workspace", self.work, plugin, *words, **how)

    def run_ok(self, plugin, *words, **how):
        return self.ok("run", "--workspace", self.work, plugin, *words, **how)

    def run_fails(self, code, kind, plugin, *words, **how):
        return self.fails(code, kind, "run", "--workspace", self.work, plugin, *words, **how)

    def echo(self, plugin, *words, **how):
        """What the plugin was told, its environment and its directory."""
        return json.loads(
            self.ok("run", "--json", "--workspace", self.work, plugin, "echo", *words, **how).json["summary"]
        )
