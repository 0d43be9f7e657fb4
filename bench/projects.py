# SPDX-License-Identifier: Apache-2.0
"""Real C projects for bench/index, as Debian has their sources: fetched once, unpacked, and recorded.

apt-get needs lines "deb-src", which most machines do not have. They are made from the lines "deb" of this
machine's own list, in a directory of their own: nothing of the machine is changed.
"""
import json
import pathlib
import re
import subprocess

# name: source package, directory of the sources, its directories for -I, options, and files
# that its build makes
PROJECTS = {
    "zlib": ("zlib", ".", ["."], [], {}),
    "lua": (
        "lua5.4",
        "src",
        ["."],
        ["-DLUA_USE_LINUX"],
        {"lua5.4-deb-multiarch.h": '#define DEB_HOST_MULTIARCH "x86_64-linux-gnu"\n'},
    ),
    "jq": (
        "jq",
        "src",
        [".", ".."],
        ["-D_GNU_SOURCE", "-DIEEE_8087"],
        {"builtin.inc": '"def not: if . then false else true end;"\n', "version.h": '#define JQ_VERSION "1"\n'},
    ),
}


class NoSources(Exception):
    """They cannot be had here. Its text is one line."""


def released(stanza):
    """Without updates, whose old versions are soon gone: only suites like "bookworm" stay. None:
    there are none."""
    suites = re.search(r"(?m)^Suites:(.*)$", stanza)
    kept = [suite for suite in suites[1].split() if "-" not in suite] if suites else []
    if "debian" not in stanza or not kept:
        return None
    stanza = re.sub(r"(?m)^Suites:.*$", "Suites: " + " ".join(kept), stanza)
    return re.sub(r"(?m)^Types:.*$", "Types: deb-src", stanza).strip()


def debian_list():
    """This machine's Debian sources, as deb-src; both forms of apt's lists."""
    stanzas = []
    for path in sorted(pathlib.Path("/etc/apt/sources.list.d").glob("*.sources")):
        stanzas += path.read_text().split("\n\n")
    old = pathlib.Path("/etc/apt/sources.list")
    for line in old.read_text().splitlines() if old.exists() else ():
        words = line.split()
        if words[:1] == ["deb"] and not words[1].startswith("["):
            stanzas.append(
                f"Types: deb\nURIs: {words[1]}\nSuites: {words[2]}\nComponents: {' '.join(words[3:])}"
            )
    return "\n\n".join(filter(None, map(released, stanzas))) + "\n"


def apt(cache, *words):
    lists = cache / "apt"
    (lists / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    (lists / "archives" / "partial").mkdir(parents=True, exist_ok=True)
    (lists / "src.sources").write_text(debian_list())
    options = {
        "Dir::Etc::sourcelist": lists / "src.sources",
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": lists / "lists",
        "Dir::Cache": lists,
        "APT::Sandbox::User": "root",
        "APT::Update::Error-Mode": "any",  # else a list that cannot be had is a warning
        "Acquire::Retries": 1,
    }
    settings = [word for key, value in options.items() for word in ("-o", f"{key}={value}")]
    try:
        done = subprocess.run(
            ["apt-get", "-qq", *settings, *words], cwd=cache, capture_output=True, text=True, timeout=600
        )
    except (OSError, subprocess.TimeoutExpired) as why:
        raise NoSources(f"apt-get: {why}") from why
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if line.startswith("E:")] or ["it says nothing"]
        raise NoSources(f"apt-get {words[0]}: {' '.join(said[0].split())[:160]}")


def unpacked(cache, package):
    """Where the source package lies; it is fetched if it is not there."""
    cache.mkdir(parents=True, exist_ok=True)
    found = [path for path in cache.glob(package + "-*") if path.is_dir()]
    if not found:
        apt(cache, "update")
        apt(cache, "source", package)
        found = [path for path in cache.glob(package + "-*") if path.is_dir()]
    return found[0]


def commands(cache, name):
    """The path of a compile_commands.json for all C files of the project's own directory."""
    package, below, includes, options, made = PROJECTS[name]
    top = unpacked(cache, package)
    place = top / below
    for file, text in made.items():
        (place / file).write_text(text)
    includes = ["-I" + include for include in includes]
    rows = [
        {"directory": str(place), "file": file.name, "arguments": ["cc", "-c", *includes, *options, file.name]}
        for file in sorted(place.glob("*.c"))
    ]
    path = cache / (name + "-commands.json")
    path.write_text(json.dumps(rows))
    return path
