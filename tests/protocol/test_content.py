"""Content blocks in the words of one revision, and text that UTF-8 can carry."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from scorpio.protocol.content import shaped, without_surrogates
from scorpio.protocol.revisions import REVISIONS
from tests.protocol.json_values import CODE_POINTS, UNICODE, values

TEXT = {"type": "text", "text": "t"}
AUDIO = {"type": "audio", "data": "AA==", "mimeType": "audio/wav"}
LINK = {"type": "resource_link", "uri": "test://a", "name": "a"}


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("2024-11-05", ["text", "text", "text"]),
        ("2025-03-26", ["text", "audio", "text"]),
        ("2025-06-18", ["text", "audio", "resource_link"]),
        ("2025-11-25", ["text", "audio", "resource_link"]),
        ("2026-07-28", ["text", "audio", "resource_link"]),
    ],
)
def test_a_block_that_a_revision_lacks_becomes_text(name: str, kinds: list[str]) -> None:
    assert [block["type"] for block in shaped([TEXT, AUDIO, LINK], REVISIONS[name])] == kinds


def test_the_text_says_what_the_block_said() -> None:
    blocks = shaped([AUDIO, LINK], REVISIONS["2024-11-05"])
    assert [block["text"] for block in blocks] == [
        "[audio, audio/wav: this client's protocol cannot carry it]",
        "[resource a: test://a]",
    ]


@given(values(UNICODE))
def test_unicode_text_is_left_as_it_is(value: Any) -> None:
    assert without_surrogates(value) == value


@given(CODE_POINTS)
def test_only_lone_surrogates_are_replaced(text: str) -> None:
    clean = without_surrogates({text: [text]})
    assert clean == {clean_text(text): [clean_text(text)]}
    json.dumps(clean, ensure_ascii=False).encode()


def clean_text(text: str) -> str:
    """The same by code units: pairs join, what stays alone becomes U+FFFD."""
    joined, units = "", list(text)
    while units:
        unit = units.pop(0)
        pair = bool(units) and "\ud800" <= unit <= "\udbff" and "\udc00" <= units[0] <= "\udfff"
        if pair:
            joined += chr(0x10000 + (ord(unit) - 0xD800) * 0x400 + ord(units.pop(0)) - 0xDC00)
        else:
            joined += "\ufffd" if "\ud800" <= unit <= "\udfff" else unit
    return joined
