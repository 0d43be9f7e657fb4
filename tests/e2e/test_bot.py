# SPDX-License-Identifier: Apache-2.0
"""mortise chat --config: a bot with plugins of the ayiou dialect, as its users run it."""
import hashlib
import json
import os
import shutil
import signal
import time
import unittest

from bot_support import BIG, BIGGEST, BotCase, HERE, STAGE, lines, text_call
from support import LIMIT, PYTHON, needs_node


class AsPrinted(BotCase):
    """The listings of the specification, hosted as printed."""

    def test_nobody_has_corrected_them(self):
        for name, digest in (
            ("spec_weather.py", "2bbbdff8d49bb2e6f2f5aea6626ea4356f90cc1dc708341932ffe7205cfab048"),
            ("spec_weather.js", "6f5e55eac310fa22ef122c1a870dac70c5e0a861fd150dcebae74a9e180cecd1"),
        ):
            self.assertEqual(hashlib.sha256((HERE / name).read_bytes()).hexdigest(), digest, name)

    def hosted(self, *command):
        bot = self.bot(("w", command))
        done = self.chat(
            bot,
            {"text": "/weather Beijing", "user_id": 123456},
            {"text": "hello"},
            {"text": "/weather 北京", "user_id": 1, "group_id": BIGGEST},
        )
        self.assertEqual(
            done.rows,
            [text_call("Beijing天气：晴，25°C", "w", 1, 123456), text_call("北京天气：晴，25°C", "w", 3, group=BIGGEST)],
        )
        self.assertRegex(done.err, r"w\)?\| Plugin started!")  # told before or after it has said its name
        self.assertIn("weather (w)| Plugin shutting down!", done.err)
        self.assertIn("ready: 1 of 1 plugins: weather (w)", done.err)

    def test_python(self):
        self.hosted(PYTHON, HERE / "spec_weather.py")

    @needs_node
    def test_node(self):
        self.hosted("node", HERE / "spec_weather.js")


class InTheField(BotCase):
    """The plugins that exist, by their behaviour."""

    @needs_node
    def test_all_six(self):
        bot = self.bot(
            ("polite", [PYTHON, "-u", HERE / "polite.py"]),
            ("py", [PYTHON, HERE / "spec_weather.py"]),
            ("js", ["node", HERE / "spec_weather.js"]),
            ("old", [PYTHON, HERE / "no_lifecycle.py"]),
            ("tpy", [PYTHON, HERE / "template.py"]),
            ("tjs", ["node", HERE / "template.js"]),
        )
        done = self.chat(
            bot,
            {
                "post_type": "meta_event",
                "meta_event_type": "lifecycle",
                "sub_type": "connect",
                "self_id": BIGGEST,
            },
            {"text": "/ping"},
            {"text": "/weather x"},
            {"text": "/old y"},
            {"text": "/mycommand"},
            {"text": "/myjs", "user_id": 7},
            {"text": "/echo [CQ:at,qq=all] & 好"},
            "",
            "{broken",
        )
        self.assertEqual(
            sorted((row["echo"], row["params"]["message"][0]["data"]["text"]) for row in done.rows),
            [
                ("old/4", "old: y"),
                ("polite/2", "Pong!"),
                ("polite/7", "[CQ:at,qq=all] & 好"),
                ("py/3", "x天气：晴，25°C"),
                ("tjs/6", "from Node, for 7"),
                ("tpy/5", "from Python"),
            ],
        )
        self.assertIn(f"polite| connected as {BIGGEST}", done.err)
        self.assertIn("polite| lifecycle shutdown", done.err)
        self.assertIn("input: line 9: not JSON", done.err)
        self.assertNotIn("crashed", done.err)

    @needs_node
    def test_string_style(self):
        """The real bridge's spelling, by quirk: the polite one understands it, the Node listing
        does not react."""
        bot = self.bot(
            ("polite", [PYTHON, "-u", HERE / "polite.py"]), ("js", ["node", HERE / "spec_weather.js"])
        )
        done = self.chat(bot, {"text": "/ping"}, words=("--set", "quirks.lifecycle_style=string"))
        self.assertIn("polite| lifecycle startup", done.err)
        self.assertNotIn("Plugin started!", done.err)

    @needs_node
    def test_node_dies_of_an_exception(self):
        """ReferenceError in its catch: crash and restart are normal life; bot_connect comes again."""
        script = (
            (HERE / "template.js")
            .read_text()
            .replace("startsWith('/myjs')", "startsWith(params.text === 'bad' ? null.x : '/myjs')")
        )
        bot = self.bot(("js", ["node", self.file("dies.js", script)], "auto_restart = true"))
        done = self.chat(bot, {"text": "/myjs"}, {"text": "bad"}, {"text": "/myjs"})
        self.assertEqual([row["echo"] for row in done.rows], ["js/1", "js/3"])
        crashes = [line for line in done.error_lines if line.startswith("crashed: ")]
        self.assertEqual(len(crashes), 1, done.err)
        self.assertIn(
            "crashed: line 2: template-js (js): matches: js: exited with status 1 before it answered",
            crashes[0],
        )


class Walk(BotCase):
    def test_matches_goes_to_all_and_handle_by_priority(self):
        bot = self.bot(
            self.stage("late", "priority = 200", answer={"reply": "late"}),
            self.stage("first", "priority = 1", answer={"reply": "first"}),
            self.stage("b", answer={"reply": "b"}),
            self.stage("a", answer={"reply": "a"}),
        )
        done = self.chat(bot, {"text": "x"})
        self.assertEqual([row["echo"] for row in done.rows], ["first/1", "b/1", "a/1", "late/1"])

    def test_block_stops_the_rest(self):
        """handled false with block true blocks, as upstream does; the others were asked all the same."""
        bot = self.bot(
            self.stage("a", answer={"handled": True, "block": False, "reply": "a"}),
            self.stage("b", answer={"handled": False, "block": True, "reply": "b"}),
            self.stage("c", answer={"reply": "c"}),
        )
        done = self.chat(bot, {"text": "x"})
        self.assertEqual([row["echo"] for row in done.rows], ["a/1", "b/1"])
        self.assertEqual(self.asked("c", "matches"), ["x"])
        self.assertEqual(self.asked("c", "handle"), [])

    def test_no_match_no_handle(self):
        bot = self.bot(
            self.stage("a", match="/a"),
            self.stage("b", answers={"matches": {"matches": "yes"}}),
            self.stage("c", answers={"matches": None}),
        )
        done = self.chat(bot, {"text": "x"}, {"text": "y"})
        self.assertEqual(done.out, "")
        for name in "abc":
            self.assertEqual(self.asked(name, "handle"), [])
        self.assertIn('warning: stage (b): answer to "matches": /matches: must be boolean', done.err)

    def test_reply_first_then_actions(self):
        actions = [
            {"type": "reply", "text": "one @"},
            {"type": "image", "url": "https://example.com/weather.png"},
            {"type": "dance"},
            {"type": "send", "target_type": "group", "target_id": BIG, "message": "to a group"},
            {"type": "send", "target_type": "private", "target_id": str(BIGGEST), "message": "to a person"},
            {"type": "send", "target_type": "channel", "target_id": 1, "message": "no"},
            {"type": "image"},
            7,
            {"type": "send", "target_type": "group", "target_id": 1.5, "message": "no"},
        ]
        bot = self.bot(self.stage("a", answer={"handled": True, "reply": "reply", "actions": actions}))
        done = self.chat(bot, {"text": "x", "user_id": 5, "group_id": 6})
        image = text_call("", "a", 1, group=6)
        image["params"]["message"] = [{"type": "image", "data": {"file": "https://example.com/weather.png"}}]
        self.assertEqual(
            done.rows,
            [
                text_call("reply", "a", 1, group=6),
                text_call("one x", "a", 1, group=6),
                image,
                text_call("to a group", "a", 1, group=BIG),
                text_call("to a person", "a", 1, user=BIGGEST),
            ],
        )
        for part in (
            'action 2 ("dance") is skipped: its type must be reply, image or send',
            "action 5",
            "action 6",
            "action 7",
            "action 8",
        ):
            self.assertIn(part, done.err)

    def test_lenient_results(self):
        bot = self.bot(
            self.stage("a", answer={"actions": None, "reply": None}),
            self.stage("b", answer={"handled": True, "reply": ""}),
            self.stage("c", answers={"handle": None}),
            self.stage("d", answer={"reply": "d"}),
        )
        done = self.chat(bot, {"text": "x"})
        self.assertEqual([row["echo"] for row in done.rows], ["d/1"])

    def test_text_cannot_inject_codes(self):
        bot = self.bot(self.stage("echo", answer={"reply": "@"}))
        done = self.chat(
            bot,
            {
                "post_type": "message",
                "message_type": "private",
                "user_id": 1,
                "raw_message": "…",
                "message": "&#91;CQ:at,qq=all&#93; [CQ:face,id=1]",
            },
        )
        self.assertEqual(
            done.rows[0]["params"]["message"], [{"type": "text", "data": {"text": "[CQ:at,qq=all]"}}]
        )

    def test_errors_go_on_to_the_next(self):
        bot = self.bot(
            self.stage("a", errors={"matches": {"code": -32603, "message": "broken"}}),
            self.stage("b", errors={"handle": {"code": 1, "message": "no luck"}}),
            self.stage("c", answer={"reply": "c"}),
        )
        done = self.chat(bot, {"text": "x"})
        self.assertEqual([row["echo"] for row in done.rows], ["c/1"])
        self.assertIn("plugin_error: line 1: stage (a): matches: a: broken", done.err)
        self.assertIn("plugin_error: line 1: stage (b): handle: b: no luck", done.err)

    def test_error_data_is_shown(self):
        """The specification wants details in error.data."""
        bot = self.bot(
            self.stage(
                "a", errors={"handle": {"code": -32603, "message": "broken", "data": {"reason": "no database"}}}
            ),
            self.stage(
                "b", errors={"handle": {"code": -32603, "message": "broken", "data": {"table": "cities"}}}
            ),
            self.stage("c", errors={"handle": {"code": 1, "message": "no", "data": "only words"}}),
        )
        done = self.chat(bot, {"text": "x"})
        self.assertIn("handle: a: broken (code -32603, Internal error); reason: no database", done.err)
        self.assertIn('handle: b: broken (code -32603, Internal error); data: {"table":"cities"}', done.err)
        self.assertIn("; data: only words", done.err)
        told = [json.loads(line) for line in self.chat(bot, {"text": "x"}, words=("--json",)).error_lines]
        self.assertEqual(
            [one["data"] for one in told if one["event"] == "plugin_error"],
            [{"reason": "no database"}, {"table": "cities"}, "only words"],
        )

    def test_texts_name_the_keys_of_the_file(self):
        bot = self.bot(
            self.stage("slow", "timeout = { matches = \"100ms\" }", slow=["x", 60, "matches"]),
            self.stage("weak", "auto_restart = true", "max_restarts = 0", crash="x"),
            ("gone", ["./no-such-program"]),
        )
        done = self.chat(bot, {"text": "x"}, code=1)
        self.assertIn(
            "in 100 ms (timeout = { matches = \"DURATION\" } in the bot's file sets the limit)", done.err
        )
        self.assertIn(
            "ended 1 times in 20 s and is not started again (max_restarts in the bot's file)", done.err
        )
        self.assertNotIn("mortise.toml", done.err)
        self.assertNotIn("restart.", done.err)
        self.assertNotIn("auto_restart", done.err)  # would not help where there is no program

    def test_params(self):
        """What plugins get, digit for digit; self_id from the event or from connect."""
        bot = self.bot(("p", [PYTHON, HERE / "spec_weather.py"]))
        done = self.chat(
            bot,
            {
                "post_type": "message",
                "message_type": "group",
                "user_id": BIG,
                "group_id": BIGGEST,
                "self_id": 3,
                "message": [{"type": "text", "data": {"text": " /weather 天 "}}],
                "raw_message": " /weather 天 ",
            },
            {"post_type": "meta_event", "meta_event_type": "lifecycle", "sub_type": "connect", "self_id": BIG},
            {"text": "/weather"},
            words=("--show-wire",),
        )
        sent = [json.loads(line[2:])["params"] for line in done.error_lines if line.startswith("> ")]
        self.assertIn(
            {
                "message_type": "group",
                "user_id": BIG,
                "group_id": BIGGEST,
                "text": "/weather 天",
                "raw_message": " /weather 天 ",
                "self_id": 3,
            },
            sent,
        )
        self.assertIn(
            {"text": "/weather 天", "message_type": "group", "user_id": BIG, "group_id": BIGGEST}, sent
        )
        self.assertIn({"event": {"bot_connect": {"self_id": BIG}}}, sent)
        self.assertIn(
            {
                "message_type": "private",
                "user_id": 0,
                "group_id": None,
                "text": "/weather",
                "raw_message": "/weather",
                "self_id": BIG,
            },
            sent,
        )
        self.assertIn('"user_id":9007199254740993', done.err)
        self.assertIn("天", done.err)

    def test_prefilter(self):
        """metadata.commands hides nothing unless it is asked to; then by name and alias, with or
        without a slash."""
        commands = [
            {"name": "weather", "description": "", "aliases": ["天气"]},
            {"name": "/?", "description": ""},
        ]
        bot = self.bot(
            self.stage("open", commands=commands),
            self.stage("closed", "prefilter = true", commands=commands),
            self.stage("none", "prefilter = true"),
        )
        said = ["hello", "/weather x", "weather", "/天气 y", "/?", "say /weather"]
        self.chat(bot, *({"text": text} for text in said))
        self.assertEqual(self.asked("open", "matches"), said)
        self.assertEqual(self.asked("closed", "matches"), ["/weather x", "weather", "/天气 y", "/?"])
        self.assertEqual(self.asked("none", "matches"), said)

    def test_confined(self):
        """Each script may be read, wherever the bot is started, as for `call`."""
        plug = self.dir / "plug"
        plug.mkdir()
        shutil.copy(STAGE, plug / "stage.py")
        part = json.dumps({"answer": {"handled": True, "reply": "@"}})
        bot = self.bot(
            ("a", [PYTHON, "stage.py", part], 'cwd = "plug"'),
            ("b", ["/usr/bin/env", "python3", "plug/stage.py", part]),
            ("c", ["plug/stage.py", part]),
        )
        elsewhere = self.dir / "elsewhere"
        elsewhere.mkdir()
        done = self.run_mortise(
            "chat", "--config", bot, "--confine", stdin=lines({"text": "hi"}), cwd=elsewhere
        )
        self.assertIn("ready: 3 of 3 plugins", done.err)
        self.assertEqual(done.code, 0, done.err)

    def test_order_is_kept(self):
        bot = self.bot(self.stage("a"), self.stage("b", match="7"), self.stage("c"))
        said = [f"{number:04}" for number in range(1500)]
        done = self.chat(bot, *({"text": text} for text in said))
        for name in "abc":
            self.assertTrue(self.asked(name, "matches") == said, name)
        self.assertTrue(self.asked("c", "handle") == said)
        self.assertEqual(self.asked("b", "handle"), [text for text in said if "7" in text])
        self.assertNotIn("overloaded", done.err)

    def test_pipeline(self):
        """With the quirk a plugin has several calls at once; nothing is lost, and the order stays."""
        bot = self.bot(self.stage("a", answer={"reply": "@"}))
        self.file("config/mortise/plugins/a.toml", "[quirks]\npipeline = 8\nbot_connect = \"botconnect\"\n")
        said = [str(number) for number in range(400)]
        connect = {
            "post_type": "meta_event",
            "meta_event_type": "lifecycle",
            "sub_type": "connect",
            "self_id": 5,
        }
        done = self.chat(bot, connect, *({"text": text} for text in said), words=("--show-wire",))
        self.assertEqual([row["params"]["message"][0]["data"]["text"] for row in done.rows], said)
        self.assertEqual(self.asked("a", "lifecycle")[1], '{"botconnect": {"self_id": 5}}')
        most = open_calls = 0
        for line in done.error_lines:
            open_calls += {"> ": 1, "< ": -1}.get(line[:2], 0)
            most = max(most, open_calls)
        self.assertEqual(most, 8)


class Files(BotCase):
    def refused(self, text, part, code=3, kind="manifest"):
        done = self.fails(code, kind, "chat", "--config", self.file("bot.toml", text))
        self.assertIn(part, done.err)

    def test_disabled(self):
        self.refused(
            "[external-plugin-bridge]\nenabled = false\n",
            "bot.toml:2:1: external-plugin-bridge.enabled is false",
        )

    def test_faults(self):
        self.refused(
            "[external-plugin-bridge]\nenabled = true\nplugins.a.args = []\n",
            "plugins.a.command is missing: name the program to run",
        )
        self.refused(
            "[external-plugin-bridge]\nenabled = true\nplugins.a.comand = \"x\"\n",
            'run (there is "comand", which is not known)',
        )
        self.refused("[external", "bot.toml:1:")
        done = self.fails(5, "not_found", "chat", "--config", "no.toml")
        self.assertIn("no.toml: no such file", done.err)

    def test_warnings(self):
        bot = self.bot(self.stage("a", "auto_start = true"), head="")
        done = self.chat(bot)
        self.assertIn("enabled is missing: here that means true", done.err)
        self.assertIn("plugins.a.auto_start is not known and ignored: did you mean \"auto_restart\"?", done.err)

    def test_paths_and_environment(self):
        """Relative to the file, wherever we are."""
        self.file(
            "bots/work/p.py",
            "#!/usr/bin/python3\nimport os, sys\nprint(os.getcwd(), os.environ['KEY'], os.environ['HOME'], file=sys.stderr, flush=True)\n"
            + (HERE / "template.py").read_text(),
        )
        path = self.file(
            "bots/bot.toml",
            '[external-plugin-bridge]\nenabled = true\n[external-plugin-bridge.plugins.p]\n'
            'command = "./p.py"\ncwd = "work"\nenv = { KEY = "value with blanks" }\n',
        )
        done = self.chat(path, {"text": "/mycommand"})
        self.assertEqual(len(done.rows), 1)
        self.assertIn(f"p| {self.dir}/bots/work value with blanks {self.env['HOME']}", done.err)

    def test_two_bots_of_one_name(self):
        """The key identifies; metadata.name is shown."""
        bot = self.bot(
            self.stage("one", name="twin", answer={"reply": "@"}),
            self.stage("two", name="twin", answer={"reply": "@"}),
        )
        done = self.chat(bot, {"text": "x"})
        self.assertIn("ready: 2 of 2 plugins: twin (one), twin (two)", done.err)
        self.assertEqual([row["echo"] for row in done.rows], ["one/1", "two/1"])


class Input(BotCase):
    def test_lines(self):
        bot = self.bot(self.stage("a", answer={"reply": "@"}))
        stdin = (
            '\r\n{"text":"1"}\r\n\nnot json\n[]\n{"text":"2","user_id":1.5}\n{"post_type":"notice"}\n'
            '{"status":"failed","retcode":100,"msg":"no such group","echo":"a/2"}\n{"status":"ok","retcode":0}\n{"text":"last"}'
        )
        done = self.run_mortise("chat", "--config", bot, stdin=stdin.encode())
        self.assertEqual(done.code, 0)
        self.assertEqual([row["echo"] for row in done.rows], ["a/2", "a/10"])
        for part in (
            "input: line 4: not JSON",
            "input: line 5: an event is an object, not array",
            "input: line 6: user_id must be a whole number",
            "refused: line 8: the chat network did not do what a/2 asked: no such group",
        ):
            self.assertIn(part, done.err)

    def test_too_long(self):
        bot = self.bot(self.stage("a", answer={"reply": "@"}))
        long = b'{"text":"' + b"x" * (17 << 20) + b'"}\n'
        done = self.run_mortise("chat", "--config", bot, stdin=long + b'{"text":"after"}\n')
        self.assertEqual([row["echo"] for row in done.rows], ["a/2"])
        self.assertIn("input: line 1: longer than 16 MiB: skipped", done.err)

    def test_answers_come_while_input_is_open(self):
        process = self.start(self.bot(self.stage("a", answer={"reply": "@"})))
        for text in ("one", "two"):
            process.stdin.write(json.dumps({"text": text}) + "\n")
            process.stdin.flush()
            self.assertIn(text, process.stdout.readline())
        process.stdin.close()
        self.assertEqual(process.wait(LIMIT), 0)

    def test_json(self):
        bot = self.bot(self.stage("a", name="shown", crash="x"))
        done = self.chat(bot, {"text": "x"}, "nonsense", words=("--json",), code=1)
        told = [json.loads(line) for line in done.error_lines]
        self.assertEqual(
            [one["event"] for one in told if one["event"] != "stderr"], ["ready", "input", "crashed", "dead"]
        )
        self.assertEqual(told[-1]["plugin"], "a")
        crash = next(one for one in told if one["event"] == "crashed")
        self.assertEqual((crash["plugin"], crash["name"], crash["line"]), ("a", "shown (a)", 1))


class Signals(BotCase):
    def test_polite(self):
        """What is under way may still be answered; plugins hear of the end; nothing is left."""
        for number in (signal.SIGINT, signal.SIGTERM):
            gate = self.gate()
            bot = self.bot(self.stage("a", gate=["slow", str(gate)], answer={"reply": "@"}))
            process = self.start(bot, "-v", "--show-wire", "--set", "stop.bye=900s", "--set", "stop.term=1000s")
            process.stdin.write('{"text":"slow"}\n')
            process.stdin.flush()
            self.until(process.stderr, '"method":"handle"')
            process.send_signal(number)
            err = ""
            while "-> draining" not in err:
                self.assertTrue(line := process.stderr.readline(), err)
                err += line
            gate.open()
            out, err = (
                process.stdout.read(),
                err + process.stderr.read(),
            )  # communicate() skips what was read ahead
            self.assertEqual(process.wait(LIMIT), 128 + number)
            self.assertIn('"text":"slow"', out)
            self.assertIn('"shutdown":null', err)
            self.assertIn("draining -> stopped", err)
            self.assertIn(f"cancelled: interrupted by signal {int(number)}", err)

    def test_twice(self):
        bot = self.bot(self.stage("a", slow=["slow", 1000, "handle"]))
        process = self.start(bot, "-v", "--show-wire", "--set", "stop.bye=900s", "--set", "stop.term=1000s")
        process.stdin.write('{"text":"slow"}\n')
        process.stdin.flush()
        self.until(process.stderr, '"method":"handle"')
        process.send_signal(signal.SIGINT)
        self.until(process.stderr, "-> draining")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=LIMIT)
        self.assertEqual(process.returncode, 130)

    def test_while_starting(self):
        bot = self.bot(self.stage("a", silent=["metadata"]))
        process = self.start(bot, "-v")
        self.until(process.stderr, "-> greeting")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=LIMIT)
        self.assertEqual(process.returncode, 143)

    def test_reader_gone(self):
        bot = self.bot(self.stage("a", answer={"reply": "@"}))
        process = self.start(bot)
        process.stdout.close()
        deadline = time.monotonic() + LIMIT
        try:
            while process.poll() is None and time.monotonic() < deadline:
                process.stdin.write('{"text":"x"}\n')
                process.stdin.flush()
                time.sleep(0.01)
        except BrokenPipeError:
            pass
        self.assertEqual(process.wait(LIMIT), 141)


if __name__ == "__main__":
    unittest.main()
