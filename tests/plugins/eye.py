#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A plugin that looks at files for its host: what it sees, from inside, is what tests of the view ask about.

Plain dialect, one JSON-RPC message per line. Every method answers with a string; a failed system call
with "errno NAME".
"""
import errno
import json
import os
import sys

held = {}


def read(path):
    with open(path, "rb") as file:
        return file.read().decode("latin-1")


def stat(path):
    st = os.stat(path)
    return f"{st.st_dev} {st.st_ino}"


def listing(path):
    return " ".join(sorted(os.listdir(path)))


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return "written"


def remove(path):
    os.unlink(path)
    return "removed"


def link(path):
    return os.readlink(path)


def chdir(path):
    os.chdir(path)
    return os.getcwd()


def hold(path):
    held["fd"] = os.open(path, os.O_RDONLY)
    return "held"


def reread():
    return os.pread(held["fd"], 100, 0).decode("latin-1")


def many(path, count):
    """The bytes of path/0 ... path/count-1, all opened and read."""
    total = 0
    for n in range(count):
        fd = os.open(f"{path}/{n}", os.O_RDONLY)
        total += len(os.read(fd, 65536))
        os.close(fd)
    return str(total)


def who():
    with open("/proc/self/status", encoding="ascii") as file:
        lines = dict(line.split(":", 1) for line in file)
    return " ".join(
        [
            lines["CapEff"].strip(),
            lines["CapPrm"].strip(),
            lines["CapBnd"].strip() if os.getuid() == 0 else "-",
            str(os.getuid()),
            str(os.getgid()),
        ]
    )


METHODS = {
    "read": read,
    "stat": stat,
    "list": listing,
    "write": write,
    "remove": remove,
    "link": link,
    "chdir": chdir,
    "hold": hold,
    "reread": reread,
    "many": many,
    "who": who,
    "ping": lambda: "pong",
    "die": lambda: os._exit(3),
}


def answer(message):
    try:
        return METHODS[message["method"]](**message.get("params", {}))
    except OSError as error:
        return "errno " + errno.errorcode.get(error.errno, str(error.errno))


for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": answer(request)}), flush=True)
