# SPDX-License-Identifier: Apache-2.0
"""What test programs said: counted are the single tests inside each, by its TAP lines or by what Python's
unittest says; any other program is one test.

An entry is one program that has ended: name, command, returncode (None: it was ended, out of time), duration,
cpu, stdout, stderr, and left: the command lines of what it left running.
"""
import collections
import re

TAP = re.compile(r"^(not ok|ok)\b(?:\s+\d+)?\s*(?:-\s*)?(.*?)\s*(?:#\s*(SKIP|TODO)\S*\s*(.*))?$", re.I)
PLAN = re.compile(r"^1\.\.(\d+)", re.M)
PASSED = re.compile(r"ok\b|1\.\.\d")
RAN = re.compile(r"^Ran (\d+) tests? in ", re.M)
UNITTEST_END = re.compile(r"^(?:OK|FAILED|NO TESTS RAN)(?: \((.*)\))?$", re.M)
UNITTEST_SKIP = re.compile(r"^(.*?)(?: \(.*\))? ?\.\.\. skipped (['\"])(.*)\2$", re.M)
SKIPPED = 77  # the exit status by which a program says so
TAIL = 60  # lines of a failed program's output


class Tally:
    def __init__(self):
        self.passed, self.failed, self.skips = 0, 0, []


def is_tap(output):
    return re.search(r"^(?:1\.\.\d|ok\b|not ok\b)", output, re.M) is not None


def count_tap(output, tally):
    """Returns how many failed."""
    nothing = re.match(r"1\.\.0\b\s*(?:#\s*(?:SKIP\S*)?\s*(.*))?", output, re.I)
    if nothing:
        tally.skips.append(("", nothing.group(1)))
    failed = seen = 0
    for line in output.splitlines():
        found = TAP.match(line)
        if not found:
            continue
        seen += 1
        verdict, name, directive, reason = found.groups()
        if (directive or "").upper() == "SKIP":
            tally.skips.append((name, reason))
        elif verdict.lower() == "ok" or directive:
            tally.passed += 1
        else:
            failed += 1
    planned = sum(int(n) for n in PLAN.findall(output))
    failed += seen < planned and not failed  # it ended half-way, whatever its status says
    tally.failed += failed
    return failed


def count_unittest(output, tally):
    """Returns how many failed."""
    ran = sum(int(n) for n in RAN.findall(output))
    counts = {"failures": 0, "errors": 0, "skipped": 0, "unexpected successes": 0}
    for end in UNITTEST_END.findall(output):
        for name, number in re.findall(r"([a-z ]+)=(\d+)", end):
            counts[name.strip()] = counts.get(name.strip(), 0) + int(number)
    reasons = [(name, reason) for name, _, reason in UNITTEST_SKIP.findall(output)]
    reasons += [("a unittest", "no reason shown (run it with -v)")] * (counts["skipped"] - len(reasons))
    failed = counts["failures"] + counts["errors"] + counts["unexpected successes"]
    failed += ran == 0  # a file without tests proves nothing
    tally.skips += reasons
    tally.failed += failed
    tally.passed += max(0, ran - failed - len(reasons))
    return failed


def count_plain(entry, output, tally):
    """A program that reports by its exit status. Returns how many failed."""
    if entry["returncode"] == SKIPPED:
        last = output.strip().splitlines()
        tally.skips.append(("", last[-1] if last else ""))
        return 0
    failed = 0 if entry["returncode"] == 0 else 1
    tally.failed += failed
    tally.passed += 1 - failed
    return failed


def count(entry, tally):
    """Adds one program's tests to the tally; true if all is well."""
    out, before = entry["stdout"], len(tally.skips)
    both = out + "\n" + entry["stderr"]
    if RAN.search(both):
        failed = count_unittest(both, tally)
    elif is_tap(out):
        failed = count_tap(out, tally)
    else:
        failed = count_plain(entry, both, tally)
    skips = tally.skips[before:]
    tally.skips[before:] = [(": ".join(filter(None, (entry["name"], name))), why) for name, why in skips]
    good = entry["returncode"] in (0, SKIPPED) and not entry["left"]
    if not good and not failed:  # all its tests passed, yet it crashed, hung or left something running
        tally.failed += 1
    return good and not failed


def how_it_ended(entry):
    if entry["returncode"] is None:
        return "no end in time"
    if entry["returncode"] < 0:
        return f"killed by signal {-entry['returncode']}"
    return f"status {entry['returncode']}"


def failure(entry):
    """A failed program as lines for people."""
    lines, out, err = [], entry["stdout"].rstrip().splitlines(), entry["stderr"].rstrip().splitlines()
    if is_tap(entry["stdout"]):  # why it failed comes first; what passed is not what one looks for
        lines = err[-TAIL:] + [line for line in out if line and not PASSED.match(line)]
    else:
        lines = (out + err)[-TAIL:]
    head = [f"--- {entry['name']}: {how_it_ended(entry)}, {entry['duration']:.1f} s"]
    head += [f"    {' '.join(entry['command'])}"]
    head += [f"    left running, and killed: {command}" for command in entry["left"]]
    return head + ["    " + line for line in lines[:TAIL]]


def grouped(skips):
    """(count, reason, names) of skips, the most frequent first."""
    groups = collections.defaultdict(list)
    for name, reason in skips:
        groups[reason or "no reason given"].append(name)
    rows = [(len(names), reason, names) for reason, names in groups.items()]
    return sorted(rows, key=lambda row: (-row[0], row[1]))
