#!/usr/bin/env python3
from tenon import Plugin

plugin = Plugin("@NAME@", "0.1.0", "Greets people", dialect="plain")


@plugin.method
def greet(name: str, greeting: str = "Hello") -> str:
    """Greets somebody.

    name: who is greeted
    greeting: how
    """
    return f"{greeting}, {name}!"


if __name__ == "__main__":
    plugin.run()
