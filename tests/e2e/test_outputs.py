# SPDX-License-Identifier: Apache-2.0
"""-o FILE of every command: whole or not at all, whatever is at its place."""
import contextlib
import json
import os
import signal
import stat
import subprocess
import threading
import unittest

from kythe_support import NO_NAMESPACES
from support import Case, LIMIT, MORTISE, PLUGINS, PYTHON, YAMS_OK, shell_words


class Outputs(Case):
    def setUp(self):
        super().setUp()
        self.file("a.txt", "one\n")
        self.file("x.c", "int x;\n")

    def names(self):
        return {path.name for path in self.dir.iterdir()}

    def end_group(self, group):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)

    def stuck_extract(self, *words):
        """mortise extract that has the first of two files, and will never have the second."""
        os.mkfifo(self.dir / "asked")
        self.file("b.txt", "two\n")
        process = subprocess.Popen(
            [
                MORTISE,
                "extract",
                "-j",
                "1",
                *words,
                "a.txt",
                "b.txt",
                "--",
                PYTHON,
                PLUGINS / "yams_stuck.py",
                self.dir / "asked",
            ],
            cwd=self.dir,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.addCleanup(process.communicate)
        with open(self.dir / "asked", encoding="utf-8"):  # opens when the plugin does
            pass
        return process

    def test_killed_in_between(self):
        self.file("out.txt", "as it was")
        process = self.stuck_extract("-o", "out.txt")
        before = self.names()
        process.kill()
        process.wait(LIMIT)
        self.assertEqual((self.dir / "out.txt").read_text(), "as it was")
        self.assertEqual(self.names(), before)
        self.assertFalse([name for name in before if name.startswith(".")])

    def test_interrupted(self):
        self.file("out.txt", "as it was")
        process = self.stuck_extract("--json", "-o", "out.txt")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=LIMIT)
        self.assertEqual(process.returncode, 130)
        self.assertEqual((self.dir / "out.txt").read_text(), "as it was")
        self.assertFalse(json.loads(out)["ok"])  # what is to be said of it goes to stdout

    def test_archive_killed_in_between(self):
        """kzip create, while it asks the second compiler."""
        self.file("out.kzip", "as it was")
        os.mkfifo(self.dir / "asked")
        slow = self.file("slow-cc", f"#!/bin/sh\n: > {self.dir}/asked\nexec sleep 1000\n")
        slow.chmod(0o755)
        rows = [
            {"directory": str(self.dir), "file": "x.c", "arguments": [cc, "-c", "x.c"]}
            for cc in ("cc", str(slow))
        ]
        self.file("db.json", json.dumps(rows))
        process = subprocess.Popen(
            [MORTISE, "kzip", "create", "-j", "1", "-o", "out.kzip", "--compile-commands", "db.json"],
            cwd=self.dir,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.addCleanup(process.communicate)
        self.addCleanup(self.end_group, process.pid)  # the compiler is not what this is about
        with open(self.dir / "asked", encoding="utf-8"):
            pass
        before = self.names()
        process.kill()
        process.wait(LIMIT)
        self.assertEqual((self.dir / "out.kzip").read_text(), "as it was")
        self.assertEqual(self.names(), before)
        self.assertFalse([name for name in before if name.startswith(".")])

    @unittest.skipIf(NO_NAMESPACES, NO_NAMESPACES)
    def test_a_mount_point(self):
        """Nothing can be renamed over it: it is written in place."""
        self.file("mounted", "as it was")
        self.file("out", "below")
        for words in self.commands("out"):
            line = f"mount --bind mounted out && {shell_words(MORTISE, *words)}"
            done = subprocess.run(
                ["unshare", "-rm", "sh", "-c", line],
                cwd=self.dir,
                env=self.env,
                capture_output=True,
                timeout=LIMIT,
                check=False,
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertGreater(len((self.dir / "mounted").read_bytes()), len("as it was"))
            self.assertEqual((self.dir / "out").read_text(), "below")

    def test_no_room(self):
        self.file("out.txt", "as it was")
        self.file("big.txt", "x" * 300000)
        line = shell_words(MORTISE, "extract", "big.txt", "-o", "out.txt", "--plugin", YAMS_OK)
        done = subprocess.run(
            ["sh", "-c", f"ulimit -f 100; trap '' XFSZ; exec {line}"],
            cwd=self.dir,
            env=self.env,
            capture_output=True,
            timeout=LIMIT,
            check=False,
        )
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(b"File too large", done.stderr)
        self.assertEqual((self.dir / "out.txt").read_text(), "as it was")

    def test_closed_descriptors(self):
        """A message has nowhere to go: neither into the archive, whose descriptor would be the next
        with that number."""
        rows = [
            {"directory": str(self.dir), "file": name, "arguments": ["cc", "-c", name]}
            for name in ("x.c", "missing.c")
        ]
        self.file("db.json", json.dumps(rows))
        words = [str(MORTISE), "kzip", "create", "--compile-commands", "db.json", "-o"]
        for name, closed in (("as-usual", ""), ("no-stderr", "2>&-"), ("nothing", "<&- >&- 2>&-")):
            done = subprocess.run(
                ["sh", "-c", f'exec "$@" {closed}', "sh", *words, name],
                cwd=self.dir,
                env=self.env,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=LIMIT,
                check=False,
            )
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertEqual((self.dir / name).read_bytes(), (self.dir / "as-usual").read_bytes(), closed)

    def test_closed_stdout(self):
        done = subprocess.run(
            ["sh", "-c", 'exec "$@" >&-', "sh", str(MORTISE), "extract", "a.txt", "--plugin", str(YAMS_OK)],
            cwd=self.dir,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=LIMIT,
            check=False,
        )
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, b"system: writing the output: Bad file descriptor\n")

    def commands(self, output):
        yield ("extract", "a.txt", "-o", output, "--plugin", YAMS_OK)
        yield ("kzip", "create", "--source", "x.c", "-o", output)

    def test_a_link_keeps_pointing(self):
        (self.dir / "real").mkdir()
        for name, words in zip(
            ("out", "out.kzip"), (list(self.commands("out"))[0], list(self.commands("out.kzip"))[1])
        ):
            (self.dir / name).symlink_to(f"real/{name}")
            for _ in range(2):  # at first there is nothing behind it
                done = self.run_mortise(*words)
                self.assertEqual(done.code, 0, done.err)
                self.assertTrue((self.dir / name).is_symlink())
                self.assertGreater((self.dir / "real" / name).stat().st_size, 10)

    def test_mode(self):
        for words in self.commands("out"):
            (self.dir / "out").unlink(missing_ok=True)
            mask = os.umask(0o027)
            self.assertEqual(self.run_mortise(*words).code, 0)
            os.umask(mask)
            self.assertEqual(stat.S_IMODE((self.dir / "out").stat().st_mode), 0o640, words)
            (self.dir / "out").chmod(0o604)
            self.assertEqual(self.run_mortise(*words).code, 0)
            self.assertEqual(stat.S_IMODE((self.dir / "out").stat().st_mode), 0o604, words)

    def test_pipes(self):
        os.mkfifo(self.dir / "pipe")
        for words in self.commands("pipe"):
            got = []
            reader = threading.Thread(target=lambda got=got: got.append((self.dir / "pipe").read_bytes()))
            reader.start()
            self.assertEqual(self.run_mortise(*words).code, 0)
            reader.join(LIMIT)
            self.assertEqual(got[0][:4] == b"PK\3\4", words[0] == "kzip")
            self.assertTrue(stat.S_ISFIFO((self.dir / "pipe").stat().st_mode))

    def test_stdout(self):
        wanted = None
        for output in ("-", "/dev/stdout", "/dev/fd/1"):
            extract, create = self.commands(output)
            self.assertEqual(self.ok(*extract).out, "4 bytes by yams_ok\none\n")
            done = self.run_mortise(*create)
            self.assertEqual(done.code, 0, done.err)
            archive = done.raw[: done.raw.rindex(b"Kythe kzip archive") + 18]
            wanted = wanted or archive
            self.assertEqual(archive, wanted)
            if output != "/dev/fd/1":
                self.assertEqual((done.raw, done.err), (archive, f"{output}: 1 unit, 1 file\n"))
        self.file("log", "before\n")
        line = shell_words(MORTISE, "extract", "a.txt", "-o", "/dev/stdout", "--plugin", YAMS_OK)
        subprocess.run(["sh", "-c", f"{line} >> log"], cwd=self.dir, env=self.env, timeout=LIMIT, check=True)
        self.assertEqual((self.dir / "log").read_text(), "before\n4 bytes by yams_ok\none\n")
        self.assertTrue(os.path.islink("/dev/stdout"))
        self.assertFalse((self.dir / "-").exists())


if __name__ == "__main__":
    unittest.main()
