# SPDX-License-Identifier: Apache-2.0
"""The place of one test program: its own HOME, XDG directories, runtime directory and TMPDIR, and a guard.

The guard is a process between the runner and the test program. It is the subreaper of everything that the test
starts, so it knows exactly when the last of that is gone, however deep it was forked. What is still there
LINGER seconds after the end is killed, by pid, and told: a test cleans up after itself. If the runner ends,
also by SIGKILL, the guard ends its test and removes the place.
"""
import ctypes
import json
import os
import pathlib
import resource
import select
import signal
import subprocess
import time

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
LINGER = 60  # seconds: an analyzer whose driver was killed has 12, and what ends by itself costs nothing
OUTPUT = 32 << 20  # bytes kept of what a test prints

LIBC = ctypes.CDLL(None)  # loaded before the first fork


def environment(base, test_env):
    """Nobody's own settings, nothing of this terminal's; no other server of PostgreSQL, repository, modules or
    libraries than those that a test names."""
    gone = ("XDG_", "MESON_", "NO_COLOR", "MORTISE_TRACE", "MORTISE_BUILD", "DBUS_", "DISPLAY", "CDPATH")
    gone += ("PG", "PYTHON", "GIT_", "LD_")
    env = {name: value for name, value in os.environ.items() if not name.startswith(gone)}
    env.update(
        HOME=f"{base}/home",
        XDG_CONFIG_HOME=f"{base}/home/.config",
        XDG_CACHE_HOME=f"{base}/home/.cache",
        XDG_DATA_HOME=f"{base}/home/.local/share",
        XDG_STATE_HOME=f"{base}/home/.local/state",
        XDG_RUNTIME_DIR=f"{base}/run",
        TMPDIR=f"{base}/tmp",
        MALLOC_PERTURB_="165",  # freed memory is overwritten, each time with the same bytes
        PYTHONDONTWRITEBYTECODE="1",
    )
    env.setdefault("ASAN_OPTIONS", "halt_on_error=1:abort_on_error=1:print_summary=1")
    env.setdefault("UBSAN_OPTIONS", "halt_on_error=1:abort_on_error=1:print_summary=1:print_stacktrace=1")
    env.update(test_env)
    return env


def make(base):
    """Some tests become nobody: what is theirs can be reached and, in tmp, written by everyone."""
    for name, mode in (("", 0o755), ("home", 0o755), ("tmp", 0o1777), ("run", 0o700)):
        path = os.path.join(base, name)
        os.mkdir(path)
        os.chmod(path, mode)  # whatever the umask


def remove(base):
    """Also directories that nobody may enter, and trees that are deeper than Python can go. What cannot be
    removed is left to the end of the run. Nothing above it and nothing behind a link is touched."""
    base = str(base)
    if os.path.islink(base):
        return
    for words in (["rm", "-rf"], ["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
        if os.path.lexists(base):
            subprocess.run([*words, "--", base], stderr=subprocess.DEVNULL, check=False)


def parents():
    """{pid: its parent}, of all processes that can be seen."""
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                text = pathlib.Path("/proc", entry, "stat").read_text(errors="replace")
                found[int(entry)] = int(text.rpartition(")")[2].split()[1])
            except (OSError, ValueError, IndexError):
                pass  # gone meanwhile
    return found


def descendants(top):
    tree, found, newest = parents(), set(), {top}
    while newest:
        newest = {pid for pid, parent in tree.items() if parent in newest} - found
        found |= newest
    return found


def command_of(pid):
    """Its words, or its name if it has cleared them; "": it has ended."""
    try:
        words = (
            pathlib.Path("/proc", str(pid), "cmdline")
            .read_bytes()
            .replace(b"\0", b" ")
            .decode(errors="replace")
        )
        head, _, rest = pathlib.Path("/proc", str(pid), "stat").read_text(errors="replace").rpartition(")")
    except OSError:
        return ""
    return "" if rest.split()[0] == "Z" else words.strip()[:160] or head.partition("(")[2]


class Guard:
    """Runs in a process of its own, forked by start()."""

    def __init__(self, test, base, limit):
        self.test, self.base, self.limit = test, base, limit
        self.status, self.stopped = None, False
        self.began = time.monotonic()

    def prepare(self, runner):
        LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, signal.SIGTERM})
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_IGN)  # the runner says when to end
        if os.getppid() != runner:
            os._exit(1)

    def begin(self):
        def clean():  # what the guard itself has set
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD, signal.SIGTERM})
            for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
                signal.signal(number, signal.SIG_DFL)

        with open(f"{self.base}/out", "wb") as out, open(f"{self.base}/err", "wb") as err:
            self.process = subprocess.Popen(  # kept: its end would take the status away from reap()
                self.test["cmd"],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                cwd=self.test["workdir"] or self.test["build"],  # meson names programs from there
                env=environment(self.base, self.test["env"]),
                start_new_session=True,
                preexec_fn=clean,
            )
        return self.process.pid

    def reap(self, pid):
        """Takes in what has ended; true while there is anything left."""
        while True:
            try:
                done, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if done == 0:
                return True
            if done == pid:
                self.status = os.waitstatus_to_exitcode(status)

    def wait(self, pid, seconds, over):
        """Until over() or for so many seconds. False when told to stop, or when time is up."""
        end = time.monotonic() + seconds
        while True:
            alive = self.reap(pid)
            if over(alive):
                return True
            left = end - time.monotonic()
            if left <= 0:
                return False
            got = signal.sigtimedwait({signal.SIGCHLD, signal.SIGTERM}, min(left, 1))
            if got and got.si_signo == signal.SIGTERM:
                self.stopped = True
                return False

    def kill_all(self, pid):
        """Everything below this process, until nothing is left. Returns what it was."""
        killed = {}
        for _ in range(1000):
            for victim in descendants(os.getpid()):
                killed.setdefault(victim, command_of(victim))
                try:
                    os.kill(victim, signal.SIGKILL)
                except OSError:
                    pass
            if not self.reap(pid):
                break
            signal.sigtimedwait({signal.SIGCHLD}, 0.05)
        return [text for text in killed.values() if text]

    def run(self):
        pid = self.begin()
        in_time = self.wait(pid, self.limit, lambda alive: self.status is not None)
        seconds = time.monotonic() - self.began
        left = []
        if not in_time:
            self.kill_all(pid)
        elif not self.wait(pid, LINGER, lambda alive: not alive):
            left = self.kill_all(pid)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return {
            "returncode": self.status if in_time else None,
            "duration": seconds,
            "cpu": used.ru_utime + used.ru_stime,
            "left": left,
        }


def start(test, base, limit):
    """Starts a test in a new place. Returns (the guard's pid, the descriptor on which its report comes)."""
    reader, writer = os.pipe()
    runner = os.getpid()
    pid = os.fork()
    if pid:
        os.close(writer)
        return pid, reader
    try:
        os.close(reader)
        guard = Guard(test, base, limit)
        guard.prepare(runner)
        make(base)
        try:
            report = guard.run()
        except OSError as error:
            guard.kill_all(0)
            report = {"returncode": 127, "duration": 0.0, "cpu": 0.0, "left": [], "error": str(error)}
        if guard.stopped:
            remove(base)
        else:
            os.write(writer, json.dumps(report).encode())
    finally:
        os._exit(0)


def printed(base, name):
    """What it printed, and whether that was too much: then what counts may be in what was cut off."""
    try:
        with open(f"{base}/{name}", "rb") as file:
            text = file.read(OUTPUT).decode("utf-8", "replace")
            return text, file.read(1) != b""
    except OSError:
        return "", False


def finish(pid, reader, base):
    """The report of a guard that has ended, with what its test printed. The place is removed."""
    with open(reader, "rb") as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    report = json.loads(text) if text else {"returncode": None, "duration": 0.0, "cpu": 0.0, "left": []}
    report["stdout"], cut = printed(base, "out")
    report["stderr"], too = printed(base, "err")
    report["stderr"] += report.pop("error", "")
    if cut or too:
        report["returncode"] = report["returncode"] or 1
        report["stderr"] += f"\nit printed more than {OUTPUT >> 20} MiB, of which the rest was not read\n"
    remove(base)
    return report


def stop(guards):
    """{pid: its base}: ends tests that are under way."""
    for pid in guards:
        os.kill(pid, signal.SIGTERM)
    for pid, base in guards.items():
        os.waitpid(pid, 0)
        remove(base)


def readable(readers, seconds):
    return select.select(readers, [], [], seconds)[0]
