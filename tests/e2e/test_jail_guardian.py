# SPDX-License-Identifier: Apache-2.0
"""The guardian itself: how it is built, what it may call, what it holds after a flood of questions, and what is
left when it is killed. mortise-jail-planted* have faults that a program in the jail can choose (planted.c)."""
import os
import re
import shutil
import signal
import subprocess
import unittest

from support import BUILD, Case, is_sanitized, LIMIT, MORTISE, PYTHON
from levels import LEVELS, at_each_level, level_and_user

HELPER = BUILD / "mortise-jail"
NOBODY = 65534
# Asked for in a flood, at each level: 16 bytes that are lost with each of a kind would be 160 KiB.
NAMES = int(os.environ.get("JAIL_FLOOD", "40_000"))
USERS = [None, NOBODY] if os.geteuid() == 0 else [None]


def output(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=LIMIT).stdout


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return [int(word) for word in f.read().split()]


@unittest.skipUnless(HELPER.exists() and shutil.which("readelf"), "no mortise-jail, or no readelf")
class Elf(Case):
    """It reads what hostile programs say: an attacker who finds a fault in it should find it hard to use."""

    def setUp(self):
        super().setUp()
        if is_sanitized(HELPER):
            self.skipTest("a sanitizer's build is not what people run")

    def test_position_independent_and_read_only_after_relocation(self):
        told = output("readelf", "-hlWd", HELPER)
        self.assertRegex(told, r"Type: +DYN")
        self.assertRegex(told, r"\(FLAGS_1\).*\bPIE\b")
        self.assertRegex(told, r"\(FLAGS(_1)?\).*\b(BIND_)?NOW\b")
        self.assertIn("GNU_RELRO", told)
        self.assertNotIn("INTERP", told, "it is static: no library can be put in its way")

    def test_nothing_is_both_written_and_run(self):
        segments = re.findall(
            r"^ +(LOAD|GNU_STACK) +(?:0x\w+ +){5}([RWE ]+?) +0x", output("readelf", "-lW", HELPER), re.M
        )
        self.assertIn("GNU_STACK", dict(segments))
        for kind, rights in segments:
            self.assertFalse("W" in rights and "E" in rights, (kind, rights))
            self.assertFalse(kind == "GNU_STACK" and "E" in rights)
        self.assertIn("R", [rights.strip() for _, rights in segments], "constants are not code")

    @unittest.skipUnless(os.uname().machine == "x86_64", "looks at x86-64 code")
    def test_canaries_and_checked_copies(self):
        """In our own code: the C library's has them anyway. mor_on_connect has a buffer for an address."""
        code = output("objdump", "-d", "--no-show-raw-insn", "--disassemble=mor_on_connect", HELPER)
        self.assertIn("<mor_on_connect>", code)
        self.assertRegex(code, r"%fs:0x28")
        self.assertIn("__snprintf_chk", output("nm", HELPER))


@unittest.skipUnless(LEVELS, "this machine cannot confine")
class Planted(Case):
    """A guardian with a fault, in the place of ours: beside a copy of the command."""

    def with_helper(self, name):
        planted = BUILD / "tests/jail" / name
        if not planted.exists():
            self.skipTest(f"{planted} is not built")
        place = self.dir / name
        work = place / "work"
        work.mkdir(parents=True)
        self.dir.chmod(0o755)
        shutil.copy(MORTISE, place / "mortise")
        shutil.copy(planted, place / "mortise-jail")
        if os.geteuid() == 0:
            os.chown(work, NOBODY, NOBODY)
            work.chmod(0o777)
        return place

    def make(self, place, level, user, directory):
        """The program makes a directory, and then says that it lives."""
        code = f"import os; os.mkdir({directory!r}); print('lives')"
        return subprocess.run(
            [place / "mortise", "jail", "--level", level, "-w", ".", "--write", "--", PYTHON, "-c", code],
            env=self.env,
            cwd=place / "work",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            user=user,
            group=user,
            extra_groups=None if user is None else [],
            timeout=LIMIT,
            check=False,
        )

    def check(self, helper, directory, *texts):
        place = self.with_helper(helper)
        for level, user in level_and_user(USERS):
            with self.subTest(level=level, user=user):
                done = self.make(place, level, user, f"fine-{level}-{user}")
                self.assertEqual((done.returncode, done.stdout), (0, "lives\n"), done.stderr)
                done = self.make(place, level, user, f"{directory}-{level}-{user}")
                self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
                for text in texts:
                    self.assertIn(text, done.stderr)

    def test_call_that_is_not_listed_ends_it(self):
        self.check(
            "mortise-jail-planted-release",
            "planted-call",
            "mortise-jail made a call that its own filter forbids, and was killed for it",
        )

    def test_checked_copy_ends_it(self):
        """Not the canary, which is looked at when the function returns: the copy does not begin."""
        self.check("mortise-jail-planted-release", "planted-copy", "mortise-jail")

    def test_other_builds_name_the_call(self):
        self.check(
            "mortise-jail-planted",
            "planted-call",
            "mortise-jail called getpriority",
            "its own filter (guardian.c)",
        )

    def test_sanitizer_can_report(self):
        """Under Landlock, without capabilities, without its stderr and under a filter of its own."""
        self.check(
            "mortise-jail-planted-asan",
            "planted-overflow",
            "ERROR: AddressSanitizer: heap-buffer-overflow",
            "WRITE of size 1",
            "allocated by thread",
        )


FLOOD = """
import os, sys
def ask(count):
    for i in range(count // 4):
        os.close(os.open('there', os.O_RDONLY))
        for name in (f'not-there-{i}', f'/nowhere/{i}', f'/usr/lib/{i}'):
            try: os.close(os.open(name, os.O_RDONLY))
            except OSError: pass
ask(8000)
print('warm', flush=True); sys.stdin.readline()
ask(int(sys.argv[1]))
print('done', flush=True); sys.stdin.readline()
"""


@unittest.skipUnless(LEVELS, "this machine cannot confine")
class Flood(Case):
    def holds(self, pid):
        """Its anonymous memory in KiB, and its descriptors."""
        with open(f"/proc/{pid}/status", encoding="ascii") as f:
            memory = int(re.search(r"^RssAnon:\s+(\d+)", f.read(), re.M).group(1))
        return memory, len(os.listdir(f"/proc/{pid}/fd"))

    @at_each_level
    def test_of_opens(self, level):
        self.file("there", "x")
        run = subprocess.Popen(
            [MORTISE, "jail", "--level", level, "-w", ".", "--", PYTHON, "-c", FLOOD, str(NAMES)],
            env=self.env,
            cwd=self.dir,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        with run:
            try:
                self.assertEqual(run.stdout.readline(), "warm\n")
                guardian = children(run.pid)[0]
                before = self.holds(guardian)
                print("go", file=run.stdin, flush=True)
                self.assertEqual(run.stdout.readline(), "done\n")
                after = self.holds(guardian)
                print("end", file=run.stdin, flush=True)
                self.assertEqual(run.wait(LIMIT), 0)
            finally:
                run.kill()
        self.assertEqual(after[1], before[1], "descriptors")
        self.assertLessEqual(after[0], before[0] + 16, f"KiB, {before[0]} before")


@unittest.skipUnless(LEVELS, "this machine cannot confine")
class Signals(Case):
    # SIGSYS has a handler in builds that are no release
    LEFT_OUT = {signal.SIGKILL, signal.SIGSTOP, signal.SIGCONT, signal.SIGSYS}

    @at_each_level
    def test_none_ends_it(self, level):
        """Those that C libraries keep for themselves (32 to 34) included, in all its threads."""
        program = "print('up', flush=True); input(); open('/etc/hostname'); print('gone')"
        words = [MORTISE, "jail", "--level", level, "--read", "/etc/hostname", "--", PYTHON, "-c", program]
        pipes = dict.fromkeys(["stdin", "stdout", "stderr"], subprocess.PIPE)
        with subprocess.Popen(words, env=self.env, cwd=self.dir, text=True, **pipes) as run:
            self.assertEqual(run.stdout.readline(), "up\n")
            guardian = children(run.pid)[0]
            for number in range(1, signal.SIGRTMAX + 1):
                if number not in self.LEFT_OUT:
                    os.kill(guardian, number)
            out, err = run.communicate("go\n", timeout=LIMIT)
        self.assertEqual((run.returncode, out), (0, "gone\n"), err)


TREE = """
import os, sys, time
r, w = os.pipe()
if os.fork() == 0:
    if os.fork() == 0:
        os.write(w, b'r')
        time.sleep(600)
    os._exit(0)
os.wait(); os.read(r, 1)
print('stands', flush=True)
time.sleep(600)
"""


@unittest.skipUnless(LEVELS, "this machine cannot confine")
class Alone(Case):
    """SIGKILL to the guardian alone, of a program that has started others."""

    def killed(self, prefix=()):
        """Whether the whole tree is gone: it holds stdout."""
        run = subprocess.Popen(
            [*prefix, MORTISE, "jail", "--level", "t0", "--spawn", "--", PYTHON, "-c", TREE],
            env=self.env,
            cwd=self.dir,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        with run:
            self.assertEqual(run.stdout.readline(), "stands\n", run.stderr)
            os.kill(children(run.pid)[0], signal.SIGKILL)
            out, err = run.communicate(timeout=LIMIT)
        self.assertEqual((run.returncode, out), (125, ""), err)
        self.assertIn("mortise-jail was killed by signal 9", err)

    @unittest.skipUnless("t1" in LEVELS, "there is no PID namespace to be had")
    def test_leaves_nothing_at_t0(self):
        self.killed()

    @unittest.skipUnless("t1" in LEVELS and shutil.which("unshare"), "no user namespaces, or no unshare")
    def test_machine_without_pid_namespaces(self):
        """It runs all the same: nobody asked for one. Who asks is told."""
        line = (
            "echo 0 > /proc/sys/user/max_pid_namespaces && "
            f"'{MORTISE}' jail --level t0 --spawn -- /bin/sh -c '/bin/echo runs' && "
            f"'{MORTISE}' jail --level t0 --spawn --pidns -- /bin/echo no"
        )
        done = subprocess.run(
            ["unshare", "--user", "--map-root-user", "/bin/sh", "-c", line],
            env=self.env,
            cwd=self.dir,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        self.assertEqual((done.returncode, done.stdout), (125, "runs\n"), done.stderr)
        self.assertIn("the kernel refuses", done.stderr)


if __name__ == "__main__":
    unittest.main()
