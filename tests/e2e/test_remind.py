# SPDX-License-Identifier: Apache-2.0
"""plugins/remind: an Ayiou plugin with the Node package, in a bot: times, timers, its file, actions."""
import json
import os
import shutil
import subprocess
import unittest

from bot_support import BIGGEST, BotCase, lines, text_call
from support import BUILD, LIMIT

REMIND = BUILD / "plugins" / "remind"
# On Tuesday, 2026-11-17, at 14:30: what is written, when that is, what is left.
TIMES = [
    ("in 10 minutes tea", "2026-11-17 14:40", "tea"),
    ("in 1h30m to go", "2026-11-17 16:00", "go"),
    ("in 1 hour and 30 minutes: go", "2026-11-17 16:00", "go"),
    ("in 2.5 h x", "2026-11-17 17:00", "x"),
    ("at 18:30 call Ada", "2026-11-17 18:30", "call Ada"),
    ("at 9 x", "2026-11-18 09:00", "x"),
    ("at 9pm x", "2026-11-17 21:00", "x"),
    ("12:00 am x", "2026-11-18 00:00", "x"),
    ("tomorrow", "2026-11-18 09:00", ""),
    ("Tomorrow at 8:15 x", "2026-11-18 08:15", "x"),
    ("today at 15 x", "2026-11-17 15:00", "x"),
    ("on friday that x", "2026-11-20 09:00", "x"),
    ("on tuesday at 9 x", "2026-11-24 09:00", "x"),
    ("tue at 16:00 x", "2026-11-17 16:00", "x"),
    ("on 2026-12-24 at 18:00 presents", "2026-12-24 18:00", "presents"),
    ("every 2 hours drink", "2026-11-17 16:30", "drink"),
    ("every day at 8 rise", "2026-11-18 08:00", "rise"),
    ("every friday at 17:00 x", "2026-11-20 17:00", "x"),
    ("every hour x", "2026-11-17 15:30", "x"),
    ("next monday x", "2026-11-23 09:00", "x"),
    *((text, None, None) for text in ("9 lives", "in 5", "at 25:00 x", "today at 13:00 x", "on 2026-02-31 x")),
    *((text, None, None) for text in ("at 13pm x", "monster", "in a minute", "", "every now")),
]
ASK_TIMES = """
import { following, parseWhen, shown } from "%s/when.mjs";
const now = new Date(2026, 10, 17, 14, 30);
const two = (n) => String(n).padStart(2, "0");
const iso = (d) => `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ` +
  `${two(d.getHours())}:${two(d.getMinutes())}`;
const out = JSON.parse(process.argv[1]).map((text) => {
  const found = parseWhen(text, now);
  return found ? [iso(found.at), found.rest] : [null, null];
});
const again = (text, later) => iso(following(parseWhen(text, now), later));
out.push(again("every 2 hours x", new Date(2026, 10, 18, 0, 40)));
out.push(again("every day at 8 x", new Date(2026, 10, 20, 8, 0)));
out.push(again("every friday at 8 x", new Date(2026, 10, 20, 8, 1)));
out.push(String(following(parseWhen("at 15 x", now), new Date(2026, 10, 18))));
console.log(JSON.stringify(out));
"""


@unittest.skipUnless(shutil.which("node"), "node is not installed")
class Remind(BotCase):
    def setUp(self):
        super().setUp()
        self.state = self.dir / "state" / "reminders.json"
        self.env.update(REMIND_STATE=str(self.state), TZ="UTC")
        self.config = self.bot(("remind", [REMIND / "plugin.mjs"]))

    def says(self, *events):
        """What the bot sends: the texts."""
        return [row["params"]["message"][0]["data"]["text"] for row in self.chat(self.config, *events).rows]

    def test_times(self):
        for zone in ("UTC", "Europe/Berlin"):
            done = subprocess.run(
                [
                    "node",
                    "--input-type=module",
                    "-e",
                    ASK_TIMES % REMIND,
                    json.dumps([row[0] for row in TIMES]),
                ],
                capture_output=True,
                env={**self.env, "TZ": zone},
                timeout=LIMIT,
                check=True,
            )
            *found, hours, day, friday, once = json.loads(done.stdout)
            self.assertEqual([tuple(row) for row in found], [row[1:] for row in TIMES])
            again = ["2026-11-18 02:30", "2026-11-21 08:00", "2026-11-27 08:00", "undefined"]
            self.assertEqual([hours, day, friday, once], again)

    def test_list_and_forget(self):
        said = self.says(
            {"text": "/remind on 2126-12-24 at 18:00 presents"},
            {"text": "/remind on 2126-12-24 at 17:00 the tree"},
            {"text": "/reminders", "user_id": 8},
            {"text": "/reminders"},
            {"text": "/forget 2", "user_id": 8},
            {"text": "/forget 1"},
            {"text": "/reminders"},
        )
        self.assertEqual(
            said,
            [
                "Reminder 1: presents, on 2126-12-24 at 18:00.",
                "Reminder 2: the tree, on 2126-12-24 at 17:00.",
                "There are no reminders.",
                "2: the tree, on 2126-12-24 at 17:00\n1: presents, on 2126-12-24 at 18:00",
                "There is no reminder 2 here: /reminders lists them.",
                "Forgotten: presents",
                "2: the tree, on 2126-12-24 at 17:00",
            ],
        )

    def test_what_is_missing_is_asked_for(self):
        process = self.start(self.config)
        for text, answer in (
            ("/remind", "Of what?"),
            ("bread", "When? Say when: "),
            ("soon", "When? Say when: "),
            ("on 2126-01-01", "Reminder 1: bread, on 2126-01-01 at 09:00."),
            ("/提醒 milk", "When? Say when: "),
            ("never", "Nothing is remembered."),
        ):
            process.stdin.write(lines({"text": text}).decode())
            process.stdin.flush()
            said = json.loads(process.stdout.readline())["params"]["message"][0]["data"]["text"]
            self.assertTrue(said.startswith(answer), said)
        process.communicate()
        self.assertEqual(process.returncode, 0)

    def test_a_timer(self):
        """What is due leaves with the next message of anybody, to where it was asked for; and only once."""
        process = self.start(self.config)
        process.stdin.write(lines({"text": "/remind in 0.05 seconds tea", "group_id": BIGGEST}).decode())
        process.stdin.flush()
        self.assertIn("Reminder 1: tea", self.until(process.stdout, "Reminder"))
        self.until(process.stderr, "due: 1: tea")
        self.assertIn("tea", self.state.read_text())
        out, err = process.communicate(
            lines({"text": "good morning", "user_id": 9}, {"text": "good night"}).decode()
        )
        self.assertEqual(process.returncode, 0, err)
        rows = [json.loads(line) for line in out.splitlines()]
        self.assertEqual(rows, [text_call("Reminder: tea", "remind", 2, group=BIGGEST)])
        self.assertEqual(json.loads(self.state.read_text())["due"], [])

    def test_overdue_since_the_last_run(self):
        place = {"id": "private/5", "target_type": "private", "target_id": 5}
        reminder = {"id": 3, "at": "2020-01-01T00:00:00.000Z", "text": "x", "place": place}
        again = {**reminder, "id": 4, "text": "y", "days": 1}
        self.state.parent.mkdir()
        self.state.write_text(json.dumps({"reminders": [reminder, again], "due": [], "lastId": 4}))
        process = self.start(self.config)
        self.until(process.stderr, "due: 4: y")
        out, _ = process.communicate(lines({"text": "/reminders", "user_id": 5}).decode())
        texts = [json.loads(line)["params"]["message"][0]["data"]["text"] for line in out.splitlines()]
        self.assertRegex(texts[0], r"^4: y, (at|on \S+ at) 00:00$")
        self.assertEqual(texts[1:], ["Reminder: x", "Reminder: y"])

    def test_a_broken_file_is_told(self):
        self.state.parent.mkdir()
        self.state.write_text("{")
        done = self.run_mortise("chat", "--config", self.config, stdin=lines({"text": "/reminders"}))
        self.assertNotEqual(done.code, 0)
        self.assertIn("JSON", done.err)
        self.assertEqual(self.state.read_text(), "{")

    def test_anywhere(self):
        """A copy of the directory runs elsewhere: the package is in it."""
        shutil.copytree(REMIND, self.dir / "copy")
        self.config = self.bot(("remind", [self.dir / "copy/plugin.mjs"]))
        self.assertEqual(self.says({"text": "/reminders"}), ["There are no reminders."])
        self.assertTrue(os.access(self.dir / "copy/plugin.mjs", os.X_OK))


if __name__ == "__main__":
    unittest.main()
