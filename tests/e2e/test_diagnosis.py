# SPDX-License-Identifier: Apache-2.0
"""Why a plugin does not answer: every diagnosis of src/lib/host/diagnosis.h, with a real process, and the whole
line that a person reads. docs/guide/no-answer.md lists the same lines."""
import concurrent.futures
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from kythe_support import IndexCase, simple
from support import LIMIT, MORTISE, PLUGINS, PYTHON, ROOT, Case, Done, shell_words
from tier import again
from undo_support import BECOME_NOBODY

SILENT = PLUGINS / "silent.py"
SHORT = "500ms"  # where no machine is busy, each has come by then to where it will stay
LONGER = ("5s", "50s")  # ... and where one is, so that some have not even started then
FRAMINGS = ("lines", "headers", "be32", "decimal")
NO_REPLY = r'timeout: silent: no reply to "x" in \d+ ms'
WAIT = NO_REPLY + r" \(--timeout sets the limit\)"
READ = r"; it has read the request and waits for more input: "
OTHER = r"does it expect another framing than {} \(--framing\)\?"

# way of silent.py -> the line, as a regular expression
SILENCES = {
    "sleeps": WAIT + "; it sleeps",
    "never_reads": WAIT + r"; it has not read the request \(38 bytes wait in its stdin\); it sleeps",
    "spins": WAIT
    + r"; it computes \(\d+\.\d s of processor time since its start\): an endless loop, or slow work",
    "stops": NO_REPLY + r"; it is stopped \(SIGSTOP\): kill -CONT \d+ lets it go on",
    "vforks": WAIT + "; it waits for a disk or a network file system",
    "locks": WAIT + r"; it waits for a lock \(a deadlock\?\)",
    "waits": WAIT + r"; it waits for socket:\[\d+\]",
    "reads_lengths": NO_REPLY + READ + "has it forgotten to answer, or " + OTHER.format("lines"),
    "event_loop": WAIT + READ + "has it forgotten to answer, or " + OTHER.format("lines"),
    "polls": NO_REPLY + READ + "has it forgotten to answer, or " + OTHER.format("lines"),
    "half lines": NO_REPLY
    + r'; it wrote 20 bytes without the newline that ends a message: "{\\"jsonrpc\\":\\"2.0\\",\\"id"',
    "answers_in headers": NO_REPLY
    + r"; it writes headers frames, not lines \(--framing headers, or -d sunscreen-json\)",
    "answers_in be32": NO_REPLY + r"; it writes be32 frames, not lines \(--framing be32, or -d gassist\)",
    "answers_in decimal": NO_REPLY
    + r"; it writes decimal frames, not lines \(--framing decimal, or -d kythe\)",
    'other_id "1"': NO_REPLY + r'; an answer with id "1" came; the call has id 1',
    "other_id 7": NO_REPLY + r"; an answer with id 7 came; the call has id 1",
    "prints Starting": NO_REPLY
    + r'; it printed 1 line on stdout that is not a message; the last: "Starting"'
    + "; it has read the request and waits for the next one",
    "notes complete": NO_REPLY + r'; it sent "complete", which gassist has and plain has not \(-d gassist\)',
    "floods stdout": NO_REPLY
    + r"; its process python3[.\d]* is blocked: its stdout is full and nobody reads it",
    "floods stderr": NO_REPLY
    + r"; its process python3[.\d]* is blocked: its stderr is full and nobody reads it",
}


class Silent(Case):
    """The processes of one test run at the same time: each only waits."""

    def lines(self, cases):
        """cases: name -> words of the command. Returns name -> the only line on stderr."""

        def run(item):
            done = self.run_mortise(*item[1])
            self.assertEqual((done.code, done.out), (6, ""), (item[0], done.err))
            self.assertNotIn("longer", done.err)
            (line,) = done.error_lines
            return item[0], line

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            return dict(pool.map(run, cases.items()))

    def compare(self, expected, cases):
        """What has not come to its place in time is given more of it."""
        lines = self.lines(cases)
        for limit in LONGER:
            late = [name for name, wanted in expected.items() if not re.search(f"^{wanted}$", lines[name])]
            lines.update(self.lines({name: [limit if w == SHORT else w for w in cases[name]] for name in late}))
        for name, wanted in expected.items():
            with self.subTest(name):
                self.assertRegex(lines[name], f"^{wanted}$")

    def test_silences(self):
        call = ("call", "-t", SHORT, "x", "--", PYTHON, SILENT)
        self.compare(SILENCES, {way: (*call, *way.split()) for way in SILENCES})

    def framings(self, pairs):
        """Those that we speak, and those that it speaks."""
        cases, expected = {}, {}
        names = {"headers": ", or -d sunscreen-json", "decimal": ", or -d kythe", "be32": ", or -d gassist"}
        for ours, theirs in pairs:
            call = ("call", "-t", SHORT, "--framing", ours, "x", "--", PYTHON, SILENT)
            cases[ours, theirs] = (*call, "answers_in", theirs)
            frames = theirs if theirs == "lines" else theirs + " frames"
            expected[ours, theirs] = (
                NO_REPLY
                + f"; it writes {frames}, not {ours} "
                + rf"\(--framing {theirs}{names.get(theirs, '')}\)"
            )
        self.compare(expected, cases)

    def test_framings(self):
        """Each of ours, each of theirs."""
        self.framings(zip(FRAMINGS, FRAMINGS[1:] + FRAMINGS[:1]))

    @again("every pair; test_framings has each framing on both sides")
    def test_pairs_of_framings(self):
        self.framings(itertools.permutations(FRAMINGS, 2))

    def test_half_frames(self):
        # Each counts its head: that is what was announced.
        sizes = {"headers": 60, "be32": 42, "decimal": 41}
        cases = {
            framing: (
                *("call", "-t", SHORT, "--framing", framing, "x", "--", PYTHON, SILENT),
                *("half", framing),
            )
            for framing in sizes
        }
        self.compare(
            {
                "be32": NO_REPLY + '; it wrote only 20 of the 42 bytes of a message: ".*',
                "decimal": NO_REPLY + '; it wrote only 20 of the 41 bytes of a message: ".*',
                # The head itself is not whole yet, so that the size is not known.
                "headers": NO_REPLY + '; it wrote 20 bytes without a whole message: "Content-Length: 38.*',
            },
            cases,
        )

    def test_forgotten_flush(self):
        """perl keeps what it prints while stdout is a pipe."""
        script = 'my $l = <STDIN>; print qq({"jsonrpc":"2.0","id":1,"result":1}\\n); <STDIN>;'
        wanted = (
            NO_REPLY.replace("silent", "perl")
            + READ
            + re.escape(
                "is its answer still in its buffer, not flushed ($| = 1)? Or does it expect another framing than lines "
                "(--framing)?"
            )
        )
        self.compare({"": wanted}, {"": ("call", "-t", SHORT, "x", "--", shutil.which("perl"), "-e", script)})

    def test_the_child_of_a_shell(self):
        wrapper = self.file(
            "wrapper.sh", f"#!/bin/sh\n{shell_words(PYTHON, SILENT)} sleeps\n: not the last command\n"
        )
        wrapper.chmod(0o755)
        wanted = r"timeout: wrapper: .* \(--timeout sets the limit\); its process python3[.\d]* sleeps"
        self.compare({"": wanted}, {"": ("call", "-t", SHORT, "x", "--", wrapper)})

    def test_mute(self):
        """Root sees everything, so this is somebody else; elsewhere it is the user of the tests."""
        root = os.geteuid() == 0
        if root and not shutil.which("setpriv"):
            self.skipTest("no setpriv(1) to become nobody")
        self.dir.chmod(0o755)

        def run(limit):
            words = [MORTISE, "call", "-t", limit, "x", "--", PYTHON, SILENT, "hides"]
            done = subprocess.run(
                [str(word) for word in ([*BECOME_NOBODY] if root else []) + words],
                capture_output=True,
                timeout=LIMIT,
                check=False,
                env={**self.env, "HOME": str(self.dir)},
                cwd=self.dir,
            )
            if root and b"Permission denied" in done.stderr:
                self.skipTest("nobody cannot reach the build directory")
            return Done(done.returncode, done.stdout, done.stderr.decode())

        wanted = (
            WAIT
            + r"; it has sent no message at all: does it speak plain \(--dialect, --framing\), and flush its "
            r"stdout\?\n$"
        )
        self.in_time(run, lambda done: re.search(wanted, done.err))

    def test_confined(self):
        """In its own PID namespace too; what its sandbox has denied is part of the answer."""
        ways = {
            "stops": NO_REPLY + r"; it is stopped \(SIGSTOP\): kill -CONT \d+ lets it go on",
            "denied /etc/hostname": NO_REPLY
            + r".*; it waits for socket:\[\d+\]; its sandbox denied: read /etc/hostname; "
            r'last stderr: ".*Errno .*"\ndenied: silent tried to read /etc/hostname',
        }
        for way, wanted in ways.items():

            def run(limit):
                words = ("-t", limit, "x", "--", PYTHON, SILENT, *way.split())
                done = self.run_mortise("call", "--confine", "--pidns", *words)
                if done.code == 125:
                    self.skipTest(done.err)
                return done

            self.in_time(run, lambda done: re.search(wanted, done.err))


class Commands(IndexCase):
    """Every command shows the same words: one place makes them."""

    STOPPED = r"; it is stopped \(SIGSTOP\): kill -CONT \d+ lets it go on"

    def test_each(self):
        command = ("--", PYTHON, SILENT, "stops_at_once")
        file = self.file("a.txt", "text")
        wanted = r'timeout: .*no reply to "[a-z.]+" in \d+ ms' + self.STOPPED
        for name, method, words in (
            ("call", "", ("x", *command)),
            ("info", "handshake.manifest=", ("-d", "yams", *command)),
            ("extract", "handshake.manifest=", (file, *command)),
            ("run", "initialize=", ("-d", "gassist", "hello", *command)),
            ("chat", "initialize=", ("-d", "gassist", *command)),
        ):
            with self.subTest(name):
                done = self.in_time(
                    lambda limit: self.run_mortise(name, "-t", method + limit, *words, stdin=b"hello\n"),
                    lambda done: re.search(wanted, done.err),
                )
                self.assertEqual(done.code, 6, done.err)
                self.assertNotIn("longer", done.err)

    def test_index(self):
        """Its plugins speak first: their greeting is missing."""
        words = ["index", self.kzip(simple(1)), "-o", self.dir / "out", "-j1", "--retries", "0"]
        for setting in ("restart.intensity=0", "stop.term=1ms", "stop.kill=1ms"):
            words += ["-s", setting]
        wanted = r'no analyzer is left: silent: no "init" within [\d.]+ s of its start' + self.STOPPED
        command = ("--", PYTHON, SILENT, "stops_at_once")
        self.in_time(
            lambda limit: self.run_mortise(*words, "-t", f"init={limit}", *command),
            lambda done: re.search(wanted, done.err),
        )

    def test_index_of_another_framing(self):
        """Where other bytes end the conversation at once, the framing is named, too."""
        words = ["index", self.kzip(simple(1)), "-o", self.dir / "out", "-j1", "--retries", "0"]
        for setting in ("restart.intensity=0", "stop.term=1ms", "stop.kill=1ms"):
            words += ["-s", setting]
        done = self.run_mortise(*words, "--", PYTHON, SILENT, "speaks_in", "headers")
        self.assertRegex(done.err, r"Content-Length: 38.*; it looks like headers \(--framing headers\)")


class Ends(Case):
    """It cannot be started, or has ended."""

    def line(self, code, kind, *command):
        done = self.fails(code, kind, "call", "-t", f"{LIMIT}s", "x", "--", *command)
        return done.error_lines[0]

    def program(self, content, mode=0o755):
        path = self.file("plugin", content)
        path.chmod(mode)
        return path

    def test_not_executable(self):
        path = self.program("#!/bin/sh\n", 0o644)
        self.assertEqual(
            self.line(3, "start", path), f"start: plugin: {path}: not executable (mode 0644): chmod +x it"
        )

    def test_no_such_file(self):
        path = self.dir / "plugin"
        self.assertEqual(self.line(5, "not_found", path), f"not_found: plugin: {path}: no such file")

    def test_other_architecture(self):
        header = bytearray(pathlib.Path("/bin/true").read_bytes())
        header[18:20] = (183 if header[18] != 183 else 62).to_bytes(2, "little")
        path = self.program(bytes(header))
        self.assertRegex(
            self.line(3, "start", path),
            rf"^start: plugin: {path}: built for (aarch64|x86_64), this machine is (x86_64|aarch64)$",
        )

    def test_missing_interpreter(self):
        path = self.program("#!/opt/none/python3\n")
        self.assertEqual(
            self.line(3, "start", path),
            f"start: plugin: {path}: its interpreter /opt/none/python3 (named in its first line) does not exist or is "
            "not executable",
        )

    def test_carriage_return(self):
        path = self.program("#!/bin/sh\r\necho\r\n")
        self.assertEqual(
            self.line(3, "start", path),
            f"start: plugin: {path}: its first line ends in a carriage return (Windows line ends), so "
            '"/bin/sh\\r" is looked for: sed -i \'s/\\r$//\' it',
        )

    def test_no_program(self):
        path = self.program("hello\n")
        self.assertEqual(
            self.line(3, "start", path),
            f"start: plugin: {path}: is no program, and its first line names no interpreter (#!/usr/bin/env ...)",
        )

    def test_missing_loader(self):
        """A program whose loader is not here: built for another C library."""
        content = pathlib.Path("/bin/true").read_bytes()
        loader = re.search(rb"/lib[^\0]*/ld-[^\0]*", content)
        if not loader:
            self.skipTest("/bin/true has no loader")
        path = self.program(content.replace(loader[0], loader[0].replace(b"/ld-", b"/no-"), 1))
        missing = loader[0].replace(b"/ld-", b"/no-").decode()
        self.assertEqual(
            self.line(3, "start", path),
            f"start: plugin: {path}: its loader {missing} is missing: built for another C library or system",
        )

    def test_violation(self):
        """A plugin that its jail ends at once: the line is the violation, and the exit code is 9."""
        words = ("call", "--confine", "--on-denial", "kill", "-t", f"{LIMIT}s", "x", "--", PYTHON, SILENT)
        done = self.run_mortise(*words, "denied", "/etc/hostname")
        if done.code == 125:
            self.skipTest(done.err)
        self.assertEqual(
            (done.code, done.err),
            (
                9,
                "sandbox_violation: silent tried to read /etc/hostname: not in sandbox.read; to allow it, add "
                '"/etc/hostname" to --set sandbox.read\n',
            ),
        )

    def test_missing_library(self):
        compiler = shutil.which("cc")
        if not compiler:
            self.skipTest("no C compiler")
        empty, main = self.file("empty.c", ""), self.file("main.c", "int main(void) { return 0; }\n")
        library, path = self.dir / "libnowhere.so", self.dir / "plugin"
        subprocess.run([compiler, "-shared", "-o", library, empty], check=True)
        link = [compiler, "-o", path, main, "-Wl,--no-as-needed", library]
        subprocess.run(link, check=True, cwd=self.dir)
        library.unlink()
        self.assertRegex(
            self.line(7, "crashed", path),
            r"^crashed: plugin: the shared library \S*libnowhere.so is missing or unusable before it answered; "
            'last stderr: ".*libnowhere.so.*"$',
        )

    def test_signal(self):
        for name in ("SIGSEGV", "SIGABRT", "SIGKILL"):
            self.assertRegex(
                self.line(7, "crashed", PYTHON, SILENT, "dies", name),
                rf"^crashed: silent: killed by {name}( \(core dumped\))? before it answered$",
            )

    def test_signal_seen_by_a_shell(self):
        """A shell tells the death of its child as 128 plus the number of the signal."""
        path = self.program(f"#!/bin/sh\n{shell_words(PYTHON, SILENT)} dies SIGBUS\nexit $?\n")
        self.assertRegex(
            self.line(7, "crashed", path),
            r"^crashed: plugin: exited with status 135 \(a shell's word for SIGBUS\) before it answered",
        )

    def test_exit(self):
        self.assertEqual(
            self.line(7, "crashed", PYTHON, SILENT, "complains", "loading", "no licence here"),
            'crashed: silent: exited with status 3 before it answered; last stderr: "no licence here"',
        )

    def test_telling_lines(self):
        """What runtimes print around the line that matters."""
        for lines, wanted in (
            (["Error: no port", "    at main (/p/x.js:1:7) {", "  code: 'E'", "}", "", "Node.js v20.19.2"], 0),
            (
                [
                    "panic: no port",
                    "",
                    "goroutine 1 [running]:",
                    "main.main()",
                    "\t/p/x.go:8 +0x1d",
                    "exit status 2",
                ],
                0,
            ),
            (
                [
                    "Exception in thread \"main\" java.lang.E: no",
                    "\tat X",
                    "Caused by: java.io.F: port",
                    "\tat Y",
                ],
                2,
            ),
        ):
            line = self.line(7, "crashed", PYTHON, SILENT, "complains", *lines)
            self.assertIn('last stderr: "' + lines[wanted].replace('"', '\\"') + '"', line)

    def test_python(self):
        self.assertEqual(
            self.line(7, "crashed", PYTHON, SILENT, "raises"),
            'crashed: silent: exited with status 1 before it answered; last stderr: "ValueError: two lines"',
        )

    def test_node(self):
        node = shutil.which("node")
        if not node:
            self.skipTest("no node")
        script = self.file("plugin.js", "const e = new TypeError('no port');\ne.code = 'E_PORT';\nthrow e;\n")
        self.assertEqual(
            self.line(7, "crashed", node, script),
            'crashed: plugin: exited with status 1 before it answered; last stderr: "TypeError: no port"',
        )

    @again("a second of processor time; limits and fault-matrix-yams (cpu) have it")
    def test_limit(self):
        words = ("-s", "sandbox.cpu=1s", "-t", f"{LIMIT}s", "x", "--", PYTHON, SILENT, "spins")
        done = self.fails(7, "crashed", "call", *words)
        self.assertRegex(
            done.err,
            r"(?m)^crashed: silent: killed by SIGXCPU( \(core dumped\))? \(it used up its processor time: sandbox.cpu 1s\) "
            "before it answered$",
        )


class Findings(Case):
    """--strict prints what it found, and --json has it."""

    WORDS = ("x", "--", PYTHON, SILENT, "answers_badly")
    FOUND = [
        "silent: not a message: Starting",
        'silent: a message without "jsonrpc": "2.0"',
    ]

    def test_strict(self):
        done = self.run_mortise("call", "--strict", *self.WORDS)
        self.assertEqual(done.error_lines[0], "warning: " + self.FOUND[0])
        self.assertIn("jsonrpc", done.error_lines[1])

    def test_json(self):
        done = self.run_mortise("call", "-d", "yams", "--json", *self.WORDS)
        self.assertEqual(done.json["warnings"][:2], self.FOUND)
        words = ("x", "--", PYTHON, SILENT, "prints", "Starting")
        done = self.in_time(
            lambda limit: self.run_mortise("call", "--json", "-t", limit, *words),
            lambda done: done.json.get("warnings"),
        )
        self.assertEqual((done.json["ok"], done.json["warnings"]), (False, self.FOUND[:1]))

    def test_json_of_other_commands(self):
        """info, extract, run and chat talk to a plugin, too."""
        plugin = self.plugin(
            "noisy", program=SILENT, manifest={"entry": {"cmd": [PYTHON, str(SILENT), "noisy"]}}
        )
        noise = "noisy: not a message: Starting"
        self.assertIn(noise, self.run_mortise("info", "--json", plugin).json["warnings"])
        rows = self.run_mortise("extract", "--json", "--plugin", plugin, self.file("a.txt", "text")).rows
        self.assertIn(noise, rows[0]["warnings"])


class Page(Case):
    def test_every_id_is_on_the_page(self):
        header = (ROOT / "src/lib/host/diagnosis.h").read_text()
        page = (ROOT / "docs" / "guide" / "no-answer.md").read_text()
        ids = re.findall(r"^ \*\t([a-z-]+) ", header, re.M)
        self.assertGreater(len(ids), 20)
        for name in set(ids) - {"id"}:
            self.assertIn(f"`{name}`", page)


if __name__ == "__main__":
    unittest.main()
