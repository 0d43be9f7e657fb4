#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""test_symbols.py LIBRARY HEADER…: the library exports what its headers declare, and nothing else;
its version is the same as a text and as a number."""
import re
import subprocess
import sys

library, *headers = sys.argv[1:]
declared, wrong = set(), False
for header in headers:
    with open(header, encoding="utf-8") as file:
        text = file.read()
    declared |= set(re.findall(r"^(?:MORTISE|TENON)_API [^;(]*?(\w+)\(", text, re.M))
    version = re.search(r'_VERSION "(\d+)\.(\d+)\.(\d+)"(?:.*\n)*?.*_VERSION_NUMBER (\d+)', text)
    if version:
        major, minor, patch, number = map(int, version.groups())
        wrong = number != 10000 * major + 100 * minor + patch
        print("version", number, "is wrong" if wrong else "is right")
listing = subprocess.run(
    ["nm", "-D", "--defined-only", library], stdout=subprocess.PIPE, text=True, check=True
).stdout
# A: the name of a symbol version, which is no symbol. A version in a name (@@) is not part of it.
exported = {line.split()[-1].split("@")[0] for line in listing.splitlines() if line.split()[-2] != "A"}
for name in sorted(declared - exported):
    print("declared but not exported:", name)
for name in sorted(exported - declared):
    print("exported but not declared:", name)
print(len(declared), "functions")
sys.exit(declared != exported or not declared or wrong)
