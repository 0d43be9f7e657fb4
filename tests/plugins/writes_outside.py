# SPDX-License-Identifier: Apache-2.0
"""Not a plugin: tries to write outside of the workspace that it runs in, in every way that it knows. Each way
that works is printed. Usage: writes_outside.py FILE, in a directory that may be written."""
import ctypes
import errno
import os
import sys

OUT = sys.argv[1]
PLACE = os.path.dirname(OUT)
HERE = os.getcwd()
LIBC = ctypes.CDLL(None, use_errno=True)


def write(path, flags=os.O_WRONLY, dir_fd=None):
    fd = os.open(path, flags, dir_fd=dir_fd)
    os.write(fd, b"changed")
    os.close(fd)


def by_link():
    os.symlink(OUT, "link")
    write("link")


def by_linked_directory():
    os.symlink(PLACE, "linked")
    write("linked/new", os.O_CREAT | os.O_WRONLY)


def by_rename():
    write("mine", os.O_CREAT | os.O_WRONLY)
    os.rename("mine", f"{PLACE}/moved")


def by_exchange():
    write("mine", os.O_CREAT | os.O_WRONLY)
    if LIBC.renameat2(-100, b"mine", -100, OUT.encode(), 2):
        raise OSError(ctypes.get_errno(), "renameat2")


def reopened(flags):
    write(f"/proc/self/fd/{os.open(OUT, flags)}")


def by_linked_descriptor():
    os.link(f"/proc/self/fd/{os.open(OUT, os.O_RDONLY)}", "again", follow_symlinks=True)


def by_directory(change):
    fd = os.open(PLACE, os.O_RDONLY | os.O_DIRECTORY)
    if change:
        os.fchdir(fd)
    try:
        write("new", os.O_CREAT | os.O_WRONLY, None if change else fd)
    finally:
        os.chdir(HERE)


def by_sendfile():
    write("mine", os.O_CREAT | os.O_WRONLY)
    os.sendfile(os.open(OUT, os.O_RDONLY), os.open("mine", os.O_RDONLY), 0, 7)


WAYS = {
    "open": lambda: write(OUT),
    "create": lambda: write(f"{PLACE}/new", os.O_CREAT | os.O_WRONLY),
    "truncate at open": lambda: os.open(OUT, os.O_RDONLY | os.O_TRUNC),
    "truncate": lambda: os.truncate(OUT, 0),
    "unnamed": lambda: write(PLACE, os.O_TMPFILE | os.O_WRONLY),
    "link": by_link,
    "linked directory": by_linked_directory,
    "hard link": lambda: os.link(OUT, "hard"),
    "linked descriptor": by_linked_descriptor,
    "rename in": lambda: os.rename(OUT, "taken"),
    "rename out": by_rename,
    "exchange": by_exchange,
    "reopened": lambda: reopened(os.O_RDONLY),
    "reopened handle": lambda: reopened(os.O_PATH),
    "directory handle": lambda: by_directory(False),
    "changed directory": lambda: by_directory(True),
    "sendfile": by_sendfile,
    "mode": lambda: os.chmod(OUT, 0o777),
    "times": lambda: os.utime(OUT, (1, 1)),
    "remove": lambda: os.unlink(OUT),
    "mkdir": lambda: os.mkdir(f"{PLACE}/directory"),
    "device": lambda: os.mknod("device", 0o60600, os.makedev(1, 1)),
    "memory of init": lambda: os.open("/proc/1/mem", os.O_RDONLY),
    "environment of init": lambda: os.open("/proc/1/environ", os.O_RDONLY),
}
for name, way in WAYS.items():
    try:
        way()
        print(name)
    except OSError as error:
        print(f"{name}: {errno.errorcode[error.errno]}", file=sys.stderr)
