"""What a tool asks the client: by a request of the server (legacy) or by an `input_required` result (modern).

The same handler serves both; `Wire.complete` answers in whichever way the revision has.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from tests.wire import LEGACY, MODERN, AnswerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.wire import Connect, Message, Wire

IN_PROCESS = pytest.mark.transports("in-process")
"""For values that no transport looks at."""

SAMPLED = {"role": "assistant", "content": {"type": "text", "text": "Paris."}, "model": "m", "stopReason": "endTurn"}
ROOTS = {"roots": [{"uri": "file:///one"}, {"uri": "file:///two", "name": "Two"}]}
EVERYTHING: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
WITH_ELICITATION = ("2025-06-18", "2025-11-25", MODERN)
ASKING = {
    "test_elicitation": ("elicitation", {"message": "?"}),
    "test_sampling": ("sampling", {"prompt": "?"}),
    "test_input_required_result_list_roots": ("roots", {}),
}


def _asks(method: str, message: Message) -> bool:
    return message.get("method") == method


def always(answer: Message) -> Callable[[Message], Message]:
    return lambda params: answer


def accepting(**content: Any) -> Callable[[Message], Message]:
    return always({"action": "accept", "content": content})


def answering(wire: Wire) -> Wire:
    wire.answers["elicitation/create"] = accepting(username="u", email="e", name="Alice", color="blue", ok=True)
    wire.answers["sampling/createMessage"] = always(SAMPLED)
    wire.answers["roots/list"] = always(ROOTS)
    return wire


@pytest.mark.requirement("ask:elicitation")
@pytest.mark.revisions(*WITH_ELICITATION)
def test_form_reaches_the_user_and_what_was_given_reaches_the_tool(connect: Connect) -> None:
    wire = connect(capabilities={"elicitation": {}})
    wire.answers["elicitation/create"] = accepting(username="u", email="e")
    said = wire.text("test_elicitation", {"message": "Who are you?"})
    assert said == 'User response: action=accept, content={"username":"u","email":"e"}'
    (question,) = [q for q in wire.questions if q["method"] == "elicitation/create"]
    assert question["params"]["message"] == "Who are you?"
    assert question["params"]["requestedSchema"]["required"] == ["username", "email"]


@pytest.mark.requirement("ask:sampling")
def test_sampling_reaches_the_model_of_the_client(connect: Connect) -> None:
    wire = answering(connect(capabilities={"sampling": {}}))
    assert wire.text("test_sampling", {"prompt": "The capital of France?"}) == "LLM response: Paris."


@pytest.mark.requirement("ask:sampling")
@pytest.mark.revisions("2025-11-25", MODERN)
def test_sampled_message_of_several_blocks_is_taken(connect: Connect) -> None:
    wire = connect(capabilities={"sampling": {}})
    blocks = [{"type": "text", "text": "Paris,"}, {"type": "text", "text": "of course."}]
    wire.answers["sampling/createMessage"] = always({**SAMPLED, "content": blocks})
    assert wire.text("test_sampling", {"prompt": "?"}) == "LLM response: Paris, of course."


@pytest.mark.requirement("ask:roots")
def test_roots_are_asked_for_and_named(connect: Connect) -> None:
    wire = answering(connect(capabilities={"roots": {}}))
    assert wire.text("test_input_required_result_list_roots") == "Roots: file:///one, file:///two"


@pytest.mark.requirement("ask:several")
@pytest.mark.revisions(*WITH_ELICITATION)
def test_questions_of_one_round_are_all_asked_before_any_is_answered(connect: Connect) -> None:
    wire = connect(capabilities=EVERYTHING)
    wire.answers["roots/list"] = always(ROOTS)
    if wire.revision == MODERN:
        result = wire.result("tools/call", {"name": "test_input_required_result_multiple_inputs"})
        asked = {key: question["method"] for key, question in result["inputRequests"].items()}
        assert asked == {
            "user_name": "elicitation/create",
            "greeting": "sampling/createMessage",
            "client_roots": "roots/list",
        }
    else:
        wire.start("tools/call", {"name": "test_input_required_result_multiple_inputs"})
        for method in ("elicitation/create", "sampling/createMessage", "roots/list"):
            wire.message(partial(_asks, method), method)


@pytest.mark.requirement("ask:several")
@pytest.mark.revisions(*WITH_ELICITATION)
def test_answers_of_one_round_find_their_questions(connect: Connect) -> None:
    wire = answering(connect(capabilities=EVERYTHING))
    said = wire.text("test_input_required_result_multiple_inputs")
    assert said == "Alice: Paris. Roots: file:///one, file:///two"


@pytest.mark.requirement("ask:rounds")
@pytest.mark.revisions(*WITH_ELICITATION)
def test_second_question_follows_the_first_answer(connect: Connect) -> None:
    wire = answering(connect(capabilities={"elicitation": {}}))
    assert wire.text("test_input_required_result_multi_round") == "Alice likes blue."
    assert [q["params"]["message"] for q in wire.questions if q["method"] == "elicitation/create"] == [
        "Step 1: What is your name?",
        "Step 2: What is your favorite color?",
    ]


@pytest.mark.requirement("bounds:ask-rounds")
@pytest.mark.revisions("2025-06-18", "2025-11-25")
def test_tool_that_asks_for_ever_is_ended(connect: Connect) -> None:
    wire = answering(connect(capabilities={"elicitation": {}}))
    error = wire.error("tools/call", {"name": "test_endless_questions", "arguments": {"questions": 1000}})
    assert error["code"] == -32603
    assert error["message"] == "test_endless_questions asked more than 16 questions in a row."


@pytest.mark.requirement("ask:declined")
@pytest.mark.revisions(*WITH_ELICITATION)
@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_user_who_does_not_answer_is_a_result(connect: Connect, action: str) -> None:
    wire = connect(capabilities={"elicitation": {}})
    wire.answers["elicitation/create"] = always({"action": action})
    result = wire.call("test_elicitation", {"message": "?"})
    assert result["isError"] is False
    assert result["content"][0]["text"] == f"User response: action={action}, content={{}}"


@pytest.mark.requirement("ask:undeclared")
@pytest.mark.revisions(MODERN)
@pytest.mark.parametrize("tool", ASKING)
def test_modern_client_without_the_capability_gets_an_error_that_names_it(connect: Connect, tool: str) -> None:
    capability, arguments = ASKING[tool]
    wire = connect(capabilities={name: {} for name in EVERYTHING if name != capability})
    error = wire.error("tools/call", {"name": tool, "arguments": arguments})
    assert error["code"] == -32021
    assert error["data"] == {"requiredCapabilities": {capability: {}}}


@pytest.mark.requirement("ask:undeclared")
@pytest.mark.revisions(*LEGACY)
@pytest.mark.parametrize("tool", ASKING)
def test_legacy_client_without_the_capability_gets_a_failure_and_is_never_asked(connect: Connect, tool: str) -> None:
    capability, arguments = ASKING[tool]
    wire = connect(capabilities={name: {} for name in EVERYTHING if name != capability})
    result = wire.call(tool, arguments)
    assert result["isError"] is True
    assert f"did not declare {capability}" in result["content"][0]["text"]
    assert [q["method"] for q in wire.questions if q["method"] != "roots/list"] == []


@pytest.mark.requirement("ask:elicitation")
@pytest.mark.revisions("2024-11-05", "2025-03-26")
def test_revision_without_elicitation_is_never_asked_whatever_was_declared(connect: Connect) -> None:
    wire = answering(connect(capabilities={"elicitation": {}}))
    assert wire.call("test_elicitation", {"message": "?"})["isError"] is True
    assert wire.questions == []


@pytest.mark.requirement("ask:url")
@pytest.mark.revisions(*WITH_ELICITATION)
def test_web_address_is_asked_only_where_revision_and_client_have_it(connect: Connect, revision: str) -> None:
    wire = answering(connect(capabilities={"elicitation": {"form": {}, "url": {}}}))
    result = wire.call("test_url_elicitation")
    assert result["isError"] is (revision == "2025-06-18")
    asked = [q["params"] for q in wire.questions if q["method"] == "elicitation/create"]
    assert [params["mode"] for params in asked] == ([] if revision == "2025-06-18" else ["url"])


@pytest.mark.requirement("ask:url")
@pytest.mark.revisions(MODERN)
@pytest.mark.parametrize("declared", [{}, {"form": {}}])
def test_client_of_forms_is_not_sent_to_a_web_address(connect: Connect, declared: Message) -> None:
    wire = connect(capabilities={"elicitation": declared})
    error = wire.error("tools/call", {"name": "test_url_elicitation"})
    assert (error["code"], error["data"]) == (-32021, {"requiredCapabilities": {"elicitation": {"url": {}}}})


@pytest.mark.requirement("ask:url")
@pytest.mark.revisions(MODERN)
def test_client_of_web_addresses_alone_is_not_given_a_form(connect: Connect) -> None:
    wire = connect(capabilities={"elicitation": {"url": {}}})
    assert wire.error("tools/call", {"name": "test_elicitation", "arguments": {"message": "?"}})["code"] == -32021


@pytest.mark.requirement("ask:client-error")
@pytest.mark.revisions(*LEGACY)
def test_error_of_the_client_becomes_a_failure_in_its_words(connect: Connect) -> None:
    wire = connect(capabilities={"sampling": {}})

    def refuse(params: Message) -> Message:
        raise AnswerError(-1, "The user rejected sampling")

    wire.answers["sampling/createMessage"] = refuse
    result = wire.call("test_sampling", {"prompt": "?"})
    assert result["isError"] is True
    assert result["content"][0]["text"] == (
        "The client answered sampling/createMessage with an error: The user rejected sampling"
    )


WRONG_ANSWERS = [
    ("test_elicitation", {"message": "?"}, "elicitation/create", {}),
    ("test_elicitation", {"message": "?"}, "elicitation/create", {"action": "maybe"}),
    ("test_elicitation", {"message": "?"}, "elicitation/create", {"action": "accept", "content": ["u"]}),
    ("test_sampling", {"prompt": "?"}, "sampling/createMessage", {"role": "assistant"}),
    ("test_sampling", {"prompt": "?"}, "sampling/createMessage", {"role": "assistant", "content": "text"}),
    ("test_input_required_result_list_roots", {}, "roots/list", {"roots": "none"}),
]


@IN_PROCESS
@pytest.mark.requirement("ask:wrong-answer")
@pytest.mark.revisions("2025-11-25", MODERN)
@pytest.mark.parametrize(("tool", "arguments", "method", "answer"), WRONG_ANSWERS)
def test_answer_that_is_none_is_never_given_to_the_tool(
    connect: Connect, tool: str, arguments: Message, method: str, answer: Message
) -> None:
    wire = connect(capabilities=EVERYTHING)
    wire.answers[method] = always(answer)
    if wire.revision == MODERN:
        first = wire.result("tools/call", {"name": tool, "arguments": arguments})
        (key,) = first["inputRequests"]
        again = {"name": tool, "arguments": arguments, "inputResponses": {key: answer}}
        error = wire.error("tools/call", {**again, "requestState": first["requestState"]})
        assert error["code"] == -32602
        assert error["message"].startswith(f"inputResponses/{key}: ")
    else:
        result = wire.call(tool, arguments)
        assert result["isError"] is True
        assert result["content"][0]["text"].startswith(f"The client's answer to {method} is none: ")


@pytest.mark.requirement("ask:prompts-and-resources")
@pytest.mark.revisions(*WITH_ELICITATION)
def test_prompt_and_resource_may_ask_too(connect: Connect) -> None:
    wire = connect(capabilities={"elicitation": {}})
    wire.answers["elicitation/create"] = accepting(context="a train", name="Alice")
    prompt = wire.complete("prompts/get", {"name": "test_input_required_result_prompt"})
    assert prompt["messages"][0]["content"]["text"] == "Use a train."
    contents = wire.complete("resources/read", {"uri": "test://who-is-reading"})["contents"]
    assert contents[0]["text"] == "Read by Alice."


@pytest.mark.requirement("ask:prompts-and-resources")
@pytest.mark.revisions(*WITH_ELICITATION)
def test_prompt_and_resource_without_an_answer_are_errors(connect: Connect) -> None:
    wire = connect(capabilities={"elicitation": {}})
    wire.answers["elicitation/create"] = always({"action": "decline"})
    for method, params in (
        ("prompts/get", {"name": "test_input_required_result_prompt"}),
        ("resources/read", {"uri": "test://who-is-reading"}),
    ):
        answer = wire.request(method, params)
        if wire.revision == MODERN:
            (key,) = answer["result"]["inputRequests"]
            answer = wire.request(method, {**params, "inputResponses": {key: {"action": "decline"}}})
        assert "(decline)" in answer["error"]["message"]


@IN_PROCESS
@pytest.mark.requirement("ask:only-what-was-declared")
@pytest.mark.revisions(*WITH_ELICITATION)
@pytest.mark.parametrize("capabilities", [{}, {"sampling": {}}, {"elicitation": {}}, EVERYTHING])
def test_tool_may_look_at_what_was_declared_and_asks_only_that(connect: Connect, capabilities: Message) -> None:
    wire = answering(connect(capabilities=capabilities))
    said = wire.text("test_input_required_result_capabilities")
    keys = [("user_name", "elicitation"), ("greeting", "sampling")]
    wanted = ", ".join(key for key, capability in keys if capability in capabilities)
    assert said == f"Asked: {wanted or 'nothing'}."


@pytest.mark.requirement("ask:hidden-tools")
@pytest.mark.revisions(*LEGACY)
def test_legacy_client_is_not_shown_tools_that_need_what_it_lacks(connect: Connect) -> None:
    shown = {tool["name"] for tool in connect(capabilities={"sampling": {}}).result("tools/list")["tools"]}
    assert "test_sampling" in shown
    assert "test_elicitation" not in shown
    assert "test_simple_text" in shown


@pytest.mark.requirement("ask:hidden-tools")
@pytest.mark.revisions(MODERN)
def test_modern_lists_do_not_depend_on_what_the_client_declared(connect: Connect) -> None:
    wire = connect()
    assert wire.result("tools/list") == connect(capabilities=EVERYTHING).result("tools/list")
    assert {"test_sampling", "test_elicitation"} <= {tool["name"] for tool in wire.result("tools/list")["tools"]}


@pytest.mark.requirement("ask:no-requests-in-modern")
@pytest.mark.revisions(MODERN)
def test_modern_client_gets_notifications_and_then_the_questions_as_a_result(connect: Connect) -> None:
    wire = connect(capabilities={"elicitation": {}})
    wire.log_level = "debug"
    result = wire.result("tools/call", {"name": "test_streaming_elicitation"}, meta={"progressToken": "p"})
    assert result["resultType"] == "input_required"
    assert [m["method"] for m in wire.notifications] == ["notifications/progress", "notifications/message"]
