# SPDX-License-Identifier: Apache-2.0
"""index --farm: whatever dies, lies or is lost, the result is that of the local run. The rules are those of
docs/design/0010-farm.md."""
import resource
import signal
import subprocess
import sys
import unittest

import events
from farm_support import NO_POSTGRES, PSQL, FarmMixin
from kythe_support import SIMPLE, IndexCase, simple
from support import LIMIT, MORTISE, PYTHON, ROOT

sys.path.insert(0, str(ROOT / "bench"))
from measure.relay import Relay  # noqa: E402

CRASH = "import os\nos._exit(3)\n"
HELD = "import os\nopen(os.path.join(state, 'held'), 'w').close()\nhold()\n" + SIMPLE
# Ends its worker: the parent of its guardian. Nobody else.
KILLS = """
import os, signal
stat = open(f"/proc/{os.getppid()}/stat").read()
worker = int(stat.rpartition(")")[2].split()[1])
assert b"worker" in open(f"/proc/{worker}/cmdline", "rb").read().split(b"\\0")
os.kill(worker, signal.SIGKILL)
hold()
"""

# Files of more than 50 bytes cannot be written, as on a full disk. SIGXFSZ stays ignored, as it is in Python.
WITHOUT_ROOM = {
    "restore_signals": False,
    "preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50, 50)),
}


@unittest.skipIf(NO_POSTGRES, NO_POSTGRES)
class FarmCase(FarmMixin, IndexCase):
    def setUp(self):
        super().setUp()
        self.workers = 0

    def worker(self, *words, **how):
        self.workers += 1
        cache = self.dir / f"cache-{self.workers}"
        log = open(self.dir / f"worker-{self.workers}.log", "wb")
        self.addCleanup(log.close)
        how.setdefault("stderr", log)
        return self.spawn(
            "worker", "--farm", self.url, "--store", self.store, "--cache", cache, "-j1", *words, **how
        )

    def farm_words(self, archive, *words, out="out", lease="20s", **how):
        return self.words(
            archive, "-o", out, "--farm", self.url, "--store", self.store, "--lease", lease, *words, **how
        )

    def farm(self, archive, *words, code=0, **how):
        """The owner; its Done."""
        try:
            done = self.run_mortise(*self.farm_words(archive, *words, **how))
        except subprocess.TimeoutExpired:
            self.fail(self.situation())
        self.assertEqual(done.code, code, done.err)
        return done

    def situation(self):
        """For a run that does not end."""
        logs = [f"{path.name}: {path.read_text()}" for path in sorted(self.dir.glob("worker-*.log"))]
        return "\n".join([self.run_mortise("farm", "status", self.url).out, *logs])

    def whole(self, archive, *words, code=0):
        done = self.index(archive, "-o", "whole", *words)
        self.assertEqual(done.code, code, done.err)
        return (self.dir / "whole").read_bytes()

    def out(self, name="out"):
        return (self.dir / name).read_bytes()

    def segments(self):
        return [path for path in (self.store / "segments").rglob("*") if path.is_file()]

    def until_held(self):
        """Until a unit stands at the gate."""
        events.until((self.state / "held").exists, self.state)


class Equal(FarmCase):
    def test_rule_1_the_bytes_of_the_local_run(self):
        archive = self.kzip(simple(20))
        whole = self.whole(archive)
        self.worker()
        self.worker()
        for words in ([], ["--batch", "3"], ["--batch", "100"], ["--window", "1"]):
            with self.subTest(words):
                self.farm(archive, *words)
                self.assertEqual(self.out(), whole)

    def test_formats_and_manifest(self):
        archive = self.kzip(simple(9))
        whole, lines = self.whole(archive), self.whole(archive, "--format=json")
        self.file("whole-entries", whole)
        self.worker()
        self.farm(archive, "--format=json", out="lines")
        self.assertEqual(self.out("lines"), lines)
        self.farm(archive, "--manifest", out="manifest")
        self.assertEqual(self.ok("entries", "cat", "manifest").raw, whole)
        self.assertEqual(self.ok("entries", "stat", "--json", "manifest").json["entries"], 9)
        self.assertEqual(
            self.ok("entries", "sort", "manifest").raw, self.ok("entries", "sort", "whole-entries").raw
        )
        goals = self.file("goals.toy", "//- @a defines/binding A\na\n")
        self.assertEqual(
            self.run_mortise("verify-entries", "manifest", goals).out,
            self.run_mortise("verify-entries", "whole-entries", goals).out,
        )
        segment = self.segments()[0]
        segment.write_bytes(segment.read_bytes()[:-1])
        self.assertIn(segment.name, self.fails(4, "input", "entries", "cat", "manifest", "-o", "x").err)
        self.assertIn(segment.name, self.fails(4, "input", "entries", "sort", "manifest", "-o", "x").err)
        self.assertIn(segment.name, self.fails(4, "input", "verify-entries", "manifest", goals).err)

    def test_two_archives(self):
        archives = [self.kzip(simple(5, name="a"), "a.kzip"), self.kzip(simple(4, name="b"), "b.kzip")]
        done = self.index(archives[0], archives[1], "-o", "whole")
        self.assertEqual(done.code, 0, done.err)
        self.worker()
        self.farm(archives[0], archives[1], "--batch", "2")
        self.assertEqual(self.out(), self.out("whole"))

    def test_failures_have_names_reasons_and_logs(self):
        bad = simple(1, "wire.note('log', message={'message': 'it is late'})\n" + CRASH, name="bad")
        archive = self.kzip(simple(4) + bad + simple(2, name="v"))
        whole = self.whole(archive, "--retries=0", code=1)
        self.worker()
        done = self.farm(archive, "--retries=0", code=1)
        self.assertEqual(self.out(), whole)
        self.assertRegex(done.err, r"(?m)^failed: bad0\.toy: .*exited with status 3")
        self.assertIn("6 of 7 units, 1 failed", done.err)
        self.assertIn("bad0.toy: it is late", done.err)
        report = self.farm(archive, "--retries=0", "--json", "--report", "run.html", code=1).json
        page = (self.dir / "run.html").read_text()
        self.assertIn("<td>bad0.toy<td>", page)
        self.assertIn("<code>bad0.toy: it is late</code>", page)
        self.assertRegex(page, "<td>failed<td>1\\n")
        self.assertRegex(page, "(?s)<svg.*units per second.*</svg>|too short for a plot")
        self.assertEqual([failure["name"] for failure in report["failures"]], ["bad0.toy"])
        self.assertEqual(report["failures"][0]["kind"], "crashed")
        status = self.ok("farm", "status", "--json", self.url).json
        self.assertEqual([unit["name"] for unit in status["failed_units"]], ["bad0.toy"])
        self.assertIn("exited with status 3", status["failed_units"][0]["why"])
        self.assertEqual(status["runs"][0]["failed"], 1)
        self.assertIn("bad0.toy", self.ok("farm", "status", self.url).out)
        self.assertLessEqual({unit["unit"] for unit in status["slow_units"]}, set(range(7)))
        self.assertTrue(all(unit["name"].endswith(".toy") for unit in status["slow_units"]))
        self.assertTrue(status["slow_units"])

    def test_rule_10_a_second_run_starts_no_analyzer(self):
        archive = self.kzip(simple(8))
        worker = self.worker()
        self.farm(archive, "--batch", "2")
        worker.terminate()
        worker.wait(LIMIT)
        report = self.farm(archive, "--batch", "2", "--json", out="again").json
        self.assertEqual(self.out("again"), self.out())
        self.assertEqual(report["farm"], {"batches": 4, "cached": 4, "cached_units": 8, "again": 0})

    def test_rule_10_other_options_archive_or_analyzer_is_other_work(self):
        archive = self.kzip(simple(2))
        self.worker()
        self.farm(archive)
        for words, how in (
            (["--type", "/kythe/index/toy"], {}),
            ([], {"archive": self.kzip(simple(2, name="other"), "other.kzip")}),
            ([], {"analyzer": self.puppet(other=1)}),
        ):
            with self.subTest(words=words):
                given = how.pop("archive", archive)
                report = self.farm(given, "--json", *words, **how).json
                self.assertEqual(report["farm"]["cached"], 0)


class Lost(FarmCase):
    """Rules 3, 4, 5, 7 and 12."""

    def setUp(self):
        super().setUp()
        self.archive = self.kzip(simple(8))
        self.expected = self.whole(self.archive)

    def test_rule_4_the_engine_loses_a_job(self):
        """The owner asks again, within two leases."""
        owner = self.spawn(*self.farm_words(self.archive, "--batch", "2", lease="1s"))
        self.until_batches("count(*) = 4")
        self.sql("delete from mortise_farm.batch where first = 4")
        self.worker()
        self.assertEqual(owner.wait(LIMIT), 0)
        self.assertEqual(self.out(), self.expected)

    def test_rule_5_the_engine_is_wiped(self):
        held = self.kzip(simple(4) + simple(1, HELD, name="held"), "held.kzip")
        gate = self.gate()
        owner = self.spawn(*self.farm_words(held, "--batch", "1"))
        worker = self.worker()
        journal = self.dir / "out.journal"
        events.until(
            lambda: journal.exists() and journal.read_bytes().count(b"\n") == 5, self.dir, process=owner
        )
        owner.kill()
        worker.kill()
        owner.wait()
        worker.wait()
        self.sql("drop schema mortise_farm cascade")
        self.assertEqual(self.run_mortise("farm", "init", self.url).code, 0)
        gate.open()
        self.worker()
        done = self.farm(held, "--batch", "1", "--resume")
        self.assertIn("resuming: 4 of 5 units are done", done.err)
        gate.open()
        self.assertEqual(self.out(), self.whole(held))

    def test_rule_7_a_segment_that_is_cut_changed_or_missing(self):
        self.worker()
        self.farm(self.archive, "--batch", "2")
        first, second, third, *_ = sorted(self.segments())
        first.write_bytes(first.read_bytes()[:-5])
        changed = bytearray(second.read_bytes())
        changed[3] ^= 1
        second.write_bytes(changed)
        third.unlink()
        done = self.farm(self.archive, "--batch", "2", "--json", out="again")
        self.assertEqual(self.out("again"), self.expected)
        self.assertEqual(done.json["farm"]["again"], 2)  # the missing one is no hit at all
        self.assertIn("not those that its name promises; it is done again", done.err)

    def test_rule_7_the_segment_of_another_batch(self):
        """A worker that lies commits a good segment for the wrong batch: the batch is done again, and whose
        segment it is keeps it."""
        first = self.worker()
        self.farm(self.archive, "--batch", "2", out="before")
        first.kill()
        first.wait()
        kept = sorted(self.segments())
        other = self.kzip(simple(2, name="other"), "other.kzip")
        owner = self.spawn(*self.farm_words(other, "--batch", "2", out="out2"))
        self.until_batches("count(*) = 1")
        self.sql(
            "select mortise_farm.commit_batch('liar', 'm', 1, 0, 0, run, first, count, key,"
            f" '{kept[0].name}', 0, 0, '', 0) from mortise_farm.batch"
        )
        self.worker()
        self.assertEqual(owner.wait(LIMIT), 0)
        self.assertTrue(set(kept) <= set(self.segments()))
        self.assertEqual(self.out("out2"), self.whole(other))

    def test_rule_12_the_owner_s_machine_was_reset(self):
        """What was not on the disk is gone: the journal's sums find it."""
        held = self.kzip(simple(6) + simple(1, HELD, name="held"), "held.kzip")
        gate = self.gate()
        owner = self.spawn(*self.farm_words(held, "--batch", "1"))
        self.worker()
        journal, partial = self.dir / "out.journal", self.dir / "out.partial"
        events.until(
            lambda: journal.exists() and journal.read_bytes().count(b"\n") == 7, self.dir, process=owner
        )
        owner.kill()
        owner.wait()
        size = partial.stat().st_size
        with open(partial, "r+b") as file:
            file.truncate(size // 2)
            file.truncate(size)  # zeros, as after a reset
        gate.open()
        done = self.farm(held, "--batch", "1", "--resume")
        self.assertIn("warning: ", done.err)
        self.assertEqual(self.out(), self.whole(held))

    def test_rule_12_a_worker_s_machine_was_reset(self):
        """A segment of which only half is on the disk, the rest zeros; a key without its
        segment; half a file."""
        self.worker()
        self.farm(self.archive, "--batch", "2")
        half, gone, *_ = sorted(self.segments())
        size = half.stat().st_size
        with open(half, "r+b") as file:
            file.truncate(size // 2)
            file.truncate(size)
        gone.unlink()
        (self.store / "new" / "left").write_bytes(b"half a segment")
        done = self.farm(self.archive, "--batch", "2", out="again")
        self.assertEqual(self.out("again"), self.expected)
        self.assertIn(f"{half.name}: ", done.err)
        self.assertIn("it is done again", done.err)

    def test_rule_11_a_worker_that_was_stopped_past_its_lease(self):
        """Woken when all is over, its commit comes late, and changes nothing (rule 3)."""
        held = self.kzip(simple(1, HELD, name="held") + simple(3), "held.kzip")
        gate = self.gate()
        owner = self.spawn(*self.farm_words(held, "--batch", "4", lease="1s"))
        slow = self.worker()
        self.until_held()
        slow.send_signal(signal.SIGSTOP)
        gate.open()
        self.worker()
        self.assertEqual(owner.wait(LIMIT), 0)
        slow.send_signal(signal.SIGCONT)
        slow.terminate()
        self.assertEqual(slow.wait(LIMIT), 143)
        self.assertEqual(self.out(), self.whole(held))


class Owners(FarmCase):
    def test_rule_13_no_message_above_4_KB(self):
        """Many batches, and as many failures with long names and reasons, which all want to be told."""
        relay = Relay(self.postgres.dir)
        self.addCleanup(relay.close)
        archive = self.kzip(simple(12) + simple(12, CRASH, name="bad" + "n" * 180))
        direct, self.url = self.url, f"postgres://farm@/{self.database}?host={relay.dir}"
        for _ in range(3):
            self.worker()
        self.farm(archive, "--batch", "1", "--report", "report.html", code=1)
        self.url = direct  # what a person asks may be longer
        self.assertEqual(self.ok("farm", "status", self.url, "--json").json["runs"][0]["failed"], 12)
        self.assertGreater(relay.count, 80)
        self.assertLessEqual(relay.longest, 4096)

    def test_rule_6_a_second_owner_is_refused(self):
        archive = self.kzip(simple(3))
        owner = self.spawn(*self.farm_words(archive))
        self.until_batches("count(*) > 0")
        done = self.run_mortise(*self.farm_words(archive, out="other"))
        self.assertEqual(done.code, 4, done.err)
        self.assertIn("another owner works on the same run", done.err)
        waits, refused = done.err.splitlines()
        self.assertIn("waiting 5 s for its end", waits)
        self.assertNotIn("waiting", refused)
        same = self.run_mortise(*self.farm_words(archive))
        self.assertIn("another run is writing it", same.err)
        self.worker()
        self.assertEqual(owner.wait(LIMIT), 0)

    def test_an_owner_that_was_killed_a_moment_ago(self):
        """Its lock is held until the server has seen its end: here by a session that ends when it is told."""
        archive = self.kzip(simple(3))
        first = self.spawn(*self.farm_words(archive))
        self.until_batches("count(*) > 0")
        run = self.sql("select run from mortise_farm.run")
        self.reap(first)
        holder = subprocess.Popen(
            [*PSQL, "-d", self.url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(self.reap, holder)
        self.addCleanup(holder.stdout.close)
        holder.stdin.write(f"select pg_advisory_lock(hashtextextended('mortise_farm/{run}', 0));\n")
        holder.stdin.write("select 'held';\n")
        holder.stdin.flush()
        while "held" not in holder.stdout.readline():
            pass
        second = self.spawn(*self.farm_words(archive), stderr=subprocess.PIPE)
        self.addCleanup(second.stderr.close)
        self.assertIn(b"waiting 5 s for its end", second.stderr.readline())
        holder.stdin.close()
        self.worker()
        self.assertEqual(second.wait(LIMIT), 0)
        self.assertEqual(self.out(), self.whole(archive))

    def test_rule_6_an_owner_that_lost_its_lock_stops(self):
        archive = self.kzip(simple(3))
        log = open(self.dir / "owner.log", "w+b")
        self.addCleanup(log.close)
        owner = self.spawn(*self.farm_words(archive), stderr=log)
        self.until_batches("count(*) > 0")
        run = self.sql("select run from mortise_farm.run")
        # Somebody takes the lock in the moment in which the connection is lost.
        thief = subprocess.Popen(
            [
                *PSQL,
                "-d",
                self.url,
                "-c",
                f"""
                select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'mortise';
                select pg_advisory_lock(hashtextextended('mortise_farm/{run}', 0));
                update mortise_farm.run set owner = 'a thief';
                """,
                "-c",
                "select pg_sleep(600)",
            ],
            stdout=subprocess.DEVNULL,
        )
        self.addCleanup(self.reap, thief)
        self.assertEqual(owner.wait(LIMIT), 4)
        log.seek(0)
        self.assertIn(b"another owner has taken over this run (a thief)", log.read())

    def test_an_owner_that_comes_back_with_other_batches(self):
        """What the farm still has of the old ones is not what it waits for."""
        archive = self.kzip(simple(8))
        owner = self.spawn(*self.farm_words(archive, "--batch", "2"))
        self.until_batches("count(*) = 4")
        owner.terminate()
        owner.wait(LIMIT)
        self.worker()
        self.farm(archive, "--batch", "4", "--resume")
        self.assertEqual(self.out(), self.whole(archive))

    def test_rule_9_an_owner_that_stands_still_stops_the_workers(self):
        archive = self.kzip(simple(30))
        owner = self.spawn(*self.farm_words(archive, "--batch", "1", "--window", "4"))
        self.until_batches("count(*) = 4")
        owner.send_signal(signal.SIGSTOP)
        done = self.run_mortise("worker", "--farm", self.url, "--store", self.store, "--once", "-j1")
        self.assertEqual(done.code, 0, done.err)
        self.assertLessEqual(len(self.segments()), 4)
        self.assertIn("4 units done", done.err)
        owner.send_signal(signal.SIGCONT)
        self.worker()
        self.assertEqual(owner.wait(LIMIT), 0)
        self.assertEqual(self.out(), self.whole(archive))

    def test_rule_8_a_unit_that_kills_its_worker_fails_alone(self):
        """Its neighbours are in the result. The lease of a killed worker is over at once, so as not to wait."""
        log = open(self.dir / "owner.log", "wb")
        self.addCleanup(log.close)
        self.gate()
        archive = self.kzip(simple(2) + simple(1, KILLS, name="killer") + simple(1, name="v"))
        owner = self.spawn(
            *self.farm_words(archive, "--batch", "4", lease="1s"),
            stderr=log,
        )
        while owner.poll() is None:
            worker = self.worker("--once")
            worker.wait(LIMIT)
            self.sql("update mortise_farm.batch set lease = now() where state = 1")
        self.assertEqual(owner.returncode, 1)
        said = (self.dir / "owner.log").read_text()
        self.assertIn("killer0.toy: its worker died, 5 times", said)
        self.assertIn("3 of 4 units, 1 failed", said)


class Quiet(FarmCase):
    """Nobody works: the owner says so, once, and why as far as the farm knows it."""

    def said(self, process, name, text):
        path = self.dir / name
        events.until(lambda: text in path.read_text(), self.dir, process=process)
        return path.read_text()

    def owner(self, archive):
        log = open(self.dir / "owner.log", "wb")
        self.addCleanup(log.close)
        return self.spawn(*self.farm_words(archive), stderr=log)

    def test_no_worker(self):
        owner = self.owner(self.kzip(simple(2)))
        self.said(owner, "owner.log", f"start mortise worker --farm {self.url} --store {self.store}")
        self.worker()
        self.assertEqual(owner.wait(LIMIT), 0)
        self.assertEqual((self.dir / "owner.log").read_text().count("nobody has"), 1)

    def test_workers_that_cannot(self):
        owner = self.owner(self.kzip(simple(2)))
        self.file("elsewhere/mortise-store", b"")
        self.worker("--store", "elsewhere")
        self.said(owner, "owner.log", "1 worker asks for work, but cannot do this run")

    def test_a_worker_without_work(self):
        worker = self.worker()
        self.said(
            worker,
            "worker-1.log",
            f"waiting for mortise index or extract --farm {self.url} --store {self.store}",
        )


class BadInput(FarmCase):
    """One clear line each; nothing is lost."""

    def test_usage(self):
        archive = self.kzip(simple(1))
        for text, *words in (
            ("--farm needs --store", "--farm", self.url, "-o", "x"),
            ("belong to --farm", "--store", self.store, "-o", "x"),
            ("stdout has no journal", "--farm", self.url, "--store", self.store, "-o", "-"),
            ("not raw", "--farm", self.url, "--store", self.store, "-o", "x", "--format", "raw"),
            ("leave out --shard", "--farm", self.url, "--store", self.store, "-o", "x", "--shard", "1/2"),
            ("leave out --env", "--farm", self.url, "--store", self.store, "-o", "x", "--env", "A=b"),
            ("expected a time", "--farm", self.url, "--store", self.store, "-o", "x", "--lease", "soon"),
        ):
            with self.subTest(text):
                self.assertIn(text, self.fails(2, "usage", *self.words(archive, *words)).err)
        self.assertIn("name the farm", self.fails(2, "usage", "worker").err)

    def test_wrong_url_and_old_schema(self):
        archive = self.kzip(simple(1))
        self.sql("update mortise_farm.version set number = 0")
        done = self.run_mortise(*self.farm_words(archive))
        self.assertIn("run mortise farm init", done.err)
        self.url = f"postgres://farm@/x?host={self.dir}"
        done = self.run_mortise("worker", "--farm", self.url, "--store", self.store)
        self.assertEqual(done.code, 1)
        self.assertIn("the farm's server: ", done.err)

    def test_a_full_store(self):
        """The owner cannot write what the run is: one line, and the old result stays."""
        archive = self.kzip(simple(3))
        self.file("out", "old")
        done = subprocess.run(
            [str(MORTISE), *map(str, self.farm_words(archive))],
            cwd=self.dir,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
            **WITHOUT_ROOM,
        )
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn("File too large", done.stderr)
        self.assertEqual(self.out(), b"old")
        self.worker()
        self.farm(archive)
        self.assertEqual(self.out(), self.whole(archive))

    def test_a_store_that_is_full_for_a_worker(self):
        """It says so, to its owner too, and gives the batch back; another one does it."""
        archive = self.kzip(simple(6))
        owner = self.spawn(*self.farm_words(archive, "--batch", "6"), stderr=subprocess.PIPE)
        self.addCleanup(owner.stderr.close)
        self.until_batches("count(*) = 1")
        full = self.worker(
            stderr=subprocess.PIPE,
            **WITHOUT_ROOM,
        )
        self.addCleanup(full.stderr.close)
        self.assertTrue(any(b"File too large" in line for line in full.stderr))
        told = next(line for line in owner.stderr if b"File too large" in line)
        self.assertRegex(told, rb"warning: worker \S+/%d-\w{8}: " % full.pid)
        self.assertIn("File too large", self.ok("farm", "status", self.url).out)
        full.send_signal(signal.SIGINT)
        full.wait(LIMIT)
        self.worker()
        self.assertEqual(owner.wait(LIMIT), 0)
        self.assertEqual(self.out(), self.whole(archive))

    def test_clocks_that_differ_by_minutes(self):
        """Leases are the server's time alone. A worker whose clocks are ahead does the run."""
        ahead = ["unshare", "-T", "--monotonic", "600", "--boottime", "600", "-f", "--kill-child"]
        if subprocess.run([*ahead, "true"], capture_output=True, check=False).returncode:
            self.skipTest("no time namespaces here")
        archive = self.kzip(simple(6))
        owner = self.spawn(*self.farm_words(archive, "--batch", "2"))
        self.until_batches("count(*) = 3")
        done = subprocess.run(
            [*ahead, str(MORTISE), "worker", "--farm", self.url, "--store", self.store, "--once", "-j1"],
            cwd=self.dir,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        self.assertIn("6 units done", done.stderr)
        self.assertEqual(owner.wait(LIMIT), 0)
        self.assertEqual(self.out(), self.whole(archive))

    def test_store_that_is_not_shared(self):
        archive = self.kzip(simple(2))
        owner = self.spawn(*self.farm_words(archive))
        self.until_batches("count(*) > 0")
        self.file("elsewhere/mortise-store", b"")
        done = self.run_mortise("worker", "--farm", self.url, "--store", "elsewhere", "--once")
        self.assertIn("does not have this run: is it the owner's store?", done.err)
        self.assertIn("input: this worker could do none of the work", done.err)
        self.assertEqual(done.code, 4)
        self.worker()
        self.assertEqual(owner.wait(LIMIT), 0)

    def test_another_analyzer_on_the_worker(self):
        archive = self.kzip(simple(1))
        program = self.file("analyzer.py", "first")
        owner = self.spawn(*self.farm_words(archive, analyzer=[PYTHON, program]))
        self.until_batches("count(*) > 0")
        program.write_text("second")
        done = self.run_mortise("worker", "--farm", self.url, "--store", self.store, "--once")
        self.assertIn("is another one than the owner's", done.err)
        owner.terminate()
        owner.wait(LIMIT)

    def test_an_archive_that_changed(self):
        """In the store: the worker refuses it. At the owner's: another run, and --resume says so."""
        archive = self.kzip(simple(2))
        owner = self.spawn(*self.farm_words(archive))
        self.until_batches("count(*) > 0")
        [stored] = [path for path in (self.store / "kzips").rglob("*") if path.is_file()]
        stored.write_bytes(archive.read_bytes() + b"x")
        done = self.run_mortise("worker", "--farm", self.url, "--store", self.store, "--once")
        self.assertIn("not those that its name promises", done.err)
        owner.kill()
        owner.wait()

    def test_a_worker_ends_and_gives_its_batch_back(self):
        archive = self.kzip(simple(1, HELD, name="held"))
        gate = self.gate()
        owner = self.spawn(*self.farm_words(archive))
        worker = self.worker()
        self.until_held()
        worker.terminate()
        self.assertEqual(worker.wait(LIMIT), 143)
        gate.open()
        self.assertEqual(self.sql("select state || '/' || claims from mortise_farm.batch"), "0/0")
        self.worker()
        self.assertEqual(owner.wait(LIMIT), 0)


if __name__ == "__main__":
    unittest.main()
