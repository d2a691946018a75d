"""Several toolsets in one server: prefixes, and what cannot be served together."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scorpio.toolset import Features, Toolset, ToolsetError, chosen
from tests.server_process import ServerProcess
from tests.wire import LEGACY, MODERN, Connect

Start = Callable[..., ServerProcess]

WAY_OUT = "Give one a prefix: --toolsets"


@pytest.mark.requirement("toolsets:collision")
@pytest.mark.parametrize(
    ("toolsets", "said"),
    [
        (
            ["schemas", "everything"],
            f"The tool 'echo' is in both 'schemas' and 'everything'. {WAY_OUT} schemas,everything:every_",
        ),
        (
            ["everything:x_", "schemas:x_"],
            f"The tool 'x_echo' is in both 'everything' and 'schemas'. {WAY_OUT} everything,schemas:schem_",
        ),
        (["sum", "sum"], "The toolset 'sum' is named twice. Once is enough."),
        (["sum", "nothing"], "There is no toolset 'nothing'. --toolsets takes names of folders in tools/."),
        (["sum:a b"], "'a b' is no prefix: it has letters, digits, _ and -, at most 64."),
    ],
)
def test_toolsets_that_cannot_be_served_end_the_start_with_the_way_out(
    start: Start, toolsets: list[str], said: str
) -> None:
    server = start(*toolsets)
    assert server.status() == 2
    assert server.stderr() == f"scorpio: {said}\n"
    assert server.rest() == b""


@pytest.mark.requirement("toolsets:prefix")
@pytest.mark.revisions(LEGACY[-1], MODERN)
def test_toolsets_with_tools_of_one_name_are_served_under_a_prefix(connect: Connect) -> None:
    wire = connect("schemas", "everything:every-", "sum")
    names = [tool["name"] for tool in wire.result("tools/list")["tools"]]
    assert names[:4] == ["list_schemas", "get_schema", "echo", "every-echo"]
    assert names[-1] == "sum"
    assert wire.text("every-echo", {"message": "x"}) == "Echo: x"
    assert wire.call("echo", {"schema_id": "__schemaless__", "payload": 1})["structuredContent"]["payload"] == 1
    assert wire.text("every-toggle-logging").startswith("Started")
    assert wire.error("tools/call", {"name": "toggle-logging"})["code"] == -32602
    prompt = wire.result("prompts/get", {"name": "every-simple-prompt"})
    assert prompt["messages"][0]["content"]["type"] == "text"
    uris = {resource["uri"] for resource in wire.result("resources/list")["resources"]}
    assert {"schema://zenlix-agent-stage-v1", "demo://resource/static/document/features.md"} <= uris


@pytest.mark.requirement("toolsets:collision")
def test_methods_of_one_name_are_refused() -> None:
    with pytest.raises(ToolsetError, match=r"The method 'test/simpleText' is in both .* methods have no prefix"):
        Features([Toolset("conformance", "a_"), Toolset("conformance", "b_")])


@pytest.mark.requirement("toolsets:collision")
def test_older_names_stand_beside_the_tools_and_carry_the_prefix_too() -> None:
    features = Features(chosen(["everything:every_"]))
    assert {name: entry.name for name, entry in features.older_tools.items()} == {
        "every_toggle-logging": "every_toggle-simulated-logging",
        "every_long-running-operation": "every_trigger-long-running-operation",
        "every_sampling-request": "every_trigger-sampling-request",
    }
