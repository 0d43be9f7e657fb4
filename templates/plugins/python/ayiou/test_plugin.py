import unittest

from plugin import plugin
from tenon.testing import run_inside, spawn


class Test(unittest.TestCase):
    def test_hello(self):
        with run_inside(plugin) as host:
            self.assertEqual(host.say("/hello Ada Lovelace"), "Hello, Ada Lovelace!")

    def test_as_a_process(self):
        with spawn(["./plugin.py"], "ayiou") as host:
            self.assertEqual(host.say("/hello"), "Hello, world!")


if __name__ == "__main__":
    unittest.main()
