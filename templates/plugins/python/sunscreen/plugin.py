#!/usr/bin/env python3
import pathlib

from tenon import Done, Plugin

plugin = Plugin("@NAME@", "0.1.0", "Greets in files", dialect="sunscreen")


@plugin.command("scaffold:hello")
def hello(name: str, call) -> Done:
    """Writes a greeting

    name: who is greeted
    """
    file = f"hello-{name.lower()}.txt"
    pathlib.Path(call.workspace, file).write_text(f"Hello, {name}!\n")
    return Done(f"greeted {name}", [file])


if __name__ == "__main__":
    plugin.run()
