#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""check.py SOURCE PROGRAM [ARG...]: runs an example and compares its output with what its own head
comment promises."""
import difflib
import re
import subprocess
import sys


def promised(source):
    """The lines after ' * prints:' up to the end of the comment."""
    with open(source, encoding="utf-8") as file:
        block = re.search(r"^ \* prints:\n((?: \*\t.*\n)+)", file.read(), re.M)
    return [line[3:] for line in block.group(1).splitlines()]


def main(source, *command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=100)
    want, got = promised(source), done.stdout.splitlines()
    sys.stdout.writelines(
        line + "\n" for line in difflib.unified_diff(want, got, "promised", "printed", lineterm="")
    )
    if done.returncode != 0:
        print("exit status", done.returncode)
    return int(want != got or done.returncode != 0)


sys.exit(main(*sys.argv[1:]))
