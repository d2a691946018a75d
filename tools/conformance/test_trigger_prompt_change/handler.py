"""test_trigger_prompt_change: subscribers of the list of prompts are told."""

from __future__ import annotations

from scorpio.tool import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import TestTriggerPromptChangeArguments


def handle(arguments: TestTriggerPromptChangeArguments, call: Call[None]) -> ToolResult:
    call.changed_list("prompts")
    return text("Announced.")
