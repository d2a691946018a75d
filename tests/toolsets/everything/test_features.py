"""Prompts, templates, completions, questions in both eras; each tool in a session, as cases.json shows it without."""

from __future__ import annotations

import base64
import gzip
import json
import re
from typing import Any

import pytest

from tests.links import ROOT
from tests.toolsets.test_cases import mismatch
from tests.wire import LEGACY, MODERN, Connect, Message

LATEST = LEGACY[-1]
ERAS = (LATEST, MODERN)
IN_PROCESS = pytest.mark.transports("in-process")

FOLDERS = sorted(
    path.parent
    for path in (ROOT / "tools/everything").glob("*/tool.json")
    if path.parent.name != "simulate_research_query"
)


def successes(folder: Any) -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = json.loads((folder / "cases.json").read_text("utf-8"))
    return [case for case in cases if not case["result"].get("is_error") and "error" not in case["result"]]


@pytest.mark.requirement("everything:every-tool")
@pytest.mark.revisions(LATEST, MODERN)
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_tool_gives_over_any_transport_and_in_any_era_what_it_gives_without_a_wire(
    connect: Connect, folder: Any, revision: str, transport: str
) -> None:
    name = json.loads((folder / "tool.json").read_text("utf-8"))["name"]
    for case in successes(folder):
        client = case.get("client", {})
        wire = connect("everything", capabilities=client.get("capabilities"))
        for method, answer in client.get("answers", {}).items():
            wire.answers[method] = _always(answer)
        if "before" in case and revision == MODERN and transport == "http":  # what goes on needs somebody who listens
            wire.start("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
            wire.notification("notifications/subscriptions/acknowledged")
        for earlier, arguments in case.get("before", []):
            wire.call(earlier, arguments)
        if name.endswith("-async"):  # without a task, which is this client's to make, there is nothing to look after
            assert "tasks.requests" not in wire.text(name, case["arguments"])
            continue
        assert mismatch(case["result"], wire.call(name, case["arguments"])) == ""


def _always(answer: Message) -> Any:
    return lambda params: answer


@pytest.mark.requirement("everything:research")
@pytest.mark.transports("in-process", "frozen")  # its stages take two seconds
@pytest.mark.revisions(LATEST, MODERN)
@pytest.mark.parametrize("ambiguous", [False, True])
def test_research_goes_through_its_stages_and_asks_what_was_meant(
    connect: Connect, ambiguous: bool, revision: str
) -> None:
    extension: Message = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
    wire = connect(
        "everything",
        capabilities={"elicitation": {"form": {}}, **(extension if revision == MODERN else {})},
        handshake=False,
    )
    capabilities = wire.open()["capabilities"]
    wire.answers["elicitation/create"] = lambda params: {"action": "accept", "content": {"interpretation": "current"}}
    params: Message = {"name": "simulate-research-query", "arguments": {"topic": "x", "ambiguous": ambiguous}}
    if "tasks" in capabilities:
        created = wire.result("tools/call", {**params, "task": {"ttl": 60_000}})
        result = wire.result("tasks/result", {"taskId": created["task"]["taskId"]})
    else:
        result = wire.complete("tools/call", params)
    said = result["content"][0]["text"]
    assert said.startswith("# Research Report: x (current)\n" if ambiguous else "# Research Report: x\n")
    assert ("**Clarification**: current" in said) == ambiguous
    assert len(wire.questions) == int(ambiguous)


@pytest.mark.requirement("everything:prompts")
@pytest.mark.revisions(*ERAS)
@pytest.mark.parametrize(
    ("name", "arguments", "texts"),
    [
        ("simple-prompt", {}, ["This is a simple prompt without arguments."]),
        ("args-prompt", {"city": "Rome", "state": "Lazio"}, ["What's weather in Rome, Lazio?"]),
        ("args-prompt", {"city": "Rome"}, ["What's weather in Rome?"]),
        (
            "completable-prompt",
            {"department": "Sales", "name": "Eve"},
            ["Please promote Eve to the head of the Sales team."],
        ),
        (
            "resource-prompt",
            {"resourceType": "Text", "resourceId": "3"},
            [
                "This prompt includes the Text resource with id: 3. Please analyze the following resource:",
                "Resource 3: ",
            ],
        ),
    ],
)
def test_prompt_is_filled_in(connect: Connect, name: str, arguments: dict[str, str], texts: list[str]) -> None:
    messages = connect("everything").result("prompts/get", {"name": name, "arguments": arguments})["messages"]
    contents = [message["content"] for message in messages]
    said = [content.get("text") or content["resource"]["text"] for content in contents]
    assert len(said) == len(texts)
    assert all(one.startswith(text) for one, text in zip(said, texts, strict=True))


@IN_PROCESS
@pytest.mark.requirement("everything:prompts")
@pytest.mark.revisions(*ERAS)
@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("args-prompt", {}, "Prompt args-prompt: argument city is required"),
        (
            "resource-prompt",
            {"resourceType": "Sound", "resourceId": "1"},
            "Invalid resourceType: Sound. Must be Text or Blob.",
        ),
        (
            "resource-prompt",
            {"resourceType": "Blob", "resourceId": "1.5"},
            "Invalid resourceId: 1.5. Must be a finite positive integer, such as 1.",
        ),
    ],
)
def test_prompt_with_a_wrong_argument_is_refused(
    connect: Connect, name: str, arguments: dict[str, str], said: str
) -> None:
    error = connect("everything").error("prompts/get", {"name": name, "arguments": arguments})
    assert (error["code"], error["message"]) == (-32602, said)


DEPARTMENT = {"ref": {"type": "ref/prompt", "name": "completable-prompt"}}
RESOURCE = {"ref": {"type": "ref/prompt", "name": "resource-prompt"}}
TEMPLATE = {"ref": {"type": "ref/resource", "uri": "demo://resource/dynamic/text/{resourceId}"}}


@IN_PROCESS
@pytest.mark.requirement("everything:completions")
@pytest.mark.revisions(*ERAS)
@pytest.mark.parametrize(
    ("params", "name", "value", "values"),
    [
        (DEPARTMENT, "department", "", ["Engineering", "Sales", "Marketing", "Support"]),
        (DEPARTMENT, "department", "S", ["Sales", "Support"]),
        ({**DEPARTMENT, "context": {"arguments": {"department": "Sales"}}}, "name", "", ["David", "Eve", "Frank"]),
        ({**DEPARTMENT, "context": {"arguments": {"department": "Sales"}}}, "name", "E", ["Eve"]),
        ({**DEPARTMENT, "context": {"arguments": {"department": "Nowhere"}}}, "name", "", []),
        (DEPARTMENT, "name", "", []),
        (RESOURCE, "resourceType", "", ["Text", "Blob"]),
        (RESOURCE, "resourceType", "T", ["Text"]),
        (RESOURCE, "resourceId", "12", ["12"]),
        (RESOURCE, "resourceId", "x", []),
        (TEMPLATE, "resourceId", "3", ["3"]),
        (TEMPLATE, "resourceId", "0", []),
    ],
)
def test_completion_is_that_of_the_reference_server(
    connect: Connect, params: Message, name: str, value: str, values: list[str]
) -> None:
    result = connect("everything").result("completion/complete", {**params, "argument": {"name": name, "value": value}})
    assert result["completion"] == {"values": values, "total": len(values), "hasMore": False}


@pytest.mark.requirement("everything:templates")
@pytest.mark.revisions(*ERAS)
def test_dynamic_resources_are_made_up_by_number(connect: Connect) -> None:
    wire = connect("everything")
    [text] = wire.result("resources/read", {"uri": "demo://resource/dynamic/text/12"})["contents"]
    assert re.fullmatch(r"Resource 12: This is a plaintext resource created at \d\d:\d\d:\d\d", text["text"])
    [blob] = wire.result("resources/read", {"uri": "demo://resource/dynamic/blob/12"})["contents"]
    assert blob["mimeType"] == "application/octet-stream"
    assert base64.b64decode(blob["blob"]).startswith(b"Resource 12: ")
    for wrong in ("0", "-1", "1.5", "x", "01x", "9" * 20):
        error = wire.error("resources/read", {"uri": f"demo://resource/dynamic/text/{wrong}"})
        assert error["data"] == {"uri": f"demo://resource/dynamic/text/{wrong}"}


@pytest.mark.requirement("everything:session-files")
@pytest.mark.revisions(*ERAS)
def test_compressed_file_is_a_resource_of_its_session(connect: Connect) -> None:
    wire = connect("everything")
    [link] = wire.call("gzip-file-as-resource", {"name": "a b.gz", "data": "data:text/plain,h%C3%A9"})["content"]
    listed = {item["uri"]: item for item in wire.result("resources/list")["resources"]}
    assert listed[link["uri"]]["size"] == link["size"]
    [content] = wire.result("resources/read", {"uri": link["uri"]})["contents"]
    assert gzip.decompress(base64.b64decode(content["blob"])) == "hé".encode()
    if wire.revision != MODERN:
        wire.notification("notifications/resources/list_changed")


@IN_PROCESS
@pytest.mark.requirement("everything:session-files")
@pytest.mark.revisions(LATEST)
def test_files_of_a_session_are_bounded_and_the_oldest_give_way(connect: Connect) -> None:
    wire = connect("everything")
    for number in range(66):
        wire.call("gzip-file-as-resource", {"name": f"{number}.gz", "data": "data:,x"})
    names = [item["name"] for item in wire.result("resources/list")["resources"] if item["name"].endswith(".gz")]
    assert names == [f"{number}.gz" for number in range(2, 66)]


@IN_PROCESS
@pytest.mark.requirement("everything:session-files")
@pytest.mark.revisions(LATEST)
def test_data_beyond_the_bound_of_the_configuration_is_refused(connect: Connect, environ: dict[str, str]) -> None:
    environ["GZIP_MAX_FETCH_SIZE"] = "4"
    wire = connect("everything")
    assert not wire.call("gzip-file-as-resource", {"data": "data:,four"})["isError"]
    result = wire.call("gzip-file-as-resource", {"data": "data:,fiver"})
    assert result["isError"]
    assert "is larger than 4 bytes" in result["content"][0]["text"]


@pytest.mark.requirement("everything:environment")
@pytest.mark.transports("stdio", "frozen")
@pytest.mark.revisions(LATEST)
def test_environment_is_shown_without_secrets_of_this_program(connect: Connect, environ: dict[str, str]) -> None:
    secret = {
        "XMPP_PASSWORD": "s-1",
        "XMPP_SERVICE": "s-2",
        "SCORPIO_HTTP_TOKEN": "s-3",
        "SCORPIO_XMPP_PASSWORD": "s-4",
    }
    environ |= {**secret, "SHOWN_TO_ALL": "yes"}
    wire = connect("everything")
    shown = json.loads(wire.text("get-env"))
    assert shown["SHOWN_TO_ALL"] == "yes"
    assert not shown.keys() & secret.keys()
    assert not {value for value in shown.values() if value.startswith("s-")}


@pytest.mark.requirement("everything:progress")
@pytest.mark.revisions(*ERAS)
def test_long_operation_reports_each_step(connect: Connect) -> None:
    wire = connect("everything")
    result = wire.call(
        "trigger-long-running-operation", {"duration": 0.05, "steps": 3}, meta={"progressToken": "steps"}
    )
    assert result["content"][0]["text"] == "Long running operation completed. Duration: 0.05 seconds, Steps: 3."
    assert [(note["progress"], note["total"]) for note in wire.progress("steps")] == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.requirement("everything:elicitation")
@pytest.mark.revisions("2025-06-18", LATEST, MODERN)
@IN_PROCESS
def test_form_has_fields_of_the_kinds_its_revision_knows(connect: Connect, revision: str) -> None:
    wire = connect("everything", capabilities={"elicitation": {}})
    wire.answers["elicitation/create"] = lambda params: {"action": "accept", "content": {"name": "x"}}
    assert wire.text("trigger-elicitation-request").startswith("✅")
    [question] = wire.questions
    fields = question["params"]["requestedSchema"]["properties"]
    assert "legacyTitledEnum" in fields
    assert ("untitledMultipleSelectEnum" in fields) == (revision != "2025-06-18")


@pytest.mark.requirement("everything:elicitation")
@pytest.mark.revisions(LATEST)
def test_url_by_error_is_told_once_and_then_asked(connect: Connect) -> None:
    wire = connect("everything", capabilities={"elicitation": {"url": {}}})
    wire.answers["elicitation/create"] = lambda params: {"action": "accept"}
    arguments = {"url": "https://example.com/x", "errorPath": True}
    for _ in range(2):
        error = wire.error("tools/call", {"name": "trigger-url-elicitation", "arguments": arguments})
        assert error["code"] == -32042
        [question] = error["data"]["elicitations"]
        assert question.keys() == {"mode", "message", "url", "elicitationId"}
        assert (question["mode"], question["url"]) == ("url", "https://example.com/x")
        assert wire.text("trigger-url-elicitation", arguments).startswith("✅")


def _task(status: str) -> Message:
    at = "2026-01-01T00:00:00Z"
    return {"taskId": "T", "status": status, "createdAt": at, "lastUpdatedAt": at, "ttl": 60_000, "pollInterval": 10}


SAMPLED: Message = {"role": "assistant", "content": {"type": "text", "text": "hi"}, "model": "m"}
FILLED: Message = {"action": "accept", "content": {"name": "Bob"}}


@pytest.mark.requirement("everything:client-tasks")
@pytest.mark.revisions(LATEST)
@pytest.mark.parametrize(
    ("name", "arguments", "method", "answer", "said"),
    [
        ("trigger-sampling-request-async", {"prompt": "p"}, "sampling/createMessage", SAMPLED, '"text": "hi"'),
        ("trigger-elicitation-request-async", {}, "elicitation/create", FILLED, "- Your Name: Bob"),
    ],
)
def test_task_of_the_client_is_looked_after_and_fetched(
    connect: Connect, name: str, arguments: Message, method: str, answer: Message, said: str
) -> None:
    feature, action = method.split("/")
    wire = connect("everything", capabilities={feature: {}, "tasks": {"requests": {feature: {action: {}}}}})
    statuses = iter(["working", "input_required", "completed"])
    wire.answers[method] = lambda params: {"task": _task("working")}
    wire.answers["tasks/get"] = lambda params: _task(next(statuses))
    wire.answers["tasks/result"] = lambda params: answer
    text = wire.text(name, arguments)
    assert said in text
    assert "Task created: T\nworking\ninput_required\ncompleted" in text
    first, *others = [(question["method"], question["params"]) for question in wire.questions]
    assert first[0] == method
    assert first[1]["task"]["ttl"] >= 300_000
    assert others == [("tasks/get", {"taskId": "T"})] * 3 + [("tasks/result", {"taskId": "T"})]


@IN_PROCESS
@pytest.mark.requirement("everything:client-tasks")
@pytest.mark.revisions(LATEST)
@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_task_of_the_client_that_gives_no_answer_is_told(connect: Connect, status: str) -> None:
    capabilities: Message = {"sampling": {}, "tasks": {"requests": {"sampling": {"createMessage": {}}}}}
    wire = connect("everything", capabilities=capabilities)
    wire.answers["sampling/createMessage"] = lambda params: {"task": _task("working")}
    wire.answers["tasks/get"] = lambda params: _task(status)
    result = wire.call("trigger-sampling-request-async", {"prompt": "p"})
    assert result["isError"]
    assert status in result["content"][0]["text"]
