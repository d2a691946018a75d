"""Addresses of results: taken out of an engine's redirect, freed of tracking, and made comparable.

Knows the engines' redirects by their form, wherever they stand. Reaches nothing.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from urllib.parse import parse_qs, parse_qsl, quote, unquote, urlencode, urljoin, urlsplit, urlunsplit

from tools.core.limits import SEARCH_URL_CHARS_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from urllib.parse import SplitResult

TRACKING = frozenset(
    (
        *("gclid", "gbraid", "wbraid", "dclid", "gclsrc", "fbclid", "msclkid", "yclid", "twclid", "ttclid", "igshid"),
        *("mc_cid", "mc_eid", "mkt_tok", "_hsenc", "_hsmi", "oly_anon_id", "oly_enc_id", "vero_id", "wickedid"),
        *("srsltid", "ref_src", "_openstat", "spm", "s_kwcid", "rb_clickid"),
    )
)
TRACKING_PREFIXES = ("utm_", "pk_", "mtm_", "hsa_")
"""Parameters that say where a reader came from, never what is shown."""

WRAPPERS_MAX = 3
"""A redirect inside a redirect inside a redirect."""

_ADVERT_PATHS = (("duckduckgo.com", "/y.js"), ("bing.com", "/aclick"), ("bing.com", "/aclk"), ("google.", "/aclk"))
_ADVERT_HOSTS = ("googleadservices.com", "doubleclick.net", "ad.doubleclick.net", "adclick.g.doubleclick.net")
_ESCAPE = re.compile(r"%([0-9a-fA-F]{2})")
_DEVIATIONS = "ßς\u200c\u200d"
"""What Python's IDNA (of 2003) makes of these is another name than a browser's; `\u200c` and `\u200d` are refused."""
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~")


def result_url(href: str, base: str) -> str:
    """The address a hit leads to, as it is shown; "" for adverts, for what is no web page, and for broken ones."""
    try:
        url = urljoin(base, href.strip())
        for _ in range(WRAPPERS_MAX):
            parts = urlsplit(url)
            target = _unwrapped(parts)
            if target is None:
                break
            url = target
        return _shown(urlsplit(url))
    except (ValueError, binascii.Error):
        return ""


def canonical(url: str) -> str:
    """What two addresses of the same page have in common: not to be opened, only compared."""
    parts = urlsplit(url)
    host = _host(parts).removeprefix("www.")
    port = parts.port if parts.port not in (None, 80, 443) else None
    path = _ESCAPE.sub(_normal_escape, parts.path).rstrip("/")
    pairs = sorted(pair for pair in parse_qsl(parts.query, keep_blank_values=True) if not _is_tracking(pair[0]))
    fragment = parts.fragment if parts.fragment.startswith(("!", "/")) else ""  # a page of a script's own
    return f"{host}{f':{port}' if port else ''}{path}?{urlencode(pairs)}#{fragment}"


def same_site(one: str, other: str) -> bool:
    """Whether two hosts share their last two labels, or are one address."""
    if one == other:
        return True
    ours, theirs = one.split("."), other.split(".")
    is_address = ours[-1].isdigit() or ":" in one
    return not is_address and len(ours) > 1 and ours[-2:] == theirs[-2:]


def _host(parts: SplitResult) -> str:
    """In ASCII, where look-alikes show, unless that would name another host. Raises ValueError for what is no name."""
    host = parts.hostname or ""
    if not host.isascii() and not any(letter in host for letter in _DEVIATIONS):
        host = host.encode("idna").decode("ascii").lower()
    host = host.removesuffix(".")
    whole = "" not in host.split(".")
    if not whole or not all(c.isalnum() or c in "-._:" or unicodedata.category(c)[0] == "M" for c in host):
        raise ValueError("a host that is no name of letters, digits and hyphens")
    return host


def _shown(parts: SplitResult) -> str:
    host = _host(parts)
    if parts.scheme not in ("http", "https") or parts.username is not None or _is_advert(parts):
        return ""
    port = f":{parts.port}" if parts.port is not None else ""
    address = f"[{host}]" if ":" in host else host
    kept = [part for part in parts.query.split("&") if not _is_tracking(part.partition("=")[0])]
    fragment = parts.fragment.partition(":~:")[0]  # a text to highlight, which the engine put there
    url = urlunsplit((parts.scheme, address + port, parts.path, "&".join(kept), fragment))
    url = "".join(
        quote(c) if c in ' "<>' or unicodedata.category(c)[0] in "CZ" else c for c in url
    )  # nothing that hides or ends an address
    return url if len(url) <= SEARCH_URL_CHARS_MAX else ""


def _is_tracking(name: str) -> bool:
    name = name.lower()
    return name in TRACKING or name.startswith(TRACKING_PREFIXES)


def _is_advert(parts: SplitResult) -> bool:
    host = _host(parts)
    on_path = any(site in host and parts.path.startswith(path) for site, path in _ADVERT_PATHS)
    return on_path or host.endswith(_ADVERT_HOSTS)


def _normal_escape(found: re.Match[str]) -> str:
    character = chr(int(found[1], 16))
    return character if character in _PLAIN else found[0].upper()


def _unwrapped(parts: SplitResult) -> str | None:
    """The address inside one redirect; None where there is none. Raises ValueError for one that is broken."""
    host = parts.hostname or ""
    for site, path, inside in _WRAPPERS:
        if site in host and parts.path.startswith(path):
            target = inside(parts)
            if not target.startswith(("http://", "https://")):
                raise ValueError("a redirect without a target")
            return target
    return None


def _parameter(*names: str) -> Callable[[SplitResult], str]:
    def inside(parts: SplitResult) -> str:
        values = parse_qs(parts.query)
        return next((values[name][0] for name in names if name in values), "")

    return inside


def _of_bing(parts: SplitResult) -> str:
    """`u=a1` and the address in base64, without padding."""
    code = parse_qs(parts.query).get("u", [""])[0].removeprefix("a1")
    return base64.urlsafe_b64decode(code + "=" * (-len(code) % 4)).decode()


def _of_yahoo(parts: SplitResult) -> str:
    """`/_ylt=…/RU=https%3a%2f%2f…/RK=2/RS=…`"""
    return unquote(parts.path.partition("/RU=")[2].partition("/")[0])


_WRAPPERS = (
    ("duckduckgo.com", "/l/", _parameter("uddg")),
    ("bing.com", "/ck/a", _of_bing),
    ("google.", "/url", _parameter("q", "url")),
    ("r.search.yahoo.com", "/", _of_yahoo),
    ("startpage.com", "/do/d/search", _parameter("url")),
)
"""(part of the host, start of the path, what is inside)."""
