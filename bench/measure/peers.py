# SPDX-License-Identifier: Apache-2.0
"""Other people's hosts, each calling its own echo plugin, in turns with ours: round_trip, in_flight_DEPTH,
message_SIZE.

Every program takes SECONDS and points, DEPTH:SIZE, and prints a line for each (bench/sweep.h,
bench/peers/README.md). All of it runs on one core. A peer that is not installed, or that fails, is a
row that says why.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

from measure.rows import CPU, line, not_here, program, run_json
from plot.figures import by_number
from plot.scales import count_text, size_text, time_text

HERE = pathlib.Path(__file__).resolve().parent.parent / "peers"
USUAL = 44  # bytes of text: with its envelope, about 100
DEPTHS = [1, 2, 4, 8, 16, 32, 64, 128, 256]
SIZES = [64, 1 << 10, 16 << 10, 256 << 10, 4 << 20, 64 << 20]
SECONDS = 0.1  # for a point
ROUNDS = 7
ROUNDS_OF_SIZES = 3  # with --quick one: 64 MiB take seconds with some
FRAMINGS = ["decimal", "be32", "headers"]  # beside lines, which has all points


PACKAGES = {"cc": "gcc", "go": "golang-go"}  # compiler: package of Debian


class NotHere(Exception):
    pass


# ---- how to get a command line for each peer


def made(given, name, source, command, **more):
    """Built once, as BUILD/peers/NAME."""
    out = given.build.resolve() / "peers" / name
    if out.exists() and out.stat().st_mtime >= (HERE / source).stat().st_mtime:
        return out
    if not shutil.which(command[0]):
        raise NotHere(f"no {command[0]} (Debian: {PACKAGES[command[0]]})")
    out.parent.mkdir(exist_ok=True)
    words = [*command, "-o", out, HERE / source, *more.pop("last", [])]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=600, **more)
    if done.returncode != 0:
        raise NotHere(f"{source} cannot be built: {first_line(done.stderr)}")
    return out


def first_line(text):
    """The one that says what is wrong."""
    lines = [one for one in text.splitlines() if one.strip() and not one.startswith("#")]
    return next((one for one in lines if "rror" in one), lines[0] if lines else "it says nothing")[:100]


def nvim(given):
    if not shutil.which("nvim"):
        raise NotHere("no nvim (Debian: neovim)")
    return [made(given, "nvim", "nvim.c", ["cc", "-O2", "-D_GNU_SOURCE"])]


def sd_bus(given):
    return [made(given, "sd-bus", "sd-bus.c", ["cc", "-O2", "-D_GNU_SOURCE"], last=["-lsystemd"])]


def go_plugin(kind):
    def command(given):
        cache = given.build.resolve() / "peers" / "go-cache"
        env = {
            **os.environ,
            "GO111MODULE": "off",
            "GOFLAGS": "",
            "GOPATH": "/usr/share/gocode",
            "GOCACHE": str(cache),
        }
        out = made(given, "go-plugin", "go-plugin.go", ["go", "build"], env=env)
        shutil.rmtree(cache, ignore_errors=True)
        return [out, kind]

    return command


def of_npm(script, package):
    def command(given):
        modules = given.build.resolve() / "peers-npm"
        if not (modules / "node_modules" / package).is_dir():
            raise NotHere(f"npm has not installed {package} (./dev bench --peers does)")
        return ["node", HERE / script, modules]

    return command


def asyncio_host(given):
    return ["/usr/bin/python3", HERE / "asyncio_host.py"]


PEERS = {
    "nvim msgpack-rpc": nvim,
    "sd-bus": sd_bus,
    "go-plugin net/rpc": go_plugin("netrpc"),
    "go-plugin gRPC": go_plugin("grpc"),
    "Python asyncio": asyncio_host,
    "vscode-jsonrpc": of_npm("vscode-jsonrpc.mjs", "vscode-jsonrpc"),
    "MCP TypeScript": of_npm("mcp.mjs", "@modelcontextprotocol/sdk"),
}


def wanted(given):
    """The peers that were asked for; a word stands for every name that has it."""
    if not given.peers:
        return []
    words = given.peers.lower().split(",")
    return [name for name in PEERS if words == ["all"] or any(word in name.lower() for word in words)]


def unknown(given):
    """Words that stand for none."""
    words = given.peers.lower().split(",") if given.peers else []
    return [word for word in words if word != "all" and not any(word in name.lower() for name in PEERS)]


# ---- measuring


def points_of(depths, sizes):
    return [(depth, USUAL) for depth in depths] + [(1, size) for size in sizes]


def sweep(command, seconds, points):
    """({(depth, size): nanoseconds}, why it ended early or None)"""
    words = [*map(str, command), str(seconds), *(f"{depth}:{size}" for depth, size in points)]
    with subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, {CPU}),
    ) as process:
        try:
            out, err = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            err = "error: no answer within 120 s"
    found = [json.loads(one) for one in out.splitlines() if one.startswith("{")]
    why = first_line(err) if process.returncode else None
    return {(one["depth"], one["size"]): one["ns"] for one in found}, why


def subjects(given):
    """({subject: command}, {subject: why not})"""
    echo = program(given, "bench-echo-plugin")
    commands = {
        "floor": [program(given, "bench-sweep-floor")],
        "mortise": [program(given, "bench-sweep"), "lines", echo],
        **{"mortise/" + framing: [program(given, "bench-sweep"), framing, echo] for framing in FRAMINGS},
    }
    absent = {}
    for name in wanted(given):
        try:
            commands[name] = PEERS[name](given)
        except (NotHere, OSError, subprocess.SubprocessError) as why:
            absent[name] = str(why)
    return commands, absent


def rounds(given):
    """{subject: {point: [nanoseconds of each round]}}, {subject: why it has none}"""
    commands, absent = subjects(given)
    depths, sizes = (DEPTHS[:2], SIZES[:2]) if given.smoke else (DEPTHS, SIZES)
    found = {name: {} for name in commands}
    count = min(given.rounds, ROUNDS)
    for number in range(count):
        with_sizes = number < (ROUNDS_OF_SIZES if given.scale == 1 else 1)
        for name, command in commands.items():
            if sys.stderr.isatty():
                print(f"\r\033[Kround {number + 1} of {count}: {name}", end="", file=sys.stderr, flush=True)
            points = points_of(depths, sizes if with_sizes else [])
            points = points[:1] if name.startswith("mortise/") else points
            took, why = sweep(command, SECONDS * max(given.scale, 0.02), points)
            for point, ns in took.items():
                found[name].setdefault(point, []).append(ns)
            if why and not took:
                absent[name] = why
        commands = {name: command for name, command in commands.items() if name not in absent}
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    return found, absent


def bench_of(point):
    depth, size = point
    return f"in_flight_{depth}" if size == USUAL else f"message_{size}"


def value_of(bench, ns):
    return 1e9 / ns if bench.startswith("in_flight") else ns / 1000


def rows_of(bench, point, found):
    """One row for each subject that has the point; a peer may have failed in one round, so
    pairs are by turn."""
    unit = "msg/s" if bench.startswith("in_flight") else "us"
    values = {name: [value_of(bench, ns) for ns in by[point]] for name, by in found.items() if point in by}
    return [line(bench, name, these, unit, values["floor"]) for name, these in values.items()]


def measure(given):
    found, absent = rounds(given)
    trips = rows_of("round_trip", (1, USUAL), found)
    out = trips + [not_here("round_trip", name, "us", why) for name, why in absent.items()]
    whole = {name: by for name, by in found.items() if not name.startswith("mortise/")}
    for point in whole["floor"]:
        out += rows_of(bench_of(point), point, whole)
    return out


# ---- the table


def show(lines):
    """What has a row for each depth and size: subjects below each other, points beside each other."""
    for prefix, title, text in (
        ("in_flight_", "calls per second, by calls under way", count_text),
        ("message_", "time of a round trip, by bytes of text", time_text),
    ):
        found = by_number(lines, prefix)
        heads = sorted({point for points in found.values() for point in points})
        if not heads:
            continue
        names = [size_text(head) if prefix == "message_" else str(head) for head in heads]
        print(f"\n{title}\n{'':<18}" + "".join(f"{name:>9}" for name in names))
        for name, points in found.items():
            print(f"{name:<18}" + "".join(f"{text(points[h]) if h in points else '-':>9}" for h in heads))


def measure_many(given):
    """plugins_N: a round trip with one of N plugins, and one that goes round all of them; memory for each."""
    counts = [1, 10] if given.smoke else [1, 10, 100, 1000]
    command = [
        program(given, "bench-many"),
        program(given, "bench-echo-plugin"),
        4000 if given.scale == 1 else 400,
    ]
    found = {}
    for _ in range(min(given.rounds, 3)):
        words = [*map(str, command), *map(str, counts)]
        done = subprocess.run(words, stdout=subprocess.PIPE, text=True, timeout=600, preexec_fn=pin)
        for one in map(json.loads, done.stdout.splitlines()):
            found.setdefault(one["count"], []).append(one)
    rows = [row for count, these in found.items() for row in rows_of_many(count, these, found[1])]  # 1 is first
    return rows + list(rows_of_pings(given, counts[-1]))


def rows_of_pings(given, count):
    """pings_N: N plugins that are asked each second whether they live; the part of a core that
    the host takes."""
    seconds = 5 if given.scale == 1 else 2
    command = [program(given, "bench-pings"), program(given, "bench-echo-plugin"), seconds, count]
    for subject, pinned in (("one core", True), ("any core", False)):  # of the host and all plugins
        found = [run_json(command, pinned) for _ in range(3 if given.scale == 1 else 1)]
        pongs = min(one["pongs"] for one in found)
        if pongs < 0.8 * count:
            yield not_here(
                f"pings_{count}", subject, "%", f"too busy a machine: {pongs} pings per second were answered"
            )
            continue
        values = sorted(one["core"] for one in found)
        yield line(
            f"pings_{count}", subject, [100 * value for value in values], "%", ratio=values[len(values) // 2]
        )


def pin():
    os.sched_setaffinity(0, {CPU})


def rows_of_many(count, these, alone):
    for subject, key in (("one of them", "p50_ns"), ("all in turn", "all_ns")):
        values, floors = ([one[key] / 1000 for one in some] for some in (these, alone))
        yield line(f"plugins_{count}", subject, values, "us", floors)
    if count > 1:
        yield line(f"plugins_{count}", "memory of each", [one["bytes"] for one in these], "bytes", ratio=1.0)
