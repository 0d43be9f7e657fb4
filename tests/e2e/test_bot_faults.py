# SPDX-License-Identifier: Apache-2.0
"""mortise chat --config: plugins and readers that are slow, that die, and a steady stream of events."""
import json
import signal
import subprocess
import unittest

import bot_load
from bot_support import BotCase, HERE, lines, STAGE
from support import Case, LIMIT, MORTISE, PYTHON


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
        gate = self.gate()
        process = self.start(
            self.bot(
                self.stage("hung", "timeout = { matches = \"200ms\" }", gate=["x", str(gate), "matches"]),
                self.stage("next", answer={"reply": "@"}),
            )
        )
        process.stdin.write(lines({"text": "x1"}, {"text": "x2"}).decode())
        process.stdin.close()
        self.until(
            process.stderr, "timeout: line 1: stage (hung): matches: hung: no reply to \"matches\" in 200 ms"
        )
        self.until(process.stderr, "timeout: line 2: stage (hung)")
        echoes = [json.loads(process.stdout.readline())["echo"] for _ in range(2)]
        self.assertEqual(echoes, ["next/1", "next/2"])
        gate.open()
        self.assertEqual(process.wait(LIMIT), 0)

    def test_a_late_answer_poisons_nothing(self):
        """It comes while the next event is asked about, and is not taken for the answer to that."""
        gate = self.gate()
        limits = "timeout = { handle = \"5s\", matches = \"300s\" }"
        bot = self.bot(self.stage("s", limits, gate=["slow", str(gate)], answer={"reply": "@"}))
        process = self.start(bot)
        process.stdin.write(lines({"text": "slow"}, {"text": "a"}, {"text": "b"}).decode())
        process.stdin.close()
        self.until(process.stderr, "timeout: line 1: ")
        gate.open()
        self.assertEqual([json.loads(line)["echo"] for line in process.stdout], ["s/2", "s/3"])
        self.assertNotIn("timeout: ", process.stderr.read())
        self.assertEqual(process.wait(LIMIT), 0)

    def overload(self, limit):
        """All that is told while a plugin stands still. No more is read once 512 events wait for it, until the
        oldest has waited for as long as `matches` may take."""
        gate = self.gate()
        bot = self.bot(
            self.stage("stuck", f"timeout = {{ matches = \"{limit}\" }}", gate=["begin", str(gate)]),
            self.stage("other"),
        )
        for name in "stuck", "other":
            (self.dir / f"{name}.log").unlink(missing_ok=True)
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
        told = []
        for line in process.stderr:
            told.append(json.loads(line))
            if told[-1]["event"] == "overloaded":
                gate.open()
        self.assertEqual(process.wait(LIMIT), 0)
        return told

    def test_overloaded(self):
        """1,024 wait; the next events pass the plugin by, each with an event that says so, and
        reach the others."""
        for limit in "1s", "10s", "60s":  # until it was enough for each answer, too
            told = self.overload(limit)
            if {one["event"] for one in told} <= {"ready", "overloaded"}:
                break
        passed = [one for one in told if one["event"] == "overloaded"]
        self.assertTrue(passed)
        self.assertEqual(passed[0]["plugin"], "stuck")
        self.assertIn("1024 events wait for it already", passed[0]["text"])
        self.assertEqual(len(self.asked("stuck", "matches")) + len(passed), 1301, told[-3:])
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
        gate = self.gate()
        process = self.start_wordy(
            self.stage("hung", "timeout = { handle = \"1s\" }", match="hang", gate=["hang", str(gate)])
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
        gate.open()
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


class Load(Case):
    def test_a_steady_stream(self):
        """A short version of `bot_load.py`, whose full one is a row of ./dev bench. That one keeps the usual
        limits: here nothing may be late."""
        words = "--seconds 4 --slow-every 300 --slow-for 0.5 --crash-every 250 --limit 300s"
        found = bot_load.measure(bot_load.arguments(words.split()))
        self.assertEqual(found["wrong"], [], found)
        self.assertEqual((found["events"], found["crashes"], found["slow"]), (800, 3, 2))


if __name__ == "__main__":
    unittest.main()
