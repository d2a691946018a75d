"""notifications/message: how much a client hears, by session (legacy) or by request (modern)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.wire import LEGACY, META, MODERN

if TYPE_CHECKING:
    from tests.wire import Connect, Wire

IN_PROCESS = pytest.mark.transports("in-process")
"""For values that no transport looks at."""

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


def heard(wire: Wire) -> list[str]:
    wire.call("test_logging_tool")
    return [m["params"]["level"] for m in wire.notifications if m["method"] == "notifications/message"]


@IN_PROCESS
@pytest.mark.requirement("log:set-level")
@pytest.mark.revisions(*LEGACY)
@pytest.mark.parametrize("level", LEVELS)
def test_session_hears_its_level_and_what_is_more_severe(connect: Connect, level: str) -> None:
    wire = connect()
    assert wire.result("logging/setLevel", {"level": level}) == {}
    assert heard(wire) == list(LEVELS[LEVELS.index(level) :])


@pytest.mark.requirement("log:default")
@pytest.mark.revisions(*LEGACY)
def test_session_that_set_no_level_hears_info_and_above(connect: Connect) -> None:
    assert heard(connect()) == list(LEVELS[1:])


@IN_PROCESS
@pytest.mark.requirement("log:per-request")
@pytest.mark.revisions(MODERN)
@pytest.mark.parametrize("level", LEVELS)
def test_modern_request_hears_the_level_it_names(connect: Connect, level: str) -> None:
    wire = connect()
    wire.log_level = level
    assert heard(wire) == list(LEVELS[LEVELS.index(level) :])


@pytest.mark.requirement("log:per-request")
@pytest.mark.revisions(MODERN)
def test_modern_request_that_names_no_level_hears_nothing(connect: Connect) -> None:
    assert heard(connect()) == []


@IN_PROCESS
@pytest.mark.requirement("log:bad-level")
@pytest.mark.parametrize("level", ["loud", "INFO", "", None, 3, ["info"]])
def test_level_that_is_none_is_invalid_params(connect: Connect, revision: str, level: object) -> None:
    wire = connect()
    if revision == MODERN:
        if level is None:
            pytest.skip("null is as not named")
        error = wire.error("tools/call", {"name": "test_logging_tool"}, meta={META + "logLevel": level})
    else:
        error = wire.error("logging/setLevel", {"level": level})
    assert error["code"] == -32602


@pytest.mark.requirement("log:before-answer")
def test_messages_of_a_call_come_before_its_answer(connect: Connect) -> None:
    wire = connect()
    wire.log_level = "info"
    wire.call("test_tool_with_logging")
    assert [m["params"]["data"] for m in wire.notifications] == [
        "Tool execution started",
        "Tool processing data",
        "Tool execution completed",
    ]
    assert wire.received[-1]["id"] == wire.last_id  # type: ignore[call-overload]
