#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""check_table.py README BAD: the README's table is what the program itself says."""
import subprocess
import sys

readme, bad = sys.argv[1:]
want = subprocess.run([bad, "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout
with open(readme, encoding="utf-8") as file:
    got = "".join(line for line in file if line.startswith("| `"))
if want != got:
    print("README.md differs from `bad --list`, which says:\n" + want)
sys.exit(want != got)
