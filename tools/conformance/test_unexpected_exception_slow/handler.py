"""test_unexpected_exception_slow: a bug in a slow handler."""

from __future__ import annotations

import asyncio
import sys

from scorpio.tool import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import TestUnexpectedExceptionSlowArguments

DEAF_S = 600
"""Longer than any test waits."""


async def handle(arguments: TestUnexpectedExceptionSlowArguments, call: Call[None]) -> ToolResult:
    kind = arguments["kind"]
    await asyncio.sleep(0)
    if kind == "exit":
        sys.exit(3)
    if kind == "cancelled":  # as a task of its own that was cancelled would do it
        raise asyncio.CancelledError
    if kind == "exception":
        raise RuntimeError("a bug with a secret in its text")
    if kind == "deaf":
        call.progress(1)
        try:
            await asyncio.sleep(DEAF_S)
        except asyncio.CancelledError:
            pass  # what a library swallows, or an end that came in the same moment
    if kind == "nothing":
        return None  # type: ignore[return-value]
    return text("Nothing went wrong.")
