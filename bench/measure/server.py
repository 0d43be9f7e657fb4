# SPDX-License-Identifier: Apache-2.0
"""The processor time of a server that runs on: its own, that of its children, and that of those which have
ended."""
import os
import pathlib


def own_ms(pid):
    try:
        return int(pathlib.Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e6
    except (FileNotFoundError, ProcessLookupError):
        return 0  # it ends now: the next look has it among those that have ended


def all_ms(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    ended = (int(fields[13]) + int(fields[14])) * 1000 / os.sysconf("SC_CLK_TCK")
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return own_ms(pid) + ended + sum(map(own_ms, children))
