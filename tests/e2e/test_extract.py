# SPDX-License-Identifier: Apache-2.0
"""mortise extract with one plugin: inputs, rows, errors, order."""
import json
import os
import pathlib
import subprocess
import unittest

from support import Case, LIMIT, MORTISE, PYTHON, YAMS_ERRORS, YAMS_OK, shell_words, without_color


class Inputs(Case):
    def extract(self, *words, **how):
        return self.ok("extract", *words, "--plugin", YAMS_OK, **how)

    def row(self, *words, **how):
        (row,) = self.extract("--json", *words, **how).rows
        return row

    def test_one_file(self):
        self.file("a.txt", "hello\n")
        self.assertEqual(self.extract("a.txt").out, "6 bytes by yams_ok\nhello\n")

    def test_last_line_is_ended(self):
        self.file("a.txt", "hello")
        self.assertEqual(self.extract("a.txt").out, "5 bytes by yams_ok\nhello\n")

    def test_several_files(self):
        self.file("a.txt", "one\n")
        self.file("b.txt", "two\n")
        self.assertEqual(
            self.extract("a.txt", "b.txt").out,
            "==> a.txt <==\n4 bytes by yams_ok\none\n\n==> b.txt <==\n4 bytes by yams_ok\ntwo\n",
        )

    def test_metadata(self):
        self.file("a.txt", "one\n")
        self.assertEqual(
            self.extract("-m", "a.txt").out, "bytes: 4\nsource: inline\n\n4 bytes by yams_ok\none\n"
        )

    def test_row(self):
        self.file("a.txt", "one\n")
        row = self.row("a.txt")
        self.assertEqual(
            set(row),
            {"file", "ok", "plugin", "mime_type", "extension", "content", "metadata", "stats", "time_ms"},
        )
        self.assertEqual(
            (row["file"], row["ok"], row["plugin"], row["mime_type"], row["extension"]),
            ("a.txt", True, "yams_ok", "text/plain", ".txt"),
        )
        self.assertEqual(row["metadata"], {"bytes": "4", "source": "inline"})
        self.assertEqual(row["stats"]["options"], {"mime_type": "text/plain", "extension": ".txt"})

    def test_extension(self):
        for name, extension in (
            ("plain", ""),
            (".hidden", ""),
            ("a.TXT", ".txt"),
            ("a.tar.gz", ".gz"),
            ("dot.", ""),
            ("libfoo.so.6.1", ".so"),
            ("libfoo.so", ".so"),
            ("v1.2.3", ".3"),
            ("dir.d/plain", ""),
            (".so.6", ".6"),
        ):
            self.file(name, "x")
            self.assertEqual(self.row(name)["extension"], extension, name)
        self.assertEqual(self.row("plain", "--extension", "elf")["extension"], ".elf")
        self.assertEqual(self.row("plain", "--extension", ".elf")["extension"], ".elf")

    def test_mime(self):
        self.file("a.bin", b"\x7fELF" + bytes(100))
        self.file("page.html", "<!DOCTYPE html><html></html>")
        self.file("noise", bytes(range(8)) * 20)
        self.assertEqual(self.row("page.html")["mime_type"], "text/html")
        self.assertEqual(self.row("noise")["mime_type"], "application/octet-stream")
        self.assertEqual(
            self.row("a.bin", "--mime", "application/x-executable")["mime_type"], "application/x-executable"
        )
        self.assertIn("executable", self.row("/bin/true")["mime_type"])

    def test_options(self):
        self.file("a.txt", "x")
        options = self.row(
            "a.txt",
            "-O",
            "max_functions=50",
            "--option",
            "decompile=false",
            "-O",
            "deep.er=x",
            "-O",
            "mime_type=own",
        )
        self.assertEqual(
            options["stats"]["options"],
            {
                "extension": ".txt",
                "max_functions": 50,
                "decompile": False,
                "deep": {"er": "x"},
                "mime_type": "own",
            },
        )
        self.fails(4, "input", "extract", "a.txt", "-O", "nonsense", "--plugin", YAMS_OK)

    def test_source_path(self):
        self.file("sub/a.txt", "one\n")
        row = self.row("a.txt", "--source", "path", cwd=self.dir / "sub")
        self.assertEqual(row["metadata"]["source"], str(self.dir / "sub" / "a.txt"))
        self.assertEqual(row["content"], "4 bytes by yams_ok\none\n")

    def test_stdin(self):
        self.assertEqual(self.extract("-", stdin=b"typed\n").out, "6 bytes by yams_ok\ntyped\n")
        row = self.row("-", stdin=b"typed\n")
        self.assertEqual((row["file"], row["mime_type"], row["extension"]), ("-", "text/plain", ""))
        self.file("a.txt", "one\n")
        self.assertIn("==> standard input <==", self.extract("a.txt", "-", stdin=b"x").out)
        self.assertIn("once", self.fails(2, "usage", "extract", "-", "-", "--plugin", YAMS_OK).err)
        self.assertIn(
            "--source path", self.fails(4, "input", "extract", "-", "--source", "path", "--plugin", YAMS_OK).err
        )

    def test_process_substitution(self):
        line = f"{shell_words(MORTISE, 'extract', '--plugin', YAMS_OK)} <(echo piped)"
        done = subprocess.run(
            ["bash", "-c", line], env=self.env, capture_output=True, timeout=LIMIT, check=True
        )
        self.assertEqual(done.stdout, b"6 bytes by yams_ok\npiped\n")

    def test_command_after_dashes(self):
        self.file("a.txt", "one\n")
        self.assertEqual(self.ok("extract", "a.txt", "--", PYTHON, YAMS_OK).out, "4 bytes by yams_ok\none\n")

    def test_output(self):
        self.file("a.txt", "one\n")
        self.assertEqual(self.extract("a.txt", "-o", "out.txt").out, "")
        self.assertEqual((self.dir / "out.txt").read_text(), "4 bytes by yams_ok\none\n")
        self.assertIn(
            "one of the input files",
            self.fails(4, "input", "extract", "a.txt", "-o", "./a.txt", "--plugin", YAMS_OK).err,
        )
        self.assertEqual((self.dir / "a.txt").read_text(), "one\n")
        self.assertIn(
            "nowhere/x", self.fails(4, "input", "extract", "a.txt", "-o", "nowhere/x", "--plugin", YAMS_OK).err
        )

    def test_large_file(self):
        self.file("big.txt", "x" * 5_000_000)
        self.assertEqual(len(self.row("big.txt")["content"]), 5_000_000 + len("5000000 bytes by yams_ok\n"))

    def test_names_of_all_kinds(self):
        names = ["with space", "-dash", "new\nline", "ümlaut", 'quo"te']
        for name in names:
            self.file(name, "x")
        rows = self.extract("--json", *[f"./{name}" for name in names]).rows
        self.assertEqual([row["file"] for row in rows], [f"./{name}" for name in names])
        os.close(os.open(os.fsencode(self.dir) + b"/\xff", os.O_CREAT | os.O_WRONLY))
        done = subprocess.run(
            [str(MORTISE), "extract", "--json", b"\xff", "--plugin", str(YAMS_OK)],
            capture_output=True,
            cwd=self.dir,
            env=self.env,
            timeout=LIMIT,
            check=False,
        )
        self.assertEqual(json.loads(done.stdout)["file"], "\ufffd")


class BadInputs(Case):
    def setUp(self):
        super().setUp()
        self.file("good.txt", "good\n")
        self.file("empty.txt")
        (self.dir / "dir").mkdir()
        os.mkfifo(self.dir / "fifo")

    def test_alone_each_has_its_exit_code(self):
        for name, code, kind, text in (
            ("missing", 5, "not_found", "missing: no such file"),
            ("dir", 4, "input", "is a directory"),
            ("empty.txt", 4, "input", "is empty"),
            ("fifo", 4, "input", "not a regular file"),
            ("good.txt/x", 5, "not_found", "no such file"),
        ):
            for source in ("bytes", "path"):
                done = self.fails(code, kind, "extract", name, "--source", source, "--plugin", YAMS_OK)
                self.assertIn(text, done.err)
        self.assertIn(
            "standard input: is empty", self.fails(4, "input", "extract", "-", "--plugin", YAMS_OK).err
        )
        done = self.fails(4, "input", "extract", "good.txt", "--max-size", "3", "--plugin", YAMS_OK)
        self.assertIn("--source path", done.err)
        self.fails(4, "input", "extract", "-", "--max-size", "3", "--plugin", YAMS_OK, stdin=b"long")

    @unittest.skipIf(os.geteuid() == 0, "root may read everything")
    def test_unreadable(self):
        self.file("secret", "x").chmod(0)
        self.assertIn("Permission denied", self.fails(4, "input", "extract", "secret", "--plugin", YAMS_OK).err)

    def test_the_others_go_on(self):
        names = ["missing", "good.txt", "dir", "good.txt", "empty.txt", "fifo", "good.txt"]
        done = self.run_mortise("extract", *names, "--plugin", YAMS_OK)
        self.assertEqual(done.code, 1)
        self.assertEqual(done.out.count("==> good.txt <=="), 3)
        self.assertEqual(
            [line.split(":")[1].strip() for line in done.error_lines], ["missing", "dir", "empty.txt", "fifo"]
        )

    def test_rows(self):
        done = self.run_mortise("extract", "--json", "missing", "good.txt", "dir", "--plugin", YAMS_OK)
        self.assertEqual(done.code, 1)
        self.assertEqual(
            [(row["file"], row["ok"]) for row in done.rows],
            [("missing", False), ("good.txt", True), ("dir", False)],
        )
        self.assertEqual((done.rows[0]["kind"], done.rows[0]["exit_code"]), ("not_found", 5))
        self.assertEqual(done.rows[2]["message"], "is a directory; name the files in it")

    def test_all_bad_starts_nothing(self):
        where = self.plugin("quiet", journal=str(self.dir / "journal"))
        self.assertEqual(self.run_mortise("extract", "missing", "dir", "--plugin", where).code, 1)
        self.assertFalse((self.dir / "journal").exists())


class PluginErrors(Case):
    def one(self, word, *options):
        self.file("f.txt", word)
        return self.run_mortise("extract", "f.txt", *options, "--", PYTHON, YAMS_ERRORS, self.dir)

    def test_texts(self):
        for word, texts in (
            ("failed", ["could not analyze", "reason: UnsupportedArchitecture"]),
            ("unsupported", ["Unsupported file format", "reason: UnsupportedFormat", "details: only programs"]),
            ("timeout", ["timed out after 30 seconds", "-32002"]),
            ("uninitialized", ["not initialized", "reason: NotInitialized"]),
            ("dependency", ["--env GHIDRA_INSTALL_DIR", "--config ghidra_install=VALUE"]),
            ("nodata", ["no data member"]),
            ("textnull", ["pyghidra not available"]),
        ):
            done = self.one(word)
            self.assertEqual((done.code, len(done.error_lines), done.out), (1, 1, ""), done.err)
            self.assertTrue(done.err.startswith("plugin_error: f.txt: "), done.err)
            for text in texts:
                self.assertIn(text, done.err)

    def test_data_is_whole(self):
        (row,) = self.one("failed", "--json").rows
        self.assertEqual(
            row["data"],
            {"reason": "UnsupportedArchitecture", "architecture": "ARM:BE:32:Cortex", "partial_functions": 5},
        )
        self.assertEqual((row["kind"], row["rpc_code"]), ("plugin_error", -32000))

    def test_results_that_are_failures(self):
        self.assertEqual(self.one("successfalse").code, 1)
        done = self.one("nocontent")
        self.assertEqual((done.code, len(done.error_lines)), (9, 1), done.err)
        self.assertEqual(self.one("textonly").out, "spelled as real plugins do\n")

    def test_any_spelling(self):
        for content in (
            r'"plain"',
            r'"a\/b \u00e9 \u20ac \ud83d\ude00"',
            r'"\u0000\u0001\u001F\u001f\u000a\u007f\t\"\\"',
            '"é € 😀"',
            '""',
        ):
            raw = '{"c\\u006fntent" : %s, "content":"second","metadata":{"a\\/b":1.50}, "stats":[]}' % content
            characters = json.loads(content)
            (line,) = self.one("raw " + raw, "--json").out.splitlines()
            self.assertIn('"content":' + json.dumps(characters, ensure_ascii=False) + ',"metadata":', line)
            self.assertIn('"metadata":{"a/b":1.50},"stats":[],', line)
            ended = characters + "\n" if characters else ""
            self.assertEqual(self.one("raw " + raw).out, ended)

    def test_timeout(self):
        done = self.in_time(
            lambda limit: self.one("hang", "--timeout", limit),
            lambda done: done.err.startswith("timeout: f.txt: "),
        )
        self.assertEqual((done.code, len(done.error_lines)), (6, 1), done.err)
        self.assertEqual(self.one("hang", "--timeout", "extractor.extract=300ms").code, 6)

    def test_a_plugin_that_does_not_read(self):
        """More than its pipe holds: the time limit runs although the request was never written to its end."""
        self.file("large.bin", b"\x7f" * 1000000)
        plugin = self.file(
            "deaf.py",
            """
import json, os, sys, time
for line in iter(lambda: os.read(0, 65536), b""):
    asked = json.loads(line)
    result = {"name": "deaf", "version": "1.0.0", "supported": True, "status": "ok"}
    result["interfaces"] = ["content_extractor_v1"]
    print(json.dumps({"jsonrpc": "2.0", "id": asked.get("id"), "result": result}), flush=True)
    if asked["method"] == "extractor.supports":
        time.sleep(1000)
""",
        )
        words = ("-d", "yams", "--", PYTHON, plugin)
        self.in_time(
            lambda limit: self.fails(6, "timeout", "extract", "large.bin", "--timeout", limit, *words),
            lambda done: "could not be written: the plugin has read nothing for " in done.err,
        )

    def test_crash(self):
        done = self.one("crash")
        self.assertEqual((done.code, len(done.error_lines)), (7, 1), done.err)
        self.assertTrue(done.err.startswith("crashed: f.txt: "), done.err)
        self.assertIn("about to crash", done.err)

    def test_only_recoverable_errors_are_tried_again(self):
        self.assertEqual(self.one("recoverable a").out, "at last\n")
        self.assertEqual(self.one("recoverable b", "--retries", "0").code, 1)
        self.assertIn("reason: Busy", self.one("recoverable c", "--retries", "0").err)

    def test_one_bad_file_never_stops_the_rest(self):
        words = [
            "fine 0",
            "crash",
            "fine 1",
            "failed",
            "textnull",
            "fine 2",
            "nocontent",
            "crash",
            "crash",
            "fine 3",
            "crash",
            "fine 4",
        ]
        names = [self.file(f"f{i}.txt", word).name for i, word in enumerate(words)]
        for workers in ("1", "4"):
            done = self.run_mortise("extract", "--json", "-j", workers, *names, "--", PYTHON, YAMS_ERRORS)
            self.assertEqual(done.code, 1)
            self.assertEqual([row["file"] for row in done.rows], names)
            self.assertEqual([row["ok"] for row in done.rows], [word.startswith("fine") for word in words])
            self.assertEqual(len(done.error_lines), 7, done.err)


class Many(Case):
    def test_order_and_workers(self):
        names = [self.file(f"f{i:03}.txt", f"{i}\n").name for i in range(60)]
        done = self.ok("extract", "--json", "-j3", *names, "--plugin", YAMS_OK)
        self.assertEqual([row["file"] for row in done.rows], names)
        self.assertLessEqual(len({row["stats"]["pid"] for row in done.rows}), 3)
        done = self.ok("extract", "-j1", *names, "--plugin", YAMS_OK)
        self.assertEqual(
            [line for line in done.out.splitlines() if line.startswith("==>")], [f"==> {n} <==" for n in names]
        )

    def test_no_more_workers_than_files(self):
        self.file("a.txt", "x")
        journal = self.dir / "journal"
        where = self.plugin("counted", journal=str(journal))
        self.ok("extract", "-j8", "a.txt", "--plugin", where)
        self.assertEqual(len({json.loads(line)["pid"] for line in journal.read_text().splitlines()}), 1)

    def test_progress_on_a_terminal(self):
        names = [self.file(f"f{i}.txt", f"{i}\n").name for i in range(5)]
        done = self.in_terminal("extract", *names, "missing", "--plugin", YAMS_OK)
        self.assertEqual(done.code, 1)
        self.assertRegex(done.out, r"\[\d/6\] \d failed")
        self.assertIn("==> f4.txt <==", without_color(done.out))
        self.assertIn("\x1b[31mnot_found\x1b[0m: missing: no such file", done.out)

    def test_nobody_reads(self):
        names = [self.file(f"f{i}.txt", "x" * 50_000) for i in range(40)]
        line = shell_words(MORTISE, "extract", *names, "--plugin", YAMS_OK)
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {line} | head -n 1"],
            env=self.env,
            capture_output=True,
            timeout=LIMIT,
            check=False,
        )
        self.assertEqual((done.returncode, done.stderr), (141, b""))
        self.assertTrue(done.stdout.startswith(b"==> "))

    def test_nobody_ever_read(self):
        self.file("a.txt", "x")
        for words in (
            ["extract", "a.txt", "--plugin", YAMS_OK],
            ["extract", "--json", "a.txt", "a.txt", "--plugin", YAMS_OK],
            ["info", "-d", "yams", YAMS_OK],
            ["call", "-d", "yams", YAMS_OK, "plugin.health"],
            ["--help"],
        ):
            ours, theirs = os.pipe()
            os.close(ours)
            with open(theirs, "wb") as out:
                done = subprocess.run(
                    [str(MORTISE), *map(str, words)],
                    stdout=out,
                    stderr=subprocess.PIPE,
                    cwd=self.dir,
                    env=self.env,
                    timeout=LIMIT,
                    check=False,
                )
            self.assertEqual((done.returncode, done.stderr), (141, b""), words)

    def test_memory_is_bounded(self):
        """40 files of 4 MB: far less than all of them at a time."""
        path = str(self.file("f.txt", "x" * 4_000_000))
        script = (
            "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); "
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
        )
        done = subprocess.run(
            [PYTHON, "-c", script, str(MORTISE), "extract", "-j1", *[path] * 40, "--plugin", str(YAMS_OK)],
            # Meson sets it to fill memory: then what nobody used is memory, too.
            env={**self.env, "MALLOC_PERTURB_": "0"},
            capture_output=True,
            timeout=LIMIT * 2,
            check=True,
        )
        if b"asan" not in pathlib.Path(MORTISE).read_bytes():
            self.assertLess(int(done.stdout), 120_000)  # KiB, of the process that needed most


if __name__ == "__main__":
    unittest.main()
