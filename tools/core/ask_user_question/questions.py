"""What may be asked: the accepted shapes of `questions_json`, normalised, and every fault with its path.

Refuses what could not be shown or whose answer would be ambiguous. Texts come out without control characters and
terminal sequences: they end on a terminal.
"""

from __future__ import annotations

import json

from scorpio.tool import ToolFailure
from tools.core.limits import (
    OPTION_DESCRIPTION_CHARS_MAX,
    OPTION_LABEL_CHARS_MAX,
    QUESTION_CHARS_MAX,
    QUESTION_FAULTS_SHOWN_MAX,
    QUESTION_OPTIONS_MAX,
    QUESTIONS_JSON_CHARS_MAX,
    QUESTIONS_MAX,
)
from tools.core.output_text import clean, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HEADER_CHARS_SHOWN = 60
EXAMPLE = '{"questions":[{"question":"Which database?","options":["SQLite","PostgreSQL"]}]}'

_NAMES = {dict: "object", list: "array", str: "string", bool: "boolean", int: "number", float: "number"}


class Option:
    """One choice. `label` is what the answer says."""

    __slots__ = ("description", "label")

    def __init__(self, label: str, description: str = "") -> None:
        self.label = label
        self.description = description


class Question:
    """One question. Without options its answer is typed; with them there is `other` too, for an answer of one's own."""

    __slots__ = ("header", "multi", "options", "other", "text")

    def __init__(self, text: str, header: str, options: list[Option], other: Option, *, multi: bool) -> None:
        self.text = text
        self.header = header
        self.options = options
        self.other = other
        self.multi = multi

    def as_json(self) -> dict[str, Any]:
        def spelled(option: Option) -> dict[str, str]:
            return {"label": option.label, "description": option.description}

        return {
            "text": self.text,
            "header": self.header,
            "options": [spelled(option) for option in self.options],
            "other": spelled(self.other),
            "multi": self.multi,
        }

    @staticmethod
    def of_json(value: dict[str, Any]) -> Question:
        """Of what `as_json` gave."""
        options = [Option(**option) for option in value["options"]]
        return Question(value["text"], value["header"], options, Option(**value["other"]), multi=value["multi"])


def parse(text: str, tool: str) -> list[Question]:
    """The questions in `text`. Raises ToolFailure with all faults, a line each, and a form that is right.

    Shapes: {"questions": […]}, a bare array, a single question; {"text" or "question", "header", "options",
    "multiSelect"} with options that are strings or {"label", "description"}; JSON text inside JSON text.
    """
    reading = _Reading()
    questions = reading.document(text)
    if not reading.faults:
        return questions
    more = len(reading.faults) - QUESTION_FAULTS_SHOWN_MAX
    lines = reading.faults[:QUESTION_FAULTS_SHOWN_MAX] + ([f"and {more} more faults"] if more > 0 else [])
    raise ToolFailure(
        f"Invalid arguments for {tool}: " + "\n".join(lines) + f"\nquestions_json is for example {EXAMPLE}"
    )


class _Reading:
    """One pass over the value: what is right becomes questions, what is wrong a fault."""

    def __init__(self) -> None:
        self.faults: list[str] = []

    def fault(self, path: str, said: str) -> None:
        self.faults.append(f"{path or 'questions_json'} {said}")

    def document(self, text: str) -> list[Question]:
        if len(text) > QUESTIONS_JSON_CHARS_MAX:
            self.fault("/questions_json", f"must have at most {QUESTIONS_JSON_CHARS_MAX} characters, not {len(text)}")
            return []
        try:
            value = _loads(text)
            value = _loads(value) if type(value) is str else value
            path = ""
            if type(value) is dict and not value.keys() & {"question", "text", "options"}:
                if "questions" not in value:
                    self.fault("/questions", "is required")
                    return []
                path, value = "/questions", value["questions"]
                value = _loads(value) if type(value) is str else value
        except ValueError as wrong:
            self.fault("/questions_json", f"must be JSON: {one_line(str(wrong), 200)}")
            return []
        if type(value) is dict:
            question = self.question(path, value)
            return [question] if question is not None else []
        return self.questions(path, value)

    def questions(self, path: str, value: Any) -> list[Question]:
        if type(value) is not list:
            self.fault(path, f"must be array, not {_name(value)}")
            return []
        if not 1 <= len(value) <= QUESTIONS_MAX:
            self.fault(path, f"must have 1 to {QUESTIONS_MAX} items, not {len(value)}")
            return []
        found: list[Question] = []
        seen: dict[str, str] = {}
        for index, item in enumerate(value):
            question = self.question(f"{path}/{index}", item)
            if question is not None:
                found.append(question)
                self.once(seen, question.text, f"{path}/{index}")
        return found

    def once(self, seen: dict[str, str], text: str, path: str) -> None:
        """The answer names questions and options by their text."""
        first = seen.setdefault(text, path)
        if first != path:
            self.fault(path, f"repeats {first}: {json.dumps(one_line(text, 60), ensure_ascii=False)}")

    def question(self, path: str, value: Any) -> Question | None:
        if type(value) is not dict:
            self.fault(path, f"must be object, not {_name(value)}")
            return None
        key = "text" if "text" in value and "question" not in value else "question"
        text = self.text(f"{path}/{key}", value.get(key), QUESTION_CHARS_MAX)
        header = self.text(f"{path}/header", value.get("header"), QUESTION_CHARS_MAX, optional=True)
        multi = self.flag(path, value)
        options = self.options(f"{path}/options", value.get("options"))
        others = [option for option in options if option.label.strip(" .…:").casefold() == "other"]
        options = [option for option in options if option not in others]
        other = others[0] if others else Option("Other", "an answer of your own")
        return Question(text, one_line(header, HEADER_CHARS_SHOWN), options, other, multi=multi)

    def text(self, path: str, value: Any, chars_max: int, *, optional: bool = False) -> str:
        if value is None and optional:
            return ""
        if value is None:
            self.fault(path, "is required")
        elif type(value) is not str:
            self.fault(path, f"must be string, not {_name(value)}")
        elif len(value) > chars_max:
            self.fault(path, f"must have at most {chars_max} characters, not {len(value)}")
        else:
            shown = clean(value).replace("\t", "    ").strip()
            if shown or optional:
                return shown
            self.fault(path, "must not be empty")
        return ""

    def flag(self, path: str, value: dict[str, Any]) -> bool:
        key = "multi_select" if "multi_select" in value and "multiSelect" not in value else "multiSelect"
        flag = value.get(key)
        if flag is None or type(flag) is bool:
            return bool(flag)
        if flag not in ("true", "false"):
            self.fault(f"{path}/{key}", f"must be boolean, not {_name(flag)}")
        return bool(flag == "true")

    def options(self, path: str, value: Any) -> list[Option]:
        if value is None:
            return []
        if type(value) is not list:
            self.fault(path, f"must be array, not {_name(value)}")
            return []
        if len(value) > QUESTION_OPTIONS_MAX:
            self.fault(path, f"must have at most {QUESTION_OPTIONS_MAX} items, not {len(value)}")
            return []
        found = []
        seen: dict[str, str] = {}
        for index, item in enumerate(value):
            option = self.option(f"{path}/{index}", item)
            if option.label:
                found.append(option)
                self.once(seen, option.label, f"{path}/{index}")
        return found

    def option(self, path: str, value: Any) -> Option:
        """`label` is empty where it is wrong."""
        if type(value) in (int, float, bool):
            value = json.dumps(value)
        if type(value) is not dict:
            if type(value) is not str:
                self.fault(path, f"must be string or object, not {_name(value)}")
                return Option("")
            return Option(one_line(self.text(path, value, OPTION_LABEL_CHARS_MAX), OPTION_LABEL_CHARS_MAX))
        label = self.text(f"{path}/label", value.get("label"), OPTION_LABEL_CHARS_MAX)
        most = OPTION_DESCRIPTION_CHARS_MAX
        description = self.text(f"{path}/description", value.get("description"), most, optional=True)
        return Option(one_line(label, OPTION_LABEL_CHARS_MAX), one_line(description, most))


def _loads(text: str) -> Any:
    """Raises ValueError, also where arrays are nested too deep to be read."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _name(value: Any) -> str:
    return _NAMES.get(type(value), "null")
