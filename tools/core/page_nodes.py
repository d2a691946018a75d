"""Taking nodes out of a parsed page, for all tools that read pages. Imports no parser: it is given the nodes."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from selectolax.lexbor import LexborNode


def drop(nodes: Iterable[LexborNode]) -> None:
    """Take nodes out, given in document order: the inner ones first, because an outer one frees them.

    Never the whole page, which some hide until a script has run, or style like a part of others.
    """
    for node in reversed(list(nodes)):
        if node.tag not in ("html", "body"):
            node.decompose()
