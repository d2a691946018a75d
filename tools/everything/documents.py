"""The static documents: the files of docs/, in the order of their names."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SCHEME = "demo://resource/static/document/"
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "docs")
NAMES = (
    "architecture.md",
    "extension.md",
    "features.md",
    "how-it-works.md",
    "instructions.md",
    "startup.md",
    "structure.md",
)


def resources() -> list[dict[str, Any]]:
    return [
        {
            "uri": SCHEME + name,
            "name": name,
            "mimeType": "text/markdown",
            "description": f"Static document file exposed from /docs: {name}",
        }
        for name in NAMES
    ]


def read(uri: str) -> list[dict[str, Any]] | None:
    """None for a URI that is none of these: a URI is a name of the table, never a path."""
    name = uri.removeprefix(SCHEME)
    if name == uri or name not in NAMES:
        return None
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return [{"uri": uri, "mimeType": "text/markdown", "text": file.read()}]
