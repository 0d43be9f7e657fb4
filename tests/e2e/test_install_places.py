#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the files of an installed plugin cannot choose: places, and files that nobody has seen."""
import unittest

from test_install import Store


class Places(Store):
    def installs(self, directory):
        done = self.run_mortise("install", directory)
        self.assertEqual(done.code, 0, done.err)
        return done

    def refuses(self, said, more="", plugin=""):
        directory = self.make(more=more)
        text = (directory / "mortise.toml").read_text()
        (directory / "mortise.toml").write_text(text.replace("[sandbox]", plugin + "\n[sandbox]"))
        done = self.run_mortise("install", "--yes", "--allow", "write,read", directory)
        self.assertEqual(done.code, 3, done.err)
        self.assertIn(said, done.err)
        self.assertFalse(self.plugins.is_dir() and any(p.name == "greeter" for p in self.plugins.iterdir()))

    def test_sandbox(self):
        """Each is a permission of its own, and no word of --allow names it."""
        for key, value in (
            ("scratch", f'"{self.dir}"'),
            ("workspace", '"/"'),
            ("unprotect", '[".git"]'),
            ("protected_paths", "[]"),
        ):
            with self.subTest(key):
                self.refuses(f"sandbox.{key}: an installed plugin cannot choose this", more=f"{key} = {value}")

    def test_cwd(self):
        """Relative words of its command would be other files than those that were shown."""
        (self.dir / "elsewhere").mkdir()
        for cwd in (self.dir / "elsewhere", "../elsewhere"):
            self.refuses("is not part of it", plugin=f'cwd = "{cwd}"')

    def test_cwd_inside(self):
        directory = self.make()
        self.file("greeter/sub/x", "")
        text = (directory / "mortise.toml").read_text()
        (directory / "mortise.toml").write_text(text.replace("[sandbox]", 'cwd = "sub"\n[sandbox]'))
        self.installs(directory)

    def test_upgrade(self):
        self.installs(self.make())
        more = self.make("1.1.0", f'scratch = "{self.dir}"')
        done = self.run_mortise("upgrade", "greeter", more, "--allow", "write")
        self.assertEqual(done.code, 3, done.err)
        self.assertEqual(self.listed(), [("greeter", "1.0.0")])

    def test_the_user_may(self):
        self.installs(self.make())
        self.run_mortise("call", "greeter", "x", "--set", f"sandbox.scratch={self.dir}", "--timeout", "1s")
        done = self.run_mortise("info", "greeter", "--set", f"sandbox.scratch={self.dir}")
        self.assertIn(f"may write its scratch directory {self.dir}", done.out)

    def test_files_of_others_are_told(self):
        directory = self.make()
        other = self.file("other.py", "print()\n")
        text = (directory / "mortise.toml").read_text()
        (directory / "mortise.toml").write_text(
            text.replace('["./run.py"]', f'["/usr/bin/python3", "{other}"]')
        )
        done = self.installs(directory)
        self.assertIn(f"its command names {other}, which is not part of the plugin", done.err)
        self.assertNotIn("names /usr/bin/python3", done.err)


if __name__ == "__main__":
    unittest.main()
