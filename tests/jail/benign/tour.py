# SPDX-License-Identifier: Apache-2.0
"""A tour of the standard library by a plugin that means no harm: nothing of it may look like an escape.

Prints `ok NAME` or `FAILED NAME: why`; exits with 1 if any failed. The working directory is the workspace.
"""
import os
import sys
import tempfile

CASES = []


def case(fn):
    CASES.append(fn)
    return fn


@case
def json_round_trip():
    import json

    assert json.loads(json.dumps({"a": [1, 2.5, None, "ü"]}))["a"][3] == "ü"


@case
def read_workspace():
    with open("data.txt") as f:
        assert f.read() == "data\n"


@case
def flags_as_asked():
    import fcntl

    for name in ("data.txt", os.path.abspath("data.txt"), os.path.abspath("sub"), os.__file__, "/lib"):
        for flags in (os.O_RDONLY, os.O_RDONLY | os.O_NONBLOCK):
            fd = os.open(name, flags)
            assert fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_NONBLOCK == flags & os.O_NONBLOCK, name
            os.close(fd)


@case
def list_workspace():
    assert "data.txt" in os.listdir(".")


@case
def walk_workspace():
    assert any("file.txt" in files for _, _, files in os.walk("."))


@case
def glob_workspace():
    import glob

    assert glob.glob("**/file.txt", recursive=True)


@case
def pathlib_workspace():
    import pathlib

    assert (pathlib.Path.cwd() / "sub" / "deep" / "file.txt").resolve().is_file()


@case
def missing_file():
    try:
        open("no-such-file")
    except FileNotFoundError:
        return
    raise AssertionError("it is there")


@case
def missing_outside():
    try:
        open("/nonexistent/mortise.conf")
    except FileNotFoundError:
        return
    raise AssertionError("it is there")


@case
def scratch_file():
    with tempfile.NamedTemporaryFile("w+") as f:
        f.write("x")
        f.flush()
        assert os.path.getsize(f.name) == 1


@case
def scratch_directory():
    with tempfile.TemporaryDirectory() as d:
        os.mkdir(os.path.join(d, "a"))
        os.rename(os.path.join(d, "a"), os.path.join(d, "b"))
        assert os.listdir(d) == ["b"]


@case
def scratch_anonymous():
    with tempfile.TemporaryFile() as f:
        f.write(b"x" * 100000)


@case
def mmap_file():
    import mmap

    with open("data.txt", "rb") as f, mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as m:
        assert m[:4] == b"data"


@case
def sqlite_memory():
    import sqlite3

    assert sqlite3.connect(":memory:").execute("select 1 + 1").fetchone() == (2,)


@case
def sqlite_scratch():
    import sqlite3

    with tempfile.TemporaryDirectory() as d:
        db = sqlite3.connect(os.path.join(d, "x.db"))
        db.execute("create table t (x)")
        db.executemany("insert into t values (?)", [(i,) for i in range(100)])
        db.commit()
        assert db.execute("select count(*) from t").fetchone() == (100,)
        db.close()


@case
def threads():
    import threading

    seen = []
    all_ = [threading.Thread(target=seen.append, args=(i,)) for i in range(8)]
    for t in all_:
        t.start()
    for t in all_:
        t.join()
    assert len(seen) == 8


@case
def thread_pool():
    import concurrent.futures

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(lambda x: x * x, range(10))) == 285


@case
def asyncio_sleep():
    import asyncio

    async def main():
        await asyncio.gather(*(asyncio.sleep(0.001) for _ in range(10)))
        return 1

    assert asyncio.run(main()) == 1


@case
def asyncio_thread():
    import asyncio

    async def main():
        return await asyncio.to_thread(os.getpid)

    assert asyncio.run(main()) == os.getpid()


@case
def signals():
    import signal

    seen = []
    signal.signal(signal.SIGUSR1, lambda *_: seen.append(1))
    os.kill(os.getpid(), signal.SIGUSR1)
    signal.raise_signal(signal.SIGUSR1)
    assert seen == [1, 1]


@case
def timer():
    import signal

    seen = []
    signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    signal.pause()
    assert seen


@case
def selectors_pipe():
    import selectors

    r, w = os.pipe()
    s = selectors.DefaultSelector()
    s.register(r, selectors.EVENT_READ)
    os.write(w, b"x")
    assert s.select(1)


@case
def socket_pair():
    import socket

    a, b = socket.socketpair()
    a.sendall(b"hello")
    assert b.recv(10) == b"hello"


@case
def time_zones():
    import datetime
    import zoneinfo

    datetime.datetime.now(datetime.timezone.utc)
    try:
        assert zoneinfo.ZoneInfo("Europe/Berlin").utcoffset(datetime.datetime(2024, 7, 1)).seconds == 7200
    except zoneinfo.ZoneInfoNotFoundError:
        pass  # no tzdata on this machine


@case
def local_time():
    import time

    assert time.strftime("%Y", time.localtime()) >= "2024"


@case
def locale_default():
    import locale

    locale.setlocale(locale.LC_ALL, "")
    locale.getpreferredencoding()


@case
def random_bytes():
    import random
    import secrets

    assert len(secrets.token_bytes(16)) == 16 and random.SystemRandom().random() < 1
    with open("/dev/urandom", "rb") as f:
        assert len(f.read(8)) == 8


@case
def uuid4():
    import uuid

    assert uuid.uuid4().version == 4


@case
def hashes():
    import hashlib

    assert hashlib.sha256(b"x").hexdigest().startswith("2d711642")
    assert hashlib.scrypt(b"x", salt=b"y", n=16, r=1, p=1)


@case
def compression():
    import bz2
    import gzip
    import lzma
    import zlib

    for module in (bz2, gzip, lzma, zlib):
        assert module.decompress(module.compress(b"x" * 1000)) == b"x" * 1000


@case
def archives():
    import io
    import tarfile
    import zipfile

    buf = io.BytesIO()
    with zipfile.ZipFile(buf, "w") as z:
        z.write("data.txt")
    with tarfile.open(fileobj=io.BytesIO(), mode="w") as t, open("data.txt", "rb") as f:
        entry = tarfile.TarInfo(
            "data.txt"
        )  # add() would look the owner up in /etc/passwd: a violation, and meant so
        entry.size = 5
        t.addfile(entry, f)
    assert zipfile.ZipFile(buf).namelist() == ["data.txt"]


@case
def xml_and_html():
    import html.parser
    import xml.etree.ElementTree as et

    assert et.fromstring("<a><b/></a>")[0].tag == "b" and html.unescape("&lt;") == "<"


@case
def config_files():
    import configparser
    import csv
    import tomllib

    configparser.ConfigParser().read_string("[a]\nb=1\n")
    assert tomllib.loads("a = 1")["a"] == 1 and list(csv.reader(["a,b"])) == [["a", "b"]]


@case
def mime_types():
    import mimetypes

    assert mimetypes.guess_type("x.html")[0] == "text/html"


@case
def ssl_context():
    import ssl

    ssl.create_default_context()


@case
def http_modules():
    import email.message
    import http.client
    import urllib.parse

    assert http.client.HTTPConnection("localhost") and email.message.EmailMessage() is not None
    assert urllib.parse.urlparse("http://a/b").path == "/b"


@case
def subprocess_import():
    import multiprocessing
    import subprocess

    assert subprocess.PIPE == -1 and multiprocessing.cpu_count() > 0


@case
def system_facts():
    import platform
    import resource
    import shutil

    assert (
        platform.machine() and os.cpu_count() and os.getloadavg() and resource.getrusage(resource.RUSAGE_SELF)
    )
    assert shutil.which("python3") or True
    shutil.disk_usage(".")
    os.sched_getaffinity(0)


@case
def home_directory():
    home = os.path.expanduser("~")
    with open(os.path.join(home, ".plugin-state"), "w") as f:
        f.write("x")
    os.unlink(os.path.join(home, ".plugin-state"))


@case
def user_name():
    import getpass

    assert getpass.getuser()


@case
def own_proc():
    for name in ("maps", "status", "stat", "cmdline", "statm", "limits"):
        with open(f"/proc/self/{name}") as f:
            assert f.read(16)
    assert os.listdir("/proc/self/fd")
    with open("/proc/meminfo") as f:
        assert f.read(16)


@case
def devices():
    with open("/dev/null", "w") as f:
        f.write("x")
    with open("/dev/zero", "rb") as f:
        assert f.read(4) == bytes(4)


@case
def standard_streams():
    with open("/dev/stdin") as f:
        f.read()
    for name in ("/dev/stdout", "/dev/stderr", "/proc/self/fd/2"):
        with open(name, "a") as f:
            f.write("")


@case
def importing_much():
    # fmt: off
    import argparse, ast, cProfile, collections, contextlib, ctypes, curses, dataclasses, decimal
    import difflib, dis, doctest, enum, fileinput, fractions, ftplib, getopt, gettext, heapq
    import imaplib, importlib.metadata, inspect, ipaddress, itertools, linecache, logging.handlers
    import netrc, numbers, operator, optparse, pdb, pickle, pprint, profile, queue, re, sched
    import shelve, shlex, smtplib, socketserver, statistics, string, struct, sysconfig, textwrap
    import trace, traceback, tracemalloc, types, typing, unicodedata, unittest, venv, warnings, wave
    import weakref, xmlrpc.client
    # fmt: on
    assert sysconfig.get_paths()


@case
def ctypes_libc():
    import ctypes

    assert ctypes.CDLL(None).getpid() == os.getpid()


@case
def logging_to_stderr():
    import logging

    logging.basicConfig(level=logging.ERROR)
    logging.getLogger("tour").debug("not shown")


@case
def traceback_text():
    import traceback

    try:
        raise ValueError("x")
    except ValueError:
        assert "ValueError" in traceback.format_exc()


@case
def memory():
    import resource

    assert len(bytearray(32 << 20)) == 32 << 20 and resource.getrlimit(resource.RLIMIT_NOFILE)


@case
def many_opens():
    for _ in range(200):
        with open("data.txt") as f:
            f.read()


def main():
    failed = 0
    for fn in CASES:
        try:
            fn()
            print("ok", fn.__name__, flush=True)
        except BaseException as e:
            failed += 1
            print(f"FAILED {fn.__name__}: {type(e).__name__}: {e}", flush=True)
    print("done", flush=True)
    sys.exit(1 if failed else 0)


main()
