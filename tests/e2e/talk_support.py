# SPDX-License-Identifier: Apache-2.0
"""What the tests of record, replay, talk and tap share: frames, and the .talk format as data."""
import json
import subprocess

from support import Case, LIMIT, MORTISE

FRAMINGS = ("lines", "decimal", "be32", "headers")


def frame(framing, body):
    head = {
        "lines": b"",
        "decimal": b"%d\n" % len(body),
        "be32": len(body).to_bytes(4, "big"),
        "headers": b"Content-Length: %d\r\n\r\n" % len(body),
    }[framing]
    return head + body + (b"\n" if framing == "lines" else b"")


def request(number, method="echo", **params):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


class Talks(Case):
    def start(self, *words, **how):
        """The command, running, with its three streams as pipes."""
        process = subprocess.Popen(
            [str(MORTISE), *map(str, words)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.env,
            cwd=self.dir,
            **how,
        )
        for pipe in (process.stdin, process.stdout, process.stderr):
            self.addCleanup(pipe.close)
        return process

    def record(self, *words, stdin=b"", name="x.talk", **how):
        """A whole run of `mortise record`: the finished process. The file is self.dir / name."""
        return subprocess.run(
            [str(MORTISE), "record", "--force", "-o", name, *map(str, words)],
            input=stdin,
            capture_output=True,
            env=self.env,
            cwd=self.dir,
            timeout=LIMIT,
            check=False,
            **how,
        )

    def lines(self, name="x.talk"):
        """The lines of a file, without comments and times."""
        text = (self.dir / name).read_text()
        return [line for line in text.splitlines() if line[:1] not in ("#", "~", "")]

    def talk(self, text, name="x.talk"):
        return self.file(name, text)
