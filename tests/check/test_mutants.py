#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""test_mutants.py DIALECT [--pairs] [CHECK...]: every check of `mortise check` fails for the plugin that is
made for it. A check without a mutant is a fault of this test. With --pairs it fails for no other: then every
mutant is started once for each check, twenty thousand times in all.

The mutants are compiled once, and several of them are checked at a time, because a check that looks whether
nothing comes has to wait.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True
import compiled  # noqa: E402
import rows  # noqa: E402

MORTISE = pathlib.Path(os.environ["MORTISE_BUILD"]) / "mortise"
AT_A_TIME = 2 * (os.cpu_count() or 1)
YAMS = {
    "name": "mutant",
    "version": "1.0.0",
    "interfaces": ["content_extractor_v1"],
    "capabilities": {"content_extraction": {"formats": ["text/plain"], "extensions": [".txt"]}},
}


def mortise(*words):
    done = subprocess.run([MORTISE, *words], capture_output=True, text=True, check=False, timeout=3000)
    return done.returncode, done.stdout, done.stderr


def checks(dialect):
    return [row["id"] for row in json.loads(mortise("check", "--list", "--json", "-d", dialect)[1])["checks"]]


def yams(fault, place):
    manifest = {**YAMS, "entry": {"cmd": compiled.command("mutant", "yams", fault)}}
    if fault == "manifest.name":
        manifest["name"] = "other"
    if fault == "manifest.version":
        manifest["version"] = "2.0.0"
    if fault == "manifest.interfaces":
        manifest["interfaces"] = ["content_extractor_v1", "graph_store_v1"]
    if fault == "manifest.warnings":
        (place / "sunscreen-plugin.json").write_text("{}", encoding="utf-8")
    (place / "yams-plugin.json").write_text(json.dumps(manifest), encoding="utf-8")
    return [str(place)]


def gassist(fault, place):
    manifest = {
        "manifestVersion": 1,
        "name": place.name,
        "version": "1.0.0",
        "description": "d",
        "executable": "plugin.py",
        "persistent": True,
        "protocol_version": "2.0",
        "functions": [{"name": "echo", "description": "d", "parameters": {"type": "object", "properties": {}}}],
    }
    if fault == "manifest.warnings":
        manifest["name"] = "another"
    (place / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    put(place / "plugin.py", "gassist", fault)
    return [str(place)]


def put(path, dialect, fault):
    """A plugin in its own directory: that is all that a confined one may read."""
    path.write_text(
        f"#!{compiled.PYTHON[0]} -IS\nimport sys\n\nsys.path.insert(0, {str(path.parent)!r})\n"
        f"import mutant\n\nmutant.DIALECTS[{dialect!r}]({fault!r}).run()\n",
        encoding="utf-8",
    )
    path.chmod(0o755)
    shutil.copy(compiled.path("mutant"), path.parent)


def sunscreen(fault, place):
    hook = "after_build" if fault != "manifest.warnings" else "after_build = 'h'\n[mortise]\nodd"
    (place / "bin").mkdir()
    put(place / "bin/plugin", "sunscreen", fault)
    (place / "plugin.toml").write_text(
        '[plugin]\nname = "mutant"\nversion = "1.0.0"\ndescription = "d"\nentry = "./bin/plugin"\n'
        f'[permissions]\nworkspace_write = false\n[commands.scaffold]\necho = "d"\n[commands.hook]\n{hook} = "h"\n',
        encoding="utf-8",
    )
    return [str(place)]


def sunscreen_json(fault, place):
    commands = [{"name": "echo", "kind": "app", "summary": "s"}]
    if fault == "manifest.summaries":
        del commands[0]["summary"]
    manifest = {
        "name": "mutant",
        "version": "0.1.0",
        "transport": "stdio-jsonrpc",
        "entrypoint": ["./plugin.py"],
        "capabilities": {"network": False, "filesystem": ["workspace", "scratch"]},
        "commands": commands,
        "hooks": ["post-codama"],
    }
    (place / "sunscreen-plugin.json").write_text(json.dumps(manifest), encoding="utf-8")
    put(place / "plugin.py", "sunscreen-json", fault)
    return [str(place)]


def kythe(fault, place):
    return ["-d", "kythe", "--", *compiled.command("mutant_kythe", fault)]


PLACES = {
    "yams": yams,
    "gassist": gassist,
    "sunscreen": sunscreen,
    "sunscreen-json": sunscreen_json,
    "kythe": kythe,
}
# What --call names, in the words of each dialect.
CALLS = {"sunscreen": "scaffold:echo"}


def target(dialect, fault, place):
    if dialect in PLACES:
        return PLACES[dialect](fault, place)
    return ["-d", dialect, "--", *compiled.command("mutant", dialect, fault)]


def run(dialect, fault, limit, only=()):
    words = ["check", "--json", "--timeout", limit, f"--call={CALLS.get(dialect, 'echo')}"]
    words += [f"--only={ident}" for ident in only]
    with tempfile.TemporaryDirectory() as place:
        code, out, err = mortise(*words, *target(dialect, fault, pathlib.Path(place)))
    assert '"checks"' in out, f"{dialect} {fault}: exit {code}: {err}"
    return {row["id"]: row for row in json.loads(out)["checks"]}


def bad(results):
    return sorted(ident for ident, row in results.items() if row["result"] in ("fail", "warn"))


def allowed(dialect, name):
    together = rows.TOGETHER.get(f"{dialect}.{name}", []) + rows.TOGETHER.get(name, [])
    return {f"{dialect}.{other}" for other in together}


def patient(look):
    """The faults that it sees. What a busy machine has done, it does not see again with more time."""
    return look("1s") and look("10s") and look("40s") and look("300s")


def judge(dialect, ident, limit, only):
    """only: the checks that it is held to; none: all."""
    name = ident.removeprefix(dialect + ".")
    results = run(dialect, name, limit, only)
    found = bad(results)
    faults = []
    if ident not in found:
        faults.append(f"does not fail, but is {results[ident]['result']} ({results[ident]['why']})")
    more = set(found) - allowed(dialect, name) - {ident}
    faults += [f"{other} fails too: {results[other]['why']}" for other in sorted(more)]
    return faults


def judge_good(dialect, limit):
    results = run(dialect, "", limit)
    wrong = [ident for ident, row in results.items() if row["result"] != "pass"]
    return [f"the good plugin: {ident}: {results[ident]['result']}: {results[ident]['why']}" for ident in wrong]


def main():
    words = sys.argv[1:]
    pairs = "--pairs" in words
    dialect, *only = [word for word in words if word != "--pairs"]
    faults = [f"{dialect}: {fault}" for fault in patient(lambda limit: judge_good(dialect, limit))]
    every = checks(dialect)
    held_to = {ident: [] if pairs else rows.asked(dialect, ident, every) for ident in every}
    wanted = [ident for ident in every if not only or ident.removeprefix(dialect + ".") in only]
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        judged = pool.map(
            lambda ident: patient(lambda limit: judge(dialect, ident, limit, held_to[ident])), wanted
        )
        for ident, found in zip(wanted, judged):
            faults += [f"{ident}: {fault}" for fault in found]
    print(*faults, f"{len(faults)} faults", sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
