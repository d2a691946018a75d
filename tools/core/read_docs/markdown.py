"""HTML to markdown and to plain text: what generators write in their own ways is made plain first.

Runs in the worker process.
"""

from __future__ import annotations

import re
from html import escape
from urllib.parse import urljoin

from html_to_markdown import ConversionOptions, PreprocessingOptions, convert

from tools.core.page_nodes import drop
from tools.core.read_docs.page import NO_TEXT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

    from tools.core.read_docs.page import Page

KEPT_SHARE_MIN = 0.95
"""Fewer letters than this in the result, and the conversion has lost something, as it does in very deep trees."""

INPUTS = "button, input, select, textarea, datalist, progress, meter, option, label[for]:empty"
_BLOCKS = "h1, h2, h3, h4, h5, h6, p, ul, ol, table, pre, div, blockquote, section, article, figure"
_BLOCK_TAGS = frozenset(_BLOCKS.split(", "))
_TABS = (
    ("[role=tablist]", "[role=tab]", "[role=tabpanel]"),
    (".tabbed-labels", "label", ".tabbed-block"),
    (".vp-code-group > .tabs", "label", ".blocks > div"),
)
"""Where the words of tabs stand, what one is, and what one panel is."""

_PERMALINK = frozenset(("", "#", "¶", "§", "🔗", "link", "permalink", "copy link", "anchor", "\u200b"))
_NOTE_TITLES = "p.admonition-title, .custom-block-title, .markdown-alert-title, [class*=admonitionHeading]"
_LAYOUT = "h1, h2, h3, h4, table, p + p + p, ul ul, hr"
_SCHEMES = re.compile(r"(?:https?|mailto|ftp):", re.IGNORECASE)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_WORD = re.compile(r"\w+")
_BLANK = re.compile(r"\n{3,}")


def markdown(page: Page, container: LexborNode) -> str:
    """Changes the tree, whose code is plain already."""
    drop(container.css(NO_TEXT))
    _plain_math(page, container)
    _plain_tabs(page, container)
    _whole_headings(container)
    drop(node for node in container.css("a[href*='#']") if _is_permalink(node))
    _checkboxes(container)
    drop(container.css(INPUTS))
    _plain_tables(page, container)
    _plain_titles(container)
    _links(page, container)
    _images(page, container)
    return _BLANK.sub("\n\n\n", _whole(container, "markdown")).strip("\n")


def plain(container: LexborNode) -> str:
    """Visible text, a paragraph a line."""
    drop(container.css(f"{NO_TEXT}, input, select, textarea, datalist, option"))
    return _BLANK.sub("\n\n", _whole(container, "plain")).strip("\n")


def _whole(container: LexborNode, output: str) -> str:
    text = _converted(container.html or "", output)
    if _letters(text) < KEPT_SHARE_MIN * _letters(container.text()):
        text = container.text(separator="\n", strip=True, skip_empty=True)
    return text


def _letters(text: str) -> int:
    return sum(map(len, _WORD.findall(text)))


def _converted(html: str, output: str) -> str:
    options = ConversionOptions(
        extract_metadata=False,
        output_format=output,
        br_in_tables=True,
        compact_tables=True,
        bullets="-",
        expand_abbreviations=False,
        include_blockquote_citations=False,
        autolinks=False,
        preprocessing=PreprocessingOptions(enabled=False),  # what is navigation is decided here
        hidden_content="all",  # what is hidden is gone already; what a click shows must stay
    )
    return convert(html, options).content or ""


def _is_permalink(link: LexborNode) -> bool:
    return link.text().strip().lower() in _PERMALINK and link.css_first("img") is None


def _plain_math(page: Page, container: LexborNode) -> None:
    """Formulas as TeX, once: pages hold them twice or three times, for eyes and for readers aloud."""
    drop(container.css(".katex-html, mjx-container svg, .MathJax_Preview, .MathJax_SVG_Display"))
    for math in reversed(container.css("math")):
        source = math.css_first("annotation[encoding*=tex]")
        text = source.text().strip() if source is not None else (math.attributes.get("alttext") or "")
        if text:
            math.replace_with(f"${text}$")


def _plain_tabs(page: Page, container: LexborNode) -> None:
    """Every panel under the words of its tab, which stand beside the panels in the same order."""
    for holders, tabs, panels in _TABS:
        for holder in reversed(container.css(holders)):
            labels = [tab.text().strip() for tab in holder.css(tabs)]
            above = holder.parent
            for _ in range(3):
                shown = above.css(panels) if above is not None else []
                if len(shown) == len(labels) and labels:
                    for label, panel in zip(labels, shown, strict=True):
                        _put_title(page, panel, label)
                    holder.decompose()
                    break
                above = above.parent if above is not None else None


def _put_title(page: Page, node: LexborNode, text: str) -> None:
    first = node.first_child
    if first is not None:
        first.insert_before(page.tree.create_node("p"))
        if first.prev is not None:
            first.prev.inner_html = f"<strong>{escape(text, quote=False)}</strong>"


def _whole_headings(container: LexborNode) -> None:
    """A heading that was never closed holds what follows it; a summary that holds a heading is none."""
    for summary in container.css("summary"):
        if summary.css_first(_BLOCKS) is not None:
            summary.unwrap()
    for heading in reversed(container.css("h1, h2, h3, h4, h5, h6")):
        children = list(heading.iter(include_text=True))
        blocks = [each for each in children if each.tag in _BLOCK_TAGS]
        if blocks and blocks[0].mem_id != children[0].mem_id:
            first = next(index for index, each in enumerate(children) if each.mem_id == blocks[0].mem_id)
            for child in reversed(children[first:]):
                heading.insert_after(child, move=True)


def _checkboxes(container: LexborNode) -> None:
    for box in container.css("li input[type=checkbox]"):
        box.insert_before("[x] " if "checked" in box.attributes else "[ ] ")


# -- tables


def _plain_tables(page: Page, container: LexborNode) -> None:
    for table in reversed(container.css("table")):
        if _is_layout(table):
            _unfold(page, table)
            continue
        for pre in reversed(table.css("pre")):
            lines = pre.text().strip("\n").split("\n")
            code = "<br>".join(f"<code>{escape(line, quote=False)}</code>" if line.strip() else "" for line in lines)
            pre.inner_html = code
            pre.unwrap()
        for items in reversed(table.css("ul, ol")):
            items.unwrap_tags(["p"])
            inner = [" ".join((item.inner_html or "").split()) for item in items.iter() if item.tag == "li"]
            lead = "<br>" if items.prev is not None and items.prev.text(strip=True) else ""
            items.inner_html = lead + "<br>".join(f"- {item}" for item in inner)
            items.unwrap()


def _is_layout(table: LexborNode) -> bool:
    """A table that only says where things stand."""
    if table.attributes.get("role") in ("presentation", "none"):
        return True
    cells = _own(table, "td, th, caption")
    if any(cell.tag != "td" for cell in cells):
        return False
    return len(cells) <= 1 or any(cell.css_first(_LAYOUT) is not None or "\n" in _code_of(cell) for cell in cells)


def _own(table: LexborNode, query: str) -> list[LexborNode]:
    """Without what belongs to a table inside."""
    if table.css_first("table table") is None and len(table.css("table")) <= 1:
        return table.css(query)
    return [node for node in table.css(query) if _nearest_table(node) == table.mem_id]


def _code_of(cell: LexborNode) -> str:
    pre = cell.css_first("pre")
    return pre.text().strip("\n") if pre is not None else ""


def _unfold(page: Page, table: LexborNode) -> None:
    """Its cells, one after the other."""
    for cell in _own(table, "td, th"):
        inner = cell.inner_html or ""
        if not inner.strip():
            continue
        block = page.tree.create_node("div")
        table.insert_before(block)
        if table.prev is not None:
            table.prev.inner_html = inner
    table.decompose()


def _nearest_table(node: LexborNode) -> int:
    above = node.parent
    while above is not None and above.tag != "table":
        above = above.parent
    return above.mem_id if above is not None else 0


# -- titles, links, images


def _plain_titles(container: LexborNode) -> None:
    """What looks like a title and is none: names of notes, signatures in reference documentation."""
    for title in container.css(_NOTE_TITLES):
        title.inner_html = f"<strong>{escape(title.text().strip(), quote=False)}</strong>"
    for term in container.css("dt"):
        inner = " ".join(term.text().split())
        if term.css_first("dl, ul, p, pre") is None and inner:
            kind = "code" if "sig" in (term.attributes.get("class") or "").split() else "strong"
            if kind == "code" or term.css_first("code, strong, b, a, em") is None:
                term.inner_html = f"<{kind}>{escape(inner, quote=False)}</{kind}>"


def _links(page: Page, container: LexborNode) -> None:
    """Absolute; those that lead nowhere are text; a link around blocks is a link on the first of them."""
    for link in reversed(container.css("a")):
        target = _absolute(page.base, link.attributes.get("href"))
        if not target or (not link.text(strip=True) and link.css_first("img") is None):
            link.unwrap()
            continue
        link.attrs["href"] = target
        if "title" in link.attributes:
            del link.attrs["title"]
        blocks = link.css(_BLOCKS)
        if blocks:
            inner = next((each for each in blocks if len(each.css(_BLOCKS)) == 1 and each.text(strip=True)), None)
            if inner is not None and inner.tag not in ("pre", "ul", "ol", "table"):
                inner.inner_html = f'<a href="{escape(target)}">{inner.inner_html}</a>'
            link.unwrap()


def _absolute(base: str, target: str | None) -> str:
    if not target or not target.strip():
        return ""
    target = target.strip()
    if _SCHEME.match(target):
        return target if _SCHEMES.match(target) else ""
    try:
        return urljoin(base, target)
    except ValueError:
        return ""


def _images(page: Page, container: LexborNode) -> None:
    """Absolute, from where a lazy page keeps them; those without an address, or one pixel wide, are their words."""
    for image in container.css("img"):
        attributes = image.attributes
        source = next(
            (
                found
                for name in ("src", "data-src", "data-lazy-src", "data-original")
                if (found := _absolute(page.base, attributes.get(name))).startswith("http")
            ),
            "",
        )
        if source and "1" not in (attributes.get("width"), attributes.get("height")):
            image.attrs["src"] = source
        else:
            image.replace_with((attributes.get("alt") or "").strip())
