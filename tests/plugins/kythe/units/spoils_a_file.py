# SPDX-License-Identifier: Apache-2.0
# Of the record, as far as it can.
import os

try:
    with open("h", "r+") as file:
        file.write("spoilt!!")
except PermissionError:
    pass
try:
    os.chmod("h", 0o666)
    with open("h", "r+") as file:
        file.write("spoilt!!")
except OSError:
    pass
