"""Who hears of changes: subscriptions/listen (modern), resources/subscribe and list_changed (legacy)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.wire import LEGACY, META, MODERN

if TYPE_CHECKING:
    from tests.wire import Connect, Message, Wire

IN_PROCESS = pytest.mark.transports("in-process")
"""For values that no transport looks at."""

ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
TAG = META + "subscriptionId"
WATCHED = "test://watched-resource"
LISTS = {"tools": "test_trigger_tool_change", "prompts": "test_trigger_prompt_change"}


def listen(wire: Wire, notifications: object, **options: Any) -> int | str:
    """An open stream: its acknowledgement is there."""
    id_ = wire.start("subscriptions/listen", {"notifications": notifications}, **options)
    wire.notification(ACKNOWLEDGED, lambda params: _tag(params) == id_)
    return id_


def _tag(params: Message) -> object:
    return params["_meta"][TAG]


def told(wire: Wire) -> list[tuple[str, object]]:
    """(method, tag) of every notification but acknowledgements, in order."""
    wire.settle()
    return [
        (m["method"].removeprefix("notifications/"), m.get("params", {}).get("_meta", {}).get(TAG))
        for m in wire.notifications
        if m["method"] != ACKNOWLEDGED
    ]


def change(wire: Wire, *what: str) -> None:
    """Announce a list (`tools`, `prompts`, `resources`) or a resource by its URI."""
    for kind in what:
        if kind in LISTS:
            wire.call(LISTS[kind])
        else:
            wire.call("test_trigger_resource_change", {} if kind == "resources" else {"uri": kind})


@pytest.mark.requirement("listen:acknowledged-first")
@pytest.mark.revisions(MODERN)
def test_acknowledgement_comes_first_and_says_what_is_honoured(connect: Connect) -> None:
    wire = connect()
    wanted = {
        "toolsListChanged": True,
        "promptsListChanged": False,
        "resourceSubscriptions": [WATCHED],
        "unknownThing": True,
    }
    id_ = wire.start("subscriptions/listen", {"notifications": wanted}, id="L")
    change(wire, "tools")
    params = wire.notification(ACKNOWLEDGED)
    assert params["notifications"] == {"toolsListChanged": True, "resourceSubscriptions": [WATCHED]}
    assert wire.notifications[0]["method"] == ACKNOWLEDGED
    assert wire.answers_to(id_) == []


@pytest.mark.requirement("listen:tagged")
@pytest.mark.revisions(MODERN)
@pytest.mark.parametrize("id_", [7, "7", "", 2**60])
def test_every_message_carries_the_id_of_its_stream_with_its_type(connect: Connect, id_: int | str) -> None:
    wire = connect()
    listen(wire, {"toolsListChanged": True, "resourceSubscriptions": [WATCHED]}, id=id_)
    change(wire, "tools", WATCHED)
    assert told(wire) == [("tools/list_changed", id_), ("resources/updated", id_)]
    assert all(type(_tag(m["params"])) is type(id_) for m in wire.notifications)


@pytest.mark.requirement("listen:filter")
@pytest.mark.revisions(MODERN)
def test_stream_carries_only_what_its_filter_asked(connect: Connect) -> None:
    wire = connect()
    listen(wire, {"promptsListChanged": True}, id="prompts")
    listen(wire, {"resourcesListChanged": True, "resourceSubscriptions": [WATCHED]}, id="resources")
    listen(wire, {}, id="nothing")
    change(wire, "tools", "prompts", "resources", WATCHED, "test://other")
    assert told(wire) == [
        ("prompts/list_changed", "prompts"),
        ("resources/list_changed", "resources"),
        ("resources/updated", "resources"),
    ]


@pytest.mark.requirement("listen:filter")
@pytest.mark.revisions(MODERN)
def test_two_streams_that_want_the_same_each_get_it(connect: Connect) -> None:
    wire = connect()
    listen(wire, {"toolsListChanged": True}, id=1001)
    listen(wire, {"toolsListChanged": True}, id=1002)
    change(wire, "tools")
    assert sorted(told(wire), key=str) == [("tools/list_changed", 1001), ("tools/list_changed", 1002)]


@pytest.mark.requirement("listen:nothing-unasked")
@pytest.mark.revisions(MODERN)
def test_modern_client_that_does_not_listen_hears_nothing(connect: Connect) -> None:
    wire = connect()
    change(wire, "tools", "prompts", "resources", WATCHED)
    assert told(wire) == []


@pytest.mark.requirement("listen:cancel")
@pytest.mark.revisions(MODERN)
@pytest.mark.not_over("http", MODERN)  # where every request stands for itself
def test_cancelled_stream_is_silent_and_its_id_is_free(connect: Connect) -> None:
    wire = connect()
    id_ = listen(wire, {"toolsListChanged": True}, id="L")
    assert wire.request("tools/list", id="L")["error"]["code"] == -32600
    wire.cancel(id_)
    change(wire, "tools")
    assert told(wire) == []
    assert "result" in wire.request("tools/list", id="L")


@pytest.mark.requirement("listen:end")
@pytest.mark.revisions(MODERN)
def test_open_stream_is_answered_when_the_server_ends(connect: Connect) -> None:
    wire = connect()
    id_ = listen(wire, {"toolsListChanged": True}, id="L")
    assert wire.close() == 0
    (answer,) = wire.answers_to(id_)
    assert answer["result"]["resultType"] == "complete"
    assert _tag(answer["result"]) == "L"


@IN_PROCESS
@pytest.mark.requirement("listen:wrong-filter")
@pytest.mark.revisions(MODERN)
@pytest.mark.parametrize(
    "notifications",
    [
        None,
        [],
        "all",
        {"resourceSubscriptions": WATCHED},
        {"resourceSubscriptions": [1]},
        {"resourceSubscriptions": {}},
    ],
)
def test_filter_of_the_wrong_shape_is_invalid_params(connect: Connect, notifications: object) -> None:
    wire = connect()
    assert wire.error("subscriptions/listen", {"notifications": notifications})["code"] == -32602


@pytest.mark.requirement("bounds:listens")
@pytest.mark.revisions(MODERN)
@pytest.mark.not_over("http", MODERN)  # where every request stands for itself
def test_stream_beyond_the_bound_is_refused(connect: Connect) -> None:
    wire = connect()
    for _ in range(64):
        wire.start("subscriptions/listen", {"notifications": {}})
    error = wire.error("subscriptions/listen", {"notifications": {}})
    assert error["message"] == "64 subscriptions are open. Cancel one first."


@pytest.mark.requirement("bounds:subscriptions")
@pytest.mark.revisions(MODERN)
def test_stream_with_more_resources_than_the_bound_is_refused(connect: Connect) -> None:
    uris = [f"test://{number}" for number in range(1025)]
    wire = connect()
    assert wire.error("subscriptions/listen", {"notifications": {"resourceSubscriptions": uris}})["code"] == -32602


@pytest.mark.requirement("subscribe:updated")
@pytest.mark.revisions(*LEGACY)
def test_subscriber_hears_of_its_resource_and_of_no_other(connect: Connect) -> None:
    wire = connect()
    assert wire.result("resources/subscribe", {"uri": WATCHED}) == {}
    change(wire, "test://other", WATCHED)
    assert wire.notification("notifications/resources/updated") == {"uri": WATCHED}
    assert told(wire) == [("resources/updated", None)]


@pytest.mark.requirement("subscribe:updated")
@pytest.mark.revisions(*LEGACY)
def test_unsubscribed_client_hears_nothing(connect: Connect) -> None:
    wire = connect()
    wire.result("resources/subscribe", {"uri": WATCHED})
    assert wire.result("resources/unsubscribe", {"uri": WATCHED}) == {}
    assert wire.result("resources/unsubscribe", {"uri": "test://never-subscribed"}) == {}
    change(wire, WATCHED)
    assert told(wire) == []


@pytest.mark.requirement("bounds:subscriptions")
@pytest.mark.revisions("2025-11-25")
@pytest.mark.not_over("http")  # a thousand connections
def test_subscription_beyond_the_bound_is_refused(connect: Connect) -> None:
    wire = connect()
    for number in range(1024):
        wire.start("resources/subscribe", {"uri": f"test://{number}"})
    assert wire.error("resources/subscribe", {"uri": "test://1024"})["code"] == -32602
    assert wire.result("resources/subscribe", {"uri": "test://0"}) == {}


@pytest.mark.requirement("list-changed:legacy")
@pytest.mark.revisions(*LEGACY)
def test_session_is_told_of_each_list_that_changed(connect: Connect) -> None:
    wire = connect()
    change(wire, "tools", "prompts", "resources")
    assert told(wire) == [
        ("tools/list_changed", None),
        ("prompts/list_changed", None),
        ("resources/list_changed", None),
    ]


@pytest.mark.requirement("methods:by-era")
@pytest.mark.revisions(*LEGACY)
@pytest.mark.parametrize("method", ["subscriptions/listen", "server/discover"])
def test_session_does_not_know_the_methods_of_the_modern_era(connect: Connect, method: str) -> None:
    assert connect().error(method, {"notifications": {}})["code"] == -32601


@IN_PROCESS
@pytest.mark.requirement("methods:by-era")
@pytest.mark.revisions(MODERN)
@pytest.mark.parametrize(
    "method",
    ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "shutdown", "unknown"],
)
def test_modern_request_does_not_know_the_methods_of_the_legacy_era(connect: Connect, method: str) -> None:
    error = connect().error(method, {"uri": WATCHED, "level": "info", "protocolVersion": "2025-11-25"})
    assert error["code"] == -32601
