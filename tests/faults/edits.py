"""A corpus of small whole files, and what hypothesis makes of them: bytes changed, cut out, doubled, put in.

A property that fails shrinks to the file and the few edits that are needed. Add a file to tests/faults/corpus for
what was found.
"""

from __future__ import annotations

from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st

CORPUS = Path(__file__).with_name("corpus")

PIECES = (
    *(b"\0", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\xed\xa0\x80"),
    *(b"<", b">", b'"', b"&#0;", b"<div>" * 50, b"=", b"\n"),
)
Edit = tuple[str, int, int, bytes]

EDITS = st.lists(
    st.tuples(
        st.sampled_from(("set", "cut", "double", "insert")),
        st.integers(0, 5000),
        st.integers(1, 200),
        st.one_of(st.sampled_from(PIECES), st.binary(min_size=1, max_size=8)),
    ),
    max_size=6,
)


def corpus(folder: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((CORPUS / folder).iterdir())}


def edited(data: bytes, edits: list[Edit]) -> bytes:
    """Places count from the start and wrap around, so that every edit hits something."""
    for kind, place, length, piece in edits:
        at = place % (len(data) + 1)
        after = at + length
        if kind == "set":
            data = data[:at] + piece + data[at + len(piece) :]
        elif kind == "cut":
            data = data[:at] + data[after:]
        elif kind == "double":
            data = data[:after] + data[at:after] + data[after:]
        else:
            data = data[:at] + piece + data[at:]
    return data


def files(folder: str) -> st.SearchStrategy[tuple[str, bytes]]:
    """(name of the file it began as, content)"""
    held = corpus(folder)
    return st.tuples(st.sampled_from(sorted(held)), EDITS).map(lambda made: (made[0], edited(held[made[0]], made[1])))


def fewer(divisor: int) -> settings:
    """For an example that costs a process: so many times fewer than the profile says."""
    default = settings.default
    assert default is not None
    return settings(max_examples=max(5, default.max_examples // divisor))
