#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The escape catalogue of the jail, and benign programs that must not trip it.

run.py [--quick|--full] [-v] [TEST...]   MORTISE_BUILD names the build directory (default: build)

Runs in namespaces of its own. Each attempt runs unconfined first, which proves that it is real, then in the
jail under each configuration. --full runs all configurations, --quick those of QUICK, otherwise those of
DEFAULT. A table of scores ends the output. MORTISE_JAIL_COMMAND replaces `mortise jail`; /usr/bin/env there
means no jail at all (to test this runner).
"""
import collections
import concurrent.futures
import dataclasses
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import unittest

import stage

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("MORTISE_BUILD", ROOT / "build")).resolve()
# The tree may lie in a directory with a blank in its name.
COMMAND = os.environ.get("MORTISE_JAIL_COMMAND", "").split() or [f"{BUILD}/mortise", "jail"]
ATTEMPT = pathlib.Path(os.environ.get("MORTISE_ATTEMPT", BUILD / "tests/jail/attempt"))
MUTANT = BUILD / "tests/jail/mortise-jail-mutant"
FULL = "--full" in sys.argv
QUICKLY = "--quick" in sys.argv
WORKERS = 2
VIOLATION, NO_JAIL = 9, 125
SLOW = 3.0  # seconds for one attempt
CLASSES = ("read", "write", "spawn", "network", "ipc", "host", "kernel", "limits", "metadata")


# D rows that at t1 are blocked by construction: what they aim at does not exist in the plugin's namespaces, and
# the first step is a call that asks nobody (O_PATH, chdir, stat: no rights come with them), so there is nothing
# to detect, and a decent program that looks around must not be killed for it.
NOT_THERE = frozenset(
    """
    read_opath read_opath_thread read_opath_devfd read_fd_middle list_opath
    w_hardlink_fd w_opath_chmod w_opath_chmodat2
    read_chdir read_fchdir
    py_import_outside js_require_outside js_import_outside""".split()
)
# With spawn every number of its own PID namespace is the plugin's to signal; those of the host mean nobody in
# there. The kernel answers ESRCH, and there is nobody to protect.
NOBODY = frozenset("h_kill h_kill_probe h_tgkill h_kill_high py_kill js_kill".split())


# With a list of places (--network=127.0.0.1:OPEN): A what it grants; B what decent programs try as well: other
# kinds of sockets (the C library sorts addresses with one for datagrams), options, sending while connecting.
# l_race_fd: whether the number means the other socket at the right moment is luck.
PLACES = (
    {"l_race_fd": "E"}
    | dict.fromkeys("l_open l_open_later l_crowd n_tcp_high".split(), "A")
    | dict.fromkeys(
        """
    n_udp n_udp_msg n_ping n_mptcp n_udplite n_sctp l_fastopen_msg l_fastopen_mmsg l_fastopen_option
    l_send_msg l_source_route l_device l_interfaces l_short_address py_udp js_udp""".split(),
        "B",
    )
)


@dataclasses.dataclass(frozen=True)
class Config:
    user: str
    level: str
    spawn: bool = False
    network: bool = False
    places: bool = False
    abi: int = 0
    deny: bool = False

    @property
    def name(self):
        parts = [self.user, self.level]
        words = (
            ("spawn", self.spawn),
            ("network", self.network),
            ("places", self.places),
            (f"abi{self.abi}", self.abi),
            ("deny", self.deny),
        )
        parts += [word for word, on in words if on]
        return "_".join(parts)

    @property
    def uid(self):
        return stage.NOBODY if self.user == "nobody" else os.getuid()

    def options(self, st, write):
        out = [
            "--workspace",
            st.ws,
            "--plugin-dir",
            st.plugin,
            "--read",
            st.dir / "declared",
            "--read",
            st.ws / "tools" / "plug",
            "--level",
            self.level,
            "--limit",
            "file_size=16MiB",
            "--limit",
            "threads=128",
            "--json",
            "--on-denial",
            "deny" if self.deny else "kill",
        ]
        out += ["--write"] * write + ["--network"] * self.network + ["--spawn"] * self.spawn
        if self.places:
            ports = st.listeners.open, st.listeners.full
            out += ["--network=" + ",".join(f"127.0.0.1:{port}" for port in ports)]
        return out + (["--landlock-abi", self.abi] if self.abi else [])

    @property
    def pidns(self):
        """Has it a PID namespace? With spawn there is one at t0 too, where the machine allows it."""
        return self.level == "t1" or self.spawn and has_namespaces(self.uid)

    def granted(self, told):
        """The expectation for the permissions that it has. Of a row no two may change it in different
        ways (Proof.test_columns): nothing follows from having both."""
        columns = [told[c] for c, on in (("net", self.network), ("spawn", self.spawn)) if on]
        return next((expect for expect in columns if expect != told["expect"]), told["expect"])

    def expects(self, told):
        expect = self.granted(told)
        if self.places:
            expect = PLACES.get(told["name"], expect)
        if expect == "D" and self.level == "t1" and told["name"] in NOT_THERE:
            return "B"
        if expect == "D" and self.spawn and self.pidns and told["name"] in NOBODY:
            return "B"
        if expect == "R" and not self.pidns:
            return "D"  # the number is a stranger's
        if expect == "M":
            return "B" if self.level == "t1" else "?"
        return expect


has_namespaces = functools.lru_cache(None)(stage.user_namespaces)


def configurations():
    for user in ("root", "nobody"):
        for level in ("t0", "t1"):
            yield Config(user, level)
            yield Config(user, level, network=True)
            yield Config(user, level, places=True)
            yield Config(user, level, spawn=True, places=True)
            yield Config(user, level, spawn=True)
            yield Config(user, level, deny=True)
            yield Config(user, level, spawn=True, network=True, deny=True)
        yield Config(user, "t0", abi=2)
        yield Config(user, "t0", spawn=True, abi=2)
        yield Config(user, "t0", places=True, abi=2)


DEFAULT = {
    "c": (
        "root_t0",
        "nobody_t0",
        "root_t1",
        "nobody_t1",
        "nobody_t0_spawn",
        "nobody_t0_abi2",
        "nobody_t0_network",
        "nobody_t0_places",
        "root_t1_places",
        "nobody_t0_deny",
        "root_t1_deny",
    ),
    "py": ("nobody_t0", "root_t1", "nobody_t0_deny"),
    "js": ("nobody_t0", "root_t1", "root_t1_deny"),
}
BENIGN = ("t0", "t1", "t0_spawn", "t0_abi2", "t1_deny")  # each as root and as nobody: ten
# One row, all that a plugin may be granted, in C; and one column, all languages at one level. Each user and
# each level is in it. Of a configuration that grants or changes something, quickly: what is expected otherwise
# than without it, or belongs to the classes that it is about.
QUICK = {
    "c": ("nobody_t0", "root_t1", "nobody_t0_spawn", "nobody_t0_places", "root_t1_deny"),
    "py": ("nobody_t0",),
    "js": ("nobody_t0",),
    "benign": ("nobody_t0", "root_t1"),
}
NOT_QUICK = (
    "Proof.test_c_root",
    "Mutant.test_kernel_still_holds_t0",
    "Mutant.test_kernel_still_holds_t1",
    "View.test_root",
    "View.test_nobody",
    "Proof.test_py_nobody",
    "Proof.test_js_nobody",
)


def program(language, st):
    return {
        "c": [st.plugin / "attempt"],
        "py": [stage.PYTHON, "-B", st.plugin / "attempts.py"],
        "js": [stage.NODE, st.plugin / "attempts.js"],
    }[language]


@functools.lru_cache(None)
def catalogue(language):
    where = stage.HERE / "attempts"
    argv = {
        "c": [ATTEMPT],
        "py": [stage.PYTHON, "-B", where / "attempts.py"],
        "js": [stage.NODE, where / "attempts.js"],
    }
    out = subprocess.run(
        [*map(str, argv[language]), "--list"], capture_output=True, text=True, check=True
    ).stdout
    return [told for told in map(json.loads, out.splitlines()) if told["class"] != "tool"]


# ---- one attempt


@dataclasses.dataclass
class Verdict:
    told: dict
    run: stage.Run
    escaped: bool
    how: str

    @property
    def name(self):
        return self.told["name"]

    @property
    def killed(self):
        return self.run.code == VIOLATION

    @functools.cached_property
    def end(self):
        """The jail's own last word, the last line of all; {} if it said nothing."""
        try:
            record = json.loads(self.run.err.splitlines()[-1])
            return record if record["event"] == "jail_end" else {}
        except (ValueError, KeyError, TypeError, IndexError):
            return {}

    @property
    def kind(self):
        """Of the violation that ended it."""
        told = self.end.get("violation")
        return told and told["kind"]

    @property
    def denied(self):
        return self.end.get("denied", {"denials": []})["denials"]

    @property
    def detected(self):
        """It was ended for it, or at least somebody was told."""
        return self.killed or bool(self.denied)

    @functools.cached_property
    def rounds(self):
        """Of a race that went to its end without ever being refused anything: it had no chance to be detected.
        0: of all others."""
        told = [json.loads(line) for line in self.run.out.splitlines() if line.startswith("{")]
        return next((t["rounds"] for t in told if t.get("rounds") and not t["met"]), 0)


def said(told, run):
    """(escaped, how) as the program tells it. One that ends well without a word was replaced by
    another program."""
    escaped, how, spoke = False, "", False
    for line in run.out.splitlines():
        try:
            record = json.loads(line)
            spoke, escaped, how = True, escaped or record["escaped"], f"{record['how']} ({record['errno']})"
        except (ValueError, KeyError, TypeError):
            continue
    if not spoke and run.code == 0:
        return True, "another program ran to its end"
    return escaped, how or run.err.strip()[-300:]


def seen(told, run, config):
    """What the stage saw of it, whatever the program says; None if nothing."""
    protected = tuple(
        f"ws/{name}"
        for name in (
            ".git",
            "vendor",
            "linked",
            "bare.git/config",
            "bare.git/hooks",
            "tools",
            "scripts",
            "sunscreen.yml",
        )
    )
    changed = [
        name
        for name in run.changed
        if not told["write"] or not name.startswith("ws/") or name.startswith(protected)
    ]
    if changed:
        return "changed " + ", ".join(changed[:3])
    granted = (
        ("tcp", "udp", "open") if config and config.network else ("open",) if config and config.places else ()
    )
    hits = [kind for kind in run.hits if kind not in granted]
    if hits:
        return "reached the listener " + ", ".join(hits)
    if run.signals:
        return f"a signal reached the victim: {run.signals[0]}"
    return f"{run.orphans} processes left behind" if run.orphans else None


def try_one(st, language, told, config=None):
    """config None: unconfined."""
    argv = [*program(language, st), told["name"], *st.arguments()]
    if config and os.path.basename(COMMAND[0]) != "env":
        argv = [*COMMAND, *config.options(st, told["write"]), "--", *argv]
    run = st.run(argv, patience=stage.PATIENCE if config else 0.5)
    escaped, how = said(told, run)
    proof = seen(told, run, config)
    return Verdict(told, run, escaped or proof is not None, how if proof is None else proof)


class Stages:
    """One per worker and user, since a stage tells one attempt's traces from another's only in turn."""

    def __init__(self, uid):
        self.uid, self.local, self.all = uid, threading.local(), []

    def get(self):
        if not hasattr(self.local, "stage"):
            self.local.stage = stage.Stage(ATTEMPT, self.uid)
            self.all.append(self.local.stage)
        return self.local.stage

    def close(self):
        for st in self.all:
            st.close()


def tell_slow(verdicts, config):
    """A jail that hangs for a while and then does right would go unnoticed otherwise."""
    for v in verdicts:
        if v.run.seconds > SLOW:
            where = config.name if config else "unconfined"
            print(f"slow: {v.name} took {v.run.seconds:.1f} s, {where}", file=sys.stderr)
    return verdicts


def is_about(config, told):
    """Quickly: what a configuration expects otherwise than the one without its grants, or is about. With deny
    all of them end otherwise, and all in the same way: one in four."""
    plain = Config(config.user, config.level)
    if config.deny:
        return [other["name"] for other in catalogue("c")].index(told["name"]) % 4 == 0
    classes = {"spawn"} if config.spawn else {"network"} if config.places else set()
    return config == plain or told["class"] in classes or config.expects(told) != plain.expects(told)


def try_all(language, uid, config=None, only=None):
    chosen = [told for told in catalogue(language) if (config or told["bare"]) and (only is None or only(told))]
    stages = Stages(uid)
    try:
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            return tell_slow(
                list(pool.map(lambda told: try_one(stages.get(), language, told, config), chosen)), config
            )
    finally:
        stages.close()


@functools.lru_cache(None)
def real(language, uid):
    """Names of the attempts that succeed with no jail around them. Quickly, all of them are shown to be real
    once, in C as nobody; else only those that a jail may grant, since only these are compared."""
    granted = (
        (lambda told: "A" in (told["expect"], told["net"], told["spawn"]))
        if QUICKLY and (language != "c" or uid != stage.NOBODY)
        else None
    )
    return frozenset(v.name for v in try_all(language, uid, None, granted) if v.escaped)


@functools.lru_cache(None)
def always_killed():
    """Kinds that kill in both modes, as the guide's table says; a unit test keeps that true."""
    text = (ROOT / "docs/guide/sandbox.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    kinds = {row[0].strip("`") for row in rows if row[-2:] == ["killed", "killed"]}
    assert "keys" in kinds and "read" not in kinds, rows
    return kinds


# ---- scores


class Score:
    def __init__(self, config, verdicts, valid):
        self.config, self.verdicts, self.valid = config, verdicts, valid
        self.expected = {v.name: config.expects(v.told) for v in verdicts}

    def where(self, *expects):
        return [v for v in self.verdicts if self.expected[v.name] in expects]

    @property
    def escapes(self):
        return [v for v in self.where("D", "R", "B", "E") if v.escaped]

    @property
    def undetected(self):
        """With kill, what must be detected must also be the end, but for R: that only must be told of."""
        return [v for v in self.unseen if not v.rounds]

    @property
    def unmet(self):
        """Races that were never met: nothing is shown, and nothing is wrong."""
        return [v for v in self.unseen if v.rounds and not v.escaped]

    @functools.cached_property
    def unseen(self):
        return [
            v
            for v in self.where("D", "R")
            if not (v.detected if self.config.deny or self.expected[v.name] == "R" else v.killed)
        ]

    @property
    def killed(self):
        """Blocked rows are those which decent programs try as well: they must go on living. With deny that
        is so for all but what no decent program tries."""
        if self.config.deny:
            return [v for v in self.verdicts if v.killed and v.kind not in always_killed()]
        return [v for v in self.where("R", "B") if v.killed]

    @property
    def withheld(self):
        """What the configuration grants, works without a jail, and does not work in it."""
        return [v for v in self.where("A") if not v.escaped and v.name in self.valid]

    @property
    def silent(self):
        """Detected, and nobody was told of what."""
        return [v for v in self.verdicts if v.detected and not v.run.err.strip() or v.killed and not v.kind]

    @property
    def hung(self):
        return [v for v in self.verdicts if v.run.hung]

    @property
    def rate(self):
        return 1 - len(self.undetected) / len(self.demanded) if self.demanded else 1.0

    @property
    def demanded(self):
        return [v for v in self.where("D", "R") if v not in self.unmet]

    def row(self):
        cells = []
        for cls in CLASSES:
            mine = [
                v
                for v in self.verdicts
                if v.told["class"] == cls and (self.expected[v.name] in "DRBE" or cls == "metadata")
            ]
            cells.append(f"{sum(v.escaped for v in mine)}/{sum(v.detected for v in mine)}/{len(mine)}")
        return cells


def describe(verdicts):
    return "; ".join(f"{v.name} [exit {v.run.code}] {v.how}" for v in verdicts)


SCORES = collections.OrderedDict()
PROOFS = collections.OrderedDict()
BENIGN_SCORES = []


def print_scores():
    print("\nescaped/detected/attempts by class; D: rows that must be detected")
    print("  " + "configuration".ljust(26) + "".join(c.rjust(12) for c in CLASSES) + "   D detected")
    for name, score in SCORES.items():
        cells = "".join(c.rjust(12) for c in score.row())
        unmet = f"; never met: {' '.join(v.name for v in score.unmet)}" if score.unmet else ""
        print(f"  {name:26}{cells}   {score.rate:6.1%} of {len(score.demanded)}{unmet}")
    for name, (real_ones, tried) in PROOFS.items():
        print(f"unconfined, {name}: {real_ones} of {tried} attempts succeed")
    if BENIGN_SCORES:
        print(f"benign programs: {sum(BENIGN_SCORES)} false positives in {len(BENIGN_SCORES)} runs")
    sys.stdout.flush()


# ---- tests


def why_not(user, language="c"):
    """Why attempts cannot run here at all, or None."""
    if not ATTEMPT.exists():
        return f"{ATTEMPT} is not built"
    if language == "js" and not stage.NODE:
        return "there is no node"
    if user == "nobody" and not CAN_BE_NOBODY:
        return "only root can become nobody"
    return None


def why_no_jail(config):
    """Why this kernel cannot hold the jail of a configuration. A jail that refuses without such a
    reason is a fault."""
    if not os.access(COMMAND[0], os.X_OK):
        return f"{COMMAND[0]} is not built"
    if os.path.basename(COMMAND[0]) == "env":
        return None
    if stage.landlock_abi() < 2:
        return f"the kernel has Landlock ABI {stage.landlock_abi()}, and 2 is needed"
    if config.level == "t1" and not stage.user_namespaces(config.uid):
        return f"{config.user} may not make user namespaces here"
    if config.user == "nobody" and not can_run(COMMAND[0], stage.NOBODY):
        return f"nobody cannot run {COMMAND[0]}"
    return None


def can_run(path, uid):
    try:
        return (
            subprocess.run(
                [path, "--version"], capture_output=True, check=False, **stage.as_user(uid)
            ).returncode
            == 0
        )
    except PermissionError:
        return False


class Proof(unittest.TestCase):
    """The attempts are real: most of them succeed when nothing stops them."""

    def check(self, language, user, least):
        reason = why_not(user, language)
        if reason:
            self.skipTest(reason)
        uid = stage.NOBODY if user == "nobody" else os.getuid()
        tried = [t for t in catalogue(language) if t["bare"]]
        names = real(language, uid)
        PROOFS[f"{language} {user}"] = len(names), len(tried)
        self.assertGreaterEqual(len(names) / len(tried), least, sorted({t["name"] for t in tried} - names))

    def test_readme(self):
        text = (stage.HERE / "README.md").read_text(encoding="utf-8")
        names = {t["name"] for language in ("c", "py", "js") for t in catalogue(language)}
        self.assertEqual(
            [n for n in sorted(names) if f"`{n}`" not in text], [], "README.md lists every attempt"
        )

    def test_rows(self):
        rows = {t["row"] for language in ("c", "py") for t in catalogue(language)}
        self.assertEqual(rows - {0}, set(range(1, max(rows) + 1)), "each row of the catalogue has an attempt")

    def test_columns(self):
        """With both permissions a row's expectation is that of the one which changes it."""
        for language in ("c", "py", "js"):
            for told in catalogue(language):
                changed = {told["net"], told["spawn"]} - {told["expect"]}
                self.assertLessEqual(len(changed), 1, told)

    def test_c_root(self):
        self.check("c", "root", 0.9)

    def test_c_nobody(self):
        self.check("c", "nobody", 0.75)

    def test_py_nobody(self):
        self.check("py", "nobody", 0.9)

    def test_js_nobody(self):
        self.check("js", "nobody", 0.9)


class Catalogue(unittest.TestCase):
    """No escape, and the detection that the catalogue demands."""

    def check(self, language, config):
        reason = why_not(config.user, language) or why_no_jail(config)
        if reason:
            self.skipTest(reason)
        only = functools.partial(is_about, config) if QUICKLY else None
        score = Score(config, try_all(language, config.uid, config, only), real(language, config.uid))
        SCORES[f"{language} {config.name}"] = score
        refused = [v for v in score.verdicts if v.run.code == NO_JAIL]
        if refused:
            self.fail(f"{len(refused)} refused: " + describe(refused[:2]))
        faults = [
            f"{what}: {describe(list_)}"
            for what, list_ in (
                ("escaped", score.escapes),
                ("killed, though quiet", score.killed),
                ("granted, yet denied", score.withheld),
                ("without a message", score.silent),
                ("without an end", score.hung),
                ("not detected", score.undetected),
            )
            if list_
        ]
        if faults:
            self.fail("\n".join(faults))
        for v in score.unmet:
            with self.subTest(race=v.name):
                self.skipTest(f"never met in {v.rounds} rounds")


class Benign(unittest.TestCase):
    """Decent programs do not notice the jail."""

    def check(self, config):
        reason = why_not(config.user) or why_no_jail(config)
        if reason:
            self.skipTest(reason)
        st = stage.Stage(ATTEMPT, config.uid, links=False)
        try:
            for argv, write in self.programs(st):
                with self.subTest(program=argv[1].name, config=config.name):
                    self.one(st, config, argv, write)
        finally:
            st.close()

    @staticmethod
    def programs(st):
        yield [stage.PYTHON, st.plugin / "tour.py"], False
        yield [stage.PYTHON, st.plugin / "write.py"], True
        if stage.NODE:
            yield [stage.NODE, st.plugin / "tour.js"], False

    def one(self, st, config, argv, write):
        jail = [] if os.path.basename(COMMAND[0]) == "env" else [*COMMAND, *config.options(st, write), "--"]
        run = st.run([*jail, *argv])
        bad = run.code != 0 or "FAILED" in run.out or not run.out.endswith("done\n")
        BENIGN_SCORES.append(int(bad))
        failed = [line for line in run.out.splitlines() if line.startswith("FAILED")]
        last = run.out.splitlines()[-1:]
        if bad:
            self.fail(f"exit {run.code}; {failed or last}; {run.err.strip()[-600:]}")
        changed = [name for name in run.changed if not (write and name.startswith("ws/"))]
        self.assertEqual((changed, run.orphans), ([], 0))


class Mutant(unittest.TestCase):
    """A broker that allows every path: what the kernel layer still holds. The mutant is bound over
    mortise-jail, which only this mount namespace sees."""

    # Exactly these rest on the broker alone (docs/design/0003-jail.md): attributes, which Landlock does not
    # hook; protected paths, which it cannot subtract; /proc, which the guardian must be able to read (never
    # memory, environment or descriptors of others); and ws_rmdir because the stage lies below /tmp, where the
    # guardian removes the scratch directory.
    BROKER_ONLY = frozenset(
        """
        ws_chmod ws_fchmod_ro ws_utimes ws_futimens decl_fchmod out_chmod out_utimes race_fchmod
        w_link_chmod w_link_utimes w_link_fchmodat w_link_old_utime w_link_old_utimes w_link_old_futimesat
        w_opath_chmod w_opath_chmodat2
        w_githook w_gitconfig w_githook_move w_git_move w_githook_link w_githook_rename
        proc_cmdline proc_list proc_1 proc_net proc_net_tcp read_kallsyms ws_rmdir""".split()
    )

    # What is protected rests on the broker. At t1 the kernel holds what has a path: the workspace's own git
    # directory and core.hooksPath, what its permissions came from, what may only be read.
    PROTECTED = re.compile("o_|g_|r_|race_protected")
    HELD_T1 = frozenset(
        """
        o_project o_read o_read_move o_read_up o_read_exchange o_read_by_link o_read_by_fd o_read_hard
        g_commondir g_worktree_config g_attributes g_index g_module_config g_module_hook g_worktree g_chmod
        g_exchange g_hooks_path g_hooks_path_move race_protected""".split()
    )

    # At t1 the plugin's mounts are read-only where it may not write, its /proc shows nobody else, the
    # guardian is locked as well, and protected paths are mounts in both namespaces. What is left: its
    # own /proc in whole.
    BROKER_ONLY_T1 = frozenset(["read_kallsyms"])

    def names(self):
        return frozenset(t["name"] for t in catalogue("c") if self.PROTECTED.match(t["name"]))

    def test_kernel_still_holds_t0(self):
        self.check(Config("root", "t0"), self.BROKER_ONLY | self.names())

    def test_kernel_still_holds_t1(self):
        self.check(Config("root", "t1"), self.BROKER_ONLY_T1 | self.names() - self.HELD_T1)

    # Landlock knows ports, no addresses: the same port of another address rests on the broker alone.
    BROKER_ONLY_PLACES = frozenset(["l_any_open"])

    @unittest.skipUnless(stage.landlock_abi() >= 4, "Landlock knows no ports here")
    def test_kernel_still_holds_places(self):
        for level in ("t0", "t1"):
            self.check(
                Config("root", level, places=True),
                self.BROKER_ONLY_PLACES,
                lambda told: told["name"].startswith(("l_", "n_", "u_")),
            )

    def check(self, config, allowed, only=None):
        real_program = BUILD / "mortise-jail"
        reason = why_not("root") or why_no_jail(config)
        if not reason and not (MUTANT.exists() and real_program.exists()):
            reason = f"{MUTANT} is not built"
        if reason:
            self.skipTest(reason)
        subprocess.run(["mount", "--bind", MUTANT, real_program], check=True)
        try:
            score = Score(config, try_all("c", config.uid, config, only), real("c", config.uid))
        finally:
            subprocess.run(["umount", real_program], check=True)
        SCORES[f"c {config.name} mutant"] = score
        worse = [v for v in score.escapes if v.name not in allowed]
        print(
            f"mutant {config.level}: {len(score.escapes)} escapes, {len(worse)} beyond what rests on the broker alone: "
            + " ".join(v.name for v in score.escapes),
            file=sys.stderr,
        )
        self.assertTrue(score.escapes, "the mutation has no effect: this proves nothing")
        if worse or score.hung:
            self.fail(
                f"the kernel layer let through: {describe(worse)}; without an end: {describe(score.hung)}"
            )


class Folding(unittest.TestCase):
    """A file system of which we do not know whether it tells upper from lower case: then it does not. ramfs is
    one; a real one is in few kernels. On one that is known to tell, other names are other files."""

    NAMES = (
        ".GIT/hooks/x",
        ".Envrc",
        "sub/MORTISE.TOML",
        ".vsC\u200dode/tasks.json",
        "GIT~1/hooks/x",
        "fresh/con\ufb01g",
    )

    def write(self, kind, level, name):
        where = pathlib.Path(tempfile.mkdtemp(prefix="mortise-fold-", dir="/tmp"))
        subprocess.run(["mount", "-t", kind, "-o", "mode=0755", kind, where], check=True)
        try:
            (where / name).parent.mkdir(parents=True, exist_ok=True)
            if name.startswith("fresh"):
                for part in ("HEAD", "objects", "refs"):
                    (where / "fresh" / part).mkdir()
            return subprocess.run(
                [
                    *COMMAND,
                    "--level",
                    level,
                    "-w",
                    where,
                    "--write",
                    "--on-denial=kill",
                    "--",
                    "/bin/sh",
                    "-c",
                    'echo x >"$0"',
                    where / name,
                ],
                capture_output=True,
                check=False,
                cwd=where,
                env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
            )
        finally:
            subprocess.run(["umount", where], check=True)
            where.rmdir()

    def test_names(self):
        for level in ("t0", "t1"):
            reason = why_not("root") or why_no_jail(Config("root", level))
            if reason:
                self.skipTest(reason)
            for name in self.NAMES:
                with self.subTest(level=level, name=name):
                    done = self.write("ramfs", level, name)
                    self.assertEqual(done.returncode, VIOLATION, done.stderr)
                    self.assertIn(b"protected path", done.stderr)
                    self.assertEqual(self.write("tmpfs", level, name).returncode, 0)
            self.assertEqual(self.write("ramfs", level, "Makefile").returncode, 0)


class View(unittest.TestCase):
    """The catalogue at t1 with a view over nearly every top-level directory: still no escape. What the
    plugin may not see below a touched directory does not exist for it, so fewer rows are detected; how many
    is not judged."""

    STAGE = BUILD / "tests/jail/view-stage"  # where viewed.c looks for it
    TOUCHED = "usr/include etc home root tmp var opt zz_view".split()

    def check(self, user):
        config, real_program, viewed = (
            Config(user, "t1"),
            BUILD / "mortise-jail",
            BUILD / "tests/jail/mortise-jail-viewed",
        )
        reason = why_not(user) or why_no_jail(config)
        if not reason and not (viewed.exists() and real_program.exists()):
            reason = f"{viewed} is not built"
        if reason:
            self.skipTest(reason)
        for name in self.TOUCHED:
            (self.STAGE / name / "zz").mkdir(parents=True, exist_ok=True)
            fresh = self.STAGE / name / "zz" / f"fresh-{os.urandom(8).hex()}"  # another run may be reading
            fresh.write_text("in view\n", encoding="ascii")
            fresh.rename(fresh.with_name("here"))
        subprocess.run(["mount", "--bind", viewed, real_program], check=True)
        try:
            for name in self.TOUCHED:
                seen = subprocess.run(
                    [*COMMAND, "--level", "t1", "--", "/usr/bin/cat", f"/{name}/zz/here"],
                    capture_output=True,
                    check=False,
                    cwd="/",
                    **stage.as_user(config.uid),
                )
                self.assertEqual((seen.returncode, seen.stdout), (0, b"in view\n"), (name, seen.stderr))
            score = Score(config, try_all("c", config.uid, config), real("c", config.uid))
        finally:
            subprocess.run(["umount", real_program], check=True)
        SCORES[f"c {config.name} view"] = score
        refused = [v for v in score.verdicts if v.run.code == NO_JAIL]
        if refused or score.escapes or score.hung:
            self.fail(
                f"{len(refused)} refused: {describe(refused[:2])}; escaped: {describe(score.escapes)}; "
                f"without an end: {describe(score.hung)}"
            )

    def test_nobody(self):
        self.check("nobody")

    @unittest.skipUnless(FULL, "with --full")
    def test_root(self):
        self.check("root")


def add_tests():
    chosen = QUICK if QUICKLY else DEFAULT
    for name in NOT_QUICK if QUICKLY else ():
        case, _, test = name.partition(".")
        delattr(globals()[case], test)
    for config in configurations():
        for language in ("c", "py", "js"):
            if FULL or config.name in chosen[language]:
                setattr(
                    Catalogue,
                    f"test_{language}_{config.name}",
                    lambda self, language=language, config=config: self.check(language, config),
                )
        if config.name in chosen.get("benign", ()) or (not QUICKLY and config.name.partition("_")[2] in BENIGN):
            setattr(Benign, f"test_{config.name}", lambda self, config=config: self.check(config))


def main():
    global CAN_BE_NOBODY
    if "--inside" not in sys.argv:
        sys.exit(stage.in_namespaces(sys.argv))
    CAN_BE_NOBODY = stage.NOBODY in mapped_users()
    os.setsid()  # what reaches a victim is from an attempt, not from a signal to our caller's group
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", "/dev/shm"], check=True)
    stage.loopback_up()
    add_tests()
    stage.own_tmp(sys.argv.pop(sys.argv.index("--inside") + 1))
    argv = [a for a in sys.argv if a not in ("--inside", "--full", "--quick")]
    result = unittest.main(argv=argv, exit=False).result
    print_scores()
    sys.exit(0 if result.wasSuccessful() else 1)


def mapped_users():
    with open("/proc/self/uid_map", encoding="ascii") as f:
        first, _, count = map(int, f.readline().split())
    return range(first, first + count)


CAN_BE_NOBODY = False
if __name__ == "__main__":
    main()
