"""The four lists, in the words of each revision."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.links import ROOT
from tests.wire import MODERN

if TYPE_CHECKING:
    from tests.wire import Connect

IN_PROCESS = pytest.mark.transports("in-process")
"""For values that no transport looks at."""

METHODS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
TOOL_KEYS_SINCE_2025_06_18 = {"name", "description", "inputSchema", "annotations", "title", "outputSchema"}
TOOL_KEYS = {
    "2024-11-05": {"name", "description", "inputSchema"},
    "2025-03-26": {"name", "description", "inputSchema", "annotations"},
    "2025-11-25": TOOL_KEYS_SINCE_2025_06_18 | {"execution"},
}


@pytest.mark.requirement("lists:every-revision")
@pytest.mark.parametrize(("method", "member"), METHODS.items())
def test_list_is_the_same_each_time_and_holds_what_the_toolset_has(connect: Connect, method: str, member: str) -> None:
    wire = connect(capabilities={"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}})
    first = wire.result(method)
    assert first[member]
    assert wire.result(method) == first
    assert "nextCursor" not in first


@IN_PROCESS
@pytest.mark.requirement("lists:empty")
@pytest.mark.parametrize("method", ["prompts/list", "resources/list", "resources/templates/list"])
def test_list_of_nothing_is_empty_and_no_error(connect: Connect, method: str) -> None:
    assert connect("sum").result(method)[METHODS[method]] == []


@IN_PROCESS
@pytest.mark.requirement("lists:cursor")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("cursor", ["next", "", 0, {}, []])
def test_cursor_that_was_never_given_is_invalid_params(connect: Connect, method: str, cursor: object) -> None:
    assert connect().error(method, {"cursor": cursor})["code"] == -32602


@IN_PROCESS
@pytest.mark.requirement("lists:cursor")
@pytest.mark.parametrize("method", METHODS)
def test_null_cursor_is_as_none(connect: Connect, method: str) -> None:
    wire = connect()
    assert wire.result(method, {"cursor": None}) == wire.result(method)


@pytest.mark.requirement("lists:members-by-revision")
def test_tool_has_the_members_of_its_revision_and_no_other(connect: Connect, revision: str) -> None:
    tools = connect().result("tools/list")["tools"]
    allowed = TOOL_KEYS.get(revision, TOOL_KEYS_SINCE_2025_06_18)
    assert set().union(*tools) == allowed


@IN_PROCESS
@pytest.mark.requirement("lists:members-by-revision")
@pytest.mark.parametrize("method", ["prompts/list", "resources/list", "resources/templates/list"])
def test_titles_are_listed_where_the_revision_has_them(connect: Connect, revision: str, method: str) -> None:
    items = connect().result(method)[METHODS[method]]
    assert {"title" in item for item in items} == {revision not in ("2024-11-05", "2025-03-26")}


@pytest.mark.requirement("lists:schema-whole")
def test_schema_reaches_the_client_word_for_word(connect: Connect) -> None:
    tools = {tool["name"]: tool for tool in connect().result("tools/list")["tools"]}
    path = ROOT / "tools" / "conformance" / "json_schema_2020_12_tool" / "tool.json"
    written = json.loads(path.read_text("utf-8"))
    assert tools["json_schema_2020_12_tool"]["inputSchema"] == written["inputSchema"]
    assert "x-scorpio" not in tools["json_schema_2020_12_tool"]


@IN_PROCESS
@pytest.mark.requirement("lists:cache-hints")
@pytest.mark.parametrize("method", METHODS)
def test_modern_list_says_how_long_it_may_be_kept(connect: Connect, revision: str, method: str) -> None:
    result = connect().result(method)
    hints = {key: result[key] for key in ("ttlMs", "cacheScope", "resultType") if key in result}
    assert hints == ({"ttlMs": 60_000, "cacheScope": "private", "resultType": "complete"} if revision == MODERN else {})


@pytest.mark.requirement("toolsets:prefix")
@pytest.mark.revisions(MODERN)
def test_prefix_of_a_toolset_names_its_tools(connect: Connect) -> None:
    wire = connect("sum:math_")
    assert [tool["name"] for tool in wire.result("tools/list")["tools"]] == ["math_sum"]
    assert wire.text("math_sum", {"a": 1, "b": 2}) == "1 + 2 = 3"
