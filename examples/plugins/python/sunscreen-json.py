#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# python3 sunscreen-json.py --manifest >sunscreen-plugin.json; mortise run . app:size --workspace DIR
import pathlib

from tenon import Plugin

plugin = Plugin("size", "1.0.0", "How much code there is", dialect="sunscreen-json")


@plugin.command
def size(call, ending: str = ".rs"):
    """Lines of the workspace's sources."""
    files = sorted(pathlib.Path(call.workspace).rglob("*" + ending))
    counts = {path.relative_to(call.workspace): path.read_text().count("\n") for path in files}
    return {"summary": "%d lines in %d files" % (sum(counts.values()), len(counts)), "files": len(counts)}


@plugin.hook("post-codama")
def after(call):
    return size(call, ".ts")


plugin.run()
