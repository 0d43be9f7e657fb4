# SPDX-License-Identifier: Apache-2.0
"""mortise chat --config: a bot whose file changes while it runs."""
import json
import os
import signal
import unittest

from bot_support import BotCase, lines
from support import LIMIT, PLUGINS, PYTHON

STAGE = PLUGINS / "ayiou" / "stage.py"


class Reload(BotCase):
    def begin(self, *plugins, words=()):
        self.process = self.start(self.bot(*plugins), *words)
        self.until(self.process.stderr, "ready: ")

    def say(self, text):
        """One event; its number counts from 1."""
        self.process.stdin.write(lines({"text": text}).decode())
        self.process.stdin.flush()

    def answers(self, count):
        return [
            json.loads(self.process.stdout.readline())["params"]["message"][0]["data"]["text"]
            for _ in range(count)
        ]

    def hears(self, part):
        return self.until(self.process.stderr, part)

    def hears_all(self, *parts):
        """In any order."""
        while parts:
            line = self.process.stderr.readline()
            self.assertTrue(line, f"ended before it said {parts}")
            parts = [part for part in parts if part not in line]

    def end(self, code=0):
        out, err = self.process.communicate(timeout=LIMIT)
        self.assertEqual((self.process.returncode, out), (code, ""), err)
        return err

    def starts(self, name):
        return self.asked(name, "lifecycle").count('{"startup": null}')

    def replace(self, *plugins, head="enabled = true"):
        """As an editor does: written beside, then renamed."""
        path = self.dir / "bot.toml"
        text = self.bot_text(*plugins, head=head)
        (self.dir / "bot.toml~").write_text(text)
        os.rename(self.dir / "bot.toml~", path)

    def test_a_changed_plugin_is_replaced_and_the_others_go_on(self):
        keep = self.stage("keep", answer={"reply": "keep"})
        self.begin(self.stage("a", answer={"reply": "old"}), keep)
        self.say("x")
        self.assertEqual(self.answers(2), ["old", "keep"])
        self.bot(self.stage("a", answer={"reply": "new"}), keep)  # written in place
        self.assertIn("replaces stage (a); 1 unchanged", self.hears("reload: "))
        self.hears("reload: stage (a): is ready")
        self.say("x")
        self.assertEqual(self.answers(2), ["new", "keep"])
        self.end()
        self.assertEqual((self.starts("a"), self.starts("keep")), (2, 1))
        self.assertEqual(self.asked("a", "lifecycle").count('{"shutdown": null}'), 2)

    def test_plugins_are_added_and_taken_away(self):
        a, b = self.stage("a", answer={"reply": "a"}), self.stage("b", answer={"reply": "b"})
        self.begin(a)
        self.replace(a, b)
        self.assertIn("starts b; 1 unchanged", self.hears("reload: "))
        self.hears("reload: stage (b): is ready")
        self.say("x")
        self.assertEqual(self.answers(2), ["a", "b"])
        self.replace(b)
        self.assertIn("ends stage (a); 1 unchanged", self.hears("reload: "))
        self.hears("reload: stage (a): has ended")
        self.say("x")
        self.assertEqual(self.answers(1), ["b"])
        self.end()
        self.assertEqual(self.starts("b"), 1)

    def test_enabled(self):
        a = self.stage("a", answer={"reply": "a"})
        b = self.stage("b", answer={"reply": "b"})
        self.begin(a, (*b, "enabled = false"))
        self.say("x")
        self.assertEqual(self.answers(1), ["a"])
        self.replace((*a, "enabled = false"), b)
        self.hears_all("reload: stage (b): is ready", "reload: stage (a): has ended")
        self.say("x")
        self.assertEqual(self.answers(1), ["b"])
        self.end()

    def test_none_enabled(self):
        done = self.fails(3, "manifest", "chat", "--config", self.bot((*self.stage("a"), "enabled = false")))
        self.assertIn("none of the plugins is enabled", done.err)

    def test_hangup_reads_it_again(self):
        """Nothing has changed: nobody is restarted. A script that was edited is a change, though the
        file is the same."""
        script = self.file("p.py", STAGE.read_text())
        self.begin(
            (
                "a",
                [PYTHON, "-u", "p.py", json.dumps({"log": str(self.dir / "a.log"), "answer": {"reply": "a"}})],
            ),
            self.stage("b"),
        )
        self.process.send_signal(signal.SIGHUP)
        self.assertIn("2 unchanged", self.hears("reload: "))
        self.file("p.py.new", script.read_text().replace('"@", text', '"a", "edited"'))
        os.rename(self.dir / "p.py.new", script)
        self.process.send_signal(signal.SIGHUP)
        self.assertIn("replaces stage (a); 1 unchanged", self.hears("reload: "))
        self.hears("reload: stage (a): is ready")
        self.say("x")
        self.assertEqual(self.answers(1), ["edited"])
        self.end()
        self.assertEqual((self.starts("a"), self.starts("b")), (2, 1))

    def test_a_broken_file_changes_nothing(self):
        self.begin(self.stage("a", answer={"reply": "a"}))
        for text, part in (
            ("[external", "bot.toml:1:"),
            ("[external-plugin-bridge]\nenabled = false\n", "enabled is false"),
            ("[external-plugin-bridge]\nenabled = true\nplugins.a.args = []\n", "plugins.a.command is missing"),
        ):
            self.file("bot.toml", text)
            told = self.hears("reload: ")
            self.assertIn(part, told)
            self.assertIn("the bot goes on as it was", told)
            self.say("x")
            self.assertEqual(self.answers(1), ["a"])
        self.end()
        self.assertEqual(self.starts("a"), 1)

    def test_a_new_one_that_does_not_start_leaves_the_old_one(self):
        self.begin(self.stage("a", answer={"reply": "old"}))
        self.bot(self.stage("a", answers={"lifecycle": {"ok": False}}))
        self.assertIn(
            "the new process does not start, so the old one goes on: a: the answer to \"lifecycle\" says",
            self.hears("reload: stage (a): "),
        )
        self.say("x")
        self.assertEqual(self.answers(1), ["old"])
        self.bot(("a", ["./no-such-program"]))
        self.hears("reload: stage (a): the new process does not start")
        self.say("x")
        self.assertEqual(self.answers(1), ["old"])
        self.end()

    def test_a_dead_one_gets_another_chance(self):
        """Whatever made it die may have been put right elsewhere: a reload starts it."""
        self.begin(self.stage("a", crash="bad", answer={"reply": "a"}), self.stage("b"))
        self.say("bad")
        self.hears("dead: stage (a)")
        self.process.send_signal(signal.SIGHUP)
        self.hears("reload: stage (a): is ready")
        self.say("x")
        self.assertEqual(self.answers(1), ["a"])
        self.end()

    def test_no_event_is_lost_or_out_of_order(self):
        """The old process has an event under way and more waiting when the new one is ready: its
        answer comes first."""
        gate = self.gate()
        part = {"gate": ["first", str(gate)], "answer": {"reply": "old @"}}
        self.begin(self.stage("a", **part), words=("-v",))
        for text in ("first", "second", "third"):
            self.say(text)
        self.wait_for(lambda: self.asked("a", "handle"))
        self.bot(self.stage("a", **{**part, "answer": {"reply": "new @"}}))
        self.hears("replaces stage (a)")
        self.hears("greeting -> ready")
        self.say("fourth")
        gate.open()
        self.assertEqual(self.answers(4), ["old first", "new second", "new third", "new fourth"])
        self.end()
        self.assertEqual(self.asked("a", "handle"), ["first", "second", "third", "fourth"])

    def test_one_that_leaves_does_what_it_has(self):
        gate = self.gate()
        b = self.stage("b", answer={"reply": "b"})
        self.begin(self.stage("a", gate=["first", str(gate)], answer={"reply": "a @"}), b)
        for text in ("first", "second"):
            self.say(text)
        self.wait_for(lambda: "second" in self.asked("b", "matches"))  # so it waits for the other one, too
        self.replace(b)
        self.hears("ends stage (a)")
        self.say("third")
        gate.open()
        self.assertEqual(sorted(self.answers(5)), ["a first", "a second", "b", "b", "b"])
        self.hears("has ended")
        self.end()
        self.assertEqual(self.asked("a", "matches"), ["first", "second"])

    def test_order_and_prefilter_change_without_a_restart(self):
        commands = [{"name": "cmd", "description": ""}]
        a, b = self.stage("a", answer={"reply": "a"}, commands=commands), self.stage("b", answer={"reply": "b"})
        self.begin(a, b)
        self.say("x")
        self.assertEqual(self.answers(2), ["a", "b"])
        self.replace((*a, "priority = 200", "prefilter = true"), b)
        self.assertIn("2 unchanged", self.hears("reload: "))
        self.say("cmd")
        self.assertEqual(self.answers(2), ["b", "a"])
        self.say("x")
        self.assertEqual(self.answers(1), ["b"])
        self.end()
        self.assertEqual((self.starts("a"), self.starts("b")), (1, 1))

    def test_a_symbolic_link_is_turned(self):
        """As volumes of containers do it: the directory sees the link being renamed, the file
        stays as it is."""
        a, b = self.bot_text(self.stage("a", answer={"reply": "a"})), self.bot_text(
            self.stage("b", answer={"reply": "b"})
        )
        self.file("one/bot.toml", a)
        self.file("two/bot.toml", b)
        os.symlink("one", self.dir / "data")
        os.symlink("data/bot.toml", self.dir / "bot.toml")
        self.process = self.start(self.dir / "bot.toml")
        self.until(self.process.stderr, "ready: ")
        os.symlink("two", self.dir / "data~")
        os.rename(self.dir / "data~", self.dir / "data")
        self.hears_all("reload: stage (b): is ready", "reload: stage (a): has ended")
        self.say("x")
        self.assertEqual(self.answers(1), ["b"])
        self.end()

    def test_a_terminal_that_hangs_up_ends_it(self):
        """There SIGHUP is what it always was."""
        process, ours = self.start_on_terminal(self.bot(self.stage("a")))
        self.until(process.stderr, "ready: ")
        os.close(ours)
        self.assertNotIn("reload", process.stderr.read())
        self.assertIn(
            process.wait(LIMIT), (0, 128 + signal.SIGHUP)
        )  # 0: the end of input was seen before the signal

    def test_many_times(self):
        """A file that changes faster than plugins start: in the end it is as the last one says."""
        self.begin(self.stage("a", answer={"reply": "0"}))
        for number in range(1, 30):
            self.replace(self.stage("a", answer={"reply": str(number)}))
            self.say("x")
        self.answers(29)
        self.replace(self.stage("a", answer={"reply": "last"}), self.stage("end"))
        self.hears("reload: stage (end): is ready")
        self.wait_for(lambda: self.reply() == "last")
        self.end()

    def reply(self):
        self.say("x")
        return self.answers(1)[0]


if __name__ == "__main__":
    unittest.main()
