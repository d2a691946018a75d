"""Prompts, resources, templates and completions, in every revision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.wire import MODERN

if TYPE_CHECKING:
    from tests.wire import Connect, Message

IN_PROCESS = pytest.mark.transports("in-process")
"""For values that no transport looks at."""

PROMPT = {"type": "ref/prompt", "name": "test_prompt_with_arguments"}
TEMPLATE = {"type": "ref/resource", "uri": "test://template/{id}/data"}


@pytest.mark.requirement("prompts:get")
def test_prompt_fills_in_its_arguments(connect: Connect) -> None:
    result = connect().result(
        "prompts/get", {"name": "test_prompt_with_arguments", "arguments": {"arg1": "hello", "arg2": "world"}}
    )
    said = "Prompt with arguments: arg1='hello', arg2='world'"
    assert result["messages"] == [{"role": "user", "content": {"type": "text", "text": said}}]


@pytest.mark.requirement("prompts:get")
@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("test_simple_prompt", ["text"]),
        ("test_prompt_with_image", ["image", "text"]),
        ("test_prompt_with_embedded_resource", ["resource", "text"]),
    ],
)
def test_prompt_holds_every_kind_of_content(connect: Connect, name: str, kinds: list[str]) -> None:
    result = connect().result("prompts/get", {"name": name, "arguments": {"resourceUri": "test://example-resource"}})
    assert [message["content"]["type"] for message in result["messages"]] == kinds


@IN_PROCESS
@pytest.mark.requirement("prompts:errors")
@pytest.mark.parametrize(
    "params",
    [
        {"name": "nothing"},
        {},
        {"name": 7},
        {"name": "test_prompt_with_arguments"},
        {"name": "test_prompt_with_arguments", "arguments": {"arg1": "x"}},
        {"name": "test_prompt_with_arguments", "arguments": {"arg1": "x", "arg2": 7}},
        {"name": "test_prompt_with_arguments", "arguments": ["x", "y"]},
    ],
)
def test_prompt_that_is_unknown_or_lacks_an_argument_is_invalid_params(connect: Connect, params: Message) -> None:
    assert connect().error("prompts/get", params)["code"] == -32602


@pytest.mark.requirement("resources:read")
@pytest.mark.parametrize(
    ("uri", "content"),
    [
        ("test://static-text", {"mimeType": "text/plain", "text": "This is the content of the static text resource."}),
        (
            "test://template/123/data",
            {"mimeType": "application/json", "text": '{"id":"123","templateTest":true,"data":"Data for ID: 123"}'},
        ),
    ],
)
def test_resource_is_read_by_its_uri(connect: Connect, revision: str, uri: str, content: Message) -> None:
    result = connect().result("resources/read", {"uri": uri})
    assert result["contents"] == [{"uri": uri, **content}]
    assert ("ttlMs" in result, "cacheScope" in result) == (revision == MODERN, revision == MODERN)


@pytest.mark.requirement("resources:read")
def test_binary_resource_is_base64(connect: Connect) -> None:
    (content,) = connect().result("resources/read", {"uri": "test://static-binary"})["contents"]
    assert content["blob"].startswith("iVBORw0KGgo")
    assert "text" not in content


@IN_PROCESS
@pytest.mark.requirement("resources:not-found")
@pytest.mark.parametrize(
    "uri",
    [
        "test://nonexistent-resource-for-conformance-testing",
        "",
        "file:///etc/passwd",
        "test://template//data",
        "test://template/a/b/data",
        "test://template/x/data",
        "test://template/{id}/data",
        "test://static-text/../static-binary",
        "TEST://STATIC-TEXT",
    ],
)
def test_unknown_resource_is_the_revisions_error_with_the_uri(connect: Connect, revision: str, uri: str) -> None:
    error = connect().error("resources/read", {"uri": uri})
    assert error["code"] == (-32602 if revision == MODERN else -32002)
    assert error["data"] == {"uri": uri}


@IN_PROCESS
@pytest.mark.requirement("resources:bad-uri")
@pytest.mark.parametrize("method", ["resources/read", "resources/subscribe", "resources/unsubscribe"])
@pytest.mark.parametrize("params", [{}, {"uri": None}, {"uri": 7}, {"uri": ["test://static-text"]}])
@pytest.mark.revisions("2024-11-05", "2025-11-25")
def test_uri_that_is_no_string_is_invalid_params(connect: Connect, method: str, params: Message) -> None:
    assert connect().error(method, params)["code"] == -32602


@IN_PROCESS
@pytest.mark.requirement("completion:values")
@pytest.mark.parametrize(
    ("ref", "argument", "values"),
    [
        (PROMPT, {"name": "arg1", "value": "par"}, ["paris", "park", "party"]),
        (PROMPT, {"name": "arg1", "value": "x"}, []),
        (PROMPT, {"name": "unknown", "value": ""}, []),
        (TEMPLATE, {"name": "id", "value": "2"}, ["2", *(str(n) for n in range(20, 30))]),
        ({"type": "ref/prompt", "name": "test_simple_prompt"}, {"name": "any", "value": ""}, []),
        ({"type": "ref/resource", "uri": "test://static-text"}, {"name": "any", "value": ""}, []),
    ],
)
def test_completion_gives_what_begins_with_the_value(
    connect: Connect, ref: Message, argument: Message, values: list[str]
) -> None:
    result = connect().result("completion/complete", {"ref": ref, "argument": argument})
    assert result["completion"] == {"values": values, "total": len(values), "hasMore": False}


@pytest.mark.requirement("completion:bound")
def test_completion_gives_a_hundred_values_and_says_that_there_are_more(connect: Connect) -> None:
    argument = {"name": "arg2", "value": "value-"}
    completion = connect().result("completion/complete", {"ref": PROMPT, "argument": argument})["completion"]
    assert len(completion["values"]) == 100
    assert (completion["total"], completion["hasMore"]) == (150, True)


@pytest.mark.requirement("completion:context")
def test_completion_knows_the_arguments_that_were_chosen(connect: Connect) -> None:
    params = {
        "ref": PROMPT,
        "argument": {"name": "arg2", "value": "par"},
        "context": {"arguments": {"arg1": "paris"}},
    }
    assert connect().result("completion/complete", params)["completion"]["values"] == ["paris-too"]


@IN_PROCESS
@pytest.mark.requirement("completion:errors")
@pytest.mark.parametrize(
    "change",
    [
        {"ref": None},
        {"ref": {"type": "ref/tool", "name": "x"}},
        {"ref": {"type": "ref/prompt", "name": "nothing"}},
        {"ref": {"type": "ref/prompt"}},
        {"ref": {"type": "ref/resource", "uri": "test://nothing"}},
        {"ref": {"type": "ref/resource", "uri": ["test://static-text"]}},
        {"argument": None},
        {"argument": {"name": "arg1"}},
        {"argument": {"name": "arg1", "value": 7}},
    ],
)
def test_completion_of_the_wrong_shape_is_invalid_params(connect: Connect, change: dict[str, Any]) -> None:
    params = {"ref": PROMPT, "argument": {"name": "arg1", "value": ""}, **change}
    assert connect().error("completion/complete", params)["code"] == -32602
