"""get-sum: adds two numbers."""

from __future__ import annotations

from scorpio.tool import ToolFailure, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.everything._catalog import GetSumArguments
    from tools.everything.state import Everything


def handle(arguments: GetSumArguments, call: Call[Everything]) -> ToolResult:
    a, b = arguments["a"], arguments["b"]
    try:
        return text(f"The sum of {_written(a)} and {_written(b)} is {_written(a + b)}.")
    except OverflowError:
        raise ToolFailure("The sum is beyond what a number can hold. Use smaller numbers.") from None


def _written(number: float) -> str:
    """Whole numbers without a fraction, as people write them."""
    return str(int(number)) if number == int(number) else str(number)
