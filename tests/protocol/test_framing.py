"""Lines out of bytes, whatever the reads cut them into."""

from __future__ import annotations

import itertools
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorpio.limits import READ_BYTES
from scorpio.protocol.framing import BOM, OVERSIZE, LineFramer

FRAME_BYTES_MAX = 24

PIECES = st.sampled_from(
    [b"\n", b"\r\n", b"\n\n", b"\r", BOM, b" ", b"\t", b"{", b'{"a":1}', b"x" * 23, b"x" * 24, b"x"]
)
STREAMS = st.lists(st.one_of(PIECES, st.binary(max_size=9)), max_size=24).map(b"".join)


def expected(stream: bytes) -> tuple[list[bytes], bytes]:
    """Frames and rest, as a reader that has the whole stream would see them."""
    *lines, rest = stream.split(b"\n")
    if len(rest) > FRAME_BYTES_MAX:
        lines, rest = [*lines, rest], b""
    frames = [OVERSIZE if len(line) > FRAME_BYTES_MAX else line.removeprefix(BOM) for line in lines]
    return [frame for frame in frames if frame.strip()], rest.removeprefix(BOM) if rest.strip() else b""


def fed(framer: LineFramer, chunks: list[bytes]) -> list[bytes]:
    frames = [frame for chunk in chunks for frame in framer.feed(chunk)]
    return [frame if frame is OVERSIZE else frame.removesuffix(b"\n") for frame in frames]


@given(STREAMS, st.lists(st.integers(0, 200), max_size=12))
def test_any_cut_of_any_stream_gives_the_same_frames(stream: bytes, cuts: list[int]) -> None:
    framer = LineFramer(FRAME_BYTES_MAX)
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    chunks = [stream[start:end] for start, end in itertools.pairwise(edges)]
    frames, rest = expected(stream)
    assert fed(framer, chunks) == frames
    assert framer.rest().strip() == rest.strip()


@pytest.mark.parametrize("one_read", [True, False])
@pytest.mark.parametrize(
    ("stream", "frames"),
    [
        (b'{"a":1}\n', [b'{"a":1}']),
        (b'{"a":1}\r\n', [b'{"a":1}\r']),
        (b"\n", []),
        (b"\r\n", []),
        (b" \t \n", []),
        (BOM + b"\n", []),
        (BOM + b"\r\n", []),
        (BOM + b'{"a":1}\n', [b'{"a":1}']),
        (b'{"a":1}\r{"b":2}\n', [b'{"a":1}\r{"b":2}']),
        (b"{\n\n}\n", [b"{", b"}"]),
    ],
)
def test_lines_are_cut_at_line_feeds_only(stream: bytes, frames: list[bytes], one_read: bool) -> None:
    chunks = [stream] if one_read else [bytes([byte]) for byte in stream]
    assert fed(LineFramer(), chunks) == frames


@pytest.mark.parametrize("length", [FRAME_BYTES_MAX - 1, FRAME_BYTES_MAX, FRAME_BYTES_MAX + 1])
def test_a_line_of_the_bound_is_a_frame_and_a_longer_one_is_told_once(length: int) -> None:
    line = b"{" + b"x" * (length - 1)
    frames = fed(LineFramer(FRAME_BYTES_MAX), [line + b"\n" + b'{"a":1}\n'])
    assert frames == [line if length <= FRAME_BYTES_MAX else OVERSIZE, b'{"a":1}']


def test_an_endless_line_is_told_once_and_before_it_ends() -> None:
    framer = LineFramer(FRAME_BYTES_MAX)
    told = [framer.feed(b"x" * 10) for _ in range(1000)]
    assert [frames for frames in told if frames] == [[OVERSIZE]]
    assert told[2] == [OVERSIZE]
    assert framer.feed(b'x\n{"a":1}\n') == [b'{"a":1}']


@pytest.mark.parametrize(("chunk_bytes", "chunks"), [(READ_BYTES, 2000), (2, 200_000)])
def test_an_endless_line_costs_no_more_memory_than_the_bound(chunk_bytes: int, chunks: int) -> None:
    framer = LineFramer(256 * 1024)
    tracemalloc.start()
    for _ in range(chunks):
        framer.feed(bytes(chunk_bytes))
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 2 * 256 * 1024 + 2 * READ_BYTES


def test_the_rest_is_given_once() -> None:
    framer = LineFramer()
    framer.feed(b'{"a":1}\n{"b"')
    assert (framer.rest(), framer.rest()) == (b'{"b"', b"")
