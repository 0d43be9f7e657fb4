#!/usr/bin/env python3
import re

from tenon import Plugin

plugin = Plugin("@NAME@", "0.1.0", "Indexes notes", dialect="kythe")


@plugin.analysis("/kythe/index/note")
def analyze(a, unit):
    """A node for each file, and one for each of its titles."""
    for path in unit.inputs:
        file = a.vname(path)
        with open(path, encoding="utf-8") as source:
            text = source.read()
        a.fact(file, "/kythe/node/kind", "file")
        a.fact(file, "/kythe/text", text)
        for title in re.findall(r"(?m)^# (.*)", text):
            node = file._replace(signature=title, language="note")
            a.fact(node, "/kythe/node/kind", "doc")
            a.edge(node, "/kythe/edge/childof", file)


if __name__ == "__main__":
    plugin.run()
