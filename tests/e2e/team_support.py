# SPDX-License-Identifier: Apache-2.0
"""Plugins that say their version, and registries with them."""
import json

from support import Case

TOML = """
[plugin]
name = "{name}"
version = "{version}"
description = "Says its version"
dialect = "plain"
command = ["./run.py"]
[sandbox]
level = "auto"
{more}
"""
SAYS = """#!/usr/bin/python3
import json, sys
for line in sys.stdin:
    print(json.dumps({{"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": "{version}"}}), flush=True)
"""


class TeamCase(Case):
    def source(self, version="1.0.0", name="greeter", more=""):
        self.file(f"src/{name}/mortise.toml", TOML.format(name=name, version=version, more=more))
        self.file(f"src/{name}/run.py", SAYS.format(version=version)).chmod(0o755)
        return self.dir / "src" / name

    def bundle(self, version="1.0.0", name="greeter", more="", team="team", sign=()):
        (self.dir / team).mkdir(parents=True, exist_ok=True)
        path = self.dir / team / f"{name}-{version}.tar.zst"
        self.ok("bundle", self.source(version, name, more), "-o", path, *sign)
        return path

    def registry(self, *versions, team="team", sign=(), **how):
        for version in versions:
            self.bundle(version, team=team, sign=sign, **how)
        self.ok("registry", "update", self.dir / team, *sign)
        return self.dir / team

    def index(self, team="team"):
        return json.loads((self.dir / team / "mortise-index.json").read_bytes())

    def put_index(self, index, team="team"):
        return self.file(f"{team}/mortise-index.json", index if isinstance(index, bytes) else json.dumps(index))

    def key(self, name="k.pem", trust=None):
        self.ok("key", "new", self.dir / name)
        if trust:
            self.ok("trust", "add", self.dir / f"{name}.pub", "--as", trust)
        return ("--sign", self.dir / name)

    def done(self, *args, **how):
        """It works; what it says is on stdout and stderr."""
        done = self.run_mortise(*args, **how)
        self.assertEqual(done.code, 0, done.err)
        return done

    def refused(self, *args, code=4, **how):
        """One line at the end says why, and nothing was installed or changed: that line."""
        before = self.ok("list", "--all", "--json").json["plugins"]
        done = self.run_mortise(*args, **how)
        self.assertEqual(done.code, code, done.err)
        self.assertEqual(self.ok("list", "--all", "--json").json["plugins"], before)
        return done.error_lines[-1]

    def listed(self, *options):
        return [(row["name"], row["version"]) for row in self.ok("list", "--json", *options).json["plugins"]]
