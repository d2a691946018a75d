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
    """Through the address policy of all that is fetched here. Raises ToolFailure."""
    import asyncio

    from scorpio.address_policy import Policy
    from scorpio.fetch import FetchFailure, Trust, fetch
    from scorpio.web_address import BadUrl, parse
    from tools.everything.gzip_file_as_resource.allowed_hosts import AllowedHosts

    bytes_max, ms_max = settings.gzip_max_fetch_size, settings.gzip_max_fetch_time_millis
    try:
        address = parse(url)
        gate = AllowedHosts(
            Policy(settings.readdocs_private, address.host, address.port), settings.gzip_allowed_domains
        )
        async with asyncio.timeout(ms_max / 1000):
            document = await fetch(address, gate, Trust(), {"Accept": "*/*"}, bytes_max=bytes_max)
    except (BadUrl, FetchFailure) as fault:
        raise ToolFailure(str(fault)) from None
    except TimeoutError:
        said = f"{url[:SHOWN_CHARS_MAX]} did not arrive within {ms_max} ms (GZIP_MAX_FETCH_TIME_MILLIS)."
        raise ToolFailure(said) from None
    if document.status >= 400:
        raise ToolFailure(f"{url[:SHOWN_CHARS_MAX]} was answered with status {document.status}. Is the address right?")
    return document.body


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
