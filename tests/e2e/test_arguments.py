# SPDX-License-Identifier: Apache-2.0
"""Arguments as people type them: by name, by place, as options; checked before the plugin is called. The rules
are in src/kit/runner/signature.h."""
import json
import subprocess
import unittest

from support import ECHO, MORTISE, PYTHON, YAMS_OK, Case, shell_words

MANIFEST = {
    "manifestVersion": 1,
    "name": "greeter",
    "protocol_version": "2.0",
    "executable": "plugin.py",
    "functions": [
        {
            "name": "say",
            "description": "What it does.",
            "tags": [],
            "properties": {
                "often": {"type": "integer"},
                "name": {"type": "string"},
                "loud": {"type": "boolean"},
                "tags_of": {"type": "array"},
            },
            "required": ["name"],
        },
        {"name": "nothing", "description": "What it does.", "tags": [], "properties": {}},
    ],
}

# Answers with the arguments that it got. Its start leaves a mark.
PLUGIN = """
import json, os, struct, sys
open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "started"), "w").close()
def send(message):
    body = json.dumps(dict(jsonrpc="2.0", **message)).encode()
    os.write(1, struct.pack(">I", len(body)) + body)
while head := sys.stdin.buffer.read(4):
    call = json.loads(sys.stdin.buffer.read(struct.unpack(">I", head)[0]))
    if call["method"] == "execute":
        data = json.dumps(call["params"]["arguments"])
        send({"method": "complete", "params": {"request_id": call["id"], "success": True, "data": data}})
    elif call["method"] == "shutdown":
        break
    elif "id" in call:
        about = {"name": "greeter", "version": "1", "protocol_version": "2.0", "commands": []}
        send({"id": call["id"], "result": about})
"""


class Listed(Case):
    """A method whose parameters the manifest lists, by both commands that call it."""

    def setUp(self):
        super().setUp()
        self.greeter = self.file("greeter/manifest.json", json.dumps(MANIFEST)).parent
        self.file("greeter/plugin.py", PLUGIN)

    def said(self, command, *words):
        done = self.ok(command, self.greeter, "say", *words)
        text = done.json["data"] if command == "call" else done.out
        return json.loads(text)

    def both(self, wanted, *words):
        for command in ("call", "run"):
            self.assertEqual(self.said(command, *words), wanted, (command, words))

    def test_ways_to_say_it(self):
        self.both({"name": "Ada"}, "name=Ada")
        self.both({"name": "Ada"}, "--name=Ada")
        self.both({"name": "Ada"}, "--name", "Ada")
        self.both({"name": "Ada", "often": 3}, "name=Ada", "often=3")
        self.both({"name": "Ada", "often": 3}, "--often", "3", "--name", "Ada")
        self.both({"name": "Ada", "loud": True}, "--loud", "--name=Ada")
        self.both({"name": "Ada", "loud": False}, "--no-loud", "--name=Ada")
        self.both({"name": "Ada", "tags_of": [1, "b"]}, "--name=Ada", '--tags-of=[1,"b"]')

    def test_by_place(self):
        """First what is required, then the others in their order; names take their places out."""
        self.both({"name": "Ada", "often": 3}, "Ada", "3")
        self.both({"name": "Ada", "often": 3}, "name=Ada", "3")
        self.both({"name": "Ada", "often": 3, "loud": True}, "Ada", "often=3", "true")

    def test_texts_stay_texts(self):
        self.both({"name": "5"}, "name=5")
        self.both({"name": "null"}, "--name=null")
        self.both({"name": "a=b"}, "--name=a=b")

    def refused(self, text, *words):
        for command in ("call", "run"):
            done = self.fails(4, "input", command, self.greeter, *words)
            self.assertEqual(done.err, f"input: {text}\n")
            self.assertFalse((self.greeter / "started").exists(), "it was started")

    def test_refused_before_the_call(self):
        usage = "say [often=integer] name=string [loud=boolean] [tags_of=array]"
        self.refused(f'"say" needs the argument "name"; usage: {usage}', "say", "often=3")
        self.refused(f'"say" has no argument "nmae": did you mean "name"? Usage: {usage}', "say", "nmae=Ada")
        self.refused(f'"say" has no argument "nmae": did you mean "name"? Usage: {usage}', "say", "--nmae=Ada")
        self.refused(
            f'argument "often" must be integer, not string: x; usage: {usage}', "say", "name=A", "often=x"
        )
        self.refused(f'"x" is a value too many; usage: {usage}', "say", "Ada", "1", "true", "[]", "x")
        self.refused(f"--often needs a value; usage: {usage}", "say", "name=A", "--often")

    def test_our_options_win(self):
        for command in ("call", "run"):
            done = self.fails(2, "usage", command, self.greeter, "say", "Ada", "--timout=3s")
            self.assertIn("unknown option --timout; did you mean --timeout?", done.err)
            self.assertEqual(self.said(command, "Ada", "--timeout=30s"), {"name": "Ada"})

    def test_completion(self):
        """Methods, then parameters. Only files are read."""
        names = ("completion", "names", "--")
        for command in ("call", "run"):
            self.assertEqual(self.ok(*names, command, self.greeter).out.split(), ["say", "nothing"])
            self.assertEqual(
                self.ok(*names, command, "-t", "3s", self.greeter, "say").out.split(),
                ["often=", "name=", "loud=", "tags_of="],
            )
        offered = self.ok(*names, "call", "-d", "yams", ECHO, "extractor.extract").out.split()
        self.assertEqual(
            offered[:4], ["source.type=", "source.path=", "source.data=", "options.max_functions="]
        )
        for words in (
            ("call",),
            ("call", self.dir / "nowhere"),
            ("nonsense",),
            (),
            ("call", "--nonsense", self.greeter),
        ):
            self.ok(*names, *words)
        self.assertFalse((self.greeter / "started").exists())

    def test_completion_in_bash(self):
        script = self.file("completion.bash", self.ok("completion", "bash").raw)
        for words, wanted in (
            (["call", self.greeter, "sa"], "say"),
            (["run", self.greeter, "say", "na"], "name="),
            (["call", self.greeter, "say", "--timeo"], "--timeout"),
        ):
            line = shell_words("mortise", *words)
            ask = f". {script}; COMP_WORDS=({line}); COMP_CWORD={len(words)}; _mortise; echo ${{COMPREPLY[@]}}"
            path = f"{MORTISE.parent}:{self.env['PATH']}"
            done = subprocess.run(
                ["bash", "-c", ask], env={**self.env, "PATH": path}, capture_output=True, text=True, check=True
            )
            self.assertEqual(done.stdout.strip(), wanted, done.stderr)


class Tables(Case):
    """What the protocol's table lists; other members are allowed there."""

    def test_extract(self):
        call = ("call", "-d", "yams", YAMS_OK, "extractor.extract")
        usage = (
            "extractor.extract source.type=string [source.path=string] [source.data=string] [options=object]"
        )
        self.assertEqual(
            self.fails(4, "input", *call).err,
            f'input: "extractor.extract" needs the argument "source"; usage: {usage}\n',
        )
        self.assertEqual(
            self.fails(4, "input", *call, "sorce.type=bytes").err,
            f'input: "extractor.extract" has no argument "sorce": did you mean "source"? Usage: {usage}\n',
        )
        self.ok(*call, '--source={"type":"bytes","data":"eA=="}', "something=1")
        self.ok(*call, "--source.type=bytes", "source.data=eA==", "options.decompile=true", "options.other=1")

    def test_members_of_objects(self):
        """By their whole names, whether they were typed as paths or as JSON; nothing is started."""
        call = ("call", "-d", "yams", YAMS_OK, "extractor.extract")
        for words, text in (
            (["source.typ=bytes"], 'no argument "source.typ": did you mean "source.type"?'),
            (['{"source":{"typ":"bytes"}}'], 'no argument "source.typ": did you mean "source.type"?'),
            (["source.data=eA=="], '"extractor.extract" needs the argument "source.type"'),
            (["source.type=bytes"], 'needs the argument "source.data" with source.type=bytes'),
            (["source.type=byte"], 'argument "source.type" must be one of ["path","bytes"], not byte'),
            (
                ["source.type=path", "source.path=/x", "options.max_functions=many"],
                'argument "options.max_functions" must be integer, not string: many',
            ),
            (
                ["source.type=path", "source.path=/x", "options.decompil=true"],
                'no argument "options.decompil": did you mean "options.decompile"?',
            ),
        ):
            self.assertIn(text, self.fails(4, "input", *call, *words).err)

    def test_texts_in_objects_stay_texts(self):
        call = ("call", "-d", "yams", YAMS_OK, "extractor.extract", "--show-wire")
        done = self.run_mortise(*call, "source.type=bytes", "source.data=1234")
        self.assertIn('"source":{"type":"bytes","data":"1234"}', done.err)

    def test_one_of_several(self):
        call = ("call", "-d", "yams", YAMS_OK, "extractor.supports")
        self.assertEqual(
            self.fails(4, "input", *call).err,
            'input: "extractor.supports" needs mime_type or extension; usage: extractor.supports [mime_type=string] '
            "[extension=string]\n",
        )
        self.assertTrue(self.ok(*call, "text/plain", ".txt").json["supported"])
        self.assertTrue(self.ok(*call, "--mime-type", "text/plain", "--extension=.txt").json["supported"])

    def test_unchecked(self):
        """Then the plugin says what it thinks of them."""
        for option in ("--raw", "--unchecked"):
            self.fails(
                1, "plugin_error", "call", "-d", "yams", option, YAMS_OK, "extractor.supports", "extension=.x"
            )


class Unlisted(Case):
    """A plugin that says nothing about itself takes anything, by name."""

    def test_names(self):
        self.assertEqual(
            self.ok("call", ECHO, "echo", "--name", "Ada", "--often=3", "x=1", "--loud").json,
            {"name": "Ada", "often": 3, "x": 1, "loud": True},
        )
        self.assertEqual(self.ok("call", "echo", "--name=Ada", "--", PYTHON, ECHO).json, {"name": "Ada"})

    def test_json_keeps_its_quotes(self):
        self.assertEqual(
            self.ok("call", ECHO, "echo", 'a:="5"', "b=5", 'c:="x y"', 'd="5"').json,
            {"a": "5", "b": 5, "c": "x y", "d": "5"},
        )

    def test_places_are_not_known(self):
        self.assertIn("expected KEY=VALUE", self.fails(4, "input", "call", ECHO, "echo", "Ada").err)

    def test_before_the_method_options_are_ours(self):
        for words in (("--nmae=Ada", ECHO, "echo"), (ECHO, "--nmae=Ada", "echo")):
            self.assertIn("unknown option --nmae", self.fails(2, "usage", "call", *words).err)


if __name__ == "__main__":
    unittest.main()
