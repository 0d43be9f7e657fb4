# SPDX-License-Identifier: Apache-2.0
"""The wire of the Node package is private, whatever stdin, stdout and stderr are: pipes, files, sockets,
terminals, or pipes of another user."""
import json
import os
import pathlib
import pty
import socket
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
PUPPET = ["node", str(HERE / "puppet.mjs")]
LIMIT = 300  # seconds: only to end what hangs
NOISE = {"module", "console", "stdout", "spawnSync", "execFileSync", "execSync", "spawn", "descriptor"}


def line(method, ident=1, **params):
    return (json.dumps({"jsonrpc": "2.0", "id": ident, "method": method, "params": params}) + "\n").encode()


ASKED = line("noise") + line("pipe", 2) + line("echo", 3, text="é")
ANSWERS = [(1, "quiet"), (2, "from a child"), (3, {"text": "é"})]


class Wire(unittest.TestCase):
    maxDiff = None

    def plugin(self, stdin, stdout, stderr, **environment):
        env = {key: value for key, value in os.environ.items() if key != "MORTISE_DIALECT"}
        env.update(environment)
        process = subprocess.Popen(PUPPET, stdin=stdin, stdout=stdout, stderr=stderr, env=env)
        self.addCleanup(process.wait, LIMIT)
        self.addCleanup(process.kill)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                self.addCleanup(stream.close)
        return process

    def check(self, out, err, noise=NOISE):
        answers = [json.loads(text) for text in out.decode().splitlines()]
        self.assertEqual([(answer["id"], answer["result"]) for answer in answers], ANSWERS, err)
        heard = {text[7:] for text in err.decode().splitlines() if text.startswith("noise: ")}
        self.assertEqual(heard, noise)

    def test_pipes(self):
        for environment in ({}, {"MORTISE_DIALECT": "plain"}):
            process = self.plugin(subprocess.PIPE, subprocess.PIPE, subprocess.PIPE, **environment)
            out, err = process.communicate(ASKED, LIMIT)
            self.check(out, err)
            self.assertEqual(process.returncode, 0)

    def test_files(self):
        with tempfile.TemporaryDirectory() as where:
            asked = pathlib.Path(where, "in")
            asked.write_bytes(b"not for you\n" + ASKED)
            with open(asked, "rb", 0) as given, open(where + "/out", "wb") as out, open(
                where + "/err", "wb"
            ) as err:
                given.seek(12)  # somebody has read a part of it
                out.write(b"before\n")
                out.flush()
                err.write(b"noise: \n")
                err.flush()
                self.assertEqual(self.plugin(given, out, err).wait(LIMIT), 0)
            before, out = pathlib.Path(where, "out").read_bytes().split(b"\n", 1)
            self.assertEqual(before, b"before")
            self.check(out, pathlib.Path(where, "err").read_bytes(), NOISE | {""})

    def test_null(self):
        with open(os.devnull, "r+b") as null:
            self.assertEqual(self.plugin(null, null, null).wait(LIMIT), 0)

    def sockets(self, stderr):
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                process = self.plugin(theirs, theirs, stderr, PUPPET_SOCKET="1")
            ours.settimeout(LIMIT)
            ours.sendall(ASKED)
            ours.shutdown(socket.SHUT_WR)
            out = b"".join(iter(lambda: ours.recv(65536), b""))
        self.assertEqual(process.wait(LIMIT), 0)
        return out, process

    def test_socket(self):
        """A host that uses Node or libuv gives sockets. Only a bare write to descriptor 1 could
        disturb them."""
        out, process = self.sockets(subprocess.PIPE)
        self.check(out, process.stderr.read(), NOISE - {"descriptor"})

    def test_all_sockets(self):
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                out, _ = self.sockets(theirs)
            ours.settimeout(LIMIT)
            self.check(out, b"".join(iter(lambda: ours.recv(65536), b"")), NOISE - {"descriptor"})

    def test_stderr_is_a_socket(self):
        """It cannot be opened anew: what children print is led to it all the same; what is written to
        descriptor 1 is lost, which disturbs nobody."""
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                process = self.plugin(subprocess.PIPE, subprocess.PIPE, theirs)
            out, _ = process.communicate(ASKED, LIMIT)
            ours.settimeout(LIMIT)
            self.check(out, b"".join(iter(lambda: ours.recv(65536), b"")), NOISE - {"descriptor"})

    def test_terminal(self):
        """A person who starts it is told in one line what it waits for."""
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        process = self.plugin(theirs, subprocess.PIPE, subprocess.PIPE)
        os.close(theirs)
        hint = process.stderr.readline()
        while b"noise" in hint or b"start" in hint:
            hint = process.stderr.readline()
        self.assertRegex(
            hint.decode(), r"^puppet: .*waits for a host.*mortise (call|run) .* -- node .*puppet\.mjs$"
        )
        os.write(ours, line("echo", 1, a=1) + b"\x04")
        self.assertEqual(json.loads(process.stdout.readline()), {"jsonrpc": "2.0", "id": 1, "result": {"a": 1}})
        self.assertEqual(process.wait(LIMIT), 0)

    @unittest.skipIf(os.getuid() != 0, "only root can be somebody else")
    def test_pipes_of_another_user(self):
        """/proc/self/fd cannot be opened then: the wire stays where it is."""
        process = subprocess.Popen(
            PUPPET,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            user="nobody",
            env={**os.environ, "PUPPET_SOCKET": "1"},
        )
        out, err = process.communicate(ASKED, LIMIT)
        if b"EACCES" in err or b"Cannot find module" in err:
            self.skipTest("nobody cannot read the tree")
        self.check(out, err, NOISE - {"descriptor"})

    def test_manifest_goes_to_stdout(self):
        done = subprocess.run([*PUPPET, "--manifest", "plain"], capture_output=True, timeout=LIMIT, check=True)
        self.assertIn(b'dialect = "plain"', done.stdout)
        self.assertNotIn(b"noise", done.stdout)

    def test_manifest_in_a_file_that_others_write_too(self):
        with tempfile.TemporaryFile() as file:
            file.write(b"# before\n")
            file.flush()
            subprocess.run([*PUPPET, "--manifest", "plain"], stdout=file, timeout=LIMIT, check=True)
            file.write(b"# after\n")
            file.seek(0)
            text = file.read()
        self.assertTrue(text.startswith(b"# before\n[plugin]\n"), text)
        self.assertTrue(text.endswith(b"]\n# after\n"), text)

    def test_who_does_not_run_prints_as_ever(self):
        text = f'import {{ Plugin }} from "{HERE.parents[2]}/sdk/node/index.js"; console.log("to stdout")'
        done = subprocess.run(
            ["node", "--input-type=module", "-e", text], capture_output=True, timeout=LIMIT, check=True
        )
        self.assertEqual(done.stdout, b"to stdout\n")


if __name__ == "__main__":
    unittest.main()
