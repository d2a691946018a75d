"""How a client hears of a task without asking: notifications/tasks/status (2025-11-25), subscriptions (extension)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.tasks import CORE, DECLARED, NAME, begun, outcome, said, state, until
from tests.wire import META, MODERN

if TYPE_CHECKING:
    from tests.wire import Connect, Message, Wire

IN_CORE = pytest.mark.revisions(CORE)
IN_EXTENSION = pytest.mark.revisions(MODERN)
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
STATUS = "notifications/tasks"


def listening(wire: Wire, *ids: str) -> int | str:
    """A subscription to these tasks; its acknowledgement has come."""
    id_ = wire.start("subscriptions/listen", {"notifications": {"taskIds": list(ids)}})
    wire.notification(ACKNOWLEDGED, lambda params: params["_meta"][META + "subscriptionId"] == id_)
    return id_


def statuses(wire: Wire, method: str) -> list[str]:
    return [m["params"]["status"] for m in wire.notifications if m["method"] == method]


@pytest.mark.requirement("tasks:status-core")
@pytest.mark.not_over("http")  # a connection for each request: no order among them, no end of input
@IN_CORE
def test_end_of_a_task_is_told_to_who_began_it_after_its_beginning(connect: Connect) -> None:
    wire = connect()
    for _ in range(20):
        task = begun(wire, "slow_compute", {"seconds": 0})
        told = wire.notification(
            "notifications/tasks/status",
            lambda params, id_=task["taskId"]: (params["taskId"], params["status"]) == (id_, "completed"),  # type: ignore[misc]
        )
        assert told == state(wire, task)
        ids = [str(m.get("params", m.get("result", {}).get("task", {})).get("taskId")) for m in _messages(wire)]
        first = _messages(wire)[ids.index(task["taskId"])]
        assert "result" in first


def _messages(wire: Wire) -> list[Message]:
    return [message for message in wire.received if isinstance(message, dict)]


@pytest.mark.requirement("tasks:status-core")
@IN_CORE
def test_every_change_of_status_is_told_in_order(connect: Connect) -> None:
    wire = connect(capabilities={"elicitation": {}})
    wire.answers["elicitation/create"] = lambda params: {"action": "accept", "content": {"name": "Alice"}}
    task = begun(wire, "multi_input")
    outcome(wire, task)
    wire.settle()
    assert statuses(wire, "notifications/tasks/status") == ["input_required", "working", "completed"]


@pytest.mark.requirement("tasks:status-extension")
@IN_EXTENSION
def test_listener_gets_the_whole_task_with_its_result(connect: Connect) -> None:
    wire = connect(capabilities=DECLARED)
    task = begun(wire, "slow_compute", {"seconds": 0.6})
    id_ = listening(wire, task["taskId"])
    told = wire.notification(STATUS, lambda params: bool(params["status"] == "completed"))
    assert told.pop("_meta") == {META + "subscriptionId": id_}
    shown = state(wire, task)
    assert said(told["result"]) == "Computed for 0.6 s."
    assert told == {key: value for key, value in shown.items() if key not in ("resultType", "_meta")}


@pytest.mark.requirement("tasks:status-extension")
@IN_EXTENSION
def test_listener_who_comes_late_is_told_what_happened(connect: Connect) -> None:
    wire = connect(capabilities=DECLARED)
    task = begun(wire, "failing_job")
    until(wire, task, "completed")
    listening(wire, task["taskId"])
    told = wire.notification(STATUS)
    assert (told["taskId"], told["result"]["isError"]) == (task["taskId"], True)


@pytest.mark.requirement("tasks:status-extension")
@IN_EXTENSION
def test_only_tasks_that_are_there_are_acknowledged(connect: Connect) -> None:
    wire = connect(capabilities=DECLARED)
    task = begun(wire, "test_slow", {"ms": 600_000})
    listening(wire, "nonsense", task["taskId"], "0" * 32, task["taskId"])
    assert wire.notification(ACKNOWLEDGED)["notifications"] == {"taskIds": [task["taskId"]]}


@pytest.mark.requirement("tasks:status-extension")
@IN_EXTENSION
def test_nobody_hears_of_a_task_without_listening_for_it(connect: Connect) -> None:
    wire = connect(capabilities=DECLARED)
    listening(wire)
    task = begun(wire, "test_slow", {"ms": 600, "steps": 6}, meta={"progressToken": "p"})
    outcome(wire, task)
    wire.settle()
    assert statuses(wire, STATUS) == []
    begun_at = next(i for i, m in enumerate(_messages(wire)) if m.get("result", {}).get("resultType") == "task")
    assert [m for m in _messages(wire)[begun_at:] if m.get("method") == "notifications/progress"] == []


@pytest.mark.requirement("tasks:status-extension")
@IN_EXTENSION
def test_message_of_a_task_says_what_its_tool_reported(connect: Connect) -> None:
    wire = connect(capabilities=DECLARED)
    task = begun(wire, "test_slow", {"ms": 1500, "steps": 3})
    assert until(wire, task, lambda shown: shown.get("statusMessage") == "step 1")["status"] == "working"
    assert said(outcome(wire, task)) == "Slept for 1500 ms."


@pytest.mark.requirement("tasks:extension-declared")
@IN_EXTENSION
@pytest.mark.parametrize("declared", [{}, {"extensions": {}}, {"extensions": {NAME: None}}, {"extensions": [NAME]}])
def test_client_that_did_not_declare_tasks_is_told_so_by_every_method(connect: Connect, declared: Any) -> None:
    wire = connect(capabilities=declared)
    requests: list[tuple[str, Message]] = [
        (f"tasks/{verb}", {"taskId": "x", "inputResponses": {}}) for verb in ("get", "update", "cancel")
    ]
    requests.append(("subscriptions/listen", {"notifications": {"taskIds": []}}))
    for method, params in requests:
        error = wire.error(method, params)
        assert (error["code"], error["data"]) == (-32021, {"requiredCapabilities": DECLARED})
    assert wire.call("slow_compute", {"seconds": 0.3})["resultType"] == "complete"


@pytest.mark.requirement("tasks:status-extension")
@IN_EXTENSION
@pytest.mark.parametrize("ids", [None, "x", {}, [1], ["x"] * 1025])
def test_task_ids_of_the_wrong_shape_are_invalid_params(connect: Connect, ids: Any) -> None:
    wire = connect(capabilities=DECLARED)
    assert wire.error("subscriptions/listen", {"notifications": {"taskIds": ids}})["code"] == -32602
