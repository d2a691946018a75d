"""What the toolset costs whom: nothing those who do not use it, no waiting those who do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.process.commands import wait_until
from tests.toolsets.xmpp.fake_server import Connection, FakeServer

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.server_process import ServerProcess

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
