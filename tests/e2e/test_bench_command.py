#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""mortise bench: shapes and counts, errors and ends. How long something took is never asserted."""
import importlib.util
import json
import os
import pty
import signal
import subprocess
import unittest

from events import LIMIT
from store_support import Store
from support import BUILD, Case, ECHO, GASSIST_PLUGIN, MORTISE, PLUGINS, YAMS_OK, without_color

PACED = PLUGINS / "paced.py"
SHORT = ["--count", "20", "--starts", "2", "--warmup", "3"]
PERCENTILES = ["min", "p50", "p90", "p99", "p99.9", "max"]


class Bench(Case):
    def bench(self, *words, **how):
        return self.ok("bench", "--json", *words, **how).json

    def paced(self, *words):
        return self.bench(PACED, *words, *SHORT, "--concurrency", "1,4")


class Shape(Bench):
    def test_all_members(self):
        told = self.paced("echo", "text=hello")
        self.assertEqual(
            {key: told[key] for key in ("ok", "plugin", "dialect", "method", "level", "interrupted", "errors")},
            {
                "ok": True,
                "plugin": "paced",
                "dialect": "plain",
                "method": "echo",
                "level": "guarded",
                "interrupted": False,
                "errors": 0,
            },
        )
        self.assertIsNone(told["first_error"])
        self.assertEqual((told["process_per_call"], told["max_in_flight"]), (False, 0))
        self.assertEqual(told["start"]["count"], 2)
        for span in ("ready_ms", "first_answer_ms"):
            start = told["start"][span]
            self.assertTrue(0 < start["least"] <= start["median"] <= start["most"], start)
        self.assertLess(told["start"]["ready_ms"]["least"], told["start"]["first_answer_ms"]["most"])

    def test_percentiles(self):
        latency = self.paced("echo")["latency"]
        self.assertEqual((latency["calls"], latency["errors"]), (20, 0))
        values = [latency["us"][name] for name in PERCENTILES]
        self.assertEqual(values, sorted(values))
        self.assertGreater(values[0], 0)
        self.assertTrue(values[0] <= latency["us"]["mean"] <= values[-1])

    def test_throughput(self):
        steps = self.bench(PACED, "echo", *SHORT, "--concurrency", "1,3,8")["throughput"]
        self.assertEqual([step["in_flight"] for step in steps], [1, 3, 8])
        for step in steps:
            self.assertEqual((step["calls"], step["errors"]), (20, 0))
            self.assertTrue(step["seconds"] > 0 and step["calls_per_second"] > 0)
            self.assertTrue(0 < step["p50_us"] <= step["p99_us"])

    def test_usual_steps(self):
        steps = self.bench(PACED, "echo", *SHORT, "--count", "64")["throughput"]
        self.assertEqual([step["in_flight"] for step in steps], [1, 2, 4, 8, 16, 32, 64])

    def test_fewer_calls_than_in_flight(self):
        """There never would be so many: no row."""
        for words, rows in (([], [1, 2]), (["--concurrency", "2,64"], [1, 2]), (["--concurrency", "64"], [1])):
            told = self.bench(PACED, "echo", "-n", "3", "--starts", "1", *words)
            self.assertEqual([step["in_flight"] for step in told["throughput"]], rows)

    def test_use(self):
        told = self.paced("compute", "ms=2")
        for who in ("host", "guardian", "plugin"):
            memory = told["memory"][who]
            self.assertGreaterEqual(memory["processes"], 1, who)
            self.assertGreater(memory["rss_peak_bytes"], 4096, who)
        cpu = told["cpu_us_per_call"]
        self.assertGreater(cpu["host"], 0)
        self.assertGreaterEqual(cpu["plugin"], 1900)  # it computes until its own clock says 2 ms
        self.assertGreaterEqual(cpu["guardian"], 0)
        self.assertGreaterEqual(cpu["wall"], 1900)

    def test_what_sleeps_does_not_compute(self):
        cpu = self.paced("sleep", "ms=20")["cpu_us_per_call"]
        self.assertGreaterEqual(cpu["wall"], 20000)

    def test_time(self):
        """Without a count there is at least one call in each measurement."""
        told = self.bench(PACED, "echo", "--time", "50ms", "--starts", "1", "--concurrency", "1,2")
        self.assertTrue(all(step["calls"] >= 1 for step in told["throughput"]))

    def test_exact_count_of_calls(self):
        """The plugin counts: two starts with one call each, three that do not count, 20 and 20."""
        told = self.bench(PACED, "die", "after=44", *SHORT, "--concurrency", "1,4")
        self.assertEqual(told["latency"]["calls"], 20)
        done = self.run_mortise("bench", PACED, "die", "after=43", *SHORT, "--concurrency", "1,4")
        self.assertEqual(done.code, 7, done.err)

    def test_slow_calls_end_the_usual_steps(self):
        told = self.bench(PACED, "sleep", "ms=60", "--time", "100ms", "--starts", "1", "--warmup", "0")
        self.assertEqual(len(told["throughput"]), 1)  # 60 ms are more than half of 100

    def test_large_answers(self):
        told = self.paced("large", "bytes=300000")
        self.assertEqual((told["latency"]["calls"], told["errors"]), (20, 0))

    def test_chatter_and_a_banner(self):
        told = self.bench("chat", "bytes=100", *SHORT, "--", PACED, "Welcome!")
        self.assertEqual((told["latency"]["calls"], told["errors"]), (20, 0))

    def test_notifications_do_not_disturb(self):
        told = self.paced("stream", "pieces=3")
        self.assertEqual((told["latency"]["calls"], told["latency"]["errors"]), (20, 0))


class Dialects(Bench):
    def test_yams(self):
        told = self.bench(self.plugin("words"), *SHORT)
        self.assertEqual((told["dialect"], told["method"]), ("yams", "plugin.health"))
        self.assertEqual([step["in_flight"] for step in told["throughput"]], [1])

    def test_gassist(self):
        told = self.bench("-d", "gassist", GASSIST_PLUGIN, *SHORT)
        self.assertEqual((told["method"], told["max_in_flight"], told["errors"]), ("ping", 1, 0))

    def test_ayiou(self):
        told = self.bench(BUILD / "plugins/dice", *SHORT)
        self.assertEqual((told["dialect"], told["method"], told["errors"]), ("ayiou", "matches", 0))

    def test_limit_of_the_settings(self):
        told = self.bench(
            "-d",
            "ayiou",
            "--set",
            "quirks.pipeline=4",
            BUILD / "plugins/dice",
            *SHORT,
            "--concurrency",
            "2,4,8",
        )
        self.assertEqual([step["in_flight"] for step in told["throughput"]], [1, 2, 4])

    def test_kythe_is_refused(self):
        for words in ([], ["analyze"]):
            done = self.fails(4, "unsupported", "bench", "-d", "kythe", ECHO, *words)
            self.assertIn("are not called", done.err)

    def test_no_harmless_method(self):
        self.assertIn("name the METHOD", self.fails(2, "usage", "bench", ECHO).err)
        done = self.fails(2, "usage", "bench", BUILD / "plugins/spl-token-2022")
        self.assertIn("offers hook:after_build", done.err)

    def test_process_per_call(self):
        told = self.run_mortise(
            "bench", "--json", BUILD / "plugins/spl-token-2022", "hook:before_build", "-n", "3", "--starts", "1"
        ).json
        self.assertTrue(told["process_per_call"])
        self.assertEqual(told["latency"]["calls"], 3)

    @unittest.skipUnless(importlib.util.find_spec("grpc"), "needs python3-grpcio")
    def test_over_grpc(self):
        cookie = ["--set", "grpc.cookie_key=KV_PLUGIN", "--set", "grpc.cookie_value=hello"]
        told = self.bench(
            "test.KV/Put", "key=a", "-d", "go-plugin", *cookie, *SHORT, "--", PLUGINS / "grpc_go_plugin.py"
        )
        self.assertEqual((told["dialect"], told["errors"], told["latency"]["calls"]), ("go-plugin", 0, 20))
        self.assertEqual(told["throughput"][-1]["in_flight"], 16)  # of 20 calls

    def test_installed(self):
        Store(self.dir / "data").install("words", self.plugin("words"), dialect="yams")
        self.assertEqual(self.bench("words", *SHORT)["plugin"], "words")

    def test_command_with_options_of_the_plugin(self):
        told = self.bench("env", "name=X", "--env", "X=1", *SHORT, "--concurrency", "1", "--", ECHO)
        self.assertEqual((told["method"], told["errors"]), ("env", 0))


class Faults(Bench):
    def test_some_errors(self):
        told = self.paced("fail", "every=4")
        self.assertEqual((told["ok"], told["latency"]["errors"]), (True, 5))
        self.assertEqual(sum(step["errors"] for step in told["throughput"]), 10)
        self.assertIn("not this one", told["first_error"])

    def test_only_errors(self):
        done = self.run_mortise("bench", PACED, "fail", "every=1", *SHORT)
        self.assertEqual(done.code, 1)
        self.assertIn("calls were answered with an error", done.out)
        self.assertRegex(done.err, r"^plugin_error: paced: not this one")
        told = self.run_mortise("bench", "--json", PACED, "fail", "every=1", *SHORT).json
        self.assertEqual((told["ok"], told["kind"], told["exit_code"]), (False, "plugin_error", 1))
        self.assertEqual(
            told["errors"],
            told["latency"]["errors"] + sum(row["errors"] for row in told["throughput"][1:]) + 2 + 3,
        )

    def test_method_that_is_not_there(self):
        """The same line as of `mortise call`, and nothing is measured."""
        done = self.fails(1, "plugin_error", "bench", PACED, "missing")
        self.assertEqual(done.err, self.run_mortise("call", PACED, "missing").err)

    def test_dies_in_the_middle(self):
        done = self.run_mortise("bench", PACED, "die", "after=10", *SHORT)
        self.assertEqual(done.code, 7)
        self.assertIn("Latency (6 calls", done.out)
        self.assertNotIn("Where the time", done.out)
        self.assertRegex(done.err, r"^crashed: paced: exited with status 1 .*good bye")
        told = self.run_mortise("bench", "--json", PACED, "die", "after=10", *SHORT).json
        self.assertEqual((told["ok"], told["kind"], told["exit_code"]), (False, "crashed", 7))
        self.assertEqual((told["latency"]["calls"], told["cpu_us_per_call"]), (6, None))

    def test_dies_at_once(self):
        done = self.fails(7, "crashed", "bench", "x", "--", "/usr/bin/python3", "-c", "import nosuch")
        self.assertIn("nosuch", done.err)

    def test_hangs(self):
        done = self.fails(6, "timeout", "bench", ECHO, "hang", "--timeout", "100ms")
        self.assertIn("no reply", done.err)

    def test_cannot_be_run(self):
        self.fails(5, "not_found", "bench", "nonesuch", "x")

    def interrupt(self, *options, at=9):
        """Ctrl-C while the plugin stands at a gate: usually in the middle of the latency measurement."""
        gate = self.dir / "gate"
        os.mkfifo(gate)
        process = subprocess.Popen(
            [MORTISE, "bench", PACED, "gate", f"path={gate}", f"at={at}", *SHORT, *options],
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        with open(gate, "w"):  # opens when the plugin has opened it
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=LIMIT)
        gate.unlink()
        return process.returncode, out, err

    def test_interrupted(self):
        code, out, err = self.interrupt()
        self.assertEqual((code, err), (130, "cancelled: interrupted by signal 2\n"))
        self.assertIn("Latency (4 calls", out)
        self.assertIn("Where the time", out)

    def test_interrupted_json(self):
        code, out, _ = self.interrupt("--json")
        told = json.loads(out)
        self.assertEqual((code, told["interrupted"], told["exit_code"]), (130, True, 130))
        self.assertEqual(told["latency"]["calls"], 4)

    def test_interrupted_in_the_first_call(self):
        """Nothing was measured, but the members are there."""
        code, out, _ = self.interrupt(at=1)
        self.assertEqual(code, 130)
        self.assertRegex(out, r"until ready .*\n  the first call was not answered\n$")
        told = json.loads(self.interrupt("--json", at=1)[1])
        self.assertEqual((told["latency"], told["throughput"], told["cpu_us_per_call"]), (None, [], None))

    def test_second_interrupt_is_offered(self):
        """On a terminal, where the plugin does not end at once: it stands at the gate."""
        gate = self.dir / "gate"
        os.mkfifo(gate)
        try:
            ours, theirs = pty.openpty()
        except OSError as error:  # a bare chroot
            self.skipTest(f"no pseudo-terminal can be had here: {error}")
        words = [MORTISE, "bench", PACED, "gate", f"path={gate}", "at=1"]
        process = subprocess.Popen(words, env=self.env, stdout=subprocess.DEVNULL, stderr=theirs)
        os.close(theirs)
        text = b""
        with open(gate, "w"):
            process.send_signal(signal.SIGINT)
            while b"Ctrl-C again: kill" not in text:
                text += os.read(ours, 65536)  # fails when the command has ended
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(LIMIT), 130)
        os.close(ours)


class Words(Bench):
    def test_wrong(self):
        for words, text in (
            ([], "name a PLUGIN"),
            (["--concurrency", "4,2", ECHO, "echo"], "rising numbers from 1 to 1024"),
            (["--concurrency", "x", ECHO, "echo"], "rising numbers"),
            (["--concurrency", "0", ECHO, "echo"], "rising numbers"),
            (["--concurrency", "2000", ECHO, "echo"], "rising numbers"),
            (["--concurrency", ",".join(map(str, range(1, 19))), ECHO, "echo"], "rising numbers"),
            (["--time", "soon", ECHO, "echo"], "--time"),
            (["--time", "0", ECHO, "echo"], "--time"),
            (["--time", "1s", "--count", "3", ECHO, "echo"], "cannot be used together"),
            (["--count", "0", ECHO, "echo"], "at least 1"),
            (["--starts", "0", ECHO, "echo"], "at least 1"),
            (["@demo", "echo"], "not the session @demo"),
            ([ECHO, ""], "METHOD is empty"),
            ([ECHO, "echo", "--cuont", "3"], "did you mean --count?"),
        ):
            self.assertIn(text, self.fails(2, "usage", "bench", *words).err)

    def test_wrong_arguments(self):
        done = self.fails(4, "input", "bench", "-d", "yams", YAMS_OK, "extractor.supports", "mime_tpye=x")
        self.assertIn("mime_type", done.err)
        self.assertIn("KEY=VALUE", self.fails(4, "input", "bench", ECHO, "echo", "stray").err)


class Page(Bench):
    SECTIONS = ["Start (", "Latency (", "Throughput", "Memory", "Where the time"]

    def test_plain_in_a_pipe(self):
        done = self.ok("bench", PACED, "echo", *SHORT)
        self.assertTrue(done.out.isascii(), done.out)
        self.assertNotIn("\x1b", done.out)
        places = [done.out.index(section) for section in self.SECTIONS]
        self.assertEqual(places, sorted(places))
        for line in done.out.splitlines():
            self.assertLessEqual(len(line), 80, line)
            self.assertEqual(line, line.rstrip())

    def test_one_call(self):
        done = self.ok("bench", PACED, "echo", "-n", "1", "--starts", "1")
        self.assertIn("Latency (1 call in ", done.out)

    def test_terminal(self):
        done = self.in_terminal("bench", PACED, "sleep", "ms=20", *SHORT, env={"LC_ALL": "C.UTF-8"})
        self.assertEqual(done.code, 0, done.out)
        page = without_color(done.out[done.out.rindex("\r") + 1 :])
        self.assertIn(" ms", page)
        for line in page.splitlines():
            self.assertLessEqual(len(line), 80, line)
        self.assertRegex(done.out, r"\r\x1b\[K.*latency")

    def test_no_color(self):
        done = self.in_terminal("bench", PACED, "echo", *SHORT, env={"NO_COLOR": "1", "LC_ALL": "C.UTF-8"})
        self.assertNotRegex(done.out, r"\x1b\[[0-9;]*m")

    def test_no_progress_in_a_pipe(self):
        self.assertEqual(self.run_mortise("bench", PACED, "sleep", "ms=20", *SHORT).err, "")

    def test_reader_is_gone(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                [MORTISE, "bench", PACED, "echo", *SHORT], stdout=full, stderr=subprocess.PIPE, env=self.env
            )
        self.assertEqual(done.returncode, 1, done.stderr)


if __name__ == "__main__":
    unittest.main()
