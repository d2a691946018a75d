"""The part of a page that it was opened for: without navigation, side bars, footers and other frames around it.

Runs in the worker process. Prefers elements that say they are the main content, and gives up what it cut off again
where that would be most of the page.
"""

from __future__ import annotations

import re

from tools.core.page_nodes import drop
from tools.core.read_docs.page import length, link_share

TYPE_CHECKING = False
if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

    from tools.core.read_docs.page import Page

MAIN = (
    *(".markdown-body", ".theme-doc-markdown", ".vp-doc", ".rst-content [itemprop=articleBody]", ".markdown-section"),
    *("main", "[role=main]", "article", "#readme", "#main-content", "#mw-content-text", "#bodyContent"),
    *(".rst-content", ".md-content", "[itemprop=articleBody]", "div.document", ".manual-text", ".maincontent"),
    *(".devsite-article-body", "#docs-content", ".docs-content", "div.contents"),
    *(".post-content", ".entry-content", ".article-content", ".page-content", ".main-content"),
    *("#content", "#main", ".content"),
)
"""In the order of how surely they hold the main content, and nothing else."""

MAIN_SHARE_MIN = 0.3
"""Of the page's text without frames: a candidate with less of it is a teaser or one of many."""

NARROWER_SHARE_MIN = 0.8
"""Of its container's text: then the rest is a side bar that nothing else gave away."""

ARTICLE_SHARE_MIN = 0.5
"""Of the text that is left without frames: an extraction that keeps less has lost something."""

ARTICLE_SHARE_MAX = 0.95
"""One that keeps more has nothing to offer, and levels headings."""

_COUNTED = (("pre", 0), ("table", 0), ("h1, h2, h3, h4", 1))
"""What an extraction must keep; the title may be told apart from the content."""

LINK_SHARE_MAX = 0.4
FRAME_CHARS_MAX = 300
"""What is named like a frame, and short, or mostly links, is one."""

ALWAYS_FRAMES = (
    *("nav", "[role=navigation]", "[role=search]", "[role=contentinfo]", "[role=banner]", "[role=alertdialog]"),
    *("[role=menu]", "[role=menubar]", "[role=toolbar]", "[aria-label=breadcrumb]", "[aria-label=breadcrumbs]"),
    *(".sr-only", ".visually-hidden", ".screen-reader-text", ".visuallyhidden", ".noprint", ".no-print"),
    *(".headerlink", ".hash-link", ".header-anchor", ".anchorjs-link", ".doc-anchor"),
    *(".viewcode-link", "a.src", "rustdoc-toolbar", "summary.hideme", ".test-arrow", ".example-wrap > .tooltip"),
    *(".mw-editsection", ".mw-jump-link", ".navbox", "#toc", ".catlinks", ".printfooter"),  # MediaWiki
    *(".md-source-file", ".md-content__button", ".md-clipboard", ".md-header", ".md-footer"),  # MkDocs Material
    *(
        ".theme-edit-this-page",
        ".theme-doc-footer",
        ".theme-doc-toc-mobile",
        ".theme-doc-breadcrumbs",
        ".theme-doc-version-badge",
    ),
    *(
        ".vp-code-copy",
        "button.copy",
        "span.lang",
        ".line-numbers-wrapper",
        ".VPDocFooter",
        ".VPNav",
        ".VPSidebar",
        ".VPDocAside",
    ),  # VitePress
    *("clipboard-copy", ".zeroclipboard-container", ".copybtn", ".copy-button", ".btn-copy", ".clipboard-button"),
    *(".contents.topic", ".contents.local", ".sphinxsidebar", "div.related", ".rst-footer-buttons"),  # Sphinx
    *("#footer", "body > footer", "body > header"),
)

_FRAME_NAME = re.compile(
    r"(?:^|[\s_-])(?:side-?bar|side-?nav|top-?nav|sub-?nav|nav|nav-?bar|navigation|menu|toc|table-of-contents"
    r"|on-this-page|bread-?crumbs?|pagination|pager|prev-?next|masthead|footer|cookies?|consent|banner"
    r"|skip-?(?:link|to|nav)|share|social|sharing|related|recommended|newsletter|subscribe|advert(?:isement)?|ads?|promo|sponsor"
    r"|feedback|was-this|helpful|toolbar|search|copyright|edit-?(?:this-?)?page|edit-?link|last-?updated|comments?|popup|modal"
    r"|announcement|version-?(?:selector|switcher|warning)|language-?(?:selector|switcher)|theme-?toggle)(?:$|[\s_-])",
    re.IGNORECASE,
)
_CONTENT = "h1, h2, h3, pre, table, p + p + p"


def main_content(page: Page) -> LexborNode:
    """The node to convert, of a page with a body; the frames in it are gone."""
    body = page.tree.body
    assert body is not None
    whole = length(body)
    drop(node for node in page.tree.css(", ".join(ALWAYS_FRAMES)) if not _is_most(node, whole))
    container = _container(page, length(body))
    _drop_frames(container)
    return container


def frames_only_lost(article: LexborNode, container: LexborNode) -> bool:
    """Whether an extraction is shorter than the container by what stands around the content, and by nothing else."""
    share = length(article) / max(1, length(container))
    if not ARTICLE_SHARE_MIN <= share <= ARTICLE_SHARE_MAX:
        return False
    return all(len(article.css(query)) >= len(container.css(query)) - less for query, less in _COUNTED)


def _is_most(node: LexborNode, whole: int) -> bool:
    """A page that calls everything a banner is read all the same."""
    return length(node) > whole / 2 and (
        node.css_first("h1, h2, p") is not None or node.tag in ("main", "article", "body")
    )


def _container(page: Page, whole: int) -> LexborNode:
    body = page.tree.body
    assert body is not None
    for query in MAIN:
        chosen = _one(page.tree.css(query))
        if chosen is not None and length(chosen) >= MAIN_SHARE_MIN * whole and length(chosen) > 0:
            return _with_title(_narrower(chosen))
    return body


def _with_title(node: LexborNode) -> LexborNode:
    """The element itself, or the one around it that holds its title."""
    above, size = node.parent, length(node)
    if node.css_first("h1") is None:
        for _ in range(4):
            if above is None or above.tag in ("body", "html") or length(above) * NARROWER_SHARE_MIN > size:
                break
            if above.css_first("h1") is not None:
                return above
            above = above.parent
    return node


def _one(nodes: list[LexborNode]) -> LexborNode | None:
    """The outermost of them; where several stand side by side, the one that has most of their text, else none."""
    outer: list[LexborNode] = []
    inside: set[int] = set()
    for node in nodes[:200]:
        if node.mem_id in inside:
            continue
        outer.append(node)
        inside.update(inner.mem_id for inner in node.css("*") if inner.tag == node.tag or len(nodes) < 50)
    if not outer:
        return None
    sizes = [length(node) for node in outer]
    largest = max(range(len(outer)), key=sizes.__getitem__)
    return outer[largest] if sizes[largest] >= NARROWER_SHARE_MIN * sum(sizes) else None


def _narrower(node: LexborNode) -> LexborNode:
    """An element inside that holds nearly all of it, and says that it is the text."""
    whole = length(node)
    for query in ("article", "[itemprop=articleBody]", ".markdown-body", ".theme-doc-markdown", ".vp-doc"):
        inner = [each for each in node.css(query) if each.mem_id != node.mem_id]
        if len(inner) == 1 and length(inner[0]) >= NARROWER_SHARE_MIN * whole:
            return inner[0] if node.css_first("h1") is None or inner[0].css_first("h1") is not None else node
    return node


def _drop_frames(container: LexborNode) -> None:
    whole = length(container)
    drop(
        node
        for node in container.css("aside, footer, header, form, [class], [id]")
        if _is_frame(node, container, whole)
    )


def _is_frame(node: LexborNode, container: LexborNode, whole: int) -> bool:
    tag = node.tag
    if node.mem_id == container.mem_id or tag in (
        "pre",
        "code",
        "table",
        "body",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "p",
        "dt",
    ):
        return False
    if tag == "header":
        return node.css_first("h1, h2") is None and length(node) < FRAME_CHARS_MAX
    if tag == "footer":
        return node.css_first(_CONTENT) is None or link_share(node) > LINK_SHARE_MAX
    named = (
        tag in ("aside", "form")
        or node.attributes.get("role") == "complementary"
        or _FRAME_NAME.search(f"{node.attributes.get('class') or ''} {node.attributes.get('id') or ''}")
    )
    if not named or length(node) > whole / 2:
        return False
    if link_share(node) > LINK_SHARE_MAX:
        return True
    return tag not in ("aside", "form") and length(node) < FRAME_CHARS_MAX and node.css_first(_CONTENT) is None
