# SPDX-License-Identifier: Apache-2.0
"""mortise call: arguments, results, errors."""
import base64
import json
import subprocess
import unittest

from support import Case, ECHO, KG_PAGES, LIMIT, MORTISE, PYTHON, YAMS_ERRORS, YAMS_OK, shell_words


class Arguments(Case):
    def echo(self, *words, **how):
        return self.ok("call", ECHO, "echo", *words, **how).json

    def test_typing(self):
        given = {
            "n=1": 1,
            "n=-2.5e3": -2500.0,
            "n=true": True,
            "n=null": None,
            "n=one": "one",
            "n=": "",
            'n="1"': "1",
            "n=01": "01",
            "n=1x": "1x",
            "n=[1]": "[1]",
            "n={}": "{}",
            "n=True": "True",
            "n= 1": 1,
            "n=ä": "ä",
            "n=a=b": "a=b",
            "n:=[1, 2]": [1, 2],
            'n:={"a":{}}': {"a": {}},
            "n:=7": 7,
            "n=NaN": "NaN",
            'n=say "hi"\n': 'say "hi"\n',
        }
        for word, value in given.items():
            self.assertEqual(self.echo(word), {"n": value}, word)

    def test_numbers_keep_their_digits(self):
        done = self.ok("call", ECHO, "echo", "n=12345678901234567890123", "m=0.1000")
        self.assertIn("12345678901234567890123", done.out)

    def test_nested(self):
        self.assertEqual(
            self.echo("a.b=1", "a.c.d=x", "e=2", "a.b=3"), {"a": {"b": 3, "c": {"d": "x"}}, "e": 2}
        )
        self.assertEqual(self.echo("a=1", "a.b=2"), {"a": {"b": 2}})
        self.assertEqual(self.echo(r"a\.b=1", "c-d_e$=2"), {"a.b": 1, "c-d_e$": 2})
        self.assertEqual(self.echo('{"a":{"b":1,"c":2}}', "a.b=5", "x=1"), {"a": {"b": 5, "c": 2}, "x": 1})
        deep = ".".join("k" * 100) + "=1"
        self.assertIn("1", json.dumps(self.echo(deep)))

    def test_whole(self):
        self.assertEqual(self.echo('{"a": [1, {"b": null}]}'), {"a": [1, {"b": None}]})
        self.assertEqual(self.echo("[1, 2]"), [1, 2])
        self.assertEqual(self.echo("{}"), {})
        self.assertIsNone(self.echo())
        self.assertEqual(self.echo('{\n"a":\n1}'), {"a": 1})

    def test_files_and_stdin(self):
        self.file("params.json", '{"a": 1}')
        self.file("text.txt", "two\nlines")
        self.file("bytes.bin", b"\xff\x00\x01")
        self.assertEqual(self.echo("@params.json"), {"a": 1})
        self.assertEqual(self.echo("-", stdin=b"[1]"), [1])
        self.assertEqual(self.echo("t=@text.txt"), {"t": "two\nlines"})
        self.assertEqual(self.echo("t:=@params.json"), {"t": {"a": 1}})
        self.assertEqual(self.echo("t=@-", stdin=b"typed"), {"t": "typed"})
        self.assertEqual(self.echo("t=@base64:bytes.bin"), {"t": base64.b64encode(b"\xff\x00\x01").decode()})

    def test_wrong(self):
        self.file("bytes.bin", b"\xff\x00\x01")
        for word, text in (
            ("{bad", "not JSON"),
            ("[1,", "not JSON"),
            ("word", "expected KEY=VALUE or a JSON object"),
            ("=1", "expected KEY=VALUE or a JSON object"),
            ("", "expected KEY=VALUE"),
            ("k:=[", 'argument "k" is not JSON'),
            ("k:=", "not JSON"),
            ("k=@bytes.bin", "base64:bytes.bin"),
            ("k=@.", "directory"),
            ("k=\udcff", "UTF-8"),
        ):
            done = self.fails(4, "input", "call", ECHO, "echo", word)
            self.assertIn(text, done.err)
        self.assertIn("object or array", self.fails(4, "input", "call", ECHO, "echo", "-", stdin=b"5").err)
        self.assertIn(
            "stdin is not JSON", self.fails(4, "input", "call", ECHO, "echo", "-", stdin=b"nonsense").err
        )
        self.assertIn(
            "missing.json: no such file", self.fails(5, "not_found", "call", ECHO, "echo", "@missing.json").err
        )
        self.assertIn("no such file", self.fails(5, "not_found", "call", ECHO, "echo", "k=@missing").err)
        self.assertIn("array", self.fails(4, "input", "call", ECHO, "echo", "[1]", "k=1").err)
        self.assertIn("line 1, column", self.fails(4, "input", "call", ECHO, "echo", "{bad").err)


class Results(Case):
    def test_compact_and_pretty(self):
        self.assertEqual(self.ok("call", ECHO, "echo", "a=1", "b:=[1]").out, '{"a":1,"b":[1]}\n')
        self.assertEqual(self.in_terminal("call", ECHO, "echo", "a=1").out, '{\n  "a": 1\n}\n')

    def test_json(self):
        row = self.ok("call", "--json", ECHO, "echo", "a=1").json
        self.assertEqual((row["ok"], row["result"], row["plugin"]), (True, {"a": 1}, "echo"))
        self.assertGreaterEqual(row["time_ms"], 0)

    def test_command_after_dashes(self):
        self.assertEqual(self.ok("call", "echo", "a=1", "--", PYTHON, ECHO).json, {"a": 1})
        self.assertEqual(self.ok("call", "--json", "echo", "--", PYTHON, ECHO, "lines").json["plugin"], "echo")

    def test_framing(self):
        words = ["echo", "a=1", "--", PYTHON, ECHO, "headers"]
        self.assertEqual(self.ok("call", "--framing", "headers", *words).json, {"a": 1})
        self.assertEqual(self.ok("call", "--set", "plugin.framing=headers", *words).json, {"a": 1})

    def test_notify(self):
        done = self.run_mortise("call", ECHO, "told", "a=1", "--notify", "-v")
        self.assertEqual((done.code, done.out), (0, ""))
        self.assertIn('echo| note told of 1', done.error_lines)
        self.assertTrue(self.ok("call", "--json", ECHO, "told", "--notify").json["ok"])

    def test_large_result(self):
        text = "x" * 3_000_000
        self.file("big.txt", text)
        self.assertEqual(self.ok("call", ECHO, "echo", "t=@big.txt").json["t"], text)

    def test_noise_does_not_hurt(self):
        self.assertEqual(self.ok("call", ECHO, "noise").json, "said")
        self.assertIn("this is no message", self.run_mortise("call", "-v", ECHO, "noise").err)


class Verbose(Case):
    def test_verbose(self):
        done = self.run_mortise("call", "-v", ECHO, "say", "text=hello there")
        self.assertEqual((done.code, done.json), (0, None))
        self.assertIn("echo| hello there", done.error_lines)
        self.assertTrue(
            any(line.startswith("echo: stopped -> starting") for line in done.error_lines), done.err
        )
        self.assertTrue(any("-> ready" in line for line in done.error_lines), done.err)

    def test_show_wire(self):
        done = self.run_mortise("call", "--show-wire", ECHO, "echo", "a=1")
        sent, got = done.error_lines
        self.assertEqual(
            json.loads(sent.removeprefix("> ")),
            {"jsonrpc": "2.0", "id": 1, "method": "echo", "params": {"a": 1}},
        )
        self.assertEqual(json.loads(got.removeprefix("< "))["result"], {"a": 1})
        self.assertEqual(done.json, {"a": 1})

    def test_trace_wire(self):
        """Of the library: also without a tap, and beside one."""
        for words in ((), ("--show-wire",)):
            done = self.run_mortise("call", *words, ECHO, "echo", "a=1", env={"MORTISE_TRACE": "wire"})
            sent, got = [
                line.split(" wire: echo ", 1)[1] for line in done.error_lines if line.startswith("mortise ")
            ]
            self.assertEqual(json.loads(sent.removeprefix("> "))["params"], {"a": 1})
            self.assertEqual(json.loads(got.removeprefix("< "))["result"], {"a": 1})
            self.assertEqual(len(done.error_lines), 4 if words else 2)

    def test_show_wire_cuts(self):
        self.file("big.txt", "x" * 10000)
        words = ["call", "--show-wire", ECHO, "echo", "t=@big.txt"]
        for line in self.run_mortise(*words).error_lines:
            self.assertRegex(line, r"x\.\.\. \(\d+ bytes\)$")
        self.assertIn("x" * 10000, self.run_mortise(*words, "-v").err)

    def test_a_plugin_cannot_steer_the_terminal(self):
        done = self.run_mortise("call", "-v", ECHO, "say", "text=\x1b[31mred")
        self.assertNotIn("\x1b", done.err)


class Failures(Case):
    def test_no_such_plugin(self):
        for name in ("./nothing", "/nothing/at/all", f"{ECHO}/x"):
            self.assertIn("no such file or directory", self.fails(5, "not_found", "call", name, "echo").err)

    def test_no_manifest(self):
        (self.dir / "empty").mkdir()
        self.assertIn("yams-plugin.json", self.fails(3, "manifest", "call", "./empty", "echo").err)

    def test_broken_manifest(self):
        broken = self.file("broken/yams-plugin.json", '{"name": "x",\n "entry": }').parent
        self.assertIn("yams-plugin.json:2", self.fails(3, "manifest", "call", broken, "echo").err)
        self.file("own/mortise.toml", "[plugin\n")
        self.assertIn("mortise.toml:1", self.fails(3, "manifest", "call", "./own", "echo").err)

    def test_missing_program(self):
        self.file(
            "lost/yams-plugin.json",
            json.dumps({"name": "lost", "version": "1", "entry": {"cmd": ["./gone.sh"]}}),
        )
        done = self.run_mortise("call", "./lost", "echo")
        self.assertEqual((done.code, len(done.error_lines)), (3, 1), done.err)
        self.assertIn("gone.sh", done.err)
        self.assertIn(
            "no-such-program", self.fails(5, "not_found", "call", "echo", "--", "no-such-program").err
        )

    def test_unknown_method(self):
        done = self.fails(1, "plugin_error", "call", ECHO, "frobnicate")
        self.assertIn("frobnicate", done.err)
        self.assertNotIn("mortise info", done.err)  # it would list no method
        self.assertEqual(
            self.fails(1, "plugin_error", "call", "--json", ECHO, "frobnicate").json["rpc_code"], -32601
        )

    def test_error_data_reaches_the_caller(self):
        error = {
            "code": -32042,
            "message": "no luck",
            "data": {"reason": "Because", "details": {"n": [1]}, "more": "x"},
        }
        done = self.fails(1, "plugin_error", "call", "--json", ECHO, "fail", json.dumps(error))
        self.assertEqual(
            (done.json["data"], done.json["rpc_code"], done.json["kind"]),
            (error["data"], -32042, "plugin_error"),
        )
        self.assertIn("no luck", done.json["message"])
        self.assertIn("; reason: Because; details: {", done.err)
        error["data"] = ["just", "a list"]
        self.assertIn(
            '; data: ["just","a list"]',
            self.fails(1, "plugin_error", "call", ECHO, "fail", json.dumps(error)).err,
        )
        error["data"] = None
        self.assertNotIn("data", self.fails(1, "plugin_error", "call", ECHO, "fail", json.dumps(error)).err)

    def test_dependency_missing(self):
        source = ["source.type=bytes", "source.data=" + base64.b64encode(b"dependency").decode()]
        done = self.fails(1, "plugin_error", "call", "-d", "yams", YAMS_ERRORS, "extractor.extract", *source)
        for text in (
            "Ghidra not found",
            "reason: DependencyMissing",
            "--env GHIDRA_INSTALL_DIR",
            "--config ghidra_install=VALUE",
        ):
            self.assertIn(text, done.err)

    def test_timeout(self):
        done = self.in_time(
            lambda limit: self.fails(6, "timeout", "call", "--timeout", limit, ECHO, "hang"),
            lambda done: 'last stderr: "hanging"' in done.err and "it has read the request" in done.err,
        )
        self.assertRegex(done.err, '"hang" in \\d+ ms; it has read the request and waits for more input')
        mute = ("--", "/bin/sleep", "60")
        done = self.fails(6, "timeout", "call", "--timeout", "hang=300ms", "hang", *mute)
        self.assertIn("(timeouts.hang sets the limit)", done.err)
        self.fails(6, "timeout", "call", "--set", "timeouts.hang=300ms", ECHO, "hang")
        self.assertEqual(
            self.fails(6, "timeout", "call", "--json", "-t", "300ms", ECHO, "hang").json["exit_code"], 6
        )

    def test_timeout_of_a_greeting(self):
        mute = ("--", "/bin/sleep", "60")
        done = self.fails(6, "timeout", "call", "-d", "gassist", "-t", "300ms", "x", *mute)
        self.assertIn('no reply to "initialize" in 300 ms', done.err)
        own = ("--timeout", "initialize=400ms", "x", *mute)
        done = self.fails(6, "timeout", "call", "-d", "gassist", "-t", "300ms", *own)
        self.assertIn('no reply to "initialize" in 400 ms', done.err)

    def test_timeout_of_one_that_never_spoke(self):
        mute = "it has not read the request (38 bytes wait in its stdin); it sleeps"
        speaks = "print('{\"jsonrpc\":\"2.0\",\"method\":\"up\"}', flush=True); import time; time.sleep(600)"
        for command, wanted in ((("/bin/sleep", "600"), mute), ((PYTHON, "-c", speaks), "it sleeps")):
            self.in_time(
                lambda limit: self.fails(6, "timeout", "call", "-t", limit, "x", "--", *command),
                lambda done: wanted in done.err,
            )

    def test_greeting_refused(self):
        refuses = (
            "import json, sys\n"
            "for line in sys.stdin:\n"
            "    error = {'code': -32601, 'message': 'what?'}\n"
            "    answer = {'jsonrpc': '2.0', 'id': json.loads(line)['id'], 'error': error}\n"
            "    print(json.dumps(answer), flush=True)\n"
        )
        done = self.fails(1, "plugin_error", "call", "-d", "yams", self.file("refuses.py", refuses), "x")
        self.assertIn('refused "handshake.manifest"', done.err)
        self.assertNotIn("shows what it offers", done.err)

    def test_what_words_were_taken_for(self):
        done = self.fails(4, "input", "call", "./greet", "name=Ada", ECHO)
        self.assertIn(
            'expected KEY=VALUE or a JSON object (PLUGIN is "./greet", METHOD is "name=Ada")', done.err
        )
        done = self.fails(4, "input", "call", "plugin.py", "greet", "--", "extra")
        self.assertIn(
            'argument "greet": expected KEY=VALUE or a JSON object (the plugin is the command after "--", METHOD is "plugin.py")',
            done.err,
        )

    def test_crash(self):
        done = self.fails(7, "crashed", "call", ECHO, "exit", "status=4", "text=ImportError: numpy")
        self.assertIn("status 4", done.err)
        self.assertIn('last stderr: "ImportError: numpy"', done.err)

    def test_interface(self):
        done = self.fails(
            4, "unsupported", "call", "-d", "yams", KG_PAGES, "extractor.supports", "extension=.x"
        )
        self.assertIn("kg_entity_provider_v1", done.err)

    def test_nobody_reads(self):
        big = self.file("big.txt", "x" * 300_000)
        line = shell_words(MORTISE, "call", ECHO, "echo", f"t=@{big}")
        done = self.run_in_shell(f"{line} | head -c 5")
        self.assertEqual(done, b'{"t":')

    def run_in_shell(self, line):
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {line}"],
            capture_output=True,
            env=self.env,
            timeout=LIMIT,
            check=False,
        )
        self.assertEqual((done.returncode, done.stderr), (141, b""))
        return done.stdout

    def test_disk_full(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [str(MORTISE), "call", str(ECHO), "echo", "a=1"],
                stdout=full,
                stderr=subprocess.PIPE,
                env=self.env,
                timeout=LIMIT,
                check=False,
            )
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"system: writing the output: No space left", done.stderr)


class Pages(Case):
    def run_pages(self, *words):
        self.file("data.bin", b"abcdefgh")
        asked = ("ghidra.getEntities", "source.type=bytes", "source.data=@base64:data.bin", *words)
        return self.run_mortise("call", "-d", "yams", KG_PAGES, *asked, "--pages")

    def pages(self, *words):
        done = self.run_pages(*words)
        self.assertEqual(done.code, 0, done.err)
        return done.rows

    def test_all_pages(self):
        rows = self.pages()
        self.assertEqual([len(row["nodes"]) for row in rows], [3, 3, 2])
        self.assertEqual([node["label"] for row in rows for node in row["nodes"]], list("abcdefgh"))

    def test_limit_and_offset_are_the_callers(self):
        self.assertEqual([len(row["nodes"]) for row in self.pages("opts.limit=5", "opts.offset=1")], [5, 2])

    def test_one_process_serves_all(self):
        rows = self.pages("--json")
        self.assertEqual([row["ok"] for row in rows], [True] * 3)
        self.assertEqual({row["plugin"] for row in rows}, {"kg_pages"})

    def test_a_page_that_does_not_advance(self):
        done = self.run_pages("opts.stuck=true")
        self.assertEqual((done.code, len(done.error_lines)), (9, 1))
        self.assertIn('next page is one that was read already: {"opts":{"offset":', done.err)

    def test_a_result_without_pages(self):
        self.assertEqual(self.ok("call", ECHO, "echo", "a=1", "--pages").rows, [{"a": 1}])
        self.fails(4, "input", "call", ECHO, "echo", "[1]", "--pages")


class Dialects(Case):
    def test_yams_is_greeted(self):
        done = self.run_mortise(
            "call", "-d", "yams", YAMS_OK, "extractor.supports", "mime_type=a/b", "extension=.x", "--show-wire"
        )
        self.assertTrue(done.json["supported"])
        methods = [json.loads(line[2:])["method"] for line in done.error_lines if line.startswith(">")]
        self.assertEqual(
            methods,
            ["handshake.manifest", "plugin.init", "plugin.health", "extractor.supports", "plugin.shutdown"],
        )

    def test_raw(self):
        words = ["call", "-d", "yams", "--raw", KG_PAGES, "extractor.supports"]
        self.assertIn("Method not found", self.fails(1, "plugin_error", *words).err)


class Echo(Case):
    """A program that sends back what it reads is named as that, in every dialect that asks first."""

    def test_cat(self):
        for dialect, method in (("plain", "x"), ("yams", "handshake.manifest"), ("gassist", "initialize")):
            done = self.fails(9, "protocol", "call", "-d", dialect, "x", "a=1", "--", "cat")
            self.assertEqual(
                done.err,
                f'protocol: cat: it sends each message back as it came ("{method}"): an echo, not a plugin; '
                "look at its command\n",
            )

    def test_a_peer_that_asks_the_same(self):
        """Under the same number, too: its own answer counts."""
        program = (
            "import json, sys\n"
            "asked = json.loads(sys.stdin.readline())\n"
            "print(json.dumps(asked), flush=True)\n"
            "sys.stdin.readline()\n"
            "print(json.dumps({'jsonrpc': '2.0', 'id': asked['id'], 'result': 'mine'}), flush=True)\n"
            "sys.stdin.read()\n"
        )
        self.assertEqual(self.ok("call", "ping", "--", PYTHON, "-c", program).json, "mine")


if __name__ == "__main__":
    unittest.main()
