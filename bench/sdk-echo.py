# SPDX-License-Identifier: Apache-2.0
# The echo of bench/sdk, with the Python package; and a function that works without a pause.
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "sdk/python"))
from tenon import Plugin  # noqa: E402

plugin = Plugin("echo", "1.0.0")


@plugin.method
def echo(path: str, options: dict, text: str):
    return {"path": path, "options": options, "text": text}


@plugin.command
def busy(seconds: float):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(1000))


plugin.run()
