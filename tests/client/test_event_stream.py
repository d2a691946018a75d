"""Events of a stream, cut anywhere. Source: WHATWG HTML, server-sent events."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorpio.client.event_stream import EventStream
from scorpio.client.failures import LinkFailure
from scorpio.limits import FRAME_BYTES_MAX

STREAM = (
    b": a comment\nevent: endpoint\ndata: /messages?id=1\n\n"
    b'id: 7\r\nretry: 250\r\ndata: {"a":\r\ndata:  1}\r\n\r\n'
    b"data\n\nid: x\0y\nretry: soon\ndata: last\r\r"
)
EVENTS = [("endpoint", "/messages?id=1"), ("message", '{"a":\n 1}'), ("message", ""), ("message", "last")]


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_events_are_the_same_wherever_the_stream_is_cut(cuts: list[int]) -> None:
    events = EventStream(1000)
    edges = [0, *sorted(cuts), len(STREAM)]
    found = []
    for start, end in itertools.pairwise(edges):
        found += [(event.name, event.data) for event in events.feed(STREAM[start:end])]
    found += [(event.name, event.data) for event in events.feed(b"\n")]
    assert found == EVENTS
    assert (events.last_id, events.retry_ms) == ("7", 250)


def test_an_event_without_an_end_is_refused_before_it_fills_the_memory() -> None:
    events = EventStream(1000)
    piece = b"data: " + b"x" * (4 * 1024 * 1024) + b"\n"
    for _ in range(FRAME_BYTES_MAX // len(piece)):
        events.feed(piece)
    with pytest.raises(LinkFailure, match="without an end"):
        events.feed(piece)
