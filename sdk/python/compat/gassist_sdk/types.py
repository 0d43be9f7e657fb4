# SPDX-License-Identifier: Apache-2.0
"""What commands get and return."""
from __future__ import annotations

import enum
from typing import Any, Dict, Iterable, List, Optional


class LogLevel(enum.Enum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class ErrorCode(enum.IntEnum):
    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603
    PLUGIN_ERROR = -1
    TIMEOUT = -2
    RATE_LIMITED = -3


class Context(List[Any]):
    """The conversation so far: a list of {role, content}."""

    @classmethod
    def from_list(cls, messages: Optional[Iterable[Dict[str, Any]]]) -> Context:
        return cls(messages if isinstance(messages, list) else [])

    @property
    def messages(self) -> List[Any]:
        return self


class SystemInfo(str):
    """What the engine says about the machine: a text."""

    @classmethod
    def from_string(cls, text: Optional[str]) -> SystemInfo:
        return cls(text if isinstance(text, str) else "")

    @property
    def raw(self) -> str:
        return str(self)


class CommandResult:
    """A result that says whether it is one."""

    def __init__(
        self, success: bool = True, data: Any = None, error: Optional[str] = None, keep_session: bool = False
    ) -> None:
        self.success = success
        self.data = data
        self.error = error
        self.keep_session = keep_session
