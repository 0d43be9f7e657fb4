# SPDX-License-Identifier: Apache-2.0
"""plugins/lookout: a G-Assist plugin with the Node package, doing its work."""
import json
import os
import shutil
import socket
import struct
import subprocess
import unittest

from support import BUILD, Case, LIMIT, ROOT

LOOKOUT = BUILD / "plugins" / "lookout"


@unittest.skipUnless(shutil.which("node"), "node is not installed")
class Lookout(Case):
    def setUp(self):
        super().setUp()
        self.env["XDG_STATE_HOME"] = str(self.dir / "state")
        for name, kib in (("big/film", 3000), ("big/song", 400), ("small/note", 4), ("top", 40)):
            self.file(f"tree/{name}", os.urandom(kib * 1024))
        os.link(self.dir / "tree/big/film", self.dir / "tree/small/film-again")

    def run_function(self, *args):
        return self.ok("run", LOOKOUT, *args).out

    def chat(self, text, *args):
        return self.ok("chat", LOOKOUT, *args, stdin=text.encode()).out

    def test_info(self):
        told = self.ok("info", "--json", LOOKOUT).json
        self.assertEqual(
            [one["name"] for one in told["actions"]],
            ["overview", "disk", "memory", "processor", "ports", "explore"],
        )
        self.assertEqual(told["warnings"], [])

    def test_manifest_is_what_the_plugin_declares(self):
        made = subprocess.run(
            [LOOKOUT / "plugin.mjs", "--manifest"], capture_output=True, env=self.env, timeout=LIMIT, check=True
        )
        self.assertEqual(json.loads(made.stdout), json.loads((LOOKOUT / "manifest.json").read_text()))

    def test_executable(self):
        """As its manifest says: other hosts start it by its name."""
        hello = json.dumps(
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "initialize",
                "params": {"protocol_version": "2.0", "engine_version": "1.0.0"},
            }
        ).encode()
        done = subprocess.run(
            [LOOKOUT / "plugin.mjs"],
            input=struct.pack(">I", len(hello)) + hello,
            capture_output=True,
            env=self.env,
            timeout=LIMIT,
            check=True,
        )
        self.assertEqual(json.loads(done.stdout[4:])["result"]["name"], "lookout")
        self.assertTrue(os.access(ROOT / "plugins" / "lookout" / "plugin.mjs", os.X_OK))

    def test_overview(self):
        out = self.run_function("overview")
        self.assertRegex(out, r"Load +\d")
        self.assertRegex(out, r"Memory +[#.]{20} \d+%")

    def test_disk(self):
        """Largest first, a file with two names once, the sum at the end."""
        out = self.run_function("disk", f"path={self.dir / 'tree'}", "top=2")
        self.assertTrue(out.startswith(f"Looking through {self.dir / 'tree'} …\n"), out)
        lines = [line.split()[-1] for line in out.splitlines() if "#" in line or ".." in line]
        self.assertEqual(lines, ["big", "small", "big/film", "big/song"] if "big/film" in out else lines)
        self.assertRegex(out, r"\n3\.\d MiB in \d+ entries\.\n$")

    def test_disk_streams(self):
        rows = self.ok("run", "--json", LOOKOUT, "disk", f"path={self.dir / 'tree'}").rows
        self.assertGreaterEqual(len(rows), 3)
        self.assertTrue(all(row["more"] for row in rows[:-1]))

    def test_memory(self):
        self.assertRegex(self.run_function("memory", "top=1000"), r"node")

    def test_processor(self):
        self.assertIn("Measuring for 0.2 s", self.run_function("processor", "seconds=0.2"))

    def test_ports(self):
        with socket.socket() as server:
            server.bind(("127.0.0.1", 0))
            server.listen()
            self.assertRegex(
                self.run_function("ports"),
                rf"(?m)^ *{server.getsockname()[1]}  tcp  127\.0\.0\.1 .*pid {os.getpid()}",
            )

    def test_wrong_arguments(self):
        for args, text in (
            ((f"path={self.dir / 'nowhere'}",), "no such directory"),
            (("top=x",), 'top: an integer is expected, not "x"'),
            (("top=0",), "top: at least 1 is expected, not 0"),
        ):
            done = self.run_mortise("call", "--unchecked", "--json", LOOKOUT, "disk", *args)
            self.assertEqual((done.code, done.json["rpc_code"]), (1, -32602))
            self.assertIn(text, done.json["message"])
        self.assertEqual(self.run_mortise("call", "--json", LOOKOUT, "nope").json["rpc_code"], -32601)
        self.assertIn(
            'argument "top" must be integer', self.fails(4, "input", "run", LOOKOUT, "disk", "top=x").err
        )

    def test_conversation(self):
        out = self.chat(f"/explore path={self.dir / 'tree'}\n1\nup\nfind note\nhelp\n99\nexit\n", "--echo")
        self.assertRegex(out, r"1 +3\.\d MiB +\d+%  (big|small)/")
        self.assertIn('Names with "note":\n1  4.0 KiB  small/note\n', out)
        self.assertIn("There is no number 99.", out)
        self.assertTrue(out.endswith("lookout …> exit\nDone.\n"), out)

    def test_conversation_as_json(self):
        rows = [
            row
            for row in map(
                json.loads, self.chat(f"/explore path={self.dir / 'tree'}\nexit\n", "--json").splitlines()
            )
            if not row.get("more")
        ]
        self.assertEqual([row["keep_session"] for row in rows], [True, False])

    def test_answers_pings_while_it_works(self):
        often = ("--show-wire", "--set", "health.every=100ms")
        for seconds in (0.5, 5, 50):  # where it is long enough for an answer
            done = self.run_mortise("run", *often, LOOKOUT, "processor", f"seconds={seconds}")
            self.assertEqual(done.code, 0)
            wire = done.err.splitlines()
            asked = next(i for i, line in enumerate(wire) if '"execute"' in line)
            ended = next(i for i, line in enumerate(wire) if '"complete"' in line)
            if any('"timestamp"' in line and line.startswith("<") for line in wire[asked:ended]):
                return
        self.fail(done.err)

    def test_confined(self):
        """It may be confined, too: then it sees what it is given."""
        done = self.run_mortise("run", "--confine", LOOKOUT, "disk", f"path={LOOKOUT}")
        if done.code == 125:
            self.skipTest(done.err)
        self.assertEqual(done.code, 0, done.err)
        self.assertIn("machine.mjs", done.out)


if __name__ == "__main__":
    unittest.main()
