#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sdk_analyzer.c in Python."""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "sdk" / "python"))
from tenon.analyzer import VName, run  # noqa: E402
import json  # noqa: E402

HERE = VName("s", "c", "r", "p", "l")


def analyze(a, unit):
    for word in unit.arguments:
        if word == "unit":
            show_unit(a, unit)
        if word == "names":
            for path in unit.inputs * 2:
                name = a.vname(path)
                a.fact(name, "/named", path)
                a.edge(name, "/edge", HERE)
        if word == "log":
            a.log("whole")
            a.log("line", "a.c", 3)
            a.log('line "and column"', "a.c", 3, 7)
        if word == "many":
            for _ in range(100000):
                a.fact(HERE, "/many", "x")
        if word == "print":
            print("stray output", flush=True)
        if word == "fail":
            raise ValueError("as asked")


def show_unit(a, unit):
    for path in unit.inputs:
        a.fact(HERE, "/input", path)
    for word in unit.arguments:
        a.fact(HERE, "/argument", word)
    for name, value in unit.environment.items():
        a.fact(HERE, "/environment", f"{name}={value}")
    a.fact(HERE, "/working_dir", unit.working_dir)
    a.fact(HERE, "/cwd", os.getcwd())
    a.fact(HERE, "/entry_context", unit.entry_context)
    a.fact(HERE, "/output_key", unit.output_key)
    a.fact(HERE, "/details", json.dumps(unit.details, separators=(",", ":")))


run(analyze, ["/kythe/index/toy", "/team/other"], max_analyses=int(sys.argv[1]) if len(sys.argv) > 1 else 0)
