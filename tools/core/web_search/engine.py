"""What a search engine is here: a name, an address, a request for a query, and a parser of what comes back.

Does no I/O. Each file of `engines/` makes one.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tools.core.web_search.query import Query

OK, EMPTY, BLOCKED, TIMEOUT, ERROR = "ok", "empty", "blocked", "timeout", "error"
"""How a request to an engine ended, as the last line of an answer says it."""

REFUSING_STATUSES = (401, 403, 407, 429, 451, 503)
"""HTTP statuses with which engines turn programs away."""


class Refused(Exception):
    """The engine did not answer the query. `status` is BLOCKED or ERROR; the text is a reason of a few words."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Request:
    """`query` and `form` are names and values, not encoded yet; with a form it is a POST."""

    __slots__ = ("form", "headers", "query")

    def __init__(
        self,
        query: Sequence[tuple[str, str]] = (),
        form: Sequence[tuple[str, str]] = (),
        headers: dict[str, str] | None = None,
    ) -> None:
        self.query = query
        self.form = form
        self.headers = headers or {}


class Page:
    """What came back, after redirects. `text` is decoded and may be cut at SEARCH_BODY_BYTES_MAX."""

    __slots__ = ("rest_s", "status", "text")

    def __init__(self, status: int, text: str, rest_s: float = 0.0) -> None:
        self.status = status
        self.text = text
        self.rest_s = rest_s
        """For how long the engine asks to be left alone: from a header, or found by its parser."""


class Hit:
    """One result as the engine shows it: `url` may be relative or wrapped, texts may hold any white space."""

    __slots__ = ("snippet", "title", "url")

    def __init__(self, title: str, url: str, snippet: str = "") -> None:
        self.title = title
        self.url = url
        self.snippet = snippet


def refuse_error(page: Page) -> None:
    """Raises Refused for a page whose HTTP status says that it has no results."""
    if page.status in REFUSING_STATUSES:
        raise Refused(BLOCKED, f"HTTP {page.status}")
    if not 200 <= page.status < 300:
        raise Refused(ERROR, f"HTTP {page.status}")


class Engine:
    """One search engine. Its functions hold no state and may be called in any process."""

    __slots__ = ("address", "index", "name", "parse", "plain", "request", "walls")

    def __init__(
        self,
        name: str,
        *,
        address: str,
        request: Callable[[Query], Request],
        parse: Callable[[Page], list[Hit]],
        index: str = "",
        plain: bool = False,
        walls: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.address = address
        """Of the search itself. `{language}` in it is the query's."""
        self.index = index or name
        """Engines with the same one show the same results; a result counts once for all of them."""
        self.request = request
        self.parse = parse
        """The hits in the engine's order; none only where the engine itself says that there is none. Raises Refused."""
        self.plain = plain
        """An interface for programs: asked under our own name, not as a browser."""
        self.walls = walls
        """Parts of host and path that a redirect away from the results leads to: consent, captcha."""
