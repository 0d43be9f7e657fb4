import os
import pathlib
import tempfile
import unittest

PROGRAM = os.path.abspath("plugin.py")

from plugin import plugin
from tenon import PluginError
from tenon.testing import run_inside, spawn


class Test(unittest.TestCase):
    def setUp(self):
        self.workspace = tempfile.TemporaryDirectory()
        self.addCleanup(self.workspace.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.workspace.name)  # the workspace of a test is the current directory

    def test_greeting(self):
        with run_inside(plugin) as host:
            done = host.call("app:hello", "Ada")
        self.assertEqual(done["files_written"], ["hello-ada.txt"])
        self.assertEqual(pathlib.Path("hello-ada.txt").read_text(), "Hello, Ada!\n")

    def test_missing_name(self):
        with run_inside(plugin) as host, self.assertRaises(PluginError) as caught:
            host.call("app:hello")
        self.assertEqual(caught.exception.message, "name: is missing")

    def test_as_a_process(self):
        with spawn([PROGRAM], "sunscreen-json") as host:
            self.assertEqual(host.call("app:hello", "Bob")["summary"], "greeted Bob")


if __name__ == "__main__":
    unittest.main()
