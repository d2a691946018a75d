"""Calls that are tasks, in both kinds: what they become, how they end, whose they are."""

from __future__ import annotations

import json
import os
import random
import resource
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.tasks import CORE, DECLARED, RELATED, begun, outcome, said, state, until
from tests.wire import BOUND_S, LEGACY, MODERN, ErrorAnswer

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.links import Link
    from tests.wire import Connect, Message, Wire

pytestmark = pytest.mark.revisions(CORE, MODERN)
IN_PROCESS = pytest.mark.transports("in-process")
"""For values that no transport looks at."""

LONG: Message = {"ms": 600_000}
NO_TASK = "00000000000000000000000000000000"


def running(wire: Wire, **arguments: int) -> Message:
    """A task whose handler has begun."""
    before = wire.text("test_counts")
    task = begun(wire, "test_slow", {**LONG, **arguments})
    while wire.text("test_counts") == before:  # each turn is a round trip, not a sleep
        pass
    return task


@pytest.mark.requirement("tasks:later")
def test_task_is_at_work_until_its_result_is_there(connect: Connect) -> None:
    wire = connect(capabilities=DECLARED)
    task = begun(wire, "slow_compute", {"seconds": 0.4, "label": "sums"})
    assert task["status"] == "working"
    assert until(wire, task, lambda shown: "statusMessage" in shown)["statusMessage"] == "computing sums"
    assert said(outcome(wire, task)) == "Computed for 0.4 s."
    assert state(wire, task)["status"] == "completed"


@pytest.mark.requirement("tasks:later")
def test_result_of_a_task_stays_what_it_was(connect: Connect) -> None:
    wire = connect(capabilities=DECLARED)
    task = begun(wire, "slow_compute", {"seconds": 0.3})
    first = outcome(wire, task)
    assert [outcome(wire, task) for _ in range(3)] == [first] * 3


@pytest.mark.requirement("tasks:beside")
def test_task_holds_up_neither_calls_nor_other_tasks(connect: Connect) -> None:
    wire = connect(capabilities=DECLARED)
    tasks = [running(wire) for _ in range(3)]
    assert wire.text("test_slow", {"ms": 1}) == "Slept for 1 ms."
    assert [state(wire, task)["status"] for task in tasks] == ["working"] * 3


@pytest.mark.requirement("tasks:cancel")
def test_cancelled_task_is_stopped(connect: Connect) -> None:
    wire = connect(capabilities=DECLARED)
    task = running(wire)
    wire.result("tasks/cancel", {"taskId": task["taskId"]})
    assert state(wire, task)["status"] == "cancelled"
    while "cancelled 1" not in wire.text("test_counts"):
        pass


@pytest.mark.requirement("tasks:cancel")
def test_cancelled_task_whose_work_goes_on_stays_cancelled(connect: Connect) -> None:
    wire = connect(capabilities=DECLARED)
    task = running(wire, stubborn_ms=50)
    wire.result("tasks/cancel", {"taskId": task["taskId"]})
    while "finished 1" not in wire.text("test_counts"):
        pass
    assert state(wire, task)["status"] == "cancelled"


@pytest.mark.requirement("tasks:cancel")
def test_cancelling_the_request_that_began_a_task_leaves_the_task_alone(connect: Connect) -> None:
    wire = connect(capabilities=DECLARED)
    task = running(wire)
    for id_ in range(wire.last_id + 1):  # type: ignore[operator]  # this client counts
        wire.cancel(id_)
    wire.settle()
    assert state(wire, task)["status"] == "working"


@pytest.mark.requirement("tasks:cancel")
def test_request_cancelled_before_it_is_a_task_never_becomes_one(connect: Connect) -> None:
    wire = connect(capabilities=DECLARED)
    params: Message = {"name": "test_slow", "arguments": LONG} | ({"task": {}} if wire.revision == CORE else {})
    request = wire.request_object("gone", "tools/call", params)
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "gone"}}
    wire.send(json.dumps(request).encode() + b"\n" + json.dumps(cancel).encode() + b"\n")
    assert wire.text("test_slow", {"ms": 1}) == "Slept for 1 ms."
    if not wire.answers_to("gone"):
        return
    assert wire.revision == CORE  # whose task may be there before the next line is read
    assert state(wire, wire.answers_to("gone")[0]["result"]["task"])["status"] == "working"


@pytest.mark.requirement("tasks:cancel")
@pytest.mark.requirement("calls:exactly-once")
@pytest.mark.revisions(CORE)
@pytest.mark.parametrize("seed", range(3))
def test_tasks_cancelled_at_any_moment_end_once_and_everyone_who_waits_is_answered_once(
    connect: Connect, seed: int
) -> None:
    wire = connect()
    chance = random.Random(seed)
    begun_ids: list[int | str] = []
    waiting: list[int | str] = []
    for _ in range(150):
        call = {"name": "test_slow", "arguments": {"ms": chance.randrange(5)}, "task": {}}
        begun_ids.append(wire.start("tools/call", call))
        task = {"taskId": wire.answer(chance.choice(begun_ids))["result"]["task"]["taskId"]}
        asked = [method for method in ("tasks/result", "tasks/cancel", "tasks/get") if chance.random() < 0.5]
        waiting += [wire.start(method, task) for method in asked]
    for id_ in (*begun_ids, *waiting):
        wire.answer(id_)
    wire.settle()
    assert {len(wire.answers_to(id_)) for id_ in (*begun_ids, *waiting)} == {1}


@pytest.mark.requirement("tasks:failed-tool")
def test_tool_that_fails_in_a_task_gives_the_result_it_always_gives(connect: Connect) -> None:
    wire = connect(capabilities=DECLARED)
    task = begun(wire, "failing_job")
    result = outcome(wire, task)
    assert (result["isError"], said(result)) == (True, "The job failed, as it always does.")
    shown = state(wire, task)
    assert shown["status"] == ("failed" if wire.revision == CORE else "completed")
    assert shown["statusMessage"] == "The job failed, as it always does."


@pytest.mark.requirement("tasks:failed-call")
def test_error_of_the_protocol_in_a_task_is_the_error_that_is_fetched(connect: Connect) -> None:
    wire = connect(capabilities=DECLARED)
    task = begun(wire, "protocol_error_job")
    with pytest.raises(ErrorAnswer) as raised:
        outcome(wire, task)
    assert raised.value.code == -32603
    assert raised.value.data == {"job": "protocol_error_job"}
    shown = state(wire, task)
    assert (shown["status"], shown["statusMessage"]) == ("failed", "The job broke the protocol, as it always does.")


@pytest.mark.requirement("tasks:unknown")
@pytest.mark.parametrize("method", ["tasks/get", "tasks/cancel", "tasks/result", "tasks/update"])
@pytest.mark.parametrize("id_", [NO_TASK, "", "x" * 10_000, 1, None, ["a"]])
@IN_PROCESS
def test_id_of_no_task_is_invalid_params(connect: Connect, method: str, id_: object) -> None:
    wire = connect(capabilities=DECLARED)
    there = method != ("tasks/update" if wire.revision == CORE else "tasks/result")
    error = wire.error(method, {"taskId": id_, "inputResponses": {}})
    assert error["code"] == (-32602 if there else -32601)
    assert len(error["message"]) < 200


@pytest.mark.requirement("tasks:unknown")
def test_task_of_one_kind_is_unknown_to_requests_of_the_other(connect: Connect, revision: str) -> None:
    wire = connect(capabilities=DECLARED)
    task = begun(wire, "slow_compute", {"seconds": 0.3})
    if revision == CORE:
        wire.revision = MODERN
    else:
        wire.revision = CORE
        wire.open()
    assert wire.error("tasks/get", {"taskId": task["taskId"]})["code"] == -32602


@pytest.mark.requirement("tasks:by-revision")
@pytest.mark.revisions(*(name for name in LEGACY if name != CORE))
def test_revision_without_tasks_knows_no_method_of_theirs_and_no_param(connect: Connect) -> None:
    wire = connect()
    for method in ("tasks/get", "tasks/list", "tasks/cancel", "tasks/result"):
        assert wire.error(method, {"taskId": NO_TASK})["code"] == -32601
    call = {"name": "slow_compute", "arguments": {"seconds": 0}, "task": {"ttl": "x"}}
    assert said(wire.result("tools/call", call)) == "Computed for 0 s."
    assert wire.call("failing_job")["isError"] is True


@pytest.mark.requirement("tasks:required")
def test_tool_that_needs_a_task_is_refused_to_who_takes_none(connect: Connect) -> None:
    wire = connect()
    error = wire.error("tools/call", {"name": "failing_job"})
    if wire.revision == CORE:
        assert (error["code"], error["message"]) == (
            -32601,
            "failing_job runs as a task only: send params.task with it",
        )
    else:
        assert (error["code"], error["data"]) == (-32021, {"requiredCapabilities": DECLARED})


@pytest.mark.requirement("tasks:forbidden")
@pytest.mark.parametrize("name", ["greet", "test_working_directory"])
def test_tool_without_tasks_is_never_one(connect: Connect, name: str) -> None:
    wire = connect(capabilities=DECLARED)
    call = {"name": name, "arguments": {"name": "you"} if name == "greet" else {}, "task": {"ttl": 60_000}}
    if wire.revision == CORE:
        error = wire.error("tools/call", call)
        assert (error["code"], error["message"]) == (
            -32601,
            f"{name} cannot run as a task: send it without params.task",
        )
    else:
        assert wire.result("tools/call", call)["resultType"] == "complete"


@pytest.mark.requirement("tasks:listed")
@pytest.mark.revisions(*LEGACY, MODERN)
@IN_PROCESS
def test_task_support_is_listed_where_the_revision_has_the_word(connect: Connect) -> None:
    tools = {tool["name"]: tool for tool in connect().result("tools/list")["tools"]}
    supports = {name: tools[name].get("execution") for name in ("greet", "slow_compute", "failing_job")}
    if connect().revision == CORE:
        assert supports == {
            "greet": None,
            "slow_compute": {"taskSupport": "optional"},
            "failing_job": {"taskSupport": "required"},
        }
    else:
        assert set(supports.values()) == {None}


@pytest.mark.requirement("tasks:arguments")
def test_arguments_that_the_schema_refuses_are_told_as_ever(connect: Connect) -> None:
    wire = connect(capabilities=DECLARED)
    if wire.revision == CORE:
        result = outcome(wire, begun(wire, "slow_compute", {"seconds": -1}))
    else:
        result = wire.result("tools/call", {"name": "slow_compute", "arguments": {"seconds": -1}})
    assert result["isError"] is True
    assert said(result).startswith("Invalid arguments for slow_compute: /seconds")


@pytest.mark.requirement("tasks:gone-with-client")
def test_end_of_input_ends_tasks_and_the_exit_is_clean(connect: Connect) -> None:
    wire = connect(capabilities=DECLARED)
    running(wire)
    assert wire.close() == 0
    assert "Traceback" not in wire.stderr()


# -- two clients of one server


@pytest.fixture
def two_clients(link: Callable[..., Link], revision: str) -> Any:
    """(ask, close): requests of the owners `one` and `two` to one server, without a transport."""
    from scorpio.server.peer import Peer

    made: Any = link("conformance")
    made.start(lambda line: None, lambda: None)  # for its end
    server = made.server
    server.warm()
    lines: dict[str, list[bytes]] = {"one": [], "two": []}
    peers = {owner: Peer(lines[owner].append, owner) for owner in lines}
    for peer in peers.values():
        server.open_peer(peer)

    def ask(owner: str, method: str, params: Message) -> Message:
        meta: Message = {}
        if revision == MODERN:
            prefix = "io.modelcontextprotocol/"
            meta = {"_meta": {prefix + "protocolVersion": MODERN, prefix + "clientCapabilities": DECLARED}}
        request = {"jsonrpc": "2.0", "id": len(lines[owner]) + 1000, "method": method, "params": params | meta}
        answer = server.receive(json.dumps(request).encode(), peers[owner])
        while answer is None:
            answer = next((line for line in lines[owner] if json.loads(line).get("id") == request["id"]), None)
        lines[owner].append(b"{}")  # so that the next id is another one
        message: Message = json.loads(answer)
        return message

    if revision == CORE:
        for owner in lines:
            ask(owner, "initialize", {"protocolVersion": CORE, "capabilities": {}, "clientInfo": {}})
    yield ask, lambda owner: server.close_peer(peers[owner])
    for owner in lines:
        server.close_peer(peers[owner])
    made.close_input()
    made.wait(BOUND_S)


@pytest.mark.requirement("tasks:owner")
@IN_PROCESS
def test_task_of_another_owner_is_an_unknown_task(two_clients: Any, revision: str) -> None:
    ask, _ = two_clients
    call = {"name": "test_slow", "arguments": LONG} | ({"task": {}} if revision == CORE else {})
    begun = ask("one", "tools/call", call)["result"]
    id_ = begun.get("task", begun)["taskId"]
    methods = ["tasks/get", "tasks/cancel", "tasks/result" if revision == CORE else "tasks/update"]
    foreign = [ask("two", method, {"taskId": id_, "inputResponses": {}})["error"] for method in methods]
    unknown = [ask("two", method, {"taskId": NO_TASK, "inputResponses": {}})["error"] for method in methods]
    assert [error | {"message": error["message"].replace(id_, NO_TASK)} for error in foreign] == unknown
    if revision == CORE:
        assert ask("two", "tasks/list", {})["result"]["tasks"] == []
    assert ask("one", "tasks/get", {"taskId": id_})["result"]["status"] == "working"


@pytest.mark.requirement("tasks:gone-with-client")
@IN_PROCESS
def test_client_with_a_session_takes_its_tasks_with_it_and_a_single_request_leaves_them(
    two_clients: Any, revision: str
) -> None:
    ask, close = two_clients
    call = {"name": "test_slow", "arguments": LONG} | ({"task": {}} if revision == CORE else {})
    begun = ask("one", "tools/call", call)["result"]
    close("one")
    still = ask("one", "tasks/get", {"taskId": begun.get("task", begun)["taskId"]})
    if revision == CORE:
        assert still["error"]["code"] == -32602
        while "cancelled 1" not in json.dumps(ask("two", "tools/call", {"name": "test_counts"})):
            pass
    else:
        assert still["result"]["status"] == "working"


@pytest.mark.requirement("tasks:news")
@IN_PROCESS
def test_first_to_fetch_a_result_finds_what_toolsets_want_to_tell(
    connect: Connect,
) -> None:
    wire = connect(capabilities=DECLARED)
    link: Any = wire.link
    told = Telling()
    task = begun(wire, "slow_compute", {"seconds": 0.4})
    link.server.features.telling = [told]
    first, second = outcome(wire, task), outcome(wire, task)
    assert said(first) == "Computed for 0.4 s.\nnews for in-process"
    assert second == first
    assert told.asked == 1


class Telling:
    """A toolset with news, once."""

    def __init__(self) -> None:
        self.asked = 0

    def state(self, *opened_with: object) -> Telling:
        return self

    def after_result(self, owner: str) -> list[Message]:
        self.asked += 1
        return [{"type": "text", "text": f"news for {owner}"}]


@pytest.mark.requirement("tasks:related")
@pytest.mark.revisions(CORE)
def test_what_a_core_task_says_carries_its_name(connect: Connect) -> None:
    wire = connect(capabilities=DECLARED)
    wire.result("logging/setLevel", {"level": "debug"})
    task = begun(wire, "test_slow", {"ms": 10, "steps": 2}, meta={"progressToken": "p"})
    result = outcome(wire, task)
    named = {RELATED: {"taskId": task["taskId"]}}
    assert result["_meta"] == named
    assert [(p["progress"], p["_meta"]) for p in wire.progress("p")] == [(1, named), (2, named)]


@pytest.mark.requirement("faults:starved")
@IN_PROCESS
def test_task_that_finds_no_descriptor_left_is_a_result_with_words_for_the_model(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = connect(capabilities=DECLARED)
    outcome(wire, begun(wire, "slow_compute", {"seconds": 0.3}))  # what a first task opens is open
    monkeypatch.delitem(sys.modules, "tools.conformance.failing_job.handler", raising=False)
    next_free = os.dup(0)
    os.close(next_free)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (next_free, hard))
    try:
        result = outcome(wire, begun(wire, "failing_job"))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert result["isError"] is True
    assert said(result).startswith("There are no file descriptors left.")
