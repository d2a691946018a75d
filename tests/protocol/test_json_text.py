"""The text of a value is found where a parser finds the value."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorpio.protocol.json_text import at_path
from scorpio.protocol.strict_json import DuplicateKey
from tests.protocol.json_values import UNICODE, values


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[tuple[str | int, ...], Any]]:
    """Every path into a value, and what stands there."""
    inner: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    return [(path, value), *(place for key, item in inner for place in places(item, (*path, key)))]


@given(values(UNICODE, st.integers()), st.sampled_from([None, 1, "\t"]), st.booleans())
def test_whatever_stands_at_a_path_is_found_with_its_text(value: Any, indent: Any, ascii_only: bool) -> None:
    frame = f" {json.dumps(value, indent=indent, ensure_ascii=ascii_only)}\r\n".encode()
    for path, expected in places(value):
        found, text = at_path(frame, path)
        assert found == expected
        assert json.loads(text) == expected
        assert text == text.strip()
        assert text.encode() in frame


@pytest.mark.parametrize(
    ("frame", "path"),
    [(b"{}", ("a",)), (b'{"a":{}}', ("a", "b")), (b"[1]", (1,)), (b"[1]", ("0",)), (b'{"0":1}', (0,)), (b"1", (0,))],
)
def test_what_does_not_stand_there_is_a_key_error(frame: bytes, path: tuple[str | int, ...]) -> None:
    with pytest.raises(KeyError):
        at_path(frame, path)


@pytest.mark.parametrize(
    "frame", [b'{"a":{"b":1},"a":{"b":1}}', b'{"a":{"b":1,"\\u0062":2}}', b'{"a":{"b":[{"c":1,"c":1}]}}']
)
def test_a_key_that_stands_twice_on_the_way_or_there_is_refused(frame: bytes) -> None:
    with pytest.raises(DuplicateKey):
        at_path(frame, ("a", "b"))


@pytest.mark.parametrize("frame", [b'{"a":', b'{"a":[', b'{"a"', b'{"a":1', b"[" * 100_000])
def test_a_path_into_what_is_no_json_is_a_value_error(frame: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 every fault of a frame is one
        at_path(frame, ("a", 0, "b"))
