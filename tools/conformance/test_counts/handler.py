"""test_counts: what happened to the calls of test_slow."""

from __future__ import annotations

from scorpio.tool import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import TestCountsArguments
    from tools.conformance.state import Counts


def handle(arguments: TestCountsArguments, call: Call[Counts]) -> ToolResult:
    counts = call.state
    return text(f"started {counts.started}, finished {counts.finished}, cancelled {counts.cancelled}")
