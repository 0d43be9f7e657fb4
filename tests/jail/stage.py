# SPDX-License-Identifier: Apache-2.0
"""Where the attempts play: a directory with a workspace and secrets around it, listeners, and a victim process.

What a jailed program did is not only what it says it did: the stage is compared with what it was before.
"""
import contextlib
import ctypes
import dataclasses
import glob
import hashlib
import os
import pathlib
import select
import selectors
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = "/usr/bin/python3"
NODE = shutil.which("node", path="/usr/local/bin:/usr/bin:/bin")
NOBODY = 65534
LIMIT = 300  # seconds: only to end what hangs; more than an attempt lives (attempts/attempt.h)
PATIENCE = 120  # seconds until what a jail has ended must be gone
ROUNDS = 6000  # of the races


def as_user(uid):
    """Arguments of Popen that drop to that user; the runner itself is root, in namespaces of its own."""
    return {} if uid == os.getuid() else {"user": uid, "group": uid, "extra_groups": []}


def ends(pid, until):
    """Waits for the end of a process that is no child of ours. False: it did not come in time."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        return bool(poll.poll(max(0, until - time.monotonic()) * 1000))
    finally:
        os.close(fd)


class Listeners:
    """TCP and UDP on one loopback port, a unix path, an abstract name, a datagram path. They greet
    with the secret."""

    def __init__(self, directory, secret, uid):
        self.secret, self.hits, self.kept = secret.encode(), {}, []
        self.abstract = f"mortise-jail-{os.getpid()}-{directory.name}"
        self.selector, self.stopping = selectors.DefaultSelector(), False
        tcp = self._add("tcp", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
        self.port = tcp.getsockname()[1]
        self._add("udp", socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", self.port))
        self.open = self._add("open", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)).getsockname()[1]
        self.full = self._fill()
        for kind, type_, name in (
            ("unix", socket.SOCK_STREAM, "host.sock"),
            ("dgram", socket.SOCK_DGRAM, "host.dgram"),
        ):
            path = directory / "outside" / name
            self._add(kind, socket.AF_UNIX, type_, str(path))
            path.chmod(0o777)
        self._add("abstract", socket.AF_UNIX, socket.SOCK_STREAM, "\0" + self.abstract)
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _add(self, kind, family, type_, address):
        s = socket.socket(family, type_)
        s.bind(address)
        if type_ == socket.SOCK_STREAM:
            s.listen(16)
        s.setblocking(False)
        self.hits[kind] = 0
        self.selector.register(s, selectors.EVENT_READ, (kind, type_))
        return s

    def _fill(self):
        """A listener whose queue is full: a client that connects, waits."""
        self.crowd = [socket.socket(socket.AF_INET, socket.SOCK_STREAM)]
        self.crowd[0].bind(("127.0.0.1", 0))
        self.crowd[0].listen(0)
        for _ in range(4):
            s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            s.setblocking(False)
            s.connect_ex(self.crowd[0].getsockname())
            self.crowd.append(s)
        return self.crowd[0].getsockname()[1]

    def _serve(self):
        while not self.stopping:
            for key, _ in self.selector.select(0.2):
                kind, type_ = key.data
                self.hits[kind] += 1
                if type_ == socket.SOCK_DGRAM:
                    key.fileobj.recv(4096)
                else:
                    self._greet(key.fileobj, b"open" if kind == "open" else self.secret)

    def _greet(self, listener, text):
        connection = listener.accept()[0]
        try:
            connection.sendall(text + b"\n")
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it has gone already
        self.kept.append(connection)  # closed later: unread input would turn the greeting into a reset
        if len(self.kept) > 8:
            self.kept.pop(0).close()

    def close(self):
        self.stopping = True
        self.thread.join()
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()
        for connection in [*self.kept, *self.crowd]:
            connection.close()
        self.selector.close()


class Victim:
    """A process of the same user that the jail must leave alone."""

    def __init__(self, program, directory, secret, uid):
        self.process = subprocess.Popen(
            [program, "--victim", directory / "outside" / "secret.txt", secret],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=directory,
            env={"MORTISE_VICTIM": secret},
            **as_user(uid),
        )
        self.address, self.fd = self.process.stdout.readline().decode().split()

    @property
    def pid(self):
        return self.process.pid

    def signals(self):
        """Those that were sent since the last question: "signal 10 code 0 from 1234"."""
        lines = []
        with contextlib.suppress(BrokenPipeError):
            os.write(self.process.stdin.fileno(), b"?")
        while (line := self.process.stdout.readline().decode().rstrip()) != "that is all":
            lines.append(line or "its end")
            if not line:
                break
        return lines

    def close(self):
        self.process.stdin.close()
        self.process.wait(LIMIT)
        self.process.stdout.close()


@dataclasses.dataclass
class Run:
    """What one program came to."""

    code: int
    out: str
    err: str
    changed: list = dataclasses.field(default_factory=list)
    hits: dict = dataclasses.field(default_factory=dict)
    signals: list = dataclasses.field(default_factory=list)
    orphans: int = 0
    seconds: float = 0.0
    hung: bool = False


class Stage:
    def __init__(self, attempt, uid, links=True):
        """links: those out of the workspace, which no decent program could follow by accident."""
        self.uid, self.links, self.secret = uid, links, "MORTISE-SECRET-" + os.urandom(8).hex()
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="mortise-jail-", dir="/tmp"))
        self.dir.chmod(0o755)
        self.ws, self.plugin = self.dir / "ws", self.dir / "plugin"
        self.plugin.mkdir()
        shutil.copy(attempt, self.plugin / "attempt")
        for name in (
            "attempts/attempts.py",
            "attempts/attempts.js",
            "benign/tour.py",
            "benign/tour.js",
            "benign/write.py",
        ):
            shutil.copy(HERE / name, self.plugin)
        self.library = next(
            iter(glob.glob("/usr/lib/python3*/lib-dynload/_json*.so") + glob.glob("/lib/*/libm.so.6")), None
        )
        self.shm = pathlib.Path("/dev/shm") / self.dir.name
        self.plant()
        self.listeners = Listeners(self.dir, self.secret, uid)
        self.victim = Victim(self.plugin / "attempt", self.dir, self.secret, uid)
        self.inherited = os.open(self.dir / "outside" / "secret.txt", os.O_RDONLY)

    def plant(self):
        """All files as they should be; sockets, programs and the victim's descriptor stay."""
        self.last = None
        for name in ("ws", "declared"):
            shutil.rmtree(self.dir / name, ignore_errors=True)
        outside = self.dir / "outside"
        outside.mkdir(exist_ok=True)
        for path in outside.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif not path.is_socket():
                path.unlink()
        for name in ("ws/empty", "declared"):
            (self.dir / name).mkdir(parents=True)
        for name, text in {**self.files(), **self.repositories()}.items():
            (self.dir / name).parent.mkdir(parents=True, exist_ok=True)
            (self.dir / name).write_text(text)
        for name in ("ws/bare.git", "ws/vendor/lib/.git", "ws/.git", "ws/.git/modules/dep"):
            for part in ("objects", "refs", "hooks"):
                (self.dir / name / part).mkdir(exist_ok=True)
        (outside / "pointer").symlink_to("secret.txt")
        (self.dir / "declared" / "link").symlink_to("../outside/secret.txt")
        os.mkfifo(self.ws / "pipe")
        for name, target in (
            (
                ("link", "../outside/secret.txt"),
                ("linkdir", "../outside"),
                ("magic", f"/proc/self/root{outside}/secret.txt"),
            )
            if self.links
            else ()
        ):
            (self.ws / name).symlink_to(target)
        (outside / "tool.sh").chmod(0o755)
        if self.library:
            shutil.copy(self.library, outside / "library.so")
        try:
            os.setxattr(outside / "secret.txt", "user.mortise", b"x")
        except OSError:
            pass  # the file system has none: that attempt is then not real here
        (self.plugin / "sitecustomize.py").unlink(missing_ok=True)
        for path in self.shared():
            path.unlink()
        self.shm.write_text(self.secret)
        self._own()

    def shared(self):
        """Ours in the machine's /dev/shm, and what attempts have made beside it."""
        return self.shm.parent.glob(self.shm.name + "*")

    def files(self):
        return {
            "outside/secret.txt": self.secret + "\n",
            "outside/victim.txt": "untouched\n",
            "outside/tool.sh": "#!/bin/sh\necho a program from outside\n",
            "outside/outside_module.py": f"VALUE = '{self.secret}'\n",
            "outside/outside_module.js": f"module.exports = '{self.secret}';\n",
            "outside/outside_module.mjs": f"export default '{self.secret}';\n",
            "ws/data.txt": "data\n",
            "ws/sub/deep/file.txt": "deep\n",
            "ws/swapdir/secret.txt": "nothing secret\n",
            "ws/sunscreen.yml": "version: 1\n",
            "ws/tools/plug/main.txt": "its code\n",
            "ws/scripts/hooks/pre-push": "#!/bin/sh\n",
            "declared/file.txt": "declared\n",
            "plugin/settings.json": "{}\n",
            "plugin/empty.js": "process.exit(0);\n",
        }

    @staticmethod
    def repositories():
        """One with a submodule and a second working tree; one inside of it; one without a working tree."""
        head = "ref: refs/heads/main\n"
        return {
            "ws/.git/HEAD": head,
            "ws/.git/hooks/pre-commit": "#!/bin/sh\n",
            "ws/.git/config": "[core]\n\thooksPath = \"scripts/hooks\" # where they are\n",
            "ws/.git/info/exclude": "\n",
            "ws/.git/modules/dep/HEAD": head,
            "ws/.git/modules/dep/config": "[core]\n",
            "ws/.git/worktrees/other/HEAD": head,
            "ws/.git/worktrees/other/commondir": "../..\n",
            "ws/linked/.git": "gitdir: ../.git/worktrees/other\n",
            "ws/vendor/lib/.git/HEAD": head,
            "ws/vendor/lib/.git/config": "[core]\n",
            "ws/bare.git/HEAD": head,
            "ws/bare.git/config": "[core]\n\tbare = true\n",
        }

    def _own(self):
        if os.getuid() != self.uid:
            for path in [self.dir, self.shm, *self.dir.rglob("*")]:
                os.lchown(path, self.uid, self.uid)

    def snapshot(self):
        """Name -> what must not change by itself. Access times may, and those of directories follow
        their entries."""
        seen, top = {}, str(self.dir)
        paths = [(str(path), str(path)) for path in self.shared()]
        for where, folders, files in os.walk(top):
            paths += [(f"{where}/{name}", f"{where}/{name}"[len(top) + 1 :]) for name in folders + files]
        for path, name in paths:
            st = os.lstat(path)
            what = [stat.S_IFMT(st.st_mode), stat.S_IMODE(st.st_mode), st.st_uid]
            if stat.S_ISLNK(st.st_mode):
                what.append(os.readlink(path))
            elif stat.S_ISREG(st.st_mode):
                with open(path, "rb") as file:
                    digest = hashlib.md5(file.read()).digest()
                what += [st.st_mtime_ns, digest, tuple(os.listxattr(path))]
            seen[name] = tuple(what)
        return seen

    def arguments(self):
        return [
            f"dir={self.dir}",
            f"host={self.victim.pid}",
            f"address={self.victim.address}",
            f"fd={self.victim.fd}",
            f"port={self.listeners.port}",
            f"open={self.listeners.open}",
            f"full={self.listeners.full}",
            f"abstract={self.listeners.abstract}",
            f"shm={self.shm}",
            f"rounds={ROUNDS}",
        ]

    def run(self, argv, env=None, patience=PATIENCE):
        """Runs it to its end, and looks at the stage before and after. patience: seconds that what it leaves
        has to end by itself."""
        before, hits = self.last or self.snapshot(), dict(self.listeners.hits)
        self.victim.signals()
        began = time.monotonic()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen(
                [str(a) for a in argv],
                cwd=self.ws,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                pass_fds=[self.inherited],
                env={
                    "PATH": "/usr/bin:/bin",
                    "HOME": "/tmp",
                    "LANG": "C.UTF-8",
                    "MORTISE_TEST_TOKEN": self.secret,
                    **(env or {}),
                },
                **as_user(self.uid),
            )
            hung = False
            try:
                process.wait(LIMIT)
            except subprocess.TimeoutExpired:
                hung = True
                process.kill()
            run = Run(process.wait(), *(self._text(f) for f in (out, err)), hung=hung)
        run.seconds = time.monotonic() - began
        run.orphans = self._end_orphans(patience)
        if hung:
            run.orphans = 0  # of a jail whose host was killed there is something left for a second
        run.signals = self.victim.signals()
        run.hits = {kind: n - hits[kind] for kind, n in self.listeners.hits.items() if n != hits[kind]}
        after = self.snapshot()
        run.changed = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
        self.last = after  # nobody touches the stage between two runs
        if run.changed:
            self.plant()
        return run

    @staticmethod
    def _text(f):
        f.seek(0)
        return f.read(1 << 20).decode("utf-8", "replace")

    def _mine(self):
        """Processes that carry this stage's name in their arguments, but the victim: of an attempt,
        or of its jail."""
        found, mark = [], str(self.dir).encode()
        for entry in os.listdir("/proc"):
            if entry.isdigit() and int(entry) not in (self.victim.pid, os.getpid()):
                try:
                    line = pathlib.Path("/proc", entry, "cmdline").read_bytes()
                except OSError:
                    continue
                if mark in line:
                    found.append(int(entry))
        return found

    def _end_orphans(self, patience):
        """How many outlived the command; they are ended."""
        until = time.monotonic() + patience
        while left := self._mine():
            if not ends(left[0], until):
                break
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
        return len(left)

    def close(self):
        os.close(self.inherited)
        self.victim.close()
        self.listeners.close()
        for path in self.shared():
            path.unlink()
        shutil.rmtree(self.dir)


# ---- what this kernel has


def landlock_abi():
    version = ctypes.CDLL(None).syscall(
        444, None, 0, 1
    )  # landlock_create_ruleset: LANDLOCK_CREATE_RULESET_VERSION
    return max(version, 0)


def user_namespaces(uid):
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc", "/bin/true"],
        capture_output=True,
        check=False,
        **as_user(uid),
    )
    return done.returncode == 0


# ---- namespaces


def loopback_up():
    import fcntl
    import struct

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, 0x8914, struct.pack("16sh", b"lo", 1))  # SIOCSIFFLAGS, IFF_UP


class PidsLimit:
    """A pids cgroup around all of it, where one can be made; says why not otherwise."""

    def __init__(self, limit=600):
        self.path, self.reason = None, "no pids controller that we may use"
        for root in ("/sys/fs/cgroup/pids", "/sys/fs/cgroup"):
            for left in pathlib.Path(root).glob("mortise-jail-*"):  # of a runner that was killed
                number = left.name.rpartition("-")[2]
                if len(number) < 8 and number.isdigit() and not os.path.exists(f"/proc/{number}"):
                    with contextlib.suppress(OSError):
                        left.rmdir()
            path = pathlib.Path(root, f"mortise-jail-{os.getpid()}")
            try:
                path.mkdir()
            except OSError as e:
                self.reason = str(e)
                continue
            try:
                (path / "pids.max").write_text(str(limit))
                (path / "cgroup.procs").write_text(str(os.getpid()))
                self.path, self.root = path, pathlib.Path(root)
                return
            except OSError as e:
                self.reason = str(e)
                path.rmdir()

    def close(self):
        """When we were ended, so was what is inside, but not at once."""
        if not self.path:
            return
        (self.root / "cgroup.procs").write_text(str(os.getpid()))
        until = time.monotonic() + PATIENCE
        for pid in map(int, (self.path / "cgroup.procs").read_text().split()):
            ends(pid, until)
        with contextlib.suppress(OSError):
            self.path.rmdir()


def own_tmp(directory):
    """A /tmp that only this mount namespace sees: whatever happens to us, nothing stays in the machine's."""
    if HERE.is_relative_to("/tmp"):
        return  # what is tried lies in it
    os.chmod(directory, 0o1777)
    subprocess.run(["mount", "--bind", directory, "/tmp"], check=True)
    os.environ["TMPDIR"] = "/tmp"


def in_namespaces(argv):
    """Runs this script again in mount, PID, network, IPC and UTS namespaces of its own; its exit status."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # else what is inside would go on without us
    with tempfile.TemporaryDirectory(prefix="mortise-jail-", ignore_cleanup_errors=True) as tmp:
        return in_namespaces_with(tmp, argv)


def in_namespaces_with(tmp, argv):
    limit = PidsLimit()
    if not limit.path:
        print(f"without a pids cgroup: {limit.reason}", file=sys.stderr)
    user = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
    unshare = [
        "unshare",
        *user,
        "--mount",
        "--pid",
        "--net",
        "--ipc",
        "--uts",
        "--fork",
        "--kill-child",
        "--mount-proc",
    ]
    try:
        trial = subprocess.run([*unshare, "true"], capture_output=True, text=True, check=False)
        if trial.returncode:  # a chroot, whose / is no mount; a container that forbids it
            print(f"no namespaces can be made here to hold the attempts: {trial.stderr.strip()}")
            return 77
        # What is inside ends with unshare, and that with us, even when we are killed.
        return subprocess.run(
            ["setpriv", "--pdeathsig", "KILL", *unshare, PYTHON, "-B", argv[0], "--inside", tmp, *argv[1:]],
            check=False,
        ).returncode
    finally:
        limit.close()
