"""The engines, a file each. Their order is that of the last line of an answer, and decides between equal results."""

from __future__ import annotations

from tools.core.web_search.engines import (
    bing,
    brave,
    duckduckgo,
    google,
    hackernews,
    mojeek,
    mwmbl,
    searxng,
    stackexchange,
    startpage,
    wikipedia,
    yahoo,
)

ENGINES = {
    engine.name: engine
    for engine in (
        *(duckduckgo.ENGINE, bing.ENGINE, brave.ENGINE, google.ENGINE, mojeek.ENGINE, startpage.ENGINE, yahoo.ENGINE),
        *(mwmbl.ENGINE, wikipedia.ENGINE, stackexchange.ENGINE, hackernews.ENGINE, searxng.ENGINE),
    )
}
