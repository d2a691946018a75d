"""The MCP Inspector's command line over each of its transports, in both eras."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.clients.node import program, run
from tests.links import ROOT

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    from tests.http_link import HttpProcess

ERAS = ("legacy", "auto", "modern")
FROZEN_WAYS = [("frozen", "stdio"), ("frozen", "http"), ("frozen", "sse")]
BOUND_S = 100

over_all = pytest.mark.parametrize(("build", "way"), [("source", "stdio"), *FROZEN_WAYS])
over_frozen = pytest.mark.parametrize(("build", "way"), FROZEN_WAYS)
"""A run of it takes more than a second: what differs between methods is shown of the executable only."""


@pytest.fixture
def inspect(
    command: Callable[..., list[str]],
    start_http: Callable[..., HttpProcess],
    environ: dict[str, str],
    tmp_path: Path,
    way: str,
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """`inspect("sum", "--method", "tools/list")`: one run of it against a server of that toolset."""
    inspector = program("mcp-inspector")

    def inspect(toolset: str, *options: str) -> subprocess.CompletedProcess[str]:
        if way == "stdio":
            variables = [part for name, value in environ.items() for part in ("-e", f"{name}={value}")]
            target = [*variables, "--cwd", str(ROOT), *command(toolset)]
        else:
            server = start_http(toolset, environ={**environ, "LOG_LEVEL": "error"})
            target = [f"http://127.0.0.1:{server.port}/{'sse' if way == 'sse' else 'mcp'}"]
        return run(inspector, "--cli", *target, "-q", *options, environ=environ, cwd=tmp_path, bound_s=BOUND_S)

    return inspect


def result(ended: subprocess.CompletedProcess[str]) -> Any:
    assert ended.returncode == 0, ended.stderr + ended.stdout
    return json.loads(ended.stdout)


@over_all
@pytest.mark.parametrize("era", ERAS)
def test_tools_are_listed_without_a_complaint(
    inspect: Callable[..., subprocess.CompletedProcess[str]], era: str
) -> None:
    ended = inspect("core", "--method", "tools/list", "--strict", "--protocol-era", era)
    assert "Bash" in {tool["name"] for tool in result(ended)["tools"]}
    assert ended.stderr == ""


@over_all
@pytest.mark.parametrize("era", ERAS)
def test_a_tool_is_called(inspect: Callable[..., subprocess.CompletedProcess[str]], era: str) -> None:
    ended = inspect(
        "sum",
        "--method",
        "tools/call",
        "--tool-name",
        "sum",
        "--tool-args-json",
        '{"a":3,"b":4}',
        "--protocol-era",
        era,
    )
    assert result(ended)["content"] == [{"type": "text", "text": "3 + 4 = 7"}]


@over_frozen
@pytest.mark.parametrize("era", ["legacy", "modern"])  # how `auto` chooses is shown above
@pytest.mark.parametrize(
    ("options", "member"),
    [
        (["--method", "prompts/list"], "prompts"),
        (["--method", "prompts/get", "--prompt-name", "test_simple_prompt"], "messages"),
        (["--method", "resources/list"], "resources"),
        (["--method", "resources/templates/list"], "resourceTemplates"),
        (["--method", "resources/read", "--uri", "test://static-text"], "contents"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_tool_is_served_too(
    inspect: Callable[..., subprocess.CompletedProcess[str]], era: str, options: list[str], member: str
) -> None:
    assert result(inspect("conformance", *options, "--protocol-era", era))[member]


@over_all
@pytest.mark.parametrize("era", ERAS)
def test_an_error_is_told_as_one(inspect: Callable[..., subprocess.CompletedProcess[str]], era: str) -> None:
    ended = inspect("sum", "--method", "tools/call", "--tool-name", "nope", "--protocol-era", era)
    assert ended.returncode != 0
    assert "Traceback" not in ended.stderr


@over_all
def test_a_load_of_calls_is_answered_without_an_error(
    inspect: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    load = ["--load", "--load-requests", "500", "--load-concurrency", "50", "--format", "json"]
    call = ["--method", "tools/call", "--tool-name", "sum", "--tool-args-json", '{"a":3,"b":4}']
    summary = json.dumps(result(inspect("sum", *call, *load)))
    assert '"errors": 0' in summary or '"errorRate": 0' in summary, summary
