# SPDX-License-Identifier: Apache-2.0
"""Plugins written for `gassist_sdk` run on Tenon: the same names, without a changed line.

What changes: pings are answered while a command runs, print() does not reach the wire, string ids work, SIGTERM
ends the plugin, and nothing is logged into the plugin's directory. New plugins use `tenon` itself.
"""
from .plugin import MCPPlugin, Plugin, command
from .protocol import ConnectionClosed, ProtocolError
from .types import CommandResult, Context, ErrorCode, LogLevel, SystemInfo

__version__ = "3.1.0"  # the version whose names these are
__all__ = [
    "CommandResult",
    "ConnectionClosed",
    "Context",
    "ErrorCode",
    "LogLevel",
    "MCPPlugin",
    "Plugin",
    "ProtocolError",
    "SystemInfo",
    "command",
]
