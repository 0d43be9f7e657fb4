#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Standard input and output: what disturbs the wire, the first bytes, --manifest, a terminal."""
import json
import os
import pty
import subprocess
import tomllib
import unittest

from support import LIMIT, Case, environment

NOISY = """
    import os, subprocess, sys
    print("before run")
    from tenon import Plugin

    plugin = Plugin("noisy", "1.0.0", dialect="plain")

    @plugin.method
    def noise() -> str:
        print("print")
        sys.stdout.write("write")
        os.write(1, b"os.write\\n")
        subprocess.run(["sh", "-c", "echo child; cat"])
        return repr(sys.stdin.read())

    @plugin.method
    def crash():
        raise ValueError("crashed")

    @plugin.method
    def descriptors() -> list:
        done = subprocess.run(["ls", "/proc/self/fd"], stdout=subprocess.PIPE, close_fds=False)
        return done.stdout.decode().split()

    plugin.run()
"""
ALL = """
    from tenon import Plugin

    plugin = Plugin("all", "1.0.0", "Of everything", permissions={"network": True})

    @plugin.command
    def greet(name: str = "you") -> str:
        "Greets. Always."
        return "Hello " + name

    @plugin.hook
    def after_build():
        "Looks at the build."

    @plugin.extractor(formats=["text/x-all"], extensions=["all"])
    def extract(data):
        return data.decode()

    @plugin.handler("hello")
    def hello():
        return "hi"

    @plugin.method
    def version() -> str:
        return "1"

    plugin.run()
"""


class Disturbed(Case):
    def test_nothing_of_it_is_on_the_wire(self):
        host = self.plugin(NOISY.replace('print("before run")', ""))
        self.assertEqual(host.call("noise"), "''")  # stdin is empty, for children too
        self.assertEqual(host.call("noise"), "''")
        for word in ("print", "write", "os.write", "child"):
            self.assertIn(word, host.stderr)

    def test_the_wire_is_not_inherited(self):
        host = self.plugin(NOISY.replace('print("before run")', ""))
        self.assertLessEqual(len(host.call("descriptors")), 4)  # 0, 1, 2, and ls's own

    def test_stderr_is_the_wire(self):
        """2>&1: what goes to stderr would stand between the frames, so it goes nowhere."""
        path = self.write(NOISY.replace('print("before run")', ""))
        lines = '{"id":1,"method":"noise"}\n{"id":2,"method":"crash"}\n'
        done = subprocess.run(
            ["/usr/bin/python3", str(path)],
            input=lines.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment(),
            timeout=LIMIT,
        )
        self.assertEqual([json.loads(line)["id"] for line in done.stdout.splitlines()], [1, 2])

    def test_descriptors_that_are_closed(self):
        path = self.write(NOISY.replace('print("before run")', ""))
        for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            done = subprocess.run(
                ["sh", "-c", 'echo \'{"id":1,"method":"noise"}\' | /usr/bin/python3 "$0" ' + closed, str(path)],
                capture_output=True,
                env=environment(),
                timeout=LIMIT,
            )
            self.assertEqual(done.returncode, 0, (closed, done.stderr))


class FirstBytes(Case):
    def first(self, data, **more):
        done = subprocess.run(
            ["/usr/bin/python3", str(self.write(ALL))],
            input=data,
            capture_output=True,
            env=environment(**more),
            timeout=LIMIT,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_the_dialect_is_known_by_them(self):
        line = lambda method: b'{"jsonrpc":"2.0","id":1,"method":"%s"}\n' % method
        ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
        run = b'{"id":1,"method":"sunscreen.command/run","params":{"command":"greet","kind":"app","args":["Ada"]}}'
        for data, wanted in (
            (line(b"handshake.manifest"), b"content_extractor_v1"),
            (line(b"plugin.health"), b'"status":"ok"'),
            (line(b"metadata"), b'"commands":[{"name":"greet"'),
            (line(b"commands"), b'{"scaffold":{"greet":"Greets. Always."},"hook":{"after_build"'),
            (line(b"version"), b'"result":"1"'),
            (line(b"greet"), b'"result":"Hello you"'),
            (len(ping).to_bytes(4, "big") + ping, b'"result":{}'),
            (b"content-LENGTH: %d\r\n\r\n%s" % (len(run), run), b'"summary":"Hello Ada"'),
        ):
            with self.subTest(data=data):
                self.assertIn(wanted, self.first(data))
        self.assertEqual(self.first(b""), b"")

    def test_the_environment_wins(self):
        said = self.first(b'{"id":1,"method":"commands"}\n', MORTISE_DIALECT="plain")
        self.assertIn(b"-32601", said)


class Manifests(Case):
    def made(self, dialect):
        path = self.write(ALL)
        done = subprocess.run(
            ["/usr/bin/python3", str(path), "--manifest", dialect],
            capture_output=True,
            env=environment(),
            timeout=LIMIT,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode()

    def test_each(self):
        yams = json.loads(self.made("yams"))
        self.assertEqual(yams["capabilities"]["content_extraction"]["extensions"], [".all"])
        self.assertEqual(yams["entry"], {"cmd": ["python3", "${plugin_dir}/plugin.py"]})
        gassist = json.loads(self.made("gassist"))
        self.assertEqual(gassist["functions"][0]["properties"]["name"], {"type": "string", "default": "you"})
        sunscreen = tomllib.loads(self.made("sunscreen"))
        self.assertEqual(
            sunscreen["permissions"], {"workspace_write": True, "network": True, "declared_paths": []}
        )
        self.assertEqual(sunscreen["commands"]["hook"], {"after_build": "Looks at the build."})
        own = json.loads(self.made("sunscreen-json"))
        self.assertEqual(own["commands"], [{"name": "greet", "kind": "app", "summary": "Greets. Always."}])
        self.assertEqual(tomllib.loads(self.made("plain"))["plugin"]["dialect"], "plain")


class Terminal(Case):
    def test_it_says_what_it_waits_for(self):
        host, own = pty.openpty()
        process = subprocess.Popen(
            ["/usr/bin/python3", str(self.write(ALL))],
            stdin=own,
            stdout=own,
            stderr=subprocess.PIPE,
            env=environment(),
        )
        os.close(own)
        line = process.stderr.readline()
        self.assertRegex(line, rb"^all waits for a host on stdin; try: mortise info .*plugin\.py\n")
        os.write(host, b"\x04")  # end of input
        self.assertEqual(process.wait(LIMIT), 0)
        process.stderr.close()
        os.close(host)


if __name__ == "__main__":
    unittest.main()
