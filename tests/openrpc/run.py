# SPDX-License-Identifier: Apache-2.0
"""Every dialect's OpenRPC document against the meta-schema. `./dev test` has installed the validator, with the
versions of package-lock.json, into BUILD/openrpc; nothing is fetched here."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ["MORTISE_BUILD"]).resolve()
MODULES = pathlib.Path(os.environ.get("MORTISE_OPENRPC", BUILD / "openrpc"))


def mortise(*words):
    return subprocess.run([BUILD / "mortise", *words], check=True, capture_output=True, timeout=300).stdout


def main():
    if not (MODULES / "node_modules" / "ajv").is_dir():
        print("1..0 # SKIP the validator is not installed: ./dev test does that where npm has a registry")
        return 0
    with tempfile.TemporaryDirectory(prefix="mortise-openrpc-") as where:
        files = []
        for dialect in json.loads(mortise("explain", "--json")):
            files.append(pathlib.Path(where, dialect["name"] + ".json"))
            files[-1].write_bytes(mortise("explain", dialect["name"], "--openrpc"))
        return subprocess.run(
            ["node", HERE / "validate.mjs", MODULES, *files], check=False, timeout=300
        ).returncode


sys.exit(main())
