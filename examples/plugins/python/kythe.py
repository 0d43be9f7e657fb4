#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Every file of a record, and its lines as anchors. mortise index X.kzip -- python3 kythe.py
from tenon import Plugin

plugin = Plugin("lines", "1.0.0", "Lines of files")


@plugin.analysis("/kythe/index/c++")
def analyze(a, unit):
    for path in unit.inputs:
        file, start = a.vname(path), 0
        text = open(path, "rb").read()
        a.fact(file, "/kythe/node/kind", "file")
        a.fact(file, "/kythe/text", text)
        for number, line in enumerate(text.splitlines(keepends=True), 1):
            anchor = file._replace(signature="line %d" % number, language="lines")
            for name, value in (("node/kind", "anchor"), ("loc/start", start), ("loc/end", start + len(line))):
                a.fact(anchor, "/kythe/" + name, str(value))
            start += len(line)


plugin.run()
