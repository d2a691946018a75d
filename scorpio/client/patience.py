"""Waiting for a server that may not answer at all, while a person may be asked something first."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Protocol, TypeVar

Result = TypeVar("Result")


class Busy(Protocol):
    @property
    def busy(self) -> bool:
        """With something else than the server, a log-in say: that nothing comes means nothing."""


async def patiently(asked: Coroutine[Any, Any, Result], wait_s: float | None, link: Busy) -> Result:
    """TimeoutError where nothing comes that long, the time that the link is busy not counted."""
    task = asyncio.ensure_future(asked)
    try:
        while not (await asyncio.wait({task}, timeout=wait_s))[0] and link.busy:
            pass
        if not task.done():
            raise TimeoutError
        return task.result()
    finally:
        task.cancel()
