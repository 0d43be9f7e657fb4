# SPDX-License-Identifier: Apache-2.0
"""Tenon: the plugin author's side of Mortise, in Python. Standard library only, Python 3.8 and later.

    from tenon import Plugin

    plugin = Plugin("dice", "1.0.0", "Rolls dice")

    @plugin.command
    def roll(sides: int = 6) -> str:
        "Rolls one die.\\n\\nsides: how many sides it has"
        return str(random.randint(1, sides))

    if __name__ == "__main__":
        plugin.run()
"""
from .call import Call, Message
from .errors import PluginError
from .plugin import Plugin
from .results import Done, Extraction, Reply

__version__ = "0.2.0"
__all__ = ["Call", "Done", "Extraction", "Message", "Plugin", "PluginError", "Reply"]
