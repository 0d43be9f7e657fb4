# SPDX-License-Identifier: Apache-2.0
"""kythe: the plugin asks for compilation records. The conversation itself is tenon.analyzer's."""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..plugin import Plugin


def run(plugin: Plugin) -> None:
    """Until the driver has no more work. Ends the process."""
    from ..analyzer import run as serve

    start, stop = plugin.starts, plugin.stops
    if start is not None:
        start.fn({}) if start.fields else start.fn()
    try:
        serve(next(iter(plugin.analyses.values())), types=list(plugin.analyses), encoding=plugin.encoding)
    finally:
        if stop is not None:
            stop.fn()
