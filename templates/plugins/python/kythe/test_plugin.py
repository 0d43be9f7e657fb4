import unittest

from plugin import plugin
from tenon.testing import analyze, analyze_inside

FILES = {"a.note": "# Shopping\nmilk\n# Work\n"}


class Test(unittest.TestCase):
    def test_nodes(self):
        found = analyze_inside(plugin, FILES)
        self.assertEqual(found.facts("/kythe/node/kind"), [b"file", b"doc", b"doc"])
        self.assertEqual(found.facts("/kythe/text"), [FILES["a.note"].encode()])

    def test_as_a_process(self):
        self.assertEqual(len(analyze(["./plugin.py"], FILES).facts("/kythe/node/kind")), 3)


if __name__ == "__main__":
    unittest.main()
