"""What a document is, by its header and its first bytes, and how it is read. Refuses what is no text."""

from __future__ import annotations

from scorpio.web_address import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.fetch import Document

PAGE, TEXT, PDF = "page", "text", "pdf"

UNSURE = (
    "",
    "application/octet-stream",
    "binary/octet-stream",
    "application/x-unknown",
    "unknown/unknown",
    "text/plain",
)
"""Said of anything: the first bytes decide."""

TEXTS = frozenset(
    (
        *("json", "xml", "javascript", "ecmascript", "x-javascript", "yaml", "x-yaml", "toml", "x-toml", "x-sh", "sql"),
        *("x-ndjson", "jsonl", "json-seq", "graphql", "x-tex", "x-latex", "rtf", "x-httpd-php", "x-python", "x-perl"),
        *(
            "typescript",
            "x-typescript",
            "manifest+json",
            "atom+xml",
            "rss+xml",
            "openapi",
            "x-x509-ca-cert",
            "pgp-keys",
        ),
        *("x-subrip", "x-ruby", "wasm-text", "x-www-form-urlencoded", "schema+json", "ld+json"),
    )
)
"""`application/…` that is text all the same, beside what ends with +json, +xml or +yaml."""

_SAMPLE_BYTES = 2048
_CONTROL = bytes(set(range(32)) - set(b"\t\n\r\f\x1b\b"))
_HTML = (b"<!doctype html", b"<html", b"<head", b"<body", b"<!doctype xhtml")


def kind_of(document: Document) -> str:
    """PAGE, TEXT, PDF, or "" for what cannot be read."""
    media_type = document.media_type
    start = document.body[:_SAMPLE_BYTES].lstrip(b"\xef\xbb\xbf \t\r\n")
    if media_type in ("text/html", "application/xhtml+xml"):
        return PAGE
    if media_type == "application/pdf" or (media_type in UNSURE and start.startswith(b"%PDF-")):
        return PDF
    if media_type in UNSURE and media_type != "text/plain" and _is_html(start):
        return PAGE
    if media_type.startswith("text/") and media_type != "text/plain":
        return TEXT
    name = media_type.partition("/")[2]
    if media_type.startswith("application/") and (name in TEXTS or name.endswith(("+json", "+xml", "+yaml"))):
        return TEXT
    if media_type in UNSURE or document.status >= 400:
        return TEXT if _is_text(document.body[:_SAMPLE_BYTES]) else ""
    return ""


def _is_html(start: bytes) -> bool:
    head = start[:512].lower()
    while head.startswith(b"<!--"):
        head = head.partition(b"-->")[2].lstrip()
    return head.startswith(_HTML)


def _is_text(sample: bytes) -> bool:
    if sample.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    return not sample.translate(None, bytes(set(range(256)) - set(_CONTROL)))


def refusal(document: Document) -> str:
    """Why a document is not read: what it is, what next."""
    url = shown(document.address.url)
    what = document.media_type or "data of an unknown type"
    size = f"{len(document.body) / 1024:.0f} KB"
    if what.startswith("image/"):
        return f"{url} is {what}, {size}, not text. Save it with `curl -o`, and look at it with ReadImage."
    return f"{url} is {what}, {size}, not text. Save it with `curl -o` and look at it with other tools."
