# SPDX-License-Identifier: Apache-2.0
"""attempts.py NAME KEY=VALUE...: what a Python plugin would try. One line of JSON; --list prints the table.

Each attempt returns what it got (true means: escaped) or raises.
"""
import ctypes
import json
import os
import sys

SECRET = "MORTISE-SECRET"
PATIENCE = 120  # seconds: only to end what hangs
TABLE = {}
S = {}  # the stage: KEY=VALUE arguments


def attempt(cls, expect, row=84, net=None, spawn=None, write=False, bare=True):
    def keep(fn):
        name = "py_" + fn.__name__
        TABLE[name] = (
            fn,
            dict(
                name=name,
                row=row,
                expect=expect,
                net=net or expect,
                spawn=spawn or expect,
                write=write,
                bare=bare,
                reaches=False,
                **{"class": cls},
            ),
        )
        return fn

    return keep


def outside(name="secret.txt"):
    return os.path.join(S["dir"], "outside", name)


def has_secret(data):
    return SECRET in (data.decode("latin-1") if isinstance(data, (bytes, bytearray)) else data)


def libc():
    return ctypes.CDLL(None, use_errno=True)


def raw(nr, *args):
    lib = libc()
    result = lib.syscall(ctypes.c_long(nr), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


# ---- read


@attempt("read", "D")
def read_abs():
    with open(outside()) as f:
        return has_secret(f.read())


@attempt("read", "D")
def read_dotdot():
    with open("../outside/secret.txt") as f:
        return has_secret(f.read())


@attempt("read", "D")
def read_link():
    with open("link") as f:
        return has_secret(f.read())


@attempt("read", "D")
def pathlib_read():
    import pathlib

    return has_secret(pathlib.Path(outside()).read_text())


@attempt("read", "D")
def dir_fd():
    fd = os.open("/", os.O_PATH)
    return has_secret(os.read(os.open(outside()[1:], os.O_RDONLY, dir_fd=fd), 100))


@attempt("read", "D")
def listdir():
    return "secret.txt" in os.listdir(os.path.join(S["dir"], "outside"))


@attempt("read", "D")
def walk_parent():
    return any("secret.txt" in files for _, _, files in os.walk(".."))


@attempt("read", "B")
def getpwall():
    import pwd

    return any(user.pw_uid not in (0, os.getuid(), 65534) for user in pwd.getpwall())


@attempt("read", "D")
def import_outside():
    sys.path.insert(0, os.path.join(S["dir"], "outside"))
    import outside_module

    return has_secret(outside_module.VALUE)


@attempt("read", "D")
def dlopen_outside():
    return bool(ctypes.CDLL(outside("library.so")))


@attempt("read", "D", write=True)
def copyfile():
    import shutil

    shutil.copyfile(outside(), "copy")
    with open("copy") as f:
        return has_secret(f.read())


@attempt("read", "D")
def proc_environ():
    with open(f"/proc/{S['host']}/environ", "rb") as f:
        return has_secret(f.read())


@attempt("read", "D")
def proc_mem():
    with open(f"/proc/{S['host']}/mem", "rb", buffering=0) as f:
        f.seek(int(S["address"]))
        return has_secret(f.read(32))


@attempt("read", "B")
def environment():
    return any(SECRET in value for value in os.environ.values())


@attempt("read", "B")
def inherited():
    def holds(fd):
        try:
            return has_secret(os.pread(fd, 100, 0))
        except OSError:
            return False

    return any(holds(fd) for fd in range(3, 256))


@attempt("metadata", "M")
def stat():
    return os.stat(outside()).st_size > 0


# ---- write


@attempt("write", "D")
def write_ws():
    with open("new.txt", "w") as f:
        return f.write("x") == 1


@attempt("write", "D")
def write_out():
    with open(outside("new.txt"), "w") as f:
        return f.write("x") == 1


@attempt("write", "D")
def unlink_ws():
    os.unlink("data.txt")
    return True


@attempt("write", "D")
def chmod_ws():
    os.chmod("data.txt", 0o600)
    return True


@attempt("write", "D")
def tmp_file():
    import tempfile

    with tempfile.NamedTemporaryFile(dir="/tmp") as f:
        return f.write(b"x") == 1


@attempt("write", "D")
def sqlite_out():
    import sqlite3

    db = sqlite3.connect(outside("new.db"))
    db.execute("create table t (x)")
    db.commit()
    return True


@attempt("write", "B")
def shared_memory():
    import _posixshmem

    # Nothing removes it but the stage, which sees it if it is the machine's.
    os.close(
        _posixshmem.shm_open(S["shm"].removeprefix("/dev/shm") + "-py", os.O_CREAT | os.O_RDWR, mode=0o600)
    )
    return False


@attempt("write", "D", write=True)
def link_write():
    os.symlink(outside("victim.txt"), "soft")
    with open("soft", "w") as f:
        return f.write("x") == 1


@attempt("write", "D", write=True)
def git_hook():
    with open(".git/hooks/post-checkout", "w") as f:
        return f.write("x") == 1


@attempt("read", "D", write=True)
def hard_link():
    os.link(outside(), "hard")
    with open("hard") as f:
        return has_secret(f.read())


# ---- spawn


@attempt("spawn", "D", spawn="A")
def fork():
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return True


@attempt("spawn", "D", spawn="A")
def subprocess_run():
    import subprocess

    return subprocess.run(["/bin/true"], check=True).returncode == 0


@attempt("spawn", "D", spawn="A")
def system():
    return os.system("exit 0") == 0


@attempt("spawn", "D", spawn="A")
def posix_spawn():
    os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
    return True


@attempt("spawn", "D", spawn="?")
def multiprocess():
    import multiprocessing

    child = multiprocessing.get_context("fork").Process(target=int)
    child.start()
    child.join()
    return child.exitcode == 0


@attempt("spawn", "D", spawn="?")
def pty_fork():
    pid, _ = os.forkpty()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return True


@attempt("spawn", "D", spawn="A")
def execv():
    line = json.dumps({"name": "py_execv", "escaped": True, "errno": 0, "how": "executed"})
    os.execv("/bin/sh", ["sh", "-c", f"echo '{line}'"])


@attempt("spawn", "D", spawn="A")
def thread_spawn():
    import threading

    got = []
    thread = threading.Thread(target=lambda: got.append(os.system("exit 0")))
    thread.start()
    thread.join()
    return got == [0]


def at_exit(name):
    """A spawn after the verdict: prints its own."""
    code = os.system("exit 0")
    print(json.dumps({"name": name, "escaped": code == 0, "errno": 0, "how": "at exit"}), flush=True)


@attempt("spawn", "D", spawn="A")
def atexit_spawn():
    import atexit

    atexit.register(at_exit, "py_atexit_spawn")
    return False


@attempt("spawn", "D", spawn="A")
def signal_spawn():
    import signal

    got = []
    signal.signal(signal.SIGALRM, lambda *_: got.append(os.system("exit 0")))
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    signal.pause()
    return got == [0]


@attempt("spawn", "D", spawn="A")
def ctypes_fork():
    pid = libc().fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return pid > 0


def machine_code(code):
    import mmap

    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    result = ctypes.CFUNCTYPE(ctypes.c_long)(address)()
    if result == 0:
        os._exit(0)
    if result > 0:
        os.waitpid(result, 0)
    return result > 0


@attempt("spawn", "D", spawn="A")
def shellcode_fork():
    return machine_code(b"\xb8\x39\x00\x00\x00\x0f\x05\xc3")  # mov eax, 57; syscall; ret


@attempt("spawn", "D")
def shellcode_int80():
    return machine_code(b"\xb8\x02\x00\x00\x00\xcd\x80\x48\x98\xc3")  # mov eax, 2; int 0x80; cdqe; ret


@attempt("spawn", "D", spawn="E")
def memfd_exec():
    fd = os.memfd_create("x", 0)
    line = json.dumps({"name": "py_memfd_exec", "escaped": True, "errno": 0, "how": "executed"})
    os.write(fd, f"#!/bin/sh\necho '{line}'\n".encode())
    os.execve(f"/proc/self/fd/{fd}", ["x"], {})


# ---- network and IPC


def greeted(sock):
    sock.settimeout(PATIENCE)
    return has_secret(sock.recv(100))


@attempt("network", "D", net="A")
def tcp():
    import socket

    return greeted(socket.create_connection(("127.0.0.1", int(S["port"])), PATIENCE))


@attempt("network", "D", net="A")
def udp():
    import socket

    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", int(S["port"]))) == 1


@attempt("network", "D", net="A")
def asyncio_tcp():
    import asyncio

    async def talk():
        reader, _ = await asyncio.open_connection("127.0.0.1", int(S["port"]))
        return has_secret(await reader.read(100))

    return asyncio.run(talk())


@attempt("network", "D", net="?")
def urllib():
    import urllib.request
    import http.client

    try:
        urllib.request.urlopen(f"http://127.0.0.1:{S['port']}/", timeout=PATIENCE)
    except http.client.BadStatusLine:  # the listener answered, though not in HTTP
        return True


@attempt("network", "D", net="A")
def listen():
    import socket

    return bool(socket.create_server(("127.0.0.1", 0)))


@attempt("ipc", "D", net="E")
def unix_path():
    import socket

    sock = socket.socket(socket.AF_UNIX)
    sock.connect(outside("host.sock"))
    return greeted(sock)


@attempt("ipc", "D", net="E")
def unix_abstract():
    import socket

    sock = socket.socket(socket.AF_UNIX)
    sock.connect("\0" + S["abstract"])
    return greeted(sock)


# ---- host and kernel


@attempt("host", "D")
def kill():
    import signal

    os.kill(int(S["host"]), signal.SIGUSR1)
    return True


@attempt("host", "D", spawn="E")
def pidfd():
    return os.pidfd_open(int(S["host"])) >= 0


@attempt("host", "D", spawn="R")
def ptrace():
    return raw(101, 0x4206, int(S["host"]), 0, 0) == 0  # PTRACE_SEIZE


@attempt("host", "D")
def prlimit():
    import resource

    return bool(resource.prlimit(int(S["host"]), resource.RLIMIT_NOFILE))


@attempt("host", "B")
def nice():
    os.setpriority(os.PRIO_PROCESS, int(S["host"]), 5)
    return True


@attempt("kernel", "D")
def unshare():
    if libc().unshare(0x10000000):
        raise OSError(ctypes.get_errno(), "unshare")
    return True


@attempt("kernel", "E")
def setuid():
    other = 0 if os.getuid() else 1  # to stay who one is changes nothing
    os.setresuid(other, other, other)
    return True


@attempt("kernel", "D")
def int80():
    """getpid by the 32-bit entry."""
    import mmap

    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")
    return ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))() == os.getpid()


def main():
    if sys.argv[1:] == ["--list"]:
        for _, told in TABLE.values():
            print(json.dumps(told))
        return
    name = sys.argv[1]
    S.update(pair.split("=", 1) for pair in sys.argv[2:])
    verdict = {"name": name, "escaped": False, "errno": 0, "how": "python"}
    try:
        verdict["escaped"] = bool(TABLE[name][0]())
    except Exception as e:  # whatever a library makes of an errno
        verdict.update(errno=getattr(e, "errno", None) or 0, how=f"{type(e).__name__}: {e}")
    print(json.dumps(verdict), flush=True)


main()
