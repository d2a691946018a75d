"""The agent in its room, against a real Prosody: who sees what, and what becomes of it when things end."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING

import pytest

from tests.process.commands import wait_until
from tests.toolsets.xmpp.prosody import ROOMS, Prosody
from tests.toolsets.xmpp.relay import Relay
from tests.wire import MODERN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.server_process import ServerProcess
    from tests.toolsets.xmpp.agent import Agent
    from tests.toolsets.xmpp.chatter import Chatter
    from tests.wire import Connect

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@pytest.mark.requirement("xmpp:two-agents")
def test_two_agents_in_a_room_see_each_other(prosody: Prosody, room: str, agent: Callable[..., Agent]) -> None:
    dog = agent(prosody.service, MCP_BOT_NICKNAME="Rex")
    cat = agent(prosody.service, XMPP_USERNAME="catbot", MCP_BOT_NICKNAME="Tom")
    cat.in_room()
    assert dog.send("good evening, cat") == {"sent": True, "to": room, "message": "good evening, cat"}
    heard = cat.hears("good evening, cat")
    assert TIME.fullmatch(heard.pop("receivedAt"))
    assert heard == {
        "body": "good evening, cat",
        "sender": "Rex",
        "from": f"{room}/Rex",
        "type": "groupchat",
    }
    cat.send("good evening, dog")
    assert dog.hears("good evening, dog")["sender"] == "Tom"
    assert dog.status() == {
        "connected": True,
        "room": room,
        "nickname": "Rex",
        "lastIncoming": dog.status()["lastIncoming"],
    }


@pytest.mark.requirement("xmpp:two-agents")
def test_two_agents_of_one_account_and_one_nickname_see_each_other(
    prosody: Prosody, agent: Callable[..., Agent]
) -> None:
    one, other = agent(prosody.service), agent(prosody.service)
    other.in_room()
    one.send("who am I?")
    assert other.hears("who am I?")["sender"] == "McpDebug"
    assert one.status()["lastIncoming"] is None


@pytest.mark.requirement("xmpp:two-agents")
def test_an_agent_stays_when_another_one_of_its_account_and_nickname_leaves(
    prosody: Prosody, room: str, agent: Callable[..., Agent], chatter: Callable[..., Chatter]
) -> None:
    alice = chatter().join(room, "alice")
    one, other = agent(prosody.service), agent(prosody.service)
    one.in_room()
    other.in_room()
    other.server.close_stdin()
    other.server.status()
    one.send("alone now")
    alice.heard(room, "McpDebug", "alone now")
    assert one.status()["connected"] is True


@pytest.mark.requirement("xmpp:bare-methods")
def test_bare_methods_are_answered_before_initialize_in_the_seeds_shape(
    prosody: Prosody,
    room: str,
    start: Callable[..., ServerProcess],
    xmpp_environ: Callable[..., dict[str, str]],
    chatter: Callable[..., Chatter],
) -> None:
    alice = chatter().join(room, "alice")
    server = start("xmpp", environ=xmpp_environ(prosody.service))
    assert server.request("echo", {"message": "Hello, world!"}, "a-1")["result"] == {
        "content": [{"type": "text", "text": "Echo: Hello, world!"}]
    }
    message = "Test message from MCP"
    assert server.request("xmppSend", {"message": message}, "send-1")["result"] == {
        "sent": True,
        "to": room,
        "message": message,
    }
    alice.heard(room, "McpDebug", message)
    alice.say(room, "hello room")
    alice.heard(room, "alice", "hello room")
    status = server.request("xmppStatus", None, "status-1")["result"]
    while status["lastIncoming"] is None:  # alice hears it before the agent may
        status = server.request("xmppStatus", None, "status-1")["result"]
    assert TIME.fullmatch(status["lastIncoming"].pop("receivedAt"))
    assert status == {
        "connected": True,
        "room": room,
        "nickname": "McpDebug",
        "lastIncoming": {"body": "hello room", "sender": "alice", "from": f"{room}/alice", "type": "groupchat"},
    }
    assert server.request("echo", {}, 2)["error"] == {"code": -32602, "message": "Invalid params: /message is required"}


@pytest.mark.requirement("xmpp:start")
def test_it_enters_without_a_single_message_of_a_client(
    prosody: Prosody,
    room: str,
    start: Callable[..., ServerProcess],
    xmpp_environ: Callable[..., dict[str, str]],
    chatter: Callable[..., Chatter],
) -> None:
    alice = chatter().join(room, "alice")
    start("xmpp", environ=xmpp_environ(prosody.service))
    alice.present(room, "McpDebug")


@pytest.mark.requirement("xmpp:reconnect")
@pytest.mark.parametrize("how", ["stop", "kill"])
def test_it_returns_by_itself_after_the_xmpp_server_has_been_away(
    own_prosody: Prosody, room: str, agent: Callable[..., Agent], chatter: Callable[..., Chatter], how: str
) -> None:
    dog = agent(own_prosody.service)
    dog.send("before")
    getattr(own_prosody, how)()
    away = dog.until(lambda status: not status["connected"], "out")
    assert own_prosody.service in away["error"]
    assert own_prosody.service in dog.refusal()
    own_prosody.start()
    dog.in_room()
    alice = chatter("alice", own_prosody).join(room, "alice")
    alice.say(room, "welcome back")
    assert dog.hears("welcome back")["sender"] == "alice"
    dog.send("thank you")
    alice.heard(room, "McpDebug", "thank you")


@pytest.mark.requirement("xmpp:nickname")
def test_a_nickname_that_is_taken_gets_a_number_and_a_notice(
    prosody: Prosody, room: str, agent: Callable[..., Agent], chatter: Callable[..., Chatter]
) -> None:
    alice = chatter().join(room, "McpDebug")
    dog = agent(prosody.service)
    assert dog.in_room() == {
        "connected": True,
        "room": room,
        "nickname": "McpDebug-2",
        "lastIncoming": None,
        "notice": "The nickname McpDebug is taken: this agent is McpDebug-2.",
    }
    assert "[Server] xmpp: The nickname McpDebug is taken: this agent is McpDebug-2.\n" in dog.server.stderr()
    dog.send("hello, namesake")
    alice.heard(room, "McpDebug-2", "hello, namesake")


@pytest.mark.requirement("xmpp:nickname")
@pytest.mark.builds("source")
def test_a_nickname_whose_numbers_are_all_taken_is_a_clear_error(
    prosody: Prosody, room: str, agent: Callable[..., Agent], chatter: Callable[..., Chatter]
) -> None:
    for number in range(1, 10):
        chatter().join(room, "McpDebug" if number == 1 else f"McpDebug-{number}")
    said = agent(prosody.service, XMPP_USERNAME="catbot").refusal()
    assert said.startswith(f"All of these nicknames are taken in {room}: McpDebug, McpDebug-2, ")


def _end_of_input(server: ServerProcess) -> None:
    server.close_stdin()


def _terminated(server: ServerProcess) -> None:
    server.process.send_signal(signal.SIGTERM)


def _killed(server: ServerProcess) -> None:
    server.process.kill()


@pytest.mark.requirement("xmpp:leaves")
@pytest.mark.parametrize("end", [_end_of_input, _terminated, _killed])
def test_it_leaves_the_room_when_the_server_ends(
    prosody: Prosody,
    room: str,
    agent: Callable[..., Agent],
    chatter: Callable[..., Chatter],
    end: Callable[[ServerProcess], None],
) -> None:
    alice = chatter().join(room, "alice")
    dog = agent(prosody.service)
    alice.present(room, "McpDebug")
    end(dog.server)
    alice.absent(room, "McpDebug")
    dog.server.status()


@pytest.mark.requirement("xmpp:put-out")
def test_being_kicked_is_told_with_its_reason(
    prosody: Prosody, room: str, agent: Callable[..., Agent], chatter: Callable[..., Chatter]
) -> None:
    owner = chatter("owner").join(room, "owner")
    dog = agent(prosody.service)
    owner.present(room, "McpDebug")
    owner.item(room, "nick='McpDebug' role='none'", "no dogs")
    status = dog.until(lambda status: not status["connected"], "out")
    assert status["error"].startswith(f"This agent was kicked out of {room}: no dogs. Next attempt in ")
    assert dog.refusal().startswith(f"This agent was kicked out of {room}: no dogs.")


@pytest.mark.requirement("xmpp:last-message")
@pytest.mark.builds("source")
def test_a_message_without_a_body_is_none(
    prosody: Prosody, room: str, agent: Callable[..., Agent], chatter: Callable[..., Chatter]
) -> None:
    alice = chatter().join(room, "alice")
    dog = agent(prosody.service)
    dog.in_room()
    alice.say(room, "")  # without a body, as rooms tell of a new subject
    alice.say(room, "a body")
    assert dog.hears("a body")["sender"] == "alice"


@pytest.mark.requirement("xmpp:speaks")
def test_a_message_that_the_room_does_not_pass_on_is_an_error(
    prosody: Prosody, room: str, agent: Callable[..., Agent], chatter: Callable[..., Chatter]
) -> None:
    owner = chatter("owner").join(room, "owner")
    owner.configure(room, moderatedroom="1")
    dog = agent(prosody.service)
    dog.in_room()
    said = dog.refusal()
    assert said == f"{room} did not pass the message on: this agent may listen there, but not speak (forbidden)."


@pytest.mark.requirement("xmpp:speaks")
@pytest.mark.parametrize("message", ["<b>&amp;</b> \"'", "ünï→🐕\n\tzwei Zeilen", "x" * 20_000, "]]>", "/me barks"])
def test_what_is_said_is_heard_word_for_word(
    prosody: Prosody, room: str, agent: Callable[..., Agent], chatter: Callable[..., Chatter], message: str
) -> None:
    alice = chatter().join(room, "alice")
    assert agent(prosody.service).send(message)["message"] == message
    alice.heard(room, "McpDebug", message)


@pytest.mark.requirement("xmpp:speaks")
@pytest.mark.transports("in-process")
@pytest.mark.revisions(MODERN)
def test_more_messages_at_once_than_a_server_bears_are_refused(
    prosody: Prosody,
    connect: Connect,
    environ: dict[str, str],
    xmpp_environ: Callable[..., dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tools.xmpp.room.SENT_WINDOW_S", 3600.0)
    environ |= xmpp_environ(prosody.service)
    wire = connect("xmpp")
    calls = [wire.start("tools/call", {"name": "xmppSend", "arguments": {"message": f"{n}"}}) for n in range(22)]
    results = [wire.answer(call)["result"] for call in calls]
    refused = [result["content"][0]["text"] for result in results if result["isError"]]
    assert refused == ["More than 20 messages within 3600 s. Say it in one."] * 2


@pytest.fixture
def locking_prosody(tmp_path: Path) -> Iterator[Prosody]:
    server = Prosody(tmp_path / "locking", locking=True).start()
    yield server
    server.stop()


@pytest.mark.requirement("xmpp:creates")
@pytest.mark.builds("source")
def test_a_room_that_its_coming_created_is_open_to_others(
    locking_prosody: Prosody, agent: Callable[..., Agent], chatter: Callable[..., Chatter]
) -> None:
    room = f"new@{ROOMS}"
    dog = agent(locking_prosody.service, MUC_ROOM=room)
    dog.in_room()
    chatter("alice", locking_prosody).join(room, "alice")


@pytest.mark.requirement("xmpp:last-message")
@pytest.mark.builds("source")
def test_what_was_said_before_it_came_is_not_news_and_what_it_missed_is(
    prosody: Prosody, room: str, relay: Relay, agent: Callable[..., Agent], chatter: Callable[..., Chatter]
) -> None:
    owner = chatter("owner").join(room, "owner")
    owner.say(room, "long ago")
    owner.heard(room, "owner", "long ago")
    dog = agent(relay.service)
    owner.present(room, "McpDebug")
    assert dog.in_room()["lastIncoming"] is None
    owner.say(room, "listen!", "m1")
    dog.hears("listen!")
    dog.send("I do")
    relay.cut()
    dog.until(lambda status: not status["connected"], "out")
    owner.say(room, "where are you?", "m2")
    owner.heard(room, "owner", "where are you?")
    owner.raw(f"<presence to='{room}/McpDebug'/>")  # so that the agent comes back under another name
    owner.present(room, "McpDebug")
    relay.mend()
    assert dog.hears("where are you?")["sender"] == "owner"
    assert dog.status()["nickname"] == "McpDebug-2"
    assert dog.server.stderr().count("message from") == 2


@pytest.mark.requirement("xmpp:reconnect")
@pytest.mark.transports("in-process")
@pytest.mark.revisions(MODERN)
def test_a_connection_that_dies_silently_is_noticed(
    prosody: Prosody,
    relay: Relay,
    connect: Connect,
    environ: dict[str, str],
    xmpp_environ: Callable[..., dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tools.xmpp.occupant.PING_EVERY_S", 0.1)
    monkeypatch.setattr("tools.xmpp.occupant.PING_S_MAX", 0.2)
    environ |= xmpp_environ(relay.service)
    wire = connect("xmpp")
    wire.call("xmppSend", {"message": "hello"})
    relay.hold()
    said = f"{relay.service} did not answer while being asked for a sign of life"
    assert wait_until(lambda: said in wire.call("xmppStatus")["structuredContent"].get("error", ""))


@pytest.fixture
def relay(prosody: Prosody) -> Iterator[Relay]:
    between = Relay(prosody.port)
    yield between
    between.cut()
