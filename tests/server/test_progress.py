"""notifications/progress: asked for by a token, strictly increasing, over when the answer is there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.wire import MODERN

if TYPE_CHECKING:
    from tests.wire import Connect

IN_PROCESS = pytest.mark.transports("in-process")
"""For values that no transport looks at."""


@pytest.mark.requirement("progress:increasing")
@pytest.mark.parametrize("token", ["token", 7, 0, ""])
def test_progress_carries_the_token_and_increases(connect: Connect, token: str | int) -> None:
    wire = connect()
    wire.call("test_tool_with_progress", meta={"progressToken": token})
    assert [(p["progress"], p["total"]) for p in wire.progress(token)] == [(0, 100), (50, 100), (100, 100)]


@pytest.mark.requirement("progress:ends-with-answer")
def test_no_progress_follows_the_answer(connect: Connect) -> None:
    wire = connect()
    for n in range(20):
        wire.call("test_slow", {"ms": 5, "steps": 5}, meta={"progressToken": n})
        answered = next(i for i, m in enumerate(wire.received) if isinstance(m, dict) and m.get("id") == wire.last_id)
        later = [m for m in wire.received[answered + 1 :] if isinstance(m, dict) and "method" in m]
        assert later == []
        assert len(wire.progress(n)) == 5


@pytest.mark.requirement("progress:asked-for")
def test_call_without_a_token_reports_nothing(connect: Connect) -> None:
    wire = connect()
    wire.call("test_tool_with_progress")
    assert [m for m in wire.notifications if m["method"] == "notifications/progress"] == []


@IN_PROCESS
@pytest.mark.requirement("progress:asked-for")
@pytest.mark.parametrize("token", [None, True, 1.5, {}, []])
def test_token_that_no_notification_could_carry_is_as_none(connect: Connect, token: object) -> None:
    wire = connect()
    assert wire.text("test_tool_with_progress", meta={"progressToken": token})
    assert [m for m in wire.notifications if m["method"] == "notifications/progress"] == []


@pytest.mark.requirement("progress:message-by-revision")
def test_progress_says_what_is_done_where_the_revision_has_words(connect: Connect, revision: str) -> None:
    wire = connect()
    wire.call("test_slow", {"ms": 2, "steps": 2}, meta={"progressToken": "p"})
    said = [p.get("message") for p in wire.progress("p")]
    assert said == ([None, None] if revision == "2024-11-05" else ["step 1", "step 2"])


@pytest.mark.slow
@pytest.mark.requirement("progress:keep-alive")
@pytest.mark.revisions(MODERN)
@pytest.mark.transports("in-process")
def test_silent_call_is_kept_alive_and_its_own_count_is_not_overtaken(connect: Connect) -> None:
    """Two steps of 5.5 s: a sign of life 5 s after each silence began, between the steps that the tool counts."""
    wire = connect()
    wire.call("test_slow", {"ms": 11_000, "steps": 2}, meta={"progressToken": "p"})
    said = [re.sub(r"\d+ s$", "… s", p["message"]) for p in wire.progress("p")]
    assert said == ["running for … s", "step 1", "running for … s", "step 2"]
    assert [p["progress"] for p in wire.progress("p")][1::2] == [1, 2]
