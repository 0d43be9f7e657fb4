# SPDX-License-Identifier: Apache-2.0
"""test_trust.py LIBRARY: installed plugins through the shared library, as an embedder has it: on_trust of
mortise_host_options, and installed.h."""
import ctypes
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from store_support import Store  # noqa: E402

LIBRARY = sys.argv.pop(1) if len(sys.argv) > 1 else ""
BUILD = pathlib.Path(os.environ.get("MORTISE_BUILD", "build")).resolve()
EINVAL, ENOTFOUND, EVIOLATION = -2, -12, -19
PLUGIN = """#!/usr/bin/python3
import json, sys
for line in sys.stdin:
    print(json.dumps({"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": "ran"}), flush=True)
"""


class Trust(ctypes.Structure):
    _fields_ = [
        ("why", ctypes.c_int),
        ("name", ctypes.c_char_p),
        ("version", ctypes.c_char_p),
        ("directory", ctypes.c_char_p),
        ("file", ctypes.c_char_p),
        ("changed", ctypes.c_uint64),
        ("added", ctypes.c_uint64),
        ("missing", ctypes.c_uint64),
        ("permissions", ctypes.c_char_p),
        ("text", ctypes.c_char_p),
        ("command", ctypes.c_char_p),
    ]


ON_TRUST = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Trust), ctypes.c_void_p)


class HostOptions(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("on_event", ctypes.c_void_p),
        ("arg", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("jail_helper", ctypes.c_char_p),
        ("on_trust", ON_TRUST),
    ]


class Json(ctypes.Structure):
    _fields_ = [("text", ctypes.c_char_p), ("len", ctypes.c_size_t)]


class PluginOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("path", ctypes.c_char_p), ("installed", ctypes.c_char_p)]


class Error(ctypes.Structure):
    _fields_ = [
        ("code", ctypes.c_int),
        ("os_errno", ctypes.c_int),
        ("rpc_code", ctypes.c_int64),
        ("text", ctypes.c_char * 496),
    ]


class Embedder(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="mortise-trust-"))
        self.addCleanup(shutil.rmtree, self.dir)
        for name in ("DATA", "STATE", "CONFIG"):
            os.environ[f"XDG_{name}_HOME"] = str(self.dir / name)
        source = self.dir / "says"
        source.mkdir()
        (source / "main.py").write_text(PLUGIN, encoding="utf-8")
        (source / "main.py").chmod(0o755)
        (source / "mortise.toml").write_text(
            '[plugin]\nname = "says"\ncommand = ["./main.py"]\n', encoding="utf-8"
        )
        self.place = Store(self.dir / "DATA").install("says", source)
        self.lib = ctypes.CDLL(LIBRARY)
        self.asked, self.host = [], None

    def open(self, answer, helper=None):
        """A host whose embedder gives that answer; None: it has no on_trust."""

        def on_trust(trust, _):
            t = trust.contents
            self.asked.append({name: getattr(t, name) for name, _ in Trust._fields_})
            return answer

        self.kept = ON_TRUST(on_trust) if answer is not None else ON_TRUST()
        opt = HostOptions(size=ctypes.sizeof(HostOptions), on_trust=self.kept, jail_helper=helper)
        host, plugin, err = ctypes.c_void_p(), ctypes.c_void_p(), Error()
        self.assertEqual(self.lib.mortise_host_new(ctypes.byref(opt), ctypes.byref(host), ctypes.byref(err)), 0)
        self.addCleanup(self.lib.mortise_host_free, host)
        self.host = host
        which = PluginOptions(size=ctypes.sizeof(PluginOptions), path=str(self.place).encode())
        status = self.lib.mortise_plugin_new(host, ctypes.byref(which), ctypes.byref(plugin), ctypes.byref(err))
        self.assertEqual(status, 0, err.text)
        return plugin

    def call(self, plugin):
        """The status, and the result or the error's text."""
        result, err = ctypes.c_char_p(), Error()
        status = self.lib.mortise_call_sync(
            plugin, b"hello", Json(), None, ctypes.byref(result), ctypes.byref(err)
        )
        return (status, result.value) if status == 0 else (status, err.text)

    def change(self):
        with open(self.place / "main.py", "a", encoding="utf-8") as file:
            file.write("#\n")


class OnTrust(Embedder):
    def test_not_asked(self):
        self.assertEqual(self.call(self.open(0)), (0, b'"ran"'))
        self.assertEqual(self.asked, [])

    def test_default_refuses(self):
        self.change()
        status, text = self.call(self.open(None))
        self.assertEqual(status, EVIOLATION)
        self.assertIn(b"main.py: changed since version 1.0.0 was approved", text)
        self.assertIn(b"mortise approve says@1.0.0", text)

    def test_facts(self):
        self.change()
        (self.place / "more").write_text("", encoding="utf-8")
        status, _ = self.call(self.open(0))
        self.assertEqual(status, EVIOLATION)
        (asked,) = self.asked
        self.assertEqual((asked["why"], asked["name"], asked["version"]), (1, b"says", b"1.0.0"))
        self.assertEqual(asked["directory"], str(self.place).encode())
        self.assertEqual(
            (asked["file"], asked["changed"], asked["added"], asked["missing"]), (b"main.py", 1, 1, 0)
        )
        self.assertEqual(json.loads(asked["permissions"]), {"confined": False})
        self.assertEqual(asked["command"], b"mortise approve says@1.0.0")

    # ---- between the making of the plugin, which reads its manifest, and its start

    def swapped(self, path, text, answer=None):
        """Another text lies there while the plugin is made, the approved one when it starts."""
        was_there = path.exists()
        if was_there:
            path.rename(self.dir / "aside")
        if text is not None:
            path.write_bytes(text)
        plugin = self.open(answer)
        path.unlink(missing_ok=True)
        if was_there:
            (self.dir / "aside").rename(path)
        return self.call(plugin)

    def test_manifest_was_another(self):
        evil = f'[plugin]\nname = "says"\ncommand = ["/bin/sh", "-c", "touch {self.dir}/ran"]\n'
        for answer in (None, 1):
            status, text = self.swapped(self.place / "mortise.toml", evil.encode(), answer)
            self.assertEqual(status, EVIOLATION, text)
            self.assertIn(b"mortise.toml: it changed after it was read", text)
        self.assertFalse((self.dir / "ran").exists())
        self.assertEqual(self.asked, [])

    def test_manifest_was_added(self):
        evil = {"name": "says", "version": "1", "entry": {"cmd": ["/bin/sh", "-c", f"touch {self.dir}/ran"]}}
        status, text = self.swapped(self.place / "yams-plugin.json", json.dumps(evil).encode())
        self.assertEqual(status, EVIOLATION, text)
        self.assertIn(b"yams-plugin.json: it changed after it was read", text)
        self.assertFalse((self.dir / "ran").exists())

    def test_manifest_was_hidden(self):
        """Without the file beside it, the manifest alone decides: another protocol, another command."""
        source = self.dir / "both"
        source.mkdir()
        (source / "mortise.toml").write_text('[plugin]\ncommand = ["./good"]\n', encoding="utf-8")
        (source / "bad").write_text("#!/bin/sh\n", encoding="utf-8")
        (source / "yams-plugin.json").write_text(
            json.dumps({"name": "both", "version": "1", "entry": {"cmd": ["./bad"]}}), encoding="utf-8"
        )
        self.place = Store(self.dir / "DATA").install("both", source)
        status, text = self.swapped(self.place / "mortise.toml", None)
        self.assertEqual(status, EVIOLATION, text)
        self.assertIn(b"mortise.toml: it changed after it was read", text)

    def test_program_was_hidden(self):
        """Its absence would choose another of the commands in the manifest."""
        source = self.dir / "two"
        source.mkdir()
        entry = {"binary": {"linux": "./first"}, "fallback_cmd": ["./second"]}
        for name in ("first", "second"):
            (source / name).write_text(PLUGIN, encoding="utf-8")
            (source / name).chmod(0o755)
        (source / "yams-plugin.json").write_text(
            json.dumps({"name": "two", "version": "1", "entry": entry}), encoding="utf-8"
        )
        self.place = Store(self.dir / "DATA").install("two", source)
        status, text = self.swapped(self.place / "first", None)
        self.assertEqual(status, EVIOLATION, text)
        self.assertIn(b"first: it changed after it was read", text)

    def test_state_was_another(self):
        """Confined as approved, but not when it was read."""
        permissions = {"confined": True, "network": False, "read": [], "spawn": False, "write": False}
        source = self.dir / "says"
        self.place = Store(self.dir / "DATA").install("held", source, permissions=permissions, confine=True)
        state = self.dir / "DATA/mortise/plugins/held/state.json"
        free = (
            state.read_text()
            .replace('"confine":true', '"confine":false')
            .replace('"confined":true', '"confined":false')
        )
        status, text = self.swapped(state, free.encode())
        self.assertEqual(status, EVIOLATION, text)
        self.assertIn(b"what was approved of held 1.0.0 changed after it was read", text)

    def test_yes_is_for_this_content(self):
        self.change()
        plugin = self.open(1)
        for _ in range(2):
            self.assertEqual(self.call(plugin), (0, b'"ran"'))
            self.lib.mortise_plugin_stop(plugin, 2, None)
            while self.lib.mortise_plugin_state(plugin) != 0:
                self.lib.mortise_host_wait(self.host, -1)
        self.assertEqual(len(self.asked), 1)
        self.change()
        self.assertEqual(self.call(plugin), (0, b'"ran"'))
        self.assertEqual(len(self.asked), 2)


class Installed(Embedder):
    """mortise/installed.h, and the option of the same name."""

    def setUp(self):
        super().setUp()
        source = self.dir / "says"
        for version in ("1.4.2", "2.0.0-rc.1", "1.10.0", "0.9.0"):
            (source / "version").write_text(version, encoding="utf-8")
            Store(self.dir / "DATA").install("says", source, version=version)
        self.err = Error()

    def find(self, word):
        found = ctypes.c_void_p()
        status = self.lib.mortise_installed_find(word, ctypes.byref(found), ctypes.byref(self.err))
        if status != 0:
            return status, self.err.text.decode()
        path = pathlib.Path(ctypes.string_at(found.value).decode())
        self.lib.mortise_free(found)
        return (path / "version").read_text() if (path / "version").exists() else "1.0.0"

    def list(self, flags):
        text = ctypes.c_void_p()
        status = self.lib.mortise_installed_list(
            ctypes.c_uint64(flags), ctypes.byref(text), ctypes.byref(self.err)
        )
        self.assertEqual(status, 0, self.err.text)
        listed = json.loads(ctypes.string_at(text.value))
        self.lib.mortise_free(text)
        return listed

    def test_versions(self):
        rows = {
            b"says": "0.9.0",  # the last one installed is in use
            b"says@1.4.2": "1.4.2",
            b"says@1": "1.10.0",
            b"says@^1.0": "1.10.0",
            b"says@~1.4": "1.4.2",
            b"says@>=1,<1.5": "1.4.2",
            b"says@*": "1.10.0",  # what only leads to a version fits no range that does not name it
            b"says@>=2.0.0-rc.1": "2.0.0-rc.1",
        }
        for word, version in rows.items():
            with self.subTest(word):
                self.assertEqual(self.find(word), version)

    def test_refused(self):
        for word, part in {
            b"says@^3": 'says is installed, but no version that fits "^3"; there is: 0.9.0, 2.0.0-rc.1, 1.10.0',
            b"sayz": "did you mean says?",
            b"nobody@1": 'no plugin called "nobody" is installed',
            b"says@..": "no plugin called",
            b"../says": "no plugin called",
        }.items():
            with self.subTest(word):
                status, text = self.find(word)
                self.assertEqual(status, ENOTFOUND)
                self.assertIn(part, text)
        self.assertEqual(self.lib.mortise_installed_find(None, None, None), EINVAL)

    def test_list_is_that_of_the_command(self):
        for flags, args in (0, []), (1, ["--all"]):
            listed = self.list(flags)
            said = json.loads(subprocess.check_output([BUILD / "mortise", "list", "--json", *args]))
            self.assertEqual(listed["plugins"], said["plugins"])
            self.assertEqual(len(listed["plugins"]), 5 if flags else 1)
        self.assertEqual(listed["plugins"][0]["version"], "0.9.0")
        self.assertTrue(listed["plugins"][0]["current"])
        self.assertEqual(self.lib.mortise_installed_list(ctypes.c_uint64(8), None, None), EINVAL)

    def test_no_store(self):
        shutil.rmtree(self.dir / "DATA")
        self.assertEqual(self.list(0), {"plugins": [], "damaged": []})

    def plugin(self, **which):
        host, plugin = ctypes.c_void_p(), ctypes.c_void_p()
        self.assertEqual(self.lib.mortise_host_new(None, ctypes.byref(host), None), 0)
        self.addCleanup(self.lib.mortise_host_free, host)
        opt = PluginOptions(size=ctypes.sizeof(PluginOptions), **which)
        status = self.lib.mortise_plugin_new(
            host, ctypes.byref(opt), ctypes.byref(plugin), ctypes.byref(self.err)
        )
        return status, plugin

    def test_runs_by_name(self):
        for word in b"says", b"says@1.4.2", b"says@^1":
            status, plugin = self.plugin(installed=word)
            self.assertEqual(status, 0, self.err.text)
            self.assertEqual(self.call(plugin), (0, b'"ran"'))

    def test_is_compared(self):
        directory = next((self.dir / "DATA/mortise/plugins/says").glob("1.10.0-*/says"))
        with open(directory / "main.py", "a", encoding="utf-8") as file:
            file.write("#\n")
        status, plugin = self.plugin(installed=b"says@^1")
        self.assertEqual(status, 0, self.err.text)
        self.assertEqual(self.call(plugin)[0], EVIOLATION)

    def test_not_both(self):
        status, _ = self.plugin(installed=b"says", path=str(self.place).encode())
        self.assertEqual(status, EINVAL)
        status, _ = self.plugin(installed=b"nobody")
        self.assertEqual(status, ENOTFOUND)


CONFINED = {"confined": True, "network": False, "read": [], "spawn": False, "write": False}
READER = """#!/usr/bin/python3
import json, os, sys
here = os.path.dirname(os.path.abspath(__file__))
for line in sys.stdin:
    try:
        said = open(os.path.join(here, "data")).read() + str(os.path.exists(os.path.join(here, "more")))
    except OSError as error:
        said = str(error)
    print(json.dumps({"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": said}), flush=True)
"""


class Swap(Embedder):
    """Between the library's check and the start of the process, somebody changes a file. The moment is sure:
    the program that the library starts for mortise-jail makes the change, and then becomes mortise-jail."""

    def levels(self):
        done = subprocess.run([BUILD / "mortise", "doctor", "--json"], capture_output=True, check=False)
        return [row["level"] for row in json.loads(done.stdout)["levels"] if row["available"]]

    def installed(self, level, program, **files):
        """A plugin with this program, at this level."""
        source = self.dir / "source"
        shutil.rmtree(source, ignore_errors=True)
        shutil.rmtree(self.dir / "DATA", ignore_errors=True)
        source.mkdir()
        shutil.copy(program, source / "program")
        for name, text in files.items():
            (source / name).write_text(text, encoding="utf-8")
        (source / "mortise.toml").write_text(
            f'[plugin]\nname = "held"\ncommand = ["./program", "lines"]\n[sandbox]\nlevel = "{level}"\n',
            encoding="utf-8",
        )
        confined = {} if level == "guarded" else {"permissions": CONFINED, "confine": True}
        self.place = Store(self.dir / "DATA").install("held", source, **confined)

    def changed(self, script):
        """Calls it while this happens at the moment; the status and what was said."""
        helper = self.dir / "helper"
        helper.write_text(f'#!/bin/sh\ncd "{self.place}"\n{script}\ncd /\nexec "{BUILD}/mortise-jail" "$@"\n')
        helper.chmod(0o755)
        return self.call(self.open(None, str(helper).encode()))

    def setUp(self):
        super().setUp()
        self.evil = self.dir / "evil"
        self.evil.write_text(PLUGIN.replace('"ran"', '"evil"'), encoding="utf-8")
        self.script = self.dir / "script"
        self.script.write_text(PLUGIN, encoding="utf-8")
        for path in (self.evil, self.script):
            path.chmod(0o755)
        self.elf = BUILD / "bench" / "bench-echo-plugin"

    def test_nothing_changed(self):
        """The helper itself is no obstacle."""
        for level in self.levels():
            with self.subTest(level=level):
                self.installed(level, self.script)
                self.assertEqual(self.changed("true"), (0, b'"ran"'))

    def test_the_program(self):
        ways = {
            "renamed over": f'cp -p "{self.evil}" new && mv new program',
            "written in place": f'cat "{self.evil}" > program',
            "a link": f'rm program && ln -s "{self.evil}" program',
            "times put back": f'touch -r program t; cat "{self.evil}" > program; touch -r t program; rm t',
        }
        for level in self.levels():
            for kind in (self.elf, self.script):
                for way, script in ways.items():
                    with self.subTest(level=level, kind=kind.name, way=way):
                        self.installed(level, kind)
                        status, said = self.changed(script)
                        self.assertEqual(status, EVIOLATION, said)
                        self.assertIn(b"changed", said)

    def test_what_a_confined_one_reads(self):
        """At t1 it sees what was checked: a change before its start stops it, one later does not reach it."""
        if "t1" not in self.levels():
            self.skipTest("this machine has no t1")
        reader = self.dir / "reader"
        reader.write_text(READER, encoding="utf-8")
        reader.chmod(0o755)
        self.installed("t1", reader, data="checked")
        status, said = self.changed("echo other > data")
        self.assertEqual(status, EVIOLATION, said)
        self.installed("t1", reader, data="checked")
        self.assertEqual(self.changed("echo added > more"), (0, b'"checkedFalse"'))
        self.installed("t1", reader, data="checked")
        plugin = self.open(None)
        self.assertEqual(self.call(plugin), (0, b'"checkedFalse"'))
        (self.place / "data").write_text("other", encoding="utf-8")
        (self.place / "more").write_text("added", encoding="utf-8")
        self.assertEqual(self.call(plugin), (0, b'"checkedFalse"'))


if __name__ == "__main__":
    unittest.main()
