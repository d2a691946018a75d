"""The official Python client: what fired at the end of a result, and background tasks as resources it follows."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.links import ROOT
from tests.process.commands import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

BOUND_S = 60.0
URI = "scorpio://background/1"

pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")


def fired(home: Path) -> bool:
    """From outside: a call would put the callback off."""
    with contextlib.closing(sqlite3.connect(home / "scorpio.db", timeout=10)) as connection:
        rows = connection.execute("SELECT 1 FROM tidings WHERE kind = 'callback' AND told = 0").fetchall()
    return bool(rows)


def texts(result: types.CallToolResult) -> list[str]:
    return [block.text for block in result.content if isinstance(block, types.TextContent)]


@pytest.mark.requirement("background:subscribed")
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_the_official_client_follows_a_task_and_is_told_its_end_and_a_callback_once(
    command: Callable[..., list[str]], environ: dict[str, str], tmp_path: Path, mode: str
) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def message(message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            await heard.put(str(message.params.uri))

    async def follow_to_the_end(client: Client) -> None:
        script = f"until [ -e {tmp_path}/go ]; do sleep 0.02; done; exit 3"
        await client.call_tool("BackgroundBash", {"command": script})
        assert URI in [str(one.uri) for one in (await client.list_resources()).resources]
        if mode == "legacy":
            await client.subscribe_resource(URI)
            (tmp_path / "go").touch()
            assert await heard.get() == URI
            return
        async with client.listen(resource_subscriptions=[URI]) as subscription:
            (tmp_path / "go").touch()
            async for event in subscription:
                assert getattr(event, "uri", None) == URI
                break

    async def work() -> None:
        words = command("core")
        server = StdioServerParameters(command=words[0], args=words[1:], env=environ, cwd=ROOT)
        with (tmp_path / "stderr").open("w") as errlog:
            async with Client(stdio_client(server, errlog), mode=mode, message_handler=message) as client:
                await follow_to_the_end(client)
                once = {"action": "set", "message": "look", "delay_seconds": 1, "repeat_count": 1}
                told = texts(await client.call_tool("SetCallback", once))
                assert await asyncio.to_thread(wait_until, lambda: fired(Path(environ["SCORPIO_HOME"])))
                told += texts(await client.call_tool("SetCallback", {"action": "list"}))
                assert sum("[task 1: exited with code 3 after " in text for text in told) == 1
                assert sum("[callback 0 fired" in text for text in told) == 1
                assert texts(await client.call_tool("SetCallback", {"action": "list"})) == ["No active callbacks."]

    async def bounded() -> None:
        with anyio.fail_after(BOUND_S):
            await work()

    asyncio.run(bounded())
