"""test_unexpected_exception: a bug in an instant handler."""

from __future__ import annotations

import sys

from scorpio.tool import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import TestUnexpectedExceptionArguments


def handle(arguments: TestUnexpectedExceptionArguments, call: Call[None]) -> ToolResult:
    kind = arguments["kind"]
    if kind == "exit":
        sys.exit(3)
    if kind == "exception":
        raise RuntimeError("a bug with a secret in its text")
    return text("Nothing went wrong.")
