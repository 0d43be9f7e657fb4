# SPDX-License-Identifier: Apache-2.0
"""What a farm says to who tries it: a wrong URL before anything is written, who is there, what came from the
store, and what a worker does after it has refused a run."""
import signal
import subprocess
import unittest

import events
from farm_support import NO_POSTGRES
from kythe_support import simple
from support import LIMIT, ROOT
from test_farm import FarmCase
from test_farm_extract import ExtractCase


def everything(directory):
    return sorted(str(path) for path in directory.rglob("*") if not path.name.startswith("worker-"))


class Refusals:
    """For a case with farm_words(): each way to name a farm that cannot be used, with the exit code."""

    def refusals(self):
        self.sql("create role w2 login in role mortise_farm_worker")
        self.addCleanup(self.sql, "drop role w2")
        url, store = self.url, self.store
        yield 1, "system", 'database "nosuch" does not exist', self.postgres.url("nosuch"), store
        yield 4, "input", "has no farm", self.postgres.url(self.postgres.database()), store
        yield 4, "input", "it needs the role mortise_farm_owner", self.postgres.url(self.database, "w2"), store
        yield 2, "usage", "postgres://host/database", "nats://x", store
        yield 5, "not_found", "it is not there: make it first: mkdir no", url, "no"

    def check_refusals(self, *words):
        for code, kind, text, self.url, self.store in list(self.refusals()):
            for _ in range(3):
                with self.subTest(text):
                    before = everything(self.dir)
                    self.assertIn(text, self.fails(code, kind, *self.farm_words(*words, out="fresh")).err)
                    self.assertEqual(everything(self.dir), before)


@unittest.skipIf(NO_POSTGRES, NO_POSTGRES)
class Index(Refusals, FarmCase):
    def test_a_farm_that_cannot_be_used(self):
        """All units are in the store: nothing has to be asked, and still nothing is taken."""
        archive = self.kzip(simple(9))
        worker = self.worker()
        self.farm(archive, "--batch", "1")
        self.reap(worker)  # it would tidy up meanwhile
        self.check_refusals(archive, "--batch", "1", "--log", "log")

    def test_what_came_from_the_store(self):
        archive = self.kzip(simple(9))
        self.worker()
        self.assertNotIn("from the store", self.farm(archive, "--batch", "2").err)
        done = self.farm(archive, "--batch", "2", "--resume")
        self.assertIn("starting with all 9 units; what the store has is not done again", done.err)
        self.assertIn("9 of 9 units, 9 from the store, 0 failed", done.err)
        farm = self.farm(archive, "--batch", "2", "--json").json["farm"]
        self.assertEqual((farm["batches"], farm["cached"], farm["cached_units"]), (5, 5, 9))


class Workers(FarmCase):
    def listed(self):
        return self.ok("farm", "status", "--json", self.url).json["workers"]

    def waiting(self):
        """A worker that the farm knows."""
        worker = self.worker()
        path = self.dir / f"worker-{self.workers}.log"
        events.until(lambda: "nothing to do yet" in path.read_text(), self.dir, process=worker)
        return worker

    def test_a_worker_that_ends_in_order_is_not_listed(self):
        worker, other = self.waiting(), self.waiting()
        self.assertEqual(len(self.listed()), 2)
        worker.send_signal(signal.SIGTERM)
        self.assertEqual(worker.wait(LIMIT), 143)
        self.assertEqual(len(self.listed()), 1)
        other.kill()  # this one could not say anything
        other.wait()
        self.assertEqual(len(self.listed()), 1)
        self.assertEqual(self.worker("--once").wait(LIMIT), 0)
        self.assertEqual(len(self.listed()), 1)

    def test_the_report_knows_who_was_there(self):
        self.waiting()
        self.waiting()
        self.farm(self.kzip(simple(3)), "--report", "run.html")
        self.assertRegex((self.dir / "run.html").read_text(), r"workers at once, at most<td>2\n")

    def test_a_worker_that_came_later_was_there_too(self):
        owner = self.spawn(*self.farm_words(self.kzip(simple(3)), "--report", "run.html"))
        self.until_batches("count(*) > 0")
        self.worker()
        self.assertEqual(owner.wait(LIMIT), 0)
        self.assertRegex((self.dir / "run.html").read_text(), r"workers at once, at most<td>1\n")

    def test_status_counts_units_from_1(self):
        self.worker()
        self.farm(self.kzip(simple(1)))
        status = self.ok("farm", "status", "--json", self.url).json
        self.assertEqual([unit["unit"] for unit in status["slow_units"]], [1])
        self.assertRegex(self.ok("farm", "status", self.url).out, r"(?m)^slow units.*\n[0-9a-f]{10} +1 ")
        self.assertEqual((status["runs"][0]["state"], status["runs"][0]["ready"]), ("finished", 0))

    def test_a_run_that_was_refused_is_tried_again_soon(self):
        """The store was not mounted; then it is. It is said once, with what the user has typed."""
        self.file("w/mortise-store", b"")
        worker = self.worker("--store", "store/../w")
        owner = self.spawn(*self.farm_words(self.kzip(simple(2))))
        log = self.dir / "worker-1.log"
        events.until(lambda: "tried again" in log.read_text(), self.dir, process=worker)
        (self.dir / "w").rename(self.dir / "before")
        (self.dir / "w").symlink_to(self.store)
        self.assertEqual(owner.wait(LIMIT), 0)
        said = log.read_text()
        self.assertIn("the store store/../w does not have this run: is it the owner's store?; it is", said)
        self.assertEqual(said.count("cannot be done here"), 1, said)

    def test_a_worker_that_cannot_start(self):
        url = f"postgres://farm@/x?host={self.dir}"
        self.fails(1, "system", "worker", "--farm", url, "--store", self.store)
        err = self.fails(5, "not_found", "worker", "--farm", self.url, "--store", "no").err
        self.assertIn("--store no: it is not there: make it first", err)


@unittest.skipIf(NO_POSTGRES, NO_POSTGRES)
class Extract(Refusals, ExtractCase):
    def test_a_farm_that_cannot_be_used(self):
        files = self.files(4)
        worker = self.worker()
        self.farm(*files)
        self.reap(worker)
        self.check_refusals(*files)


class Demo(unittest.TestCase):
    """./dev farm: what is wrong is said before anything is built."""

    def dev(self, *words):
        return subprocess.run([ROOT / "dev", "farm", *words], capture_output=True, text=True, timeout=LIMIT)

    def test_help(self):
        for word in ("--help", "-h"):
            done = self.dev(word)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("usage: ./dev farm [ROOM]: a farm on this machine", done.stdout)

    def test_no_such_room(self):
        done = self.dev("nosuchroom")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(
            done.stderr, "dev: no room nosuchroom: a directory with C files in a wing of src/, such as base\n"
        )
        self.assertEqual(self.dev("base", "wire").returncode, 2)


if __name__ == "__main__":
    unittest.main()
