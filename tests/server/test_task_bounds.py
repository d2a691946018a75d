"""How long tasks live, how many there are, and in what pages they are listed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.tasks import CORE, DECLARED, begun, outcome, said, state, until
from tests.wire import MODERN

if TYPE_CHECKING:
    from tests.wire import Connect, Message, Wire

BOTH = pytest.mark.revisions(CORE, MODERN)
IN_CORE = pytest.mark.revisions(CORE)
IN_PROCESS = pytest.mark.transports("in-process")
"""For values that no transport looks at."""

TASKS_MAX = 256
PAGE_MAX = 100
LONG: Message = {"ms": 600_000}


def gone(wire: Wire, task: Message) -> None:
    """Wait until a task is unknown; each look is a round trip."""
    while "error" not in wire.request("tasks/get", {"taskId": task["taskId"]}):
        wire.pause(0.02)


@pytest.mark.requirement("tasks:ttl")
@IN_CORE
@IN_PROCESS
@pytest.mark.parametrize(
    ("task", "ttl_ms"),
    [
        ({}, 3_600_000),
        ({"ttl": None}, 3_600_000),
        ({"ttl": 60_000}, 60_000),
        ({"ttl": 60_000.9}, 60_000),
        ({"ttl": 0}, 1000),
        ({"ttl": 1}, 1000),
        ({"ttl": 10**12}, 86_400_000),
        ({"ttl": 1e300}, 86_400_000),
    ],
)
def test_time_to_live_is_what_was_asked_for_within_bounds(connect: Connect, task: Message, ttl_ms: int) -> None:
    wire = connect()
    made = begun(wire, "slow_compute", {"seconds": 0}, task=task)
    assert made["ttl"] == ttl_ms
    assert state(wire, made)["ttl"] == ttl_ms


@pytest.mark.requirement("tasks:ttl")
@IN_CORE
@IN_PROCESS
@pytest.mark.parametrize("task", [True, 5, "x", [], {"ttl": "60000"}, {"ttl": -1}, {"ttl": True}, {"ttl": [1]}])
def test_time_to_live_that_is_none_is_invalid_params(connect: Connect, task: object) -> None:
    wire = connect()
    call = {"name": "slow_compute", "arguments": {"seconds": 0}, "task": task}
    assert wire.error("tools/call", call)["code"] == -32602


@pytest.mark.requirement("tasks:ttl")
@IN_CORE
def test_task_whose_time_is_over_is_stopped_and_forgotten_and_who_waits_is_told(connect: Connect) -> None:
    wire = connect()
    task = begun(wire, "test_slow", LONG, task={"ttl": 1000})
    waiting = wire.start("tasks/result", {"taskId": task["taskId"]})
    error = wire.answer(waiting)["error"]
    assert (error["code"], "time to live of 1000 ms" in error["message"]) == (-32603, True)
    gone(wire, task)
    while "cancelled 1" not in wire.text("test_counts"):
        pass
    assert wire.result("tasks/list")["tasks"] == []


@pytest.mark.requirement("tasks:ttl")
@IN_CORE
def test_result_is_forgotten_when_its_time_is_over(connect: Connect) -> None:
    wire = connect()
    task = begun(wire, "slow_compute", {"seconds": 0}, task={"ttl": 1000})
    assert said(outcome(wire, task)) == "Computed for 0 s."
    gone(wire, task)


@pytest.mark.requirement("tasks:many")
@BOTH
@IN_PROCESS
def test_no_more_than_so_many_tasks_and_one_whose_end_is_known_makes_room(connect: Connect) -> None:
    wire = connect(capabilities={**DECLARED, "elicitation": {}})
    wire.answers["elicitation/create"] = lambda params: {"action": "cancel"}
    tasks = [begun(wire, "confirm_delete", {"filename": "a.txt"}) for _ in range(TASKS_MAX)]
    full: dict[str, Any] = {"name": "confirm_delete", "arguments": {"filename": "a.txt"}}
    error = wire.error("tools/call", full | ({"task": {}} if wire.revision == CORE else {}))
    assert (error["code"], error["message"]) == (
        -32603,
        "256 tasks are kept for this client. Fetch their results, or cancel some.",
    )
    if wire.revision == MODERN:  # what need not be a task is a call then
        assert said(wire.result("tools/call", {"name": "slow_compute", "arguments": {"seconds": 0.4}}))
    assert said(outcome(wire, tasks[7])) == "Kept a.txt."
    wire.result("tasks/cancel", {"taskId": tasks[9]["taskId"]})
    for done in (tasks[7], tasks[9]):
        begun(wire, "confirm_delete", {"filename": "b.txt"})
        assert wire.error("tasks/get", {"taskId": done["taskId"]})["code"] == -32602
    assert state(wire, tasks[6])["status"] == "input_required"


@pytest.mark.requirement("tasks:many")
@BOTH
@IN_PROCESS
def test_results_that_take_too_much_are_forgotten_fetched_ones_first(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = connect(capabilities=DECLARED)
    tasks = [begun(wire, "failing_job") for _ in range(3)]
    for task in tasks:
        until(wire, task, "failed" if wire.revision == CORE else "completed")
    if wire.revision == CORE:  # where a look does not fetch
        outcome(wire, tasks[1])
    size = len(json.dumps(outcome(wire, tasks[1]), separators=(",", ":")))
    monkeypatch.setattr("scorpio.server.tasks.CALL_TASK_RESULTS_BYTES_MAX", size * 3)
    last = begun(wire, "failing_job")
    assert outcome(wire, last)["isError"] is True
    left = [
        task["taskId"] for task in (*tasks, last) if "result" in wire.request("tasks/get", {"taskId": task["taskId"]})
    ]
    forgotten = tasks[1] if wire.revision == CORE else tasks[0]  # the oldest of those that were fetched
    assert left == [task["taskId"] for task in (*tasks, last) if task is not forgotten]


@pytest.mark.requirement("tasks:list")
@IN_CORE
@IN_PROCESS
def test_list_gives_every_task_in_pages_oldest_first(connect: Connect) -> None:
    wire = connect()
    tasks = [begun(wire, "slow_compute", {"seconds": 0}) for _ in range(PAGE_MAX * 2 + 1)]
    for task in tasks:
        until(wire, task, "completed")
    pages = [wire.result("tasks/list")]
    while "nextCursor" in pages[-1]:
        pages.append(wire.result("tasks/list", {"cursor": pages[-1]["nextCursor"]}))
    assert [len(page["tasks"]) for page in pages] == [PAGE_MAX, PAGE_MAX, 1]
    assert [task["taskId"] for page in pages for task in page["tasks"]] == [task["taskId"] for task in tasks]
    assert pages[0]["tasks"][0] == state(wire, tasks[0])


@pytest.mark.requirement("tasks:list")
@IN_CORE
@IN_PROCESS
@pytest.mark.parametrize("cursor", ["", "x", "-1", "1.5", "٣", "9" * 30, 1, {}])
def test_cursor_that_was_never_given_is_invalid_params(connect: Connect, cursor: object) -> None:
    assert connect().error("tasks/list", {"cursor": cursor})["code"] == -32602


@pytest.mark.requirement("tasks:list")
@IN_CORE
def test_list_without_tasks_is_empty(connect: Connect) -> None:
    assert connect().result("tasks/list") == {"tasks": []}
