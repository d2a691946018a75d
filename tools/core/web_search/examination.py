"""Every engine tried live, for `scorpio doctor`: whether it answers, and whether its parser still knows its pages."""

from __future__ import annotations

from tools.core.web_search.engine import BLOCKED, ERROR, OK, TIMEOUT
from tools.core.web_search.query import Query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Finding
    from tools.core.web_search.searches import Searches

QUERY = "python programming language"
"""Every engine has results for it, so none is a fault."""

ADVICE = {
    BLOCKED: "It takes requests from this network for a program's; later, or from another network, it may not.",
    TIMEOUT: "The network may be slow, or block it without a word.",
    ERROR: "If its page is of another form than is known, a newer scorpio may know it.",
}


async def examine(searches: Searches) -> list[Finding]:
    """A finding for each chosen engine, in their order. Takes as long as a search."""
    outcomes = await searches.search(Query(QUERY), lambda waiting, asked: None)
    findings = []
    for outcome in outcomes:
        if outcome.status == OK:
            title, url = outcome.hits[0][:2]
            said = f"ok({len(outcome.hits)}) in {outcome.took_ms:.0f} ms; first: {title} {url}"
        else:
            reason = outcome.reason or f"no results for {QUERY!r}, which there are: its parser may have lost its page"
            said = f"{outcome.status}: {reason}. {ADVICE.get(outcome.status, ADVICE[ERROR])}"
        findings.append((outcome.engine.name, outcome.status == OK, said))
    return findings
