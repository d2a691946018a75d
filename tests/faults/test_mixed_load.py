"""All tools at once, with cancels, kills, full disks, few descriptors and clocks that jump: nothing left, nothing lost.

Fifteen seconds here; `build/dev.py soak` does it for minutes, as an ordinary user too, and prints the figures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.faults import mixed_run

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS = 10


@pytest.mark.alone
@pytest.mark.builds("frozen")
@pytest.mark.requirement("faults:mixed-load")
def test_a_mixed_load_with_faults_leaves_nothing_and_loses_nothing(command: Callable[..., list[str]]) -> None:
    figures = mixed_run.run(command("core")[0], SECONDS, seed=1)
    assert figures["faults"] == []
    assert (figures["orphans"], figures["lost"]) == (0, 0)
    assert min(figures["calls"], figures["faults injected"], figures["steps acknowledged"], figures["lives"]) > 0
