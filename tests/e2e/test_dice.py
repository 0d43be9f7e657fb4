# SPDX-License-Identifier: Apache-2.0
"""plugins/dice: an Ayiou plugin with the Python package: expressions, state, a conversation, a bot."""
import os
import re
import sys
import unittest

from support import BUILD, Case, ROOT

sys.path.insert(0, str(ROOT / "sdk" / "python"))
from tenon.testing import spawn  # noqa: E402

DICE = BUILD / "plugins" / "dice"


class Dice(Case):
    def setUp(self):
        super().setUp()
        self.host = spawn([DICE / "dice"], "ayiou", env=dict(os.environ, DICE_SEED="7"))
        self.addCleanup(self.host.close)

    def test_expressions(self):
        for text, pattern, least, most in (
            ("3d6+2", r"3d6\+2 = \[\d \d \d\] \+ 2 = (\d+)", 5, 20),
            ("d20", r"d20 = \[\d+\] = (\d+)", 1, 20),
            ("-2 + 1d4", r"-2 \+ 1d4 = - 2 \+ \[\d\] = (-?\d+)", -1, 2),
            ("4d6k3", r"4d6k3 = \[\d \d \d \d: \d \d \d\] = (\d+)", 3, 18),
            ("2d20kl1", r"2d20kl1 = \[\d+ \d+: \d+\] = (\d+)", 1, 20),
            ("d%", r"d% = \[\d+\] = (\d+)", 1, 100),
            ("", r"1d6 = \[\d\] = (\d+)", 1, 6),
        ):
            for _ in range(20):
                found = re.fullmatch(pattern, self.host.say("/roll " + text))
                self.assertTrue(found, text)
                self.assertTrue(least <= int(found.group(1)) <= most)

    def test_keeping(self):
        for _ in range(20):
            said = self.host.say("/r 5d6k2")
            rolled, kept = (
                list(map(int, part.split())) for part in re.search(r"\[(.*): (.*)\]", said).groups()
            )
            self.assertEqual(kept, sorted(rolled)[-1:-3:-1])
            rolled, kept = (
                list(map(int, part.split()))
                for part in re.search(r"\[(.*): (.*)\]", self.host.say("/r 5d6d4")).groups()
            )
            self.assertEqual(kept, [max(rolled)])

    def test_what_cannot_be_rolled(self):
        for text in ("banana", "3d", "d1", "200d6", "2d6k3", "3d6 2", "+".join(["1"] * 30), "1" * 5000 + "d6"):
            said = self.host.say("/roll " + text)
            self.assertRegex(said, r"^(I cannot read|At most|Of 2 dice|That is too much)", text[:20])

    def test_state(self):
        self.assertEqual(self.host.say("/again", user_id=5), "You have not rolled yet.")
        self.host.say("/roll 2d4", user_id=5)
        self.assertRegex(self.host.say("/again", user_id=5), r"^2d4 = ")
        self.assertRegex(self.host.say("/scores"), r"^5: 2 rolls, \d\.\d on average$")
        self.assertEqual(self.host.say("/scores", group_id=3), "Nobody has rolled here.")

    def test_duel(self):
        self.assertRegex(self.host.say("/duel", user_id=8), r"^\d+\. Higher or lower\?$")
        self.assertTrue(
            self.host.request("matches", {"text": "higher", "message_type": "private", "user_id": 8})
        )
        self.assertRegex(self.host.say("higher", user_id=8), r"^\d+: (right|wrong)\. \d+\. Higher or lower\?$")
        self.assertIsNone(self.host.say("higher", user_id=9))  # not theirs
        self.host.say("lower", user_id=8)
        self.assertRegex(self.host.say("higher", user_id=8), r"[0-3] of 3\.$")
        self.assertIsNone(self.host.say("higher", user_id=8))

    def test_in_a_bot(self):
        event = b'{"text":"/roll 3d6+2"}\n{"text":"nothing for it"}\n'
        said = self.run_mortise("chat", "--config", DICE / "bot.toml", stdin=event).out
        self.assertEqual(said.count("3d6+2 = ["), 1)


if __name__ == "__main__":
    unittest.main()
