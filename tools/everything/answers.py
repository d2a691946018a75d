"""What clients answer to questions, in words."""

from __future__ import annotations

from scorpio.tool import text_block

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.tool import Block


def shown(value: Any) -> str:
    import json

    return json.dumps(value, indent=2, ensure_ascii=False)


def form_blocks(answer: dict[str, Any], titles: dict[str, str]) -> list[Block]:
    """What became of a form: the outcome, each field under its title, and the whole answer."""
    action = answer.get("action")
    blocks: list[Block] = []
    if action == "accept":
        blocks.append(text_block("✅ User provided the requested information!"))
        filled = answer.get("content") or {}
        lines = [f"- {titles.get(name, name)}: {value}" for name, value in filled.items()]
        blocks.append(text_block("User inputs:\n" + "\n".join(lines) if lines else "User inputs: none"))
    elif action == "decline":
        blocks.append(text_block("❌ User declined to provide the requested information."))
    else:
        blocks.append(text_block("⚠️ User cancelled the elicitation dialog."))
    return [*blocks, text_block(f"\nRaw result: {shown(answer)}")]
