# SPDX-License-Identifier: Apache-2.0
"""A store of installed plugins as docs/design/0008-store.md says, made without the command: so that what reads
it is tested against the page and not against what writes it."""
import hashlib
import json
import pathlib
import shutil


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def canonical(value):
    return json.dumps(value, separators=(",", ":")).encode()


def content_of(directory):
    """The record of a directory, without identities: every file is read at each start until a better one is
    written."""
    files, lines = [], []
    for path in sorted(p for p in directory.rglob("*") if p.is_file()):
        name, data = path.relative_to(directory).as_posix(), path.read_bytes()
        mode = "x" if path.stat().st_mode & 0o100 else "-"
        files.append({"path": name, "mode": mode, "size": len(data), "sha256": sha256(data)})
        lines.append(f"{sha256(data)} {mode} {len(data)} {name}\n")
    return {"digest": sha256("".join(lines).encode()), "made": 0, "files": files}


def seal_of(name, entry, allow):
    """What somebody has agreed to."""
    told = {"name": name}
    for member in ("version", "directory", "digest", "dialect"):
        told[member] = entry[member]
    told["confine"] = entry.get("confine", False)
    told["permissions"] = entry["permissions"]
    return sha256(canonical({**told, "allow": allow}))


class Store:
    """Below data_home. Every install becomes the current version."""

    def __init__(self, data_home):
        self.top = pathlib.Path(data_home) / "mortise" / "plugins"

    def install(self, name, source, version="1.0.0", dialect="plain", permissions=None, approved=True, **more):
        """Copies a directory; the copy's path. more: members of the version's entry."""
        permissions = permissions or {"confined": False}
        record = content_of(pathlib.Path(source))
        directory = f"{version}-{record['digest'][:16]}"
        place = self.top / name / directory / name
        for part in (self.top, self.top / name):
            part.mkdir(parents=True, exist_ok=True)
            part.chmod(0o700)
        shutil.copytree(source, place)
        pathlib.Path(f"{place.parent}.json").write_bytes(canonical(record))
        entry = {
            "version": version,
            "directory": directory,
            "digest": record["digest"],
            "dialect": dialect,
            "permissions": permissions,
            **more,
        }
        if approved:
            allow = ["unconfined"]
            entry["approved"] = {"at": 1767225600, "seal": seal_of(name, entry, allow), "allow": allow}
        state = self.top / name / "state.json"
        versions = json.loads(state.read_bytes())["versions"] if state.exists() else []
        state.write_bytes(canonical({"name": name, "current": version, "versions": [*versions, entry]}))
        state.chmod(0o600)
        return place
