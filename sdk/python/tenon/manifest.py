# SPDX-License-Identifier: Apache-2.0
"""The manifest file of a plugin, as `PROGRAM --manifest [DIALECT]` prints it."""
from __future__ import annotations

import json
import os
import re
import sys

from .dialect import DIALECTS, fitting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

    from .plugin import Plugin

FILES = {
    "yams": "yams-plugin.json",
    "gassist": "manifest.json",
    "sunscreen": "plugin.toml",
    "sunscreen-json": "sunscreen-plugin.json",
    "ayiou": "bot.toml",
    "kythe": "mortise.toml",
    "plain": "mortise.toml",
}

# sunscreen: of a plugin that says nothing of its own. Without the right to write, its files would be refused.
PERMISSIONS: Dict[str, Any] = {"workspace_write": True, "network": False, "declared_paths": []}


def manifest(plugin: Plugin, dialect: Optional[str] = None, program: str = "") -> str:
    """The text of the manifest. `program` is the plugin's file, by default the one that runs."""
    fits = fitting(plugin)
    name = dialect or plugin.dialect or fits[0]
    if not dialect and not plugin.dialect and len(fits) > 1:
        raise SystemExit("--manifest: which one? This plugin speaks %s" % ", ".join(fits))
    if name not in DIALECTS:
        raise SystemExit("--manifest: %r is none of %s" % (name, ", ".join(DIALECTS)))
    path = program or sys.argv[0] or "plugin.py"
    made: str = MAKERS[name](plugin, name, path)
    return made


def answer_option(plugin: Plugin, option: str, dialect: Optional[str] = None) -> None:
    """Options of the library. The author may have others, so only what begins like one of these must be one."""
    if option == "--manifest":
        sys.stdout.write(manifest(plugin, dialect))
    elif option == "--help":
        sys.stdout.write(help_text(plugin))
    else:
        print(
            "%s: unknown option %s: there are --manifest [DIALECT] and --help" % (plugin.name, option),
            file=sys.stderr,
        )
        sys.exit(2)


def help_text(plugin: Plugin) -> str:
    about = ": " + plugin.description if plugin.description else ""
    return (
        "%s %s%s\n"
        "A plugin (%s): a host starts it, and they speak over its stdin and stdout.\n\n"
        "  --manifest [DIALECT]  print its manifest\n"
        "  --help                print this\n\n"
        "Try: mortise info %s\n"
    ) % (plugin.name, plugin.version, about, plugin.dialect or " or ".join(fitting(plugin)), sys.argv[0])


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _text(value: str) -> str:
    """A basic string of TOML; JSON's has the same escapes."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def command_of(path: str) -> List[str]:
    """How to start it from its own directory: itself if it may be executed, else by python3."""
    file = "./" + os.path.basename(path)
    return [file] if os.access(path, os.X_OK) else ["python3", file]


def _yams(plugin: Plugin, name: str, path: str) -> str:
    from .dialects.yams import identity

    file = "${plugin_dir}/" + os.path.basename(path)
    entry = {"cmd": ["python3", file]}
    if os.access(path, os.X_OK):
        entry = {"binary": {"linux": file}, "cmd": ["python3", file]}  # type: ignore[dict-item]
    return _json({**identity(plugin), "transport": "external", "entry": entry})


def _gassist(plugin: Plugin, name: str, path: str) -> str:
    functions = [
        {"name": command, "description": function.description or command, **function.schema()}
        for command, function in plugin.commands.items()
    ]
    return _json(
        {
            "manifestVersion": 1,
            "protocol_version": "2.0",
            "name": plugin.name,
            "version": plugin.version,
            "description": plugin.description,
            "executable": os.path.basename(path),
            "persistent": True,
            "functions": functions,
        }
    )


def _sunscreen(plugin: Plugin, name: str, path: str) -> str:
    from .dialects.sunscreen import split_name

    tables: Dict[str, Dict[str, str]] = {}
    for command, function in plugin.commands.items():
        kind, bare = split_name(command, "scaffold")
        tables.setdefault(kind, {})[bare] = function.description
    if plugin.hooks:
        tables["hook"] = {hook: function.description for hook, function in plugin.hooks.items()}
    lines = ["[plugin]"]
    known = {"name": plugin.name, "version": plugin.version, "description": plugin.description}
    lines += ["%s = %s" % (key, _text(value)) for key, value in known.items() if value]
    lines += ["entry = %s" % _text("./" + os.path.basename(path))]
    lines += ["", "[permissions]"]
    lines += [
        "%s = %s" % (key, json.dumps(value)) for key, value in {**PERMISSIONS, **plugin.permissions}.items()
    ]
    for kind, commands in tables.items():
        lines += ["", "[commands.%s]" % kind]
        lines += ["%s = %s" % (_text(command), _text(text)) for command, text in commands.items()]
    return "\n".join(lines) + "\n"


def _sunscreen_json(plugin: Plugin, name: str, path: str) -> str:
    from .dialects.sunscreen import split_name

    commands = []
    for command, function in plugin.commands.items():
        kind, bare = split_name(command, "app")
        commands.append({"name": bare, "kind": kind, "summary": function.description})
    out: Dict[str, Any] = {
        "name": plugin.name,
        "version": plugin.version,
        "description": plugin.description,
        "transport": "stdio-jsonrpc",
        "entrypoint": command_of(path),
        "capabilities": {
            "network": bool(plugin.permissions.get("network")),
            "filesystem": ["workspace", "scratch"],
        },
        "commands": commands,
        "hooks": list(plugin.hooks),
    }
    return _json(out)


def _own(plugin: Plugin, name: str, path: str) -> str:
    known = {"name": plugin.name, "version": plugin.version, "description": plugin.description, "dialect": name}
    lines = ["[plugin]"] + ["%s = %s" % (key, _text(value)) for key, value in known.items() if value]
    lines.append("command = [%s]" % ", ".join(_text(word) for word in command_of(path)))
    return "\n".join(lines) + "\n"


def _ayiou(plugin: Plugin, name: str, path: str) -> str:
    """A section of the bot's own file: Ayiou's plugins have no manifest."""
    key = plugin.name if re.fullmatch("[A-Za-z0-9_-]+", plugin.name) else _text(plugin.name)
    command, *words = command_of(path)
    lines = ["[external-plugin-bridge]", "enabled = true", "", "[external-plugin-bridge.plugins.%s]" % key]
    lines.append("command = %s" % _text(command))
    if words:
        lines.append("args = [%s]" % ", ".join(map(_text, words)))
    return "\n".join(lines) + "\n"


MAKERS = {
    "yams": _yams,
    "gassist": _gassist,
    "sunscreen": _sunscreen,
    "sunscreen-json": _sunscreen_json,
    "ayiou": _ayiou,
    "kythe": _own,
    "plain": _own,
}
