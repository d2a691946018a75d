"""What goes on after a call: for its client only, by level and subscription, and gone with the client."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scorpio.log import Log
from scorpio.server.lanes import ThreadLane
from scorpio.server.peer import Peer
from scorpio.server.server import Server
from scorpio.settings import load
from scorpio.state.home import Home
from scorpio.toolset import Features, chosen
from tests.server_process import ServerProcess
from tests.wire import LEGACY, MODERN, Connect

LATEST = LEGACY[-1]
UPDATED = "notifications/resources/updated"
MESSAGE = "notifications/message"
BOUND_S = 60.0
ONE, TWO = (f"demo://resource/dynamic/text/{number}" for number in (1, 2))


class Client:
    """One of several clients of a server in this process, each an owner of its own, as sessions over HTTP are."""

    def __init__(self, server: Server, owner: str) -> None:
        self.server = server
        self.messages: list[dict[str, Any]] = []
        self._arrived = threading.Condition()
        self.peer = Peer(self._write, owner)
        server.open_peer(self.peer)
        self._count = 0
        hello = {"protocolVersion": LATEST, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        self.request("initialize", hello)

    def _write(self, lines: bytes) -> None:
        with self._arrived:
            self.messages += map(json.loads, lines.splitlines())
            self._arrived.notify_all()

    def request(self, method: str, params: dict[str, Any]) -> Any:
        self._count += 1
        line = json.dumps({"jsonrpc": "2.0", "id": self._count, "method": method, "params": params})
        answer = self.server.receive(line.encode(), self.peer)
        if answer is not None:
            self._write(answer)
        id_ = self._count
        return self.wait(lambda m: m.get("id") == id_)["result"]

    def call(self, name: str) -> str:
        said: str = self.request("tools/call", {"name": name, "arguments": {}})["content"][0]["text"]
        return said

    def wait(self, accept: Callable[[dict[str, Any]], bool], count: int = 1) -> dict[str, Any]:
        """The message number `count` of those accepted."""

        def found() -> list[dict[str, Any]]:
            return [message for message in self.messages if accept(message)]

        with self._arrived:
            assert self._arrived.wait_for(lambda: len(found()) >= count, BOUND_S), self.messages
            return found()[count - 1]

    def told(self, method: str) -> list[dict[str, Any]]:
        with self._arrived:
            return [message["params"] for message in self.messages if message.get("method") == method]

    def go(self) -> None:
        self.server.close_peer(self.peer)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """With simulations that are a thousand times as fast."""
    from tools.everything.simulation import Simulations

    lane = ThreadLane()
    with (tmp_path / "stderr").open("wb") as log:
        features = Features(chosen(["everything"]))
        made = Server(features, load({}, str(tmp_path)), Home(str(tmp_path)), lane, Log("info", log.fileno()))
        state = made.state(features.toolsets[0])
        state._simulations = Simulations(made.link, pace_s=0.005)
        yield made
        made.close()
        lane.stop(BOUND_S)


@pytest.fixture
def clients(server: Server) -> Iterator[Callable[[str], Client]]:
    opened: list[Client] = []

    def open_client(owner: str) -> Client:
        opened.append(Client(server, owner))
        return opened[-1]

    yield open_client
    for client in opened:
        client.go()


def tasks_of(server: Server) -> int:
    """Simulations in the lane's event loop now, whatever the state thinks."""
    counted = threading.Event()
    counts: list[int] = []

    def count() -> None:
        running = [task for task in asyncio.all_tasks() if "Simulations._run" in repr(task.get_coro())]
        counts.append(len(running))
        counted.set()

    lane = server.lane
    assert isinstance(lane, ThreadLane)
    lane.call_soon(lambda: lane.call_soon(count))  # once more round: a cancelled task ends in its own turn
    assert counted.wait(BOUND_S)
    return counts[0]


@pytest.mark.requirement("everything:own-updates")
def test_two_clients_at_once_see_only_their_own_updates(clients: Callable[[str], Client]) -> None:
    one, two, idle = clients("one"), clients("two"), clients("idle")
    one.request("resources/subscribe", {"uri": ONE})
    two.request("resources/subscribe", {"uri": TWO})
    idle.request("resources/subscribe", {"uri": ONE})
    one.call("toggle-subscriber-updates")
    two.call("toggle-subscriber-updates")
    for client in (one, two):
        client.wait(lambda m: m.get("method") == UPDATED, 3)
    assert {note["uri"] for note in one.told(UPDATED)} == {ONE}
    assert {note["uri"] for note in two.told(UPDATED)} == {TWO}
    assert idle.told(UPDATED) == []


@pytest.mark.requirement("everything:own-updates")
def test_updates_follow_the_subscriptions_of_the_moment(clients: Callable[[str], Client]) -> None:
    client = clients("one")
    client.call("toggle-subscriber-updates")
    client.request("resources/subscribe", {"uri": ONE})
    client.wait(lambda m: m.get("method") == UPDATED)
    client.request("resources/subscribe", {"uri": TWO})
    client.request("resources/unsubscribe", {"uri": ONE})
    before = len(client.told(UPDATED))
    client.wait(lambda m: m.get("method") == UPDATED, before + 3)
    assert {note["uri"] for note in client.told(UPDATED)[before + 1 :]} == {TWO}


@pytest.mark.requirement("everything:own-logging")
def test_each_client_hears_messages_from_its_own_level_on(clients: Callable[[str], Client]) -> None:
    loud, quiet, idle = clients("loud"), clients("quiet"), clients("idle")
    loud.request("logging/setLevel", {"level": "debug"})
    quiet.request("logging/setLevel", {"level": "alert"})
    for client in (loud, quiet):
        client.call("toggle-simulated-logging")
    loud.wait(lambda m: m.get("method") == MESSAGE, 20)
    quiet.wait(lambda m: m.get("method") == MESSAGE, 3)
    assert {note["level"] for note in quiet.told(MESSAGE)} <= {"alert", "emergency"}
    assert len({note["level"] for note in loud.told(MESSAGE)}) > 2
    assert idle.told(MESSAGE) == []


@pytest.mark.requirement("everything:own-updates", "everything:own-logging")
def test_toggled_again_there_is_silence(server: Server, clients: Callable[[str], Client]) -> None:
    client = clients("one")
    client.request("resources/subscribe", {"uri": ONE})
    for name in ("toggle-subscriber-updates", "toggle-simulated-logging"):
        assert client.call(name).startswith("Started")
        assert client.call(name).startswith("Stopped")
    assert tasks_of(server) == 0


@pytest.mark.requirement("everything:gone")
def test_nothing_goes_on_for_a_client_that_has_gone(server: Server, clients: Callable[[str], Client]) -> None:
    gone, stays = clients("gone"), clients("stays")
    for client in (gone, stays):
        client.request("resources/subscribe", {"uri": ONE})
        client.call("toggle-subscriber-updates")
        client.call("toggle-simulated-logging")
        client.request("tools/call", {"name": "gzip-file-as-resource", "arguments": {"data": "data:,x"}})
    assert tasks_of(server) == 4
    gone.go()
    assert tasks_of(server) == 2
    state = server.state(server.features.toolsets[0])
    assert state.files.resources("gone") == []
    assert len(state.files.resources("stays")) == 1
    stays.go()
    assert tasks_of(server) == 0


@pytest.mark.requirement("everything:gone")
def test_files_of_one_session_are_not_there_for_another(clients: Callable[[str], Client]) -> None:
    one, two = clients("one"), clients("two")
    one.request("tools/call", {"name": "gzip-file-as-resource", "arguments": {"name": "x.gz", "data": "data:,x"}})
    assert [r["name"] for r in two.request("resources/list", {})["resources"] if r["name"] == "x.gz"] == []
    assert two.told("notifications/resources/list_changed") == []
    line = {"jsonrpc": "2.0", "id": "r", "method": "resources/read", "params": {"uri": "demo://resource/session/x.gz"}}
    answer = two.server.receive(json.dumps(line).encode(), two.peer)
    assert b"Resource not found" in (answer or b"")


@pytest.mark.requirement("everything:gone")
def test_a_server_with_simulations_ends_with_its_client(start: Callable[..., ServerProcess]) -> None:
    server = start("everything").open()
    server.request("resources/subscribe", {"uri": ONE}, id="s")
    for name in ("toggle-subscriber-updates", "toggle-simulated-logging"):
        server.send({"jsonrpc": "2.0", "id": name, "method": "tools/call", "params": {"name": name, "arguments": {}}})
    server.close_stdin()
    answers = [json.loads(line) for line in server.rest().splitlines()]
    assert {a["id"] for a in answers if "id" in a} == {"toggle-subscriber-updates", "toggle-simulated-logging"}
    assert server.status() == 0


@pytest.mark.requirement("everything:own-updates")
@pytest.mark.revisions(LATEST)
def test_subscriber_hears_of_its_resource(connect: Connect) -> None:
    wire = connect("everything")
    wire.result("resources/subscribe", {"uri": ONE})
    assert wire.text("toggle-subscriber-updates").startswith("Started")
    assert wire.notification(UPDATED) == {"uri": ONE}


@pytest.mark.requirement("everything:own-updates")
@pytest.mark.revisions(MODERN)
def test_listener_hears_of_its_resource(connect: Connect) -> None:
    wire = connect("everything")
    id_ = wire.start("subscriptions/listen", {"notifications": {"resourceSubscriptions": [TWO]}})
    wire.notification("notifications/subscriptions/acknowledged")
    assert wire.text("toggle-subscriber-updates").startswith("Started")
    params = wire.notification(UPDATED)
    assert params["uri"] == TWO
    assert params["_meta"]["io.modelcontextprotocol/subscriptionId"] == id_


@pytest.mark.requirement("everything:own-logging")
@pytest.mark.revisions(MODERN)
def test_without_a_session_messages_come_while_a_request_is_in_progress(connect: Connect) -> None:
    wire = connect("everything")
    wire.log_level = "debug"
    assert "while a request of its is in progress" in wire.text("toggle-simulated-logging")
    wire.call("trigger-long-running-operation", {"duration": 0.01, "steps": 3})
    wire.settle()
    assert len([note for note in wire.notifications if note["method"] == MESSAGE]) == 4
    wire.log_level = None
    wire.call("trigger-long-running-operation", {"duration": 0.01, "steps": 3})
    assert wire.text("toggle-simulated-logging").startswith("Stopped")
    wire.settle()
    assert len([note for note in wire.notifications if note["method"] == MESSAGE]) == 4
