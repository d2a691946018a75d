"""What the editors of the file formats have in common."""

from __future__ import annotations

from typing import Any, Protocol


class EditFailure(Exception):
    """The file cannot be edited without a risk to what else is in it. A sentence for the person who owns it."""


class Editor(Protocol):
    """Edits the text of a configuration file; the same text when there is nothing to do. Raises EditFailure."""

    def entry_at(self, text: str, path: tuple[str, ...]) -> dict[str, Any] | None:
        """The table at `path`; None where there is none."""

    def with_entry(self, text: str, path: tuple[str, ...], entry: dict[str, Any]) -> str:
        """`text` with every member of `entry` set in the table at `path`; other members of it stay."""

    def without_entry(self, text: str, path: tuple[str, ...]) -> str:
        """`text` without the table at `path`."""
