"""What was answered, as the model gets it; and the questions as text where nobody could be asked.

Does not ask.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tools.core.ask_user_question.questions import Option, Question


class Answer:
    """To one question: labels of options, in their order, and what was typed instead or beside them."""

    __slots__ = ("labels", "typed")

    def __init__(self, labels: list[str], typed: str = "") -> None:
        self.labels = labels
        self.typed = typed


def answered(questions: list[Question], answers: list[Answer]) -> str:
    """`selected` is an array for several choices, null where a question was left out."""
    entries = []
    for question, answer in zip(questions, answers, strict=True):
        values = [*answer.labels, *([answer.typed] if answer.typed else [])]
        entry: dict[str, Any] = {"question": question.text}
        entry["selected"] = values if question.multi else values[0] if values else None
        if answer.typed:
            entry["other"] = True
        entries.append(entry)
    return _json({"status": "answered", "answers": entries})


def declined() -> str:
    return _json({"status": "declined"})


def cancelled(reason: str = "") -> str:
    return _json({"status": "cancelled"} | ({"reason": reason} if reason else {}))


def laid_out(questions: list[Question]) -> str:
    """All questions with their options, for the model to put to the user itself."""
    them = "this question" if len(questions) == 1 else f"these {len(questions)} questions"
    why = "The user cannot be asked from here: this client shows no questions, and no terminal is free for a dialog."
    lines = [f"{why} Put {them} to the user in your reply, then end your turn and wait for the answer."]
    for number, question in enumerate(questions, 1):
        header = f"[{question.header}] " if question.header else ""
        lines += ["", f"{number}. {header}{question.text}"]
        if not question.options:
            lines.append("   (free text)")
            continue
        lines += [f"   - {_line(option)}" for option in question.options]
        lines.append("   (one or more, or another answer)" if question.multi else "   (one, or another answer)")
    return "\n".join(lines)


def _line(option: Option) -> str:
    return f"{option.label}: {option.description}" if option.description else option.label


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
