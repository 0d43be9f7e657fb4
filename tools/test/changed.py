# SPDX-License-Identifier: Apache-2.0
"""Which tests a change may have broken. The unit tests: those whose programs ninja would link anew
because of it. The others: by the table tests/rooms, from paths of the tree to tests. A path that no row
names means all."""
import fnmatch
import functools
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "tests" / "rooms"


def git(*words):
    done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"dev: git {words[0]}: {done.stderr.strip()}")
    return done.stdout.splitlines()


def files_since(rev):
    return git("diff", "--name-only", rev, "--") + git("ls-files", "--others", "--exclude-standard")


def rows(path=TABLE):
    """tests/rooms: a pattern of paths, and patterns of "suite/name", which may go on in lines that
    are indented."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            words = line.split()
            if line[0].isspace():
                found[-1][1].extend(words)
            else:
                found.append((words[0], words[1:]))
    return found


def by_table(path, table):
    """The patterns of the first row for a path; None if there is no row."""
    return next((tests for pattern, tests in table if fnmatch.fnmatchcase(path, pattern)), None)


# ---- ninja's graph


def edges(build):
    """(what is built, what it is built from), of build.ninja; order alone does not count."""
    split = re.compile(r"(?<!\$) +")
    for line in (build / "build.ninja").read_text(encoding="utf-8").splitlines():
        if line.startswith("build "):
            outs, _, rest = line[6:].partition(": ")
            ins = split.split(rest.partition("||")[0])[1:]
            yield [o for o in split.split(outs) if o != "|"], [i.replace("$ ", " ") for i in ins if i != "|"]


def headers(build):
    """(object, what its compiler has read), as ninja has noted it."""
    done = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True, check=True)
    name, read = None, []
    for line in done.stdout.splitlines():
        if line.startswith("    "):
            read.append(line.strip())
        elif ": #deps" in line:
            name, read = line.partition(": #deps")[0], []
            yield [name], read


@functools.cache
def uses(build):
    """{file: what is built from it}, as whole paths."""
    whole = functools.cache(lambda name: os.path.normpath(os.path.join(build, name)))  # each has many users
    users = {}
    for outs, ins in [*edges(build), *headers(build)]:
        outs = {whole(name) for name in outs}
        for name in ins:
            users.setdefault(whole(name), set()).update(outs)
    return users


def built_from(build, files):
    """The outputs of the build, as whole paths, that depend on one of these files."""
    users = uses(build)
    found, newest = set(), {str(ROOT / file) for file in files}
    while newest:
        newest = {out for name in newest for out in users.get(name, ())} - found
        found |= newest
    return found


# ---- both


def choose(every, build, rev):
    """The tests that the changes since rev may have broken."""
    files, table = files_since(rev), rows()
    outputs = built_from(build, files)
    patterns, whole = set(), []
    for file in files:
        row = by_table(file, table)
        if row is None and not any(str(ROOT / file) in test.cmd for test in every):
            whole.append(file)
        patterns.update(row or ())
    if whole:
        print(f"dev: all tests: anything may rest on {whole[0]} (tests/rooms has the rooms of which less does)")
        return every
    paths = {str(ROOT / file) for file in files}

    def is_chosen(test):
        if "unit" in test.suite:
            return test.cmd[0] in outputs
        name = f"{test.suite[0]}/{test.name}"
        return paths & set(test.cmd) or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)

    return [test for test in every if is_chosen(test)]
