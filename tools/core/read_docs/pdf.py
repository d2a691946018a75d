"""The text of a PDF, page by page. Runs in the worker process: PDFium is native code, fed with files from anywhere."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PAGES_MAX = 2000
CHARS_MAX = 8_000_000
"""Of text: 4,000 printed pages."""


class Unreadable(Exception):
    """A predicate: "needs a password"."""


def text_of(body: bytes) -> tuple[str, str, list[str]]:
    """(title, text, notes). Raises Unreadable."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as fault:
        said = str(fault).lower()
        reason = "needs a password" if "password" in said else "is damaged, or no PDF"
        raise Unreadable(reason) from None
    title = str(document.get_metadata_dict().get("Title") or "")
    parts, chars, notes = [], 0, []
    for number in range(min(len(document), PAGES_MAX)):
        text = _page_text(document, number)
        chars += len(text)
        if chars > CHARS_MAX:
            notes.append(f"Cut after page {number} of {len(document)}.")
            break
        parts.append(f"[page {number + 1} of {len(document)}]\n\n{text}")
    if len(document) > PAGES_MAX:
        notes.append(f"Cut after page {PAGES_MAX} of {len(document)}.")
    if not any(part.partition("\n\n")[2] for part in parts):
        notes.append("The PDF holds no text: its pages are probably pictures.")
    return title, "\n\n".join(parts), notes


def _page_text(document: Any, number: int) -> str:
    try:
        page = document[number]
        try:
            return str(page.get_textpage().get_text_bounded()).replace("\r\n", "\n").strip()
        finally:
            page.close()
    except (RuntimeError, ValueError):  # PdfiumError is a RuntimeError
        return "(This page is damaged.)"
