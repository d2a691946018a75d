"""JSON-RPC 2.0 messages: their types, how a decoded value becomes one, how answers become bytes.

Nothing of MCP, no method names. Does not parse JSON: callers hand in what their parser made.
"""

from __future__ import annotations

from scorpio.protocol.errors import INVALID_PARAMS, INVALID_REQUEST, ProtocolError
from scorpio.protocol.strict_json import dumps, quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    RequestId = int | str


class Request:
    """Asks for an answer. `id` is an int or a str, never null and never a bool."""

    __slots__ = ("answer", "frame", "id", "index", "method", "params")

    def __init__(self, id: RequestId, method: str, params: dict[str, Any], frame: bytes | None = None) -> None:
        self.id = id
        self.method = method
        self.params = params
        self.frame = frame
        """What it was read from, for the few who need its spelling; None where nobody kept it."""
        self.index: int | None = None
        """Its place in `frame` where that is a batch."""
        self.answer: Callable[[bytes | None], None] | None = None
        """Where a late answer goes, if not to the peer: a batch collects them. None: cancelled, no answer comes."""


class Notification:
    """Is never answered."""

    __slots__ = ("method", "params")

    def __init__(self, method: str, params: dict[str, Any]) -> None:
        self.method = method
        self.params = params


class Response:
    """An answer to a request of ours: exactly one of `result` and `error` counts."""

    __slots__ = ("error", "id", "result")

    def __init__(self, id: object, result: Any, error: Any) -> None:
        self.id = id
        self.result = result
        self.error = error


def message_of(value: Any) -> Request | Notification | Response:
    """The message in a decoded JSON value.

    Raises ProtocolError(-32600, -32602) with `request_id` set where the id is readable.
    Source: JSON-RPC 2.0 section 4; MCP basic, "Requests" (ids are never null).
    """
    if type(value) is not dict:
        raise ProtocolError(INVALID_REQUEST, "A message must be a JSON object")
    method = value.get("method")
    id_ = value.get("id")
    if type(method) is str and (type(id_) is int or type(id_) is str) and value.get("jsonrpc") == "2.0":
        params = value.get("params")
        if type(params) is dict:
            return Request(id_, method, params)
        if params is None:
            return Request(id_, method, {})
        raise ProtocolError(INVALID_PARAMS, "params must be an object", request_id=id_)
    return _uncommon_message(value)


PARAMS = b',"params":{'
TAIL_BYTES_MAX = 80
"""What may stand behind `params` in a plain request: some clients write jsonrpc and id last."""


def plain_request(frame: bytes, loads: Callable[[bytes | memoryview], Any]) -> Request | None:
    """The request in a frame that is beyond doubt one message; None: `message_of` decides.

    Parses `params` apart from the members around it, so that only those, some 80 bytes, are searched for a key that
    stands twice: searching all of a 1 MB call for four keys took as long as parsing it. Three members, two or three of
    them strings, have 10 or 12 quotes; every further one belongs to a second key or to an escape.
    """
    end = len(frame) - 1 if frame.endswith(b"\n") else len(frame)
    at = frame.find(PARAMS)
    try:
        if at < 0:
            envelope_frame, params = frame, {}
        else:
            if frame.endswith(b"}}", 0, end):
                split = end - 1
            else:
                split = frame.rfind(b'},"', max(end - TAIL_BYTES_MAX, 0)) + 1
            envelope_frame = frame[:at] + frame[split:]
            if frame.count(b'"', 0, at) & 1:  # inside a string, which the cut would make whole
                return None
            params = loads(memoryview(frame)[at + len(PARAMS) - 1 : split])
        envelope = loads(envelope_frame)
        id_, method = envelope["id"], envelope["method"]
        if (
            len(envelope) == 3
            and envelope["jsonrpc"] == "2.0"
            and type(method) is str
            and envelope_frame.count(b'"') == (10 if type(id_) is int else 12 if type(id_) is str else 0)
        ):
            return Request(id_, method, params, frame)
    except (ValueError, TypeError, KeyError):
        pass
    return None


def _uncommon_message(value: dict[str, Any]) -> Request | Notification | Response:
    """Notifications, responses and everything broken; apart, so that a request costs one look at each member."""
    id_ = value.get("id")
    readable = id_ if type(id_) in (int, str) else None
    if "method" not in value and ("result" in value or "error" in value):
        return Response(id_, value.get("result"), value.get("error"))
    if value.get("jsonrpc") != "2.0":
        raise ProtocolError(INVALID_REQUEST, 'jsonrpc must be "2.0"', request_id=readable)
    method = value.get("method")
    if type(method) is not str:
        fault = "method must be a string" if "method" in value else "A request needs a method"
        raise ProtocolError(INVALID_REQUEST, fault, request_id=readable)
    if "id" in value:
        raise ProtocolError(INVALID_REQUEST, "id must be a string or an integer")
    params = value.get("params")
    return Notification(method, params if type(params) is dict else {})


def encode_id(id_: RequestId | None) -> bytes:
    if type(id_) is int:
        return b"%d" % id_
    return b"null" if id_ is None else quote(str(id_)).encode()


def encode_result(id_: RequestId, result: bytes) -> bytes:
    """A response line around an already encoded result."""
    if type(id_) is int:
        return b'{"jsonrpc":"2.0","id":%d,"result":%b}\n' % (id_, result)
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}\n' % (quote(str(id_)).encode(), result)


def encode_error(id_: RequestId | None, error: ProtocolError) -> bytes:
    """An error line. `data` holds JSON values of `strict_json.dumps` only."""
    body: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data is not None:
        body["data"] = error.data
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}\n' % (encode_id(id_), dumps(body).encode())


def encode_notification(method: str, params: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","method":%b,"params":%b}\n' % (quote(method).encode(), params)


def encode_request(id_: RequestId, method: str, params: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":%b}\n' % (encode_id(id_), quote(method).encode(), params)
