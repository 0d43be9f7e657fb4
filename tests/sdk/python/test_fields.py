#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""From hints and docstrings to checks, words and schemas; and tenon.testing, which authors test with."""
import enum
import functools
import os
import tempfile
import unittest
from typing import Any, Dict, List, Literal, Optional, Union

import support
from tenon import Done, Plugin, PluginError, Reply
from tenon.fields import Function, read_docstring
from tenon.testing import analyze_inside, run_inside


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


def everything(
    text: str,
    count: int,
    ratio: float = 0.5,
    flag: bool = False,
    names: List[str] = (),
    table: Optional[Dict[str, int]] = None,
    mode: Literal["fast", "slow"] = "fast",
    color: Color = Color.RED,
    free: Any = None,
    either: Union[int, str] = 0,
):
    """Does everything.

    In two paragraphs.

    Args:
        text (str): what to say
            on two lines
        count: how often
    """


class Checks(unittest.TestCase):
    def setUp(self):
        self.function = Function(everything)

    def bind(self, **params):
        return self.function.bind({"text": "x", "count": 1, **params})

    def wrong(self, message, /, **params):
        with self.assertRaises(PluginError) as caught:
            self.bind(**params)
        self.assertEqual((caught.exception.code, caught.exception.message), (-32602, message))

    def test_accepted(self):
        given = {
            "ratio": 2,
            "flag": True,
            "names": ["a"],
            "table": {},
            "mode": "slow",
            "free": [1],
            "either": "z",
        }
        self.assertEqual(self.bind(**given), {"text": "x", "count": 1, **given})
        self.assertEqual(self.bind(count=3.0)["count"], 3)
        self.assertIsNone(self.bind(table=None)["table"])
        self.assertIs(self.bind(color="blue")["color"], Color.BLUE)

    def test_refused(self):
        self.wrong('count: an integer is expected, not "six"', count="six")
        self.wrong("count: an integer is expected, not true", count=True)
        self.wrong("count: an integer is expected, not 1.5", count=1.5)
        self.wrong("text: a string is expected, not 5", text=5)
        self.wrong("flag: true or false is expected, not 1", flag=1)
        self.wrong("names[1]: a string is expected, not null", names=["a", None])
        self.wrong('table: an object is expected, not ["a"]', table=["a"])
        self.wrong('mode: one of "fast", "slow" is expected, not "medium"', mode="medium")
        self.wrong('color: one of "red", "blue" is expected, not "green"', color="green")
        self.wrong(
            "text: a string is expected, not [0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,...",
            text=[0] * 99,
        )

    def test_words(self):
        words, named = self.function.bind_words(["x", "7"], {"ratio": "0.25", "flag": True, "names": "a"}, {})
        self.assertEqual(words, [])
        self.assertEqual(named, {"text": "x", "count": 7, "ratio": 0.25, "flag": True, "names": ["a"]})
        for text, wanted in (("yes", True), ("off", False), ("TRUE", True)):
            self.assertIs(self.function.bind_words(["x", "1"], {"flag": text}, {})[1]["flag"], wanted)
        with self.assertRaises(PluginError) as caught:
            self.function.bind_words(["x", "many"], {}, {})
        self.assertEqual(caught.exception.message, 'count: an integer is expected, not "many"')

    def test_schema(self):
        schema = self.function.schema()
        self.assertEqual(schema["required"], ["text", "count"])
        self.assertEqual(
            schema["properties"]["text"], {"type": "string", "description": "what to say on two lines"}
        )
        self.assertEqual(schema["properties"]["names"]["items"], {"type": "string"})
        self.assertEqual(
            schema["properties"]["mode"], {"type": "string", "enum": ["fast", "slow"], "default": "fast"}
        )
        self.assertEqual(schema["properties"]["color"]["default"], "red")
        self.assertEqual(self.function.description, "Does everything.")

    def test_docstrings(self):
        for text in (
            "Says.\n\nname: who",
            "Says.\nname: who",
            "Says.\n\n:param name: who",
            "  Says.\n\n  name:  who\n",
        ):
            self.assertEqual(read_docstring(text, ["name"]), ("Says.", {"name": "who"}), text)
        self.assertEqual(read_docstring(None, []), ("", {}))

    def test_other_callables(self):
        class Object:
            def method(self, a: int, *, b: str = "x"):
                return a, b

        bound = Function(Object().method)
        self.assertEqual([field.name for field in bound.fields], ["a", "b"])
        self.assertEqual([field.name for field in bound.positions], ["a"])
        partial = Function(functools.partial(everything, "x"), "partial")
        self.assertIn("count", [field.name for field in partial.fields])
        with self.assertRaises(TypeError):
            Function(lambda a, /: a)

        async def conversation():
            yield 1

        with self.assertRaises(TypeError):
            Function(conversation)

    def test_strict(self):
        plugin = Plugin("x", strict=True)
        plugin.method("m")(lambda a=1: a)
        with self.assertRaises(PluginError) as caught:
            run_inside(plugin).call("m", b=2)
        self.assertEqual(caught.exception.message, "b: is not known")

    def test_declared_twice(self):
        plugin = Plugin("x")
        plugin.method("m")(lambda: 1)
        with self.assertRaises(ValueError):
            plugin.method("m")(lambda: 2)
        with self.assertRaises(ValueError):
            Plugin("x", dialect="klingon")


class Inside(unittest.TestCase):
    """Three lines each, as an author writes them."""

    def test_plain(self):
        plugin = Plugin("x")
        plugin.method("add")(lambda a, b: a + b)
        with run_inside(plugin) as host:
            self.assertEqual(host.call("add", a=1, b=2), 3)

    def test_lifecycle(self):
        plugin, events = Plugin("x", dialect="yams"), []
        plugin.on_start(lambda config: events.append(config) or {"seen": True})
        plugin.on_stop(lambda: events.append("stop"))
        plugin.method("m")(lambda: events.append("call"))
        with run_inside(plugin) as host:
            with self.assertRaises(PluginError) as caught:
                host.request("m")
            self.assertEqual(caught.exception.code, -32003)
            self.assertEqual(host.greet({"a": 1})["config_applied"], {"seen": True})
            host.call("m")
        self.assertEqual(events, [{"a": 1}, "call", "stop"])

    def test_a_start_that_fails(self):
        def start():
            raise PluginError(-32603, "no Ghidra here", {"reason": "DependencyMissing"})

        for dialect, answer in (("yams", -32603), ("gassist", -32603), ("ayiou", None)):
            plugin = Plugin("x", dialect=dialect)
            plugin.on_start(start)
            with self.assertRaises(PluginError) as caught:
                run_inside(plugin).greet()
            self.assertEqual((caught.exception.code, caught.exception.message), (answer, "no Ghidra here"))

    def test_ayiou(self):
        plugin = Plugin("x")
        plugin.handler(r"^echo (?P<what>.+)")(lambda what: Reply(what).image("u").send("group", 5, "x"))
        plugin.handler(lambda message: message.user_id == 9)(lambda: None)
        with run_inside(plugin, "ayiou") as host:
            answer = host.handle("echo this")
            self.assertEqual([action["type"] for action in answer["actions"]], ["image", "send"])
            self.assertEqual((answer["reply"], answer["handled"], answer["block"]), ("this", True, True))
            self.assertEqual(
                host.handle("hm", user_id=9), {"handled": False, "block": False, "reply": None, "actions": []}
            )
            for event in (
                "startup",
                {"startup": None},
                {"bot_connect": {"self_id": 1}},
                {"botconnect": {}},
                "X",
                None,
            ):
                self.assertEqual(host.request("lifecycle", {"event": event}), {"ok": True})

    def test_sunscreen(self):
        plugin = Plugin("x")
        plugin.command("scaffold:both")(
            lambda call, name, force=False: Done(call.workspace + name + str(force), ["a"])
        )
        for dialect in ("sunscreen", "sunscreen-json"):
            with run_inside(plugin, dialect) as host:
                done = host.call("scaffold:both", "N", force=True)
                self.assertEqual(done["files_written"], ["a"])
                self.assertTrue(done["summary"].startswith(os.getcwd() + "N"))

    def test_async(self):
        plugin = Plugin("x")

        @plugin.method
        async def later(n: int):
            import asyncio

            await asyncio.sleep(0)
            return n + 1

        with run_inside(plugin) as host:
            self.assertEqual([host.call("later", n=n) for n in (1, 2)], [2, 3])

    def test_extract(self):
        plugin = Plugin("x")
        plugin.extractor(extensions=["txt"])(lambda path, upper=False: open(path).read())
        with run_inside(plugin) as host, tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("from a file")
            file.flush()
            self.assertEqual(host.extract(file.name)["content"], "from a file")
            self.assertEqual(host.extract(b"from bytes")["text"], "from bytes")

    def test_kythe(self):
        plugin = Plugin("x")

        @plugin.analysis("/kythe/index/x")
        def analyze(a, unit):
            for path in unit.inputs:
                a.fact(a.vname(path), "/kythe/text", open(path, "rb").read())
                a.log("seen", path, 1)

        found = analyze_inside(plugin, {"a.x": "hello", "b/c.x": "there"})
        self.assertEqual(found.facts("/kythe/text"), [b"hello", b"there"])
        self.assertEqual([message["message"] for message in found.logs], ["seen", "seen"])


if __name__ == "__main__":
    assert support
    unittest.main()
