"""From a page to what an answer needs of it: addresses unwrapped, texts of one line, each result once.

Runs in the reading process (worker.py): pages come from anywhere, and their parser is native code.
"""

from __future__ import annotations

import re
import unicodedata

from tools.core.limits import SEARCH_HITS_MAX, SEARCH_SNIPPET_CHARS_MAX, SEARCH_TITLE_CHARS_MAX
from tools.core.web_search.engine import EMPTY, ERROR, OK, Refused
from tools.core.web_search.links import canonical, result_url

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tools.core.web_search.engine import Engine, Hit, Page

FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\u180b\u180c\u180d\u180f") | {
    chr(code) for code in range(0xFE00, 0xFE0E)
}
"""Without a glyph, though Unicode counts them as letters and marks."""

_JOINER = re.compile(r"(?<=[^\x00-\x7f\u200c\u200d])[\u200c\u200d](?=[^\x00-\x7f\u200c\u200d])")
"""Inside words of Persian and Indic scripts, and in emoji. Anywhere else, and in a row, they hide something."""


def read(engine: Engine, page: Page) -> dict[str, Any]:
    """`status` and `reason`, `rest_s`, and `hits`: [title, address, text, what the address is compared by] each."""
    try:
        hits = engine.parse(page)
        status, reason = (OK, "") if hits else (EMPTY, "")
    except Refused as refusal:
        hits, status, reason = [], refusal.status, str(refusal)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        hits, status, reason = [], ERROR, "its answer has another form than is known"
    rows = _rows(hits, engine.address)
    if hits and not rows:
        status, reason = ERROR, "none of its results has an address"
    return {"status": status, "reason": reason, "rest_s": page.rest_s, "hits": rows}


def _rows(hits: list[Hit], base: str) -> list[list[str]]:
    rows: dict[str, list[str]] = {}
    for hit in hits:
        url = result_url(hit.url, base)
        title = visible(hit.title, SEARCH_TITLE_CHARS_MAX)
        if url and title:
            key = canonical(url)
            rows.setdefault(key, [title, url, visible(hit.snippet, SEARCH_SNIPPET_CHARS_MAX), key])
        if len(rows) == SEARCH_HITS_MAX:
            break
    return list(rows.values())


def visible(text: str, chars_max: int) -> str:
    """`text` on one line without what nobody sees, cut with `…`."""
    line = " ".join(text[: 8 * chars_max].split())
    if not line.isprintable() or not line.isascii():
        joiners = {found.start() for found in _JOINER.finditer(line)}
        line = "".join(c for i, c in enumerate(line) if i in joiners or _is_visible(c))
    return line if len(line) <= chars_max else line[: chars_max - 1].rstrip() + "…"


def _is_visible(character: str) -> bool:
    return unicodedata.category(character) not in ("Cc", "Cf", "Cn", "Co", "Cs") and character not in FILLERS
