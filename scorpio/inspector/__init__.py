"""The inspector: a web page that speaks MCP to the server it comes from, for people who write and debug tools.

Static files, read once; every transport that serves web pages may hand them out. The page asks nobody but its own
origin, and its policy says so to the browser.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = "/inspector"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src data: blob:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
"""Of every answer with a file of the page. Trusted Types: no code of the page may turn a string into markup."""


def files() -> Mapping[str, tuple[str, bytes]]:
    """Path on the server -> (media type, content)."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "page")
    found = {}
    for name in sorted(os.listdir(folder)):
        media_type = TYPES.get(os.path.splitext(name)[1])
        if media_type is None:
            continue
        with open(os.path.join(folder, name), "rb") as file:
            found[f"{ROOT}/{name}"] = (media_type, file.read())
    found[ROOT] = found[f"{ROOT}/"] = found[f"{ROOT}/index.html"]
    return found
