"""Streams of events that a legacy client can come back to: numbered, kept for a while, carried by one reply at a time.

Knows no session and no method. Bounded: each session's events, and all together.
Source: MCP 2025-11-25, basic/transports, "Resumability and Redelivery".
"""

from __future__ import annotations

from collections import deque

from scorpio.limits import (
    HTTP_EVENTS_BYTES_MAX,
    HTTP_EVENTS_MAX,
    HTTP_EVENTS_TOTAL_BYTES_MAX,
    HTTP_RETRY_MS,
)
from scorpio.transports.http.messages import numbered_event, priming_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.transports.http.exchange import Exchange

GENERAL = 0
"""The stream of what belongs to no request: number 0 of each session."""


class EventStore:
    """How much is kept, of all sessions."""

    def __init__(self, total_bytes_max: int = HTTP_EVENTS_TOTAL_BYTES_MAX) -> None:
        self._total_bytes_max = total_bytes_max
        self._kept: set[SessionStreams] = set()
        self.bytes = 0

    def opened(self) -> SessionStreams:
        streams = SessionStreams(self)
        self._kept.add(streams)
        return streams

    def forget(self, streams: SessionStreams) -> None:
        self._kept.discard(streams)
        self.bytes -= streams.bytes

    def grew(self, size_bytes: int) -> None:
        self.bytes += size_bytes
        while self.bytes > self._total_bytes_max:
            max(self._kept, key=lambda streams: streams.bytes).drop_oldest()


class SessionStreams:
    """The streams of one session, and their events in the order in which they were made."""

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self._by_number: dict[int, Stream] = {}
        self._order: deque[tuple[Stream, int]] = deque()
        """(stream, bytes) of each event that is kept, oldest first."""
        self._next = GENERAL
        self.bytes = 0

    def new(self) -> Stream:
        stream = self._by_number[self._next] = Stream(self, self._next)
        self._next += 1
        return stream

    def find(self, number: int) -> Stream | None:
        return self._by_number.get(number)

    def carried(self) -> int:
        """How many of them have a reply to travel on."""
        return sum(stream.exchange is not None for stream in self._by_number.values())

    def keep(self, stream: Stream, size_bytes: int) -> None:
        self._order.append((stream, size_bytes))
        self.bytes += size_bytes
        while len(self._order) > 1 and (len(self._order) > HTTP_EVENTS_MAX or self.bytes > HTTP_EVENTS_BYTES_MAX):
            self.drop_oldest()
        self._store.grew(size_bytes)

    def drop_oldest(self) -> None:
        stream, size_bytes = self._order.popleft()
        stream.drop_oldest()
        self.bytes -= size_bytes
        self._store.bytes -= size_bytes
        if stream.ended and stream.empty:
            self._by_number.pop(stream.number, None)

    def close(self) -> None:
        """No stream goes on; replies that carry one are whole."""
        for stream in tuple(self._by_number.values()):
            stream.end()
        self._by_number.clear()
        self._order.clear()
        self._store.forget(self)


class Stream:
    """One stream. `exchange` is the reply that carries it now; None while the client is away."""

    __slots__ = ("_events", "_owner", "_sent", "ended", "exchange", "last", "number")

    def __init__(self, owner: SessionStreams, number: int) -> None:
        self._owner = owner
        self.number = number
        self._events: deque[tuple[int, bytes]] = deque()
        self.last = 0
        """Number of the newest event."""
        self._sent = 0
        """Number of the newest event that was written to any reply."""
        self.exchange: Exchange | None = None
        self.ended = False

    @property
    def empty(self) -> bool:
        return not self._events

    def carry(self, exchange: Exchange, *, after: int | None, primes: bool) -> None:
        """Let `exchange` carry this stream, from the event after `after`, else from the first that nobody was sent."""
        if self.exchange is not None:  # the client came back before its old connection was seen to be dead
            self.exchange.end()
        exchange.open_events()
        exchange.on_gone = self._gone
        self.exchange = exchange
        start = self._sent if after is None else after
        if primes:
            exchange.send(priming_event(self.number, start, HTTP_RETRY_MS))
        for number, event in tuple(self._events):
            if number > start and exchange.send(event):
                self._sent = max(self._sent, number)
        if self.ended:
            self.let_go()

    def send(self, line: bytes) -> None:
        """A message that must arrive: now, or when the client comes back."""
        if self.ended:
            return
        self.last += 1
        event = numbered_event(self.number, self.last, line)
        self._events.append((self.last, event))
        self._owner.keep(self, len(event))
        if self.exchange is not None and self.exchange.send(event):
            self._sent = self.last

    def offer(self, line: bytes) -> None:
        """A message that may be lost: only to a client that is there and reads."""
        if self.exchange is not None and not self.exchange.behind():
            self.send(line)

    def let_go(self) -> None:
        """Close the connection, not the stream: the client comes back for the rest."""
        exchange, self.exchange = self.exchange, None
        if exchange is not None:
            exchange.on_gone = None
            exchange.end()

    def end(self) -> None:
        """Nothing follows."""
        self.ended = True
        self.let_go()

    def drop_oldest(self) -> None:
        self._events.popleft()

    def _gone(self) -> None:
        self.exchange = None
