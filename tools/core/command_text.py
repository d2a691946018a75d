"""What both command tools demand of a command's text, beyond its being a string."""

from __future__ import annotations

from scorpio.tool import ToolFailure


def require_runnable(command: str, tool: str) -> None:
    """Raises ToolFailure in the words of an argument fault."""
    nul = command.find("\0")
    if nul >= 0:
        raise ToolFailure(
            f"Invalid arguments for {tool}: /command must not contain a NUL byte (at character {nul}): "
            "a shell cannot take it. Write it with printf '\\0'."
        )
    try:
        command.encode()
    except UnicodeEncodeError as error:
        raise ToolFailure(
            f"Invalid arguments for {tool}: /command must be valid Unicode; "
            f"there is a lone surrogate at character {error.start}."
        ) from None
