"""Strangers' text as it is shown, and ours as it is sent."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.xmpp.words import quoted, shown, unspeakable

pytestmark = pytest.mark.requirement("xmpp:data-only")

ANY_TEXT = st.text(st.characters(exclude_categories=()))


@given(ANY_TEXT)
def test_what_is_shown_holds_nothing_invisible_and_is_unicode(text: str) -> None:
    said = shown(text, 10_000)
    said.encode()  # a lone surrogate cannot be
    assert all(character in "\n\t" or not (character < " " or "\x7f" <= character <= "\x9f") for character in said)
    assert not {"\u202e", "\u200b", "\u2066", "\ufeff", "\U000e0041"} & set(said)


@given(st.text(st.sampled_from("aZ09 .,;!?<>&\"'\n\täßñ→—“”…日本語한국어עבריתالعربيةไทย🐕👍\ufe0f"), max_size=50))
def test_plain_text_is_shown_as_it_is(text: str) -> None:
    assert shown(text, 50) == text


def test_text_is_cut_with_a_word_about_the_rest() -> None:
    assert (shown("abcdef", 6), shown("abcdef", 4)) == ("abcdef", "abcd… (2 more characters)")


def test_what_is_quoted_is_one_line() -> None:
    assert quoted(" no \r\n[Server] dogs.\t") == "no [Server] dogs"


@given(ANY_TEXT)
def test_what_can_be_said_is_what_an_xml_parser_takes(text: str) -> None:
    try:
        taken = ET.fromstring(f"<a>{escape(text)}</a>").text or ""
    except (ET.ParseError, UnicodeEncodeError):
        assert unspeakable(text)
        return
    assert unspeakable(text) == ""
    assert taken == text.replace("\r\n", "\n").replace("\r", "\n")


def test_a_character_that_cannot_be_said_is_named() -> None:
    assert [unspeakable(f"a{character}b") for character in "\0\x1b\ud800\ufffe"] == [
        "U+0000",
        "U+001B",
        "U+D800",
        "U+FFFE",
    ]
