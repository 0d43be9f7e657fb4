# SPDX-License-Identifier: Apache-2.0
"""The analyzer's end of the Kythe protocol, in C and in Python, against a driver that is scripted here: rule
numbers are those of docs/dialects/kythe.md. MORTISE_BUILD names the build directory (default: build)."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("MORTISE_BUILD", ROOT / "build")).resolve()
C_ANALYZER = BUILD / "tests" / "plugins" / "sdk-analyzer"
PYTHON_ANALYZER = ROOT / "tests" / "plugins" / "sdk_analyzer.py"
LIMIT = 300  # seconds: only to end what hangs


def frame(message):
    body = message if isinstance(message, bytes) else json.dumps(message, ensure_ascii=False).encode()
    return b"%d\n%s" % (len(body), body)


def varint(data, at):
    number = shift = 0
    while True:
        number |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            return number, at


def fields(data):
    """A protobuf message of length-delimited fields."""
    at, out = 0, {}
    while at < len(data):
        assert data[at] & 7 == 2
        number, (size, start) = data[at] >> 3, varint(data, at + 1)
        out[number] = data[start : start + size]
        at = start + size
    return out


def vname(data):
    parts = fields(data)
    return tuple(parts.get(i, b"").decode() for i in range(1, 6))


class Contract:
    """What both SDKs promise. `command` starts the analyzer."""

    command = []

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="mortise-sdk-"))
        self.addCleanup(shutil.rmtree, self.dir)
        self.output = self.dir / "out"

    def start(self, *arguments):
        child = subprocess.Popen(
            [*map(str, self.command), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.child = child
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        for pipe in (child.stdin, child.stdout, child.stderr):
            self.addCleanup(self.close, pipe)

    @staticmethod
    def close(pipe):
        try:
            pipe.close()
        except BrokenPipeError:
            pass

    def send(self, *messages):
        self.child.stdin.write(b"".join(frame(message) for message in messages))
        self.child.stdin.flush()

    def receive(self):
        tag = self.child.stdout.readline()
        self.assertRegex(tag, rb"\A[1-9][0-9]*\n\Z")  # R2: minimum width
        body = self.child.stdout.read(int(tag))
        self.assertEqual(len(body), int(tag))
        message = json.loads(body)
        self.assertEqual(message["jsonrpc"], "2.0")
        return message

    def expect(self, method):
        message = self.receive()
        self.assertEqual(message["method"], method)
        return message

    def answer(self, request, result):
        self.send({"jsonrpc": "2.0", "id": request["id"], "result": result})

    def end(self, code=0):
        """No more work: closes its stdin. Returns what it wrote to stderr."""
        out, err = self.child.communicate(timeout=LIMIT)
        self.assertEqual(self.child.returncode, code, err)
        self.assertEqual(out, b"")
        return err.decode()

    def begin(self, *arguments):
        self.start(*arguments)
        request = self.expect("init")
        self.assertEqual(request["params"], {"protocol": "kythe1", "outputEncoding": "protobuf"})
        self.answer(request, {"protocol": "kythe1"})
        return self.expect("analyze")

    def reply(self, *words, **more):
        return dict(
            {
                "workingDir": str(self.dir),
                "inputs": ["a.c"],
                "arguments": list(words),
                "output": str(self.output),
            },
            **more,
        )

    def entries(self):
        data, at, out = self.output.read_bytes(), 0, []
        while at < len(data):
            size, at = varint(data, at)
            entry = fields(data[at : at + size])
            self.assertEqual(list(entry), sorted(entry))  # in number order
            out.append(
                (
                    vname(entry[1]),
                    entry.get(2, b"").decode(),
                    vname(entry[3]) if 3 in entry else None,
                    entry[4].decode(),
                    entry.get(5, b""),
                )
            )
            at += size
        return out

    def facts(self, name):
        return [value.decode() for _, _, _, fact, value in self.entries() if fact == name]

    def analyze_once(self, *words, **more):
        request = self.begin()
        self.answer(request, self.reply(*words, **more))
        done = self.expect("done")
        self.assertNotIn("id", done)  # R31: a notification
        return self.expect("analyze")

    # ---- the loop

    def test_r19_r23_init_analyze_done(self):
        request = self.begin()
        self.assertEqual(request["params"], {"types": ["/kythe/index/toy", "/team/other"]})
        self.answer(request, self.reply("unit"))
        self.expect("done")
        self.expect("analyze")
        self.assertEqual(self.end(), "")
        self.assertEqual(self.facts("/input"), ["a.c"])

    def test_r15_stdin_closed_at_any_step(self):
        self.start()
        self.expect("init")
        self.end()
        self.start()
        self.answer(self.expect("init"), {"protocol": "kythe1"})
        self.expect("analyze")
        self.end()

    def test_done_and_the_next_analyze_leave_together(self):
        request = self.begin()
        self.answer(request, self.reply("unit"))
        data = os.read(self.child.stdout.fileno(), 1 << 16)
        self.assertIn(b'"done"', data)
        self.assertIn(b'"analyze"', data)
        self.end()

    def test_two_units_and_their_files_are_apart(self):
        request = self.begin()
        for number in range(2):
            self.output = self.dir / f"out{number}"
            self.answer(request, self.reply("unit", f"word{number}"))
            self.expect("done")
            self.assertEqual(self.facts("/argument"), ["unit", f"word{number}"])  # all is written before `done`
            request = self.expect("analyze")
        self.end()

    def test_leaves_after_so_many(self):
        request = self.begin("2")
        for number in range(2):
            self.answer(request, self.reply("unit"))
            self.expect("done")
            if number == 0:
                request = self.expect("analyze")
        self.assertEqual(self.child.wait(LIMIT), 0)
        self.assertEqual(self.child.stdout.read(), b"")

    # ---- frames

    def test_r4_frames_split_at_every_byte(self):
        request = self.begin()
        data = frame({"jsonrpc": "2.0", "id": request["id"], "result": self.reply("unit", "\u00fc\n\u65e5")})
        for byte in data:
            self.child.stdin.write(bytes([byte]))
            self.child.stdin.flush()
        self.expect("done")
        self.expect("analyze")
        self.end()
        self.assertEqual(self.facts("/argument")[1], "\u00fc\n\u65e5")  # R3: bytes are counted

    def test_r4_two_frames_in_one_write(self):
        request = self.begin()
        self.send(
            {"jsonrpc": "2.0", "method": "unheard-of"},
            {"jsonrpc": "2.0", "id": request["id"], "result": self.reply("unit")},
        )
        self.expect("done")
        self.end_after_analyze()

    def end_after_analyze(self):
        self.expect("analyze")
        self.end()

    def test_r5_r7_corrupt_frames(self):
        for bad in (
            b"x\n{}",
            b"\n",
            b"+2\n{}",
            b" 2\n{}",
            b"2 \n{}",
            b"2\r\n{}",
            b"-1\n",
            b"007\n1234567",
            b"1" * 30,
        ):
            with self.subTest(bad=bad):
                self.begin()
                self.child.stdin.write(bad)
                self.child.stdin.flush()
                self.child.stdin.close()
                self.assertEqual(self.child.wait(LIMIT), 1)
                self.assertIn(b"corrupt frame", self.child.stderr.read())

    def test_r5_eof_inside_a_frame(self):
        for bad in (b"5", b"5\n", b"5\nabcd"):
            with self.subTest(bad=bad):
                self.begin()
                self.child.stdin.write(bad)
                self.child.stdin.close()
                self.assertEqual(self.child.wait(LIMIT), 1)

    def test_no_json_in_a_frame(self):
        self.begin()
        self.send(b"not json")
        self.assertEqual(self.child.wait(LIMIT), 1)

    # ---- refusals

    def test_r21_init_refused(self):
        self.start()
        request = self.expect("init")
        self.send({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -1, "message": "no such version"}})
        self.assertEqual(self.child.wait(LIMIT), 1)
        self.assertIn(b"init: no such version (-1)", self.child.stderr.read())

    def test_r20_another_protocol(self):
        self.start()
        self.answer(self.expect("init"), {"protocol": "kythe2"})
        self.assertEqual(self.child.wait(LIMIT), 1)

    def test_analyze_refused(self):
        request = self.begin()
        self.send({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32602, "message": "types"}})
        self.assertEqual(self.child.wait(LIMIT), 1)
        self.assertIn(b"analyze: types (-32602)", self.child.stderr.read())

    def test_a_failed_analysis_ends_without_done(self):
        self.answer(self.begin(), self.reply("unit", "fail"))
        self.assertEqual(self.child.wait(LIMIT), 1)
        self.assertEqual(self.child.stdout.read(), b"")

    def test_an_output_that_cannot_be_opened(self):
        self.output = self.dir / "no" / "such" / "directory"
        self.answer(self.begin(), self.reply("unit"))
        self.assertEqual(self.child.wait(LIMIT), 1)
        self.assertIn(str(self.output).encode(), self.child.stderr.read())

    def test_a_full_disk_is_no_done(self):
        self.output = pathlib.Path("/dev/full")
        self.answer(self.begin(), self.reply("many"))
        self.assertEqual(self.child.wait(LIMIT), 1)
        self.assertEqual(self.child.stdout.read(), b"")

    # ---- what the unit says: both spellings

    def test_amb4_input_or_inputs(self):
        for more, want in (
            ({"inputs": ["a", "b"], "input": "a"}, ["a", "b"]),
            ({"inputs": []}, []),
            ({"input": "x"}, ["x"]),
        ):
            with self.subTest(more=more):
                self.output = self.dir / str(len(list(self.dir.iterdir())))
                reply = self.reply("unit")
                del reply["inputs"]
                self.answer(self.begin(), dict(reply, **more))
                self.expect("done")
                self.end_after_analyze()
                self.assertEqual(self.facts("/input"), want)

    def test_environment_as_list_and_as_map(self):
        want = ["PATH=/bin", "EMPTY=", "E=a=b"]
        for environment in (
            [{"name": "PATH", "value": "/bin"}, {"name": "EMPTY"}, {"name": "E", "value": "a=b"}],
            {"PATH": "/bin", "EMPTY": "", "E": "a=b"},
        ):
            with self.subTest(environment=environment):
                self.output = self.dir / type(environment).__name__
                self.analyze_once("unit", environment=environment)
                self.end()
                self.assertEqual(self.facts("/environment"), want)

    def test_all_members(self):
        details = [{"@type": "kythe.io/proto/kythe.proto.BuildDetails", "buildTarget": "//a:b"}]
        self.analyze_once("unit", "-c", "", entryContext="ctx", outputKey="key", details=details)
        self.end()
        self.assertEqual(self.facts("/argument"), ["unit", "-c", ""])
        self.assertEqual(self.facts("/entry_context"), ["ctx"])
        self.assertEqual(self.facts("/output_key"), ["key"])
        self.assertEqual(json.loads(self.facts("/details")[0]), details)
        self.assertEqual(self.facts("/working_dir"), [str(self.dir)])
        self.assertEqual(self.facts("/cwd"), [os.path.realpath(self.dir)])

    def test_members_that_are_not_there(self):
        request = self.begin()
        self.answer(request, {"output": str(self.output), "arguments": ["unit"]})
        self.expect("done")
        self.end_after_analyze()
        self.assertEqual(self.facts("/details"), ["[]"])
        self.assertEqual(self.facts("/working_dir"), [""])
        self.assertEqual(self.facts("/input"), [])

    def test_nothing_of_the_unit_is_held_after_done(self):
        self.analyze_once("unit")
        self.assertEqual(os.readlink(f"/proc/{self.child.pid}/cwd"), "/")
        held = [os.readlink(f"/proc/{self.child.pid}/fd/{n}") for n in os.listdir(f"/proc/{self.child.pid}/fd")]
        self.assertEqual([path for path in held if str(self.dir) in path], [])
        self.end()

    # ---- names, entries, messages

    def test_amb6_vname_nested_or_flat_and_asked_once(self):
        name = {"signature": "", "corpus": "k", "root": "", "path": "x/a.c", "language": "c"}
        for result in (
            {"vname": name},
            name,
            dict(name, vname=name),
            {"vname": {"corpus": "k", "path": "x/a.c", "language": "c"}},
        ):
            with self.subTest(result=result):
                self.output = self.dir / str(len(list(self.dir.iterdir())))
                self.answer(self.begin(), self.reply("names"))
                request = self.expect("vname")
                self.assertEqual(request["params"], {"path": "a.c", "signature": ""})
                self.answer(request, result)
                self.expect("done")
                self.end_after_analyze()
                got = ("", "k", "", "x/a.c", "c")
                self.assertEqual(
                    self.entries(),
                    [(got, "", None, "/named", b"a.c"), (got, "/edge", ("s", "c", "r", "p", "l"), "/", b"")]
                    * 2,
                )

    def test_names_are_asked_again_in_the_next_unit(self):
        request = self.begin()
        for number in range(2):
            self.answer(request, self.reply("names"))
            self.answer(self.expect("vname"), {"vname": {"corpus": f"k{number}"}})
            self.expect("done")
            request = self.expect("analyze")
        self.end()
        self.assertEqual({source[1] for source, *_ in self.entries()}, {"k0", "k1"})

    def test_r32_output_is_appended_to(self):
        self.output.write_bytes(b"\x05\x0a\x00\x22\x01/")
        self.analyze_once("unit")
        self.end()
        self.assertEqual(self.entries()[0], (("", "", "", "", ""), "", None, "/", b""))
        self.assertGreater(len(self.entries()), 3)

    def test_many_entries(self):
        self.analyze_once("many")
        self.assertEqual(self.output.stat().st_size, 100000 * (1 + 17 + 7 + 3))
        self.end()

    def test_r30_log(self):
        self.answer(self.begin(), self.reply("log"))
        messages = []
        for _ in range(3):
            note = self.expect("log")
            self.assertNotIn("id", note)
            messages.append(note["params"]["message"])
        self.assertEqual(
            messages,
            [
                {"message": "whole"},
                {"message": "line", "contextUrl": "a.c", "span": {"start": {"lineNumber": 3}}},
                {
                    "message": 'line "and column"',
                    "contextUrl": "a.c",
                    "span": {"start": {"lineNumber": 3, "columnOffset": 6}},
                },
            ],
        )
        self.expect("done")
        self.end_after_analyze()

    def test_stray_output_goes_to_stderr(self):
        self.analyze_once("print")
        self.assertEqual(self.end(), "stray output\n")


@unittest.skipUnless(C_ANALYZER.exists(), f"{C_ANALYZER} is not built")
class InC(Contract, unittest.TestCase):
    command = [C_ANALYZER]

    def test_a_name_that_is_refused(self):
        """The path alone is what is left of it; the analysis goes on."""
        self.answer(self.begin(), self.reply("names"))
        for _ in range(2):
            request = self.expect("vname")
            self.send({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32602, "message": "no"}})
        self.expect("done")
        self.expect("analyze")
        self.assertIn("vname: no (-32602)", self.end())
        self.assertEqual(self.facts("/unnamed"), ["a.c", "a.c"])


class InPython(Contract, unittest.TestCase):
    command = ["/usr/bin/python3", PYTHON_ANALYZER]

    def test_a_name_that_is_refused(self):
        self.answer(self.begin(), self.reply("names"))
        request = self.expect("vname")
        self.send({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32602, "message": "no"}})
        self.assertEqual(self.child.wait(LIMIT), 1)
        self.assertIn(b"vname: no (-32602)", self.child.stderr.read())


if __name__ == "__main__":
    unittest.main()
