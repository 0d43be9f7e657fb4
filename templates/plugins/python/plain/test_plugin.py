import unittest

from plugin import plugin
from tenon import PluginError
from tenon.testing import run_inside, spawn


class Test(unittest.TestCase):
    def test_greet(self):
        with run_inside(plugin) as host:
            self.assertEqual(host.call("greet", name="Ada"), "Hello, Ada!")
            self.assertEqual(host.call("greet", name="Bob", greeting="Hi"), "Hi, Bob!")

    def test_missing_name(self):
        with run_inside(plugin) as host, self.assertRaises(PluginError) as caught:
            host.call("greet")
        self.assertEqual(caught.exception.message, "name: is missing")

    def test_as_a_process(self):
        with spawn(["./plugin.py"], "plain") as host:
            self.assertEqual(host.call("greet", name="Ada"), "Hello, Ada!")


if __name__ == "__main__":
    unittest.main()
