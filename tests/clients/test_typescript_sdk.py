"""The official TypeScript client over Streamable HTTP and SSE, in each way it can choose an era."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.clients.node import NPM, node_path, package
from tests.links import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.http_link import HttpProcess

BOUND_S = 60
CLIENT = "@modelcontextprotocol/client"
SCRIPT = ROOT / "tests" / "clients" / "typescript_client.mjs"
TOKEN = "a-token-of-this-test-0123456789"

pytestmark = pytest.mark.builds("frozen")


@pytest.fixture
def run(start_http: Callable[..., HttpProcess], environ: dict[str, str]) -> Callable[..., dict[str, Any]]:
    """`run("http", "legacy")`: what the client saw."""
    package(CLIENT)
    path = node_path()

    def run(way: str, mode: str, *, token: str = "") -> dict[str, Any]:
        variables = {**environ, "LOG_LEVEL": "warning"} | ({"SCORPIO_HTTP_TOKEN": token} if token else {})
        server = start_http("conformance", "sum", environ=variables)
        url = f"http://127.0.0.1:{server.port}/{'sse' if way == 'sse' else 'mcp'}"
        module = (NPM / CLIENT / "dist" / "index.mjs").as_uri()
        node = shutil.which("node", path=path)
        ended = subprocess.run(
            [str(node), str(SCRIPT), module, url, way, mode, *([token] if token else [])],
            env={**environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
            timeout=BOUND_S,
        )
        assert ended.returncode == 0, ended.stderr + ended.stdout + server.stderr()
        server.stop()
        assert server.wait(BOUND_S) == 0
        assert "Internal error" not in server.stderr()
        said: dict[str, Any] = json.loads(ended.stdout)
        return said

    return run


@pytest.mark.requirement("http:clients")
@pytest.mark.parametrize(
    ("way", "mode", "version"),
    [
        ("http", "legacy", "2025-11-25"),
        ("http", "auto", "2026-07-28"),
        ("http", "modern", "2026-07-28"),
        ("sse", "legacy", "2025-11-25"),
    ],
)
def test_client_does_all_that_clients_do(run: Callable[..., dict[str, Any]], way: str, mode: str, version: str) -> None:
    said = run(way, mode)
    modern = version == "2026-07-28"
    assert {"sum", "test_simple_text", "test_header_parameter"} <= set(said.pop("tools"))
    # this client takes an answer before a notification that came in one packet with it
    assert said.pop("progress")[:2] == [0, 50]
    said["errors"] = [error for error in said["errors"] if "progress notification for an unknown token" not in error]
    assert said == {
        "version": version,
        "session": way == "http" and not modern,
        "sum": "3 + 4 = 7",
        "header": "Region: žluť and space ",
        "unknown_tool": -32602,
        "missing_resource": -32602,  # the client makes one of the legacy code
        "prompt": 1,
        "resource": "text/plain",
        "elicitation": "Hello, Ada!",
        "several": "Ada: Paris. Roots: file:///project",
        "many": True,
        "aborted": True,
        "counts": "started 1, finished 0, cancelled 1",
        "updated": "test://watched-resource",
        "changed": True,
        "errors": [],
    } | ({} if modern else {"reconnection": "Answered after the connection was let go."})


@pytest.mark.requirement("http:clients")
def test_client_with_the_token_is_served(run: Callable[..., dict[str, Any]]) -> None:
    assert run("http", "auto", token=TOKEN)["sum"] == "3 + 4 = 7"
