#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""mortise probe finds every dialect that can be found without a call, and writes a manifest that works."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import patience  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MORTISE = pathlib.Path(os.environ["MORTISE_BUILD"]) / "mortise"


def run(*words):
    return subprocess.run([MORTISE, *words], capture_output=True, text=True, check=False, timeout=3000)


def mutant(dialect):
    return ["/usr/bin/python3", "-I", "-S", str(HERE / "mutant.py"), dialect]


@patience.patient
class Probe(unittest.TestCase):
    def probe(self, *command):
        done = run("probe", "--json", "--timeout", patience.limit, "--", *map(str, command))
        return json.loads(done.stdout)

    def test_dialects(self):
        for dialect, framing in (
            ("yams", "lines"),
            ("ayiou", "lines"),
            ("sunscreen", "lines"),
            ("gassist", "be32"),
            ("plain", "lines"),
        ):
            found = self.probe(*mutant(dialect))
            self.assertEqual((found["dialect"], found["framing"]), (dialect, framing), found)
            self.assertIn(found["level"], ("t0", "t1"))
        found = self.probe("/usr/bin/python3", "-I", "-S", HERE / "mutant_kythe.py")
        self.assertEqual((found["dialect"], found["framing"]), ("kythe", "decimal"), found)

    def test_another_framing(self):
        found = self.probe("/usr/bin/python3", ROOT / "tests/plugins/echo.py", "headers")
        self.assertEqual((found["dialect"], found["framing"]), ("plain", "headers"), found)
        self.assertIn('framing = "headers"', found["manifest"])

    def test_none(self):
        done = run("probe", "--timeout", "300ms", "--", "sh", "-c", "cat >/dev/null")
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stdout.startswith("no protocol was found\n"), done.stdout)
        done = run("probe", "--timeout", "300ms", "--", "sh", "-c", "echo hello; exit 3")
        self.assertIn("it exited with status 3", done.stdout)

    def test_echo(self):
        """A program that sends back what it gets is named as that."""
        found = self.probe("cat")
        self.assertEqual((found["ok"], found["dialect"], found["echoes"]), (False, None, True))
        self.assertIn("plain in lines: it sends back the request itself: ", "\n".join(found["how"]))
        done = run("probe", "--timeout", "300ms", "--", "cat")
        self.assertTrue(
            done.stdout.startswith("no protocol was found: it only sends back what it is sent, like cat\n")
        )

    def test_mcp(self):
        found = self.probe("/usr/bin/python3", "-I", HERE / "other_servers.py", "mcp")
        self.assertEqual(
            (found["ok"], found["dialect"], found["framing"], found["kind"], found["name"]),
            (True, "plain", "lines", "mcp", "other"),
        )
        self.assertIn('"protocolVersion":"2025-11-25"', found["how"][-1])
        done = run(
            "probe",
            "--timeout",
            patience.limit,
            "--",
            "/usr/bin/python3",
            "-I",
            HERE / "other_servers.py",
            "mcp",
        )
        self.assertTrue(
            done.stdout.startswith(
                "a server of the Model Context Protocol (MCP): mortise drives it with -d plain, messages as lines\n"
            )
        )
        self.assertIn("\nmortise call @s tools/list\n", done.stdout)

    def test_language_servers(self):
        """One that logs something before it answers, and a real one."""
        for command, name in (
            (["/usr/bin/python3", "-I", HERE / "other_servers.py", "lsp"], "other"),
            ([shutil.which("clangd")], "clangd"),
        ):
            if not command[0]:
                continue
            found = self.probe(*command)
            self.assertEqual(
                (found["ok"], found["dialect"], found["framing"], found["kind"], found["name"]),
                (True, "plain", "headers", "lsp", name),
                found,
            )
            self.assertIn('framing = "headers"', found["manifest"])

    def test_reads_one_framing_and_writes_another(self):
        for reads, answers in (("lines", "headers"), ("headers", "lines"), ("lines", "be32")):
            command = ["/usr/bin/python3", "-I", str(HERE / "other_servers.py"), "mixed", reads, answers]
            found = self.probe(*command)
            self.assertEqual(
                (found["ok"], found["framing"], found["answers_framing"], found["manifest"]),
                (False, reads, answers, None),
                found,
            )
            done = run("probe", "--timeout", patience.limit, "--", *command)
            self.assertEqual(done.returncode, 1)
            self.assertTrue(
                done.stdout.startswith(f"it reads messages as {reads}, but answers as {answers}: "), done.stdout
            )

    def test_params_that_come_back(self):
        """A plain program that returns its params is no server of the protocol that was tried."""
        script = (
            "import json, sys\nfor line in sys.stdin:\n    m = json.loads(line)\n"
            "    r = {'jsonrpc': '2.0', 'id': m['id'], 'result': m.get('params')}\n"
            "    print(json.dumps(r), flush=True)\n"
        )
        found = self.probe("/usr/bin/python3", "-c", script)
        self.assertEqual((found["dialect"], found["framing"]), ("plain", "lines"))
        done = run("probe", "--timeout", patience.limit, "--", "/usr/bin/python3", "-c", script)
        self.assertTrue(done.stdout.startswith("plain, messages as lines\n"), done.stdout)

    def test_cannot_start(self):
        self.assertEqual(run("probe", "--", "./no-such-program").returncode, 5)

    def test_manifest_works(self):
        for dialect, name in (("yams", "yams-plugin.json"), ("plain", "mortise.toml")):
            with tempfile.TemporaryDirectory() as place:
                done = run("probe", "-o", place, "--", *mutant(dialect))
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(os.listdir(place), [name])
                done = run("call", place, "echo", "x=1")
                self.assertEqual(json.loads(done.stdout), {"x": 1}, done.stderr)
                done = run("probe", "-o", place, "--", *mutant(dialect))
                self.assertEqual(done.returncode, 4)
                self.assertIn(f"{name} is there already", done.stderr)

    def test_confined(self):
        """It reaches neither the network nor files that are not its own."""
        script = (
            "import socket, sys\n"
            "try:\n    socket.create_connection(('127.0.0.1', 9), 1)\n"
            "except ConnectionRefusedError:\n    sys.exit(5)\nexcept OSError:\n    pass\n"
            "try:\n    open('/etc/shadow')\nexcept OSError:\n    sys.exit(7)\n"
        )
        done = run("probe", "--timeout", patience.limit, "--", "/usr/bin/python3", "-c", script)
        self.assertIn("it exited with status 7", done.stdout)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
