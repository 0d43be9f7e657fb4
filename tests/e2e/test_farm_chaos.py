# SPDX-License-Identifier: Apache-2.0
"""Owner, workers and database are killed (kill -9) at random, alone and together: the result is that of the
local run, byte for byte (rule 1). FARM_SEEDS="1 2 3" says which runs; ./dev farm-chaos makes twenty."""
import os
import random
import unittest

import events
from kythe_support import simple
from support import LIMIT
from test_farm import FarmCase

SEEDS = os.environ.get("FARM_SEEDS", "1 2").split()
UNITS, KILLS = 24, 5


class Chaos(FarmCase):
    def owner(self):
        return self.spawn(*self.farm_words(self.archive, "--batch", "1", "--resume", lease="1s"))

    def kill_one(self, who):
        if who in ("server", "all"):
            self.postgres.kill()
        if who in ("owner", "all"):
            self.reap(self.present)
        if who in ("worker", "all"):
            self.reap(self.crew.pop(0))

    def start_again(self, who):
        if who in ("server", "all"):
            self.postgres.start()
        if who in ("worker", "all"):
            self.crew.append(self.worker())
        if self.present.poll() is not None:
            self.present = self.owner()

    def until_more(self, count):
        """Until there are so many results, or the owner has ended."""
        (self.store / "new").mkdir(exist_ok=True)
        (self.store / "segments").mkdir(exist_ok=True)
        try:
            events.until(lambda: len(self.segments()) >= count, self.store / "new", process=self.present)
        except events.Ended:
            pass

    def finish(self):
        """The last owner, again where the lock of a dead one was still held."""
        for _ in range(20):
            if self.present.wait(LIMIT) == 0:
                return
            self.present = self.owner()
        self.fail(self.situation())

    def chaos(self, seed):
        chance = random.Random(seed)
        self.archive = self.kzip(simple(UNITS, name=f"s{seed}-"), f"{seed}.kzip")
        expected = self.whole(self.archive)
        self.crew = [self.worker(), self.worker()]
        self.present = self.owner()
        before = len(self.segments()) if (self.store / "segments").exists() else 0
        for kill in range(KILLS):
            self.until_more(before + (kill + 1) * UNITS // (KILLS + 1))
            who = chance.choice(("owner", "worker", "worker", "server", "all"))
            self.kill_one(who)
            self.start_again(who)
        self.finish()
        self.assertEqual(self.out(), expected, f"seed {seed}")
        for worker in self.crew:
            self.reap(worker)
        (self.dir / "out").unlink()

    def test_rule_1_everything_is_killed(self):
        for seed in SEEDS:
            with self.subTest(seed=seed):
                self.chaos(seed)


del FarmCase  # its own tests run elsewhere

if __name__ == "__main__":
    unittest.main()
