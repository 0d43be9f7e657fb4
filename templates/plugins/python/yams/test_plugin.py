import unittest

from plugin import plugin
from tenon.testing import run_inside, spawn


class Test(unittest.TestCase):
    def test_title_and_text(self):
        with run_inside(plugin) as host:
            found = host.extract(b"Shopping\nmilk\n")
        self.assertEqual((found["content"], found["metadata"]["title"]), ("milk\n", "Shopping"))

    def test_as_a_process(self):
        with spawn(["./plugin.py"], "yams") as host:
            self.assertIn("bread", host.extract("example.note")["content"])


if __name__ == "__main__":
    unittest.main()
