"""Code blocks as every generator writes them, made plain: `<pre><code class="language-x">`, text only.

Runs in the worker process.
"""

from __future__ import annotations

import re
from html import escape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

    from tools.core.read_docs.page import Page

NUMBERED_TABLES = (
    "table.highlighttable, table.rouge-table, table.hljs-ln, table.codehilitetable, table.lntable, table.linenotable"
)
"""Line numbers in one cell, code in the other, or a row a line."""

_LINE_NUMBERS = (
    ".linenos, .lineno, .linenodiv, .gutter, .rouge-gutter, .lnt, .ln, .hljs-ln-numbers, .line-numbers-rows,"
    " .line-number, .react-syntax-highlighter-line-number, td.gl, button, .copybtn, .copy-button, clipboard-copy"
)
_LINES = frozenset(("div", "p", "li", "tr", "ol", "ul", "table", "tbody"))
"""Inside code these are lines."""

_JOINED = re.compile(r"(?:^|\s)(?:language|lang|highlight-source|highlight-text|highlight|src)-([A-Za-z][\w+#.-]*)")
_NEXT = re.compile(r"(?:^|\s)(?:brush:|sourceCode|hljs|prettyprint)\s*([A-Za-z][\w+#.-]*)")
_ALSO = re.compile(r"(?:^|\s)(rust|python|bash|javascript|typescript|json|yaml|toml|java|go|ruby|php|sql)(?:\s|$)")
_NO_LANGUAGE = frozenset(
    (
        *(
            "default",
            "none",
            "text",
            "plain",
            "plaintext",
            "txt",
            "no-highlight",
            "nohighlight",
            "notranslate",
            "literal",
        ),
        *(
            "literal-block",
            "source",
            "code",
            "block",
            "wrapper",
            "language",
            "undefined",
            "null",
            "guess",
            "hljs",
            "output",
            "linenums",
        ),
        *("numberlines", "copyable", "lines", "wrap", "chroma", "shiki", "prettyprinted", "basic"),
    )
)
_SAME = {
    "python3": "python", "py3": "python", "ipython": "python", "ipython3": "python", "py": "python",
    "shell-session": "console", "sh-session": "console", "shellsession": "console",
    "js": "javascript", "ts": "typescript", "rs": "rust", "yml": "yaml", "rust-example-rendered": "rust",
}  # fmt: skip
_CALLED = re.compile(r"[a-z][a-z0-9+#._-]{0,30}")
_DEPTH_MAX = 60


def plain_code(page: Page, container: LexborNode) -> None:
    """Rewrite every code block of `container`. First of all: what is in code has names of its own."""
    for table in reversed(container.css(NUMBERED_TABLES)):
        _replace(page, table, next(filter(None, map(_language, [*table.css("code"), table])), ""), _table_code(table))
    for pre in reversed(container.css("pre")):
        language = _language(pre)
        for number in reversed(pre.css(_LINE_NUMBERS)):
            number.decompose()
        text = _text(pre)
        for name in ("class", "lang", "data-lang", "data-language"):
            if name in pre.attributes:
                del pre.attrs[name]
        pre.inner_html = _code(language, text)


def _replace(page: Page, node: LexborNode, language: str, text: str) -> None:
    pre = page.tree.create_node("pre")
    node.insert_before(pre)
    made = node.prev
    if made is not None:
        made.inner_html = _code(language, text)
        node.decompose()


def _code(language: str, text: str) -> str:
    kind = f' class="language-{language}"' if language else ""
    return f"<code{kind}>{escape(text, quote=False)}</code>"


def _table_code(table: LexborNode) -> str:
    rows = table.css("tr")
    if len(rows) > 1:
        for cell in reversed(table.css(_LINE_NUMBERS)):
            cell.decompose()
        return "\n".join(_text(row).strip("\n") for row in rows)
    cells = table.css("td.code, td.rouge-code, td.hljs-ln-code") or table.css("td:last-child") or [table]
    for number in reversed(cells[0].css(_LINE_NUMBERS)):
        number.decompose()
    return _text(cells[0])


def _text(node: LexborNode) -> str:
    """With a newline for every `br`, and around whatever is a line of its own."""
    parts: list[str] = []
    _collect(node, parts, 0)
    return "".join(parts).replace("\r\n", "\n").replace("\u00a0", " ").strip("\n")


def _collect(node: LexborNode, parts: list[str], depth: int) -> None:
    for child in node.iter(include_text=True):
        if child.is_text_node:
            parts.append(child.text_content or "")
        elif child.tag == "br":
            parts.append("\n")
        elif depth >= _DEPTH_MAX:
            parts.append(child.text())
        else:
            line = child.tag in _LINES
            if line:
                _end_line(parts)
            _collect(child, parts, depth + 1)
            if line:
                _end_line(parts)


def _end_line(parts: list[str]) -> None:
    last = next((part for part in reversed(parts) if part), "\n")
    if not last.endswith("\n"):
        parts.append("\n")


def _language(node: LexborNode) -> str:
    """From the block itself, the code in it, or up to three elements around it; "" where nothing says."""
    inner = node.css_first("code")
    around = [node] if inner is None else [inner, node]
    above = node.parent
    for _ in range(3):
        if above is None or above.tag not in ("div", "figure", "td", "tr", "tbody", "table", "span", "section", "pre"):
            break
        if len(above.css("pre")) > 1 and above.css_first(NUMBERED_TABLES) is None:
            break  # it holds several blocks: what it says need not hold for this one
        around.append(above)
        above = above.parent
    for each in around:
        found = _said(each)
        if found:
            return found
    return ""


def _said(node: LexborNode) -> str:
    attributes = node.attributes
    for name in ("data-lang", "data-language", "data-code-language", "lang"):
        value = (attributes.get(name) or "").lower()
        if (name != "lang" or node.tag in ("pre", "code")) and (known := _called(value)):
            return known
    names = attributes.get("class") or ""
    for pattern in (_JOINED, _NEXT):
        for found in pattern.finditer(names):
            if known := _called(found[1].lower()):
                return known
    if node.tag in ("pre", "code"):
        bare = _ALSO.search(names.lower())
        if bare:
            return bare[1]
    return ""


def _called(name: str) -> str:
    if name in _NO_LANGUAGE or name.startswith(("language-", "lang-")) or not _CALLED.fullmatch(name):
        return ""
    return _SAME.get(name, name)
