"""Google. Its page for browsers needs scripts; the one for telephones without them does not.

Asked as such a telephone (https://github.com/searxng/searxng/pull/6546), which works from some networks only. Reads
both pages: with scripts a result is a link around a heading, without them a box whose link is a redirect.
"""

from __future__ import annotations

from tools.core.page_nodes import drop
from tools.core.web_search.engine import Engine, Hit, Request
from tools.core.web_search.markup import ASCENT_MAX, href_of, page_parser, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from selectolax.lexbor import LexborHTMLParser, LexborNode

    from tools.core.web_search.query import Query

TELEPHONE = (
    "Mozilla/5.0 (Series40; Nokia311/03.81; Profile/MIDP-2.1 Configuration/CLDC-1.1) "
    "Gecko/20100401 S40OviBrowser/2.2.0.0.31"
)
TITLES = "h3, span.CVA68e, div.vvjwJb"
SNIPPETS = "[data-sncf], div.VwiC3b, .FrIlee, .fYyStc, div.s3v9rd"
ADVERTS = "[data-text-ad], #tads, #tadsb, #bottomads, .uEierd"


def _request(query: Query) -> Request:
    return Request(
        [("q", query.text), ("hl", query.language), ("ie", "UTF-8"), ("oe", "UTF-8")],
        headers={"user-agent": TELEPHONE, "accept": "text/html,application/xhtml+xml,*/*;q=0.8"},
    )


def _hits(document: LexborHTMLParser) -> Iterator[Hit]:
    drop(document.css(ADVERTS))
    for link in document.css("a[href]"):
        title = link.css_first(TITLES)
        if title is not None and not href_of(link).startswith(("/search", "#")):
            yield Hit(text_of(title), href_of(link), _snippet(link))


def _snippet(link: LexborNode) -> str:
    """Of the box around `link`, which ends where another result begins."""
    box: LexborNode | None = link.parent
    for _ in range(ASCENT_MAX + 2):
        if box is None or box.tag == "body" or len(box.css(f":is({TITLES})")) > 1:
            break
        snippet = box.css_first(SNIPPETS)
        if snippet is not None:
            return text_of(snippet)
        box = box.parent
    return ""


ENGINE = Engine(
    "google",
    address="https://www.google.com/search",
    request=_request,
    parse=page_parser(
        _hits,
        empty_words=("did not match any documents",),
        walls='[src*="enablejs"], [href*="enablejs"], [content*="enablejs"]',
        wall_words=("unusual traffic", "click here if you're not redirected", "enable javascript"),
    ),
    walls=("/sorry", "consent.google."),
)
