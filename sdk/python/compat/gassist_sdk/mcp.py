# SPDX-License-Identifier: Apache-2.0
"""MCP discovery is not part of this package."""
from .plugin import NO_MCP

raise ImportError(NO_MCP)
