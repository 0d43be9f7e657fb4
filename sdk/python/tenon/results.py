# SPDX-License-Identifier: Apache-2.0
"""Results that say more than a text. Where a dialect has no word for a member, it is left out."""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Sequence


class Reply:
    """The answer to a chat message (ayiou). Elsewhere its text is the result.

    text: One message back to the sender or the group. None sends nothing.
    actions: More to do, in order, after the text; `image()` and `send()` add some.
    handled: Whether this plugin did something with the message.
    block: Whether later plugins do not get it.
    """

    def __init__(
        self,
        text: Optional[str] = None,
        actions: Sequence[Dict[str, Any]] = (),
        handled: bool = True,
        block: bool = True,
    ) -> None:
        self.text = text
        self.actions: List[Dict[str, Any]] = list(actions)
        self.handled = handled
        self.block = block

    def say(self, text: str) -> Reply:
        """One more message to the same place."""
        self.actions.append({"type": "reply", "text": text})
        return self

    def image(self, url: str) -> Reply:
        """A picture to the same place."""
        self.actions.append({"type": "image", "url": url})
        return self

    def send(self, target_type: str, target_id: int, message: str) -> Reply:
        """A message elsewhere: target_type is "private" or "group"."""
        self.actions.append(
            {"type": "send", "target_type": target_type, "target_id": target_id, "message": message}
        )
        return self


class Extraction:
    """What an extractor found (yams). Elsewhere its content is the result."""

    def __init__(
        self, content: str, metadata: Optional[Dict[str, Any]] = None, stats: Optional[Dict[str, Any]] = None
    ) -> None:
        self.content = content
        self.metadata = metadata or {}
        self.stats = stats


class Done:
    """What a command did to the workspace (sunscreen). Elsewhere its summary is the result."""

    def __init__(self, summary: str = "", files_written: Sequence[str] = ()) -> None:
        self.summary = summary
        self.files_written = [str(path) for path in files_written]
