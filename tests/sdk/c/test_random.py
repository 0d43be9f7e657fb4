# SPDX-License-Identifier: Apache-2.0
"""Conversations of several users, other calls, and calls that last, in any order: everything that was asked is
answered once, by the right function. TENON_SEED=N runs one seed."""
import os
import random
import signal
import unittest

from wire import WAIT_S, Gated, Puppet

USERS = range(1, 9)
STEPS = 200
SEEDS = [int(os.environ["TENON_SEED"])] if "TENON_SEED" in os.environ else range(6)


class Random(Gated):
    def talk(self, p, dice):
        """What each user has heard so far decides what they must hear next."""
        stage = {user: None for user in USERS}
        expected = {}
        for _ in range(STEPS):
            user = dice.choice(USERS)
            text, reply = dice.choice([self.travel, self.travel, self.greet, self.hold])(user, stage)
            request = p.send(
                "handle", {"message_type": "private", "user_id": user, "text": text, "raw_message": text}
            )
            expected[request] = reply
            if dice.random() < 0.5:
                self.settle(p, expected)
        self.settle(p, expected)

    def settle(self, p, expected):
        while expected:
            answer = p.receive()
            self.assertEqual(answer["result"]["reply"], expected.pop(answer["id"]))

    def travel(self, user, stage):
        if stage[user] is None:
            stage[user] = "where"
            return "/travel", "Where to?"
        if stage[user] == "where":
            stage[user] = f"place {user}"
            return stage[user], f"Ah, place {user}. When?"
        place, stage[user] = stage[user], None
        return "now", f"now to {place}"

    def greet(self, user, stage):
        if stage[user] is not None:
            return self.travel(user, stage)
        return f"/greet u{user}", f"Hello, u{user}."

    def hold(self, user, stage):
        if stage[user] is not None:
            return self.travel(user, stage)
        os.write(self.held, b"x")
        return "/lasts " + self.gate, "held"

    def test_in_any_order(self):
        for seed in SEEDS:
            with self.subTest(seed=seed), Puppet("ayiou") as p:
                self.talk(p, random.Random(seed))
                self.assertEqual((p.end(), p.status), ([], 0))
                self.assertEqual(p.stderr[-1], "on_stop puppet")

    def test_stopped_anywhere(self):
        """SIGTERM at any moment: what was answered is whole, and the end is clean."""
        for seed in SEEDS:
            dice = random.Random(seed)
            with self.subTest(seed=seed), Puppet("ayiou") as p:
                p.result("metadata")  # it runs
                stage = {user: None for user in USERS}
                for _ in range(dice.randrange(1, 60)):
                    user = dice.choice(USERS)
                    text, _ = dice.choice([self.travel, self.greet])(user, stage)
                    p.send("handle", {"message_type": "private", "user_id": user, "text": text})
                p.process.send_signal(signal.SIGTERM)
                while p.receive() is not None:
                    pass
                self.assertEqual(p.process.wait(WAIT_S), 0)


if __name__ == "__main__":
    unittest.main()
