"""The reference server's lists, name for name and schema for schema, in both eras and by what the client can do."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.lacking import lacking
from tests.wire import LEGACY, MODERN, Connect

LATEST = LEGACY[-1]
FIXTURES = os.environ.get("SCORPIO_FIXTURES")
"""Recorded data of others, which this repository does not hold; the reference server's dumps stand beside it."""

EVERY_CAPABILITY: dict[str, Any] = {
    "roots": {},
    "sampling": {},
    "elicitation": {"form": {}, "url": {}},
    "tasks": {"requests": {"sampling": {"createMessage": {}}, "elicitation": {"create": {}}}},
}
MEMBERS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
UNCONDITIONAL = [
    "echo",
    "get-annotated-message",
    "get-env",
    "get-resource-links",
    "get-resource-reference",
    "get-structured-content",
    "get-sum",
    "get-tiny-image",
    "gzip-file-as-resource",
    "toggle-simulated-logging",
    "toggle-subscriber-updates",
    "trigger-long-running-operation",
    "simulate-research-query",
]


def dump(method: str) -> list[dict[str, Any]]:
    if FIXTURES is None:
        lacking("needs SCORPIO_FIXTURES: the reference server's dumps stand beside it")
    path = Path(FIXTURES).parent / "peers" / "everything" / (method.replace("/", "_") + ".json")
    found: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))["result"][MEMBERS[method]]
    return found


@pytest.mark.requirement("everything:reference")
@pytest.mark.revisions(LATEST)
@pytest.mark.parametrize("method", MEMBERS)
def test_list_is_that_of_the_reference_server(connect: Connect, method: str) -> None:
    wire = connect("everything", capabilities=EVERY_CAPABILITY)
    assert wire.result(method)[MEMBERS[method]] == dump(method)


@pytest.mark.requirement("everything:reference")
@pytest.mark.revisions(MODERN)
@pytest.mark.parametrize("method", MEMBERS)
def test_modern_list_is_that_of_the_reference_server_for_any_client(connect: Connect, method: str) -> None:
    wire = connect("everything")
    expected = [{k: v for k, v in item.items() if k != "execution"} for item in dump(method)]
    assert wire.result(method)[MEMBERS[method]] == expected


@pytest.mark.requirement("everything:conditional")
@pytest.mark.revisions(LATEST)
@pytest.mark.parametrize(
    ("capabilities", "more"),
    [
        ({}, []),
        ({"roots": {}}, ["get-roots-list"]),
        ({"sampling": {}}, ["trigger-sampling-request"]),
        ({"elicitation": {}}, ["trigger-elicitation-request"]),
        ({"elicitation": {"form": {}}}, ["trigger-elicitation-request"]),
        ({"elicitation": {"url": {}}}, ["trigger-url-elicitation"]),
        ({"elicitation": {"form": {}, "url": {}}}, ["trigger-elicitation-request", "trigger-url-elicitation"]),
        ({"tasks": EVERY_CAPABILITY["tasks"]}, []),
        (
            {"sampling": {}, "tasks": EVERY_CAPABILITY["tasks"]},
            ["trigger-sampling-request", "trigger-sampling-request-async"],
        ),
        (
            {"elicitation": {}, "tasks": {"requests": {"elicitation": {"create": {}}}}},
            ["trigger-elicitation-request", "trigger-elicitation-request-async"],
        ),
        ({"sampling": {}, "tasks": {"requests": {}}}, ["trigger-sampling-request"]),
    ],
    ids=str,
)
@pytest.mark.transports("in-process")
def test_session_is_shown_the_tools_its_client_can_serve(
    connect: Connect, capabilities: dict[str, Any], more: list[str]
) -> None:
    wire = connect("everything", capabilities=capabilities)
    assert sorted(tool["name"] for tool in wire.result("tools/list")["tools"]) == sorted(UNCONDITIONAL + more)


@pytest.mark.requirement("everything:older-names")
@pytest.mark.revisions(LATEST, MODERN)
@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("long-running-operation", {"duration": 0.01, "steps": 1}, "Long running operation completed."),
        ("sampling-request", {"prompt": "x"}, "LLM sampling result:"),
        ("toggle-logging", {}, "Started simulated, random-leveled logging"),
    ],
)
def test_older_name_calls_the_tool_and_is_not_listed(
    connect: Connect, name: str, arguments: dict[str, Any], said: str
) -> None:
    wire = connect("everything", capabilities={"sampling": {}})
    wire.answers["sampling/createMessage"] = lambda params: {
        "role": "assistant",
        "content": {"type": "text", "text": "x"},
        "model": "m",
    }
    assert wire.text(name, arguments).startswith(said)
    assert name not in [tool["name"] for tool in wire.result("tools/list")["tools"]]


@pytest.mark.requirement("everything:reference")
@pytest.mark.revisions(LATEST, MODERN)
def test_each_document_is_read_and_says_something(connect: Connect) -> None:
    wire = connect("everything")
    resources = wire.result("resources/list")["resources"]
    for resource in resources:
        [content] = wire.result("resources/read", {"uri": resource["uri"]})["contents"]
        assert content["uri"] == resource["uri"]
        assert content["mimeType"] == resource["mimeType"]
        assert content["text"].startswith("# ")
    for wrong in ("/demo", "", "../state.py", "%2e%2e/state.py", "features.md/"):
        assert "error" in wire.request("resources/read", {"uri": f"demo://resource/static/document/{wrong}"})


@pytest.mark.requirement("everything:reference")
@pytest.mark.transports("in-process")
@pytest.mark.revisions(LATEST)
def test_instructions_are_those_of_their_document(connect: Connect) -> None:
    wire = connect("everything", handshake=False)
    instructions = wire.open()["instructions"]
    uri = "demo://resource/static/document/instructions.md"
    [content] = wire.result("resources/read", {"uri": uri})["contents"]
    assert "\n".join(line[2:] for line in content["text"].splitlines() if line.startswith(">")) == instructions
