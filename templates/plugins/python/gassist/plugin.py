#!/usr/bin/env python3
from tenon import Plugin

plugin = Plugin("@NAME@", "0.1.0", "Says hello", dialect="gassist")


@plugin.command
def hello(name: str, call):
    """Says hello and asks back.

    name: To whom
    """
    call.stream("Hello, ")
    answer = yield f"{name}! How are you?"
    return f"So you are {answer}."


if __name__ == "__main__":
    plugin.run()
