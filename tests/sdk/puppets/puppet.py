#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Plays the part in the file $PUPPET_PART with the Python SDK (tests/sdk/README.md has the format)."""
import json
import os
import sys

from tenon import Plugin, PluginError

TYPES = {"string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict}


class Part:
    """facts: one word each; declared: [(kind, name, lines)]; scripts: {(kind, name): [acts, …]}."""

    def __init__(self, path):
        self.facts, self.declared, self.scripts = {}, [], {}
        into = None
        with open(path, encoding="utf-8") as file:
            for line in file.read().split("\n"):
                word, _, rest = line.strip(" ").partition(" ")
                if line.startswith("  "):
                    into.append((word, rest))
                elif word in ("declare", "on"):
                    into = []
                    self.place(word, rest, into)
                elif word:
                    self.facts[word] = rest

    def place(self, word, rest, into):
        kind, _, name = rest.partition(" ")
        if word == "declare":
            self.declared.append((kind, name, into))
        else:
            self.scripts.setdefault((kind, name), []).append(into)

    def next(self, kind, name):
        """The acts of the next call; the last ones are used again."""
        left = self.scripts.get((kind, name), [[("return", "null")]])
        return left.pop(0) if len(left) > 1 else left[0]


part = Part(os.environ["PUPPET_PART"])
FACTS = {key: part.facts[key] for key in ("version", "description", "author", "dialect") if key in part.facts}
plugin = Plugin(part.facts["name"], interfaces=part.facts.get("interfaces", "").split(), **FACTS)


def wait(name):
    with open("gate." + name, "rb", buffering=0) as gate:
        gate.read(1)


def fail(rest):
    code, _, more = rest.partition(" ")
    message, end = json.JSONDecoder().raw_decode(more)
    data = more[end:].strip()
    raise PluginError(int(code), message, json.loads(data) if data else None)


def act(word, rest, call):
    if word == "stream":
        call.stream(json.loads(rest))
    elif word == "progress":
        fraction, _, text = rest.partition(" ")
        call.progress(float(fraction), json.loads(text))
    elif word == "log":
        level, _, text = rest.partition(" ")
        call.log(level, json.loads(text))
    elif word == "print":
        print(json.loads(rest), flush=True)
    elif word == "gate":
        wait(rest)
    elif word == "hold":
        wait("hold")
    elif word == "fail":
        fail(rest)
    elif word == "raise":
        raise RuntimeError(json.loads(rest))
    else:
        raise AssertionError("a part has no " + word)


def play(acts, call):
    for word, rest in acts:
        if word == "return":
            return json.loads(rest)
        if word == "echo":
            return call.params
        act(word, rest, call)
    return None


def converse(acts, call):
    for word, rest in acts:
        if word == "ask":
            yield json.loads(rest)
        elif word == "return":
            return json.loads(rest)
        else:
            act(word, rest, call)
    return None


def asks(kind, name):
    return any(word == "ask" for acts in part.scripts.get((kind, name), []) for word, _ in acts)


def function_of(kind, name, lines):
    """A function with the declared parameters as its own, as an author would write it."""
    space = {"part": part, "play": play, "converse": converse, "TYPES": TYPES}
    words = []
    for field in (json.loads(rest) for word, rest in lines if word == "field"):
        hint = "TYPES[%r]" % field["type"] if field["type"] in TYPES else "object"
        if "enum" in field:
            space["Literal"] = __import__("typing").Literal
            hint = "Literal[%s]" % ", ".join(map(repr, field["enum"]))
        default = " = %r" % (field["default"],) if "default" in field else ""
        words.append("%s: %s%s" % (field["name"], hint, default))
    played = "return (yield from converse(%s))" if asks(kind, name) else "return play(%s)"
    body = played % ("part.next(%r, %r), call" % (kind, name))
    head = "call, " + ", ".join(words) if words else "*words, call, **more"  # no fields: takes anything
    exec("def fn(%s):\n    %s" % (head, body), space)
    space["fn"].__doc__ = next((rest for word, rest in lines if word == "about"), "")
    return space["fn"]


def declare_start():
    @plugin.on_start
    def start(call=None):
        for word, rest in part.next("start", ""):
            if word == "log":
                level, _, text = rest.partition(" ")
                plugin.log(level, json.loads(text))
            elif word != "return":
                act(word, rest, call)


def declare_all():
    for kind, name, lines in part.declared:
        fn = function_of(kind, name, lines)
        if kind == "method":
            plugin.method(name)(fn)
        elif kind == "command":
            alias = next((rest.split() for word, rest in lines if word == "alias"), [])
            plugin.command(name, aliases=alias)(fn)
        elif kind == "hook":
            plugin.hook(name)(fn)
        elif kind == "extract":
            facts = part.facts
            plugin.extractor(facts.get("formats", "").split(), facts.get("extensions", "").split())(fn)
        elif kind == "handler":
            plugin.handler(lambda message: play(part.next("matches", ""), None) is not False)(fn)
        elif kind == "analysis":
            declare_analysis([name for one, name, _ in part.declared if one == "analysis"])
            break
    if ("start", "") in part.scripts:
        declare_start()
    if ("stop", "") in part.scripts:
        plugin.on_stop(lambda: play(part.next("stop", ""), None))


def declare_analysis(types):
    @plugin.analysis(*types, encoding=part.facts.get("encoding", "protobuf"))
    def analyze(analyzer, unit):
        for word, rest in part.next("analysis", types[0]):
            if word == "log":
                analyzer.log(json.loads(rest.partition(" ")[2]))
            elif word == "vname":
                analyzer.vname(**json.loads(rest))
            elif word == "fail":
                raise RuntimeError(json.loads(rest.partition(" ")[2]))
            elif word != "return":
                act(word, rest, None)


declare_all()
sys.argv[1:] = []
plugin.run()
