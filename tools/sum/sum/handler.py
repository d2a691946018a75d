"""sum: adds two numbers."""

from __future__ import annotations

from scorpio.tool import ToolFailure, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.sum._catalog import SumArguments


def handle(arguments: SumArguments, call: Call[None]) -> ToolResult:
    a, b = arguments["a"], arguments["b"]
    try:
        return text(f"{a} + {b} = {a + b}")
    except OverflowError:
        raise ToolFailure("The sum is beyond what a number can hold. Use smaller numbers.") from None
