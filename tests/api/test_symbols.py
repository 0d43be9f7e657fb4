#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""test_symbols.py LIBRARY HEADER…: the library exports what its headers declare, and nothing else."""
import re
import subprocess
import sys

library, *headers = sys.argv[1:]
declared = set()
for header in headers:
    with open(header, encoding="utf-8") as file:
        declared |= set(re.findall(r"^(?:MORTISE|TENON)_API [^;(]*?(\w+)\(", file.read(), re.M))
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
sys.exit(declared != exported or not declared)
