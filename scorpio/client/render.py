"""Results as text for people and pipes: text as text, images and sound saved and named, the rest as JSON."""

from __future__ import annotations

import base64
import binascii
import json
import os
import sys
from typing import Any

from scorpio.client.answers import plain
from scorpio.client.shapes import an_object, names, objects

SUFFIXES = {
    "image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp", "image/svg+xml": "svg",
    "image/avif": "avif", "image/bmp": "bmp", "audio/wav": "wav", "audio/mpeg": "mp3", "audio/ogg": "ogg",
    "application/pdf": "pdf", "application/gzip": "gz", "application/zip": "zip",
}  # fmt: skip
NAMES_MAX = 10_000
"""Files of one name in a directory; then something else is wrong."""


class Renderer:
    """Writes to stdout; files go to `directory`, named after what made them."""

    def __init__(self, directory: str = ".") -> None:
        self._directory = directory
        self._bare = sys.stdout.isatty()

    def text(self, text: str) -> None:
        """A line or more; on a terminal without what would steer it."""
        shown = plain(text) if self._bare else text
        sys.stdout.write(shown if shown.endswith("\n") else shown + "\n")

    def json(self, value: Any) -> None:
        self.text(json.dumps(value, ensure_ascii=False, indent=2))

    def tool_result(self, result: dict[str, Any], name: str) -> None:
        content = result.get("content")
        blocks = content if type(content) is list else []
        for block in blocks:
            self.block(block, name)
        if result.get("structuredContent") is not None and not any(
            type(block) is dict and block.get("type") == "text" for block in blocks
        ):
            self.json(result["structuredContent"])

    def block(self, block: Any, name: str) -> None:
        kind = block.get("type") if type(block) is dict else None
        if kind == "text":
            self.text(str(block.get("text", "")))
        elif kind in ("image", "audio"):
            self.saved(str(block.get("data", "")), str(block.get("mimeType", "")), name)
        elif kind == "resource_link":
            self.text(f"[{block.get('title') or block.get('name')}] {block.get('uri')}")
        elif kind == "resource" and type(block.get("resource")) is dict:
            self.resource(block["resource"])
        else:
            self.json(block)

    def resource(self, item: dict[str, Any]) -> None:
        if "text" in item:
            self.text(str(item["text"]))
        else:
            name = os.path.basename(str(item.get("uri", "")).rstrip("/")) or "resource"
            self.saved(str(item.get("blob", "")), str(item.get("mimeType", "")), name)

    def saved(self, data_base64: str, mime_type: str, name: str) -> None:
        """Write the bytes to a file that does not exist yet, and say its name."""
        try:
            data = base64.b64decode(data_base64, validate=True)
        except (binascii.Error, ValueError):
            self.text(f"[{mime_type}: not base64]")
            return
        path = self._new_file(name, SUFFIXES.get(mime_type, "bin"), data)
        self.text(f"[{mime_type}, {len(data)} bytes: {path}]")

    def _new_file(self, name: str, suffix: str, data: bytes) -> str:
        stem = (
            "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in name)[:60].strip("-") or "file"
        )
        for number in range(1, NAMES_MAX):
            path = os.path.join(self._directory, f"{stem}-{number}.{suffix}")
            try:
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            except FileExistsError:
                continue
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            return path
        raise OSError(f"{self._directory} has {NAMES_MAX} files called {stem}")


def first_sentence(text: str) -> str:
    line = text.strip().partition("\n")[0]
    end = line.find(". ")
    return line if end < 0 else line[: end + 1]


def signature(item: dict[str, Any]) -> str:
    """`name {needed, optional?}` of a tool or prompt, the address of a resource."""
    if type(item.get("inputSchema")) is dict:
        properties = an_object(item["inputSchema"].get("properties"))
        needed = names(item["inputSchema"].get("required"))
        shown = [name if name in needed else f"{name}?" for name in properties]
        return f"{item.get('name')} {{{', '.join(shown)}}}"
    if type(item.get("arguments")) is list:
        shown = [f"{each.get('name')}{'' if each.get('required') else '?'}" for each in objects(item["arguments"])]
        return f"{item.get('name')} {{{', '.join(shown)}}}"
    return str(item.get("uri") or item.get("uriTemplate") or item.get("name"))


def table(items: list[dict[str, Any]], width: int = 0) -> str:
    """A line each: what it is called, what it does. `width`: of the terminal; 0 for a pipe, which gets whole lines."""
    rows = [
        (signature(item), first_sentence(str(item.get("description") or item.get("title") or ""))) for item in items
    ]
    column = min(max((len(name) for name, _ in rows), default=0), 44)
    lines = [f"  {name:<{column}}  {does}".rstrip() for name, does in rows]
    return "".join((line[: width - 1] + "…" if width and len(line) > width else line) + "\n" for line in lines)
