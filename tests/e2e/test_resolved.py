# SPDX-License-Identifier: Apache-2.0
"""A plugin's files are read once: what is decided before it runs (arguments, permissions), and what it is run
by, come from the same bytes. inotify counts every open of a manifest, by any process."""
import json
import os
import struct
import unittest

from events import Directories, LIBC
from support import PLUGINS, PYTHON
from sunscreen import PERMISSIONS, Sunscreen

OPEN, CLOSE = 0x20, 0x10  # of the closes those without writing


class Opens(Directories):
    """How often a file is opened. The closes are watched, too: inotify joins events that are the same and
    follow each other, and between two opens of one reader there is a close."""

    def __init__(self, path):
        super().__init__()
        if LIBC.inotify_add_watch(self.fd, os.fsencode(path), OPEN | CLOSE) < 0:
            raise OSError("inotify")

    def count(self):
        try:
            data = os.read(self.fd, 65536)
        except BlockingIOError:
            return 0
        masks = [struct.unpack_from("iI", data, at)[1] for at in range(0, len(data), 16)]
        return sum(mask & OPEN != 0 for mask in masks)


class Once(Sunscreen):
    def yams(self):
        return self.plugin("yams") / "yams-plugin.json"

    def gassist(self):
        function = {"name": "echo", "description": "d", "properties": {"text": {"type": "string"}}}
        told = {
            "manifestVersion": 1,
            "protocol_version": "2.0",
            "executable": "./plugin.py",
            "persistent": False,
            "functions": [function],
        }
        self.program("gassist/plugin.py", PLUGINS / "gassist.py")
        return self.file("gassist/manifest.json", json.dumps(told))

    def ayiou(self):
        command = [PYTHON, str(PLUGINS / "ayiou" / "stage.py"), "{}"]
        return self.file(
            "ayiou/mortise.toml", f'[plugin]\ndialect = "ayiou"\ncommand = {json.dumps(command)}\n'
        )

    def sunscreen(self, **permissions):
        return self.toml("sunscreen", {**PERMISSIONS, **permissions}) / "plugin.toml"

    def assert_once(self, manifest, *args):
        with Opens(manifest) as opens:
            done = self.run_mortise(*args)
            self.assertEqual((opens.count(), done.code), (1, 0), f"{args}: {done.out}{done.err}")
        return done

    def test_the_count_counts(self):
        manifest = self.yams()
        with Opens(manifest) as opens:
            for _ in range(3):
                manifest.read_bytes()
            self.assertEqual((opens.count(), opens.count()), (3, 0))

    def test_call(self):
        for manifest, *words in (
            (self.yams(), "plugin.health"),
            (self.gassist(), "echo", "text=x"),
            (self.ayiou(), "matches", "text=x", "message_type=group"),
            (self.sunscreen(), "scaffold:echo", f"workspace_root={self.work}"),
        ):
            for more in ((), ("--timeout", "250s"), ("--timeout", "250s", "--set", "limits.in_flight=1")):
                with self.subTest(manifest=manifest.name, more=more):
                    self.assert_once(manifest, "call", manifest.parent, *words, *more)

    def test_run(self):
        gassist, sunscreen = self.gassist(), self.sunscreen()
        for more in ((), ("--timeout", "250s")):
            self.assert_once(gassist, "run", gassist.parent, "echo", "x", *more)
            self.assert_once(sunscreen, "run", "-w", self.work, sunscreen.parent, "echo", *more)
            self.assert_once(
                sunscreen, "run", "-w", self.work, "--hook", "after_build", sunscreen.parent, *more
            )

    def test_permissions(self):
        """What is granted is remembered by the bytes that asked for it, which are those that were read."""
        manifest = self.sunscreen(network=True)
        call = ("call", manifest.parent, "scaffold:echo", f"workspace_root={self.work}")
        self.assertIn("nobody has granted it", self.assert_once(manifest, *call).err)
        self.assert_once(manifest, "run", "-w", self.work, "--yes", manifest.parent, "echo")
        self.assertNotIn("nobody has granted it", self.assert_once(manifest, *call).err)
        self.assert_once(manifest, "run", "-w", self.work, manifest.parent, "echo")

    def test_info(self):
        for manifest in (self.yams(), self.gassist(), self.ayiou(), self.sunscreen(network=True)):
            for more in ((), ("--no-start",)):
                with self.subTest(manifest=manifest.name, more=more):
                    self.assert_once(manifest, "info", manifest.parent, *more)


if __name__ == "__main__":
    unittest.main()
