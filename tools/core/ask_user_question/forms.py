"""Elicitation forms: questions as the flat JSON Schema of the client's revision, and answers out of its content.

Source: MCP client/elicitation. 2025-06-18 knows `enum` with `enumNames` and no arrays; since 2025-11-25 a choice is
`oneOf` of const and title, several choices an array (SEP-1330). Sends nothing.
"""

from __future__ import annotations

from tools.core.ask_user_question.answers import Answer
from tools.core.limits import TYPED_ANSWER_CHARS_MAX
from tools.core.output_text import clean, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.protocol.revisions import Revision
    from tools.core.ask_user_question.questions import Option, Question

TITLE_CHARS_MAX = 300
"""An option's label and description on one line of a client's list."""


class Form:
    """One `elicitation/create`: one property a question, or one boolean an option where arrays do not exist."""

    def __init__(self, questions: list[Question], revision: Revision) -> None:
        self.questions = questions
        self._arrays = revision.enum_titles == "const"

    def params(self) -> dict[str, Any]:
        properties: dict[str, Any] = {}
        required = []
        for name, question in self._named():
            if self._is_booleans(question):
                properties.update(_booleans(name, question))
                continue
            about = {"title": question.header or ("Answer" if len(self.questions) == 1 else f"Question {name[1:]}")}
            if len(self.questions) > 1:
                about["description"] = question.text
            properties[name] = {**about, **self._choice(question)}
            required.append(name)
        schema = {"type": "object", "properties": properties, "required": required or [next(iter(properties))]}
        return {"message": self._message(), "requestedSchema": schema}

    def answers(self, content: dict[str, Any]) -> list[Answer | None]:
        """One a question; None where its members are missing or empty. The label of `other` stands for itself."""
        return [self._answer(name, question, content) for name, question in self._named()]

    def _named(self) -> list[tuple[str, Question]]:
        return [(f"q{number}", question) for number, question in enumerate(self.questions, 1)]

    def _is_booleans(self, question: Question) -> bool:
        return question.multi and bool(question.options) and not self._arrays

    def _message(self) -> str:
        if len(self.questions) == 1:
            return self.questions[0].text
        return "\n".join(f"{number}. {question.text}" for number, question in enumerate(self.questions, 1))

    def _choice(self, question: Question) -> dict[str, Any]:
        if not question.options:
            return {"type": "string", "minLength": 1, "maxLength": TYPED_ANSWER_CHARS_MAX}
        options = [*question.options, question.other]
        if not self._arrays:
            labels = [option.label for option in options]
            return {"type": "string", "enum": labels, "enumNames": [_title(option) for option in options]}
        titled = [{"const": option.label, "title": _title(option)} for option in options]
        if question.multi:
            return {"type": "array", "minItems": 1, "items": {"anyOf": titled}}
        return {"type": "string", "oneOf": titled}

    def _answer(self, name: str, question: Question, content: dict[str, Any]) -> Answer | None:
        options = [*question.options, question.other]
        if self._is_booleans(question):
            flags = [content.get(_flag(name, number)) for number in range(1, len(options) + 1)]
            if all(flag is None for flag in flags):
                return None
            return Answer([option.label for option, flag in zip(options, flags, strict=True) if flag is True])
        value = content.get(name)
        values = value if type(value) is list else [value]
        given = [clean(item)[:TYPED_ANSWER_CHARS_MAX].strip() for item in values if type(item) is str]
        given = [item for item in given if item]
        if not given:
            return None
        if not question.options:
            return Answer([], given[0])
        chosen = [option.label for option in options if option.label in given or _title(option) in given]
        known = {name for option in options for name in (option.label, _title(option))}
        own = next((item for item in given if item not in known), "")
        return Answer(chosen, own) if question.multi else Answer(chosen[:1], "" if chosen else own)


class OwnAnswers(Form):
    """The form after the choice of `other`: one text a question."""

    def params(self) -> dict[str, Any]:
        params = super().params()
        one = len(self.questions) == 1
        params["message"] = f"Your own answer{'' if one else 's'}:\n{params['message']}"
        return params

    def _choice(self, question: Question) -> dict[str, Any]:
        return {"type": "string", "minLength": 1, "maxLength": TYPED_ANSWER_CHARS_MAX}

    def _is_booleans(self, question: Question) -> bool:
        return False

    def typed(self, content: dict[str, Any]) -> list[str]:
        """One a question; "" where nothing was given."""
        values = [content.get(name) for name, _ in self._named()]
        return [clean(value)[:TYPED_ANSWER_CHARS_MAX].strip() if type(value) is str else "" for value in values]


def grouped(questions: list[Question], revision: Revision) -> list[Form]:
    """One form, or one a question where a choice of several takes a boolean an option: those need a message each."""
    alone = revision.enum_titles != "const" and any(question.multi and question.options for question in questions)
    return [Form(part, revision) for part in ([[question] for question in questions] if alone else [questions])]


def _booleans(name: str, question: Question) -> dict[str, Any]:
    properties = {}
    for number, option in enumerate([*question.options, question.other], 1):
        described = {"description": option.description} if option.description else {}
        properties[_flag(name, number)] = {"type": "boolean", "title": option.label, **described}
    return properties


def _flag(name: str, number: int) -> str:
    return f"{name}_{number}"


def _title(option: Option) -> str:
    return one_line(f"{option.label}: {option.description}" if option.description else option.label, TITLE_CHARS_MAX)
