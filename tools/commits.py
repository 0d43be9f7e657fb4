# SPDX-License-Identifier: Apache-2.0
"""check commits [REV]: what CONTRIBUTING.md asks of the text of a commit. Looks at the commits since REV;
without it, at those that origin/main does not have; where there is no origin/main, at the last LAST ones. Where
there is no history (no git, a tarball) it says so, and nothing is wrong.
"""
import os
import shutil
import subprocess
import tempfile

SUBJECT_MAX = 72
LAST = 30
SHORT = "typo:"  # a subject that begins so says all that there is to say
END = "\x1e"


def git(root, *words):
    """What it prints, or None if it fails."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    if not shutil.which("git"):
        return None
    done = subprocess.run(["git", "-C", root, *words], capture_output=True, text=True, env=kept, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def new_commits(root, rev):
    """(hash, text) of each, or why they cannot be known."""
    top = git(root, "rev-parse", "--show-toplevel")
    if top is None or not os.path.samefile(top, root):
        return "this tree has no history of its own"
    since = rev or git(root, "merge-base", "HEAD", "origin/main")
    which = [f"{since}..HEAD"] if since else [f"--max-count={LAST}", "HEAD"]
    listed = git(root, "log", "--no-merges", f"--format=%h%n%B{END}", *which)
    if listed is None:
        return f"{rev} is not in the history here" if rev else "it has no commit yet"
    return [text.strip().partition("\n")[::2] for text in listed.split(END) if text.strip()]


def faults_of(text):
    subject, _, rest = text.partition("\n")
    if len(subject) > SUBJECT_MAX:
        yield f"its subject has {len(subject)} characters; at most {SUBJECT_MAX}"
    if rest and not rest.startswith("\n"):
        yield "the second line is not blank"
    if not rest.strip() and not subject.startswith(SHORT):
        yield f"no body says why (only one that begins with {SHORT} needs none)"


def check(root, rev=None):
    found = new_commits(os.fspath(root), rev)
    if isinstance(found, str):
        print(f"commits: not looked at: {found}")
        return []
    return [f"commit {name}: {fault}" for name, text in found for fault in faults_of(text)]


# ---- self-test

PLANTED = [  # text, what the only fault must say (None: there is no fault)
    ("Pools: a call waits\n\nIt went to a worker that was not ready.\n", None),
    ("typo: recieve\n", None),
    ("Pools: a call waits\n", "no body says why"),
    ("x" * 73 + "\n\nwhy\n", "its subject has 73 characters"),
    ("x" * 72 + "\n\nwhy\n", None),
    ("Pools: a call waits\nIt went to a worker.\n", "the second line is not blank"),
]


def self_test():
    for text, want in PLANTED:
        got = list(faults_of(text))
        if len(got) != (want is not None) or (want and want not in got[0]):
            yield f"tools/check commits on {text[:40]!r}: wanted {want!r}, got {got}"
    with tempfile.TemporaryDirectory() as top:
        if not isinstance(new_commits(top, None), str):
            yield "tools/check commits: a tree without a history has commits"
        if git(top, "init", "-q") is None:
            return
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
        for subject in ("old", "typo: new", "newer"):
            git(top, *who, "commit", "-q", "--allow-empty", "-m", subject)
        if len(new_commits(top, None)) != 3:
            yield "tools/check commits: without origin/main the last ones are looked at"
        if [fault.partition(": ")[2][:7] for fault in check(top, "HEAD~2")] != ["no body"]:
            yield "tools/check commits: of two commits since REV, one is wrong"
        git(top, "update-ref", "refs/remotes/origin/main", "HEAD~1")
        if len(new_commits(top, None)) != 1:
            yield "tools/check commits: one commit is new to origin/main"
