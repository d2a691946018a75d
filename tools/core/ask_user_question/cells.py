"""Text in terminal cells: how wide it is, where it is cut and wrapped. East Asian characters take two cells."""

from __future__ import annotations

import unicodedata

WIDE = ("W", "F")


def printable(text: str) -> str:
    """`text` with nothing a terminal would act on: no controls, formats, separators but the space."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(char) for char in text)


def _shown(char: str) -> str:
    if char.isprintable():
        return char
    return " " * (cell_width(char) or 1) if unicodedata.category(char) == "Zs" else ""


def cell_width(char: str) -> int:
    """0 for marks that stand on the character before, 2 for wide ones."""
    if char.isascii():
        return 1
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in WIDE else 1


def text_width(text: str) -> int:
    return len(text) if text.isascii() else sum(map(cell_width, text))


def cut(text: str, width: int) -> str:
    """The first characters of `text` that fit `width` cells."""
    if text.isascii():
        return text[:width]
    used = 0
    for index, char in enumerate(text):
        used += cell_width(char)
        if used > width:
            return text[:index]
    return text


def tail(text: str, width: int) -> str:
    """The last characters of `text` that fit `width` cells."""
    while text_width(text) > width:
        text = text[max(1, len(text) - width) if text_width(text) > 2 * width else 1 :]
    return text


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most `width` cells, broken at spaces, inside a word where it is longer than a line; never none.

    A character wider than `width` gets a line of its own.
    """
    lines: list[str] = []
    for paragraph in text.split("\n"):
        left = printable(paragraph)
        if not left:
            lines.append("")
        while text_width(left) > width:
            fits = cut(left, max(1, width)) or left[0]
            space = fits.rfind(" ")
            at = len(fits) if space <= 0 or left[len(fits) : len(fits) + 1] == " " else space
            lines.append(left[:at].rstrip())
            left = left[at:].lstrip(" ")
        if left:
            lines.append(left)
    return lines
