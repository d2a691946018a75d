"""The first two ways to ask: the client's own forms, by `input_required` or by request, whichever its era has."""

from __future__ import annotations

from scorpio.tool import ToolFailure, Unanswered
from tools.core.ask_user_question.answers import Answer, answered, cancelled, declined
from tools.core.ask_user_question.forms import OwnAnswers, grouped
from tools.core.limits import INSTANT_ANSWER_MS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.tool import Call
    from tools.core.ask_user_question.questions import Question


class _Refused(Exception):
    """The person declined or cancelled. `said` is the result."""

    def __init__(self, said: str) -> None:
        super().__init__(said)
        self.said = said


class _Unable(Exception):
    """The client cannot show a form, whatever it declared."""


def ask(questions: list[Question], call: Call[Any]) -> str | None:
    """The result, or None when this client cannot ask. Lets InputRequired pass: it is called again with the answer.

    A client cannot ask when it answers with an error, with nothing filled in, or refuses sooner than a person could:
    some decline what they cannot show.
    """
    try:
        answers = _choices(questions, call)
        others = [
            (question, answer)
            for question, answer in zip(questions, answers, strict=True)
            if question.options and question.other.label in answer.labels
        ]
        if others:
            _type_others(others, call)
        return answered(questions, answers)
    except _Unable:
        return None
    except _Refused as refused:
        return refused.said
    except Unanswered as nobody:
        return cancelled(str(nobody))


def _choices(questions: list[Question], call: Call[Any]) -> list[Answer]:
    answers: list[Answer] = []
    for number, form in enumerate(grouped(questions, call.revision), 1):
        given = form.answers(_content(call, f"choices-{number}", form.params(), first=number == 1))
        if number == 1 and not any(given):
            raise _Unable
        answers += [answer or Answer([]) for answer in given]
    return answers


def _type_others(others: list[tuple[Question, Answer]], call: Call[Any]) -> None:
    """The label of `other` stays where this second form comes to nothing."""
    form = OwnAnswers([question for question, _ in others], call.revision)
    try:
        content = _content(call, "own", form.params())
    except _Unable:
        return
    for (question, answer), typed in zip(others, form.typed(content), strict=True):
        if typed:
            answer.labels = [label for label in answer.labels if label != question.other.label]
            answer.typed = typed


def _content(call: Call[Any], key: str, params: dict[str, Any], *, first: bool = False) -> dict[str, Any]:
    """What the form was filled in with. Raises _Refused; _Unable for what only a client does."""
    try:
        answer = call.ask(key, "elicitation/create", params)
    except Unanswered:
        raise
    except ToolFailure:
        raise _Unable from None
    if answer["action"] == "accept":
        return answer.get("content") or {}
    waited_ms = call.waited_ms(key)
    if first and waited_ms is not None and waited_ms < INSTANT_ANSWER_MS:
        raise _Unable
    raise _Refused(declined() if answer["action"] == "decline" else cancelled())
