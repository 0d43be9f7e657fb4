# SPDX-License-Identifier: Apache-2.0
"""Limits of all that a confined program does together: threads, memory, processor time, scratch. Small ones:
what they do not hold would be felt by the whole machine."""
import collections
import functools
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import time
import unittest

from support import Case, LIMIT, MORTISE, PYTHON
from levels import LEVELS, level_and_user
from tier import again

AS_NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
Ended = collections.namedtuple("Ended", "code out err")


def users():
    yield "me", []
    if os.geteuid() == 0 and shutil.which("setpriv"):
        done = subprocess.run([*AS_NOBODY, str(MORTISE), "--version"], capture_output=True, check=False)
        if done.returncode == 0:
            yield "nobody", AS_NOBODY


USERS = list(users())


def for_each_level_and_user(test):
    @functools.wraps(test)
    def run(self):
        for level, (user, become) in level_and_user(USERS):
            with self.subTest(level=level, user=user):
                self.become = become
                test(self, level)

    return run


class Jailed(Case):
    become = ()

    def jail(self, level, program, *options):
        """A program in Python, with nothing of its own to read."""
        done = subprocess.run(
            [*self.become, str(MORTISE), "jail", "--level", level, *options, "--", PYTHON, "-c", program],
            capture_output=True,
            text=True,
            cwd="/",
            env={**self.env, "XDG_CONFIG_HOME": "/nonexistent"},
            timeout=LIMIT,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)


START_THREADS = """
import threading
gate, count = threading.Event(), 1
try:
    while count < 60:
        threading.Thread(target=gate.wait, daemon=True).start()
        count += 1
except RuntimeError:
    pass
print(count, flush=True)
gate.set()
"""

# Each process starts threads of its own; one place is left for the last one's first thread.
START_IN_CHILDREN = """
import os, threading
gate, pipe = threading.Event(), os.pipe()
def crowd():
    count = 1
    try:
        while count < 60:
            threading.Thread(target=gate.wait, daemon=True).start()
            count += 1
    except RuntimeError:
        pass
    return count
try:
    if os.fork() == 0:
        os.close(pipe[1])
        mine = crowd()
        os.read(pipe[0], 1)
        os._exit(mine)
except OSError:
    print("no fork")
mine = crowd()
os.close(pipe[1])
_, status = os.wait()
print(mine + os.waitstatus_to_exitcode(status), flush=True)
"""


@unittest.skipUnless(LEVELS, "nothing can be confined here")
class Threads(Jailed):
    @for_each_level_and_user
    def test_counted(self, level):
        done = self.jail(level, START_THREADS, "--limit", "threads=20")
        self.assertEqual((done.code, done.out), (0, "20\n"), done.err)
        self.assertIn("reached its limit of threads", done.err)

    @for_each_level_and_user
    def test_of_all_processes(self, level):
        """Two that start them at the same moment may both get the last place."""
        done = self.jail(level, START_IN_CHILDREN, "--limit", "threads=20", "--spawn")
        self.assertEqual(done.code, 0, done.err)
        self.assertIn(int(done.out), range(20, 23))

    @for_each_level_and_user
    def test_places_come_back(self, level):
        """Many times the limit, one after the other. A thread that was joined may still have its place for a
        moment, so who gets none tries again."""
        program = """if 1:
            import threading
            ended = 0
            while ended < 200:
                thread = threading.Thread(target=int)
                try:
                    thread.start()
                except RuntimeError:
                    continue
                thread.join()
                ended += 1
            """
        done = self.jail(level, program, "--limit", "threads=5")
        self.assertEqual(done.code, 0, done.err)

    @for_each_level_and_user
    def test_enough_by_default(self, level):
        done = self.jail(level, START_THREADS)
        self.assertEqual((done.code, done.out), (0, "60\n"), done.err)


TOUCH_SHARED = """
import mmap, os
if "KIND" == "memfd":
    fd = os.memfd_create("x")
    os.ftruncate(fd, 96 << 20)
    memory = mmap.mmap(fd, 96 << 20)
else:
    memory = mmap.mmap(-1, 96 << 20)
for at in range(0, SIZE << 20, 4096):
    memory[at] = 1
print("touched")
"""


def control_groups(users_here=tuple(USERS)):
    """{user: text of the doctor}; "" where it could not be asked, as without the right to mount."""
    for user, become in users_here:
        done = subprocess.run([*become, str(MORTISE), "doctor", "--json"], capture_output=True, check=False)
        checks = json.loads(done.stdout or "{}").get("checks", [])
        yield user, next((check["found"] for check in checks if check["name"] == "cgroup"), "")


@unittest.skipUnless(LEVELS, "nothing can be confined here")
class Memory(Jailed):
    def setUp(self):
        super().setUp()
        self.held = {user: "memory: version" in text for user, text in control_groups()}

    @for_each_level_and_user
    def test_shared(self, level):
        """What RLIMIT_DATA does not see: held by a control group, or told of."""
        held = self.held["nobody" if self.become else "me"]
        for kind in "memfd", "mapping":
            program = TOUCH_SHARED.replace("KIND", kind)
            done = self.jail(level, program.replace("SIZE", "96"), "--limit", "memory=64M")
            if held:
                self.assertEqual((done.code, done.out), (137, ""), done.err)
                self.assertIn("reached its limit of memory", done.err)
            else:
                self.assertIn("warning: the limit of memory holds for each process alone", done.err)
            done = self.jail(level, program.replace("SIZE", "16"), "--limit", "memory=64M")
            self.assertEqual((done.code, done.out), (0, "touched\n"), done.err)

    @for_each_level_and_user
    def test_nothing_is_left(self, level):
        """Its groups, which it can see itself, have gone with it: other runs have some, too."""
        limits = ["memory=64M", "threads=20", "cpu=9s"]
        words = ["--spawn", *(word for limit in limits for word in ("--limit", limit))]
        done = self.jail(level, "print(open('/proc/self/cgroup').read())", *words)
        self.assertEqual(done.code, 0, done.err)
        names = set(re.findall(r"mortise-jail-\w+", done.out))
        end = time.monotonic() + LIMIT
        while left := groups_called(names):
            self.assertLess(time.monotonic(), end, left)


# Each child stays below the limit of one process; RLIMIT_CPU would count anew in each.
USE_TIME_IN_CHILDREN = """
import os, signal, time
HANDLER
for child in range(CHILDREN):
    if os.fork() == 0:
        while time.process_time() < 0.7:
            pass
        os._exit(0)
    os.wait()
print("done")
"""


def time_program(children, handler=""):
    return USE_TIME_IN_CHILDREN.replace("CHILDREN", str(children)).replace("HANDLER", handler)


@unittest.skipUnless(LEVELS, "nothing can be confined here")
class ProcessorTime(Jailed):
    def setUp(self):
        super().setUp()
        self.held = {user: "cpu: version" in text for user, text in control_groups()}

    @for_each_level_and_user
    def test_of_all_processes(self, level):
        """Held by a control group with the report of RLIMIT_CPU, or told of."""
        if self.held["nobody" if self.become else "me"]:
            done = self.jail(level, time_program(4), "--limit", "cpu=1s", "--spawn", "--json")
            self.check_spent(done)
            end = json.loads(done.err.splitlines()[-1])
            self.assertEqual((end["ended_by"], end["limits"]), ("limit", ["cpu"]))
        else:
            done = self.jail(level, time_program(2), "--limit", "cpu=1s", "--spawn")
            self.assertEqual((done.code, done.out), (0, "done\n"), done.err)
            self.assertIn("warning: the limit of cpu holds for each process alone", done.err)

    def check_spent(self, done, code=128 + signal.SIGXCPU):
        self.assertEqual((done.code, done.out), (code, ""), done.err)
        self.assertIn("reached its limit of cpu", done.err)

    def test_by_a_child(self):
        """The limit ends all of them: its parent does not go on as if nothing had been."""
        if not self.held["me"]:
            self.skipTest("no control group counts time")
        program = (
            "import subprocess, sys; subprocess.run([sys.executable, '-c', 'while True: pass']); print('after')"
        )
        for level in LEVELS:
            with self.subTest(level):
                self.check_spent(self.jail(level, program, "--limit", "cpu=1s", "--spawn"))

    def test_not_obeyed(self):
        """Who goes on after SIGXCPU is killed a second later."""
        if not self.held["me"]:
            self.skipTest("no control group counts time")
        program = time_program(400, "signal.signal(signal.SIGXCPU, signal.SIG_IGN)")
        self.check_spent(self.jail(LEVELS[0], program, "--limit", "cpu=1s", "--spawn"), 137)

    def test_one_process_needs_no_group(self):
        done = self.jail(LEVELS[0], "print(1)", "--limit", "cpu=1s")
        self.assertEqual((done.code, done.out, done.err), (0, "1\n", ""))

    def test_enough(self):
        done = self.jail(LEVELS[0], time_program(1), "--limit", "cpu=20s", "--spawn")
        self.assertEqual((done.code, done.out), (0, "done\n"), done.err)

    def second_version(self, levels):
        """Where both versions count, version 1 is taken: so it is hidden."""
        trees = [path for path in glob.glob("/sys/fs/cgroup/*") if "cpuacct" in path and os.path.ismount(path)]
        hide = "".join(f"umount {path} && " for path in sorted(trees))
        self.become = ["unshare", "--mount", "sh", "-c", hide + 'exec "$@"', "sh"]
        checks = dict(control_groups([("me", self.become)])) if os.geteuid() == 0 else {}
        if "cpu: version 2" not in checks.get("me", ""):
            self.skipTest("there is no version 2 here that we may write")
        for level in levels:
            self.check_spent(self.jail(level, time_program(4), "--limit", "cpu=1s", "--spawn"))

    def test_second_version(self):
        self.second_version(LEVELS[:1])

    @again("a second of processor time for each level; test_of_all_processes has every level")
    def test_second_version_at_other_levels(self):
        self.second_version(LEVELS[1:])

    def test_guarded(self):
        """A plugin that is not confined may start what it likes: the same limit."""
        words = ("-s", "sandbox.cpu=1s", "-t", f"{LIMIT}s", "x", "--", PYTHON, "-c", time_program(4))
        done = self.run_mortise("call", *words)
        if self.held["me"]:
            self.assertRegex(done.err, r"killed by SIGXCPU.*\(it used up its processor time: sandbox.cpu 1s\)")
        else:
            self.assertIn("the limit of cpu holds for each process alone", done.err)


def groups_called(names):
    return [
        os.path.join(root, name)
        for root, dirs, _ in os.walk("/sys/fs/cgroup")
        for name in names.intersection(dirs)
    ]


FILL = """
import os
size = 0
try:
    with open(os.environ["TMPDIR"] + "/filler", "wb", buffering=0) as file:
        while size < 24 << 20:
            size += file.write(bytes(1 << 20))
except OSError as e:
    print(e.strerror)
print(size >> 20)
"""


# Above its limit, and not by a quarter: as soon as it has been counted, nothing more is opened to write.
FILL_FILES = """
import os
top = os.environ["TMPDIR"]
with open(top + "/filler", "wb") as file:
    file.write(bytes(9 << 19))
try:
    while True:
        open(top + "/probe", "w").close()
except OSError as e:
    print(e.strerror)
os.unlink(top + "/filler")
open(top + "/probe", "w").close()
"""


@unittest.skipUnless("t0" in LEVELS, "needs level t0")
class ScratchOfTheHost(Jailed):
    """At t0 it is a directory in /tmp, and what it holds is counted."""

    def for_users(self, test):
        for user, self.become in USERS:
            with self.subTest(user=user):
                test()

    def test_open_file(self):
        """Who goes on writing is ended before it has written all; with and without a name."""
        for hide in "", "os.unlink(file.name)":
            program = FILL.replace("24 << 20", "4 << 30").replace("while", hide + "\n        while")
            program = program.replace("bytes(1 << 20)", "bytes(1 << 18)")
            self.for_users(lambda program=program: self.check_killed(program))

    def check_killed(self, program):
        done = self.jail("t0", program, "--limit", "scratch_size=8M", "--limit", "file_size=1G")
        self.assertEqual((done.code, done.out), (137, ""), done.err)
        self.assertIn("reached its limit of scratch_size", done.err)

    def test_new_files(self):
        def check():
            done = self.jail("t0", FILL_FILES, "--limit", "scratch_size=4M")
            self.assertEqual((done.code, done.out), (0, "No space left on device\n"), done.err)

        self.for_users(check)

    def test_enough(self):
        def check():
            done = self.jail("t0", FILL)
            self.assertEqual((done.code, done.out, done.err), (0, "24\n", ""))

        self.for_users(check)


@unittest.skipUnless("t1" in LEVELS, "needs level t1")
class ScratchOfItsOwn(Jailed):
    """At t1 it is a tmpfs: the kernel holds its size."""

    @for_each_level_and_user
    def test_size(self, level):
        if level != "t1":
            return
        done = self.jail(level, FILL, "--limit", "scratch_size=8M")
        self.assertEqual((done.code, done.out), (0, "No space left on device\n8\n"), done.err)

    @for_each_level_and_user
    def test_number_of_files(self, level):
        if level != "t1":
            return
        program = (
            "import os\ntry:\n for i in range(4000): open(os.environ['TMPDIR'] + f'/{i}', 'w').close()\n"
            "except OSError as e: print(e.strerror, i > 500)"
        )
        done = self.jail(level, program, "--limit", "scratch_size=1M")
        self.assertEqual((done.code, done.out), (0, "No space left on device True\n"), done.err)

    def test_named_one_stays_a_directory(self):
        done = self.jail("t1", FILL, "--scratch", str(self.dir))
        self.assertEqual((done.code, done.out), (0, "24\n"), done.err)
        self.assertEqual(os.stat(self.dir / "filler").st_size, 24 << 20)

    def test_workspace_around_it(self):
        """With /tmp as the workspace the directory is there already."""
        done = self.jail("t1", FILL, "--limit", "scratch_size=8M", "--workspace", "/tmp", "--write")
        self.assertEqual((done.code, done.out), (0, "No space left on device\n8\n"), done.err)


if __name__ == "__main__":
    unittest.main()
