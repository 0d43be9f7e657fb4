# SPDX-License-Identifier: Apache-2.0
"""Programs of this folder that a test starts thousands of times: compiled once, started without site-packages.
"""
import atexit
import functools
import pathlib
import py_compile
import shutil
import tempfile

PYTHON = ["/usr/bin/python3", "-I", "-S"]
HERE = pathlib.Path(__file__).resolve().parent
PLACE = pathlib.Path(tempfile.mkdtemp())
atexit.register(shutil.rmtree, PLACE)


@functools.cache
def path(name):
    return py_compile.compile(str(HERE / f"{name}.py"), str(PLACE / f"{name}.pyc"), doraise=True)


def command(name, *words):
    return [*PYTHON, path(name), *words]
