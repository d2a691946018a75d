"""test_surrogates: lone surrogates, as a file name with broken bytes gives them."""

from __future__ import annotations

from scorpio.tool import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import TestSurrogatesArguments


def handle(arguments: TestSurrogatesArguments, call: Call[None]) -> ToolResult:
    return text("lone \ud800 surrogate, and a whole \U0001f600", structured={"key \udcff": ["\udfff"]})
