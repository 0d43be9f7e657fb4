# SPDX-License-Identifier: Apache-2.0
"""What is hard on a host: longest_dispatch, one_message, beside_flood."""
import json

from measure.rows import line, program, run


def measure(given):
    """The longest dispatch of each scenario of bench-bounded."""
    command = [program(given, "bench-bounded"), program(given, "bench-burden-plugin"), "all"]
    printed = run([*command, min(1.0, given.scale * 5)])
    found = {one.pop("scenario"): one for one in map(json.loads, printed.splitlines())}
    flood = found.pop("beside a flood")
    out = [
        line("beside_flood", "floor", [flood["quiet_us"]], "us", ratio=1.0),
        line("beside_flood", "mortise", [flood["beside_us"]], "us", ratio=flood["ratio"]),
    ]
    for name, numbers in found.items():
        value = numbers["longest_ms"]
        if not name.endswith(" MB"):
            out.append(line("longest_dispatch", name, [value], "ms", ratio=value / 10))
        elif name.endswith(" 60 MB"):
            quarter = found[name.split(",")[0] + ", 15 MB"]["longest_ms"]
            out.append(line("one_message", name, [value], "ms", ratio=value / 4 / quarter))
    return out
