# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL of our own: as an ordinary user, in a private directory, on a unix socket. And what is done with
a farm on it."""
import glob
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile
import unittest

import events
from support import LIMIT, MORTISE


def programs():
    """The directory of initdb and postgres, or None."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    return os.path.dirname(found[-1]) if found else None


BIN = programs()
PSQL = [f"{BIN}/psql", "-X", "-q", "-A", "-t"]  # the one in /usr/bin is a script, ten times as slow
NO_POSTGRES = None if BIN else "PostgreSQL is not installed: on Debian, postgresql"
if not NO_POSTGRES and not MORTISE.with_name("mortise-farm").exists():
    NO_POSTGRES = "this build has no farms: libpq-dev was not there"
if not NO_POSTGRES:
    try:
        NOBODY = pwd.getpwnam("nobody") if os.getuid() == 0 else None  # initdb refuses root
    except KeyError:
        NO_POSTGRES = "initdb refuses root, and there is no user nobody"


class Postgres:
    """A server. kill() is kill -9 of all its processes; start() starts it again."""

    def __init__(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="mortise-pg-"))
        self.data = self.dir / "data"
        self.as_user = {}
        self.process, self.databases = None, 0
        if NOBODY:
            os.chown(self.dir, NOBODY.pw_uid, NOBODY.pw_gid)
            self.as_user = {"user": NOBODY.pw_uid, "group": NOBODY.pw_gid, "extra_groups": []}
        self.dir.chmod(0o755)
        subprocess.run(
            [f"{BIN}/initdb", "-D", self.data, "-U", "farm", "-A", "trust", "-N", "-E", "UTF8", "--locale=C"],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=self.dir,
            **self.as_user,
        )
        self.start()

    def start(self, *settings):
        with open(self.dir / "log", "ab") as log:
            self.process = subprocess.Popen(
                [f"{BIN}/postgres", "-D", self.data, "-k", self.dir, "-h", "", "-c", "fsync=off", *settings],
                stdout=subprocess.DEVNULL,
                stderr=log,
                cwd=self.dir,
                start_new_session=True,
                **self.as_user,
            )
        events.until(self.is_ready, self.dir, self.data, process=self.process)

    def is_ready(self):
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        return len(lines) > 7 and lines[0] == str(self.process.pid) and lines[7].strip() == "ready"

    def kill(self):
        """kill -9 of the server and of all its processes; they are gone when this returns."""
        pid = self.process.pid
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for each in [pid, *map(int, children)]:
            try:
                os.kill(each, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        events.until_ended(map(int, children))

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)  # a fast end
            self.process.wait(LIMIT)

    def remove(self):
        self.stop()
        shutil.rmtree(self.dir)

    def url(self, database, user="farm"):
        return f"postgres://{user}@/{database}?host={self.dir}"

    def sql(self, text, database="postgres", user="farm"):
        done = subprocess.run(
            [*PSQL, "-v", "ON_ERROR_STOP=1", "-d", self.url(database, user), "-c", text],
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout.strip()

    def database(self):
        """A new one; its name."""
        self.databases += 1
        name = f"d{self.databases}"
        self.sql(f"create database {name}")
        return name


class FarmMixin:
    """For a Case with setUp(): a database with a farm, and a store. There is one server."""

    postgres = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not FarmMixin.postgres:
            FarmMixin.postgres = Postgres()
            unittest.addModuleCleanup(FarmMixin.remove_server)

    @staticmethod
    def remove_server():
        FarmMixin.postgres.remove()
        FarmMixin.postgres = None

    def setUp(self):
        super().setUp()
        self.database = self.postgres.database()
        self.url = self.postgres.url(self.database)
        self.store = self.dir / "store"
        self.store.mkdir()
        self.assertEqual(self.run_mortise("farm", "init", self.url, "--store", self.store).code, 0)

    def sql(self, text, **how):
        return self.postgres.sql(text, self.database, **how)

    def until_batches(self, condition):
        """Until the table of batches is so. A server tells nobody what others do: it looks again and again."""
        self.sql(
            "do $$ begin loop"
            f"  exit when (select {condition} from mortise_farm.batch);"
            "  perform pg_sleep(0.01);"
            " end loop; end $$"
        )

    def spawn(self, *words, **how):
        """A process of the command in the background; killed at the end of the test, if it still runs."""
        process = subprocess.Popen(
            [str(MORTISE), *map(str, words)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=how.pop("stderr", subprocess.DEVNULL),
            env={**self.env, **how.pop("env", {})},
            cwd=self.dir,
            **how,
        )
        self.addCleanup(self.reap, process)
        return process

    @staticmethod
    def reap(process):
        if process.poll() is None:
            process.kill()
        process.wait()
