"""The comparison that cases and transcripts rest on: it must be able to say no."""

from __future__ import annotations

from typing import Any

import pytest

from tests.expect import difference


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ({"a": [1, "x", None, True]}, {"a": [1, "x", None, True]}),
        ({"a": "<any>", "b": "<string>", "c": "<number>"}, {"a": None, "b": "", "c": 1.5}),
        ({"o": "<object>", "l": "<array>"}, {"o": {"x": 1}, "l": []}),
        ({"a": 1, "...": "..."}, {"a": 1, "b": 2}),
        ("<~ ref [0-9a-f]+>", "ref 7f3a"),
        ("<base64 audio/wav>", "UklGRg=="),
        ("<state := string>", "kept"),
    ],
)
def test_value_that_fits_has_no_difference(expected: Any, actual: Any) -> None:
    assert difference(expected, actual) == ""


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1, "b": 2}, {"a": 1}),
        ({"a": 1, "...": "..."}, {"b": 2}),
        ([1, 2], [1]),
        ([1, 2], [2, 1]),
        (1, True),
        (1, "1"),
        (None, {}),
        ("<string>", 1),
        ("<number>", True),
        ("<object>", []),
        ("<~ ref [0-9a-f]+>", "a ref 7f3a"),
        ("<base64 image/png>", "UklGRg=="),
        ("<state := string>", 7),
    ],
)
def test_value_that_does_not_fit_has_a_difference(expected: Any, actual: Any) -> None:
    assert difference(expected, actual) != ""


def test_named_placeholder_is_kept() -> None:
    kept: dict[str, Any] = {}
    assert difference({"s": ["<state := string>"]}, {"s": ["abc"]}, kept) == ""
    assert kept == {"state": "abc"}


def test_unknown_placeholder_is_a_mistake_of_the_test() -> None:
    with pytest.raises(ValueError, match="no placeholder <sting>"):
        difference("<sting>", "x")
