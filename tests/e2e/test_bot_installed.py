# SPDX-License-Identifier: Apache-2.0
"""mortise chat --config: a bot that names installed plugins."""
import json
import shutil
import signal
import unittest

from bot_support import BotCase, lines
from store_support import Store
from support import LIMIT

HEAD = "[external-plugin-bridge]\nenabled = true\n"


class Installed(BotCase):
    def setUp(self):
        super().setUp()
        self.store = Store(self.dir / "data")

    def install(self, name="says", reply="one", version="1.0.0", dialect="ayiou", **how):
        """A plugin that answers every event."""
        _, command, *_ = self.stage(name, answer={"reply": reply})
        words = json.dumps([str(word) for word in command])
        source = self.file(
            f"src/{name}/mortise.toml",
            f'[plugin]\nname = "{name}"\nversion = "{version}"\ndialect = "{dialect}"\ncommand = {words}\n',
        ).parent
        place = self.store.install(name, source, version=version, dialect=dialect, **how)
        shutil.rmtree(source)
        return place

    def names(self, *plugins):
        """The bot's file: a plugin is (key, NAME, more keys)."""
        text = HEAD
        for key, name, *more in plugins:
            text += f'[external-plugin-bridge.plugins.{key}]\nplugin = "{name}"\n' + "".join(
                line + "\n" for line in more
            )
        return self.file("bot.toml", text)

    def replies(self, done):
        return [row["params"]["message"][0]["data"]["text"] for row in done.rows]

    def test_by_name_and_version(self):
        self.install(reply="one")
        self.install(reply="two", version="2.0.0")
        done = self.chat(self.names(("old", "says@1.0.0"), ("new", "says")), {"text": "x"})
        self.assertEqual(self.replies(done), ["one", "two"])

    def test_pinned(self):
        """In a project the name is the version of its mortise.lock."""
        self.install(reply="one")
        self.ok("lock", "says")
        self.install(reply="two", version="2.0.0")
        done = self.chat(self.names(("pinned", "says"), ("new", "says@2.0.0")), {"text": "x"})
        self.assertEqual(self.replies(done), ["one", "two"])

    def test_beside_a_command(self):
        self.install()
        _, command, *_ = self.stage("own", answer={"reply": "own"})
        bot = self.names(("says", "says"))
        text = bot.read_text(encoding="utf-8") + self.bot_text(("own", command)).split("\n", 2)[2]
        self.assertEqual(self.replies(self.chat(self.file("bot.toml", text), {"text": "x"})), ["one", "own"])

    def test_keys_count(self):
        self.install("a", reply="late")
        self.install("b", reply="early")
        done = self.chat(self.names(("a", "a"), ("b", "b", "priority = 1")), {"text": "x"})
        self.assertEqual(self.replies(done), ["early", "late"])

    def test_not_installed(self):
        self.install()
        done = self.fails(5, "not_found", "chat", "--config", self.names(("x", "sayz")))
        self.assertIn('x: plugin = "sayz"', done.err)
        self.assertIn("did you mean says?", done.err)

    def test_wrong_file(self):
        self.install()
        self.install("other", dialect="gassist")
        done = self.fails(3, "manifest", "chat", "--config", self.names(("x", "says", 'command = "true"')))
        self.assertIn("x.plugin must be without command", done.err)
        done = self.fails(3, "manifest", "chat", "--config", self.names(("x", "other")))
        self.assertIn("speaks gassist", done.err)
        done = self.fails(3, "manifest", "chat", "--config", self.names(("x", "")))
        self.assertIn("the name of an installed plugin", done.err)

    def test_not_approved(self):
        """The bot says so by name, with what to type, and goes on with the others."""
        self.install("good")
        self.install("fresh", approved=False)
        done = self.chat(self.names(("good", "good"), ("fresh", "fresh")), {"text": "x"}, code=1)
        self.assertIn("dead: fresh: ", done.err)
        self.assertIn("mortise approve fresh@1.0.0", done.err)
        self.assertIn("ready: 1 of 2 plugins", done.err)
        self.assertEqual(self.replies(done), ["one"])
        self.assertFalse((self.dir / "fresh.log").exists())

    def test_changed(self):
        place = self.install()
        (place / "more").write_text("x", encoding="utf-8")
        done = self.run_mortise("chat", "--config", self.names(("says", "says")), stdin=lines({"text": "x"}))
        self.assertNotEqual(done.code, 0)
        self.assertIn("more: added since version 1.0.0 was approved", done.err)
        self.assertFalse((self.dir / "says.log").exists())

    # ---- while it runs

    def begin(self, *plugins):
        self.process = self.start(self.names(*plugins))
        self.until(self.process.stderr, "ready: ")

    def reload(self):
        self.process.send_signal(signal.SIGHUP)
        return self.until(self.process.stderr, "reload: ")

    def says(self, *texts):
        self.process.stdin.write(lines({"text": "x"}).decode())
        self.process.stdin.flush()
        for text in texts:
            row = json.loads(self.process.stdout.readline())
            self.assertEqual(row["params"]["message"][0]["data"]["text"], text)

    def end(self, code=0):
        _, err = self.process.communicate(timeout=LIMIT)
        self.assertEqual(self.process.returncode, code, err)

    def test_reload_takes_the_new_version(self):
        self.install()
        self.begin(("says", "says"), ("held", "says@1.0.0"))
        self.says("one", "one")
        self.install(reply="two", version="2.0.0")
        self.assertIn("replaces stage (says); 1 unchanged", self.reload())
        self.until(self.process.stderr, "stage (says): is ready")
        self.says("two", "one")
        self.end()

    def test_reload_after_an_approval(self):
        self.install("good")
        place = self.install("fresh", reply="two")
        (place / "more").write_text("x", encoding="utf-8")
        self.begin(("good", "good"), ("fresh", "fresh"))
        self.says("one")
        (place / "more").unlink()
        self.reload()
        self.until(self.process.stderr, "(fresh): is ready")
        self.says("one", "two")
        self.end()

    def test_reload_of_one_that_is_gone(self):
        """What runs goes on; the line says what is wrong."""
        self.install()
        self.begin(("says", "says"))
        shutil.rmtree(self.store.top / "says")
        self.assertIn('plugin = "says"', self.reload())
        self.says("one")
        self.end()


if __name__ == "__main__":
    unittest.main()
