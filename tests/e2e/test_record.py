# SPDX-License-Identifier: Apache-2.0
"""mortise record: no byte changes, everything is written down, secrets are not, and the file is safe."""
import hashlib
import json
import os
import pty
import re
import resource
import signal
import stat
import subprocess
import unittest

import events
from support import BUILD, ECHO, LIMIT, MORTISE, PLUGINS, PYTHON, needs_node
from talk_support import FRAMINGS, Talks, frame, request

ECHO_C = BUILD / "tests" / "api" / "api-echo-plugin"


class Bytes(Talks):
    def test_every_byte(self):
        """Messages, prints, half messages and rubbish, in each framing and each direction."""
        big = json.dumps({"text": "x" * 3_000_000}).encode()
        for framing in FRAMINGS:
            data = b"".join(frame(framing, body) for body in (request(1), big, request("a"), b"[1,2]", b"{}"))
            for end in (b"", b"{\"half", b"\x00\x00\x00", b"123", b"Content-Length: 9\r\n"):
                done = self.record("--", "cat", stdin=data + end)
                self.assertEqual((done.returncode, done.stdout == data + end), (0, True), (framing, end))
                said = self.lines()
                self.assertEqual(said[0], f"talk 1 plain framing={framing}")
                for mark in "<>":
                    told = [line[2:] for line in said if line.startswith(mark + " ")]
                    self.assertEqual(told[:2], [request(1).decode(), big.decode()], framing)
        rubbish = os.urandom(100_000)
        self.assertEqual(self.record("--", "cat", stdin=rubbish).stdout, rubbish)
        self.assertEqual(self.ok("talk", "fmt", "--check", "x.talk").out, "")

    def test_noise_is_raw(self):
        noise = b"Ready.\n\xff\x00 bytes\n" + request(1) + b"\n{broken\n"
        done = self.record("--", "cat", self.file("said", noise))
        self.assertEqual(done.stdout, noise)
        self.assertEqual(
            [line for line in self.lines() if line != ">."],
            [
                "talk 1 plain framing=lines",
                "<b Ready.\\n",
                "<b \\xff\\x00 bytes\\n",
                "< " + request(1).decode(),
                "<b {broken\\n",
                "<.",
                "= exit 0",
            ],
        )

    def test_what_looks_like_a_pattern(self):
        """Strings with $, ... and the character that patterns mark with stay what they are."""
        odd = [b'{"a":"$x ...","b":"\\u0001mark"}', b'{"a":"$x ...","b":["..."]}']
        done = self.record("--", "cat", stdin=b"\n".join(odd) + b"\n")
        self.assertEqual(done.stdout, b"\n".join(odd) + b"\n")
        self.assertIn(">b " + odd[0].decode().replace("\\", "\\\\") + "\\n", self.lines())
        self.assertIn("> " + odd[1].decode(), self.lines())

    def test_pretty_json_is_one_line(self):
        body = json.dumps({"id": 1, "method": "x", "params": {"a": [1, 2]}}, indent=2).encode()
        self.record("--", "cat", stdin=frame("headers", body))
        told = [line for line in self.lines() if line.startswith("> ")]
        self.assertEqual([json.loads(line[2:]) for line in told], [json.loads(body)])

    def test_large_message(self):
        """100 MB pass; the file says what it left out; memory stays small."""
        program = (
            "import sys\n"
            "sys.stdout.write('{\"big\":\"')\n"
            "for _ in range(100): sys.stdout.write('x' * 1_000_000)\n"
            "sys.stdout.write('\"}\\n')\n"
        )
        reader = "import sys, hashlib; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())"
        command = [MORTISE, "record", "-o", self.dir / "big.talk", "--", PYTHON, "-c", program]
        run = subprocess.Popen(command, stdout=subprocess.PIPE, env=self.env)
        self.addCleanup(run.stdout.close)
        sums = subprocess.run([PYTHON, "-c", reader], stdin=run.stdout, capture_output=True, timeout=LIMIT)
        usage = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(usage[1])
        want = hashlib.sha256(b'{"big":"' + b"x" * 100_000_000 + b'"}\n').hexdigest()
        self.assertEqual((run.returncode, sums.stdout.decode().strip()), (0, want))
        text = (self.dir / "big.talk").read_text()
        self.assertIn("# left out: ", text)
        self.assertIn("\n< ...\n", text)
        self.assertLess(len(text), 1000)
        if "sanitize" not in str(BUILD):
            self.assertLess(usage[2].ru_maxrss, 90_000)  # KiB: two buffers of 16 MiB, and what growing takes
        done = self.record("--limit", "200M", "--", PYTHON, "-c", program)
        self.assertGreater((self.dir / "x.talk").stat().st_size, 100_000_000)
        self.assertEqual(done.returncode, 0)


class Ends(Talks):
    def test_status(self):
        self.assertEqual(self.record("--", "sh", "-c", "exit 41").returncode, 41)
        self.assertEqual(self.lines()[-1], "= exit 41")
        for name in ("SEGV", "KILL", "TERM"):
            done = self.record("--", "sh", "-c", f"kill -{name} $$")
            self.assertEqual(done.returncode, -getattr(signal, "SIG" + name))
            self.assertEqual(self.lines()[-1], f"= signal {name}")

    def test_closed_ends(self):
        process = self.start(
            "record", "-o", "a.talk", "--", "sh", "-c", "echo '{}'; exec >&-; read line; exit 3"
        )
        self.assertEqual(process.stdout.read(), b"{}\n")  # to the end, while it runs
        self.assertIsNone(process.poll())
        process.stdin.close()
        self.assertEqual(process.wait(LIMIT), 3)
        self.assertEqual(self.lines("a.talk")[1:], ["< {}", "<.", ">.", "= exit 3"])
        process = self.start("record", "-o", "b.talk", "--", "yes", "{}")
        process.stdout.readline()
        process.stdout.close()
        self.assertEqual(process.wait(LIMIT), -signal.SIGPIPE)
        self.assertEqual(self.lines("b.talk")[-1], "= signal PIPE")

    def test_back_pressure(self):
        """A host that does not read stops the plugin, and what it reads later is whole."""
        program = "import sys\nfor i in range(20000): print('{\"n\":%d}' % i)\nprint('done', file=sys.stderr)"
        process = self.start("record", "-o", "x.talk", "--", PYTHON, "-c", program)
        got = process.stdout.read()
        self.assertEqual(got, b"".join(b'{"n":%d}\n' % i for i in range(20000)))
        self.assertEqual(process.wait(LIMIT), 0)
        self.assertEqual(len([line for line in self.lines() if line.startswith("< ")]), 20000)

    def test_signals(self):
        process = self.start("record", "-o", "x.talk", "--", PYTHON, PLUGINS / "leaves_by_signal.py", "15")
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        status = process.wait(LIMIT)
        said = self.lines()
        self.assertIn(">s TERM", said)
        self.assertEqual(said[-1], f"= exit {status}" if status >= 0 else "= signal TERM")

    def test_stderr(self):
        program = "import sys; print('one', file=sys.stderr); sys.stderr.write('two\\x1b[0m'); print('{}')"
        done = self.record("--", PYTHON, "-c", program)
        self.assertEqual(done.stderr, b"one\ntwo\x1b[0m")
        told = [line for line in self.lines() if line.startswith("2 ")]
        self.assertEqual(told, ["2 one", "2 two\\x1b[0m"])

    def test_plugin_is_killed(self):
        program = "import os; print('{\"pid\":%d}' % os.getpid(), flush=True); input(); input()"
        process = self.start("record", "-o", "x.talk", "--", PYTHON, "-c", program)
        pid = json.loads(process.stdout.readline())["pid"]
        os.kill(pid, signal.SIGKILL)
        self.assertEqual(process.wait(LIMIT), -signal.SIGKILL)
        self.assertEqual(self.lines()[-1], "= signal KILL")

    def test_recorder_is_killed(self):
        """The plugin does not outlive it, and the file has what was said."""
        process = self.start("record", "-o", "x.talk", "--", ECHO)
        process.stdin.write(request(1, "echo", a=1) + b"\n")
        process.stdin.flush()
        process.stdout.readline()
        events.until(lambda: "< " in (self.dir / "x.talk").read_text(), self.dir)
        children = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True, check=True
        ).stdout.split()
        self.assertTrue(children)
        process.kill()
        process.wait(LIMIT)
        self.assertEqual(events.until_ended(map(int, children)), [])
        self.assertEqual(self.lines()[1], "> " + request(1, "echo", a=1).decode())
        self.assertEqual(len(self.lines()), 3)

    def test_host_is_killed(self):
        """The plugin sees its stdin end, as without the recorder."""
        path = self.dir / "x.talk"
        host = subprocess.Popen(
            [
                PYTHON,
                "-c",
                "import subprocess, sys\n"
                "p = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
                "p.stdin.write(b'{\"id\":1,\"method\":\"echo\",\"params\":{}}\\n'); p.stdin.flush()\n"
                "p.stdout.readline(); print(p.pid, flush=True); input()",
                MORTISE,
                "record",
                "-o",
                path,
                "--",
                ECHO,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self.env,
        )
        self.addCleanup(host.stdin.close)
        self.addCleanup(host.stdout.close)
        recorder = int(host.stdout.readline())
        host.kill()
        host.wait(LIMIT)
        self.assertEqual(events.until_ended([recorder]), [])
        self.assertIn(">.", self.lines())
        self.assertEqual(self.lines()[-1], "= exit 0")


class Files(Talks):
    def test_mode_and_links(self):
        self.record("--", "true")
        self.assertEqual(stat.S_IMODE((self.dir / "x.talk").stat().st_mode), 0o600)
        self.file("mine", "precious")
        for name in ("mine", "link"):
            if name == "link":
                os.symlink("mine", self.dir / "link")
            done = self.fails(4, "input", "record", "-o", name, "--", "true")
            self.assertIn(f"{name} is there already; to replace it, add --force", done.err)
            self.assertEqual((self.dir / "mine").read_text(), "precious")
        self.ok("record", "--force", "-o", "link", "--", "true")
        self.assertEqual((self.dir / "mine").read_text(), "precious")
        self.assertFalse((self.dir / "link").is_symlink())

    def test_a_file_per_process(self):
        self.ok("record", "-o", "s-%p.talk", "--", "true")
        self.ok("record", "-o", "s-%p.talk", "--", "true")
        names = [path.name for path in self.dir.glob("s-*.talk")]
        self.assertEqual(len(names), 2)
        self.assertRegex(names[0], r"^s-\d+\.talk$")

    def test_no_plugin_no_file(self):
        self.fails(5, "not_found", "record", "-o", "x.talk", "--", "/nonexistent")
        self.assertFalse((self.dir / "x.talk").exists())

    def test_full_disk(self):
        """The conversation goes on; one line says that the recording does not."""

        def small():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

        data = b"".join(request(n) + b"\n" for n in range(1000))
        done = self.record("--", "cat", stdin=data, preexec_fn=small)
        self.assertEqual((done.returncode, done.stdout == data), (0, True))
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertRegex(done.stderr.decode(), r"^warning: x\.talk: .*: the recording ends here")

    def test_report(self):
        done = self.record("--json", "--", "cat", stdin=request(1) + b"\n")
        self.assertEqual(
            json.loads(done.stderr),
            {"file": "x.talk", "messages_to_plugin": 1, "messages_to_host": 1, "complete": True},
        )
        done = self.record("-v", "--", "true")
        self.assertEqual(done.stderr, b"record: 0 messages to the plugin, 0 from it, in x.talk\n")

    def test_in_a_terminal(self):
        """Nobody sends messages there: it says so, and ends with its input."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [str(MORTISE), "record", "-o", "x.talk", "--", "cat"],
            stdin=theirs,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=self.env,
            cwd=self.dir,
        )
        self.addCleanup(process.stderr.close)
        os.close(theirs)
        self.assertIn(b"waits for messages on stdin, which is this terminal", process.stderr.readline())
        os.write(ours, b"\x04")
        self.assertEqual(process.wait(LIMIT), 0)
        os.close(ours)

    def test_usage(self):
        self.assertIn("-o FILE", self.fails(2, "usage", "record", "--", "true").err)
        self.fails(2, "usage", "record", "-o", "x.talk")
        self.fails(5, "not_found", "record", "-o", "x.talk", "-d", "yam", "--", "true")


class Inside(Talks):
    """--record of the commands that hold a conversation: no process between them and the plugin."""

    def test_call(self):
        self.ok("call", ECHO, "echo", "x=1", "api_key=abc", "--record", self.dir / "x.talk")
        self.assertEqual(stat.S_IMODE((self.dir / "x.talk").stat().st_mode), 0o600)
        asked = '{"jsonrpc":"2.0","id":1,"method":"echo","params":{"x":1,"api_key":$secret_api_key_1}}'
        self.assertEqual(
            self.lines(),
            [
                "talk 1 plain framing=lines",
                "> " + asked,
                '< {"jsonrpc": "2.0", "id": 1, "result": {"x": 1, "api_key": $secret_api_key_1}}',
            ],
        )
        self.assertIn("\n# the end: echo: exited with status 0", (self.dir / "x.talk").read_text())
        self.ok("replay", self.dir / "x.talk", ECHO)

    def test_a_file_that_is_there(self):
        self.file("x.talk", "precious")
        done = self.fails(4, "input", "call", ECHO, "echo", "--record", self.dir / "x.talk")
        self.assertIn("x.talk is there already; remove it, or choose another name", done.err)
        self.assertEqual((self.dir / "x.talk").read_text(), "precious")

    def test_nothing_said_no_file(self):
        self.fails(5, "not_found", "call", "--record", self.dir / "x.talk", "x", "--", "/nonexistent")
        self.assertFalse((self.dir / "x.talk").exists())

    def test_noise_stderr_and_the_end(self):
        program = "import sys; print('Ready.', flush=True); sys.exit('token=abc is wrong')"
        self.fails(7, "crashed", "call", "--record", self.dir / "x.talk", "x", "--", PYTHON, "-c", program)
        text = (self.dir / "x.talk").read_text()
        self.assertIn("\n# not a message: Ready.\n", text)
        self.assertIn("\n2 token=*** is wrong\n", text)
        self.assertIn("\n# the end: python3", text)
        self.assertNotIn("abc", text)

    def test_show_wire_too(self):
        done = self.run_mortise("call", ECHO, "echo", "--show-wire", "--record", self.dir / "x.talk")
        self.assertEqual([line[:1] for line in done.err.splitlines()], [">", "<"])
        self.assertEqual(len(self.lines()), 3)

    @needs_node
    def test_run_and_chat(self):
        lookout = BUILD / "plugins" / "lookout"
        self.ok("run", lookout, "disk", f"path={self.dir}", "--record", self.dir / "run.talk")
        self.assertEqual(self.lines("run.talk")[0], "talk 1 gassist framing=be32")
        self.ok("chat", ECHO, "--record", self.dir / "chat.talk", stdin=b"/echo x=1\n/echo x=2\n")
        self.assertEqual([line[:1] for line in self.lines("chat.talk")], ["t", ">", "<", ">", "<"])
        self.ok("replay", self.dir / "chat.talk", ECHO)

    def test_one_plugin_has_the_file(self):
        other = self.file("other.py", ECHO.read_text())
        other.chmod(0o755)
        done = self.run_mortise(
            "chat", ECHO, other, "--record", self.dir / "x.talk",
            stdin=b"/echo.echo x=1\n/other.echo x=2\n",
        )  # fmt: skip
        self.assertEqual(len(self.lines()), 3)
        self.assertEqual(done.err.count("only what echo says is recorded"), 1)
        self.fails(2, "usage", "chat", "--config", self.file("bot.toml", ""), "--record", self.dir / "y.talk")


class Dialects(Talks):
    def test_found_from_the_first_message(self):
        for first, framing, dialect in (
            (b'{"id":1,"method":"handshake.manifest"}', "lines", "yams"),
            (b'{"id":1,"method":"initialize","params":{}}', "be32", "gassist"),
            (b'{"id":1,"method":"metadata"}', "lines", "ayiou"),
            (b'{"id":1,"method":"sunscreen.command/run"}', "headers", "sunscreen-json"),
            (b'{"id":1,"method":"initialize","params":{}}', "headers", "plain"),
            (b'{"id":1,"method":"add"}', "lines", "plain"),
        ):
            self.record("--", "true", stdin=frame(framing, first))
            self.record("--", "cat", stdin=frame(framing, first))
            self.assertEqual(self.lines()[0], f"talk 1 {dialect} framing={framing}")
        self.record("-d", "yams", "--", "cat", stdin=b'{"id":1,"method":"add"}\n')
        self.assertEqual(self.lines()[0], "talk 1 yams framing=lines")
        said = self.file("said", frame("decimal", b'{"id":1,"method":"init","params":{}}'))
        self.record("--", "cat", said)
        self.assertEqual(self.lines()[0], "talk 1 kythe framing=decimal")

    def test_manifest(self):
        plugin = self.plugin("yam")
        recorder = [MORTISE, "record", "-o", "x.talk", plugin]
        self.ok("call", "extractor.supports", "mime_type=a/b", "extension=.b", "-d", "yams", "--", *recorder)
        self.assertEqual(self.lines()[0].split()[:3], ["talk", "1", "yams"])


class Secrets(Talks):
    SECRET = "hunter2-and-more"

    def told(self, body, *options):
        done = self.record(*options, "--", "cat", stdin=body + b"\n")
        self.assertEqual(done.stdout, body + b"\n")
        return (self.dir / "x.talk").read_text()

    def test_names(self):
        for name in (
            "token password passwd secret apiKey api_key API-KEY access_token refreshToken GITHUB_TOKEN "
            "authorization Proxy-Authorization cookie Set-Cookie client_secret private_key passphrase auth pwd "
            "credentials db_password secretAccessKey jwt"
        ).split():
            body = json.dumps({"id": 1, "method": "m", "params": {"a": [{name: self.SECRET}]}}).encode()
            text = self.told(body)
            self.assertNotIn("hunter2", text, name)
            self.assertRegex(text, r'"[^"]+": ?\$secret_\w+_1', name)
        for name in ("tokens", "max_tokens", "author", "key", "passed", "secretary"):
            body = json.dumps({"id": 1, "method": "m", "params": {name: self.SECRET}}).encode()
            self.assertIn("hunter2", self.told(body), name)

    def test_values_of_all_kinds(self):
        for value in (
            self.SECRET,
            {"user": "u", "x": [self.SECRET, "]}"]},
            [self.SECRET, {"a": "\\\""}],
            123456.5,
        ):
            body = json.dumps({"before": 1, "password": value, "after": [2]}).encode()
            text = self.told(body)
            self.assertIn('{"before": 1, "password": $secret_password_1, "after": [2]}', text)
        for harmless in (None, True, ""):
            body = json.dumps({"password": harmless}).encode()
            self.assertIn(body.decode(), self.told(body))

    def test_same_value_same_name(self):
        body = b'{"token":"a","api_key":"b","x":{"session_token":"a"}}'
        self.assertIn(
            '{"token":$secret_token_1,"api_key":$secret_api_key_2,"x":{"session_token":$secret_token_1}}',
            self.told(body),
        )

    def test_escaped_names(self):
        body = b'{"\\u0074oken":"hunter2","pass\\u0077ord" : "hunter2"}'
        self.assertNotIn("hunter2", self.told(body))

    def test_options(self):
        body = b'{"pin":"1234","token":"t"}'
        text = self.told(body, "--secret", "PIN", "--keep", "token")
        self.assertIn('"pin":$secret_pin_1,"token":"t"', text)

    def test_text(self):
        """Noise and stderr: names with a value behind them."""
        program = (
            "import sys\n"
            "print('password=hunter2 next')\n"
            "print('Authorization: Bearer hunter2 hunter2')\n"
            "print('{\"api_key\": \"hunter2\"')\n"
            "print(\"token: 'hunter2', ok\", file=sys.stderr)\n"
            "print('Cookie: a=hunter2; b=hunter2', file=sys.stderr)\n"
        )
        done = self.record("--", PYTHON, "-c", program)
        self.assertEqual(done.stdout.count(b"hunter2"), 4)
        text = (self.dir / "x.talk").read_text()
        self.assertNotIn("hunter2", text)
        self.assertIn("<b password=*** next\\n", text)
        self.assertIn("2 token: '***', ok", text)

    def test_environment_is_not_recorded(self):
        self.env["MY_ENVIRONMENT"] = self.SECRET
        self.assertNotIn("hunter2", self.told(b'{"id":1}'))


class Times(Talks):
    def test_waits_add_up(self):
        """What passes between two lines is told; the plugin waits for the file of the test."""
        gate = events.Gate(self.dir / "gate")
        self.addCleanup(gate.forget)
        program = (
            "import fcntl, sys\nprint('{\"a\":1}', flush=True)\n"
            "fcntl.flock(open(sys.argv[1]), fcntl.LOCK_SH)\nprint('{\"b\":1}', flush=True)"
        )
        process = self.start("record", "-o", "x.talk", "--", PYTHON, "-c", program, gate)
        process.stdout.readline()
        events.until(lambda: "< " in (self.dir / "x.talk").read_text(), self.dir)
        gate.open()
        process.stdout.readline()
        process.wait(LIMIT)
        text = (self.dir / "x.talk").read_text()
        self.assertTrue(
            all(re.fullmatch(r"~ \d+ms", line) for line in text.splitlines() if line[0] == "~"), text
        )


if __name__ == "__main__":
    unittest.main()
