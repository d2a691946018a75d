"""JSON-RPC lines as events of a stream, and the little that must be known of a line that is bytes already."""

from __future__ import annotations

from scorpio.protocol.messages import encode_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.protocol.messages import RequestId


def event_of(line: bytes) -> bytes:
    """The event that carries one line, which ends with its newline."""
    return b"event: message\ndata: " + line + b"\n"


def numbered_event(stream: int, number: int, line: bytes) -> bytes:
    """The same, with an id that a client may come back with."""
    return b"id: %d-%d\nevent: message\ndata: %b\n" % (stream, number, line)


def priming_event(stream: int, number: int, retry_ms: int) -> bytes:
    """No message: an id to come back with, and when. Source: MCP 2025-11-25, basic/transports, "Sending Messages"."""
    return b"id: %d-%d\nretry: %d\ndata: \n\n" % (stream, number, retry_ms)


def event_id(text: bytes) -> tuple[int, int] | None:
    """Stream and number of an id that `numbered_event` may have made."""
    stream, dash, number = text.partition(b"-")
    if not dash or not stream.isdigit() or not number.isdigit() or len(text) > 40:
        return None
    return int(stream), int(number)


def error_code(line: bytes, id_: RequestId) -> int:
    """The code of an answer to `id_` that is an error, as this program encodes them; 0 for a result."""
    head = b'{"jsonrpc":"2.0","id":%b,"error":{"code":' % encode_id(id_)
    if not line.startswith(head):
        return 0
    digits = line[len(head) : len(head) + 12].partition(b",")[0]
    return int(digits)
