"""Hypothesis strategies: any JSON value, any text with or without surrogates."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

UNICODE = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
"""What UTF-8 can carry."""

CODE_POINTS = st.text(st.one_of(st.characters(), st.characters(categories=["Cs"])), max_size=12)
"""What Python strings can hold, lone surrogates included."""

INT64 = st.integers(-(2**63), 2**64 - 1)
"""What orjson reads exactly."""


def values(text: st.SearchStrategy[str] = UNICODE, integers: st.SearchStrategy[int] = INT64) -> st.SearchStrategy[Any]:
    """Any JSON value whose strings and integers come from these."""
    floats = st.floats(allow_nan=False, allow_infinity=False)
    leaves = st.one_of(st.none(), st.booleans(), integers, floats, text)
    return st.recursive(
        leaves,
        lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(text, inner, max_size=4)),
        max_leaves=12,
    )
