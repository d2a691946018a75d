"""Where the file comes from: the web, through the gate that judges addresses, or the URL itself."""

from __future__ import annotations

from scorpio.tool import ToolFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.settings import Settings

SHOWN_CHARS_MAX = 200
"""Of a URL in a message."""


async def content_of(url: str, settings: Settings) -> bytes:
    """Raises ToolFailure."""
    scheme = url.partition(":")[0].lower()
    if scheme == "data":
        content = _decoded(url)
        if len(content) > settings.gzip_max_fetch_size:
            raise ToolFailure(_too_large(url, settings))
        return content
    if scheme not in ("http", "https"):
        raise ToolFailure(f"{url[:SHOWN_CHARS_MAX]} cannot be fetched: use an http, https or data URL.")
    return await _fetched(url, settings)


async def _fetched(url: str, settings: Settings) -> bytes:
    raise ToolFailure("Files of the web are not fetched yet: use a data URL.")


def _too_large(url: str, settings: Settings) -> str:
    return (
        f"{url[:SHOWN_CHARS_MAX]} is larger than {settings.gzip_max_fetch_size} bytes, the most that is compressed "
        "here (GZIP_MAX_FETCH_SIZE)."
    )


def _decoded(url: str) -> bytes:
    """Of `data:[media type][;base64],data` (RFC 2397). Raises ToolFailure."""
    import base64
    import binascii
    from urllib.parse import unquote_to_bytes

    head, comma, data = url.partition(",")
    if not comma:
        raise ToolFailure(f"{url[:SHOWN_CHARS_MAX]} has no comma: write data:text/plain,TEXT or data:;base64,DATA.")
    content = unquote_to_bytes(data)
    if not head.lower().endswith(";base64"):
        return content
    try:
        return base64.b64decode(content, validate=True)
    except binascii.Error as fault:
        raise ToolFailure(f"{url[:SHOWN_CHARS_MAX]} is not base64 as it says: {fault}.") from None
