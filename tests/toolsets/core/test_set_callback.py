"""SetCallback: what it says and refuses, and when a callback is due. What happens with its fires: test_delivery.py."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.wire import MODERN
from tools.core.callback import FOR_EVER, Callback, now_s
from tools.core.limits import CALLBACK_DELAY_S_MAX, CALLBACK_MESSAGE_CHARS_MAX, CALLBACK_REPEATS_MAX

if TYPE_CHECKING:
    from tests.wire import Connect, Wire

MB = 1_000_000
HOUR_S = 3600


def set_one(wire: Wire, message: str = "msg", delay_s: int = HOUR_S, **more: Any) -> str:
    return wire.text("SetCallback", {"action": "set", "message": message, "delay_seconds": delay_s, **more})


def listed(wire: Wire) -> str:
    return wire.text("SetCallback", {"action": "list"})


# -- the schedule


def callback(*, delay_s: int = 60, left: int = 20, due_s: float = 1060.0) -> Callback:
    return Callback("stdio", "/project", 0, "msg", delay_s, left, due_s)


@pytest.mark.requirement("callback:clock")
def test_a_fire_counts_down_and_the_next_comes_a_full_delay_later() -> None:
    one = callback(left=2)
    assert one.fire(1060.25) == 0.25
    assert (one.left, one.due_s, one.over) == (1, 1120.25, False)
    one.fire(1120.25)
    assert one.over


@pytest.mark.requirement("callback:clock")
def test_after_a_sleep_of_the_machine_there_is_one_late_fire_and_no_burst() -> None:
    one = callback(left=FOR_EVER)
    woken_s = 1060.0 + 8 * HOUR_S
    assert one.fire(woken_s) == 8 * HOUR_S
    assert one.due_s == woken_s + 60
    assert one.left == FOR_EVER
    assert not one.over


@pytest.mark.requirement("callback:idle")
def test_a_deadline_at_a_bad_moment_is_put_off_by_a_full_delay_and_costs_no_fire() -> None:
    one = callback()
    one.put_off(1065.0)
    assert (one.due_s, one.left) == (1125.0, 20)


@pytest.mark.requirement("callback:clock")
@pytest.mark.parametrize(("in_s", "left_s"), [(12.0, 12.0), (-300.0, -300.0), (90_000.0, 60.0)])
def test_another_process_goes_on_by_the_wall_clock_but_never_waits_longer_than_the_delay(
    in_s: float, left_s: float
) -> None:
    one = callback()
    one.due_from(time.time() + in_s, 500.0)
    assert one.due_s == pytest.approx(500.0 + left_s, abs=1.0)


def test_a_deadline_told_to_another_process_comes_back_as_it_was() -> None:
    one, at_s = callback(delay_s=HOUR_S), now_s()
    one.due_s = at_s + 100.0
    other = callback(delay_s=HOUR_S)
    other.due_from(one.due_unix_s(at_s), at_s)
    assert other.due_s == pytest.approx(one.due_s, abs=1.0)


# -- the tool


@pytest.mark.requirement("callback:slots")
@pytest.mark.revisions(MODERN)
@pytest.mark.transports("in-process")
def test_a_slot_that_is_free_again_is_the_next_to_be_taken(connect: Connect) -> None:
    wire = connect("core")
    for message in "abc":
        set_one(wire, message)
    assert wire.text("SetCallback", {"action": "cancel", "callback_id": 1}) == 'Cancelled callback slot 1: "b"'
    set_one(wire, "d", repeat_count=-1)
    assert [line.split(" - ")[0] for line in listed(wire).splitlines()] == [
        "Active callbacks (3/8):", '  [0] "a"', '  [1] "d"', '  [2] "c"'
    ]  # fmt: skip


@pytest.mark.requirement("callback:slots")
@pytest.mark.revisions(MODERN)
@pytest.mark.transports("in-process")
def test_cancel_of_the_only_one_says_one(connect: Connect) -> None:
    wire = connect("core")
    set_one(wire)
    assert wire.text("SetCallback", {"action": "cancel"}) == "Cancelled 1 callback."
    assert listed(wire) == "No active callbacks."


@pytest.mark.revisions(MODERN)
@pytest.mark.transports("in-process")
def test_a_long_message_of_many_lines_is_one_short_line_in_the_list(connect: Connect) -> None:
    wire = connect("core")
    set_one(wire, "first\n" + "x" * (CALLBACK_MESSAGE_CHARS_MAX - 6))
    [_, line] = listed(wire).splitlines()
    assert line.startswith('  [0] "first xxx')
    assert 'xxx…" - fires in ' in line
    assert len(line) < 300


DELAY = f"delay_seconds must be 1 to {CALLBACK_DELAY_S_MAX}, not "
REPEATS = f"repeat_count must be 0 to {CALLBACK_REPEATS_MAX}, or -1 for ever, not "
NO_ACTION = "There are set, list, cancel."
SET: dict[str, Any] = {"action": "set", "message": "msg", "delay_seconds": 30}
INVALID = "Invalid arguments for SetCallback: "
BAD_INPUT: list[tuple[object, str]] = [
    ({}, INVALID + "/action is required"),
    ({"action": 3}, INVALID + "/action must be string"),
    ({"action": None}, INVALID + "/action must be string"),
    ([], "arguments must be object"),
    ({"action": ""}, f'No action "". {NO_ACTION}'),
    ({"action": "delete"}, f'No action "delete". {NO_ACTION}'),
    ({"action": "x" * MB}, f'No action "{"x" * 79}…". {NO_ACTION}'),
    (
        {"action": "set"},
        "set needs a message of 1 to 2048 characters: what you want to be told.\nset needs delay_seconds, 1 to 3600.",
    ),
    ({"action": "set", "message": "msg"}, "set needs delay_seconds, 1 to 3600."),
    ({**SET, "message": ""}, "set needs a message of 1 to 2048 characters: what you want to be told."),
    ({**SET, "message": " \n\t "}, "set needs a message of 1 to 2048 characters: what you want to be told."),
    ({**SET, "message": "m" * 2049}, "message has 2049 characters; a callback's has at most 2048. "),
    ({**SET, "message": "m" * MB}, "message has 1000000 characters; a callback's has at most 2048. "),
    ({**SET, "message": ["msg"]}, INVALID + "/message must be string"),
    ({**SET, "delay_seconds": 0}, DELAY + "0."),
    ({**SET, "delay_seconds": -5}, DELAY + "-5."),
    ({**SET, "delay_seconds": 3601}, DELAY + "3601."),
    ({**SET, "delay_seconds": 10**18}, DELAY + f"{10**18}."),
    ({**SET, "delay_seconds": 10**300}, DELAY + "a number of that size."),
    ({**SET, "delay_seconds": 1e300}, DELAY + "a number of that size."),
    ({**SET, "delay_seconds": 1.5}, INVALID + "/delay_seconds must be integer"),
    ({**SET, "delay_seconds": "soon"}, INVALID + "/delay_seconds must be integer"),
    ({**SET, "delay_seconds": True}, INVALID + "/delay_seconds must be integer"),
    ({**SET, "delay_seconds": "1" * MB}, INVALID + "/delay_seconds must be integer"),
    ({**SET, "repeat_count": -2}, REPEATS + "-2."),
    ({**SET, "repeat_count": 10**9}, REPEATS + f"{10**9}."),
    ({**SET, "repeat_count": [2]}, INVALID + "/repeat_count must be integer"),
    ({**SET, "delay_seconds": 0, "repeat_count": -2}, f"{DELAY}0.\n{REPEATS}-2."),
    ({"action": "cancel", "callback_id": -1}, "callback_id must be 0 to 7, not -1."),
    ({"action": "cancel", "callback_id": 8}, "callback_id must be 0 to 7, not 8."),
    ({"action": "cancel", "callback_id": 2**64}, "callback_id must be 0 to 7, not a number of that size."),
    ({"action": "cancel", "callback_id": {}}, INVALID + "/callback_id must be integer"),
    ({"action": "cancel", "callback_id": 5}, "No callback in slot 5. Active slots: 0."),
]


@pytest.mark.requirement("callback:bad-input")
@pytest.mark.revisions(MODERN)
@pytest.mark.transports("in-process")
def test_bad_input_gets_a_sentence_and_changes_nothing(connect: Connect) -> None:
    wire = connect("core")
    set_one(wire, "stays", repeat_count=-1)
    for arguments, said in BAD_INPUT:
        result = wire.call("SetCallback", arguments)
        [block] = result["content"]
        assert (result["isError"], said in block["text"]) == (True, True), (str(arguments)[:200], block["text"][:300])
        assert len(block["text"]) < 1000
    head, line = listed(wire).splitlines()
    assert head == "Active callbacks (1/8):"
    assert line.startswith('  [0] "stays" - fires in ')
    assert wire.text("SetCallback", {"action": "cancel", "callback_id": 0}) == 'Cancelled callback slot 0: "stays"'
    assert wire.text("SetCallback", {"action": "cancel", "callback_id": 0}) == (
        "No callback in slot 0. None is active."
    )


@pytest.mark.revisions(MODERN)
@pytest.mark.transports("in-process")
@pytest.mark.parametrize("message", ["\0", "a\0b", "\x1b[31mred", "日本語 🦂", '"quoted"', "%s {0} $1", "x" * 2048])
def test_any_text_is_a_message(connect: Connect, message: str) -> None:
    wire = connect("core")
    assert set_one(wire, message) == "Callback scheduled: fires every 3600s, repeats 20 times."
    assert listed(wire).startswith("Active callbacks (1/8):\n")


@pytest.mark.requirement("callback:no-state")
@pytest.mark.revisions(MODERN)
@pytest.mark.transports("in-process")
def test_where_the_state_cannot_be_written_the_failure_says_so(connect: Connect, environ: dict[str, str]) -> None:
    environ["SCORPIO_HOME"] = "/proc/nothing"
    wire = connect("core")
    result = wire.call("SetCallback", SET)
    assert result["isError"]
    assert result["content"][0]["text"].startswith("State cannot be written: /proc/nothing")
    assert listed(wire) == "No active callbacks."
