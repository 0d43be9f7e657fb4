# SPDX-License-Identifier: Apache-2.0
"""ayiou: chat messages. One JSON text per line."""
from __future__ import annotations

import re
import shlex

from ..call import Call, Message
from ..dialect import Asked, Dialect, text_of
from ..errors import wrong
from ..results import Reply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Tuple

    from ..dialect import Handler
    from ..fields import Function
    from ..serve import Session

CONVERSATIONS = 1000  # that wait at the same time; then the oldest is given up


def split_words(text: str, count: int) -> List[str]:
    """Words as in a shell; what no quotes can be made of, by spaces. The last of `count` is the rest."""
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    if 0 < count < len(words):
        # The rest of the line as it was typed: cut off the words before it.
        rest = text.strip()
        for word in words[: count - 1]:
            rest = _after_word(rest)
        words = words[: count - 1] + [rest]
    return words


def _after_word(text: str) -> str:
    """The text after its first word, quotes in it respected."""
    found = re.match(r"""(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+\s*""", text, re.S)
    return text[found.end() :] if found else text.partition(" ")[2]


class Ayiou(Dialect):
    name = "ayiou"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.conversations: Dict[Tuple[Any, ...], Tuple[Any, Call, Function]] = {}
        self.words: Dict[str, Function] = {}
        for name, function in self.plugin.commands.items():
            for word in (name, *self.plugin.aliases.get(name, [])):
                self.words["/" + word.rpartition(":")[2].lstrip("/")] = function

    def table(self) -> Dict[str, Handler]:
        return {
            "metadata": self.metadata,
            "matches": self.matches,
            "handle": self.handle,
            "lifecycle": self.lifecycle,
            **self.functions(),
        }

    # ---- who and when

    def metadata(self, call: Call) -> Any:
        commands = [
            {
                "name": name.rpartition(":")[2],
                "description": function.description,
                "aliases": self.plugin.aliases.get(name, []),
            }
            for name, function in self.plugin.commands.items()
        ]
        out = {
            "name": self.plugin.name,
            "description": self.plugin.description,
            "version": self.plugin.version,
            "commands": commands,
        }
        if self.plugin.author:
            out["author"] = self.plugin.author
        return out

    @staticmethod
    def event(params: Any) -> str:
        """startup, shutdown, botconnect …, from any of the forms in the field."""
        event = params.get("event") if isinstance(params, dict) else None
        if isinstance(event, dict):
            event = event.get("type") if isinstance(event.get("type"), str) else next(iter(event), None)
        return event.replace("_", "").lower() if isinstance(event, str) else ""

    def lifecycle(self, call: Call) -> Any:
        event = self.event(call.params)
        if event == "startup" and not self.session.started:
            try:
                self.session.start({}, call)
            except Exception as problem:  # here an error would count as ok
                self.session.report()
                return {"ok": False, "error": str(problem) or type(problem).__name__}
        if event == "shutdown":
            self.session.stop()
            self.session.ending = True
        return {"ok": True}

    def is_stop(self, method: str, params: Any) -> bool:
        return method == "lifecycle" and self.event(params) == "shutdown"

    def close(self) -> None:
        waiting, self.conversations = self.conversations, {}
        for generator, _, _ in waiting.values():
            generator.close()

    # ---- messages

    @staticmethod
    def place(message: Message) -> Tuple[Any, ...]:
        return (message.message_type, message.group_id, message.user_id)

    def message_of(self, call: Call) -> Message:
        if not isinstance(call.params, dict) or not isinstance(call.params.get("text"), str):
            raise wrong("text", "is missing")
        call.message = Message(call.params)
        return call.message

    def find(self, call: Call, message: Message) -> Optional[Tuple[Function, Dict[str, Any]]]:
        """The function for a message, and what of the message is for its parameters."""
        text = message.text.strip()
        word = text.split(None, 1)[0] if text else ""
        function = self.words.get(word)
        if function is not None:
            return function, {"": text[len(word) :]}
        for handler in self.plugin.handlers:
            match = handler.match
            if callable(match):
                if self.session.guarded(call, match, [message], {}):
                    return handler.function, {"text": message.text}
                continue
            found = re.search(match, message.text) if match is not None else True
            if found:
                groups = {} if found is True else found.groupdict()
                given = {name: value for name, value in groups.items() if value is not None}
                return handler.function, {"text": message.text, **given}
        return None

    def matches(self, call: Call) -> Any:
        message = self.message_of(call)
        if not self.session.started:
            self.begin(call)
        waits = self.place(message) in self.conversations
        return {"matches": waits or self.find(call, message) is not None}

    def handle(self, call: Call) -> Any:
        message = self.message_of(call)
        if not self.session.started:
            self.begin(call)
        waiting = self.conversations.pop(self.place(message), None)
        if waiting is not None:
            generator, first, function = waiting
            first.continues(call)
            answer = self.session.resume(first, generator, message.text)
            return self.reply(first, function, answer)
        found = self.find(call, message)
        if found is None:
            return self.reply_of(Reply(None, handled=False, block=False))
        function, found_in = found
        call.method = function.name
        words, arguments = self.arguments(function, found_in, {"call": call, "message": message})
        return self.reply(call, function, self.session.invoke(call, function, arguments, words))

    @staticmethod
    def arguments(
        function: Function, found: Dict[str, Any], given: Dict[str, Any]
    ) -> Tuple[List[Any], Dict[str, Any]]:
        if "" not in found:
            return function.bind_words([], found, given)
        fields = function.positions
        last = len(fields) if fields and fields[-1].kind in ("string", "any") and not function.rest else 0
        return function.bind_words(split_words(found[""], last), {}, given)

    def reply(self, call: Call, function: Function, result: Any) -> Any:
        if isinstance(result, Asked):
            place = self.place(call.message)
            if len(self.conversations) >= CONVERSATIONS:
                self.conversations.pop(next(iter(self.conversations)))[0].close()
            self.conversations[place] = (result.generator, call, function)
            result = result.question
        if isinstance(result, dict) and ("reply" in result or "actions" in result or "handled" in result):
            return {"handled": True, "block": False, "reply": None, "actions": [], **result}
        if not isinstance(result, Reply):
            said = text_of(result)
            command = function in self.words.values()
            quiet = said is None and not command and call._pieces is None
            result = Reply(
                said if said is None or isinstance(said, str) else str(said), handled=not quiet, block=not quiet
            )
        result.text = call.with_pieces(result.text)
        return self.reply_of(result)

    @staticmethod
    def reply_of(reply: Reply) -> Dict[str, Any]:
        return {"handled": reply.handled, "block": reply.block, "reply": reply.text, "actions": reply.actions}
