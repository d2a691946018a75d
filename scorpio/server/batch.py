"""JSON-RPC batches, for the one revision that has them: one array in, one array out when all answers are there.

Source: MCP 2025-03-26, basic ("Batching"); JSON-RPC 2.0 section 6. Elsewhere an array is not a message.
"""

from __future__ import annotations

import _thread

from scorpio.protocol.errors import INVALID_REQUEST, ProtocolError
from scorpio.protocol.messages import Request, encode_error, message_of
from scorpio.protocol.meta import PROTOCOL_VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.server.peer import Peer
    from scorpio.server.server import Server

BATCH_MESSAGES_MAX = 1000
"""Messages in one batch; an array of a million pings would hold the connection for seconds."""

NO_BATCHES = "A message must be a JSON object; this revision has no batches"


def receive_batch(server: Server, values: list[Any], peer: Peer, frame: bytes | None = None) -> bytes | None:
    """The array of answers; None when it is empty or leaves later. Raises ProtocolError where there are no batches."""
    session = peer.session
    if session is None or not session.revision.batch:
        raise ProtocolError(INVALID_REQUEST, NO_BATCHES)
    if not values:
        raise ProtocolError(INVALID_REQUEST, "The batch is empty")
    if len(values) > BATCH_MESSAGES_MAX:
        raise ProtocolError(INVALID_REQUEST, f"The batch has more than {BATCH_MESSAGES_MAX} messages")
    batch = _Batch(peer)
    for index, value in enumerate(values):
        batch.receive(server, value, frame, index)
        if peer.ended:  # by `shutdown` or `exit`: nothing after it is served, as outside of a batch
            break
    return batch.close()


def _allowed(request: Request) -> None:
    if request.method == "initialize":
        raise ProtocolError(INVALID_REQUEST, "initialize must not be in a batch", request_id=request.id)
    meta = request.params.get("_meta")
    if type(meta) is dict and PROTOCOL_VERSION in meta:
        raise ProtocolError(INVALID_REQUEST, "A modern request must not be in a batch", request_id=request.id)


class _Batch:
    """Collects the answers of one batch; the last of them sends it."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._lock = _thread.allocate_lock()
        self._answers: list[bytes] = []
        self._late = 0
        self._closed = False

    def receive(self, server: Server, value: Any, frame: bytes | None, index: int) -> None:
        try:
            message = message_of(value)
            if type(message) is Request:
                _allowed(message)
        except ProtocolError as error:
            self._answers.append(encode_error(error.request_id, error))
            return
        if type(message) is Request:
            message.answer = self._answer_late
            message.frame, message.index = frame, index
            with self._lock:
                self._late += 1
        answer = server.receive_message(message, self._peer)
        if answer is not None:
            self._answer_late(answer)

    def close(self) -> bytes | None:
        with self._lock:
            self._closed = True
            return self._line() if self._late == 0 else None

    def _answer_late(self, line: bytes | None) -> None:
        """One request less to wait for; None: it was cancelled and has no answer."""
        with self._lock:
            if line is not None:
                self._answers.append(line)
            self._late -= 1
            last = self._closed and self._late == 0
            whole = self._line() if last else None
        if last:
            self._peer.write(whole or b"")  # nothing, where all were cancelled: HTTP waits for that much

    def _line(self) -> bytes | None:
        if not self._answers:
            return None
        return b"[" + b",".join(answer.rstrip(b"\n") for answer in self._answers) + b"]\n"
