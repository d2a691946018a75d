"""The first exchange of each revision."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.wire import Wire


def test_sum_is_listed_and_called_in_every_revision(connect: Callable[..., Wire]) -> None:
    wire = connect("sum")
    assert [tool["name"] for tool in wire.result("tools/list")["tools"]] == ["sum"]
    assert wire.text("sum", {"a": 3, "b": 4}) == "3 + 4 = 7"
    assert wire.close() == 0
