# SPDX-License-Identifier: Apache-2.0
"""Measurements that are programs of their own, with a file of results of their own in build/bench. One that
fails, or for which something is missing, is told in one line; the others go on."""
import os
import pathlib
import subprocess
import sys

from measure.rows import last_line

BENCH = pathlib.Path(__file__).resolve().parent.parent
LIMIT = 7200  # seconds: only to end what hangs
SKIPPED = 77  # a part says with it, and in its last line, that something is missing
ABSENT, FAILED, MISSED = "not measured", "FAILED", "MISSED"  # what can be wrong; only the first is no failure


class Part:
    def __init__(self, what, *words, quick=(), needs=(), path=None, asked=False):
        """quick: its words with --quick; needs: what ./dev sets up for it; asked: only if it is named."""
        self.what, self.words, self.quick, self.needs = what, words, quick, needs
        self.path, self.asked = path, asked


# In this order. What `needs` names is in do_bench of ./dev.
PARTS = {
    "sdk": Part("an echo with each SDK, against one by hand", quick=("--rounds", 3)),
    "store": Part("installed plugins: a list of a thousand, a call by name", quick=("--rounds", 21)),
    "grpc": Part(
        "a call over gRPC, beside HashiCorp's go-plugin", quick=("--rounds", 5), needs=("go", "protoc")
    ),
    "index": Part("driving a Kythe analyzer over our own sources", quick=("--units", 30)),
    "projects": Part(
        "the same over zlib, lua and jq, as Debian has them (network)",
        *("--project", "all"),
        quick=("--rounds", 2),
        path="index",
        asked=True,
    ),
    "call": Part("mortise call, against the plugin by itself", quick=("--rounds", 100)),
    "extract": Part("text out of 500 programs", quick=("--files", 50, "--rounds", 1)),
    "farm": Part(
        "a farm, against a local run (PostgreSQL)",
        quick=("--only", "small", "--units", 20, "--rounds", 1),
        needs=("postgres",),
    ),
    "farm-scale": Part("640 workers and one PostgreSQL", quick=("--seconds", 5), needs=("postgres",)),
    "bot": Part("a chat bot under load, for 30 s", quick=("--seconds", 5), path="../tests/e2e/bot_load.py"),
}


def usual():
    return [name for name, part in PARTS.items() if not part.asked]


def needs(names):
    return sorted({need for name in names for need in PARTS[name].needs})


def command(given, name, out):
    part = PARTS[name]
    words = [
        BENCH / (part.path or name),
        "--out",
        out,
        *part.words,
        *(part.quick if given.quick or given.smoke else ()),
    ]
    if name != "bot":  # it takes the build directory from the environment, and its judgement is no bar
        words[1:1] = [given.build, *(["--check"] if given.check else [])]
    return ["/usr/bin/python3", *map(str, words)]


def measure(given, name, place):
    """None, or what is wrong: (ABSENT | FAILED | MISSED, why)"""
    out, log = place / f"{name}.json", place / f"{name}.log"
    out.unlink(missing_ok=True)  # that of a run before would be taken for this one's
    with log.open("w", encoding="utf-8") as said:
        done = subprocess.run(
            command(given, name, out),
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
            check=False,
            timeout=LIMIT,
            env={**os.environ, "MORTISE_BUILD": str(given.build.resolve())},
        )
    sys.stdout.write(done.stdout)
    sys.stdout.flush()
    if done.returncode == 0:
        return None
    if done.returncode == SKIPPED:
        return ABSENT, last_line(done.stdout).removeprefix(f"{name}: not measured: ")
    if out.exists():
        return (MISSED, "see above") if given.check else (FAILED, "its results are wrong")
    return FAILED, f"{last_line(log.read_text(encoding='utf-8', errors='replace'))} ({log})"
