# SPDX-License-Identifier: Apache-2.0
"""What goes wrong, with the codes of JSON-RPC 2.0, section 5.1, and those of the dialects."""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603


class PluginError(Exception):
    """An error with the code and the data that the host is to see.

    code: The number on the wire. None is the dialect's own for "it failed": -1 in gassist, -32000 for a yams
        extractor, 1 in sunscreen, else -32603.
    message: One line for people.
    data: Anything that JSON can carry.
    """

    def __init__(self, code: Optional[int], message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class Stop(BaseException):
    """The plugin ends now: SIGTERM while it waits for work."""


class HostGone(BaseException):
    """Nobody reads what we write. Not an Exception, so that code that catches all of those lets it through."""


def wrong(field: str, text: str) -> PluginError:
    """A parameter that cannot be used."""
    return PluginError(INVALID_PARAMS, "%s: %s" % (field, text))
