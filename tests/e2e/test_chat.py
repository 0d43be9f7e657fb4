"""mortise chat: functions and conversations, from a file and on a terminal."""
import json
import os
import pty
import select
import signal
import unittest

from support import Case, LIMIT, MORTISE, PLUGINS, without_color

PLUGIN = PLUGINS / "gassist.py"


class FromAFile(Case):
    def chat(self, text, *args, **how):
        return self.run_mortise("chat", "-d", "gassist", PLUGIN, *args, stdin=text.encode(), **how)

    def test_conversation(self):
        done = self.chat("/talk\nAda\nexit\n")
        self.assertEqual((done.code, done.out, done.err), (0, "What is your name?\nHello Ada!\nBye.\n", ""))

    def test_echo(self):
        done = self.chat("/talk\nZoë 中文\n/end\n", "--echo")
        self.assertEqual(done.out, "gassist> /talk\nWhat is your name?\ngassist …> Zoë 中文\nHello Zoë 中文!\ngassist …> /end\nBye.\n")

    def test_function_without_slash(self):
        """Outside a conversation the name of a function is enough."""
        self.assertEqual(self.chat("count to=2\n").out, "1 2 done\n")

    def test_text_without_conversation(self):
        done = self.chat("hello\n/count to=1\n")
        self.assertEqual((done.code, done.out), (4, "1 done\n"))
        self.assertIn("input: the plugin waits for no input: call a function first", done.err)

    def test_words(self):
        done = self.chat("/echo a='x y' b=\"it's\" c=d\\ e f:=[1]\n/echo {\"g\": {\"h\": 1}}\n")
        self.assertEqual([row["arguments"] for row in done.rows], [{"a": "x y", "b": "it's", "c": "d e", "f": [1]}, {"g": {"h": 1}}])
        done = self.chat("/echo a='x\n")
        self.assertEqual(done.code, 4)
        self.assertIn("a quote is open", done.err)

    def test_slash_in_a_conversation(self):
        """//text is text; /function calls one also while the plugin waits."""
        self.assertEqual(self.chat("/talk\n//etc\n/count to=1\n").out, "What is your name?\nHello /etc!\n1 done\n")

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

    def test_quit(self):
        self.assertEqual(self.chat("/quit\n/count\n").out, "")

    def test_end_without_conversation(self):
        self.assertEqual(self.chat("/end\n").code, 4)

    def test_end_of_a_stubborn_plugin(self):
        """One that keeps the session although it was told "exit" is stopped; the next request starts it anew."""
        plugin = self.file("stubborn.py", PLUGIN.read_text().replace('if text == "exit":', 'if text == "never":'))
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

    def test_start_fails(self):
        self.fails(7, "crashed", "chat", "-d", "gassist", "--", "/bin/false")
        self.fails(5, "not_found", "chat", "-d", "gassist", "--", "/nonexistent/plugin")
        self.fails(2, "usage", "chat")
        self.fails(2, "usage", "chat", "-d", "gassist", PLUGIN, "count")

    def test_context(self):
        done = self.chat("/echo\n", "--context", "[]", "--system-info", "x")
        self.assertEqual(done.json, {"function": "echo", "arguments": {}, "context": [], "system_info": "x"})

    def test_control_characters_reach_a_pipe(self):
        done = self.chat('/refuse text="x"\n/talk\n\x1b[31mred\n')
        self.assertIn("Hello \x1b[31mred!", done.out)


class OnATerminal(Case):
    def setUp(self):
        super().setUp()
        try:
            self.pid, self.fd = pty.fork()
        except OSError as error:  # a bare chroot
            self.skipTest(f"no pseudo-terminal can be had here: {error}")
        if self.pid == 0:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell's background jobs ignore it
            os.execve(str(MORTISE), ["mortise", "chat", "-d", "gassist", str(PLUGIN)], {**self.env, "LC_ALL": "C.UTF-8"})
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

    def leave_after_clearing(self):
        self.type("\x15")  # Ctrl-U
        return self.leave()

    def test_the_terminal_is_not_steered(self):
        self.type("/talk\r")
        self.wait_for("gassist …> ")
        self.type("a\x16\x1bb\r")  # Ctrl-V ESC
        self.wait_for("Hello a\\x1bb!")
        self.assertEqual(self.leave(), 0)


if __name__ == "__main__":
    unittest.main()
