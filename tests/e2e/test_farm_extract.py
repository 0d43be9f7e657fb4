# SPDX-License-Identifier: Apache-2.0
"""extract --farm: the result is that of the local run. The rules are those of docs/design/0010-farm.md."""
import json
import re
import subprocess
import unittest

import events
from farm_support import NO_POSTGRES, FarmMixin
from support import LIMIT, YAMS_ERRORS, YAMS_OK, Case


WORDS = ["fine", "failed", "unsupported", "timeout", "dependency", "nodata", "textnull", "nocontent", "well"]


def without_time(rows):
    """What is another one in every run."""
    return re.sub(rb'"(time_ms|pid)":\d+', b"", rows)


@unittest.skipIf(NO_POSTGRES, NO_POSTGRES)
class ExtractCase(FarmMixin, Case):
    plugin = YAMS_OK

    def setUp(self):
        super().setUp()
        self.workers = 0

    def files(self, count):
        return [self.file(f"f{number}.txt", f"file {number}\n" * (number + 1)).name for number in range(count)]

    def worker(self, *words, **how):
        self.workers += 1
        log = open(self.dir / f"worker-{self.workers}.log", "wb")
        self.addCleanup(log.close)
        how.setdefault("stderr", log)
        return self.spawn(
            "worker",
            "--farm",
            self.url,
            "--store",
            self.store,
            "--cache",
            self.dir / "cache",
            "-j1",
            *words,
            **how,
        )

    def local(self, *words, code=0):
        done = self.run_mortise("extract", *words, "-o", "whole", "--plugin", self.plugin)
        self.assertEqual(done.code, code, done.err)
        return (self.dir / "whole").read_bytes(), done

    def farm_words(self, *words, out="out"):
        return [
            *("extract", *words, "-o", out, "--plugin", self.plugin),
            *("--farm", self.url, "--store", self.store, "--lease", "20s"),
        ]

    def farm(self, *words, code=0, out="out"):
        try:
            done = self.run_mortise(*self.farm_words(*words, out=out))
        except subprocess.TimeoutExpired:
            logs = [path.read_text() for path in self.dir.glob("worker-*.log")]
            self.fail("\n".join([self.run_mortise("farm", "status", self.url).out, *logs]))
        self.assertEqual(done.code, code, done.err)
        return (self.dir / out).read_bytes(), done


class Equal(ExtractCase):
    def test_rule_1_the_bytes_of_the_local_run(self):
        files = self.files(11)
        self.worker()
        self.worker()
        for words in ([], ["-m"], ["--source=path"], ["-O", "x=1"]):
            whole, _ = self.local(*files, *words)
            for farm_words in ([], ["--batch=3"], ["--batch=100"]):
                with self.subTest(words=words, farm=farm_words):
                    self.assertEqual(self.farm(*files, *words, *farm_words)[0], whole)

    def test_rows(self):
        files = self.files(5)
        whole, _ = self.local(*files, "--json")
        self.worker()
        result, _ = self.farm(*files, "--json", "--batch=2")
        self.assertEqual(without_time(result), without_time(whole))

    def test_one_file(self):
        (name,) = self.files(1)
        self.worker()
        self.assertEqual(self.farm(name)[0], self.local(name)[0])

    def test_files_that_cannot_be_read(self):
        """The owner says so, in the words of the local run; the others are there."""
        self.file("empty.txt", "")
        strange = 'no "such" one\\, {0}.txt'
        files = [*self.files(3), "missing.txt", strange, "empty.txt", str(self.dir), *self.files(5)[3:]]
        self.worker()
        for words in ([], ["--json"]):
            with self.subTest(words):
                whole, local = self.local(*files, *words, code=1)
                result, done = self.farm(*files, *words, "--batch=2", code=1)
                self.assertEqual(without_time(result), without_time(whole))
                self.assertEqual(done.err, local.err)
        named = {unit["name"] for unit in self.ok("farm", "status", "--json", self.url).json["failed_units"]}
        self.assertLessEqual({"missing.txt", strange}, named)
        self.assertEqual(self.farm("missing.txt", code=5)[1].err, self.local("missing.txt", code=5)[1].err)

    def test_rule_10_a_second_run_starts_no_plugin(self):
        files = [*self.files(6), "missing.txt"]
        worker = self.worker()
        first, _ = self.farm(*files, "--batch=2", code=1)
        worker.terminate()
        worker.wait(LIMIT)
        second, done = self.farm(*files, "--batch=2", "-v", out="again", code=1)
        self.assertEqual(second, first)
        self.assertIn("4 batches, 4 of them found in the store", done.err)

    def test_rule_10_another_name_option_or_content_is_other_work(self):
        files = self.files(2)
        self.worker()
        self.farm(*files)
        for words in (["-O", "x=1"], ["--json"], ["--mime=text/x"]):
            with self.subTest(words):
                self.assertIn("1 batches, 0 of them", self.farm(*files, *words, "-v", "--batch=2")[1].err)
        self.file("f0.txt", "other")
        self.assertIn("1 batches, 0 of them", self.farm(*files, "-v", "--batch=2")[1].err)


class Errors(ExtractCase):
    plugin = YAMS_ERRORS

    def told(self, rows):
        """Rows, and the warnings: each is in the row that is written after it was found, whichever that is."""
        if not rows.startswith(b"{"):
            return rows
        warned = re.findall(rb'"warnings":\[(.*?)\]', rows)
        return re.sub(rb',"warnings":\[.*?\]', b"", without_time(rows)), sorted(warned)

    def test_errors_of_the_plugin_with_their_data(self):
        files = [self.file(f"{name}.txt", name).name for name in WORDS]
        self.worker()
        for words in ([], ["--json"]):
            with self.subTest(words):
                done = self.run_mortise("extract", *files, *words, "-o", "whole", "--plugin", self.plugin)
                result, farm = self.farm(*files, *words, "--batch=2", code=done.code)
                whole = (self.dir / "whole").read_bytes()
                self.assertEqual(self.told(result), self.told(whole))
                self.assertEqual(farm.err, done.err)


class Lost(ExtractCase):
    def test_resume(self):
        """An owner that was killed goes on where its journal ends."""
        files = self.files(8)
        whole, _ = self.local(*files)
        owner = self.spawn(*self.farm_words(*files, "--batch=2", "--window=1"))
        worker = self.worker()
        journal = self.dir / "out.journal"
        events.until(lambda: journal.exists() and journal.read_bytes().count(b"\n") >= 3, self.dir)
        owner.kill()
        owner.wait()
        result, done = self.farm(*files, "--batch=2", "--resume")
        self.assertEqual(result, whole)
        self.assertRegex(done.err, r"resuming: \d of 8 files are done|nothing to resume")
        self.assertIsNone(worker.poll())

    def test_a_file_that_changed_in_the_store(self):
        files = self.files(2)
        owner = self.spawn(*self.farm_words(*files, "--batch=2"))
        self.until_batches("count(*) > 0")
        stored = next(path for path in (self.store / "files").rglob("*") if path.is_file())
        stored.write_bytes(b"something else")
        done = self.run_mortise("worker", "--farm", self.url, "--store", self.store, "--once", "-j1")
        self.assertIn("not those that its name promises", done.err)
        self.assertEqual(done.code, 4)
        owner.kill()
        owner.wait()

    def test_a_path_that_means_another_file_here(self):
        files = self.files(2)
        owner = self.spawn(*self.farm_words(*files, "--source=path"))
        self.until_batches("count(*) > 0")
        self.file("f1.txt", "another")
        done = self.run_mortise("worker", "--farm", self.url, "--store", self.store, "--once", "-j1")
        self.assertIn("f1.txt is not here, or has other bytes than the owner saw", done.err)
        owner.kill()
        owner.wait()

    def test_another_plugin_on_the_worker(self):
        self.plugin = self.file("plugin.py", "first")
        owner = self.spawn(*self.farm_words(*self.files(1), "--dialect=yams"))
        self.until_batches("count(*) > 0")
        self.plugin.write_text("second")
        done = self.run_mortise("worker", "--farm", self.url, "--store", self.store, "--once", "-j1")
        self.assertIn("the plugin ", done.err)
        self.assertIn("is another one than the owner's", done.err)
        owner.kill()
        owner.wait()


class Usage(ExtractCase):
    def test_what_does_not_fit(self):
        self.files(1)
        farm = ["--farm", self.url, "--store", self.store]
        for text, *words in (
            ("stdin (-) has no name", "-", *farm, "-o", "x"),
            ("--farm needs --store", "f0.txt", "--farm", self.url, "-o", "x"),
            ("stdout has no journal", "f0.txt", *farm),
            ("leave out --shard", "f0.txt", *farm, "-o", "x", "--shard=1/2"),
            ("--resume belongs to --farm", "f0.txt", "--resume"),
            ("belong to --farm", "f0.txt", "--batch=3"),
        ):
            with self.subTest(text):
                self.assertIn(text, self.fails(2, "usage", "extract", *words, "--plugin", self.plugin).err)

    def test_lines_of_json(self):
        self.worker()
        result, _ = self.farm(*self.files(2), "--json")
        self.assertEqual([json.loads(line)["file"] for line in result.splitlines()], ["f0.txt", "f1.txt"])


if __name__ == "__main__":
    unittest.main()
