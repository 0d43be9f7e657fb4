#!/usr/bin/env python3
from tenon import Plugin

plugin = Plugin("@NAME@", "0.1.0", "Greets people in a chat", dialect="ayiou")


@plugin.command
def hello(name: str = "world") -> str:
    """Greets somebody.

    name: who is greeted
    """
    return f"Hello, {name}!"


if __name__ == "__main__":
    plugin.run()
