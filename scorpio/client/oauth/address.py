"""Which addresses may be asked, and which a token may be sent to."""

from __future__ import annotations

import ipaddress
from urllib.parse import SplitResult, urlsplit

from scorpio.client.failures import LoginFailure

DEFAULT_PORTS = {"https": 443, "http": 80}


def split(url: str) -> SplitResult | None:
    """None for what is no http(s) address, or one that hides where it leads: with a user name, a space, a backslash."""
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        return None
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 raises where it is none
    except ValueError:
        return None
    if parts.scheme.lower() not in DEFAULT_PORTS or not parts.hostname or "@" in parts.netloc:
        return None
    return parts


def origin(url: str) -> str:
    """`https://host:port`, "" for what is no address: equal texts are equal origins."""
    parts = split(url)
    if parts is None:
        return ""
    scheme = parts.scheme.lower()
    return f"{scheme}://{(parts.hostname or '').rstrip('.')}:{parts.port or DEFAULT_PORTS[scheme]}"


def is_loopback(url: str) -> bool:
    parts = split(url)
    host = (parts.hostname or "") if parts is not None else ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def required_safe(url: object, what: str, *, loopback: bool) -> str:
    """The address, where it is encrypted; `loopback`: or at this machine. Raises LoginFailure.

    A server elsewhere may not send us to this machine, so its log-in never has `loopback`.
    """
    text = url if type(url) is str else ""
    parts = split(text)
    if parts is None:
        raise LoginFailure(f"{what} is no web address; the log-in ends here.")
    if parts.scheme.lower() == "http" and not (loopback and is_loopback(text)):
        raise LoginFailure(f"{what}, {text}, is not encrypted; a log-in needs https.")
    return text


def covers(resource: str, url: str) -> bool:
    """Is a token for this resource one for this URL? Same origin, and its path a prefix by whole segments."""
    theirs, ours = split(resource), split(url)
    if theirs is None or ours is None or theirs.fragment or origin(resource) != origin(url):
        return False
    path = theirs.path.rstrip("/")
    below = ours.path == path or ours.path.startswith(path + "/")
    return below and (not theirs.query or theirs.query == ours.query)


def canonical(url: str) -> str:
    """The identifier of a server that publishes none. Source: MCP basic/authorization, "Canonical Server URI"."""
    parts = urlsplit(url)
    path = "" if parts.path == "/" else parts.path
    return parts._replace(scheme=parts.scheme.lower(), netloc=parts.netloc.lower(), path=path, fragment="").geturl()
