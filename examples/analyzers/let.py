#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A Kythe analyzer for a toy language: "let NAME" defines, "use NAME" refers."""
import re

from tenon.analyzer import VName, run


def analyze(a, unit):
    for path in unit.inputs:
        file = a.vname(path)
        text = open(path, "rb").read()
        a.fact(file, "/kythe/node/kind", "file")
        a.fact(file, "/kythe/text", text)
        for match in re.finditer(rb"(?m)^(let|use) (\w+)", text):
            start, end = match.span(2)
            anchor = file._replace(signature=f"@{start}:{end}", language="let")
            variable = VName(match[2].decode(), file.corpus, "", file.path, "let")
            a.fact(anchor, "/kythe/node/kind", "anchor")
            a.fact(anchor, "/kythe/loc/start", str(start))
            a.fact(anchor, "/kythe/loc/end", str(end))
            if match[1] == b"let":
                a.fact(variable, "/kythe/node/kind", "variable")
            a.edge(anchor, "/kythe/edge/defines/binding" if match[1] == b"let" else "/kythe/edge/ref", variable)


run(analyze, types=["/kythe/index/let"])
