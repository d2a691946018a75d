"""An HTML page as a tree: what a reader would not see taken out, its title, and whether scripts must make its content.

Runs in the worker process. Sees style attributes and style elements, not style sheets that a page links to.
"""

from __future__ import annotations

import re
from urllib.parse import urljoin

from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from tools.core.limits import PAGE_TEXT_CHARS_ENOUGH
from tools.core.page_nodes import drop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from selectolax.lexbor import LexborNode

CSS_CHARS_MAX = 500_000
CSS_RULES_MAX = 2000
"""Hiding rules that are looked up; pages have 5 to 50."""

REFRESH_S_MAX = 5
"""A page that sends its reader on within so many seconds is a redirect."""

NEVER_SHOWN = "script, style, template, noscript, dialog:not([open])"
NO_TEXT = "iframe, frame, object, embed, svg, canvas, audio, video, map"
FRAMES = "#root, #app, #__next, #__nuxt, #___gatsby, #svelte, #main-app, #application, app-root, [data-reactroot]"
"""Where the frameworks of single-page applications put what they make."""

_NEEDS_SCRIPTS = re.compile(
    r"(enable|requires?|need|turn on|without|activate|disabled).{0,40}java\s?script|java\s?script.{0,40}"
    r"(required|disabled|enabled|not (supported|available|enabled))",
    re.IGNORECASE | re.DOTALL,
)
_REFRESH = re.compile(r"\s*(\d{1,4})(?:\.\d*)?\s*[;,]?\s*(?:url\s*=\s*)?[\"']?([^\"'>\s]+)", re.IGNORECASE)

_HIDING = {
    "display": re.compile(r"(?:^|;)\s*display\s*:\s*(none)?", re.IGNORECASE),
    "visibility": re.compile(r"(?:^|;)\s*visibility\s*:\s*(hidden|collapse)?", re.IGNORECASE),
    "opacity": re.compile(r"(?:^|;)\s*opacity\s*:\s*(0*\.?0+%?(?![.\d]))?", re.IGNORECASE),
    "font-size": re.compile(
        r"(?:^|;)\s*font-size\s*:\s*(0*[01]?\.?0*(?:px|pt|em|rem|%)?(?=\s*(?:;|!|$)))?", re.IGNORECASE
    ),
    "text-indent": re.compile(r"(?:^|;)\s*text-indent\s*:\s*(-\d{3,})?", re.IGNORECASE),
    "left": re.compile(r"(?:^|;)\s*left\s*:\s*(-\d{4,}(?:px)?|-\d{3,}(?:em|rem|vw))?", re.IGNORECASE),
    "top": re.compile(r"(?:^|;)\s*top\s*:\s*(-\d{4,}(?:px)?|-\d{3,}(?:em|rem|vh))?", re.IGNORECASE),
    "clip": re.compile(r"(?:^|;)\s*clip\s*:\s*(rect\([01pxem, ]*\))?", re.IGNORECASE),
    "clip-path": re.compile(r"(?:^|;)\s*clip-path\s*:\s*(inset\((?:50|100)%)?", re.IGNORECASE),
    "color": re.compile(r"(?:^|;)\s*color\s*:\s*(transparent)?", re.IGNORECASE),
}
"""A property; its group is filled where the value hides."""

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_PANELS = "[role=tabpanel], .tab-pane, .tabbed-block, .sd-tab-content, .tab-content > *, [data-tab-panel]"
_TABS = "[role=tablist], [role=tab], .nav-tabs, .tabbed-labels, .sd-tab-label, input[type=radio]"


class Page:
    """`tree` is what is left to be seen."""

    def __init__(self, html: str, url: str, *, rendered: bool) -> None:
        """`rendered`: it comes from a browser, which marked what it did not show."""
        self.tree = LexborHTMLParser(html, scripting=True)
        self.url = url
        base = self.tree.css_first("base[href]")
        self.base = _joined(url, base.attributes["href"] or "") if base is not None else url
        self.title = self._title()
        self.refresh = self._refresh()
        """Where the page sends its reader by itself; empty where it does not."""
        self.script_count = len(self.tree.css("script:not([type*=json]):not([type*=template])"))
        self._noscript = " ".join(node.text() for node in self.tree.css("noscript"))[:2000]
        if rendered:
            drop(self.tree.css("[data-scorpio-hidden]"))
        else:
            self._drop_hidden()
        drop(self.tree.css(NEVER_SHOWN))

    def text_length(self) -> int:
        body = self.tree.body
        return 0 if body is None else length(body)

    @property
    def empty(self) -> bool:
        return self.tree.body is None or self.text_length() == 0

    def needs_scripts(self) -> bool:
        """Whether what is there is a frame that scripts would fill."""
        if not self.script_count:
            return False
        chars = self.text_length()
        if chars < PAGE_TEXT_CHARS_ENOUGH:
            return True
        if chars < 2 * PAGE_TEXT_CHARS_ENOUGH and _NEEDS_SCRIPTS.search(self._noscript):
            return True
        places = [*self.tree.css(FRAMES), *self.tree.css("main, [role=main], article")[:1]]
        return any(length(node) < PAGE_TEXT_CHARS_ENOUGH / 4 for node in places)

    def _title(self) -> str:
        for query, attribute in (("title", ""), ("meta[property='og:title']", "content"), ("h1", "")):
            node = self.tree.css_first(query)
            text = "" if node is None else (node.attributes.get(attribute) or "") if attribute else node.text()
            if text.strip():
                return " ".join(text.split())
        return ""

    def _refresh(self) -> str:
        for node in self.tree.css("meta[http-equiv]"):
            if (node.attributes["http-equiv"] or "").lower() == "refresh":
                found = _REFRESH.match(node.attributes.get("content") or "")
                if found and int(found[1]) <= REFRESH_S_MAX:
                    target = _joined(self.base, found[2])
                    return "" if target.partition("#")[0] == self.url.partition("#")[0] else target
        return ""

    # -- what is hidden

    def _drop_hidden(self) -> None:
        hidden = {node.mem_id: node for node in self.tree.css("[hidden]") if node.attributes["hidden"] != "until-found"}
        for node in self.tree.css("[style]"):
            if any(found[1] for found in _groups(node.attributes["style"] or "").values()):
                hidden[node.mem_id] = node
        for node in self._hidden_by_rules():
            hidden[node.mem_id] = node
        drop(node for node in self.tree.css("*") if node.mem_id in hidden and not _is_reachable(node))

    def _hidden_by_rules(self) -> list[LexborNode]:
        """By `style` elements. Of two rules for one property the later wins, which is most of what a cascade is."""
        state: dict[tuple[int, str], LexborNode | None] = {}
        css = "\n".join(node.text() for node in self.tree.css("style"))[:CSS_CHARS_MAX]
        for selector, groups in _rules(css):
            try:
                nodes = self.tree.css(selector)
            except SelectolaxError:
                continue
            for node in nodes:
                for name, found in groups.items():
                    state[node.mem_id, name] = node if found[1] else None
        return [node for node in state.values() if node is not None and node.tag not in ("html", "head")]


def _groups(declarations: str) -> dict[str, re.Match[str]]:
    return {name: found for name, pattern in _HIDING.items() if (found := pattern.search(declarations))}


def _rules(css: str) -> Iterator[tuple[str, dict[str, re.Match[str]]]]:
    """(selector, what it says of properties that hide), where some rule for that property hides."""
    rules = []
    for prelude, block in _blocks(_COMMENT.sub("", css)):
        groups = _groups(block)
        if groups:
            rules.append((prelude, groups))
    hiding = {name for _, groups in rules for name, found in groups.items() if found[1]}
    for prelude, groups in rules[:CSS_RULES_MAX]:
        wanted = {name: found for name, found in groups.items() if name in hiding}
        for selector in prelude.split(","):
            if wanted and ":" not in selector and selector.strip():
                yield selector.strip(), wanted


def _blocks(css: str) -> Iterator[tuple[str, str]]:
    """(prelude, declarations) of rules that hold on a screen; those of @media print and the like are passed over."""
    at, skipped, depth = 0, 0, 0
    for found in re.finditer(r"[{};]", css):
        text, mark = css[at : found.start()].strip(), found[0]
        if mark == "{":
            depth += 1
            if text.startswith("@"):
                shown = re.match(r"@(media\s+(all|screen)\s*$|layer|supports)", text, re.IGNORECASE)
                skipped = skipped or (0 if shown else depth)
            elif not skipped:
                end = css.find("}", found.end())
                yield text, css[found.end() : end if end >= 0 else len(css)]
        elif mark == "}":
            skipped = 0 if depth == skipped else skipped
            depth = max(0, depth - 1)
        elif depth and not text.startswith("@"):
            continue  # a declaration: the block it stands in was taken whole
        at = found.end()


def _is_reachable(node: LexborNode) -> bool:
    """Whether a click on a tab would show it."""
    if not node.css_matches(_PANELS):
        return False
    above = node.parent
    for _ in range(4):
        if above is None or above.tag in ("body", "html"):
            return False
        if above.css_first(_TABS) is not None:
            return True
        above = above.parent
    return False


# -- for the other modules of the worker


def length(node: LexborNode) -> int:
    """Characters of its text that are not blank."""
    return sum(map(len, node.text().split()))


def link_share(node: LexborNode) -> float:
    """How much of its text stands in links, 0 to 1."""
    whole = length(node)
    return sum(length(link) for link in node.css("a")) / whole if whole else 1.0


def _joined(base: str, reference: str) -> str:
    try:
        return urljoin(base, reference.strip())
    except ValueError:
        return reference
