"""Result pages as HTML: from a page to hits, or to the reason why there are none.

An engine brings selectors and a function from the document to hits; what is the same for all pages is decided here.
Imports selectolax where it is used: the server's own process never does.
"""

from __future__ import annotations

from tools.core.web_search.engine import BLOCKED, ERROR, Hit, Page, Refused, refuse_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from selectolax.lexbor import LexborHTMLParser, LexborNode

UNRECOGNISED = "no results on a page of another form than is known"

WALLS = (
    '[id*="captcha" i], [class*="captcha" i], [action*="captcha" i], [src*="captcha" i], [data-sitekey], '
    '#challenge-form, #challenge-running, [class*="cf-turnstile"], [src*="challenges.cloudflare.com"], '
    '[id^="anubis"], [class*="anomaly" i], [src*="/anomaly"]'
)
"""What a page has that asks whether one is a person; looked for only where there are no results."""

WALL_TITLES = (
    *("just a moment", "attention required", "access denied", "are you a robot", "not a robot", "not a bot"),
    *("verify you are human", "captcha", "before you continue", "pardon our interruption", "too many requests"),
)
ASCENT_MAX = 6
"""Levels from a title up to the box of its result."""


def page_parser(
    hits: Callable[[LexborHTMLParser], Iterable[Hit]],
    *,
    empty: str = "",
    empty_words: tuple[str, ...] = (),
    walls: str = "",
    wall_words: tuple[str, ...] = (),
) -> Callable[[Page], list[Hit]]:
    """An engine's `parse`. `empty` and `walls` are selectors, the words are parts of the page's text."""

    def parse(page: Page) -> list[Hit]:
        refuse_error(page)
        from selectolax.lexbor import LexborHTMLParser

        document = LexborHTMLParser(page.text)
        document.strip_tags(["script", "style", "svg", "template"])
        found = [hit for hit in hits(document) if hit.title and hit.url]
        if not found:
            refuse_wall(page, walls, wall_words)
            refuse_unrecognised(document, empty, empty_words)
        return found

    return parse


def refuse_wall(page: Page, walls: str = "", words: tuple[str, ...] = ()) -> None:
    """Raises Refused for a page without results that asks for a person, a script or consent."""
    from selectolax.lexbor import LexborHTMLParser

    document = LexborHTMLParser(page.text)
    title = text_of(document.css_first("title")).lower()
    if document.css_first(f"{WALLS}, {walls}" if walls else WALLS) is not None:
        raise Refused(BLOCKED, "asks for a captcha")
    if any(known in title for known in WALL_TITLES):
        raise Refused(BLOCKED, f"shows a page titled {' '.join(title.split())[:60]!r}")
    if has_words(document, words):
        raise Refused(BLOCKED, "takes us for a program")
    if page.status != 200:
        raise Refused(BLOCKED, f"HTTP {page.status} without results")


def refuse_unrecognised(document: LexborHTMLParser, empty: str, empty_words: tuple[str, ...]) -> None:
    """Raises Refused unless the page itself says that it has no results."""
    if not (empty and document.css_first(empty) is not None) and not has_words(document, empty_words):
        raise Refused(ERROR, UNRECOGNISED)


def has_words(document: LexborHTMLParser, words: tuple[str, ...]) -> bool:
    text = " ".join(text_of(document.body).lower().split()) if words else ""
    return any(known in text for known in words)


def text_of(node: LexborNode | None) -> str:
    return (node.text() or "") if node is not None else ""


def first_text(node: LexborNode | None, selectors: str) -> str:
    """Text of the first node below `node` that a selector finds."""
    return text_of(node.css_first(selectors)) if node is not None else ""


def href_of(node: LexborNode | None) -> str:
    return (node.attributes.get("href") or "") if node is not None else ""


def above(node: LexborNode | None, tag: str) -> LexborNode | None:
    """The nearest `tag` around `node`."""
    for _ in range(ASCENT_MAX):
        node = node.parent if node is not None else None
        if node is not None and node.tag == tag:
            return node
    return None


def json_of(page: Page) -> object:
    """The page of an interface for programs. Raises Refused for what is no JSON."""
    import orjson

    try:
        return orjson.loads(page.text)
    except orjson.JSONDecodeError:
        refuse_wall(page)
        raise Refused(ERROR, "its answer is no JSON") from None


def plain_text(fragment: str) -> str:
    """Text of a piece of HTML, as interfaces for programs give it: entities decoded, tags gone."""
    if "<" not in fragment and "&" not in fragment:
        return fragment
    from selectolax.lexbor import LexborHTMLParser

    return text_of(LexborHTMLParser(fragment).body)
