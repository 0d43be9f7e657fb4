import unittest

from plugin import plugin
from tenon.testing import run_inside, spawn


class Test(unittest.TestCase):
    def test_conversation(self):
        with run_inside(plugin) as host:
            self.assertEqual(host.call("hello", name="Ada"), "Ada! How are you?")
            self.assertEqual(host.streamed, "Hello, ")
            self.assertEqual(host.say("fine"), "So you are fine.")

    def test_as_a_process(self):
        with spawn(["./plugin.py"], "gassist") as host:
            self.assertEqual(host.call("hello", name="Ada"), "Ada! How are you?")


if __name__ == "__main__":
    unittest.main()
