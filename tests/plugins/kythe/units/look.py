# SPDX-License-Identifier: Apache-2.0
# names: paths. Writes what it sees of each: its bytes, or the name of the error.
import errno


def look(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        return errno.errorcode[error.errno]


for name in names:
    out.fact("/look", look(name), path=name, signature=unit["input"])
