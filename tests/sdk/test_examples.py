# SPDX-License-Identifier: Apache-2.0
"""Every example of examples/plugins: a complete plugin in at most 20 lines, run by mortise.

A language is a row of LANGUAGES: how a file of it is made ready in a directory, and the command that runs it. A
dialect is a function of DIALECTS, which plays with the example of that dialect and language; what is asked and
answered may differ by language (SAYS)."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["MORTISE_BUILD"]).resolve()
EXAMPLES = ROOT / "examples/plugins"
LINES = 20
LIMIT = 300  # seconds: only to end what hangs


def node(example, where):
    subprocess.run([ROOT / "sdk/node/pack", where / "node_modules/tenon", where / "stamp"], check=True)
    copy = where / example.name
    copy.write_bytes(example.read_bytes())
    copy.chmod(0o755)
    return ["node", copy]


def c(example, where):
    program = where / ("plugin-" + example.stem)
    program.write_bytes((BUILD / "examples" / program.name).read_bytes())
    program.chmod(0o755)
    return [program]


def python(example, where):
    shutil.copytree(ROOT / "sdk/python/tenon", where / "tenon", ignore=shutil.ignore_patterns("__pycache__"))
    copy = where / example.name
    copy.write_bytes(example.read_bytes())
    copy.chmod(0o755)
    return ["/usr/bin/python3", "-B", copy]


LANGUAGES = {".mjs": node, ".c": c, ".py": python}

# Words for `mortise call` or `run`, and what must be in the output.
SAYS = {
    "c/plain": (["mean", "numbers:=[1,2,6]"], '{"mean":3.0}'),
    "c/ayiou": ("/r 2 Ada Lovelace", "Ada Lovelace rolls: "),
    "c/gassist": (["guess", "most=1"], "I think of a number from 1 to 1."),
    "c/yams": (
        "1\n00:00:01,000 --> 00:00:02,000\nHello.\n2\n00:00:03,000 --> 4\nBye.\n",
        ".srt",
        "Hello.\nBye.",
    ),
    "c/sunscreen": (["scaffold:note", "buy tea"], "noted in NOTES.md"),
    "c/sunscreen-json": (["app:list"], "programs"),
    "c/kythe": ("int one;\n", "/example/bytes"),
    "python/plain": (["factors", "n=60"], "[2,2,3,5]"),
    "python/yams": ("<style>p {}</style><p>Hello <b>there</b>, you</p>", ".html", "Hello there , you"),
    "python/ayiou": ("/vote green tea", "You voted for green tea"),
    "python/gassist": (["guess", "limit=1"], "A number from 1 to 1?"),
    "python/sunscreen": (["scaffold:event", "Swap", "amount"], "added the event Swap"),
    "python/sunscreen-json": (["app:size"], "2 lines in 1 files"),
    "python/kythe": ("int two(void)\n{\n\treturn 2;\n}\n", "line 4"),
    "node/plain": (["count", "text=to be or not to be"], '"words":6,"different":4'),
    "node/ayiou": ("/buy oat milk", "On the list: oat milk"),
    "node/gassist": (["checksum", "path=/dev/null"], "e3b0c44298fc1c149afbf4c8996fb924"),
    "node/yams": (
        "1\n00:00:01,000 --> 00:00:02,000\n<i>Hello.</i>\n\n2\n00:00:03,000 --> 00:00:04,000\nBye.\n",
        ".srt",
        "Hello.\nBye.",
    ),
    "node/sunscreen": (["scaffold:error", "TooLate"], "added the error TooLate"),
    "node/sunscreen-json": (["app:todo"], "programs/app/src/lib.rs:2: // TODO: more"),
    "node/kythe": ("int twice(int n)\n{\n\treturn 2 * n;\n}\n", "two.c#twice"),
}


def counted(path):
    """Lines without blank ones and the licence."""
    lines = path.read_text().splitlines()
    return sum(1 for line in lines if line.strip() and "SPDX-License-Identifier" not in line)


class Examples(unittest.TestCase):
    def mortise(self, *words, **options):
        done = subprocess.run(
            [BUILD / "mortise", *words], capture_output=True, text=True, timeout=LIMIT, check=False, **options
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def manifest(self, command, dialect, name):
        """As a newcomer makes it."""
        made = subprocess.run([*command, "--manifest", dialect], capture_output=True, check=True, timeout=LIMIT)
        (self.where / name).write_bytes(made.stdout)

    def workspace(self):
        source = self.where / "w/programs/app/src"
        source.mkdir(parents=True)
        (source / "lib.rs").write_text("pub mod errors;\n// TODO: more\n")
        (self.where / "w/sunscreen.yml").write_text("version: 1\nname: my-app\n")
        return self.where / "w"

    # ---- one function per dialect

    def plain(self, command, says):
        words, wanted = says
        self.assertIn(wanted, self.mortise("call", *words, "--", *command))

    def ayiou(self, command, says):
        text, wanted = says
        params = ["text=" + text, "raw_message=" + text, "message_type=private", "user_id=7"]
        self.assertIn(wanted, self.mortise("call", "-d", "ayiou", "handle", *params, "--", *command))

    def gassist(self, command, says):
        words, wanted = says
        self.assertIn(wanted, self.mortise("run", "-d", "gassist", *words, "--", *command))
        self.manifest(command, "gassist", "manifest.json")
        made = json.loads((self.where / "manifest.json").read_text())
        program = pathlib.Path(command[-1]).name
        self.assertEqual((made["executable"], made["persistent"]), (program, True))

    def yams(self, command, says):
        content, extension, wanted = says
        (self.where / ("sample" + extension)).write_bytes(
            content if isinstance(content, bytes) else content.encode()
        )
        self.manifest(command, "yams", "yams-plugin.json")
        said = self.mortise("extract", self.where / ("sample" + extension), "--plugin", self.where)
        self.assertIn(wanted, said)

    def sunscreen(self, command, says):
        self.manifest(command, "sunscreen", "plugin.toml")
        self.in_workspace(*says)

    def sunscreen_json(self, command, says):
        self.manifest(command, "sunscreen-json", "sunscreen-plugin.json")
        self.in_workspace(*says)

    def in_workspace(self, words, wanted):
        said = self.mortise("run", self.where, *words, "--workspace", self.workspace())
        self.assertIn(wanted, said)

    def kythe(self, command, says):
        source, wanted = says
        (self.where / "two.c").write_text(source)
        record = self.where / "two.kzip"
        self.mortise("kzip", "create", "-o", record, "--corpus", "c", "--", "cc", "-c", "two.c", cwd=self.where)
        said = self.mortise("index", record, "--format", "json", "--", *command, cwd=self.where)
        self.assertIn(wanted, said)
        self.assertGreater(len([json.loads(line) for line in said.splitlines()]), 0)

    def options(self, command):
        """--help says what it is, and what only looks like an option of the library is refused."""
        done = [
            subprocess.run([*command, option], capture_output=True, text=True, timeout=LIMIT, check=False)
            for option in ("--help", "--manifst")
        ]
        self.assertEqual((done[0].returncode, done[0].stderr), (0, ""))
        self.assertIn(": a host starts it, and they speak over its stdin and stdout.\n", done[0].stdout)
        self.assertIn("--manifest [DIALECT]", done[0].stdout)
        self.assertEqual((done[1].returncode, done[1].stdout), (2, ""))
        self.assertIn(": unknown option --manifst: there are --manifest [DIALECT] and --help\n", done[1].stderr)


def one(example):
    """The test of one example."""

    def test(self):
        key = f"{example.parent.name}/{example.stem}"
        self.assertLessEqual(counted(example), LINES)
        if example.suffix == ".mjs" and not shutil.which("node"):
            self.skipTest("node is not installed")
        with tempfile.TemporaryDirectory(prefix="mortise-example-") as where:
            self.where = pathlib.Path(where)
            command = LANGUAGES[example.suffix](example, self.where)
            self.options(command)
            getattr(self, example.stem.replace("-", "_"))(command, SAYS[key])

    return test


for found in sorted(EXAMPLES.glob("*/*")):
    if found.suffix in LANGUAGES:
        setattr(Examples, f"test_{found.parent.name}_{found.stem.replace('-', '_')}", one(found))

if __name__ == "__main__":
    unittest.main()
