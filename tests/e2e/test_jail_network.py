# SPDX-License-Identifier: Apache-2.0
"""network = ["HOST:PORT", ...]: real programs and real servers on loopback. What is in the list works as it
does without a jail, what is not is refused. The ways round it are in tests/jail; the table of addresses behind
"*" in tests/unit/policy."""
import json
import os
import shutil
import socket
import subprocess
import threading
import unittest

from levels import LEVELS, NO_GETFD, USERS, as_user, at_each_level
from refusing import DOCKER, NOT_HERE, refusing
from support import Case, LIMIT, MORTISE, PYTHON, ECHO

CURL, NODE = shutil.which("curl"), shutil.which("node")
VIOLATION = 9


class Server:
    """Answers each request on one port with "hello", as HTTP; counts them."""

    def __init__(self, family=socket.AF_INET, address="127.0.0.1"):
        self.socket = socket.socket(family)
        self.socket.bind((address, 0))
        self.socket.listen(64)
        self.port, self.hits = self.socket.getsockname()[1], 0
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                connection = self.socket.accept()[0]
            except OSError:
                return
            self.hits += 1
            with connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as s:
            s.bind(("::1", 0))
        return True
    except OSError:
        return False


BLOCKING = """
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as s:
    s.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
    print(s.makefile("rb").read().decode()[-5:])
"""
TIMED = BLOCKING.replace("int(sys.argv[2]))", "int(sys.argv[2])), timeout=300")
ASYNC = """
import asyncio, sys
async def main():
    async def one():
        reader, writer = await asyncio.open_connection(sys.argv[1], int(sys.argv[2]))
        writer.write(b"GET / HTTP/1.0\\r\\n\\r\\n")
        return (await reader.read()).decode()[-5:]
    told = await asyncio.gather(*[one() for _ in range(20)])
    print(told[0] if len(set(told)) == 1 else told)
asyncio.run(main())
"""
THREADS = """
import concurrent.futures, socket, sys
def one(_):
    with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as s:
        s.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
        return s.makefile("rb").read().decode()[-5:]
with concurrent.futures.ThreadPoolExecutor(20) as pool:
    told = set(pool.map(one, range(40)))
print(*told)
"""
URLLIB = "import sys, urllib.request; print(urllib.request.urlopen('http://%s:%s/' % tuple(sys.argv[1:])).read().decode())"
FETCH = "fetch(`http://${process.argv[1]}:${process.argv[2]}/`).then(r => r.text()).then(t => console.log(t))"


def clients(host, port):
    """Programs that print "hello"."""
    words = host, str(port)
    for code in (BLOCKING, TIMED, ASYNC, THREADS, URLLIB):
        yield [PYTHON, "-c", code, *words]
    if CURL:
        yield [CURL, "-q", "-sS", "-w", "\n", f"http://{host}:{port}/"]
    if NODE:
        yield [NODE, "-e", FETCH, *words]


@unittest.skipUnless(LEVELS, "this machine cannot confine")
@unittest.skipIf(NO_GETFD, NO_GETFD)
class Places(Case):
    def setUp(self):
        super().setUp()
        self.server, self.other = Server(), Server()
        self.addCleanup(self.server.close)
        self.addCleanup(self.other.close)

    def jail(self, level, *words, user=None):
        how = {**as_user(user), "cwd": "/" if user else self.dir}
        return subprocess.run(
            [str(MORTISE), "jail", "--on-denial=kill", "--level", level, *words],
            env={**self.env, "XDG_CONFIG_HOME": "/nonexistent"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
            **how,
        )

    @at_each_level
    def test_what_is_in_the_list_works(self, level):
        place = f"--network=127.0.0.1:{self.server.port}"
        for user in USERS:
            for argv in clients("127.0.0.1", self.server.port):
                done = self.jail(level, place, "--", *argv, user=user)
                self.assertEqual((done.returncode, done.stdout), (0, "hello\n"), (argv[0], done.stderr))

    @at_each_level
    def test_what_is_not_is_refused(self, level):
        place = f"--network=127.0.0.1:{self.server.port}"
        for user in USERS:
            for argv in clients("127.0.0.1", self.other.port):
                done = self.jail(level, place, "--", *argv, user=user)
                self.assertEqual((done.returncode, done.stdout), (VIOLATION, ""), (argv[0], done.stderr))
                self.assertIn(f"tried to connect to 127.0.0.1:{self.other.port}: ", done.stderr)
                self.assertIn(f"add --network=127.0.0.1:{self.other.port}", done.stderr)
        self.assertEqual(self.other.hits, 0)

    @at_each_level
    def test_a_star_is_not_this_machine(self, level):
        port = self.server.port
        done = self.jail(level, f"--network=*:{port}", "--", PYTHON, "-c", BLOCKING, "127.0.0.1", str(port))
        self.assertEqual(done.returncode, VIOLATION, done.stderr)
        self.assertEqual(self.server.hits, 0)

    @at_each_level
    def test_several_places(self, level):
        a, b = self.server.port, self.other.port
        for words in ([f"--network=127.0.0.1:{a},127.0.0.1:{b}"], [f"--network=127.0.0.1:{p}" for p in (a, b)]):
            for port in (a, b):
                done = self.jail(level, *words, "--", PYTHON, "-c", BLOCKING, "127.0.0.1", str(port))
                self.assertEqual((done.returncode, done.stdout), (0, "hello\n"), done.stderr)

    @unittest.skipUnless(has_ipv6(), "there is no ::1 here")
    @at_each_level
    def test_ipv6(self, level):
        server = Server(socket.AF_INET6, "::1")
        self.addCleanup(server.close)
        done = self.jail(
            level, f"--network=[::1]:{server.port}", "--", PYTHON, "-c", BLOCKING, "::1", str(server.port)
        )
        self.assertEqual((done.returncode, done.stdout), (0, "hello\n"), done.stderr)

    @at_each_level
    def test_errors_are_those_of_the_network(self, level):
        """Nobody listens; a queue that is full and a program that does not wait for ever."""
        closed = socket.socket()  # it does not listen, and keeps its port
        self.addCleanup(closed.close)
        closed.bind(("127.0.0.1", 0))
        nobody = closed.getsockname()[1]
        full = socket.socket()
        self.addCleanup(full.close)
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(4):
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex(full.getsockname())
            self.addCleanup(s.close)
        code = """
import errno, socket, struct, sys
def told(port, timeout=None, patience=None):
    s = socket.socket()
    s.settimeout(timeout)
    if patience:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, patience))
    try:
        s.connect(("127.0.0.1", port))
    except TimeoutError:
        return "timeout"
    except OSError as e:
        return errno.errorcode[e.errno]
closed, full = map(int, sys.argv[1:])
print(told(closed), told(closed, 300), told(full, 0.1), told(full, patience=100000), told(full, 0))
"""
        port = full.getsockname()[1]
        done = self.jail(
            level,
            f"--network=127.0.0.1:{nobody},127.0.0.1:{port}",
            "--",
            PYTHON,
            "-c",
            code,
            str(nobody),
            str(port),
        )
        self.assertEqual(
            (done.returncode, done.stdout),
            (0, "ECONNREFUSED ECONNREFUSED timeout EINPROGRESS EINPROGRESS\n"),
            done.stderr,
        )

    @unittest.skipUnless(has_ipv6(), "there is no ::1 here")
    @at_each_level
    def test_the_other_loopback(self, level):
        """Refused as if nobody listened: a program that tries both for "localhost" goes on to the right one."""
        code = """
import socket, sys
for place in "::1", "127.0.0.1":
    try:
        socket.create_connection((place, int(sys.argv[1]))).close()
        print(place, "connected")
    except ConnectionRefusedError:
        print(place, "refused")
"""
        port = self.server.port
        done = self.jail(level, f"--network=127.0.0.1:{port}", "--", PYTHON, "-c", code, str(port))
        self.assertEqual(
            (done.returncode, done.stdout, done.stderr), (0, "::1 refused\n127.0.0.1 connected\n", "")
        )

    @at_each_level
    def test_with_spawn(self, level):
        """A child connects; a socket that was made before the fork; all of it with the same list."""
        code = """
import os, socket, sys
s = socket.socket()
if os.fork() == 0:
    s.connect(("127.0.0.1", int(sys.argv[1])))
    os._exit(0)
assert os.wait()[1] == 0
s.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
print(s.makefile("rb").read().decode()[-5:], flush=True)
os.execv(sys.executable, [sys.executable, "-c", sys.argv[2], "127.0.0.1", sys.argv[1]])
"""
        done = self.jail(
            level,
            "--spawn",
            f"--network=127.0.0.1:{self.server.port}",
            "--",
            PYTHON,
            "-c",
            code,
            str(self.server.port),
            BLOCKING,
        )
        self.assertEqual((done.returncode, done.stdout), (0, "hello\nhello\n"), done.stderr)

    @at_each_level
    def test_all_of_the_network(self, level):
        """Bind is done by the guardian, then: servers, and the list of interfaces, work."""
        code = """
import socket
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
server.accept()[0].sendall(b"hello")
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("127.0.0.1", 0))
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", udp.getsockname())
print(client.recv(5).decode(), udp.recv(1).decode(), "lo" in [name for _, name in socket.if_nameindex()])
try:
    server.bind(("127.0.0.1", 0))
except OSError as e:
    print(e.errno == 22)
"""
        for user in USERS:
            done = self.jail(level, "--network", "--", PYTHON, "-c", code, user=user)
            self.assertEqual((done.returncode, done.stdout), (0, "hello x True\nTrue\n"), done.stderr)


@unittest.skipUnless("t0" in LEVELS, "this machine has no t0")
@unittest.skipIf(NOT_HERE, NOT_HERE)
class Refused(Case):
    """Where a container refuses what connections need: said at the start, not met by the program."""

    def jail(self, *words):
        return subprocess.run(
            [str(MORTISE), "jail", *words, "--", "/bin/true"],
            preexec_fn=refusing(DOCKER),
            env=self.env,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )

    def test_list(self):
        done = self.jail("--network=127.0.0.1:80")
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertRegex(
            done.stderr,
            r"^jail: .*network = \[\.\.\.\] needs pidfd_getfd, which is refused here; see mortise doctor",
        )

    def test_all_or_nothing(self):
        for words in ([], ["--network"]):
            self.assertEqual(self.jail(*words).returncode, 0)


@unittest.skipUnless(LEVELS and shutil.which("unshare"), "this machine cannot confine, or has no unshare(1)")
class Names(Case):
    """Looked up outside, found in a /etc/hosts of their own. The machine's is replaced by one of ours, for us
    only: so no name service is asked."""

    def setUp(self):
        super().setUp()
        self.server = Server()
        self.addCleanup(self.server.close)
        self.hosts = self.file(
            "hosts",
            "127.0.0.1 localhost loop.test\n10.0.0.7 office.test\n1.2.3.4 public.test\n169.254.169.254 meta.test\n",
        )
        trial = self.with_hosts("/bin/true")
        if trial.returncode:
            self.skipTest(f"/etc/hosts cannot be replaced here: {trial.stderr}")

    def with_hosts(self, *argv):
        user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        return subprocess.run(
            [
                "unshare",
                *user,
                "--mount",
                "sh",
                "-c",
                'mount --bind "$0" /etc/hosts && exec "$@"',
                self.hosts,
                *argv,
            ],
            env=self.env,
            cwd=self.dir,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )

    def jail(self, level, *words):
        return self.with_hosts(str(MORTISE), "jail", "--on-denial=kill", "--level", level, *words)

    @at_each_level
    def test_a_name_is_known(self, level):
        port = self.server.port
        for name, place in (
            ("loop.test", f"loop.test:{port},127.0.0.1:{port}"),
            ("localhost", f"127.0.0.1:{port}"),
        ):
            for argv in clients(name, port):
                done = self.jail(level, f"--network={place}", "--", *argv)
                self.assertEqual((done.returncode, done.stdout), (0, "hello\n"), (argv, done.stderr))

    @at_each_level
    def test_no_other_name_is(self, level):
        """Nor is any byte of the machine's own list; asking for one is no violation, as there is no service."""
        code = """
import socket, sys
for name in sys.argv[1:]:
    try:
        print(name, sorted({a[4][0] for a in socket.getaddrinfo(name, 80)}))
    except socket.gaierror:
        print(name, "unknown")
print(open("/etc/hosts").read(), end="")
"""
        done = self.jail(
            level,
            "--network=public.test:80,*:443",
            "--",
            PYTHON,
            "-c",
            code,
            "public.test",
            "office.test",
            "x.test",
        )
        self.assertEqual(
            (done.returncode, done.stdout),
            (0, "public.test ['1.2.3.4']\noffice.test unknown\nx.test unknown\n1.2.3.4\tpublic.test\n"),
            done.stderr,
        )

    def test_several_ports_of_a_name(self):
        places = "public.test:80,public.test:443,localhost:80,localhost:81,127.0.0.1:82"
        done = self.jail("auto", f"--network={places}", "--", "/bin/cat", "/etc/hosts")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(done.stdout.splitlines()), ["1.2.3.4\tpublic.test", "127.0.0.1\tlocalhost"])

    @at_each_level
    def test_a_name_leads_to_public_addresses(self, level):
        for name, address in (
            ("office.test", "10.0.0.7"),
            ("meta.test", "169.254.169.254"),
            ("loop.test", "127.0.0.1"),
        ):
            done = self.jail(level, f"--network={name}:80", "--", "/bin/true")
            self.assertEqual(done.returncode, 125, done.stderr)
            self.assertIn(f'{name} leads to {address}:80, which is not a public address', done.stderr)
            self.assertIn(f'add "{address}:80"', done.stderr)
            done = self.jail(level, f"--network={name}:80,{address}:80", "--", "/bin/true")
            self.assertEqual(done.returncode, 0, done.stderr)


class Words(Case):
    def test_usage(self):
        for words, text in (
            (
                ["--network=somewhere"],
                "network is \"somewhere\": it must be true, false, or a list of HOST:PORT",
            ),
            (["--network=a:1,b"], 'network is "b"'),
            (["--network=*:0"], 'network is "*:0"'),
            (["--network=::1:80"], 'network is "::1:80"'),
            (["--network="], 'network is ""'),
            (["--network", "--network=127.0.0.1:80"], "--network alone grants every host"),
        ):
            self.assertIn(text, self.fails(125, "usage", "jail", *words, "--", "true").err)
            self.assertIn(text, self.fails(2, "usage", "info", *words, "--", str(ECHO)).err)

    @unittest.skipIf(NO_GETFD, NO_GETFD)
    def test_settings(self):
        toml = self.dir / "plugin" / "mortise.toml"
        toml.parent.mkdir()
        command = f'[plugin]\ncommand = ["{PYTHON}", "{ECHO}"]\n[sandbox]\nread = ["{ECHO.parent}"]\n'
        for value, told in (
            ('["127.0.0.1:80", "*:443"]', ["127.0.0.1:80", "*:443"]),
            ('"127.0.0.1:80"', ["127.0.0.1:80"]),
            ("[]", False),
            ("true", True),
            ("false", False),
        ):
            toml.write_text(f"{command}network = {value}\n")
            self.assertEqual(self.policy(str(toml.parent))["network"], told)
        toml.write_text(f"{command}network = [1]\n")
        self.assertIn(
            "sandbox.network is [1]: it must be true, false or an array of strings",
            self.fails(3, "manifest", "info", str(toml.parent)).err,
        )
        toml.write_text(f'{command}network = ["x"]\n')
        self.assertIn('sandbox.network is "x"', self.fails(3, "manifest", "info", str(toml.parent)).err)

    def policy(self, *words):
        done = self.run_mortise("info", "--json", *words)
        self.assertEqual(done.code, 0, done.err)
        return json.loads(done.out)["confinement"]["policy"]

    @unittest.skipIf(NO_GETFD, NO_GETFD)
    def test_options(self):
        for words, told in (
            (["--network=127.0.0.1:80", "--network=[::1]:81"], ["127.0.0.1:80", "[::1]:81"]),
            (["--set", "sandbox.network=127.0.0.1:80,*:443"], ["127.0.0.1:80", "*:443"]),
            (["--set", 'sandbox.network=["127.0.0.1:80"]'], ["127.0.0.1:80"]),
            (["--network"], True),
            (["--confine"], False),
        ):
            policy = self.policy(*words, "--", PYTHON, str(ECHO))
            self.assertEqual(policy["network"], told)
            self.assertNotEqual(policy["level"], "guarded")

    def test_names_that_do_not_exist(self):
        if not LEVELS:
            self.skipTest("this machine cannot confine")
        done = self.run_mortise("jail", "--network=no-such-name.invalid:80", "--", "/bin/true")
        self.assertEqual(done.code, 125)
        self.assertIn("network: no-such-name.invalid: ", done.err)


if __name__ == "__main__":
    unittest.main()
