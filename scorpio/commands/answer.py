"""`scorpio answer FILE`: shows the questions in FILE on this terminal, for the server that wrote it.

Internal. A server of the core toolset starts it; nobody else has such a file.
"""

from __future__ import annotations

from tools.core.ask_user_question import dialog_process


def run(path: str) -> int:
    """Exit status 0 when it was answered or no longer wanted, 1 where it could not be shown."""
    return dialog_process.main(path)
