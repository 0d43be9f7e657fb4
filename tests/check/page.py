#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""page.py [--write]: docs/reference/checks.md, made from `mortise check --list`. Without --write: is it up to
date?
"""
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/reference/checks.md"
MORTISE = pathlib.Path(os.environ.get("MORTISE_BUILD", ROOT / "build")) / "mortise"
HEAD = """# The checks of mortise check

This page is made from `mortise check --list` by `tests/check/page.py --write`. *must*: a failure if it is not
so. *should*: a warning, and a failure with `--strict`. [Check a plugin](../guide/check-a-plugin.md) says how to
use them. Ids do not change from version to version.
"""


def rows(*words):
    done = subprocess.run([MORTISE, "check", "--list", "--json", *words], capture_output=True, check=True)
    return json.loads(done.stdout)["checks"]


def section(title, listed):
    lines = [f"\n## {title}\n", f"{len(listed)} checks.\n", "| id | level | what is right | specification |"]
    lines.append("|---|---|---|---|")
    for row in listed:
        lines.append(f"| `{row['id']}` | {row['level']} | {row['title']} | {row['spec']} |")
    return "\n".join(lines) + "\n"


def page():
    text, groups = HEAD, {}
    for row in rows():
        groups.setdefault(row["id"].split(".")[0], []).append(row)
    for dialect, listed in groups.items():
        text += section(dialect, listed)
    text += section("hosts", rows("--host"))
    return text


def main():
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page():
        print(f"{PAGE.relative_to(ROOT)} is not what --list says: run tests/check/page.py --write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
