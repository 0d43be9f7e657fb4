# SPDX-License-Identifier: Apache-2.0
"""What a confined plugin tries after its last answer is told, and decides the exit status if it was killed
for it. And what it has left behind delays nobody."""
import pathlib
import unittest

from events import until
from support import Case, is_sanitized, MORTISE, PYTHON
from test_jail_command import LEVELS, at_each_level

PLUGINS = pathlib.Path(__file__).parents[1] / "plugins"
LATE = "\ntry:\n    open('/etc/shadow')\nexcept OSError:\n    pass\n"
ONE_CALL = (
    "import json, sys\ncall = json.loads(sys.stdin.readline())\n"
    "print(json.dumps({'jsonrpc': '2.0', 'id': call.get('id'), 'result': 'fine'}), flush=True)\nsys.stdin.read()\n"
)
AT_EXIT = """import atexit
@atexit.register
def late():
    try:
        open('/etc/shadow')
    except OSError:
        pass
"""


@unittest.skipUnless(LEVELS, "this machine cannot confine")
class AfterTheAnswer(Case):
    def late(self, *words, stdin=b""):
        """With kill it exits with 9 and one line tells why; with deny it ends well, and the sum is told."""
        for level in LEVELS:
            for mode in ("kill", "deny"):
                with self.subTest(level=level, mode=mode):
                    done = self.run_mortise(
                        *words[:1], "--level", level, "--on-denial", mode, *words[1:], stdin=stdin
                    )
                    told = [line for line in done.error_lines if "/etc/shadow" in line]
                    self.assertEqual(len(told), 1, done.err)
                    self.assertEqual(done.code, 9 if mode == "kill" else 0, done.err)
                    start = "sandbox_violation: " if mode == "kill" else "denied: |{.*sandbox_denials"
                    self.assertRegex(told[0], f"^({start})")

    def source(self, name):
        return (PLUGINS / name).read_text(encoding="utf-8")

    def test_call(self):
        late = self.file("late.py", ONE_CALL + LATE)
        self.late("call", late, "echo")
        self.late("call", "--json", late, "echo")
        self.late("call", "--notify", late, "echo")

    def test_info(self):
        self.late("info", self.file("late.py", "import sys\nsys.stdin.read()\n" + LATE))

    def test_extract(self):
        script = self.file("late.py", AT_EXIT + self.source("yams_ok.py"))
        text = self.file("a.txt", "words")
        self.late("extract", text, "--", PYTHON, script)
        self.late("extract", "--json", text, "--", PYTHON, script)

    def test_chat(self):
        script = self.file("late.py", AT_EXIT + self.source("gassist.py").replace("os._exit(", "sys.exit("))
        self.late("chat", "-d", "gassist", "--", PYTHON, script, stdin=b"/count to=1\n")

    def test_run_of_a_function(self):
        script = self.file("late.py", AT_EXIT + self.source("gassist.py").replace("os._exit(", "sys.exit("))
        self.late("run", "-d", "gassist", script, "count", "to=1")

    def test_a_call_that_failed_by_it_tells_it_once(self):
        thief = self.file("late.py", "import sys\nsys.stdin.readline()\nopen('/etc/shadow')\n")
        self.fails(9, "sandbox_violation", "call", "--confine", "--on-denial=kill", thief, "echo")


CROWD = (
    "import os\nhome = os.environ['HOME']\nfor n in range(%d):\n"
    "    os.close(os.open(f'{home}/{n}', os.O_CREAT | os.O_WRONLY))\nprint(home, flush=True)\n"
)


class Cleaning(Case):
    @unittest.skipUnless("t0" in LEVELS, "this machine has no t0")
    def test_nobody_waits_for_many_files(self):
        """Our command has ended before they are gone; and then they go. Whether we come to look in time is up
        to the machine: the more of them, the longer it takes."""
        if is_sanitized(MORTISE):
            self.skipTest("a command that looks for leaks at its end comes late")
        seen = False
        for count in (4000, 16000, 64000):
            done = self.ok("jail", "--level", "t0", "--", PYTHON, self.file("crowd.py", CROWD % count))
            home = pathlib.Path(done.out.strip())
            seen = home.exists()
            until(lambda: not home.exists(), home.parent)
            if seen:
                return
        self.skipTest("in 3 tries nobody came to look before they were gone")

    @at_each_level
    def test_few_files_are_gone_at_once(self, level):
        script = self.file("few.py", CROWD % 900)
        done = self.ok("jail", "--level", level, "--", PYTHON, script)
        self.assertFalse(pathlib.Path(done.out.strip()).exists())


if __name__ == "__main__":
    unittest.main()
