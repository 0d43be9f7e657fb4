#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bot_load.py [--rate N] [--seconds N] [--slow-every N] [--slow-for S] [--crash-every N] [--limit TIME]
[--out FILE]:
a bot under load.

Events at a steady rate through five plugins. One in --slow-every matches a plugin that takes --slow-for seconds
over it, one in --crash-every crashes another, which is restarted. Afterwards: has each plugin been asked about
each event, in order? Has it handled what it should, in order, except the events that the crashes held? Was each
crash told once? Does memory grow? One JSON object on stdout; exit 1 where something is wrong.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("MORTISE_BUILD", ROOT / "build")).resolve()
STAGE = ROOT / "tests" / "plugins" / "ayiou" / "stage.py"
NAMES = ["front", "some", "slow", "crasher", "back"]


class Load:
    def __init__(self, given, directory):
        self.given, self.dir = given, pathlib.Path(directory)
        self.count = int(given.rate * given.seconds)
        self.texts = [self.text(number) for number in range(1, self.count + 1)]
        self.sent, self.got, self.told, self.memory = {}, {name: [] for name in NAMES}, [], []
        self.delay = {"front": [], "back": []}

    def text(self, number):
        marks = [
            mark
            for mark, every in (
                ("some", 10),
                ("slow", self.given.slow_every),
                ("crash", self.given.crash_every),
            )
            if number % every == 0
        ]
        return " ".join([f"{number:06}", *marks])

    def expected(self, name):
        """Texts that the plugin handles to the end."""
        mark = {"some": "some", "slow": "slow"}.get(name, "")
        return [text for text in self.texts if mark in text and not (name == "crasher" and "crash" in text)]

    def config(self):
        parts = {
            name: {
                "log": str(self.dir / f"{name}.log"),
                "name": name,
                "answer": {"handled": True, "reply": "@"},
            }
            for name in NAMES
        }
        parts["some"]["match"] = "some"
        parts["slow"].update(match="slow", slow=["slow", self.given.slow_for, "handle"])
        parts["crasher"].update(crash="crash")
        text = "[external-plugin-bridge]\nenabled = true\n"
        for name in NAMES:
            text += (
                f"[external-plugin-bridge.plugins.{name}]\ncommand = \"/usr/bin/python3\"\n"
                f"args = {json.dumps(['-u', str(STAGE), json.dumps(parts[name])])}\nauto_restart = true\nmax_restarts = 20\n"
            )
            if self.given.limit:
                limits = (
                    f'{what} = "{self.given.limit}"' for what in ("metadata", "lifecycle", "matches", "handle")
                )
                text += f"timeout = {{ {', '.join(limits)} }}\n"
        path = self.dir / "bot.toml"
        path.write_text(text)
        return path

    def feed(self, process):
        begin = time.monotonic()
        for number, text in enumerate(self.texts):
            wait = begin + number / self.given.rate - time.monotonic()
            if wait > 0:
                time.sleep(wait)
            self.sent[number + 1] = time.monotonic()
            process.stdin.write(json.dumps({"text": text, "user_id": number}).encode() + b"\n")
            process.stdin.flush()
        process.stdin.close()

    def listen(self, stream):
        for line in stream:
            call = json.loads(line)
            name, number = call["echo"].split("/")
            self.got[name].append(call["params"]["message"][0]["data"]["text"])
            if name in self.delay:
                self.delay[name].append(time.monotonic() - self.sent[int(number)])

    def watch(self, process):
        status = pathlib.Path(f"/proc/{process.pid}/status")
        while process.poll() is None:
            found = [line for line in status.read_text().splitlines() if line.startswith("VmRSS")]
            if found:
                self.memory.append((time.monotonic(), int(found[0].split()[1])))
            time.sleep(0.2)

    def run(self):
        process = subprocess.Popen(
            [BUILD / "mortise", "chat", "--json", "--config", self.config()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        threads = [
            threading.Thread(target=self.feed, args=(process,)),
            threading.Thread(target=self.listen, args=(process.stdout,)),
            threading.Thread(target=lambda: self.told.extend(json.loads(line) for line in process.stderr)),
            threading.Thread(target=self.watch, args=(process,)),
        ]
        # The rate counts from when the plugins are up.
        first = json.loads(process.stderr.readline())
        while first["event"] != "ready":
            first = json.loads(process.stderr.readline())
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        process.stdout.close()
        process.stderr.close()
        return process.wait()

    def asked(self, name, method):
        lines = (self.dir / f"{name}.log").read_text().splitlines()
        return [line.split(" ", 1)[1] for line in lines if line.startswith(method + " ")]

    def slope(self):
        """KiB per second, over the second half: the first one fills the queues for the first time."""
        half = self.memory[len(self.memory) // 2 :]
        if len(half) < 3:
            return 0.0
        return statistics.linear_regression([at for at, _ in half], [size for _, size in half]).slope

    def judge(self, code):
        crashes = [one for one in self.told if one["event"] == "crashed"]
        held = [number for number in range(1, self.count + 1) if number % self.given.crash_every == 0]
        wrong = [f"exit code {code}"] if code else []
        for name in NAMES:
            if self.asked(name, "matches") != self.texts:
                wrong.append(f"{name} was not asked about every event in order")
            if self.got[name] != self.expected(name):
                wrong.append(
                    f"{name} handled {len(self.got[name])} events, not the {len(self.expected(name))} it should in order"
                )
        if sorted(one["line"] for one in crashes) != held:
            wrong.append(f"{len(crashes)} crashes told, not {len(held)}")
        others = {one["event"] for one in self.told} - {"crashed", "stderr"}
        if others:
            wrong.append(f"told besides: {sorted(others)}")
        if (
            self.given.seconds >= 20 and self.slope() > 5
        ):  # shorter runs are over before the queues have seen their worst
            wrong.append(f"memory grows by {self.slope():.1f} KiB/s")
        return wrong, len(crashes)

    def numbers(self, code):
        wrong, crashes = self.judge(code)
        centiles = {
            f"{name}_p{p}_ms": round(1000 * statistics.quantiles(times, n=100)[p - 1], 1)
            for name, times in self.delay.items()
            for p in (50, 99)
        }
        return {
            "events": self.count,
            "rate": self.given.rate,
            "calls_out": sum(map(len, self.got.values())),
            "crashes": crashes,
            "slow": sum("slow" in text for text in self.texts),
            "wrong": wrong,
            **centiles,
            "memory_kib": self.memory[-1][1],
            "memory_slope_kib_per_s": round(self.slope(), 2),
            "memory_each_second": [size for _, size in self.memory[::5]],
        }


def arguments(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--slow-every", type=int, default=500)
    parser.add_argument("--slow-for", type=float, default=2)
    parser.add_argument("--crash-every", type=int, default=1500)
    parser.add_argument("--limit", help="for each answer of a plugin, in place of the usual ones")
    parser.add_argument("--out", type=pathlib.Path, help="write the numbers there, too")
    return parser.parse_args(words)


def measure(given):
    with tempfile.TemporaryDirectory(prefix="mortise-bot-") as directory:
        load = Load(given, directory)
        return load.numbers(load.run())


if __name__ == "__main__":
    asked = arguments()
    found = measure(asked)
    print(json.dumps(found))
    if asked.out:
        asked.out.write_text(json.dumps(found) + "\n")
    sys.exit(bool(found["wrong"]))
