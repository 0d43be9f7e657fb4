# SPDX-License-Identifier: Apache-2.0
"""Names that plugins may import; Tenon raises neither of them."""


class ProtocolError(Exception):
    """A message that cannot be read."""


class ConnectionClosed(Exception):
    """The engine is gone."""
