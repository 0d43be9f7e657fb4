# SPDX-License-Identifier: Apache-2.0
"""mortise chat --config: a bot with plugins of the ayiou dialect, as its users run it."""
import hashlib
import json
import os
import signal
import subprocess
import time
import unittest

import bot_load
from bot_support import BIG, BIGGEST, BotCase, HERE, lines, STAGE, text_call
from support import Case, LIMIT, MORTISE, PYTHON


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

    def test_node(self):
        self.hosted("node", HERE / "spec_weather.js")


class InTheField(BotCase):
    """The plugins that exist, by their behaviour."""

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

    def test_string_style(self):
        """The real bridge's spelling, by quirk: the polite one understands it, the Node listing
        does not react."""
        bot = self.bot(
            ("polite", [PYTHON, "-u", HERE / "polite.py"]), ("js", ["node", HERE / "spec_weather.js"])
        )
        done = self.chat(bot, {"text": "/ping"}, words=("--set", "quirks.lifecycle_style=string"))
        self.assertIn("polite| lifecycle startup", done.err)
        self.assertNotIn("Plugin started!", done.err)

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
            self.stage("slow", "timeout = { matches = \"100ms\" }", silent=["matches"]),
            self.stage("weak", "auto_restart = true", "max_restarts = 0", crash="x"),
            ("gone", ["./no-such-program"]),
        )
        done = self.chat(bot, {"text": "x"}, code=1)
        self.assertIn(
            "in 100 ms (timeout = { matches = \"DURATION\" } in the bot's file gives it longer)", done.err
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


class Slow(BotCase):
    def test_a_slow_plugin_delays_only_what_must_pass_it(self):
        """While one plugin handles, an event that a plugin before it blocks comes out at once."""
        gate = self.gate()
        process = self.start(
            self.bot(
                self.stage("quick", match="quick", answer={"block": True, "reply": "@"}),
                self.stage("slow", match="slow", gate=["slow", str(gate)], answer={"reply": "@"}),
            )
        )
        process.stdin.write(lines({"text": "slow"}, {"text": "other"}, {"text": "quick"}).decode())
        process.stdin.close()
        self.assertEqual(json.loads(process.stdout.readline())["echo"], "quick/3")
        gate.open()
        self.assertEqual(json.loads(process.stdout.readline())["echo"], "slow/1")
        self.assertEqual(process.wait(LIMIT), 0)

    def test_matches_limit(self):
        """A plugin that does not answer matches is passed by after its limit; it does not hold the next
        ones for longer."""
        bot = self.bot(
            self.stage("hung", "timeout = { matches = \"200ms\" }", slow=["x", 1, "matches"]),
            self.stage("next", answer={"reply": "@"}),
        )
        done = self.chat(bot, {"text": "x1"}, {"text": "x2"})
        self.assertEqual([row["echo"] for row in done.rows], ["next/1", "next/2"])
        self.assertIn(
            "timeout: line 1: stage (hung): matches: hung: no reply to \"matches\" in 200 ms", done.err
        )
        self.assertIn("timeout: line 2: stage (hung)", done.err)

    def test_a_late_answer_poisons_nothing(self):
        bot = self.bot(
            self.stage(
                "s",
                "timeout = { handle = \"2s\", matches = \"20s\" }",
                slow=["slow", 3, "handle"],
                answer={"reply": "@"},
            )
        )
        done = self.chat(bot, {"text": "slow"}, {"text": "a"}, {"text": "b"})
        self.assertEqual([row["echo"] for row in done.rows], ["s/2", "s/3"])
        self.assertEqual(len([line for line in done.error_lines if line.startswith("timeout: line 1: ")]), 1)

    def test_overloaded(self):
        """1,024 wait; the next events pass the plugin by, each with an event that says so, and
        reach the others."""
        gate = self.gate()
        bot = self.bot(self.stage("stuck", "timeout = \"60s\"", gate=["begin", str(gate)]), self.stage("other"))
        events = self.file(
            "events", lines({"text": "begin"}, *({"text": f"{number}"} for number in range(1300)))
        )
        with open(events, "rb") as stdin:
            process = subprocess.Popen(
                [str(MORTISE), "chat", "--json", "--config", str(bot)],
                stdin=stdin,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=self.env,
                text=True,
            )
        self.addCleanup(process.stderr.close)
        passed = []
        for line in process.stderr:
            told = json.loads(line)
            if told["event"] == "overloaded":
                passed.append(told)
                gate.open()
        self.assertEqual(process.wait(LIMIT), 0)
        self.assertTrue(passed)
        self.assertEqual(passed[0]["plugin"], "stuck")
        self.assertIn("1024 events wait for it already", passed[0]["text"])
        self.assertEqual(len(self.asked("stuck", "matches")) + len(passed), 1301)
        self.assertEqual(len(self.asked("other", "matches")), 1301)

    def test_noise_and_unknown_ids(self):
        bot = self.bot(
            self.stage("loud", noise="hello world", answer={"reply": "@"}),
            self.stage("odd", noise='{"jsonrpc":"2.0","id":999,"result":null}', answer={"reply": "@"}),
        )
        done = self.chat(bot, {"text": "a"}, {"text": "b"})
        self.assertEqual(sorted(row["echo"] for row in done.rows), ["loud/1", "loud/2", "odd/1", "odd/2"])
        self.assertIn("noise: stage (loud): not a message on its stdout: hello world", done.err)


class SlowReader(BotCase):
    """Nobody reads stdout for a while: 64 KiB are in the pipe, the rest waits in the bot."""

    def start_wordy(self, *more):
        """Answers of 64 KiB each to 80 events; what the others get is on its way before."""
        process = self.start(
            self.bot(self.stage("wordy", match="w", answer={"reply": "@" + "x" * 65536}), *more)
        )
        if more:
            process.stdin.write(lines({"text": "hang"}).decode())
            process.stdin.flush()
            self.until(process.stderr, "ready: 2 of 2")  # both have written to their logs
            self.wait_for(lambda: self.asked("hung", "handle"))
        process.stdin.write(lines(*({"text": f"w{n}"} for n in range(10, 90))).decode())
        process.stdin.close()
        return process

    def test_plugins_go_on_and_nothing_is_lost(self):
        process = self.start_wordy(
            self.stage("hung", "timeout = { handle = \"2s\" }", match="hang", slow=["hang", 4, "handle"])
        )
        told = {
            "bytes of calls wait for the reader of stdout: no event is read until it has caught up",
            "timeout: line 1: stage (hung): handle",
        }
        for line in process.stderr:  # in either order
            told = {text for text in told if text not in line}
            if not told:
                break
        self.assertFalse(told)
        self.assertLess(
            len(self.asked("wordy", "handle")), 24
        )  # 1 MiB of answers, what is in the pipe, and a few under way
        rows = [json.loads(line) for line in process.stdout]
        self.assertEqual(
            [row["params"]["message"][0]["data"]["text"] for row in rows],
            [f"w{n}" + "x" * 65536 for n in range(10, 90)],
        )
        self.assertNotIn("the reader of", process.stderr.read())
        self.assertEqual(process.wait(LIMIT), 0)

    def test_a_signal_does_not_wait_for_it(self):
        process = self.start_wordy()
        self.until(process.stderr, "the reader of stdout")
        process.send_signal(signal.SIGTERM)
        self.assertRegex(self.until(process.stderr, "lost: "), r"lost: \d+ bytes of calls that nobody has read")
        self.assertEqual(process.wait(LIMIT), 128 + signal.SIGTERM)

    def test_it_goes_away(self):
        process = self.start_wordy()
        self.until(process.stderr, "the reader of stdout")
        process.stdout.close()
        self.assertEqual(process.wait(LIMIT), 128 + signal.SIGPIPE)


class Deaths(BotCase):
    def test_dead_is_skipped_at_once(self):
        """auto_restart is false by default: one report, and events go on to the others."""
        bot = self.bot(self.stage("a", crash="bad"), self.stage("b", answer={"reply": "@"}))
        done = self.chat(bot, {"text": "1"}, {"text": "bad"}, {"text": "2"}, code=1)
        self.assertEqual(sorted(row["echo"] for row in done.rows), ["b/1", "b/2", "b/3"])
        self.assertEqual(self.asked("a", "lifecycle"), ['{"startup": null}'])
        crashes = [line for line in done.error_lines if line.startswith("crashed: ")]
        self.assertEqual(len(crashes), 1, done.err)
        self.assertIn(
            "crashed: line 2: stage (a): handle: a: exited with status 7 before it answered; last stderr: \"about to crash\"",
            crashes[0],
        )
        self.assertEqual(len([line for line in done.error_lines if line.startswith("dead: ")]), 1)
        self.assertIn("auto_restart = true", done.err)

    def test_only_the_event_it_held_is_lost(self):
        bot = self.bot(
            self.stage("a", "auto_restart = true", crash="bad", crash_in="matches", answer={"reply": "@"})
        )
        said = [str(number) for number in range(300)]
        said[100] = said[200] = "bad"
        done = self.chat(
            bot,
            {"post_type": "meta_event", "meta_event_type": "lifecycle", "sub_type": "connect", "self_id": 5},
            *({"text": text} for text in said),
        )
        self.assertEqual(
            [row["params"]["message"][0]["data"]["text"] for row in done.rows],
            [text for text in said if text != "bad"],
        )
        self.assertEqual(self.asked("a", "matches"), said)
        self.assertEqual(len([line for line in done.error_lines if line.startswith("crashed: ")]), 2)
        # Each new process learns that it starts and that the bot is connected.
        self.assertEqual(
            self.asked("a", "lifecycle")[:6], ['{"startup": null}', '{"bot_connect": {"self_id": 5}}'] * 3
        )

    def test_death_between_events(self):
        """It ends by itself while nothing is asked of it: a new process is there before the next event."""
        script = self.file(
            "once.py",
            (HERE / "template.py").read_text() + '    if request.get("method") == "handle":\n        break\n',
        )
        process = self.start(self.bot(("once", [PYTHON, script], "auto_restart = true")), "-v")
        self.until(process.stderr, "ready: 1 of 1")
        for _ in range(3):
            process.stdin.write('{"text":"/mycommand"}\n')
            process.stdin.flush()
            self.assertIn("from Python", process.stdout.readline())
            self.until(process.stderr, "greeting -> ready")
        out, err = process.communicate(timeout=LIMIT)
        self.assertEqual((process.returncode, out), (0, ""))
        self.assertNotIn("crashed", err)

    def test_max_restarts(self):
        bot = self.bot(
            self.stage("a", "auto_restart = true", "max_restarts = 1", crash="bad"),
            self.stage("b", answer={"reply": "@"}),
        )
        done = self.chat(bot, *({"text": "bad"} for _ in range(5)), code=1)
        self.assertEqual(len(done.rows), 5)
        self.assertEqual(len(self.asked("a", "handle")), 2)
        self.assertIn("dead: stage (a): ended 2 times in 20 s and is not started again", done.err)

    def test_startup_refused(self):
        bot = self.bot(
            self.stage("no", answers={"lifecycle": {"ok": False}}), self.stage("b", answer={"reply": "@"})
        )
        done = self.chat(bot, {"text": "x"}, code=1)
        self.assertEqual([row["echo"] for row in done.rows], ["b/1"])
        self.assertIn("dead: no: the answer to \"lifecycle\" says that it did not succeed", done.err)
        self.assertIn("ready: 1 of 2 plugins: stage (b)", done.err)

    def test_bot_connect_refused_is_a_warning(self):
        part = dict(answers={"lifecycle": None}, errors={})
        bot = self.bot(self.stage("a", answer={"reply": "@"}, **part))
        connect = {
            "post_type": "meta_event",
            "meta_event_type": "lifecycle",
            "sub_type": "connect",
            "self_id": 1,
        }
        self.assertEqual(len(self.chat(bot, connect, {"text": "x"}).rows), 1)
        script = STAGE.read_text().replace(
            'return {"ok": True}', 'return {"ok": "bot_connect" not in params["event"]}'
        )
        bot = self.bot(("a", [PYTHON, self.file("refuses.py", script), json.dumps({"answer": {"reply": "@"}})]))
        done = self.chat(bot, connect, {"text": "x"})
        self.assertEqual(len(done.rows), 1)
        self.assertIn(
            "plugin_error: stage (a): bot_connect: a: the answer to \"lifecycle\" says that it did not succeed",
            done.err,
        )

    def test_not_there(self):
        bot = self.bot(("gone", ["./no-such-program"]), self.stage("b", answer={"reply": "@"}))
        done = self.chat(bot, {"text": "x"}, code=1)
        self.assertEqual([row["echo"] for row in done.rows], ["b/1"])
        self.assertIn("dead: gone: ", done.err)
        self.assertNotIn("gone: gone:", done.err)
        bot = self.bot(("gone", ["./no-such-program"]))
        done = self.chat(bot, {"text": "x"}, code=3)
        self.assertIn("start: none of the bot's plugins could be started", done.err)


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
        self.assertIn(f"p| {self.dir}/bots/work value with blanks {os.environ['HOME']}", done.err)

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
            bot = self.bot(self.stage("a", slow=["slow", 1, "handle"], answer={"reply": "@"}))
            process = self.start(bot, "-v", "--show-wire")
            process.stdin.write('{"text":"slow"}\n')
            process.stdin.flush()
            self.until(process.stderr, '"method":"handle"')
            process.send_signal(number)
            out, err = process.communicate(timeout=LIMIT)
            self.assertEqual(process.returncode, 128 + number)
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


class Load(Case):
    def test_a_steady_stream(self):
        """A short version of `bot_load.py`, whose full one is a row of ./dev bench."""
        found = bot_load.measure(
            bot_load.arguments(
                ["--seconds", "4", "--slow-every", "300", "--slow-for", "0.5", "--crash-every", "250"]
            )
        )
        self.assertEqual(found["wrong"], [], found)
        self.assertEqual((found["events"], found["crashes"], found["slow"]), (800, 3, 2))


if __name__ == "__main__":
    unittest.main()
