#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# python3 sunscreen.py --manifest >plugin.toml; mortise run . scaffold:event Swap amount --workspace DIR
import pathlib

from tenon import Done, Plugin, PluginError

plugin = Plugin("events", "1.0.0", "Events", dialect="sunscreen", permissions={"workspace_write": True})


@plugin.command
def event(call, name: str, *fields: str, program: str = "app"):
    """Adds an event of a program."""
    path = pathlib.Path("programs", program, "src/events.rs")
    file = pathlib.Path(call.workspace, path)
    text = file.read_text() if file.exists() else "use anchor_lang::prelude::*;\n"
    if "struct %s " % name in text:
        raise PluginError(4, "%s exists" % name, {"next_step": "pick another name"})
    members = "".join("    pub %s: u64,\n" % field for field in fields)
    file.write_text("%s\n#[event]\npub struct %s {\n%s}\n" % (text, name, members))
    return Done("added the event " + name, [path])


plugin.run()
