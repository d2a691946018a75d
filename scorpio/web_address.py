"""One http or https URL, taken apart as browsers do it (WHATWG URL), so that nobody downstream reads it otherwise.

Refuses what is read differently by different programs: control characters, user names, other schemes.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address
from urllib.parse import quote, unquote_to_bytes, urljoin

from scorpio.limits import URL_CHARS_MAX

DEFAULT_PORTS = {"http": 80, "https": 443}

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?!\d+(?:[/?#]|$))")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_DOMAIN = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?")
_NUMBER = re.compile(r"0[xX][0-9A-Fa-f]*|[0-9]+")
_KEPT_IN_TARGET = "/?:@!$&'()*+,;=~-._%[]|^`{}"


class BadUrl(ValueError):
    """The text is no URL that can be fetched. One sentence."""


class WebAddress:
    """Where to connect and what to ask for."""

    __slots__ = ("fragment", "host", "port", "scheme", "target")

    def __init__(self, scheme: str, host: str, port: int, target: str, fragment: str = "") -> None:
        self.scheme = scheme
        self.host = host
        """In lower case and ASCII; an IPv4 address in its usual form, an IPv6 address without brackets."""
        self.port = port
        self.target = target
        """Path and query, ASCII, as it stands in a request."""
        self.fragment = fragment

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.authority}"

    @property
    def url(self) -> str:
        """Canonical, without the fragment."""
        return self.origin + self.target

    def join(self, reference: str) -> WebAddress:
        """What a link or `Location` on this page leads to. Raises BadUrl."""
        try:
            return parse(urljoin(self.url, reference.strip()))
        except ValueError as fault:
            if isinstance(fault, BadUrl):
                raise
            raise BadUrl(f"{shown(reference)} is not a valid URL.") from None


def shown(text: str) -> str:
    """A URL inside a sentence: cut, and on one line."""
    line = _CONTROL.sub("?", text)
    return line if len(line) <= 200 else f"{line[:199]}…"


def parse(text: str) -> WebAddress:
    """Raises BadUrl."""
    text = text.strip(" ")
    if len(text) > URL_CHARS_MAX:
        raise BadUrl(f"The URL has {len(text)} characters; at most {URL_CHARS_MAX} are taken.")
    if _CONTROL.search(text):
        raise BadUrl(f"The URL {shown(text)} contains a control character. Leave it out or write it as %XX.")
    scheme, rest = _scheme(text)
    end = min((at for mark in "/\\?#" if (at := rest.find(mark)) >= 0), default=len(rest))
    authority, rest = rest[:end], rest[end:]
    if "@" in authority:
        raise BadUrl("The URL has a user name or password before its host. Leave out everything up to the @.")
    rest, _, fragment = rest.partition("#")
    path, mark, query = rest.partition("?")
    path = path.replace("\\", "/") or "/"
    host, port = _host_and_port(authority, text)
    try:
        target = quote(path + mark + query, safe=_KEPT_IN_TARGET)
    except UnicodeEncodeError:
        raise BadUrl(f"The URL {shown(text)!a} contains a lone surrogate. Send text that is valid Unicode.") from None
    return WebAddress(scheme, host, DEFAULT_PORTS[scheme] if port is None else port, target, fragment)


def _scheme(text: str) -> tuple[str, str]:
    """The scheme and what follows its slashes, of which browsers take any number."""
    found = _SCHEME.match(text)
    if found is None:
        raise BadUrl(f"{shown(text)!r} is not a full URL. Begin it with https:// or http://.")
    scheme = found[1].lower()
    if scheme not in DEFAULT_PORTS:
        raise BadUrl(f"The URL {shown(text)} has the scheme {scheme}:. Only http:// and https:// are fetched.")
    return scheme, text[found.end() :].lstrip("/\\")


def _host_and_port(authority: str, url: str) -> tuple[str, int | None]:
    host, digits = authority, ""
    if authority.startswith("["):
        host, bracket, rest = authority.partition("]")
        host += bracket
        if rest[:1] not in ("", ":"):
            raise BadUrl(f"The URL {shown(url)} has something between ] and the port.")
        digits = rest[1:]
    elif ":" in authority:
        host, _, digits = authority.partition(":")
    port = None
    if digits:
        if not (digits.isascii() and digits.isdigit() and len(digits) <= 8 and int(digits) <= 65535):
            raise BadUrl(f"The URL {shown(url)} has the port {shown(digits)!r}. A port is a number up to 65535.")
        port = int(digits)
    return _host(host, url), port


def _host(text: str, url: str) -> str:
    if not text:
        raise BadUrl(f"The URL {shown(url)} names no host.")
    try:
        if text.startswith("["):
            if not text.endswith("]") or "%" in text:
                raise ValueError
            return str(IPv6Address(text[1:-1]))
        host = unquote_to_bytes(text).decode("utf-8")
        host = host.lower() if host.isascii() else host.encode("idna").decode("ascii").lower()
        if not _DOMAIN.fullmatch(host) or len(host) > 254:
            raise ValueError
        return _ipv4(host) if _NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2]) else host
    except ValueError:  # UnicodeError is one
        raise BadUrl(f"The URL {shown(url)} has a host that cannot be one: {shown(text)!r}.") from None


def _ipv4(host: str) -> str:
    """Decimal, octal, hexadecimal, short forms: all that a resolver and a browser read as IPv4. Raises ValueError."""
    parts = host.removesuffix(".").split(".")
    if len(parts) > 4 or not all(map(_NUMBER.fullmatch, parts)):
        raise ValueError
    *first, last = map(_number, parts)
    if any(number > 255 for number in first) or last >= 256 ** (4 - len(first)):
        raise ValueError
    value = last
    for index, number in enumerate(first):
        value += number << 8 * (3 - index)
    return str(IPv4Address(value))


def _number(text: str) -> int:
    if text[:2].lower() == "0x":
        return int(text[2:] or "0", 16)
    return int(text, 8 if text.startswith("0") and len(text) > 1 else 10)
