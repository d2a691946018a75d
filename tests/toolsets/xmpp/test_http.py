"""One server over HTTP, in its room for all of its clients, against a real Prosody."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.http_requests import ask, call, modern_call, open_session, post

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.http_link import HttpProcess
    from tests.http_requests import Message
    from tests.toolsets.xmpp.agent import Agent
    from tests.toolsets.xmpp.prosody import Prosody

    Client = Callable[[str, Message], Message]

BOUND_S = 60.0


def hears(client: Client, body: str) -> Message:
    end_s = time.monotonic() + BOUND_S
    while (status := client("xmppStatus", {}))["lastIncoming"] is None or status["lastIncoming"]["body"] != body:
        assert time.monotonic() < end_s, f"never heard: {status}"
        time.sleep(0.02)
    heard: Message = status["lastIncoming"]
    return heard


@pytest.mark.requirement("xmpp:two-agents")
def test_clients_of_both_eras_share_the_place_of_their_server_in_the_room(
    prosody: Prosody,
    start_http: Callable[..., HttpProcess],
    xmpp_environ: Callable[..., dict[str, str]],
    agent: Callable[..., Agent],
    room: str,
) -> None:
    server = start_http("xmpp", environ=xmpp_environ(prosody.service, MCP_BOT_NICKNAME="Rex"))
    cat = agent(prosody.service, XMPP_USERNAME="catbot", MCP_BOT_NICKNAME="Tom")
    session = open_session(server.port)

    def legacy(name: str, arguments: Message) -> Message:
        return structured(post(server.port, call(name, arguments), session).json())

    def modern(name: str, arguments: Message) -> Message:
        return structured(ask(server.port, modern_call(name, arguments)).json())

    cat.in_room()
    for number, client in enumerate((legacy, modern)):
        assert client("xmppSend", {"message": f"from client {number}"})["to"] == room
        assert cat.hears(f"from client {number}")["sender"] == "Rex"
    cat.send("for everybody there")
    assert [hears(client, "for everybody there")["sender"] for client in (legacy, modern)] == ["Tom", "Tom"]
    assert legacy("xmppStatus", {}) == modern("xmppStatus", {})
    server.stop()
    assert server.wait(BOUND_S) == 0
    lines = server.stderr().splitlines()
    assert not any("Internal error" in line or "Traceback" in line for line in lines), lines


def structured(answer: dict[str, Any]) -> Message:
    result = answer["result"]
    assert result["isError"] is False, result
    found: Message = result["structuredContent"]
    return found
