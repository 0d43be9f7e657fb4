# SPDX-License-Identifier: Apache-2.0
"""Plugins written for `yams_sdk` run on Tenon: the same names, without a changed line.

What changes: methods with @rpc are registered by themselves, a source of bytes has a path, too, plugin.init is
understood wrapped and flat, health is answered while a call runs, print() does not reach the wire. New plugins
use `tenon` itself. The graph and schema modules of upstream's package are not here.
"""
from .base import BasePlugin
from .decorators import rpc

__version__ = "0.1.0"
__all__ = ["BasePlugin", "rpc"]
