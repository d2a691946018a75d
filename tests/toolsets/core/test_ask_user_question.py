"""AskUserQuestion: what may be asked, the form each revision gets, and what becomes of each answer a client gives."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import mcp_types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from scorpio.server import calls
from scorpio.settings import load
from scorpio.tool import ToolFailure
from tests.links import ROOT
from tests.wire import MODERN, AnswerError, Wire
from tools.core.ask_user_question import by_form
from tools.core.ask_user_question.questions import Question, parse
from tools.core.limits import OPTION_LABEL_CHARS_MAX, QUESTION_CHARS_MAX, QUESTIONS_JSON_CHARS_MAX

Connect = Callable[..., Wire]
FORMS: dict[str, Any] = {"elicitation": {"form": {}}}
PORT = {"question": "Which port?", "header": "Port", "options": [{"label": "80", "description": "HTTP"}, "8080"]}
PARTS = {"question": "Which parts?", "options": ["API", "Web"], "multiSelect": True}
NAME = {"question": "What is it called?"}
RELAYED = "The user cannot be asked from here"


def arguments(*questions: Any) -> dict[str, str]:
    return {"questions_json": json.dumps({"questions": questions})}


def ask(wire: Wire, *questions: Any, answer: Any = None) -> Any:
    """The result's JSON, or its text when it is an error. `answer`: content of each form in turn, or one result."""
    given = list(answer) if isinstance(answer, list) else [answer]
    if answer is not None:
        wire.answers["elicitation/create"] = lambda params: (
            item if "action" in (item := given.pop(0)) else {"action": "accept", "content": item}
        )
    result = wire.call("AskUserQuestion", arguments(*questions))
    said = result["content"][0]["text"]
    assert result["isError"] == said.startswith((RELAYED, "Invalid arguments"))
    return said if result["isError"] else json.loads(said)


def forms(wire: Wire) -> list[dict[str, Any]]:
    """The forms this client was shown, in order."""
    return [question["params"] for question in wire.questions]


# -- what may be asked


def read(value: Any) -> list[dict[str, Any]]:
    text = value if isinstance(value, str) else json.dumps(value)
    return [question.as_json() for question in parse(text, "AskUserQuestion")]


OWN = {"label": "Other", "description": "an answer of your own"}


def shape(text: str, options: list[dict[str, str]], **more: Any) -> dict[str, Any]:
    return {"text": text, "header": "", "options": options, "other": OWN, "multi": False, **more}


A_OR_B = [{"label": "A", "description": ""}, {"label": "B", "description": ""}]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"questions": [{"text": "Q?", "options": ["A", "B"]}]}, [shape("Q?", A_OR_B)]),
        ([{"text": "Q?", "options": ["A", "B"]}], [shape("Q?", A_OR_B)]),
        ({"text": "Q?", "options": ["A", "B"]}, [shape("Q?", A_OR_B)]),
        ({"questions": {"question": "Q?", "options": ["A", "B"]}}, [shape("Q?", A_OR_B)]),
        ({"questions": '[{"question": "Q?", "options": ["A", "B"]}]'}, [shape("Q?", A_OR_B)]),
        (json.dumps(json.dumps({"question": "Q?", "options": ["A", "B"]})), [shape("Q?", A_OR_B)]),
        (
            {
                "questions": [
                    {
                        "question": "Q?",
                        "header": "H",
                        "options": [{"label": "A", "description": "first"}, {"label": "B"}],
                        "multiSelect": True,
                    }
                ]
            },
            [
                shape(
                    "Q?",
                    [{"label": "A", "description": "first"}, {"label": "B", "description": ""}],
                    header="H",
                    multi=True,
                )
            ],
        ),
        ({"question": "Q?"}, [shape("Q?", [])]),
        ({"question": "Q?", "options": [], "header": None, "multiSelect": None}, [shape("Q?", [])]),
        ({"question": "Q?", "multi_select": "true"}, [shape("Q?", [], multi=True)]),
        (
            {"question": "Q?", "options": [1, 2.5, True]},
            [shape("Q?", [{"label": label, "description": ""} for label in ("1", "2.5", "true")])],
        ),
        (
            {"question": "Q?", "options": ["A", "B", {"label": "Other…", "description": "tell us"}]},
            [shape("Q?", A_OR_B, other={"label": "Other…", "description": "tell us"})],
        ),
    ],
    ids=lambda value: re.sub(r"\W+", "-", json.dumps(value))[:60] if not isinstance(value, list) else "",
)
def test_every_spelling_of_questions_is_read(value: Any, expected: list[dict[str, Any]]) -> None:
    assert read(value) == expected


def test_what_was_read_is_read_again_from_its_json() -> None:
    [question] = parse(json.dumps({**PORT, "multiSelect": True}), "AskUserQuestion")
    assert Question.of_json(question.as_json()).as_json() == question.as_json()


MEGABYTE = "x" * 2**20


@pytest.mark.parametrize(
    ("value", "faults"),
    [
        ("", ["/questions_json must be JSON: Expecting value: line 1 column 1 (char 0)"]),
        ("{'question': 'Q?'}", ["/questions_json must be JSON: Expecting property name enclosed in double quotes: .*"]),
        (MEGABYTE, [f"/questions_json must have at most {QUESTIONS_JSON_CHARS_MAX} characters, not {2**20}"]),
        ("[" * 60_000, ["/questions_json must be JSON: it is nested too deep"]),
        ("7", ["questions_json must be array, not number"]),
        ("null", ["questions_json must be array, not null"]),
        ({}, ["/questions is required"]),
        ({"questions": None}, ["/questions must be array, not null"]),
        ({"questions": 3}, ["/questions must be array, not number"]),
        ({"questions": []}, ["/questions must have 1 to 10 items, not 0"]),
        ([], ["questions_json must have 1 to 10 items, not 0"]),
        ({"questions": [{}] * 1000}, ["/questions must have 1 to 10 items, not 1000"]),
        (["Which?"], ["/0 must be object, not string"]),
        ({"questions": [None]}, ["/questions/0 must be object, not null"]),
        ({"options": ["A"]}, ["/question is required"]),
        ({"text": 5}, ["/text must be string, not number"]),
        ({"question": " \n"}, ["/question must not be empty"]),
        ({"question": "\0\x1b[31m"}, ["/question must not be empty"]),
        ({"question": "Q" * 2001}, [f"/question must have at most {QUESTION_CHARS_MAX} characters, not 2001"]),
        ({"question": "Q?", "header": 7}, ["/header must be string, not number"]),
        ({"question": "Q?", "multiSelect": "yes"}, ["/multiSelect must be boolean, not string"]),
        ({"question": "Q?", "options": "A, B"}, ["/options must be array, not string"]),
        ({"question": "Q?", "options": {"A": 1}}, ["/options must be array, not object"]),
        ({"question": "Q?", "options": list("abcdefghijklmnopqrstu")}, ["/options must have at most 20 items, not 21"]),
        ({"question": "Q?", "options": ["A", None]}, ["/options/1 must be string or object, not null"]),
        ({"question": "Q?", "options": [["A"]]}, ["/options/0 must be string or object, not array"]),
        ({"question": "Q?", "options": [""]}, ["/options/0 must not be empty"]),
        ({"question": "Q?", "options": ["A", {"label": "B"}, "A"]}, ['/options/2 repeats /options/0: "A"']),
        ({"question": "Q?", "options": [{"description": "d"}]}, ["/options/0/label is required"]),
        (
            {"question": "Q?", "options": [{"label": "A", "description": 1}]},
            ["/options/0/description must be string, .*"],
        ),
        (
            {"question": "Q?", "options": ["x" * 201]},
            [f"/options/0 must have at most {OPTION_LABEL_CHARS_MAX} characters, not 201"],
        ),
        ([PORT, PORT], ['/1 repeats /0: "Which port?"']),
        (
            [{"text": 1, "options": [None, "A", "A"]}, 3],
            [
                "/0/text must be string, not number",
                "/0/options/0 must be string or object, not null",
                '/0/options/2 repeats /0/options/1: "A"',
                "/1 must be object, not number",
            ],
        ),
    ],
)
def test_every_fault_is_told_with_its_path_and_a_form_that_is_right(value: Any, faults: list[str]) -> None:
    with pytest.raises(ToolFailure) as failure:
        read(value)
    *told, example = str(failure.value).removeprefix("Invalid arguments for AskUserQuestion: ").split("\n")
    assert len(told) == len(faults), told
    for fault, line in zip(faults, told, strict=True):
        assert line == fault or re.fullmatch(fault, line), line
    assert read(example.removeprefix("questions_json is for example "))


def test_hundreds_of_faults_are_not_all_told() -> None:
    questions = [{"question": "Q?", "options": [None] * 20} for _ in range(10)]
    with pytest.raises(ToolFailure, match="\nand 189 more faults\n"):
        read(questions)


def test_what_a_terminal_would_act_on_is_not_in_a_question() -> None:
    evil = "a\x1b]0;title\x07b\x1b[2Jc\0d\x9be\u202ef\rg"
    [question] = read({"question": evil, "header": evil, "options": [{"label": evil, "description": evil}]})
    assert "\x1b" in evil
    for text in (question["text"], question["header"], *question["options"][0].values()):
        assert text.isprintable()
        assert "\u202e" not in text


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda v: (
            st.lists(v)
            | st.dictionaries(
                st.sampled_from(
                    ["questions", "question", "text", "options", "label", "description", "header", "multiSelect"]
                ),
                v,
            )
        ),
    )
)
def test_any_json_is_read_or_refused(value: Any) -> None:
    try:
        questions = parse(json.dumps(value), "AskUserQuestion")
    except ToolFailure:
        return
    assert 1 <= len(questions) <= 10
    assert all(question.text.strip() and len(question.options) <= 20 for question in questions)


# -- the form of each revision


def options_of(shown: list[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"const": value, "title": title} for value, title in shown]


TITLED = [("80", "80: HTTP"), ("8080", "8080"), ("Other", "Other: an answer of your own")]
NAMED = {"type": "string", "minLength": 1, "maxLength": 4000}


@pytest.mark.transports("in-process")
@pytest.mark.revisions("2025-11-25", MODERN)
def test_since_2025_11_25_choices_are_one_of_and_several_choices_an_array(connect: Connect) -> None:
    wire = connect("core", capabilities=FORMS)
    ask(wire, PORT, PARTS, NAME, answer={"q1": "80", "q2": ["Web"], "q3": "Larch"})
    parts = [("API", "API"), ("Web", "Web"), ("Other", "Other: an answer of your own")]
    assert forms(wire) == [
        {
            "message": "1. Which port?\n2. Which parts?\n3. What is it called?",
            "requestedSchema": {
                "type": "object",
                "properties": {
                    "q1": {
                        "title": "Port",
                        "description": "Which port?",
                        "type": "string",
                        "oneOf": options_of(TITLED),
                    },
                    "q2": {
                        "title": "Question 2",
                        "description": "Which parts?",
                        "type": "array",
                        "minItems": 1,
                        "items": {"anyOf": options_of(parts)},
                    },
                    "q3": {"title": "Question 3", "description": "What is it called?", **NAMED},
                },
                "required": ["q1", "q2", "q3"],
            },
        }
    ]


@pytest.mark.transports("in-process")
@pytest.mark.revisions("2025-06-18")
def test_in_2025_06_18_a_choice_is_an_enum_with_names(connect: Connect) -> None:
    wire = connect("core", capabilities={"elicitation": {}})
    ask(wire, PORT, NAME, answer={"q1": "8080", "q2": "Larch"})
    [form] = forms(wire)
    assert form["requestedSchema"]["properties"]["q1"] == {
        "title": "Port",
        "description": "Which port?",
        "type": "string",
        "enum": [value for value, _ in TITLED],
        "enumNames": [title for _, title in TITLED],
    }


@pytest.mark.transports("in-process")
@pytest.mark.revisions("2025-06-18")
def test_in_2025_06_18_several_choices_are_a_boolean_an_option_in_a_form_of_their_own(connect: Connect) -> None:
    wire = connect("core", capabilities={"elicitation": {}})
    said = ask(wire, PARTS, NAME, answer=[{"q1_1": False, "q1_2": True}, {"q1": "Larch"}])
    assert [form["message"] for form in forms(wire)] == ["Which parts?", "What is it called?"]
    assert forms(wire)[0]["requestedSchema"] == {
        "type": "object",
        "properties": {
            "q1_1": {"type": "boolean", "title": "API"},
            "q1_2": {"type": "boolean", "title": "Web"},
            "q1_3": {"type": "boolean", "title": "Other", "description": "an answer of your own"},
        },
        "required": ["q1_1"],
    }
    assert said["answers"] == [
        {"question": "Which parts?", "selected": ["Web"]},
        {"question": "What is it called?", "selected": "Larch", "other": True},
    ]


@pytest.mark.transports("in-process", "stdio")
@pytest.mark.revisions("2025-06-18", "2025-11-25", MODERN)
def test_a_choice_is_answered(connect: Connect) -> None:
    said = ask(connect("core", capabilities=FORMS), PORT, answer={"q1": "8080"})
    assert said == {"status": "answered", "answers": [{"question": "Which port?", "selected": "8080"}]}


@pytest.mark.transports("in-process")
@pytest.mark.revisions("2025-06-18", "2025-11-25", MODERN)
def test_who_chooses_other_is_asked_what(connect: Connect) -> None:
    wire = connect("core", capabilities=FORMS)
    said = ask(wire, PORT, NAME, answer=[{"q1": "Other", "q2": "Larch"}, {"q1": "3000"}])
    [_, second] = forms(wire)
    assert second == {
        "message": "Your own answer:\nWhich port?",
        "requestedSchema": {"type": "object", "properties": {"q1": {"title": "Port", **NAMED}}, "required": ["q1"]},
    }
    assert said["answers"] == [
        {"question": "Which port?", "selected": "3000", "other": True},
        {"question": "What is it called?", "selected": "Larch", "other": True},
    ]


@pytest.mark.transports("in-process")
@pytest.mark.revisions("2025-11-25", MODERN)
def test_an_answer_of_ones_own_stands_beside_the_choices(connect: Connect) -> None:
    said = ask(connect("core", capabilities=FORMS), PARTS, answer=[{"q1": ["Other", "API"]}, {"q1": "Docs"}])
    assert said["answers"] == [{"question": "Which parts?", "selected": ["API", "Docs"], "other": True}]


@pytest.mark.transports("in-process")
@pytest.mark.revisions("2025-11-25")
@pytest.mark.parametrize(
    ("content", "answer"),
    [
        ({"q1": "80: HTTP"}, {"selected": "80"}),
        ({"q1": " 80 "}, {"selected": "80"}),
        ({"q1": "443"}, {"selected": "443", "other": True}),
        ({"q1": ["80"]}, {"selected": "80"}),
        ({"q1": "\x1b[31m443\0"}, {"selected": "443", "other": True}),
    ],
)
def test_what_a_sloppy_client_sends_is_understood(
    connect: Connect, content: dict[str, Any], answer: dict[str, Any]
) -> None:
    said = ask(connect("core", capabilities=FORMS), PORT, answer=content)
    assert said["answers"] == [{"question": "Which port?", **answer}]


@pytest.mark.transports("in-process")
@pytest.mark.revisions("2025-11-25", MODERN)
def test_a_question_that_was_left_out_has_no_answer(connect: Connect) -> None:
    said = ask(connect("core", capabilities=FORMS), PORT, PARTS, NAME, answer={"q3": "Larch"})
    assert [entry["selected"] for entry in said["answers"]] == [None, [], "Larch"]


# -- clients that refuse


@pytest.mark.transports("in-process")
@pytest.mark.revisions("2025-06-18", "2025-11-25", MODERN)
@pytest.mark.parametrize(("action", "status"), [("decline", "declined"), ("cancel", "cancelled")])
def test_a_person_who_refuses_is_believed(
    connect: Connect, action: str, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(by_form, "INSTANT_ANSWER_MS", 0)
    said = ask(connect("core", capabilities=FORMS), PORT, answer={"action": action})
    assert said == {"status": status}


@pytest.mark.transports("in-process")
@pytest.mark.revisions("2025-06-18", "2025-11-25", MODERN)
@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_refusal_quicker_than_any_person_is_the_clients(
    connect: Connect, action: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(by_form, "INSTANT_ANSWER_MS", 60_000)
    assert ask(connect("core", capabilities=FORMS), PORT, answer={"action": action}).startswith(RELAYED)


@pytest.mark.transports("in-process")
@pytest.mark.revisions("2025-06-18", "2025-11-25", MODERN)
@pytest.mark.parametrize("content", [{}, {"q1": ""}, {"q1": None}, {"q1": []}, {"unknown": "80"}, {"q1": 80}, None])
def test_a_form_that_comes_back_empty_was_seen_by_nobody(connect: Connect, content: dict[str, Any] | None) -> None:
    answer = {"action": "accept", **({"content": content} if content is not None else {})}
    assert ask(connect("core", capabilities=FORMS), PORT, answer=answer).startswith(RELAYED)


@pytest.mark.transports("in-process")
@pytest.mark.revisions("2025-06-18", "2025-11-25")
def test_a_client_that_answers_with_an_error_cannot_ask(connect: Connect) -> None:
    wire = connect("core", capabilities=FORMS)

    def refuse(params: dict[str, Any]) -> dict[str, Any]:
        raise AnswerError(-32601, "Method not found")

    wire.answers["elicitation/create"] = refuse
    assert ask(wire, PORT).startswith(RELAYED)


@pytest.mark.transports("in-process")
def test_a_client_without_forms_is_not_asked(connect: Connect) -> None:
    wire = connect("core", capabilities={"elicitation": {"url": {}}})
    assert ask(wire, PORT).startswith(RELAYED)
    assert wire.questions == []


@pytest.mark.transports("in-process")
@pytest.mark.revisions("2025-11-25")
def test_nobody_is_waited_for_for_ever(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "ASK_WAIT_S", 0.05)
    wire = connect("core", capabilities=FORMS)
    said = ask(wire, PORT)
    assert said == {"status": "cancelled", "reason": "Nobody answered elicitation/create within 0 s."}
    [question] = wire.questions
    assert wire.notification("notifications/cancelled")["requestId"] == question["id"]


@pytest.mark.transports("in-process", "stdio")
@pytest.mark.revisions("2025-11-25")
def test_a_call_that_is_cancelled_withdraws_its_form(connect: Connect) -> None:
    wire = connect("core", capabilities=FORMS)
    id_ = wire.start("tools/call", {"name": "AskUserQuestion", "arguments": arguments(PORT)})
    question = wire.message(lambda message: message.get("method") == "elicitation/create")
    wire.cancel(id_)
    assert wire.notification("notifications/cancelled")["requestId"] == question["id"]
    wire.settle()
    assert wire.answers_to(id_) == []


@pytest.mark.transports("in-process")
@pytest.mark.revisions("2025-11-25", MODERN)
@pytest.mark.parametrize("given", [{"questions": [PORT]}, [PORT], PORT])
def test_questions_that_are_parsed_already_are_taken(connect: Connect, given: Any) -> None:
    wire = connect("core", capabilities=FORMS)
    wire.answers["elicitation/create"] = lambda params: {"action": "accept", "content": {"q1": "80"}}
    said = wire.text("AskUserQuestion", {"questions_json": given})
    assert json.loads(said)["answers"] == [{"question": "Which port?", "selected": "80"}]


@pytest.mark.transports("in-process")
@pytest.mark.revisions(MODERN)
def test_the_descriptor_has_the_one_property_of_the_contract(connect: Connect) -> None:
    wire = connect("core")
    [tool] = [tool for tool in wire.result("tools/list")["tools"] if tool["name"] == "AskUserQuestion"]
    assert tool["inputSchema"]["required"] == ["questions_json"]
    assert {name: schema["type"] for name, schema in tool["inputSchema"]["properties"].items()} == {
        "questions_json": "string"
    }
    assert len(tool["description"].encode()) < 2000


@pytest.mark.transports("in-process")
@pytest.mark.revisions(MODERN)
def test_a_state_that_was_changed_is_refused(connect: Connect) -> None:
    wire = connect("core", capabilities=FORMS)
    params = {"name": "AskUserQuestion", "arguments": arguments(PORT)}
    required = wire.result("tools/call", params)
    [key] = required["inputRequests"]
    answer = {"inputResponses": {key: {"action": "accept", "content": {"q1": "80"}}}}
    other = {**params, "arguments": arguments(NAME)}
    state = required["requestState"]
    assert wire.error("tools/call", {**params, **answer, "requestState": "x" + state})["code"] == -32602
    assert wire.error("tools/call", {**other, **answer, "requestState": state})["code"] == -32602
    [said] = wire.result("tools/call", {**params, **answer, "requestState": state})["content"]
    assert json.loads(said["text"])["status"] == "answered"


# -- the official client


async def with_sdk(environ: dict[str, str], mode: str, callback: Any, use: Callable[[Client], Awaitable[None]]) -> None:
    command = ["-m", "scorpio", "serve", "--toolsets", "core"]
    parameters = StdioServerParameters(command=sys.executable, args=command, env=environ, cwd=str(ROOT))
    with anyio.fail_after(60):
        async with Client(stdio_client(parameters), mode=mode, elicitation_callback=callback) as client:
            await use(client)


def chooses(content: dict[str, Any]) -> tuple[Any, list[Any]]:
    shown: list[Any] = []

    async def choose(context: Any, params: Any) -> mcp_types.ElicitResult:
        shown.append(params)
        return mcp_types.ElicitResult(action="accept", content=content)

    return choose, shown


@pytest.mark.parametrize("mode", ["auto", "legacy", MODERN])
def test_the_official_python_client_answers(environ: dict[str, str], mode: str) -> None:
    callback, shown = chooses({"q1": "8080", "q2": ["API"]})
    texts: list[str] = []

    async def use(client: Client) -> None:
        result = await client.call_tool("AskUserQuestion", arguments(PORT, PARTS))
        texts.extend(block.text for block in result.content if isinstance(block, mcp_types.TextContent))

    anyio.run(with_sdk, environ, mode, callback, use)
    [said] = texts
    assert json.loads(said)["answers"] == [
        {"question": "Which port?", "selected": "8080"},
        {"question": "Which parts?", "selected": ["API"]},
    ]
    assert shown[0].requested_schema["required"] == ["q1", "q2"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_official_python_client_that_cannot_ask_gets_the_questions(environ: dict[str, str], mode: str) -> None:
    results = []

    async def use(client: Client) -> None:
        results.append(await client.call_tool("AskUserQuestion", arguments(PORT)))

    anyio.run(with_sdk, environ, mode, None, use)
    [result] = results
    assert isinstance(result, mcp_types.CallToolResult)
    assert result.is_error
    assert [block.text[: len(RELAYED)] for block in result.content if isinstance(block, mcp_types.TextContent)] == [
        RELAYED
    ]


# -- whose word counts


@pytest.mark.parametrize(("line", "value"), [("off", "off"), ("on", "auto"), ("auto", "auto"), ("maybe", "auto")])
def test_a_projects_file_may_turn_dialogs_off_and_no_more(tmp_path: Path, line: str, value: str) -> None:
    (tmp_path / ".scorpio").mkdir()
    (tmp_path / ".scorpio" / "scorpio-env.txt").write_text(f"ASK_TTY={line}\n")
    settings = load({}, str(tmp_path / "home"), str(tmp_path))
    assert settings.ask_tty == value
    assert (settings.warnings == ()) == (line == "off")
