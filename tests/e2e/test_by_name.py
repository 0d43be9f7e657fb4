# SPDX-License-Identifier: Apache-2.0
"""Installed plugins by name, and that nothing of them runs which nobody has approved."""
import json
import os
import shutil
import unittest

from store_support import Store
from support import BUILD, PYTHON, ROOT, Case

SAYS = """#!/usr/bin/python3
import json, os, sys
{first}
for line in sys.stdin:
    ask = json.loads(line)
    print(json.dumps({{"jsonrpc": "2.0", "id": ask["id"], "result": {result}}}), flush=True)
"""


class ByName(Case):
    def setUp(self):
        super().setUp()
        self.data = self.dir / "data"
        self.env["XDG_DATA_HOME"] = str(self.data)
        self.env.pop("PYTHONDONTWRITEBYTECODE")
        self.store = Store(self.data)

    def source(self, name, result="'first'", first="", command=None, **files):
        """A plugin of the dialect plain in a directory outside of the store."""
        shutil.rmtree(self.dir / name, ignore_errors=True)
        script = self.file(f"{name}/main.py", SAYS.format(first=first, result=result))
        script.chmod(0o755)
        self.file(
            f"{name}/mortise.toml",
            f"[plugin]\nname = \"{name}\"\ncommand = {json.dumps(command or ['./main.py'])}\n",
        )
        for path, text in files.items():
            self.file(f"{name}/{path}", text)
        return script.parent

    def installed(self, name="says", **how):
        return self.store.install(name, self.source(name, **how))

    def run_file(self, name):
        return json.loads((self.dir / "state/mortise/plugins" / name / "run.json").read_text(encoding="utf-8"))

    # ---- names

    def test_call(self):
        self.installed()
        self.assertEqual(self.ok("call", "says", "hello").json, "first")

    def test_version(self):
        self.installed()
        self.store.install("says", self.source("says", result="'second'"), version="2.0.0")
        self.assertEqual(self.ok("call", "says", "hello").json, "second")
        self.assertEqual(self.ok("call", "says@1.0.0", "hello").json, "first")
        self.assertEqual(self.ok("call", "says@^1", "hello").json, "first")
        self.assertEqual(self.ok("call", "says@>=1", "hello").json, "second")
        self.assertIn("no version that fits", self.fails(5, "not_found", "call", "says@^3", "hello").err)
        done = self.fails(5, "not_found", "call", "says@3", "hello")
        self.assertIn("1.0.0, 2.0.0", done.err)

    def planted(self, name):
        """What a clone, or a plugin that may write here, puts under the name of another plugin."""
        self.source(name, result="'planted'", first=f"open({str(self.dir / 'ran')!r}, 'w')")

    def test_a_name_is_no_path(self):
        self.installed()
        self.planted("says")
        for name in ("says", "says@1.0.0", "says@^1"):
            self.assertEqual(self.ok("call", name, "hello").json, "first")
        self.assertEqual(self.run_mortise("chat", "says", stdin=b"/hello\n").out, "first\n")
        self.ok("session", "start", "s", "says")
        self.assertEqual(self.ok("call", "@s", "hello").json, "first")
        self.ok("session", "stop", "s")
        self.assertFalse((self.dir / "ran").exists())
        self.assertEqual(self.ok("call", "./says", "hello").json, "planted")
        self.assertEqual(self.ok("call", ".", "hello", cwd=self.dir / "says").json, "planted")

    def test_words_that_look_like_sessions_and_flags(self):
        self.planted("@work")
        self.planted("-")
        for word in ("@work", "-"):
            for command in ("info", "chat", "check", "chaos"):
                done = self.run_mortise(command, word)
                self.assertNotEqual(done.code, 0, f"{command} {word}")
        self.assertFalse((self.dir / "ran").exists())

    def test_what_lies_here_is_offered(self):
        """With nothing installed, and with something else; a directory, a script; every command."""
        self.planted("evil")
        shutil.copy(self.source("other") / "main.py", self.dir / "evil.py")
        file = self.file("a.txt", "x")
        for installed in (False, True):
            if installed:
                self.installed()
            for word in ("evil", "evil.py"):
                for line in (
                    ["call", word, "hello"],
                    ["info", word],
                    ["chat", word],
                    ["session", "start", "s", word],
                    ["extract", file, "--plugin", word],
                    ["run", word, "hello"],
                    ["run", "--hook", "after_build", word],
                    ["check", word],
                    ["probe", word],
                    ["record", "-o", "x.talk", word],
                    ["chaos", word],
                    ["replay", self.file("y.talk", "talk 1 plain\n"), word],
                    ["bench", word, "hello"],
                    ["bundle", word, "-o", "b.tar.zst"],
                    ["index", file, "--analyzer", word, "-o", "b.entries"],
                ):
                    with self.subTest(" ".join(map(str, line)), installed=installed):
                        done = self.run_mortise(*line)
                        self.assertEqual(done.code, 5, done.err)
                        self.assertIn(f"for what lies here under that name, write ./{word}", done.err)
        self.assertFalse((self.dir / "ran").exists())

    def test_misspelt(self):
        self.installed()
        shutil.rmtree(self.dir / "says")
        self.assertIn("did you mean says?", self.fails(5, "not_found", "call", "sayz", "hello").err)
        self.assertIn("mortise list", self.fails(5, "not_found", "call", "quite-another", "hello").err)

    def test_without_store(self):
        done = self.fails(5, "not_found", "call", "nobody", "hello")
        self.assertIn("name a plugin's directory or file", done.err)

    def test_info_check_session_chat(self):
        self.installed()
        shutil.rmtree(self.dir / "says")
        self.assertEqual(self.ok("info", "--no-start", "--json", "says").json["name"], "says")
        done = self.run_mortise("chat", "says", stdin=b"/hello\n")
        self.assertEqual((done.code, done.out), (0, "first\n"), done.err)
        self.ok("session", "start", "s", "says")
        self.assertEqual(self.ok("call", "@s", "hello").json, "first")
        self.ok("session", "stop", "s")

    def test_not_where_nothing_checks(self):
        """Commands that start it by themselves would start changed files, and unconfined."""
        self.installed()
        shutil.rmtree(self.dir / "says")
        for words in (["check"], ["probe"], ["record", "-o", "x.talk"], ["chaos"], ["replay", "y.talk"]):
            self.file("y.talk", "talk 1 plain\n")
            with self.subTest(words[0]):
                done = self.run_mortise(*words, "says")
                self.assertEqual(done.code, 4, done.err)
                self.assertIn("without the check of installed files", done.err)

    def test_link_out_of_the_store(self):
        """At each of the three directories: what lies elsewhere is compared by nobody."""
        place = self.installed()
        for moved in (place, place.parent, place.parent.parent):
            with self.subTest(moved=moved.name):
                moved.rename(self.dir / "elsewhere")
                moved.symlink_to(self.dir / "elsewhere")
                done = self.fails(9, "sandbox_violation", "call", "says@1.0.0", "hello")
                self.assertIn("a link leads out of the installed plugins", done.err)
                moved.unlink()
                (self.dir / "elsewhere").rename(moved)
        self.assertEqual(self.ok("call", "says@1.0.0", "hello").json, "first")

    def test_last_run_is_no_link(self):
        """A plugin that can write there must not make us write elsewhere, or wait."""
        self.installed()
        place = self.dir / "state/mortise/plugins/says"
        place.mkdir(parents=True, exist_ok=True)
        precious = self.file("precious", "old")
        (place / "run.json").unlink(missing_ok=True)
        (place / "run.json").symlink_to(precious)
        self.ok("call", "says@1.0.0", "hello")
        self.assertEqual(precious.read_text(), "old")
        self.assertEqual(self.run_file("says")["status"], "ok")
        (place / "run.json").unlink()
        os.mkfifo(place / "run.json")
        self.ok("call", "says@1.0.0", "hello")
        self.assertEqual(self.run_file("says")["status"], "ok")

    def test_run(self):
        source = self.dir / "lookout"
        shutil.copytree(BUILD / "plugins/lookout", source)
        self.store.install("lookout", source, dialect="gassist")
        shutil.rmtree(source)
        self.assertIn(str(self.data), self.ok("run", "lookout", "disk", f"path={self.data}").out)

    def extractor(self, name, **told):
        source = self.plugin(name, **told)
        self.store.install(name, source, dialect="yams")
        shutil.rmtree(source)

    def test_extract(self):
        self.extractor("words")
        file = self.file("a.txt", "some text")
        by_name = self.ok("extract", file, "--plugin", "words")
        self.assertEqual(self.ok("extract", file).out, by_name.out)
        self.assertEqual(self.run_file("words")["status"], "ok")

    def test_extract_without_any(self):
        self.installed()
        done = self.fails(2, "usage", "extract", self.file("a.txt", "x"))
        self.assertIn("no plugin that extracts is installed", done.err)

    # ---- trust

    def test_changed_file(self):
        place = self.installed(first=f"open({str(self.dir / 'ran')!r}, 'w')")
        self.ok("call", "says@1.0.0", "hello")
        os.unlink(self.dir / "ran")
        with open(place / "main.py", "a", encoding="utf-8") as file:
            file.write("# more\n")
        done = self.fails(9, "sandbox_violation", "call", "says@1.0.0", "hello")
        self.assertIn(
            "main.py: changed since version 1.0.0 was approved (1 changed, 0 added, 0 missing)", done.err
        )
        self.assertIn("mortise approve says@1.0.0", done.err)
        self.assertFalse((self.dir / "ran").exists())
        self.assertEqual(self.run_file("says")["status"], "sandbox_violation")

    def test_added_and_missing(self):
        place = self.installed(**{"data.txt": "x"})
        (place / "extra.py").write_text("", encoding="utf-8")
        (place / "data.txt").unlink()
        done = self.fails(9, "sandbox_violation", "call", place, "hello")
        self.assertIn("data.txt: missing", done.err)
        self.assertIn("0 changed, 1 added, 1 missing", done.err)

    def test_not_approved(self):
        self.store.install("says", self.source("says"), approved=False)
        done = self.fails(9, "sandbox_violation", "call", "says@1.0.0", "hello")
        self.assertIn("nobody has approved version 1.0.0 with these permissions", done.err)

    def test_other_permissions(self):
        self.installed()
        state = self.store.top / "says/state.json"
        told = json.loads(state.read_text(encoding="utf-8"))
        told["versions"][0]["permissions"] = {
            "confined": True,
            "network": True,
            "read": [],
            "spawn": False,
            "write": False,
        }
        state.write_text(json.dumps(told), encoding="utf-8")
        self.assertIn("nobody has approved", self.fails(9, "sandbox_violation", "call", "says@1.0.0", "x").err)

    def test_every_word_of_the_approval(self):
        """Whatever is edited of what was approved, or of what decides: then nobody has approved it."""
        permissions = {"confined": True, "network": False, "read": [], "spawn": False, "write": False}
        self.store.install("says", self.source("says"), permissions=permissions, confine=True)
        state = self.store.top / "says/state.json"
        approved = json.loads(state.read_text(encoding="utf-8"))
        edits = {
            "confine": False,
            "dialect": "yams",
            "permissions": {"confined": False},
            "approved": {**approved["versions"][0]["approved"], "allow": ["network"]},
        }
        for member, value in edits.items():
            with self.subTest(member):
                told = json.loads(json.dumps(approved))
                told["versions"][0][member] = value
                state.write_text(json.dumps(told), encoding="utf-8")
                done = self.fails(9, "sandbox_violation", "call", "says@1.0.0", "x")
                self.assertIn("nobody has approved", done.err)
        state.write_text(json.dumps(approved), encoding="utf-8")
        self.ok("call", "says@1.0.0", "x")

    def test_confined_though_it_says_guarded(self):
        """--confine holds, whatever level the plugin's own file asks for."""
        result = "str('Seccomp:\\t2' in open('/proc/self/status').read())"
        source = self.source("held", result=result, command=[PYTHON, "./main.py"])
        for words in ('level = "guarded"', "unconfined = true"):
            with self.subTest(words):
                told = (source / "mortise.toml").read_text(encoding="utf-8").split("[sandbox]")[0]
                (source / "mortise.toml").write_text(f"{told}[sandbox]\n{words}\n", encoding="utf-8")
                self.assertEqual(self.run_mortise("install", source, "--confine").code, 0)
                self.assertEqual(self.ok("call", "held@0", "hello").json, "True")
                self.ok("remove", "held")

    def test_what_no_plugin_can_have(self):
        """One rule: what is installed and not as it was approved is a violation, whatever it is."""
        place = self.installed()
        odd = {
            "pipe": lambda p: os.mkfifo(p),
            "out": lambda p: p.symlink_to("/etc/passwd"),
            "CON": lambda p: p.write_text(""),
            "a\u202eb": lambda p: p.write_text(""),
            "huge": lambda p: os.truncate(os.open(p, os.O_CREAT | os.O_WRONLY), 1 << 30),
        }
        for name, make in odd.items():
            with self.subTest(name):
                make(place / name)
                done = self.fails(9, "sandbox_violation", "call", "says@1.0.0", "hello")
                self.assertIn("version 1.0.0 is not as it was approved", done.err)
                self.assertNotIn(str(self.data), done.err)
                (place / name).unlink()
        self.ok("call", "says@1.0.0", "hello")

    def test_no_record(self):
        place = self.installed()
        os.unlink(f"{place.parent}.json")
        self.fails(9, "sandbox_violation", "call", "says@1.0.0", "hello")

    def test_stray_directory(self):
        self.installed()
        shutil.copytree(self.source("evil"), self.store.top / "says/9.9.9-0000000000000000")
        done = self.fails(9, "sandbox_violation", "call", self.store.top / "says/9.9.9-0000000000000000", "x")
        self.assertIn("nobody has installed it", done.err)

    def test_running_changes_nothing(self):
        """No bytecode among its files, though nobody has forbidden it."""
        self.installed(first="import part", **{"part.py": "x = 1\n"})
        for _ in range(2):
            self.assertEqual(self.ok("call", "says@1.0.0", "hello").json, "first")

    def test_confined_because_installed_so(self):
        """It has a filter of system calls, at every level; a guarded one has none."""
        filters = "open('/proc/self/status').read().partition('Seccomp_filters:')[2].split()[0]"
        with open("/proc/self/status", encoding="ascii") as file:  # a container has one, too
            ours = file.read().partition("Seccomp_filters:")[2].split()[0]
        result = f"str(int({filters}) > {ours})"
        for name, confine in (("held", True), ("free", False)):
            source = self.source(name, result=result, command=[PYTHON, "./main.py"])
            self.store.install(name, source, confine=confine)
            self.assertEqual(self.ok("call", f"{name}@1.0.0", "hello").json, str(confine))

    def test_gassist_writes_elsewhere(self):
        """Its working directory is not its content, but has its files."""
        source = self.dir / "notes"
        self.file("notes/data.txt", "shipped")
        self.file(
            "notes/plugin.py",
            "import os\nopen('log.txt', 'a').write('x')\nassert open('data.txt').read() == 'shipped'\n"
            + (ROOT / "tests/plugins/gassist.py").read_text(encoding="utf-8"),
        )
        self.file(
            "notes/manifest.json",
            json.dumps(
                {
                    "manifestVersion": 1,
                    "protocol_version": "2.0",
                    "name": "notes",
                    "version": "1.0.0",
                    "description": "Notes",
                    "executable": "./plugin.py",
                    "persistent": True,
                    "functions": [{"name": "echo", "description": "says it", "tags": [], "properties": {}}],
                }
            ),
        )
        place = self.store.install("notes", source, dialect="gassist")
        shutil.rmtree(source)
        for _ in range(2):
            self.run_mortise("run", "notes", "echo")
            self.assertNotEqual(self.run_file("notes")["status"], "sandbox_violation")
        self.assertFalse((place / "log.txt").exists())
        self.assertTrue((self.dir / "state/mortise/plugins/notes/work/log.txt").exists())

    def test_gassist_runs_what_was_checked(self):
        """Not what lies under the same name where it writes."""
        source = self.dir / "notes"
        speaks = (ROOT / "tests/plugins/gassist.py").read_text(encoding="utf-8")
        self.file("notes/plugin.py", f"open('ran', 'w')\n{speaks}")
        self.file(
            "notes/manifest.json",
            json.dumps(
                {
                    "manifestVersion": 1,
                    "protocol_version": "2.0",
                    "version": "1.0.0",
                    "description": "Notes",
                    "executable": "./plugin.py",
                    "persistent": True,
                    "functions": [{"name": "echo", "description": "says it", "tags": [], "properties": {}}],
                }
            ),
        )
        self.file("notes/mortise.toml", f'[plugin]\ncommand = ["{PYTHON}", "plugin.py"]\n')
        self.store.install("notes", source, dialect="gassist")
        shutil.rmtree(source)
        work = self.dir / "state/mortise/plugins/notes/work"
        self.run_mortise("run", "notes", "echo")
        self.assertTrue((work / "ran").exists())
        (work / "ran").unlink()
        (work / "plugin.py").unlink()
        (work / "plugin.py").write_text(f"open('evil', 'w')\n{speaks}", encoding="utf-8")
        self.run_mortise("run", "notes", "echo")
        self.assertTrue((work / "ran").exists())
        self.assertFalse((work / "evil").exists())

    # ---- the last run

    def test_last_run(self):
        self.installed()
        shutil.rmtree(self.dir / "says")
        self.ok("call", "says", "hello")
        self.assertEqual(self.run_file("says")["status"], "ok")
        self.assertEqual(self.run_file("says")["version"], "1.0.0")

    def test_last_run_that_crashed(self):
        self.installed(first="sys.exit(3)")
        shutil.rmtree(self.dir / "says")
        self.fails(7, "crashed", "call", "says", "hello")
        self.assertEqual(self.run_file("says")["status"], "crashed")
        self.assertIn("status 3", self.run_file("says")["text"])

    def test_last_run_is_not_the_users_mistake(self):
        """A method that it does not have, a parameter that it does not take: it is well."""
        self.store.install("words", self.plugin("words"), dialect="yams")
        shutil.rmtree(self.dir / "words")
        self.ok("call", "words", "plugin.health")
        before = self.run_file("words")
        self.fails(1, "plugin_error", "call", "words", "plugin.helth")
        self.fails(4, "input", "call", "words", "extractor.supports", "mime_typ=x", "extension=.x")
        self.assertEqual(self.run_file("words"), before)

    def test_last_run_cannot_be_written(self):
        self.installed()
        self.file("state", "no directory")
        self.assertEqual(self.ok("call", "says@1.0.0", "hello").json, "first")


if __name__ == "__main__":
    unittest.main()
