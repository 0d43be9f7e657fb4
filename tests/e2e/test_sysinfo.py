# SPDX-License-Identifier: Apache-2.0
"""plugins/sysinfo: a G-Assist plugin in C, with a machine made for the test (SYSINFO_ROOT)."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from support import BUILD

SYSINFO = BUILD / "plugins" / "sysinfo"
MACHINE = {
    "proc/stat": "cpu  10 0 10 70 10 0 0 0 0 0\ncpu0 1 2 3 4\n",
    "proc/meminfo": "MemTotal: 2048000 kB\nMemFree: 1 kB\nMemAvailable: 1024000 kB\n",
    "proc/loadavg": "0.25 0.50 0.75 1/234 567\n",
    "sys/class/thermal/thermal_zone0/type": "x86_pkg_temp\n",
    "sys/class/thermal/thermal_zone0/temp": "41500\n",
}
MEMORY = "memory: 1000 of 2000 MiB used\n"
LOAD = "load: 0.25 in 1 min, 0.50 in 5, 0.75 in 15\n"
TEMPERATURE = "temperature: 41.5 °C (x86_pkg_temp)\n"


@unittest.skipUnless((SYSINFO / "sysinfo").exists(), "sysinfo is not built")
class Sysinfo(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        for path, text in MACHINE.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)

    def mortise(self, *words, status=0, **more):
        done = subprocess.run(
            [BUILD / "mortise", *words],
            capture_output=True,
            text=True,
            env=dict(os.environ, SYSINFO_ROOT=str(self.root)),
            **more,
        )
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout if status == 0 else done.stderr

    def test_now(self):
        shown = self.mortise("run", SYSINFO, "now")
        self.assertEqual(shown.rstrip("\n") + "\n", "processors: 0 % busy\n" + MEMORY + LOAD + TEMPERATURE)

    def test_what_the_kernel_does_not_say(self):
        shutil.rmtree(self.root)
        self.root.mkdir()
        shown = self.mortise("run", SYSINFO, "now")
        for text in ("processors: not known", "memory: not known", "load: not known", "temperature: no sensor"):
            self.assertIn(text + "\n", shown)

    def test_watch(self):
        shown = self.mortise("run", SYSINFO, "watch", "seconds=0.3", "every=0.1", "what=load")
        self.assertEqual(shown, LOAD * 3 + "3 readings.\n")

    def test_wrong_arguments(self):
        for argument, text in [("every=0", "every: from 0.05"), ("seconds=-1", "seconds: more than 0")]:
            self.assertIn(text, self.mortise("run", SYSINFO, "watch", argument, status=1))
        text = self.mortise("call", SYSINFO, "now", "what=disk", status=4)  # by its manifest
        self.assertIn('argument "what" must be one of', text)
        text = self.mortise("call", SYSINFO, "now", "what=disk", "--unchecked", status=1)
        self.assertIn('what: one of all, cpu, memory, load, temperature is expected, not "disk"', text)

    def test_conversation(self):
        shown = self.mortise("chat", SYSINFO, input="/explore\nmemory\nweather\nload\nexit\n")
        self.assertIn("What shall I look at?", shown)
        self.assertIn(MEMORY + "What else?\nI know nothing about that.\nWhat else?\n" + LOAD, shown)
        self.assertTrue(shown.endswith("Done.\n"), shown)

    def test_manifest(self):
        manifest = json.loads((SYSINFO / "manifest.json").read_text())
        self.assertEqual([function["name"] for function in manifest["functions"]], ["now", "watch", "explore"])
        self.assertEqual(manifest["executable"], "sysinfo")


if __name__ == "__main__":
    unittest.main()
