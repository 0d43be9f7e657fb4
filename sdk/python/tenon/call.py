# SPDX-License-Identifier: Apache-2.0
"""One call, as the author's function sees it."""
from __future__ import annotations

from .errors import PluginError
from .wire import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional

    from .serve import Session

NOTHING: Any = object()  # a handler has already answered, or will


class Message:
    """A chat message (ayiou)."""

    def __init__(self, params: Dict[str, Any]) -> None:
        self.text: str = params.get("text") or ""
        self.message_type: str = params.get("message_type") or "private"
        self.user_id: Optional[int] = params.get("user_id")
        self.group_id: Optional[int] = params.get("group_id")
        self.raw_message: str = params.get("raw_message") or self.text
        self.self_id: Optional[int] = params.get("self_id")


class Call:
    """The call that runs: a parameter named `call` gets it.

    id: As the host sent it; None for a notification.
    method: The name of what is called.
    params: As sent.
    cancelled: True once the host wants the plugin to end. Look at it in long loops, and return.
    message: ayiou: the chat message, with text, message_type, user_id, group_id, raw_message, self_id.
    workspace: sunscreen: the absolute path of the workspace.
    config: sunscreen: the workspace's configuration; elsewhere the plugin's own.
    args: sunscreen: the words of the command line.
    flags: sunscreen: its flags.
    context: gassist: the conversation so far, a list of {role, content}; a sunscreen hook: its context.
    system_info: gassist: what the host says about the machine.
    keep_session: gassist: set it to keep the conversation without asking; `yield` does it by itself.
    source: yams: where the content is.
    options: yams: the options of the extraction.
    """

    cancelled = False
    message: Any = None
    workspace: str = ""
    args: List[str] = []
    flags: Dict[str, Any] = {}
    context: Any = None
    system_info: Any = None
    keep_session = False
    source: Any = None
    options: Dict[str, Any] = {}
    success = True  # gassist: whether `complete` says so
    _pieces: Optional[List[str]] = None

    def __init__(
        self,
        session: Session,
        method: str,
        params: Any,
        id_text: Optional[bytes],
        send: Callable[[bytes], None],
    ) -> None:
        self._session = session
        self.method = method
        self.params = params
        self.id_text = id_text
        self._send = send

    def __repr__(self) -> str:
        return "<Call %s %s>" % (self.method, (self.id_text or b"-").decode())

    @property
    def id(self) -> Any:
        from .wire import decode

        return None if self.id_text is None else decode(self.id_text.decode())

    @property
    def dialect(self) -> str:
        """The name of the dialect that is spoken."""
        return self._session.dialect.name

    @property
    def config(self) -> Any:
        return self._session.config

    # ---- while it runs

    def stream(self, text: str) -> None:
        """Sends a piece of the answer at once; where the dialect cannot, it is put before the answer."""
        self._session.dialect.stream(self, text)

    def progress(self, fraction: float, text: str = "") -> None:
        """Says how far it is, from 0 to 1."""
        self._session.dialect.progress(self, fraction, text)

    def log(self, level: str, text: str) -> None:
        """A line for people: level is debug, info, warning or error."""
        self._session.dialect.log(level, text)

    # ---- its end, for dialects

    def answer(self, result: Any) -> None:
        id_text = self.id_text
        if id_text is not None:
            self._send(b'{"jsonrpc":"2.0","id":' + id_text + b',"result":' + encode(result) + b"}")

    def fail(self, problem: PluginError) -> None:
        if self.id_text is None:
            return
        error: Dict[str, Any] = {"code": problem.code, "message": problem.message}
        if problem.code is None:
            error["code"] = self._session.dialect.failure
        if problem.data is not None:
            error["data"] = problem.data
        try:
            body = encode(error)
        except (TypeError, ValueError):  # data that is no JSON must not hide the error
            error["data"] = repr(problem.data)
            body = encode(error)
        self._send(b'{"jsonrpc":"2.0","id":' + self.id_text + b',"error":' + body + b"}")

    def continues(self, other: Call) -> None:
        """The next turn of a conversation: the function keeps its call, the answers go to the new request."""
        self.id_text, self._send, self._pieces = other.id_text, other._send, None
        self.message = other.message
        self.keep_session = self.cancelled = False

    def piece(self, text: str) -> None:
        if self._pieces is None:
            self._pieces = []
        self._pieces.append(text)

    def with_pieces(self, text: Optional[str]) -> Optional[str]:
        """What was streamed, and then the text."""
        if self._pieces is None:
            return text
        return "".join(self._pieces) + (text or "")
