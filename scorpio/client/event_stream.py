"""Events of a `text/event-stream`, from chunks cut anywhere. Source: WHATWG HTML, server-sent events."""

from __future__ import annotations

import re

from scorpio.client.failures import LinkFailure
from scorpio.limits import FRAME_BYTES_MAX

_LINE_END = re.compile(rb"\r\n|\n|\r")


class Event:
    __slots__ = ("data", "name")

    def __init__(self, name: str, data: str) -> None:
        self.name = name
        self.data = data


class EventStream:
    """`feed` gives the events a chunk completes. `last_id` and `retry_ms` are what a next request of it needs."""

    def __init__(self, retry_ms: int) -> None:
        self.last_id: str | None = None
        self.retry_ms = retry_ms
        self._held = b""
        self._name = ""
        self._data: list[str] = []
        self._data_bytes = 0

    def feed(self, chunk: bytes) -> list[Event]:
        """Raises LinkFailure for an event that is longer than a message may be."""
        self._held += chunk
        if len(self._held) + self._data_bytes > FRAME_BYTES_MAX:
            raise LinkFailure("The server sends an event without an end.")
        events = []
        start = 0
        for match in _LINE_END.finditer(self._held):
            if match.end() == len(self._held) and match.group() == b"\r":
                break  # its other half may come
            event = self._line(self._held[start : match.start()].decode("utf-8", "replace"))
            start = match.end()
            if event is not None:
                events.append(event)
        self._held = self._held[start:]
        return events

    def _line(self, line: str) -> Event | None:
        if not line:
            event = Event(self._name or "message", "\n".join(self._data)) if self._data else None
            self._name, self._data, self._data_bytes = "", [], 0
            return event
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
            self._data_bytes += len(value)
        elif name == "event":
            self._name = value
        elif name == "id" and "\0" not in value:
            self.last_id = value
        elif name == "retry" and value.isascii() and value.isdigit():
            self.retry_ms = int(value)
        return None
