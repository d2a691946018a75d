"""The client at the other end: where to write, what is running for it, and, in the legacy era, its session."""

from __future__ import annotations

import _thread
import time

from scorpio.protocol.messages import encode_notification, encode_request
from scorpio.protocol.meta import RequestMeta, progress_token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from scorpio.protocol.messages import RequestId, Response
    from scorpio.protocol.revisions import Revision
    from scorpio.server.calls import RunningCall


class Session:
    """Legacy era only: what `initialize` agreed on and what later messages changed."""

    __slots__ = (
        "capabilities",
        "client_info",
        "log_level",
        "meta",
        "revision",
        "roots",
        "roots_pending",
        "roots_waiting",
        "subscriptions",
    )

    def __init__(self, revision: Revision, capabilities: dict[str, Any], client_info: dict[str, Any]) -> None:
        self.log_level: str | None = "info"
        """Sent until `logging/setLevel` says otherwise; the specification leaves the start to the server."""
        self.subscriptions: set[str] = set()
        self.roots: list[str] = []
        """Paths of the client's `file://` roots."""
        self.roots_pending = False
        self.roots_waiting: list[Callable[[], None]] = []
        self.agree(revision, capabilities, client_info)

    def agree(self, revision: Revision, capabilities: dict[str, Any], client_info: dict[str, Any]) -> None:
        self.revision = revision
        self.capabilities = capabilities
        self.client_info = client_info
        self.meta = RequestMeta(revision, capabilities, self.log_level, None)

    def request_meta(self, params: dict[str, Any]) -> RequestMeta:
        """The meta of one request; the session's own where the request adds nothing."""
        if "_meta" not in params:
            return self.meta
        return RequestMeta(self.revision, self.capabilities, self.log_level, progress_token(params))

    def set_log_level(self, level: str) -> None:
        self.log_level = level
        self.meta = RequestMeta(self.revision, self.capabilities, level, None)

    def set_roots(self, roots: list[str]) -> None:
        self.roots = roots
        self.roots_pending = False
        waiting, self.roots_waiting = self.roots_waiting, []
        for wake in waiting:
            wake()


class Peer:
    """One client. On stdio the process has one; the transport makes it and closes it."""

    __slots__ = (
        "_asked_count",
        "_lock",
        "answering",
        "asked",
        "client",
        "ended",
        "last_call_s",
        "let_go",
        "listens",
        "local",
        "offer",
        "on_idle",
        "owner",
        "running",
        "running_count",
        "session",
        "write",
    )

    def __init__(
        self,
        write: Callable[[bytes], None],
        owner: str,
        offer: Callable[[bytes], object] | None = None,
        *,
        local: bool = False,
    ) -> None:
        self.write = write
        """Sends whole lines, from any thread, in order."""
        self.offer: Callable[[bytes], object] = offer or write
        """As `write`, for what may be lost: dropped, and False, where a client that does not read has much queued."""
        self.owner = owner
        """Whose tasks and callbacks this client sees."""
        self.local = local
        """The person at this machine's terminal is this client's user."""
        self.session: Session | None = None
        self.running: dict[RequestId, RunningCall] = {}
        """Calls in progress. Whoever takes one (`take`) has the right to answer it; nobody else does."""
        self.running_count = 0
        """Of a client: calls in progress, those of requests that stand for themselves among them."""
        self.answering = 0
        """Calls that are no longer in `running` and whose answer is not written yet. Counted by the slow lane."""
        self.listens: dict[RequestId, dict[str, Any]] = {}
        """Modern era: open `subscriptions/listen` requests and the filter each was acknowledged with."""
        self.asked: dict[RequestId, Callable[[Response | None], None]] = {}
        """Requests of ours without an answer yet; the callback gets None when the client is gone."""
        self.last_call_s = 0.0
        """When the last tool call of this client ended, or a call of the slow lane, on the monotonic clock."""
        self.on_idle: Callable[[], None] | None = None
        """Called when the last call in progress has been answered."""
        self.ended = False
        """Set when the client asked the server to go."""
        self.let_go: Callable[[], None] | None = None
        """Closes the connection that what is written now travels on, where the client can come back for the rest."""
        self.client: Peer = self
        """Another one where this stands for one request of it."""
        self._asked_count = 0
        self._lock = _thread.allocate_lock()

    def for_request(self, write: Callable[[bytes], None], offer: Callable[[bytes], None], *, shared: bool) -> Peer:
        """This client as one request of it sees it, where every request has a way back of its own (HTTP).

        `shared`: ids are unique among all requests of this client, so calls and questions are the client's too; else
        each request stands for itself.
        """
        peer = Peer(write, self.owner, offer, local=self.local)
        peer.client = self
        peer.session = self.session
        if shared:
            peer.running, peer.listens, peer.asked, peer._lock = self.running, self.listens, self.asked, self._lock
        return peer

    def notify(self, method: str, params: bytes) -> None:
        self.write(encode_notification(method, params))

    def hint(self, method: str, params: bytes) -> object:
        """A notification of passing interest: progress, a log message. False where it was dropped."""
        return self.offer(encode_notification(method, params))

    def request(self, method: str, params: bytes, answered: Callable[[Response | None], None]) -> RequestId:
        """Send a request of ours; `answered` is called once, on the thread that reads."""
        id_ = self.new_id()
        self.asked[id_] = answered
        self.write(encode_request(id_, method, params))
        return id_

    def new_id(self) -> str:
        """For a request of ours; never given to this client before."""
        client = self.client
        with client._lock:
            client._asked_count += 1
            return f"scorpio-{client._asked_count}"

    def in_flight(self, id_: RequestId) -> bool:
        return id_ in self.running or id_ in self.listens

    def take(self, id_: RequestId, call: RunningCall | None = None) -> RunningCall | None:
        """The call in progress with this id, which is over for everybody else; only `call` where one is given.

        A cancelled call may still be on its way to its end when the client uses its id again.
        """
        with self._lock:
            found = self.running.get(id_)
            if found is None or (call is not None and found is not call):
                return None
            del self.running[id_]
            self.client.last_call_s = time.monotonic()
        self.client.count_call(-1)
        return found

    def count_call(self, change: int) -> None:
        with self._lock:
            self.running_count += change

    def busy(self) -> bool:
        """True while a call is in progress or its answer is on its way out."""
        return bool(self.running) or self.answering > 0

    def close(self) -> None:
        """The client is gone: nothing is sent any more, every question fails, every call is cancelled."""
        self.write = self.offer = nowhere
        self.fail_questions()
        self.cancel_all()

    def fail_questions(self) -> None:
        """Nobody is left to answer what the server asked."""
        for id_ in tuple(self.asked):
            answered = self.asked.pop(id_, None)
            if answered is not None:
                answered(None)

    def cancel_all(self) -> None:
        for id_ in tuple(self.running):
            call = self.take(id_)
            if call is not None:  # else the slow lane was quicker
                call.cancel()
        self.listens.clear()


def nowhere(line: bytes) -> None:
    """What a peer writes with that is closed, or has no way of its own."""
