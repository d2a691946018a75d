"""A page as HTML again, without scripts and styles. Runs in the worker process."""

from __future__ import annotations

import re

from tools.core.page_nodes import drop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tools.core.read_docs.page import Page

_STYLES = (
    "link[rel~=stylesheet], link[rel~=preload], link[rel~=modulepreload], link[rel~=prefetch], link[rel~=preconnect]"
)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_CODE = ("href", "src", "action", "formaction", "xlink:href", "data")


def stripped(page: Page) -> str:
    """Changes the tree. Elements that never show anything are gone from it already."""
    tree = page.tree
    drop(tree.css(_STYLES))
    for node in tree.css("*"):
        for name, value in node.attributes.items():
            runs = name in _CODE and (value or "").strip().lower().startswith(("javascript:", "data:text/html"))
            if name.startswith("on") or name in ("style", "nonce") or runs:
                del node.attrs[name]
    html = _COMMENT.sub("", tree.html or "")
    return "\n".join(line for line in html.splitlines() if line.strip())
