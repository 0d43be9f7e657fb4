# SPDX-License-Identifier: Apache-2.0
"""Help, wrong words, completion, man pages: the command without a plugin."""
import functools
import json
import re
import shutil
import subprocess
import unittest

from support import BUILD, Case, ECHO, GASSIST_PLUGIN, LIMIT, MORTISE, ROOT, YAMS_OK, without_color


def commands():
    """Those that `mortise --help` lists: a new one is tested without being named here."""
    text = subprocess.run([MORTISE, "--help"], capture_output=True, text=True, check=True).stdout
    groups = text.split("  mortise --version\n")[1].split("A plugin is")[0]
    return re.findall(r"(?m)^  ([a-z-]+) +\S", groups)


COMMANDS = commands()
PAGES = [command for command in COMMANDS if command not in ("completion", "help")]
# How each command is run to see its --json. It is on stderr where stdout is the program's own.
JSON = {
    "call": [ECHO, "echo"],
    "run": ["-d", "gassist", GASSIST_PLUGIN, "echo"],
    "chat": ["-d", "gassist", GASSIST_PLUGIN],
    "extract": [ECHO, "--plugin", YAMS_OK],
    "info": [ECHO],
    "explain": [],
    "jail": ["--", "/nonexistent"],
    "doctor": [],
    "index": ["/nonexistent.kzip", "--analyzer", ECHO],
    "kzip": ["info", "/nonexistent.kzip"],
    "verify-entries": ["/dev/null", ECHO],
    "join": ["-o", "/dev/null", "/nonexistent"],
    "entries": ["stat", "/dev/null"],
    "farm": ["status", "nats://nowhere"],
    "worker": ["--farm", "nats://nowhere", "--store", "/"],
    "chaos": ["--", ECHO],
    "session": ["list"],
    "install": ["/nonexistent"],
    "upgrade": ["nonesuch", "/nonexistent"],
    "approve": ["nonesuch"],
    "list": [],
    "remove": ["nonesuch"],
    "rollback": ["nonesuch"],
    "new": ["c", "/nonexistent/x", "-d", "plain"],
    "talk": ["fmt", "/nonexistent"],
    "tap": ["/nonexistent"],
    "replay": ["/nonexistent", ECHO],
    "record": ["--force", "-o", "x.talk", "--", ECHO],
    "check": ["--only", "plain.method", "--", ECHO],
    "probe": ["--", ECHO],
    "bench": ["echo", "--count", "1", "--starts", "1", "--", ECHO],
    "bundle": ["/nonexistent", "-o", "x.tar.zst"],
    "key": ["show", "/nonexistent"],
    "trust": [],
    "registry": ["list", "/nonexistent"],
    "lock": ["nonesuch"],
    "outdated": [],
}


class Help(Case):
    def test_list_of_commands(self):
        for words in (["--help"], ["-h"], ["help"]):
            done = self.ok(*words)
            for command in COMMANDS:
                self.assertRegex(done.out, rf"(?m)^  {command} +\S")

    def test_each_command(self):
        for command in COMMANDS:
            done = self.ok(command, "--help")
            self.assertTrue(done.out.startswith(f"mortise {command}: "))
            for part in ("Usage:", "Examples:", "--help", "--json"):
                self.assertIn(part, done.out)
            self.assertEqual(done.out, self.ok("help", command).out)
            self.assertEqual(done.out, self.ok(command, "-h").out)

    def test_json(self):
        self.assertEqual(set(JSON), set(PAGES), "say in JSON above how to run the new command with --json")
        for command, words in JSON.items():
            done = self.run_mortise(command, "--json", *words, stdin=b"/echo\n" if command == "chat" else b"")
            told = (done.out or done.err).splitlines()
            self.assertTrue(told, f"{command} --json says nothing")
            for line in told:
                self.assertRegex(line, r"^[\[{]", f"{command} --json")
                json.loads(line)

    def test_list_is_found(self):
        self.assertLessEqual({"call", "verify-entries", "help"}, set(COMMANDS))
        self.assertNotIn("mortise", COMMANDS)

    def test_lines_fit_a_terminal(self):
        for command in COMMANDS:
            for line in self.ok(command, "--help").out.splitlines():
                self.assertLessEqual(len(line), 120, line)

    def test_version(self):
        self.assertRegex(self.ok("--version").out, r"^mortise \d+\.\d+\.\d+\n$")
        self.assertEqual(self.ok("-V").out, self.ok("--version").out)


class Programs(Case):
    def test_quick_commands_load_no_library_but_libc(self):
        shown = subprocess.run(["readelf", "-d", MORTISE], capture_output=True, text=True, check=True).stdout
        needed = set(re.findall(r"\(NEEDED\).*\[lib([\w+-]+)", shown))
        self.assertIn("c", needed)
        self.assertLessEqual(needed, {"c", "asan", "ubsan", "tsan", "gcov"})

    def test_without_the_other_program(self):
        alone = shutil.copy(MORTISE, self.dir)
        run = functools.partial(subprocess.run, capture_output=True, text=True)
        self.assertEqual(run([alone, "--version"]).stdout, self.ok("--version").out)
        self.assertEqual(run([alone, "jail", "--help"]).stdout, self.ok("jail", "--help").out)
        for words, program, install in (
            (["list"], "full", "all programs"),
            (["kzip", "info", "x"], "kythe", "mortise's part for Kythe, or build it with libzip-dev"),
            (["worker"], "farm", "mortise's part for farms, or build it with libpq-dev"),
        ):
            done = run([alone, *words])
            self.assertEqual(done.returncode, 1)
            why = (
                rf"^system: only /.*/mortise-{program} can do this, and it cannot be run: .*: install {install}"
            )
            self.assertRegex(done.stderr, why)
        self.assertEqual(json.loads(run([alone, "kzip", "--json"]).stdout)["kind"], "system")

    def test_a_program_that_is_a_link_to_another(self):
        """What mortise becomes then is the program that asked: it would go on for ever."""
        for name in ("mortise", "mortise-full"):
            shutil.copy(BUILD / name, self.dir)
        (self.dir / "mortise-farm").symlink_to("mortise-full")
        done = subprocess.run(
            [self.dir / "mortise", "farm", "status"],
            capture_output=True,
            text=True,
            env=self.env,
            timeout=LIMIT,
            check=False,
        )
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("it is this program again", done.stderr)

    def test_it_is_one_command_to_the_outside(self):
        """Name, arguments and exit code are those of the program that takes over."""
        self.assertIn("mortise info --help", self.fails(2, "usage", "info", "--frobnicate").err)
        done = subprocess.run(
            ["odd name", "help", "no\tsuch"], executable=MORTISE, capture_output=True, text=True
        )
        self.assertEqual(done.returncode, 2)
        self.assertIn("unknown command", done.stderr)
        with open("/dev/full", "w") as full:
            self.assertEqual(
                subprocess.run(
                    [MORTISE, "explain", "plain"], stdout=full, stderr=subprocess.DEVNULL
                ).returncode,
                1,
            )


class WrongWords(Case):
    def test_no_command(self):
        self.assertIn("mortise --help", self.fails(2, "usage").err)

    def test_unknown_command(self):
        self.assertIn('unknown command "cal"; did you mean call?', self.fails(2, "usage", "cal").err)
        self.assertNotIn("did you mean", self.fails(2, "usage", "frobnicate").err)
        self.assertIn("did you mean extract?", self.fails(2, "usage", "help", "extrct").err)

    def test_unknown_option(self):
        self.assertIn("unknown option --jsn; did you mean --json?", self.fails(2, "usage", "call", "--jsn").err)
        self.assertIn("mortise call --help", self.fails(2, "usage", "call", "--frobnicate").err)
        self.assertIn("unknown option -z", self.fails(2, "usage", "call", "-vz").err)
        self.assertIn("before the command", self.fails(2, "usage", "--jsn", "call").err)

    def test_arguments_of_options(self):
        self.assertIn("--dialect needs DIALECT", self.fails(2, "usage", "call", "--dialect").err)
        self.assertIn("--strict takes no argument", self.fails(2, "usage", "call", "--strict=1").err)
        self.assertIn("--jobs", self.fails(2, "usage", "extract", "-j", "many").err)
        self.assertIn("at least 1", self.fails(2, "usage", "extract", "-j0", "x").err)
        self.assertIn("bytes|path", self.fails(2, "usage", "extract", "--source", "smoke", "x").err)
        self.assertIn("lines|headers", self.fails(2, "usage", "call", "--framing", "smoke", "x").err)
        self.assertIn("64K or 10M", self.fails(2, "usage", "extract", "--max-size", "big", "x").err)

    def test_missing_words(self):
        self.assertIn("PLUGIN", self.fails(2, "usage", "call").err)
        self.assertIn("METHOD", self.fails(2, "usage", "call", ECHO).err)
        self.assertIn("METHOD", self.fails(2, "usage", "call", "--", ECHO).err)
        self.assertIn("command", self.fails(2, "usage", "call", "x", "--").err)
        self.assertIn("PLUGIN", self.fails(2, "usage", "info").err)
        self.assertIn("one PLUGIN", self.fails(2, "usage", "info", ECHO, ECHO).err)
        self.assertIn("FILE", self.fails(2, "usage", "extract").err)
        self.assertIn("--plugin", self.fails(2, "usage", "extract", "x").err)
        self.assertIn("bash, zsh, fish", self.fails(2, "usage", "completion").err)
        self.assertIn('not "csh"', self.fails(2, "usage", "completion", "csh").err)

    def test_usage_error_as_json(self):
        done = self.fails(2, "usage", "call", "--json", "--frobnicate")
        self.assertEqual(
            {k: done.json[k] for k in ("ok", "kind", "exit_code")},
            {"ok": False, "kind": "usage", "exit_code": 2},
        )
        self.assertFalse(self.run_mortise("--json", "call").json["ok"])

    def test_options_of_the_plugin(self):
        for words, text in (
            (["--set", "nonsense"], "SECTION.KEY=VALUE"),
            (["--env", "=x"], "NAME=VALUE"),
            (["--timeout", "soon"], "DURATION"),
            (["--timeout", "x=soon"], "DURATION"),
            (["--timeout", "0s"], "DURATION"),
            (["--clean-env", "--inherit-env"], "cannot be used together"),
        ):
            self.assertIn(text, self.fails(2, "usage", "call", ECHO, "echo", *words).err)
        self.assertIn("METHOD=DURATION", self.fails(2, "usage", "info", ECHO, "--timeout", "5s").err)


class Explain(Case):
    def test_list(self):
        done = self.ok("explain")
        self.assertRegex(done.out, r"(?m)^yams\b")
        self.assertRegex(done.out, r"(?m)^plain\b")
        self.assertLessEqual({"plain", "yams"}, {row["name"] for row in self.ok("explain", "--json").json})

    def test_dialect(self):
        self.assertIn("extractor.extract", self.ok("explain", "yams").out)
        self.assertEqual(self.ok("explain", "yams", "--json").json["name"], "yams")
        document = self.ok("explain", "yams", "--openrpc").json
        self.assertIn("openrpc", document)
        self.assertIn("handshake.manifest", [m["name"] for m in document["methods"]])

    def test_wrong(self):
        self.assertIn("did you mean yams?", self.fails(5, "not_found", "explain", "yems").err)
        self.assertIn("there are: plain", self.fails(5, "not_found", "explain", "smalltalk").err)
        self.fails(2, "usage", "explain", "yams", "plain")
        self.fails(2, "usage", "explain", "--openrpc")
        self.assertIn("did you mean yams?", self.fails(5, "not_found", "call", "-d", "yems", ECHO, "x").err)


class Color(Case):
    def test_only_on_a_terminal(self):
        self.assertNotIn("\x1b", self.ok("--help").out)
        self.assertIn("\x1b[1m", self.in_terminal("--help").out)
        self.assertEqual(without_color(self.in_terminal("--help").out), self.ok("--help").out)

    def test_no_color(self):
        self.assertNotIn("\x1b", self.in_terminal("--help", env={"NO_COLOR": "1"}).out)
        self.assertNotIn("\x1b", self.in_terminal("--help", env={"TERM": "dumb"}).out)
        self.assertIn("\x1b[31musage", self.in_terminal("cal").out)
        self.assertTrue(self.in_terminal("cal", env={"NO_COLOR": "1"}).out.startswith("usage: "))


class Completion(Case):
    def complete(self, *words):
        """What bash offers for the last word."""
        script = self.file("completion.bash", self.ok("completion", "bash").raw)
        line = " ".join(f'"{w}"' for w in ("mortise",) + words)
        done = subprocess.run(
            [
                "bash",
                "-c",
                f"source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words)}; _mortise; "
                'printf "%s\\n" "${COMPREPLY[@]}"',
            ],
            capture_output=True,
            cwd=self.dir,
            check=True,
        )
        self.assertEqual(done.stderr, b"")
        return done.stdout.decode().split()

    def test_bash(self):
        self.assertEqual(self.complete("ex"), ["extract", "explain"])
        self.assertEqual(self.complete("explain", "y"), ["yams"])
        self.assertEqual(self.complete("call", "--dialect", "pl"), ["plain"])
        self.assertEqual(self.complete("call", "--pa"), ["--pages"])
        self.assertEqual(self.complete("extract", "--source", ""), ["bytes", "path"])
        self.assertEqual(self.complete("completion", "z"), ["zsh"])
        self.assertEqual(self.complete("help", "inf"), ["info"])
        self.file("plugin.py")
        self.assertEqual(self.complete("call", "plu"), ["plugin.py"])
        self.assertEqual(self.complete("extract", "--plugin", "plu"), ["plugin.py"])

    def test_each_shell_knows_every_option(self):
        for shell, spelling in (("bash", "--{}"), ("zsh", "--{}"), ("fish", "-l {}")):
            script = self.ok("completion", shell).out
            for command in COMMANDS:
                self.assertIn(command, script)
                for option in options_of(self.ok(command, "--help").out):
                    self.assertIn(spelling.format(option), script)

    def test_shells_accept_it(self):
        for shell in ("bash", "zsh", "fish"):
            if not shutil.which(shell):
                continue
            script = self.file(f"completion.{shell}", self.ok("completion", shell).raw)
            subprocess.run([shell, "-n", str(script)], check=True, timeout=LIMIT)


def options_of(help_text):
    return re.findall(r"(?m)^  (?:-\w, |    )--([a-z-]+)", help_text)


class Manual(Case):
    """Every option of --help is in the man page, and the page names no other."""

    def page(self, command):
        path = ROOT / "docs" / "man" / f"mortise-{command}.1.scd"
        if not path.is_file():
            self.fail(f"write {path.relative_to(ROOT)}")
        return path.read_text(encoding="utf-8")

    def test_every_page_is_installed(self):
        for command in PAGES:
            self.assertTrue((BUILD / "docs" / f"mortise-{command}.1").is_file(), command)

    def test_options(self):
        for command in PAGES:
            known = options_of(self.ok(command, "--help").out)
            self.assertIn("help", known)
            named = set(re.findall(r"\*--([a-z-]+)\*", self.page(command)))
            self.assertEqual(named, set(known), command)

    def test_synopsis_names_the_command(self):
        for command in PAGES:
            self.assertIn(f"*mortise {command}*", self.page(command))

    def test_shared_options(self):
        page = (BUILD / "docs" / "mortise.1.scd").read_text(encoding="utf-8")  # with the list of commands
        help_text = self.ok("info", "--help").out
        for option in options_of(help_text.split("Options for the plugin:")[1]):
            self.assertIn(f"*--{option}*", page)
        for command in COMMANDS:
            self.assertIn(f"*{command}*", page)

    @unittest.skipUnless(shutil.which("scdoc"), "scdoc is not installed")
    def test_pages_are_made(self):
        for source in (ROOT / "docs" / "man").glob("*.scd"):
            done = subprocess.run(["scdoc"], input=source.read_bytes(), capture_output=True, check=True)
            self.assertIn(b".SH NAME", done.stdout)


if __name__ == "__main__":
    unittest.main()
