"""What the toolset costs whom: nothing those who do not use it, no waiting those who do."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from scorpio.log import Log
from scorpio.server.lanes import LoopLane
from scorpio.server.server import Server
from scorpio.settings import load
from scorpio.state.home import Home
from scorpio.toolset import Features, chosen
from tests.process.commands import wait_until
from tests.toolsets.xmpp.fake_server import Connection, FakeServer

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.server_process import ServerProcess
    from tests.toolsets.xmpp.chatter import Chatter
    from tests.toolsets.xmpp.prosody import Prosody

pytestmark = pytest.mark.requirement("xmpp:start")


def has_loaded_slixmpp(server: ServerProcess) -> bool:
    """Its one compiled part is mapped."""
    return "/slixmpp/" in Path(f"/proc/{server.pid}/maps").read_text()


@pytest.mark.parametrize("toolsets", ["core", "sum", "xmpp"])
def test_slixmpp_is_not_loaded_where_there_is_no_account_or_no_such_toolset(
    start: Callable[..., ServerProcess], environ: dict[str, str], toolsets: str
) -> None:
    server = start(toolsets, environ=environ).open()
    server.request("tools/list")
    if toolsets == "xmpp":
        assert wait_until(lambda: "Not configured" in server.stderr())
    assert not has_loaded_slixmpp(server)


def test_slixmpp_is_loaded_where_there_is_an_account(
    start: Callable[..., ServerProcess], xmpp_environ: Callable[..., dict[str, str]]
) -> None:
    server = start("xmpp", environ=xmpp_environ("xmpp://localhost:1")).open()
    assert wait_until(lambda: has_loaded_slixmpp(server))


def test_the_first_answer_is_out_before_the_agent_begins(
    start: Callable[..., ServerProcess], xmpp_environ: Callable[..., dict[str, str]]
) -> None:
    server = FakeServer(lambda connection: None)
    try:
        process = start("xmpp", environ=xmpp_environ(server.service))
        process.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})
        assert server.connections == 0
        assert wait_until(lambda: server.connections > 0)
    finally:
        server.close()


def test_what_is_sent_at_once_after_the_start_waits_for_the_room(
    start: Callable[..., ServerProcess], xmpp_environ: Callable[..., dict[str, str]]
) -> None:
    def script(connection: Connection) -> None:
        connection.enter()
        id_, said = connection.expect('<message[^>]* id="([^"]*)".*?<body>(.*?)</body>.*?</message>').groups()
        connection.send(connection.message(said, connection.nickname, id=id_))
        connection.gone()

    server = FakeServer(script)
    try:
        process = start("xmpp", environ=xmpp_environ(server.service))
        assert process.request("xmppSend", {"message": "first of all"})["result"]["sent"] is True
    finally:
        server.close()


@pytest.mark.parametrize("closed_in_the_loop", [True, False])
def test_it_enters_and_leaves_on_a_loop_that_the_transport_brought(
    prosody: Prosody,
    room: str,
    xmpp_environ: Callable[..., dict[str, str]],
    chatter: Callable[..., Chatter],
    tmp_path: Path,
    closed_in_the_loop: bool,
) -> None:
    alice = chatter().join(room, "alice")
    settings = load(xmpp_environ(prosody.service), str(tmp_path))

    async def serve(log: Log) -> None:
        server = Server(Features(chosen(["xmpp"])), settings, Home(str(tmp_path)), LoopLane(_loop()), log)
        server.warm()
        await asyncio.to_thread(alice.present, room, "McpDebug")
        if closed_in_the_loop:
            server.close()
        else:
            await asyncio.to_thread(server.close)
        await asyncio.to_thread(alice.absent, room, "McpDebug")

    with (tmp_path / "stderr").open("wb") as stderr:
        asyncio.run(serve(Log("info", stderr.fileno())))
    lines = (tmp_path / "stderr").read_text().splitlines()  # none where alice saw it come before it did itself
    assert [line for line in lines if not line.startswith(f"[Server] xmpp: in {room} as McpDebug")] == []


def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()
