"""Server.receive: one frame in, an answer, nothing, or a call in progress out.

No transport, no tool. After `app` has built it, nothing in it changes but the parser, once, when it is warm.
"""

from __future__ import annotations

import os
import sys
import time

from scorpio import __version__
from scorpio.deferred import defer
from scorpio.limits import UNADDRESSED_ERRORS_PER_S_MAX
from scorpio.protocol import strict_json
from scorpio.protocol.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    NOT_INITIALIZED,
    PARSE_ERROR,
    ProtocolError,
)
from scorpio.protocol.framing import OVERSIZE
from scorpio.protocol.messages import Notification, Request, encode_error, encode_result, message_of, plain_request
from scorpio.protocol.meta import PROTOCOL_VERSION, SERVER_INFO, modern_meta
from scorpio.protocol.revisions import MODERN
from scorpio.server import lifecycle, methods
from scorpio.server.link import Link
from scorpio.server.request_state import Seal
from scorpio.server.starved import said_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from scorpio.log import Log
    from scorpio.protocol.messages import RequestId, Response
    from scorpio.protocol.revisions import Revision
    from scorpio.server.lanes import Lane
    from scorpio.server.peer import Peer
    from scorpio.server.tasks import Tasks
    from scorpio.settings import Settings
    from scorpio.skill_shelf import Shelf
    from scorpio.state.home import Home
    from scorpio.toolset import Features, Toolset

RESERVED_KEYS = (b'"jsonrpc"', b'"id"', b'"method"', b'"params"')
"""A frame that holds one of these twice is read again by the strict parser: duplicate keys are two messages in one."""

ESCAPED_LETTERS = (b"\\u006", b"\\u007")
"""A key may be spelt with escapes, `"\\u0069d"`; nobody escapes ASCII letters but to be read in two ways."""


class Server:
    """The core every transport feeds. `receive` runs on one thread; slow calls run in `lane`."""

    def __init__(self, features: Features, settings: Settings, home: Home, lane: Lane, log: Log) -> None:
        self.features = features
        self.settings = settings
        self.home = home
        self.lane = lane
        self.log = log
        self.seal = Seal(home)
        self.link = Link(self)
        self.info = {"name": "scorpio", "title": "scorpio", "version": __version__}
        self.peers: set[Peer] = set()
        self.list_answers: dict[object, bytes] = {}
        """Encoded list results by (method, revision, hidden tools); replaced by `changed_list`."""
        self._tasks: Tasks | None = None
        self.shelf: Shelf | None = None
        """The skills of all toolsets as resources; made with the first request for one."""
        self._loads: Callable[[bytes], Any] = _loads_text
        self._dumps: Callable[[Any], bytes] = _encode_plain
        self._quick_loads: Callable[[bytes | memoryview], Any] | None = None
        self._unaddressed_s = 0.0
        self._unaddressed_count = 0
        self._unaddressed_dropped = 0

    def warm(self) -> None:
        """Import what the first answer did not need. Called once that answer is out."""
        defer("inspect")  # orjson's for dataclasses, which look into it when one is made: 6 of its 16 ms, and 1.1 MB
        try:
            import orjson
        except OSError as fault:  # no descriptor for it: the parser of the first message is good for all others
            self.internal_error(fault)
        else:
            self._loads = orjson.loads
            self._quick_loads = orjson.loads
            self._dumps = orjson.dumps
        self.start_toolsets()
        forget = getattr(sys, "forget_start", None)  # of the executable; build/launcher/modules.h
        if forget is not None:
            forget()

    def start_toolsets(self) -> None:
        """Open the states that begin without a call; where they are open, nothing happens."""
        for toolset in self.features.starting:
            try:
                self.state(toolset)
            except Exception as bug:  # the others serve all the same
                self.internal_error(bug)

    # -- messages

    def receive(self, frame: bytes, peer: Peer) -> bytes | None:
        """The lines to write now, or None: a notification, or a call whose answer leaves later."""
        try:
            message = self.message(frame)
            if isinstance(message, list):
                return self.receive_batch(message, peer, frame)
        except ProtocolError as error:
            return self._refused(error)
        except Exception as bug:  # of a batch, whose code is imported with the first
            return self._refused(self.internal_error(bug))
        return self.receive_message(message, peer)

    def message(self, frame: bytes) -> Request | Notification | Response | list[Any]:
        """What a frame says; a list is a batch, unread. Raises ProtocolError, with the id where it is known."""
        if self._quick_loads is not None:
            request = plain_request(frame, self._quick_loads)
            if request is not None:
                return request
        try:
            value = self._decode(frame)
            if type(value) is list:
                return value
            message = message_of(value)
            if type(message) is Request:
                message.frame = frame
            return message
        except ProtocolError:
            raise
        except Exception as bug:  # such as too little memory for its values: the next message may be smaller
            raise self.internal_error(bug) from None

    def receive_batch(self, values: list[Any], peer: Peer, frame: bytes | None = None) -> bytes | None:
        """`frame`: what `values` were read from. Raises ProtocolError where the peer's revision has no batches."""
        from scorpio.server.batch import receive_batch

        return receive_batch(self, values, peer, frame)

    def receive_message(self, message: Request | Notification | Response, peer: Peer) -> bytes | None:
        if isinstance(message, Request):
            try:
                return self.answer(message, peer)
            except ProtocolError as refused:
                return encode_error(message.id, refused)
        try:
            if isinstance(message, Notification):
                lifecycle.notified(self, message, peer)
            elif type(message.id) is int or type(message.id) is str:
                answered = peer.asked.pop(message.id, None)
                if answered is not None:
                    answered(message)
        except ProtocolError:
            pass
        except (Exception, SystemExit) as bug:
            self.internal_error(bug)
        return None

    def answer(self, request: Request, peer: Peer) -> bytes | None:
        """The line that answers, or None when it leaves later. Raises ProtocolError, for whoever wants its code."""
        try:
            return self._request(request, peer)
        except ProtocolError:
            raise
        except BaseException as bug:  # a library that calls exit(), or panics in Rust, must not end the server
            raise self.internal_error(bug) from None

    def _request(self, request: Request, peer: Peer) -> bytes | None:
        params = request.params
        meta = modern_meta(params) if "_meta" in params else None
        method = methods.METHODS.get(request.method)
        if (peer.running or peer.listens) and peer.in_flight(request.id):
            raise ProtocolError(INVALID_REQUEST, "A request with this id is still in progress")
        if method is None:
            result = methods.call_alias(self, request, meta, peer)
            return None if result is None else encode_result(request.id, result)
        if meta is None:
            session = peer.session
            if not method.legacy:
                if session is not None:
                    raise ProtocolError(METHOD_NOT_FOUND, f"{request.method} does not exist in {session.revision.name}")
                raise ProtocolError(INVALID_PARAMS, f"{request.method} needs _meta with {PROTOCOL_VERSION}")
            if session is None:
                if not method.before_initialize:
                    raise ProtocolError(NOT_INITIALIZED, "Server not initialized")
            else:
                meta = session.request_meta(params)
        elif not method.modern:
            raise ProtocolError(METHOD_NOT_FOUND, f"{request.method} does not exist in {meta.revision.name}")
        result = method.handle(self, request, meta, peer)
        return None if result is None else encode_result(request.id, result)

    # -- bytes to values

    def _decode(self, frame: bytes) -> Any:
        try:
            value = self._loads(frame)
        except ValueError as fault:
            return self._reread(frame, fault)
        for key in RESERVED_KEYS:
            if frame.find(key) != frame.rfind(key):
                return self._reread(frame, None)
        if _has_escaped_letters(frame):
            return self._reread(frame, None)
        if type(value) is dict:
            id_ = value.get("id")
            if id_ is None:  # a cancel names its id there
                params = value.get("params")
                id_ = params.get("requestId") if type(params) is dict else None
            if type(id_) is float:  # orjson: an integer beyond 64 bits
                return self._reread(frame, None)
        return value

    def _reread(self, frame: bytes, fault: ValueError | None) -> Any:
        """The frame by the strict parser; raises ProtocolError with whatever id is beyond doubt."""
        if frame is OVERSIZE:
            raise ProtocolError(INVALID_REQUEST, "The message is longer than this server reads")
        try:
            value = strict_json.loads(frame)
        except strict_json.DuplicateKey as duplicate:
            raise ProtocolError(INVALID_REQUEST, f"Not one message: {duplicate}", request_id=_only_id(frame)) from None
        except ValueError as strict_fault:
            raise ProtocolError(PARSE_ERROR, f"Parse error: {_short(strict_fault)}") from None
        if fault is not None and _has_surrogates(value):
            id_ = value.get("id") if type(value) is dict else None
            clean = id_ if type(id_) is int or (type(id_) is str and not _has_surrogates(id_)) else None
            raise ProtocolError(INVALID_REQUEST, "A string holds a lone surrogate: not Unicode text", request_id=clean)
        return value

    # -- values to bytes

    def encode(self, value: Any) -> bytes:
        """JSON bytes of any value a handler may give; lone surrogates become U+FFFD."""
        try:
            return self._dumps(value)
        except (TypeError, UnicodeEncodeError):
            import orjson

            from scorpio.protocol.content import without_surrogates

            return orjson.dumps(without_surrogates(value), option=orjson.OPT_NON_STR_KEYS)

    def encode_result(self, result: dict[str, Any], revision: Revision) -> bytes:
        """A result with what the revision adds to every one of them."""
        if revision.era == MODERN:
            meta = {**result.get("_meta", {}), SERVER_INFO: self.info}
            result = {"resultType": "complete", **result, "_meta": meta}
        return self.encode(result)

    def internal_error(self, bug: BaseException) -> ProtocolError:
        """What the peer is told of a bug of ours: a reference; the traceback stands under it on stderr."""
        if said := said_of(bug):
            self.log.warning(f"A message was not served. {said}")
            return ProtocolError(INTERNAL_ERROR, said)
        import traceback

        reference = os.urandom(2).hex()
        self.log.block(f"Internal error (ref {reference})\n" + "".join(traceback.format_exception(bug)))
        return ProtocolError(INTERNAL_ERROR, f"Internal error (ref {reference})")

    def _refused(self, error: ProtocolError) -> bytes | None:
        """The error line for a frame that is no message; at most 20 a second without an id."""
        if error.request_id is not None:
            return encode_error(error.request_id, error)
        now_s = time.monotonic()
        if now_s - self._unaddressed_s >= 1.0:
            if self._unaddressed_dropped:
                self.log.warning(f"{self._unaddressed_dropped} more broken messages were not answered one by one")
            self._unaddressed_s, self._unaddressed_count, self._unaddressed_dropped = now_s, 0, 0
        self._unaddressed_count += 1
        if self._unaddressed_count > UNADDRESSED_ERRORS_PER_S_MAX:
            if not self._unaddressed_dropped:
                self.log.warning("Too many broken messages at once: the next ones of this second are not answered")
            self._unaddressed_dropped += 1
            return None
        return encode_error(None, error)

    # -- state of toolsets

    def state(self, toolset: Toolset) -> Any:
        """The toolset's state, opened and connected at first use."""
        return toolset.state(self.home, self.settings, self.link)

    def subscribed(self, uris: Iterable[str], owner: str) -> None:
        """Tell the states that watch what somebody wants to hear of, and only that."""
        for toolset in self.features.dynamic("subscribed"):
            for uri in uris:
                self.state(toolset).subscribed(uri, owner)

    # -- tasks

    @property
    def tasks(self) -> Tasks:
        """The tasks of all clients; made with the first one."""
        if self._tasks is None:
            from scorpio.server.tasks import Tasks

            self._tasks = Tasks()
        return self._tasks

    def has_tasks(self, owner: str) -> bool:
        """True while a task of `owner` is not over."""
        return self._tasks is not None and self._tasks.busy(owner)

    # -- life

    def open_configured(self) -> None:
        """Open the states whose configuration must be right before anything is served. Raises ConfigurationError."""
        for toolset in self.features.dynamic("configured"):
            self.state(toolset)

    def open_peer(self, peer: Peer) -> None:
        self.peers.add(peer)

    def close_peer(self, peer: Peer) -> None:
        """A client of this machine, or one with a session, takes its tasks with it; a single request leaves them."""
        self.peers.discard(peer)
        peer.close()
        others = (other for other in tuple(self.peers) if other.owner == peer.owner and other.session is not None)
        if self._tasks is not None and (peer.local or peer.session is not None) and not any(others):
            self._tasks.end_owner(peer.owner)
        for toolset in self.features.dynamic("clients"):
            if toolset.opened and not any(other.owner == peer.owner for other in tuple(self.peers)):
                self.state(toolset).client_gone(peer.owner)

    def forget(self, owner: str) -> None:
        """The last peer of `owner` is closed, and there will be no other: what is kept for it may go."""
        for toolset in self.features.dynamic("forget"):
            toolset.forget(owner)

    def close(self) -> None:
        """Close every state that was opened, last opened first. Called once, when the commands have ended."""
        if self._tasks is not None:
            self._tasks.end_all()
        for toolset in reversed(self.features.toolsets):
            toolset.close()


def _encode_plain(value: Any) -> bytes:
    text = strict_json.dumps(value)
    if "\\ud" in text:  # half of a character beyond 16 bits, or a surrogate alone: orjson's path tells them apart
        raise TypeError("not for the plain writer")
    return text.encode()


def _loads_text(frame: bytes) -> Any:
    """The first message's parser: refuses lone surrogates, as orjson does. Raises ValueError."""
    value = strict_json.loads(frame)
    if b"\\u" in frame and _has_surrogates(value):
        raise ValueError("a lone surrogate")
    return value


def _has_escaped_letters(frame: bytes) -> bool:
    return ESCAPED_LETTERS[0] in frame or ESCAPED_LETTERS[1] in frame


def _only_id(frame: bytes) -> RequestId | None:
    """The id of a frame with duplicate keys, where it stands there once."""
    if frame.count(b'"id"') != 1 or _has_escaped_letters(frame):
        return None
    value = strict_json.loads_last_key_wins(frame)
    id_ = value.get("id") if type(value) is dict else None
    return id_ if type(id_) in (int, str) else None


def _has_surrogates(value: Any) -> bool:
    """True when a string in `value` is not Unicode text. A loop, not a recursion: frames may be 900 levels deep."""
    left = [value]
    while left:
        item = left.pop()
        if type(item) is str:
            if not item.isascii() and item.encode("utf-8", "ignore").decode() != item:
                return True
        elif type(item) is dict:
            left += (*item, *item.values())
        elif type(item) is list:
            left += item
    return False


def _short(fault: ValueError) -> str:
    return str(fault).split(": '", 1)[0][:200]
