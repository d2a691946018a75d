"""The query: what of it is refused, and which language it is in.

A query goes to every engine as it was written, operators and all; only white space is made plain.
"""

from __future__ import annotations

import unicodedata

from scorpio.tool import ToolFailure
from tools.core.limits import SEARCH_QUERY_BYTES_MAX

SCRIPTS = (
    # first code point, last, language, market
    ("\u3040", "\u30ff", "ja", "ja-JP"),  # kana; before Han, which Japanese has too
    ("\uac00", "\ud7a3", "ko", "ko-KR"),
    ("\u4e00", "\u9fff", "zh", "zh-CN"),
    ("\u0400", "\u04ff", "ru", "ru-RU"),
    ("\u0600", "\u06ff", "ar", "ar-SA"),
    ("\u0590", "\u05ff", "he", "he-IL"),
    ("\u0370", "\u03ff", "el", "el-GR"),
    ("\u0e00", "\u0e7f", "th", "th-TH"),
    ("\u0900", "\u097f", "hi", "hi-IN"),
)
OWN_LETTERS = (("іїєґІЇЄҐ", "uk", "uk-UA"), ("پچژگکی", "fa", "fa-IR"))
"""Letters that only one language of a script has."""

ENGLISH = ("en", "en-US")
SCRIPT_SHARE_MIN = 0.2
"""Of the letters: a query with one Japanese word among names of functions is a Japanese one."""


class Query:
    """`text` is one line; `language` and `market` are those of its script, English for Latin letters."""

    __slots__ = ("language", "market", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.language, self.market = _language(text)

    @property
    def accept_language(self) -> str:
        if self.language == ENGLISH[0]:
            return "en-US,en;q=0.9"
        return f"{self.market},{self.language};q=0.9,en;q=0.8"


def checked(text: str) -> Query:
    """Raises ToolFailure for a query that no engine could answer."""
    line = " ".join(text.split())
    if not line:
        raise ToolFailure("query is empty. WebSearch needs words to search for.")
    for character in line:
        if unicodedata.category(character) in ("Cc", "Cs", "Cn"):
            raise ToolFailure(
                f"query holds the control character U+{ord(character):04X} at position {line.index(character)}. "
                "WebSearch needs plain text: leave it out."
            )
    size = len(line.encode())
    if size > SEARCH_QUERY_BYTES_MAX:
        raise ToolFailure(
            f"query has {size} bytes; WebSearch takes at most {SEARCH_QUERY_BYTES_MAX}. "
            "Search for the few words that matter, and open the pages that are found."
        )
    return Query(line)


def _language(text: str) -> tuple[str, str]:
    letters = [character for character in text if character.isalpha()]
    for first, last, language, market in SCRIPTS:
        own = [letter for letter in letters if first <= letter <= last]
        if own and len(own) >= SCRIPT_SHARE_MIN * len(letters):
            for special, other, other_market in OWN_LETTERS:
                if any(letter in special for letter in own):
                    return other, other_market
            return language, market
    return ENGLISH
