"""What is asked of every server: the handshake, and the requests, as bytes on the wire.

Starts nothing and measures nothing. Every request has its id, seven digits, at the same byte: the C programs count on
it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

FIRST_ID = 1_000_000
REVISION = "2025-06-18"
"""Both eras of every peer speak it, so nobody is measured in a mode of his own."""

CODE = 'def area(radius: float) -> float:\n\t"""πr² of a circle."""\n\treturn 3.14159 * radius**2\n'
"""What fills large payloads: quotes, escapes and a few characters beyond ASCII, as source text has them."""


@dataclass(frozen=True)
class Workload:
    name: str
    method: str
    params: dict[str, Any] | None = None
    toolset: str = "sum"
    in_flight: int = 1
    count: int = 20_000
    """Round trips of one run at full size; the time budget may end it sooner."""
    pause_ms: int = 0
    """Before each request, outside of the timed part."""
    for_rivals: bool = True
    """False: it is about scorpio's own tools, or another workload compares just that; a whole run has its time."""

    @property
    def request(self) -> bytes:
        return line(self.method, self.params, FIRST_ID + 1)


def line(method: str, params: dict[str, Any] | None, id_: int | None = None) -> bytes:
    """One message as its line: `jsonrpc` first, then `id`, which the C programs look for at that place."""
    message: dict[str, Any] = {"jsonrpc": "2.0"}
    if id_ is not None:
        message["id"] = id_
    message["method"] = method
    if params is not None:
        message["params"] = params
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def handshake() -> bytes:
    client = {"name": "benchmark", "version": "1"}
    params = {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": client}
    return line("initialize", params, FIRST_ID) + line("notifications/initialized", None)


def filler(size_bytes: int) -> str:
    """Text whose JSON takes `size_bytes`, give or take one line of CODE."""
    per_copy = len(json.dumps(CODE, ensure_ascii=False).encode()) - 2
    return CODE * (size_bytes // per_copy)


def sum_call(payload_bytes: int = 0) -> dict[str, Any]:
    """`sum` declares no other argument and forbids none: the payload is parsed, checked and left alone."""
    arguments: dict[str, Any] = {"a": 3, "b": 4}
    if payload_bytes:
        arguments["note"] = filler(payload_bytes)
    return {"name": "sum", "arguments": arguments}


def stdio() -> Iterator[Workload]:
    yield Workload("ping", "ping")
    yield Workload("sum", "tools/call", sum_call())
    yield Workload("list", "tools/list", for_rivals=not has_toolset("core"))
    if has_toolset("core"):
        yield Workload("list core", "tools/list", toolset="core", count=10_000)
    if has_tool("core", "list_bg_tasks"):
        call = {"name": "ListBgTasks", "arguments": {}}
        yield Workload("ListBgTasks", "tools/call", call, toolset="core", for_rivals=False)
    yield Workload("sum 10 KB", "tools/call", sum_call(10_000), count=10_000)
    yield Workload("sum 1 MB", "tools/call", sum_call(1_000_000), count=300)
    yield Workload("ping x64", "ping", in_flight=64, count=200_000, for_rivals=False)
    yield Workload("sum x64", "tools/call", sum_call(), in_flight=64, count=100_000)


def toolsets() -> list[str]:
    """Names of the toolsets that have a compiled catalogue."""
    return sorted(path.parent.name for path in ROOT.glob("tools/*/_catalog.py"))


def has_toolset(name: str) -> bool:
    return name in toolsets()


def has_tool(toolset: str, folder: str) -> bool:
    return has_toolset(toolset) and (ROOT / "tools" / toolset / folder / "tool.json").is_file()


def plain(answer: bytes) -> Any:
    """The result in an answer line without what servers may add or leave out; raises ValueError for an error."""
    message = json.loads(answer)
    if "result" not in message:
        raise ValueError(f"not a result: {answer[:300]!r}")
    result = {key: value for key, value in message["result"].items() if key not in OPTIONAL_MEMBERS}
    if result.get("isError") is False:
        del result["isError"]
    if isinstance(result.get("tools"), list):  # a list of tools has no order; the Go SDK sorts it
        result["tools"] = sorted(result["tools"], key=lambda tool: str(tool.get("name")))
    return result


OPTIONAL_MEMBERS = ("_meta", "nextCursor", "resultType", "ttlMs", "cacheScope")
