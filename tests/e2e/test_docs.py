#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The docs name tests that exist, name every script, and tell all that the dialects' tables hold."""
import ast
import functools
import re
import tomllib
import unittest

from support import Case, ROOT

PAGES = sorted((ROOT / "docs/dialects").glob("*.md")) + sorted((ROOT / "docs/reference").glob("*.md"))
REGISTRY = re.search(
    r"^dialects = \[(.*?)\]", (ROOT / "src/lib/dialect/meson.build").read_text(), re.M | re.S
).group(1)
# Each dialect and its page: that of its name, or of the name before the first "-".
DIALECTS = {
    name: name if (ROOT / f"docs/dialects/{name}.md").is_file() else name.split("-")[0]
    for name in re.findall(r"'([^']+)'", REGISTRY)
}
# Those over gRPC have no form over pipes, so no tongue for the tests of faults.
GRPC = re.findall(
    r"'([^']+)'",
    re.search(r"^dialects_grpc = \[(.*?)\]", (ROOT / "src/lib/dialect/meson.build").read_text(), re.M).group(1),
)
INDEX = {
    "index": "index",
    "command": "index_command",
    "hostile": "index_hostile",
    "view": "index_view",
    "resume": "index_resume",
    "clang": "index_clang",
}
PREFIXED = re.compile(r"(unit|api|e2e|grpc|bot|json|demo|talk|index|command|hostile|view|resume|clang)[:/]\S+$")


@functools.cache
def text_of(path):
    return path.read_text(encoding="utf-8")


@functools.cache
def page(name):
    """Empty for a page that is missing; one test says so."""
    path = ROOT / "docs/dialects" / f"{name}.md"
    return text_of(path) if path.is_file() else ""


def talk(dialect, name):
    return (ROOT / "tests/talk" / dialect / f"{name.removesuffix('.talk')}.talk").is_file()


def c_test(folder, name):
    """FILE or FILE.TEST below tests/FOLDER; TEST with or without its "test_"."""
    file, _, test = name.partition(".")
    path = ROOT / "tests" / folder / f"{file}_test.c"
    return path.is_file() and (
        not test or bool(re.search(rf"\bvoid (test_)?{re.escape(test)}\(", text_of(path)))
    )


@functools.cache
def classes(path):
    """Class name: its base classes and its methods."""
    return {
        node.name: (
            [base.id for base in node.bases if isinstance(base, ast.Name)],
            {item.name for item in node.body if isinstance(item, ast.FunctionDef)},
        )
        for node in ast.parse(text_of(path)).body
        if isinstance(node, ast.ClassDef)
    }


def has_method(found, name, method):
    bases, methods = found.get(name, ((), ()))
    return method in methods or any(has_method(found, base, method) for base in bases)


def python_test(name, folder="e2e"):
    """FILE, FILE.CLASS, FILE.test, or FILE.CLASS.test of tests/e2e, or of another folder."""
    file, *rest = name.split(".")
    path = ROOT / "tests" / folder / f"test_{file}.py"
    if not path.is_file():
        return False
    found = classes(path)
    if len(rest) == 2:
        return has_method(found, *rest)
    return not rest or rest[0] in found or any(rest[0] in methods for _, methods in found.values())


def exists(home, token):
    """Whether what a table calls a test is one; home is the dialect of the page."""
    kind, _, name = token.partition(":")
    if token.startswith("tests/"):
        return (ROOT / token).exists()
    if kind == "unit":
        return c_test("unit", name)
    if kind == "api":
        return c_test("api", name)
    if kind in ("e2e", "grpc"):
        return python_test(name, kind)
    if kind in INDEX and name:
        return python_test(f"{INDEX[kind]}.test_{name}")
    if kind == "bot":
        return python_test(f"bot.{name}")
    if kind in ("demo", "json"):
        return talk({"demo": "demo", "json": "sunscreen-json"}[kind], name)
    if token == "talk/kythe-bytewise":  # all scripts of a dialect once more, cut into bytes
        return "kythe" in text_of(ROOT / "tests/unit/host/meson.build")
    if "/" in token:
        return talk(*token.split("/", 1))
    return talk(home, token) or c_test("unit/manifest", token)


def cells(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def tables(text):
    """Each row of each table as (header, cell) pairs, with its line number."""
    header, last = None, ""
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"^\|[-| ]+\|$", line):
            header = cells(last)
        elif line.startswith("|") and header:
            yield number, list(zip(header, cells(line)))
        elif not line.startswith("|"):
            header = None
        last = line


def is_test_column(header):
    return bool(re.search(r"\btests?\b|^scripts\b|rule of JSON-RPC", header))


def tokens(path):
    """(line, token) for all that the page calls a test."""
    for number, row in tables(text_of(path)):
        for header, cell in row:
            for token in re.findall(r"`([^`]+)`", cell):
                if PREFIXED.match(token) or (is_test_column(header) and re.fullmatch(r"[\w./:-]+", token)):
                    yield number, token


def file_of(home, token):
    """The file of what a table calls a test."""
    kind, _, name = token.partition(":")
    file = name.split(".")[0]
    tests = ROOT / "tests"
    if token.startswith("tests/"):
        return ROOT / token
    if kind in ("unit", "api"):
        return tests / kind / f"{file}_test.c"
    if name and kind == "grpc":
        return tests / "grpc" / f"test_{file}.py"
    if name and kind in ("e2e", "bot", *INDEX):
        return tests / "e2e" / f"test_{file if kind == 'e2e' else INDEX.get(kind, kind)}.py"
    if name:
        return tests / "talk" / {"json": "sunscreen-json"}.get(kind, kind) / f"{name}.talk"
    script = (token if "/" in token else f"{home}/{token}").removesuffix(".talk")
    return tests / "talk" / f"{script}.talk"


def proofs(path):
    """Each row that names tests: its text, and their files."""
    rows = {}
    for number, token in tokens(path):
        rows.setdefault(number, []).append(file_of(path.stem, token))
    lines = text_of(path).splitlines()
    return [(lines[number - 1], [file for file in files if file.is_file()]) for number, files in rows.items()]


def named(name, text):
    return bool(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text))


def fields(rows):
    for row in rows or ():
        if row["name"] not in ("[]", "*"):
            yield row["name"]
        yield from fields(row.get("fields"))


def spellings(ms):
    """A time limit as the docs may write it."""
    for unit, name in ((60000, "min"), (60000, "minutes"), (1000, "s"), (1000, "seconds"), (1, "ms")):
        if ms % unit == 0:
            yield f"{ms // unit} {name}"
            yield f"{ms // unit} {name.removesuffix('s')}" if len(name) > 2 else f"{ms // unit} {name}"


class Names(Case):
    def test_every_dialect_has_its_places(self):
        tongues = text_of(ROOT / "tests/kit/tongue.c")
        faults = []
        for dialect, name in DIALECTS.items():
            if not page(name):
                faults.append(f"write docs/dialects/{name}.md: docs/guide/add-a-dialect.md")
            if dialect not in GRPC and not re.search(rf'(\.dialect = |PLAIN\()"{dialect}"', tongues):
                faults.append(f"add {dialect} to tests/kit/tongue.c: docs/guide/add-a-dialect.md")
        self.assertEqual(faults, [])

    def test_every_test_that_a_page_names_exists(self):
        count, faults = 0, []
        for path in PAGES:
            for number, token in tokens(path):
                count += 1
                if not exists(path.stem, token) and not token.startswith("./dev"):
                    faults.append(f"{path.relative_to(ROOT)}:{number}: no test {token}")
        self.assertEqual(faults, [])
        self.assertGreater(count, 600)

    def test_every_script_is_named(self):
        faults = []
        for dialect, name in DIALECTS.items():
            if not page(name):
                continue
            prefix = "json:" if dialect == "sunscreen-json" else ""
            for path in sorted((ROOT / "tests/talk" / dialect).glob("*.talk")):
                wanted = {
                    f"`{prefix}{path.stem}`",
                    f"`{path.stem}.talk`",
                    f"`tests/talk/{dialect}/{path.stem}.talk`",
                }
                if not any(token in page(name) for token in wanted):
                    faults.append(f"docs/dialects/{name}.md names no {path.relative_to(ROOT)}")
        self.assertEqual(faults, [])

    def test_every_page_is_reached_from_the_readme(self):
        self.assertIn("](docs/README.md)", text_of(ROOT / "README.md"))
        pages = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("*/*.md")]
        paths = [str(page.relative_to(ROOT / "docs")) for page in pages if page.name != "README.md"]
        self.assertEqual([path for path in paths if f"]({path})" not in text_of(ROOT / "docs/README.md")], [])

    def test_every_command_is_listed(self):
        told = re.search(r"(?ms)^## Commands\n(.*?)^## ", text_of(ROOT / "docs/README.md"))[1]
        pages = [page.name for page in (ROOT / "docs/man").glob("mortise-*.1.scd")]
        names = [name.removeprefix("mortise-").removesuffix(".1.scd") for name in pages]
        self.assertEqual([name for name in sorted(names) if f"`{name}`" not in told], [])

    def test_the_readme_is_short(self):
        self.assertLessEqual(len(text_of(ROOT / "README.md").split()), 1000)
        for language in ("c", "python"):
            [example] = re.findall(rf"(?ms)^```{language}\n(.*?)^```", text_of(ROOT / "README.md"))
            self.assertLessEqual(len(example.splitlines()), 12)

    def test_the_map_names_what_is_there(self):
        text = text_of(ROOT / "docs/design/map.md")
        for function, file in re.findall(r"`(\w+)\(\)` in `([\w/.]+)`", text):
            self.assertIn(f"{function}(", text_of(ROOT / file))
        questions = re.search(r"(?ms)^## Ten questions.*", text)[0]
        self.assertEqual(len(re.findall(r"(?m)^\| \S.*\? \| .*`.+`.* \|$", questions)), 10)

    def test_every_reference_plugin_is_listed(self):
        listed = re.findall(r"\]\(([\w-]+)/README\.md\)", (ROOT / "plugins/README.md").read_text())
        there = [path.parent.name for path in (ROOT / "plugins").glob("*/meson.build")]
        self.assertEqual(sorted(listed), sorted(there))

    def test_faults_would_be_seen(self):
        for good in (
            "unit:wire/framing.be32",
            "unit:wire/framing",
            "e2e:gassist.Run.test_nan",
            "e2e:run.test_flags",
            "json:error",
            "demo/keep",
            "frame",
        ):
            self.assertTrue(exists("gassist", good), good)
        for bad in (
            "unit:wire/framing.be33",
            "unit:wire/nothing",
            "e2e:gassist.Run.test_flags",
            "e2e:gassist.Ran",
            "json:errors",
            "demo/kept",
            "no-such",
        ):
            self.assertFalse(exists("gassist", bad), bad)


class Tables(Case):
    """What `mortise explain DIALECT --json` holds stands on the dialect's page."""

    def described(self, dialect):
        return self.ok("explain", dialect, "--json").json, page(DIALECTS[dialect])

    def check(self, what):
        faults = []
        for dialect in (name for name in DIALECTS if page(DIALECTS[name])):
            table, text = self.described(dialect)
            faults += [f"{dialect}: {fault}" for fault in what(table, text)]
        self.assertEqual(faults, [])

    def test_methods_and_fields(self):
        def faults(table, text):
            for method in table["methods"]:
                for name in (
                    ([method["name"]] if method["name"] != "*" else [])
                    + [*fields(method.get("params"))]
                    + [*fields(method.get("result"))]
                ):
                    if not named(name, text):
                        yield f"{method['name']}: {name} is not on the page"

        self.check(faults)

    def test_a_test_beside_each_method_speaks_of_it(self):
        """A row of the page has the method's name and a test whose file has it, too."""
        faults = []
        for dialect in (name for name in DIALECTS if page(DIALECTS[name])):
            home = DIALECTS[dialect]
            rows = proofs(ROOT / "docs/dialects" / f"{home}.md")
            for method in self.described(dialect)[0]["methods"]:
                name = method["name"]
                if name != "*" and not any(
                    named(name, line) and any(named(name, text_of(file)) for file in files)
                    for line, files in rows
                ):
                    faults.append(f"docs/dialects/{home}.md: no row has {name} and a test of it")
        self.assertEqual(faults, [])

    def test_codes(self):
        self.check(
            lambda table, text: [
                code["code"]
                for code in table["codes"]
                if not named(str(code["code"]), text)
                and not (-32700 <= code["code"] <= -32600 and "-32700 … -32600" in text)
            ]
        )

    def test_quirks(self):
        self.check(
            lambda table, text: [quirk["name"] for quirk in table["quirks"] if not named(quirk["name"], text)]
        )

    def test_time_limits(self):
        def faults(table, text):
            for method in table["methods"]:
                for key in ("timeout_ms", "ack_ms"):
                    if method[key] and not any(named(way, text) for way in spellings(method[key])):
                        yield f"{method['name']}: {key} {method[key]} is not on the page"

        self.check(faults)

    def test_openrpc_names_them_too(self):
        for dialect in DIALECTS:
            table, document = self.described(dialect)[0], self.ok("explain", dialect, "--openrpc").out
            for method in table["methods"]:
                for name in [*fields(method.get("params"))] + [*fields(method.get("result"))]:
                    self.assertIn(f'"{name}"', document, dialect)


class Settings(Case):
    """Every key of src/lib/manifest/keys.c is in the guide and on the dialects' pages."""

    def keys(self):
        found = re.findall(r'\{ "(\w+)", "(\w+|\*)", MOR_KEY', text_of(ROOT / "src/lib/manifest/keys.c"))
        self.assertGreater(len(found), 40)
        return [(section, key) for section, key in found if key != "*"]

    def test_guide(self):
        """The guide's whole mortise.toml has every key."""
        block = re.search(r"(?ms)^```toml\n(.*?)^```", text_of(ROOT / "docs/guide/configure.md"))[1]
        told = tomllib.loads(block)
        self.assertEqual([key for key in self.keys() if key[1] not in told.get(key[0], {})], [])

    def test_manual(self):
        """Its list of the sandbox's keys is all of them."""
        told = re.search(r"\*sandbox\*\s+\(([^)]*)\)", text_of(ROOT / "docs/man/mortise.1.scd"))[1]
        self.assertEqual(
            set(re.findall(r"\w+", told)), {key for section, key in self.keys() if section == "sandbox"}
        )

    def test_explain(self):
        page = self.ok("explain", "gassist").out
        for section, key in self.keys():
            told = re.search(rf"(?m)^  \[{section}\] .*", page).group()
            self.assertTrue(section == "sandbox" or named(key, told), (section, key))


if __name__ == "__main__":
    unittest.main()
