"""The two families of resources that are made up when they are asked for: one of text, one of bytes, by number."""

from __future__ import annotations

from scorpio.tool import ToolFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Content = dict[str, str]

TEXT = "Text"
BLOB = "Blob"
KINDS = (TEXT, BLOB)


def number_of(given: Any) -> int:
    """A whole number above 0, from a number or the digits of one. Raises ToolFailure."""
    text = str(given)
    if isinstance(given, float) and given.is_integer():
        text = str(int(given))
    if not text.isascii() or not text.isdigit() or len(text) > 15 or int(text) == 0:
        raise ToolFailure(f"Invalid resourceId: {text[:100]}. Must be a finite positive integer, such as 1.")
    return int(text)


def uri_of(kind: str, number: int) -> str:
    return f"demo://resource/dynamic/{kind.lower()}/{number}"


def content(kind: str, number: int) -> Content:
    """The contents of one, as `resources/read` gives them."""
    import base64
    import time

    at = time.strftime("%H:%M:%S")
    if kind == TEXT:
        said = f"Resource {number}: This is a plaintext resource created at {at}"
        return {"uri": uri_of(kind, number), "mimeType": "text/plain", "text": said}
    blob = base64.b64encode(f"Resource {number}: This is a base64 blob created at {at}".encode()).decode()
    return {"uri": uri_of(kind, number), "mimeType": "application/octet-stream", "blob": blob}


def completed_number(value: str) -> list[str]:
    """What `value` may become: itself where it is such a number already, as there are too many to list."""
    try:
        return [str(number_of(value))]
    except ToolFailure:
        return []
