"""scorpio://background/N: background tasks as resources, listed, read, and followed in both eras."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.links import InProcess
from tests.process.commands import wait_until
from tests.wire import LEGACY, META, MODERN, REVISIONS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from tests.wire import Connect, Message, Wire

URI = "scorpio://background/1"
UPDATED = "notifications/resources/updated"
NOT_FOUND = {**dict.fromkeys(LEGACY, -32002), MODERN: -32602}


def listed(wire: Wire) -> list[dict[str, Any]]:
    """The background tasks among the resources."""
    found: list[dict[str, Any]] = wire.result("resources/list")["resources"]
    return [resource for resource in found if resource["uri"].startswith("scorpio://background/")]


@pytest.fixture
def go(tmp_path: Path) -> Iterator[Path]:
    """What a task of the test waits for; there at the end, so that none outlives it."""
    yield tmp_path / "go"
    (tmp_path / "go").touch()


def start(wire: Wire, command: str) -> None:
    assert not wire.call("BackgroundBash", {"command": command})["isError"]


def follow(wire: Wire, uri: str = URI) -> None:
    """Subscribed, in the way of this client's era."""
    if wire.revision != MODERN:
        wire.result("resources/subscribe", {"uri": uri})
        return
    wire.start("subscriptions/listen", {"notifications": {"resourceSubscriptions": [uri]}})
    wire.notification("notifications/subscriptions/acknowledged")


def text_of(wire: Wire, uri: str = URI) -> str:
    [contents] = wire.result("resources/read", {"uri": uri})["contents"]
    assert (contents["uri"], contents["mimeType"]) == (uri, "text/plain")
    return str(contents["text"])


@pytest.mark.requirement("background:resource")
@pytest.mark.revisions(LEGACY[0], LEGACY[-1], MODERN)
def test_a_task_is_a_resource_whose_text_is_its_log(connect: Connect, go: Path) -> None:
    wire = connect("core")
    assert listed(wire) == []
    start(wire, f"printf 'a\\033[31mb\\033[0m\\n'; while [ ! -e {go} ]; do sleep 0.02; done")
    [resource] = listed(wire)
    assert (resource["uri"], resource["name"], resource["mimeType"]) == (URI, "background-task-1", "text/plain")
    assert resource["description"].startswith("running, ")
    assert ": printf " in resource["description"]
    assert text_of(wire) == "ab"
    assert wire.text("ReadBgOutput", {"task_id": 1}).startswith("ab\n[task 1: running, ")  # reading it read nothing
    templates = wire.result("resources/templates/list")["resourceTemplates"]
    assert [template["uriTemplate"] for template in templates] == ["scorpio://background/{task_id}"]


@pytest.mark.requirement("background:resource")
@pytest.mark.revisions(*REVISIONS)
@pytest.mark.transports("in-process")
@pytest.mark.parametrize("number", ["2", "0", "01", "-1", "x", "9" * 400, "1%2F..", "٣", "%00"])
def test_what_is_no_task_is_not_found(connect: Connect, number: str) -> None:
    wire = connect("core")
    start(wire, "true")
    error = wire.error("resources/read", {"uri": f"scorpio://background/{number}"})
    assert (error["code"], error["data"]) == (NOT_FOUND[wire.revision], {"uri": f"scorpio://background/{number}"})
    assert "No background task" in error["message"] or "There is no background task" in error["message"]


@pytest.mark.requirement("background:resource")
@pytest.mark.revisions(MODERN)
@pytest.mark.transports("in-process")
def test_the_task_of_another_owner_is_neither_listed_nor_read_nor_told(
    connect: Connect, environ: dict[str, str], go: Path
) -> None:
    wire = connect("core")
    start(wire, f"echo secret; until [ -e {go} ]; do sleep 0.02; done")
    assert isinstance(wire.link, InProcess)
    wire.link.peer.owner = "somebody else"
    assert listed(wire) == []
    assert wire.error("resources/read", {"uri": URI})["message"].startswith("No background task 1")
    follow(wire)
    go.touch()
    database = Path(environ["SCORPIO_HOME"], "scorpio.db")
    assert wait_until(lambda: database.exists() and b"echo secret" in database.read_bytes())
    assert [block["text"] for block in wire.call("ListBgTasks")["content"]] == ["No background tasks."]
    assert [m for m in wire.notifications if m["method"] == UPDATED] == []


@pytest.mark.requirement("background:resource")
@pytest.mark.revisions(MODERN)
@pytest.mark.transports("stdio")
def test_a_long_log_is_shown_by_its_head_and_tail(connect: Connect, tmp_path: Path, go: Path) -> None:
    wire = connect("core")
    start(wire, f"seq 1 200000; touch {tmp_path}/done; while [ ! -e {go} ]; do sleep 0.02; done")
    follow(wire)
    while not (tmp_path / "done").exists():
        wire.settle()
    text = text_of(wire)
    assert text.startswith("1\n2\n3\n")
    assert text.endswith("\n200000")
    assert "characters omitted; full output: " in text
    assert len(text) <= 256 * 1024


@pytest.mark.requirement("background:subscribed")
@pytest.mark.revisions(LEGACY[0], LEGACY[-1], MODERN)
@pytest.mark.transports("stdio", "frozen")
def test_who_subscribed_hears_of_new_output_and_of_the_end(connect: Connect, tmp_path: Path, go: Path) -> None:
    wire = connect("core")
    start(wire, f"until [ -e {go} ]; do sleep 0.02; done; echo one; until [ -e {tmp_path}/end ]; do :; done")
    follow(wire)
    go.touch()
    assert wire.notification(UPDATED)["uri"] == URI
    assert text_of(wire) == "one"
    (tmp_path / "end").touch()

    def twice(message: Message) -> bool:
        return message.get("method") == UPDATED and sum(m["method"] == UPDATED for m in wire.notifications) == 2

    told = wire.message(twice)["params"]
    assert told["uri"] == URI
    assert (META + "subscriptionId" in told.get("_meta", {})) == (wire.revision == MODERN)
    assert listed(wire)[0]["description"].startswith("exited (0), ")


@pytest.mark.requirement("background:subscribed")
@pytest.mark.revisions(LEGACY[-1])
@pytest.mark.transports("stdio")
def test_a_new_task_is_announced_as_a_new_resource(connect: Connect) -> None:
    wire = connect("core")
    start(wire, "true")
    wire.notification("notifications/resources/list_changed")
    assert [m for m in wire.notifications if m["method"] == UPDATED] == []
