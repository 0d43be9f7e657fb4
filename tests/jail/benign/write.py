# SPDX-License-Identifier: Apache-2.0
"""What an honest plugin does in a workspace that it may write, step after step.

Prints `ok NAME` or `FAILED NAME: why`; exits with 1 if any failed.
"""
import ctypes
import fcntl
import os
import platform
import shutil
import sqlite3
import stat
import sys
import tempfile
import time

STEPS = []


def step(fn):
    STEPS.append(fn)
    return fn


def text(name):
    with open(name) as f:
        return f.read()


def put(name, what, mode="w"):
    with open(name, mode) as f:
        f.write(what)


@step
def create():
    put("a.txt", "one\n")
    assert text("a.txt") == "one\n"


@step
def append():
    put("a.txt", "two\n", "a")
    assert text("a.txt") == "one\ntwo\n"


@step
def overwrite():
    put("a.txt", "three\n")
    assert text("a.txt") == "three\n"


@step
def read_and_write():
    with open("a.txt", "r+") as f:
        f.read()
        f.write("four\n")
    assert text("a.txt") == "three\nfour\n"


@step
def exclusive():
    put("lock", "", "x")
    try:
        put("lock", "", "x")
    except FileExistsError:
        return
    raise AssertionError("created twice")


@step
def atomic_replace():
    put("a.txt.tmp", "new\n")
    os.replace("a.txt.tmp", "a.txt")
    assert text("a.txt") == "new\n" and not os.path.exists("a.txt.tmp")


@step
def named_temporary_here():
    with tempfile.NamedTemporaryFile(dir=".", delete=False) as f:
        f.write(b"x")
    os.replace(f.name, "from-temp")


@step
def make_directories():
    os.makedirs("build/deep/er", exist_ok=True)
    os.makedirs("build/deep/er", exist_ok=True)
    put("build/deep/er/file", "x")


@step
def copy_tree():
    shutil.copytree("build", "copy")
    assert text("copy/deep/er/file") == "x"


@step
def copy_with_times():
    shutil.copy2("a.txt", "b.txt")
    assert abs(os.stat("a.txt").st_mtime - os.stat("b.txt").st_mtime) < 0.01


@step
def move_tree():
    shutil.move("copy", "moved")
    assert os.path.isdir("moved/deep")


@step
def remove_tree():
    shutil.rmtree("moved")
    assert not os.path.exists("moved")


@step
def rename_directory():
    os.rename("build", "out")
    assert os.path.exists("out/deep")


@step
def mode_bits():
    os.chmod("b.txt", 0o755)
    assert stat.S_IMODE(os.stat("b.txt").st_mode) == 0o755
    os.chmod("b.txt", 0o600)


@step
def mode_by_descriptor():
    with open("b.txt") as f:
        os.fchmod(f.fileno(), 0o640)
    assert stat.S_IMODE(os.stat("b.txt").st_mode) == 0o640


@step
def umask():
    old = os.umask(0o077)
    put("private", "x")
    os.umask(old)
    assert stat.S_IMODE(os.stat("private").st_mode) == 0o600


@step
def set_times():
    os.utime("b.txt", (1000000000, 1000000000))
    assert os.stat("b.txt").st_mtime == 1000000000
    os.utime("b.txt")
    assert time.time() - os.stat("b.txt").st_mtime < 60


@step
def calls_of_old():
    """What libc no longer calls, and old programs do."""
    if platform.machine() != "x86_64":
        return
    numbers = {
        "fchmodat": 268,
        "symlinkat": 266,
        "mknodat": 259,
        "mknod": 133,
        "utime": 132,
        "utimes": 235,
        "futimesat": 261,
    }
    libc = ctypes.CDLL(None, use_errno=True)
    here, long = ctypes.c_long(-100), ctypes.c_long

    def call(name, *args):
        if libc.syscall(long(numbers[name]), *args) < 0:
            raise OSError(ctypes.get_errno(), name)

    def modified(name, *args):
        call(name, *args)
        return os.stat("b.txt").st_mtime

    call("fchmodat", here, b"b.txt", long(0o600))
    assert stat.S_IMODE(os.stat("b.txt").st_mode) == 0o600
    call("symlinkat", b"a.txt", here, b"soft-at")
    assert os.readlink("soft-at") == "a.txt"
    call("mknodat", here, b"node", long(stat.S_IFREG | 0o600), long(0))
    call("mknod", b"old-node", long(stat.S_IFREG | 0o600), long(0))
    assert stat.S_ISREG(os.stat("old-node").st_mode) and os.path.getsize("node") == 0
    assert modified("utime", b"b.txt", (long * 2)(5, 5)) == 5
    assert modified("utimes", b"b.txt", (long * 4)(6, 0, 6, 500000)) == 6.5
    assert modified("futimesat", here, b"b.txt", (long * 4)(7, 0, 7, 0)) == 7
    assert modified("utime", b"b.txt", None) > 1000000000
    for name in ("soft-at", "node", "old-node"):
        os.unlink(name)


@step
def relative_link():
    os.symlink("a.txt", "soft")
    assert text("soft") == "new\n" and os.readlink("soft") == "a.txt"
    put("soft", "through\n")
    assert text("a.txt") == "through\n"


@step
def directory_link():
    os.symlink("out/deep", "d", target_is_directory=True)
    put("d/through", "x")
    assert text("out/deep/through") == "x"


@step
def hard_link():
    os.link("a.txt", "hard")
    assert os.stat("hard").st_nlink == 2


@step
def truncate():
    os.truncate("a.txt", 3)
    with open("a.txt", "r+") as f:
        f.truncate(2)
    assert text("a.txt") == "th"


@step
def sparse_and_sync():
    with open("sparse", "wb") as f:
        f.seek(1 << 20)
        f.write(b"x")
        f.flush()
        os.fsync(f.fileno())
    assert os.path.getsize("sparse") == (1 << 20) + 1


@step
def file_locks():
    with open("lock", "w") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        fcntl.lockf(f, fcntl.LOCK_EX)


@step
def database():
    db = sqlite3.connect("state.db")
    db.execute("pragma journal_mode = wal")
    db.execute("create table t (x)")
    for i in range(20):
        db.execute("insert into t values (?)", (i,))
        db.commit()
    assert db.execute("select sum(x) from t").fetchone() == (190,)
    db.close()


@step
def descriptors_of_directories():
    fd = os.open("out", os.O_RDONLY | os.O_DIRECTORY)
    os.close(os.open("by-fd", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    os.mkdir("dir-by-fd", dir_fd=fd)
    os.rename("by-fd", "renamed", src_dir_fd=fd, dst_dir_fd=fd)
    os.unlink("renamed", dir_fd=fd)
    os.rmdir("dir-by-fd", dir_fd=fd)
    os.fsync(fd)
    os.close(fd)


@step
def what_looks_like_git():
    """Ordinary files with the names of git's parts, and those beside a git directory."""
    assert text(".git/config")
    put(".gitignore", "out\n")
    put(".gitattributes", "* text=auto\n")
    os.makedirs("app/config", exist_ok=True)
    os.makedirs("app/hooks", exist_ok=True)
    put("app/config/config", "x")
    put("app/HEAD", "x")
    os.rename("app", "application")
    shutil.rmtree("application")


@step
def what_people_run_themselves():
    put("Makefile", "all:\n\ttrue\n")
    put("package.json", "{}")
    put("build.sh", "#!/bin/sh\n")
    os.chmod("build.sh", 0o755)
    os.makedirs(".cargo", exist_ok=True)
    os.makedirs(".github/workflows", exist_ok=True)
    put(".github/workflows/test.yml", "on: push\n")


@step
def many_files():
    os.mkdir("many")
    for i in range(200):
        put(f"many/{i}", str(i))
    assert len(os.listdir("many")) == 200
    shutil.rmtree("many")


@step
def absolute_paths():
    put(os.path.join(os.getcwd(), "absolute"), "x")
    put(os.path.join(os.getcwd(), "sub", "..", "dotted"), "x")
    assert text("dotted") == "x"


@step
def unlink_all():
    for name in (
        "a.txt",
        "b.txt",
        "soft",
        "d",
        "hard",
        "lock",
        "private",
        "sparse",
        "state.db",
        "from-temp",
        "absolute",
    ):
        os.unlink(name)
    shutil.rmtree("out")


def main():
    failed = 0
    for fn in STEPS:
        try:
            fn()
            print("ok", fn.__name__, flush=True)
        except BaseException as e:
            failed += 1
            print(f"FAILED {fn.__name__}: {type(e).__name__}: {e}", flush=True)
    print("done", flush=True)
    sys.exit(1 if failed else 0)


main()
