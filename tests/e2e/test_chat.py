# SPDX-License-Identifier: Apache-2.0
"""mortise chat: functions and conversations, from a file and on a terminal."""
import json
import os
import pty
import select
import signal
import unittest

from support import Case, LIMIT, MORTISE, PLUGINS, PYTHON, without_color

PLUGIN = PLUGINS / "gassist.py"


class FromAFile(Case):
    def chat(self, text, *args, **how):
        return self.run_mortise("chat", "-d", "gassist", PLUGIN, *args, stdin=text.encode(), **how)

    def test_conversation(self):
        done = self.chat("/talk\nAda\nexit\n")
        self.assertEqual((done.code, done.out, done.err), (0, "What is your name?\nHello Ada!\nBye.\n", ""))

    def test_echo(self):
        done = self.chat("/talk\nZoë 中文\n/end\n", "--echo")
        self.assertEqual(
            done.out,
            "gassist> /talk\nWhat is your name?\ngassist …> Zoë 中文\nHello Zoë 中文!\ngassist …> /end\nBye.\n",
        )

    def test_function_without_slash(self):
        """Outside a conversation the name of a function is enough."""
        self.assertEqual(self.chat("count to=2\n").out, "1 2 done\n")

    def test_text_without_conversation(self):
        done = self.chat("hello\n/count to=1\n")
        self.assertEqual((done.code, done.out), (4, "1 done\n"))
        self.assertIn("input: the plugin is not waiting for input: call a function first", done.err)

    def test_words(self):
        done = self.chat("/echo a='x y' b=\"it's\" c=d\\ e f:=[1]\n/echo {\"g\": {\"h\": 1}}\n")
        self.assertEqual(
            [row["arguments"] for row in done.rows],
            [{"a": "x y", "b": "it's", "c": "d e", "f": [1]}, {"g": {"h": 1}}],
        )
        done = self.chat("/echo a='x\n")
        self.assertEqual(done.code, 4)
        self.assertIn("a quote is not closed", done.err)

    def test_slash_in_a_conversation(self):
        """//text is text; /function calls one also while the plugin waits."""
        self.assertEqual(
            self.chat("/talk\n//etc\n/count to=1\n").out, "What is your name?\nHello /etc!\n1 done\n"
        )

    def test_small_things(self):
        """Blank lines and comments are skipped, a last line needs no newline, CR is no part of it."""
        self.assertEqual(self.chat("\n# a comment\n   \n/count to=1\r\n/count to=1").out, "1 done\n1 done\n")

    def test_help(self):
        done = self.chat("/help\n/functions\n")
        self.assertIn("/FUNCTION KEY=VALUE", done.err)
        self.assertIn("/count\n      The function count", done.err)
        self.assertEqual(done.out, "")

    def test_call(self):
        self.assertEqual(self.chat("/call count to=1\n").out, "1 done\n")
        self.assertEqual(self.chat("/call\n").err, "input: name the FUNCTION after /call\n")

    def test_json_in_quotes(self):
        """As the hint of the error says, and as a shell wants it."""
        self.assertEqual(self.chat("/echo '{\"a\": \"b c\"}'\n").json["arguments"], {"a": "b c"})
        self.assertIn("argument is not JSON", self.chat("/echo {a\n").err)

    def test_quit(self):
        self.assertEqual(self.chat("/quit\n/count\n").out, "")

    def test_end_without_conversation(self):
        self.assertEqual(self.chat("/end\n").code, 4)

    def test_end_of_a_stubborn_plugin(self):
        """One that keeps the session although it was told "exit" is stopped; the next request
        starts it anew."""
        plugin = self.file(
            "stubborn.py", PLUGIN.read_text().replace('if text == "exit":', 'if text == "never":')
        )
        done = self.run_mortise("chat", "-d", "gassist", plugin, stdin=b"/pid\n/talk\n/end\n/pid\n")
        lines = done.out.splitlines()
        self.assertEqual((done.code, lines[1:3]), (0, ["What is your name?", "Hello exit!"]))
        self.assertNotEqual(lines[0], lines[3])

    def test_exit_code(self):
        """That of the last line that failed; the others are read all the same."""
        done = self.chat("/refuse text=no\n/count to=1\n")
        self.assertEqual((done.code, done.out), (1, "1 done\n"))
        self.assertEqual(done.err, "plugin_error: gassist: no\n")

    def test_json(self):
        rows = self.chat("/talk\nAda\n/fail\n", "--json").rows
        self.assertEqual([row["ok"] for row in rows], [True, True, True, False])
        self.assertEqual(rows[0]["keep_session"], True)
        self.assertEqual((rows[1]["more"], rows[1]["data"], rows[2]["data"]), (True, "Hello ", "Ada!"))
        self.assertEqual((rows[3]["kind"], rows[3]["rpc_code"]), ("plugin_error", -1))

    def test_crash(self):
        """A plugin that died is told, and comes back with the next request."""
        done = self.chat("/crash\n/count to=1\n")
        self.assertEqual((done.code, done.out), (7, "1 done\n"))
        self.assertIn("no way on", done.err)

    def test_time_out(self):
        """Told once, by the request that it failed; the plugin that was killed for it comes back."""
        done = self.chat("/nap seconds=600\n/count to=1\n", "--timeout", "execute=2s")
        self.assertEqual((done.code, done.out), (6, "1 done\n"))
        self.assertEqual(len(done.error_lines), 1, done.err)
        self.assertIn('timeout: gassist: no reply to "execute" in 2000 ms', done.err)

    def test_no_conversations(self):
        """A protocol with a process per call has none."""
        where = self.file("s/plugin.toml", '[plugin]\nname = "s"\nversion = "1"\nentry = "x"\n').parent
        self.file("s/x", "#!/bin/sh\n").chmod(0o755)
        self.assertIn(
            "speaks sunscreen, which holds no conversations: use 'mortise run'",
            self.fails(2, "usage", "chat", where).err,
        )

    def test_start_fails(self):
        self.fails(7, "crashed", "chat", "-d", "gassist", "--", "/bin/false")
        self.fails(5, "not_found", "chat", "-d", "gassist", "--", "/nonexistent/plugin")
        self.fails(2, "usage", "chat")
        self.fails(5, "not_found", "chat", "-d", "gassist", PLUGIN, "count")

    def test_context(self):
        done = self.chat("/echo\n", "--context", "[]", "--system-info", "x")
        self.assertEqual(done.json, {"function": "echo", "arguments": {}, "context": [], "system_info": "x"})

    def test_control_characters_reach_a_pipe(self):
        done = self.chat('/refuse text="x"\n/talk\n\x1b[31mred\n')
        self.assertIn("Hello \x1b[31mred!", done.out)


class Manifests(Case):
    """Plugins with manifest.json, one or several at a time."""

    def plugin(self, name, *functions, **more):
        """Functions as (name, properties, required)."""
        told = [
            {"name": f, "description": f"Does {f}", "properties": p, "required": list(r)}
            for f, p, r in functions
        ]
        manifest = {
            "manifestVersion": 1,
            "protocol_version": "2.0",
            "executable": "./plugin.py",
            "persistent": False,
            "functions": told,
            **more,
        }
        self.file(f"{name}/plugin.py", PLUGIN.read_bytes())
        return self.file(f"{name}/manifest.json", json.dumps(manifest)).parent

    def chat(self, text, *args):
        return self.run_mortise("chat", *args, stdin=text.encode())

    TEXT = {"type": "string"}


class Arguments(Manifests):
    def test_checked(self):
        where = self.plugin("one", ("echo", {"text": self.TEXT, "times": {"type": "integer"}}, ["text"]))
        done = self.chat(
            "/echo\n/echo txt=a\n/echo text=a times=b\n/ecko text=a\n/echo text=5 times=2\n", where
        )
        self.assertEqual((done.code, done.json["arguments"]), (4, {"text": "5", "times": 2}))
        self.assertEqual(
            [line.split(";")[0] for line in done.error_lines],
            [
                'input: "echo" needs the argument "text"',
                'input: "echo" has no argument "txt": did you mean "text"? Usage: echo text=string [times=integer]',
                'input: argument "times" must be integer, not string: b',
                'input: one has no function "ecko": did you mean "echo"? (/functions lists them)',
            ],
        )

    def test_a_word_without_a_name(self):
        where = self.plugin("one", ("echo", {"text": self.TEXT, "times": {"type": "integer"}}, []))
        self.assertEqual(
            self.chat("/echo a 2 b\n", where).err,
            'input: "b" is a value too many; usage: echo [text=string] [times=integer]\n',
        )
        self.assertEqual(self.chat("/echo a 2\n", where).json["arguments"], {"text": "a", "times": 2})

    def test_a_lone_word_has_the_parameters_type(self):
        where = self.plugin(
            "one", ("count", {"to": {"type": "integer"}}, []), ("echo", {"text": self.TEXT}, [])
        )
        self.assertEqual(self.chat("/count 2\n", where).out, "1 2 done\n")
        self.assertEqual(self.chat("/echo 2\n", where).json["arguments"], {"text": "2"})


class FreeText(Manifests):
    def test_passthrough(self):
        """Text goes to the one function, as it is; then to the conversation that the plugin may open."""
        where = self.plugin("one", ("echo", {"query": self.TEXT}, []), passthrough=True)
        done = self.chat("what's  up?\n//etc\necho is my name\necho query=x\n/echo y z\n", where)
        self.assertEqual(
            [row["arguments"]["query"] for row in done.rows],
            ["what's  up?", "/etc", "echo is my name", "x", "y z"],
        )
        where = self.plugin("two", ("talk", {"query": self.TEXT}, []), passthrough=True)
        self.assertEqual(self.chat("hello\nAda\n", where).out, "What is your name?\nHello Ada!\n")

    def test_which_parameter(self):
        """The required text, else the first; without a required one, it is the last of what was said."""
        said = {"role": "user", "content": "hello you"}
        cases = (
            ({"a": self.TEXT, "b": self.TEXT}, ["b"], {"b": "hello you"}),
            ({"n": {"type": "integer"}, "b": self.TEXT}, [], {"b": "hello you"}),
            ({}, [], {}),
        )
        for properties, required, arguments in cases:
            where = self.plugin("one", ("echo", properties, required), passthrough=True)
            done = self.chat(
                "hello you\n", where, "--context", '[{"role":"user","content":"hi"}]', "--system-info", "a PC"
            )
            self.assertEqual(done.json["arguments"], arguments, done.err)
            self.assertEqual(done.json["context"][1:], [] if arguments else [said])
            self.assertEqual(done.json["system_info"], "a PC")

    def test_not_without(self):
        for more in ({}, {"passthrough": False}):
            where = self.plugin("one", ("echo", {"query": self.TEXT}, []), **more)
            self.assertIn("the plugin is not waiting for input", self.chat("hello\n", where).err)


class Several(Manifests):
    def setUp(self):
        super().setUp()
        self.a = self.plugin("alpha", ("echo", {"text": self.TEXT}, []), ("talk", {}, []))
        self.b = self.plugin("beta", ("count", {"to": {"type": "integer"}}, []), ("talk", {}, []))

    def test_a_function_finds_its_plugin(self):
        done = self.chat("/count 2\n/echo x\ncount to=1\n", self.a, self.b, "--json")
        self.assertEqual(
            [(row["plugin"], row["data"]) for row in done.rows if "plugin" in row][0::2],
            [("beta", "done"), ("beta", "done")],
        )
        self.assertEqual([row["plugin"] for row in done.rows if "plugin" in row], ["beta", "alpha", "beta"])

    def test_the_same_name(self):
        done = self.chat("/talk\n/beta.talk\nAda\n/alpha.echo hi\n", self.a, self.b)
        self.assertEqual(done.code, 4)
        self.assertEqual(done.err, "input: several plugins match: type /alpha.talk or /beta.talk\n")
        self.assertTrue(done.out.startswith("What is your name?\nHello Ada!\n"))

    def test_unknown(self):
        done = self.chat("/cuont 2\n/beta.echo x\n/gamma.talk\nhello\n", self.a, self.b)
        self.assertEqual(
            done.error_lines,
            [
                'input: no plugin here has a function "cuont": did you mean "count"? (/functions lists them)',
                'input: beta has no function "echo" (/functions lists them)',
                'input: no plugin here has a function "gamma.talk" (/functions lists them)',
                "input: no plugin is waiting for input: call a function first, as in /FUNCTION KEY=VALUE (/functions lists them)",
            ],
        )

    def test_list(self):
        done = self.chat("/functions\n", self.a, self.b)
        self.assertIn(
            "alpha\n  /echo [text=string]\n      Does echo\n  /alpha.talk\n      Does talk\n"
            "beta\n  /count [to=integer]\n      Does count\n  /beta.talk\n",
            done.err,
        )

    def test_two_conversations(self):
        """Text goes to the plugin that asked last, then back to the one before it."""
        done = self.chat("/alpha.talk\n/beta.talk\nAda\n/end\nBob\n/end\nhello\n", self.a, self.b, "--echo")
        self.assertEqual(
            done.out,
            "mortise> /alpha.talk\nWhat is your name?\nalpha …> /beta.talk\nWhat is your name?\n"
            "beta …> Ada\nHello Ada!\nbeta …> /end\nBye.\nalpha …> Bob\nHello Bob!\nalpha …> /end\nBye.\n"
            "mortise> hello\n",
        )

    def test_free_text(self):
        c = self.plugin("gamma", ("echo", {"q": self.TEXT}, []), passthrough=True)
        done = self.chat("how are you\ncount to=1\n", self.b, c)
        self.assertEqual(
            (json.loads(done.out.splitlines()[0])["arguments"], done.out.splitlines()[1]),
            ({"q": "how are you"}, "1 done"),
        )
        d = self.plugin("delta", ("pid", {"q": self.TEXT}, []), passthrough=True)
        self.assertIn("several plugins take free text: type /echo or /pid TEXT", self.chat("hello\n", c, d).err)

    def test_a_command_among_them(self):
        """It lists its functions itself; what nobody lists may be one of it."""
        done = self.run_mortise(
            "chat",
            "-d",
            "gassist",
            self.b,
            "--",
            PYTHON,
            PLUGIN,
            stdin=b"/count 1\n/log text=x\n/gassist.count to=2\n",
        )
        self.assertIn("several plugins match: type /beta.count or /gassist.count", done.err)
        self.assertEqual(done.out, "1 2 done\n")

    def test_one_that_does_not_start(self):
        """Told; the others are there."""
        self.file("alpha/plugin.py", "raise SystemExit('no numpy')\n")
        done = self.chat("/count 1\n", self.a, self.b)
        self.assertEqual((done.code, done.out), (7, "1 done\n"))
        self.assertTrue(done.err.startswith("crashed: alpha: "), done.err)
        self.file("beta/plugin.py", "raise SystemExit('no numpy')\n")
        done = self.chat("/count 1\n", self.a, self.b)
        self.assertEqual((done.code, len(done.error_lines)), (7, 2), done.err)

    def test_the_same_plugin_twice(self):
        done = self.chat("/count 1\n", self.b, self.b)
        self.assertEqual((done.code, done.out), (4, "1 done\n"))
        self.assertIn("input: beta: there is already a plugin of this name", done.err)


class OnATerminal(Case):
    def setUp(self):
        super().setUp()
        try:
            self.pid, self.fd = pty.fork()
        except OSError as error:  # a bare chroot
            self.skipTest(f"no pseudo-terminal can be had here: {error}")
        if self.pid == 0:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell's background jobs ignore it
            os.execve(
                str(MORTISE),
                ["mortise", "chat", "-d", "gassist", str(PLUGIN)],
                {**self.env, "LC_ALL": "C.UTF-8"},
            )
        self.addCleanup(os.close, self.fd)
        self.addCleanup(self.reap)
        self.code = None
        self.seen = ""
        self.wait_for("gassist> ")

    def reap(self):
        if self.code is None:
            os.kill(self.pid, 9)
            os.waitpid(self.pid, 0)

    def wait_for(self, text):
        """Reads until the text is there; what came is forgotten up to its end."""
        while text not in without_color(self.seen):
            if not select.select([self.fd], [], [], LIMIT)[0]:
                self.fail(f"{text!r} did not come; so far {self.seen!r}")
            try:
                self.seen += os.read(self.fd, 65536).decode()
            except OSError:
                self.fail(f"ended before {text!r}; so far {self.seen!r}")
        before, _, self.seen = without_color(self.seen).partition(text)
        return before

    def type(self, text):
        os.write(self.fd, text.encode())

    def leave(self):
        self.type("\x04")
        return self.drain()

    def drain(self):
        while True:
            if not select.select([self.fd], [], [], LIMIT)[0]:
                self.fail("does not leave")
            try:
                if not os.read(self.fd, 65536):
                    break
            except OSError:
                break
        self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.code

    def test_conversation_editing_history(self):
        self.type("/count to=2\r")
        self.wait_for("1 2 done")
        self.wait_for("gassist> ")
        self.type("talkk\x7f\r")  # Backspace
        self.wait_for("What is your name?")
        self.wait_for("gassist …> ")
        self.type("Zoë\r")
        self.wait_for("Hello Zoë!")
        self.wait_for("gassist …> ")
        self.type("\x1b[A\x1b[A\x1b[A\r")  # three times up: /count again
        self.wait_for("1 2 done")
        self.wait_for("gassist> ")
        self.assertEqual(self.leave(), 0)

    def test_control_c_interrupts_the_request(self):
        self.type("/pid\r")
        first = self.wait_for("gassist> ").split()[-1]
        self.type(f"/hold file={self.dir / 'never'}\r")
        self.wait_for("first ")
        self.type("\x03")
        self.wait_for("interrupted: the plugin was ended with its request")
        self.wait_for("gassist> ")
        self.type("/pid\r")
        second = self.wait_for("gassist> ").split()[-1]
        self.assertNotEqual(first, second)
        self.assertEqual(self.leave(), 0)

    def test_control_d_ahead(self):
        """Typed while a request runs: the chat is left when the request is done."""
        go = self.dir / "go"
        self.type(f"/hold file={go}\r")
        self.wait_for("first ")
        self.type("\x04")
        go.touch()
        self.wait_for("last")
        self.assertEqual(self.drain(), 0)

    def test_control_c_at_the_prompt(self):
        self.type("half a li")
        self.wait_for("half a li")
        self.type("\x03")
        self.wait_for("gassist> ")
        self.type("/count to=1\r")
        self.wait_for("1 done")
        self.assertEqual(self.leave(), 0)

    def test_plugin_dies_at_the_prompt(self):
        """Told above the prompt, which is drawn again with what was typed."""
        self.type("/pid\r")
        pid = int(self.wait_for("gassist> ").split()[-1])
        self.type("abc")
        self.wait_for("abc")
        os.kill(pid, 9)
        self.wait_for("killed by SIGKILL")
        self.wait_for("gassist> abc")
        self.assertEqual(self.leave_after_clearing(), 0)

    def test_tab(self):
        """A function, then a parameter; with several choices they are shown."""
        self.type("/cou\t")
        self.wait_for("nt ")  # what is added; the rest stays on the screen
        self.type("to=1\r")
        self.wait_for("1 done")
        self.wait_for("gassist> ")
        self.type("/e\t\t")
        shown = self.wait_for("gassist> /e")
        self.assertIn("/end ", shown)
        self.assertIn("/echo ", shown)
        self.assertEqual(self.leave_after_clearing(), 0)

    def leave_after_clearing(self):
        self.type("\x15")  # Ctrl-U
        return self.leave()

    def test_the_terminal_is_not_steered(self):
        self.type("/talk\r")
        self.wait_for("gassist …> ")
        self.type("a\x16\x1bb\r")  # Ctrl-V ESC
        self.wait_for("Hello a\\x1bb!")
        self.type("c\u202ed\r")
        self.wait_for("Hello c\\xe2\\x80\\xaed!")
        self.assertEqual(self.leave(), 0)


if __name__ == "__main__":
    unittest.main()
