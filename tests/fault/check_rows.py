#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""check_rows.py README FAULT-MATRIX: the README's table names every row of the matrix, and no other."""
import re
import subprocess
import sys

readme, matrix = sys.argv[1:]
rows = set(subprocess.run([matrix, "--rows"], stdout=subprocess.PIPE, text=True, check=True).stdout.split())
with open(readme, encoding="utf-8") as file:
    table = file.read().split("| fault | rows |")[1]
named = {
    name
    for line in table.splitlines()
    if line.startswith("| ")
    for name in re.findall("`([^`]+)`", line.split("|")[2])
}
for name in sorted(rows ^ named):
    print(name, "is in rows.h, but not in the table" if name in rows else "is in the table, but not in rows.h")
sys.exit(rows != named)
