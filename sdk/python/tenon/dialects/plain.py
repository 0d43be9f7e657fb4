# SPDX-License-Identifier: Apache-2.0
"""plain: JSON-RPC 2.0 in any framing, without greeting or shutdown."""
from __future__ import annotations

from ..call import Call
from ..dialect import Dialect
from ..wire import encode


class Plain(Dialect):
    name = "plain"
    detects_framing = True
    bare_commands = True

    def stream(self, call: Call, text: str) -> None:
        self._note(call, "stream", b'"data":' + encode(text))

    def progress(self, call: Call, fraction: float, text: str) -> None:
        self._note(call, "progress", b'"fraction":%s,"text":%s' % (encode(fraction), encode(text)))

    def _note(self, call: Call, method: str, members: bytes) -> None:
        if call.id_text is not None:  # a notification gets nothing back
            self.session.wire.send(
                b'{"jsonrpc":"2.0","method":"%s","params":{"request_id":%s,%s}}'
                % (method.encode(), call.id_text, members)
            )
