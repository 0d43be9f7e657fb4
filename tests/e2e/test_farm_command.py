# SPDX-License-Identifier: Apache-2.0
"""mortise farm: the schema, its versions and its roles; what is wrong is said in one line."""
import subprocess
import unittest

from farm_support import NO_POSTGRES, PSQL, FarmMixin
from support import Case

KEY = "0123456789abcdef" * 4


@unittest.skipIf(NO_POSTGRES, NO_POSTGRES)
class Command(FarmMixin, Case):
    def test_init_can_be_repeated(self):
        done = self.run_mortise("farm", "init", self.url)
        self.assertEqual((done.code, done.out), (0, ""), done.err)
        self.assertIn("the farm is ready", done.err)
        self.assertEqual(self.run_mortise("farm", "init", "--json", self.url).json, {"ok": True})

    def test_status_of_an_empty_farm(self):
        status = self.ok("farm", "status", "--json", self.url).json
        self.assertEqual(
            status,
            {"version": 4, "runs": [], "workers": [], "slowest": [], "slow_units": [], "failed_units": []},
        )
        self.assertIn("worker", self.ok("farm", "status", self.url).out)

    def test_no_farm(self):
        name = self.postgres.database()
        self.assertIn(
            "mortise farm init", self.fails(4, "input", "farm", "status", self.postgres.url(name)).err
        )

    def test_init_without_the_right_to_make_one(self):
        """The role of an owner is not what is missing."""
        self.sql("create role o1 login in role mortise_farm_owner")
        self.addCleanup(self.sql, "drop role o1")
        err = self.fails(4, "input", "farm", "init", self.postgres.url(self.postgres.database(), "o1")).err
        self.assertIn("permission denied for database", err)
        self.assertIn("who may create roles, and schemas in this database", err)
        self.assertNotIn("mortise_farm_owner", err)

    def test_old_and_new_schema(self):
        self.sql("update mortise_farm.version set number = 0")
        err = self.fails(4, "input", "farm", "status", self.url).err
        self.assertIn("has version 0, and this mortise needs 4: run mortise farm init", err)
        self.assertEqual(self.run_mortise("farm", "init", self.url).code, 0)
        self.ok("farm", "status", self.url)
        self.sql("update mortise_farm.version set number = 99")
        self.assertIn("upgrade mortise", self.fails(4, "input", "farm", "status", self.url).err)
        self.assertIn("newer than this mortise", self.fails(4, "input", "farm", "init", self.url).err)

    def test_wrong_urls(self):
        self.assertIn("postgres://host/database", self.fails(2, "usage", "farm", "status", "nats://x").err)
        self.assertIn("not one that libpq", self.fails(2, "usage", "farm", "status", "postgres://[x").err)
        nowhere = f"postgres://farm@/x?host={self.dir}"
        self.assertIn("the farm's server: ", self.fails(1, "system", "farm", "status", nowhere).err)
        missing = self.postgres.url("nonesuch")
        self.assertIn(
            'database "nonesuch" does not exist', self.fails(1, "system", "farm", "status", missing).err
        )

    def test_a_password_is_refused_and_not_repeated(self):
        url = f"postgres://farm:geheim@/x?host={self.dir}"
        err = self.fails(2, "usage", "farm", "status", url).err
        self.assertIn("~/.pgpass", err)
        self.assertNotIn("geheim", err)

    def test_usage(self):
        self.assertIn("farm init, status, retry or gc", self.fails(2, "usage", "farm", "stop", self.url).err)
        self.assertIn("name the farm", self.fails(2, "usage", "farm", "status").err)

    def test_retry_and_gc(self):
        self.sql(f"select mortise_farm.own('{KEY}', 't', 'o', 10, 60000)")
        self.sql(f"select mortise_farm.submit('{KEY}', '{{0,5}}', '{{5,5}}', '{{{KEY},{KEY}}}', false)")
        self.sql("select mortise_farm.claim('w', 'm', 1, 0, 0, 1, '{}')")
        status = self.ok("farm", "status", "--json", self.url).json
        run = status["runs"][0]
        self.assertEqual((run["state"], run["waiting"], run["leased"]), ("no owner", 1, 1))
        self.assertEqual([worker["worker"] for worker in status["workers"]], ["w"])
        self.assertEqual([slow["first"] for slow in status["slowest"]], [1])
        self.assertEqual(self.ok("farm", "retry", "--json", self.url).json, {"batches": 1})
        self.sql("update mortise_farm.run set seen = now() - interval '40 days'")
        self.assertEqual(self.ok("farm", "gc", "--json", self.url).json, {"runs": 1, "workers": 0})
        done = self.run_mortise("farm", "gc", self.url, "--store", self.store, "--days", "0")
        self.assertIn("removed 0 files from the store", done.err)

    def test_gc_forgets_a_run_without_an_owner(self):
        """At once with --days 0; not a day too early, and never one whose lock is held. A lock in another
        database does not count."""
        gc = ("farm", "gc", "--json", self.url, "--days")
        self.sql(f"select mortise_farm.own('{KEY}', 't', 'o', 10, 60000)")
        self.assertEqual(self.ok(*gc, "1").json["runs"], 0)
        lock = f"pg_advisory_lock(hashtextextended('mortise_farm/{KEY}', 0))"
        forget = "select (mortise_farm.gc(0)::json)->>'runs'"
        self.assertEqual(self.sql(f"select {lock}; {forget}").splitlines()[-1], "0")
        other = [*PSQL, "-d", self.postgres.url(self.postgres.database())]
        with subprocess.Popen(other, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as session:
            print(f"select 'held' from {lock};", file=session.stdin, flush=True)
            self.assertEqual(session.stdout.readline(), "held\n")
            self.assertEqual(self.ok(*gc, "0").json["runs"], 1)
            session.stdin.close()


@unittest.skipIf(NO_POSTGRES, NO_POSTGRES)
class Schema(FarmMixin, Case):
    """The functions themselves: rules 3, 8 and 13 of the design where they are held."""

    def setUp(self):
        super().setUp()
        self.sql(f"select mortise_farm.own('{KEY}', 't', 'o', 10, 60000)")
        self.sql(f"select mortise_farm.submit('{KEY}', '{{0}}', '{{10}}', '{{{KEY}}}', false)")

    def claim(self, worker, ticket):
        return self.sql(
            f"select first, count from mortise_farm.claim('{worker}', 'm', 1, 0, 0, {ticket}, '{{}}')"
        )

    def commit_words(self, worker, segment, unit=0, name="a", ms=100):
        return (
            f"select mortise_farm.commit_batch('{worker}', 'm', 1, 0, 0, '{KEY}', 0, 10, '{KEY}', '{segment}',"
            f" 900, {unit}, '{name}', {ms})"
        )

    def commit(self, *words):
        return self.sql(self.commit_words(*words))

    def test_a_claim_that_is_repeated_gets_the_same_batch(self):
        self.assertEqual([self.claim("a", 7), self.claim("a", 7), self.claim("a", 8)], ["0|10", "0|10", ""])

    def test_the_rate_of_a_worker_is_that_of_its_work(self):
        """Before and after it the worker only asks: that time does not count, and the rate stays."""

        def asks(units, seconds):
            """So long after its mark, exactly: a transaction has one time."""
            told = self.sql(
                f"update mortise_farm.worker set marked = now() - interval '{seconds} seconds';"
                f"select mortise_farm.note_worker('a', 'm', 1, {units}, 0);"
                "select round(rate::numeric, 1) from mortise_farm.worker"
            )
            return float(told.splitlines()[-1])

        self.assertEqual(asks(0, 0), 0)
        self.assertEqual(asks(0, 1000), 0)
        self.claim("a", 1)
        self.assertEqual(asks(0, 4), 0)  # a beat
        self.assertEqual(asks(40, 8), 5)
        self.commit("a", "a" * 64)
        self.assertEqual([asks(40, 50), asks(40, 50)], [5, 5])

    def test_leave(self):
        self.claim("a", 1)
        self.claim("b", 1)
        self.assertEqual(self.sql("select mortise_farm.leave('a')"), "t")
        self.assertEqual(self.sql("select mortise_farm.leave('a')"), "f")
        self.assertEqual(self.sql("select worker from mortise_farm.worker"), "b")

    def test_rule_3_the_first_commit_wins(self):
        """Also one that comes after the lease was lost to another worker."""
        self.claim("a", 1)
        self.sql("update mortise_farm.batch set lease = now() - interval '1 second'")
        self.assertEqual(self.claim("b", 1), "0|10")
        self.assertEqual(self.commit("a", "a" * 64), "t")
        self.assertEqual(self.commit("b", "b" * 64), "f")
        self.assertEqual(self.sql("select segment from mortise_farm.batch"), "a" * 64)

    def test_trouble_is_told_once_and_ends_with_a_commit(self):
        trouble = f"select mortise_farm.trouble('a', '{KEY}', 'no room')"
        self.claim("a", 1)
        self.assertEqual([self.sql(trouble), self.sql(trouble)], ["t", "f"])
        status = self.ok("farm", "status", "--json", self.url).json
        self.assertEqual(status["workers"][0]["trouble"], "no room")
        self.assertIn("\n  in trouble: no room\n", self.ok("farm", "status", self.url).out)
        self.commit("a", "a" * 64)
        self.assertNotIn("trouble: ", self.ok("farm", "status", self.url).out)
        self.assertEqual(self.sql(trouble), "t")

    def test_the_slowest_units_are_kept(self):
        """Of many, those that took longest; a commit that came too late tells nothing."""
        again = f"select mortise_farm.submit('{KEY}', '{{0}}', '{{10}}', '{{{KEY}}}', true); "
        self.sql(
            ";".join(
                again + self.commit_words("a", "a" * 64, number, f"u{number}", (number * 7) % 60 + 1)
                for number in range(60)
            )
        )
        self.commit("b", "b" * 64, 99, "late", 99999)
        self.assertEqual(self.sql("select count(*), min(ms), max(ms) from mortise_farm.unit"), "20|41|60")
        slow = self.ok("farm", "status", "--json", self.url).json["slow_units"]
        self.assertEqual([unit["name"] for unit in slow][:2], ["u17", "u34"])
        self.assertEqual((len(slow), slow[0]["worker"], slow[0]["seconds"]), (10, "a", 0.1))

    def test_failed_units_are_kept_until_the_run_begins_anew(self):
        self.sql(
            ";".join(
                f"select mortise_farm.failed('{KEY}', {at + 4}, '{{{at},{at + 1},{at + 2},{at + 3}}}',"
                " '{a b,c,d,e}', '{no,no,no,no}')"
                for at in range(0, 120, 4)
            )
        )
        self.assertEqual(self.sql("select count(*) from mortise_farm.unit"), "100")
        shown = self.ok("farm", "status", self.url).out
        self.assertRegex(shown, r"(?m)^0123456789 +1  a b: no$")
        self.assertIn("and 110 more", shown)
        own = f"select mortise_farm.own('{KEY}', 't', 'o', 10, 60000)"
        self.sql(own)
        self.assertEqual(self.sql("select count(*) from mortise_farm.unit"), "100")
        self.sql(f"select mortise_farm.finish('{KEY}')")
        self.sql(own)
        self.assertEqual(self.sql("select count(*) from mortise_farm.unit"), "0")

    def test_an_old_schema_is_upgraded_with_what_is_in_it(self):
        """From version 1: its functions had other arguments, and its tables fewer columns."""
        old = "create function mortise_farm."
        for step in (
            "drop table mortise_farm.unit",
            "alter table mortise_farm.batch drop column took_ms",
            "alter table mortise_farm.worker drop column trouble",
            "drop function mortise_farm.done",
            old + "done(r text, n bigint, f bigint, x bigint, most int) returns int language sql as 'select 1'",
            old + "commit_batch(a text, b text, c int, d bigint, e bigint, f text, g bigint, h int, i text,"
            " j text) returns int language sql as 'select 1'",
            "update mortise_farm.version set number = 1",
        ):
            self.sql(step)
        self.assertEqual(self.run_mortise("farm", "init", self.url).code, 0)
        self.assertEqual(self.claim("a", 1), "0|10")
        self.assertEqual(self.commit("a", "a" * 64), "t")
        self.assertEqual(
            self.sql(f"select first, took_ms from mortise_farm.done('{KEY}', 0, 0, 0, 16)"), "0|900"
        )
        self.assertEqual(self.run_mortise("farm", "init", self.url).code, 0)

    def test_rule_8_five_claims_are_poison(self):
        for ticket in range(5):
            self.assertEqual(self.claim("a", ticket), "0|10")
            self.sql("update mortise_farm.batch set lease = now() - interval '1 second'")
        self.assertEqual(self.claim("a", 9), "")
        self.assertEqual(self.sql(f"select state from mortise_farm.done('{KEY}', 0, 0, 0, 16)"), "3")

    def test_what_is_given_back_does_not_count(self):
        for ticket in range(9):
            self.assertEqual(self.claim("a", ticket), "0|10")
            self.assertEqual(self.sql(f"select mortise_farm.beat('a', 'm', 1, 0, 0, '{KEY}', 0, 0)"), "t")

    def test_rule_13_a_worker_may_only_claim_beat_commit_and_leave(self):
        self.sql("create role w1 login in role mortise_farm_worker")
        self.addCleanup(self.sql, "drop role w1")
        as_worker = {"user": "w1"}
        self.assertEqual(
            self.sql("select first from mortise_farm.claim('a', 'm', 1, 0, 0, 1, '{}')", **as_worker), "0"
        )
        for refused in (
            f"select mortise_farm.submit('{KEY}', '{{0}}', '{{1}}', '{{{KEY}}}', true)",
            f"select mortise_farm.done('{KEY}', 0, 0, 0, 16)",
            f"select mortise_farm.own('{KEY}', 't', 'o', 1, 1)",
            f"select mortise_farm.failed('{KEY}', 1, '{{1}}', '{{a}}', '{{b}}')",
            f"select mortise_farm.note_slow('{KEY}', 'w', 1, 'a', 1)",
            "select mortise_farm.gc(0)",
            "select * from mortise_farm.batch",
            "delete from mortise_farm.batch",
            "update mortise_farm.run set units = 0",
            "drop schema mortise_farm cascade",
        ):
            with self.subTest(refused), self.assertRaisesRegex(RuntimeError, "permission denied|must be owner"):
                self.sql(refused, **as_worker)
        err = self.fails(4, "input", "farm", "status", self.postgres.url(self.database, "w1")).err
        self.assertIn("it needs the role mortise_farm_owner", err)


if __name__ == "__main__":
    unittest.main()
