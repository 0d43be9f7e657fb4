# SPDX-License-Identifier: Apache-2.0
"""mortise chaos: what goes by unharmed, each fault by itself, the same faults again, and the ends
of both sides."""
import json
import os
import signal
import subprocess
import unittest

from support import BUILD, ECHO, GASSIST_PLUGIN, LIMIT, MORTISE, PLUGINS, PYTHON
from talk_support import FRAMINGS, Talks, frame

ECHO_C = BUILD / "tests" / "api" / "api-echo-plugin"


def reply(number, **more):
    return json.dumps({"jsonrpc": "2.0", "id": number, "result": {"token": number}, **more}).encode()


class Proxy(Talks):
    def chaos(self, *args, stdin=b"", **how):
        """A run by itself: exit status, stdout, stderr."""
        return subprocess.run(
            [str(MORTISE), "chaos", *map(str, args)],
            input=stdin,
            capture_output=True,
            env=self.env,
            cwd=self.dir,
            timeout=LIMIT,
            check=False,
            **how,
        )

    def start(self, *args, **how):
        return super().start("chaos", *args, **how)

    def said(self, data, *args):
        """What comes out where the plugin says `data` and ends."""
        return self.chaos(*args, "--", "cat", self.file("said", data)).stdout

    def faults(self, name="log"):
        """The log as (sign, number, fault, the rest)."""
        lines = (self.dir / name).read_text().splitlines()
        return [tuple(line.split(" ", 3)) for line in lines if not line.startswith("#")]


class Unharmed(Proxy):
    def test_every_byte(self):
        """Messages, prints, half messages and rubbish, in each framing and each direction."""
        big = json.dumps({"text": "x" * 3_000_000}).encode()
        for framing in FRAMINGS:
            data = b"".join(frame(framing, body) for body in (reply(1), big, reply("a"), b"[1,2]", b"{}"))
            for end in (b"", b"{\"half", b"\x00\x00\x00", b"123", b"Content-Length: 9\r\n"):
                done = self.chaos("--", "cat", stdin=data + end)
                self.assertEqual((done.returncode, done.stdout == data + end), (0, True), (framing, end))
        rubbish = os.urandom(100_000)
        self.assertEqual(self.chaos("--", "cat", stdin=rubbish).stdout, rubbish)
        self.assertEqual(
            self.said(b"Ready.\n42 is a number\n" + reply(1) + b"\n"),
            b"Ready.\n42 is a number\n" + reply(1) + b"\n",
        )

    def test_report(self):
        done = self.chaos("--", ECHO_C, "lines", stdin=frame("lines", b'{"id":1,"method":"echo","params":{}}'))
        self.assertEqual(done.stderr, b"chaos: 1 messages to the plugin, 1 from it; no faults\n")
        done = self.chaos(
            "--json",
            "--dup-id=1",
            "--",
            ECHO_C,
            "lines",
            stdin=frame("lines", b'{"id":1,"method":"echo","params":{}}'),
        )
        told = json.loads(done.stderr)
        self.assertEqual(
            (
                told["messages_to_plugin"],
                told["messages_to_host"],
                told["faults"]["dup-id"],
                told["faults"]["drop"],
            ),
            (1, 1, 1, 0),
        )
        self.assertEqual(self.chaos("--log", "log", "--", "true").stderr, b"")
        self.assertIn(b"no faults", self.chaos("--log", "log", "-v", "--", "true").stderr)

    def test_status(self):
        self.assertEqual(self.chaos("--", "sh", "-c", "exit 41").returncode, 41)
        self.assertEqual(self.chaos("--", "sh", "-c", "kill -SEGV $$").returncode, -signal.SIGSEGV)
        self.assertEqual(self.chaos("--", "sh", "-c", "kill -KILL $$").returncode, -signal.SIGKILL)

    def test_closed_ends(self):
        """Each side sees that the other has closed an end, and the last word still arrives."""
        process = self.start("--", "cat")
        process.stdin.write(b"{}\n")
        process.stdin.close()
        self.assertEqual(process.stdout.read(), b"{}\n")
        self.assertEqual(process.wait(LIMIT), 0)
        process = self.start("--", "sh", "-c", "echo '{}'; exec >&-; read line; exit 3")
        self.assertEqual(process.stdout.read(), b"{}\n")  # to the end, while it runs
        self.assertIsNone(process.poll())
        process.stdin.close()
        self.assertEqual(process.wait(LIMIT), 3)
        process = self.start("--", "sh", "-c", "exec <&-; echo '{}'; exec sleep 1000")
        self.assertEqual(process.stdout.readline(), b"{}\n")
        with self.assertRaises(BrokenPipeError):
            for _ in range(LIMIT * 10_000):
                os.write(process.stdin.fileno(), b"{}\n")
        process.kill()
        process.wait(LIMIT)
        process = self.start("--", "yes", "{}")
        process.stdout.readline()
        process.stdout.close()
        self.assertEqual(process.wait(LIMIT), -signal.SIGPIPE)

    def test_child_that_keeps_stdout(self):
        process = self.start("--", "sh", "-c", "sleep 1000 & echo $! >&2; echo '{}'; exit 4")
        child = int(process.stderr.readline())
        try:
            self.assertEqual(process.wait(LIMIT), 4)
            self.assertEqual(process.stdout.readline(), b"{}\n")
        finally:
            os.kill(child, signal.SIGKILL)

    def test_signals(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
            process = self.start("--", PYTHON, PLUGINS / "leaves_by_signal.py", str(int(number)))
            process.stdout.readline()
            process.send_signal(number)
            self.assertEqual(process.wait(LIMIT), 42)
        process = self.start("--", "sh", "-c", "echo '{}'; exec sleep 1000")
        process.stdout.readline()
        process.terminate()
        self.assertEqual(process.wait(LIMIT), -signal.SIGTERM)

    def test_nothing_is_left(self):
        """Its stderr is the plugin's alone once we are killed: it ends with the plugin."""
        process = self.start("--", "sh", "-c", "trap '' TERM PIPE HUP; echo '{}'; exec sleep 1000")
        process.stdout.readline()
        process.kill()
        self.assertEqual(process.wait(LIMIT), -signal.SIGKILL)
        self.assertEqual(process.stderr.read(), b"")

    def test_sigchld_ignored_by_who_started_us(self):
        done = self.chaos(
            "--", "sh", "-c", "exit 5", preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        )
        self.assertEqual(done.returncode, 5)

    def test_manifest(self):
        plugin = self.plugin(
            "chaotic", manifest={"entry": {"cmd": [PYTHON, "${plugin_dir}/x.py"], "env": {"SHOWN": "yes"}}}
        )
        (plugin / "x.py").write_text('import os\nprint(os.environ["SHOWN"])\n')
        self.assertEqual(self.chaos(plugin).stdout, b"yes\n")
        # Of G-Assist: its libs directory stands before what PYTHONPATH has
        self.file(
            "ga/manifest.json",
            json.dumps(
                {
                    "manifestVersion": 1,
                    "name": "ga",
                    "executable": "plugin.py",
                    "persistent": True,
                    "protocol_version": "2.0",
                    "functions": [{"name": "f", "description": "d"}],
                }
            ),
        )
        self.file(
            "ga/plugin.py",
            'import os, sys\nsys.stdout.buffer.write(os.environ["PYTHONPATH"].encode() + b"\\n")\n',
        )
        self.file("ga/libs/x.py")
        self.env["PYTHONPATH"] = "/mine"
        self.assertRegex(self.chaos(self.dir / "ga").stdout, rb"^\S*/ga/libs:\S*/mine\n$")
        del self.env["PYTHONPATH"]
        self.assertRegex(self.chaos(self.dir / "ga").stdout, rb"^\S*/ga/libs\n$")
        script = self.file("plain.py", "print('{}')\n")  # neither executable nor with a first line of its own
        self.assertEqual(self.chaos(script).stdout, b"{}\n")

    def test_cannot_start(self):
        self.fails(5, "not_found", "chaos", "nosuch")
        self.fails(5, "not_found", "chaos", "--", "./nosuch")
        self.assertIn("chmod +x", self.fails(3, "start", "chaos", "--", self.file("plain", "x")).err)
        self.fails(3, "manifest", "chaos", self.file("empty/x").parent)

    def test_usage(self):
        for words in (
            ["--drop=2", "./x"],
            ["--drop=often", "./x"],
            ["--stall-time", "soon", "./x"],
            [],
            ["--"],
            ["./x", "y"],
            ["--framing", "smoke", "./x"],
            ["--seed", "x", "./x"],
        ):
            self.fails(2, "usage", "chaos", *words)
        self.fails(5, "not_found", "chaos", "--drop", "0.5")  # the next word is no rate, but the plugin
        self.fails(1, "system", "chaos", "--log", "no/such/dir", "--", "true")
        self.fails(1, "system", "chaos", "--starts", "no/such/dir", "--", "true")
        for content in ("not a count\n", "12", "1\n2\n", "9" * 40):  # somebody's file, which would be spoilt
            path = self.file("precious", content)
            self.fails(4, "input", "chaos", "--starts", path, "--", "true")
            self.assertEqual(path.read_text(), content)


class Faults(Proxy):
    def replies(self, count=40, framing="lines"):
        return b"".join(frame(framing, reply(i + 1)) for i in range(count))

    def test_split(self):
        process = self.start(
            "--split=1", "--log", "log", "--", "cat", self.file("said", frame("lines", reply(1, pad="x" * 200)))
        )
        pieces = []
        while piece := os.read(process.stdout.fileno(), 65536):
            pieces.append(piece)
        process.wait(LIMIT)
        ((_, _, fault, places),) = self.faults()
        cuts = sorted({int(n) for n in places.removeprefix("at=").split(",")})
        ends = [0]
        for piece in pieces:
            ends.append(ends[-1] + len(piece))
        self.assertEqual(fault, "split")
        self.assertLessEqual(set(ends[1:-1]), set(cuts))  # a slow reader may see two as one
        self.assertEqual(b"".join(pieces), frame("lines", reply(1, pad="x" * 200)))

    def test_stall(self):
        self.assertEqual(
            self.said(self.replies(5), "--stall=1", "--stall-time", "3ms", "--log", "log"), self.replies(5)
        )
        times = [int(rest.removeprefix("ms=")) for _, _, fault, rest in self.faults() if fault == "stall"]
        self.assertEqual(len(times), 5)
        self.assertTrue(all(1 <= ms <= 3 for ms in times), times)

    def test_stall_into_a_file(self):
        """A file cannot be watched: what was held back is written all the same, and the end comes."""
        said = self.file("said", self.replies(5))
        with open(self.dir / "out", "wb") as out:
            done = subprocess.run(
                [str(MORTISE), "chaos", "--stall=1", "--stall-time", "3ms", "--", "cat", said],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.DEVNULL,
                env=self.env,
                timeout=LIMIT,
                check=False,
            )
        self.assertEqual((done.returncode, (self.dir / "out").read_bytes()), (0, self.replies(5)))

    def test_garbage(self):
        for framing in FRAMINGS:
            data = self.replies(20, framing)
            out = self.said(data, "--garbage=1", "--framing", framing)
            if framing == "decimal":
                self.assertEqual(out, data)
            else:
                self.assertGreater(len(out), len(data) + 20)
                for i in range(20):
                    self.assertIn(frame(framing, reply(i + 1)), out)
        self.assertEqual(
            self.chaos("--garbage=1", "--", "cat", stdin=b"{}\n").stdout.count(b"{}\n"), 1
        )  # never to the plugin

    def test_duplicates(self):
        self.assertEqual(
            self.said(self.replies(3), "--dup-id=1"), b"".join(frame("lines", reply(i)) * 2 for i in (1, 2, 3))
        )
        request = b'{"id":1,"method":"m"}\n{"method":"n"}\n'
        self.assertEqual(self.said(request, "--dup-id=1", "--stale-id=1", "--drop=1"), request)  # no replies

    def test_stale(self):
        out = [
            json.loads(line)
            for line in self.said(self.replies(40), "--stale-id=1", "--log", "log").splitlines()
        ]
        seen, old, unasked = set(), 0, 0
        self.assertEqual(len(out), 80)
        for regular, stale in zip(out[::2], out[1::2]):
            seen.add(regular["id"])
            if stale["id"] in seen:
                self.assertEqual(stale["result"], {"token": stale["id"]})
                old += 1
            else:
                self.assertEqual((stale["id"] >= 2_000_000_000, stale["result"]), (True, regular["result"]))
                unasked += 1
        self.assertGreater(old, 5)
        self.assertGreater(unasked, 5)
        self.assertEqual(
            [int(rest.removeprefix("id=")) for _, _, _, rest in self.faults()],
            [stale["id"] for stale in out[1::2]],
        )

    def test_stale_in_every_framing(self):
        for framing in FRAMINGS:
            out = self.said(frame(framing, reply(7)), "--stale-id=1")
            self.assertEqual(
                out,
                frame(framing, reply(7)) + frame(framing, reply(7).replace(b'"id": 7', b'"id": 2000000001')),
            )
        self.assertIn(b'"unasked-', self.said(frame("lines", reply("x")), "--stale-id=1"))

    def test_drop(self):
        out = self.said(self.replies(400), "--drop=25%", "--log", "log")
        lost = {int(rest.removeprefix("id=")) for _, _, _, rest in self.faults()}
        self.assertTrue(60 <= len(lost) <= 140, len(lost))
        self.assertEqual(out, b"".join(frame("lines", reply(i)) for i in range(1, 401) if i not in lost))

    def test_truncate(self):
        self.file("said", self.replies(9))
        process = self.start("--truncate=1", "--log", "log", "--", "sh", "-c", "cat said; cat >&2; exit 6")
        process.stdin.write(b"still here\n")
        process.stdin.flush()
        out = process.stdout.read()
        self.assertTrue(
            0 < len(out) < len(frame("lines", reply(1))) and frame("lines", reply(1)).startswith(out), out
        )
        self.assertEqual(process.stderr.readline(), b"still here\n")  # it has not noticed anything
        process.stdin.close()
        self.assertEqual(process.wait(LIMIT), 6)
        self.assertEqual([fault[:3] for fault in self.faults()], [("<", "1", "truncate")])

    def test_kill(self):
        process = self.start("--kill=1", "--", "sleep", "1000")
        process.stdin.write(b'{"id":1,"method":"m"}\n')
        process.stdin.flush()
        self.assertEqual(process.wait(LIMIT), -signal.SIGKILL)
        done = self.chaos(
            "--kill=0.1", "--seed", "3", "--log", "log", "--", "cat", self.file("said", self.replies(400))
        )
        ((_, number, fault, *_),) = self.faults()
        self.assertEqual(fault, "kill")
        self.assertEqual(done.stdout, self.replies(int(number) - 1))

    def test_note_that_ends_a_call(self):
        note = json.dumps(
            {"jsonrpc": "2.0", "method": "complete", "params": {"request_id": 3, "success": True}}
        ).encode()
        piece = json.dumps(
            {"jsonrpc": "2.0", "method": "stream", "params": {"request_id": 3, "data": "x"}}
        ).encode()
        data = frame("be32", piece) + frame("be32", note)
        self.assertEqual(self.said(data, "--drop=1"), frame("be32", piece))
        self.assertEqual(self.said(data, "--dup-id=1"), data + frame("be32", note))

    def test_after(self):
        self.assertEqual(self.said(self.replies(5), "--drop=1", "--after", "3"), self.replies(3))


class Again(Proxy):
    EVERYTHING = ["--all", "--stall-time", "2ms", "--kill=0", "--truncate=0"]

    def session(self, *args):
        """60 requests and their replies, one after the other; the log."""
        (self.dir / "log").unlink(missing_ok=True)
        process = self.start(*self.EVERYTHING, "--drop=0", "--log", "log", *args, "--", ECHO_C, "lines")
        for i in range(60):
            process.stdin.write(b'{"jsonrpc":"2.0","id":%d,"method":"echo","params":[%d]}\n' % (i, i))
            process.stdin.flush()
            while True:
                line = process.stdout.readline()
                if line.startswith(b"{") and json.loads(line)["result"] == [i]:
                    break
        process.stdin.close()
        process.stdout.read()
        self.assertEqual(process.wait(LIMIT), 0)
        return sorted(self.faults())

    def test_same_seed_same_faults(self):
        first = self.session("--seed", 7)
        self.assertGreater(len(first), 30)
        self.assertEqual(self.session("--seed", 7), first)
        self.assertNotEqual(self.session("--seed", 8), first)

    def test_each_start_its_own(self):
        logs = [self.session("--seed", 7, "--starts", "count") for _ in range(2)]
        self.assertNotEqual(logs[0], logs[1])
        self.assertEqual((self.dir / "count").read_text(), "2\n")
        (self.dir / "count").unlink()
        self.assertEqual(self.session("--seed", 7, "--starts", "count"), logs[0])


class WithAHost(Proxy):
    def test_call(self):
        for framing in FRAMINGS:
            done = self.ok(
                "call",
                "--framing",
                framing,
                "echo",
                "x=1",
                "--",
                MORTISE,
                "chaos",
                "--log",
                "log",
                "--split=1",
                "--garbage=1",
                "--dup-id=1",
                "--stale-id=1",
                "--stall=1",
                "--",
                ECHO_C,
                framing,
            )
            self.assertEqual(done.json, {"x": 1})
        self.assertEqual(
            {fault for _, _, fault, *_ in self.faults()}, {"split", "garbage", "dup-id", "stale-id", "stall"}
        )

    def test_what_the_host_says(self):
        self.assertIn(
            "killed by SIGKILL",
            self.fails(7, "crashed", "call", "echo", "--", MORTISE, "chaos", "--kill=1", "--", ECHO).err,
        )
        self.assertIn(
            "closed its stdout",
            self.fails(7, "crashed", "call", "echo", "--", MORTISE, "chaos", "--truncate=1", "--", ECHO).err,
        )
        self.fails(6, "timeout", "call", "-t", "1s", "echo", "--", MORTISE, "chaos", "--drop=1", "--", ECHO)
        self.assertIn(
            "exited with status 3",
            self.fails(7, "crashed", "call", "echo", "--", MORTISE, "chaos", "--", "sh", "-c", "exit 3").err,
        )

    def test_gassist(self):
        done = self.ok(
            "call",
            "-d",
            "gassist",
            "count",
            "to=2",
            "--",
            MORTISE,
            "chaos",
            "--log",
            "log",
            "--split=1",
            "--garbage=1",
            "--dup-id=1",
            "--",
            PYTHON,
            GASSIST_PLUGIN,
        )
        self.assertIn("done", done.out)


if __name__ == "__main__":
    unittest.main()
