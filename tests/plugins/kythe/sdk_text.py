# SPDX-License-Identifier: Apache-2.0
"""sdk_text.c in Python: sdk_text.py ENCODING."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "sdk" / "python"))
from tenon.analyzer import run  # noqa: E402


def analyze(a, unit):
    file = a.vname(unit.inputs[0])
    a.fact(file, "/t", open(unit.inputs[0], "rb").read())
    a.log("seen", unit.inputs[0], 1, 2)
    print("a stray print")


run(analyze, types=["/kythe/index/toy"], encoding=sys.argv[1])
