"""SetCallback: set, list and cancel callbacks. What happens when one fires is tools/core/delivery.py."""

from __future__ import annotations

import asyncio
import math
import threading

from scorpio.settings import project_of
from scorpio.state.database import StateError
from scorpio.tool import ToolFailure, text
from tools.core.callback import FOR_EVER, now_s
from tools.core.limits import CALLBACK_SLOTS_MAX
from tools.core.output_text import one_line
from tools.core.set_callback.request import Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from scorpio.tool import Call, ToolResult
    from tools.core._catalog import SetCallbackArguments
    from tools.core.callback import Callback
    from tools.core.callbacks import Callbacks
    from tools.core.state import CoreState

MESSAGE_CHARS_SHOWN = 200


async def handle(arguments: SetCallbackArguments, call: Call[CoreState]) -> ToolResult:
    request = Request(arguments)
    directory = await call.working_directory()
    abandoned = threading.Event()

    def check() -> None:
        if abandoned.is_set():  # cancelled while it waited for its turn: nobody would learn what it did
            raise ToolFailure("The call was cancelled.")

    def answer() -> str:
        project = project_of(directory)
        delivery = call.state.delivery
        try:
            delivery.claim(call.owner, project)
            said = _Answer(delivery.callbacks, call.owner, project, check).to(request)
        except StateError as error:
            raise ToolFailure(str(error)) from None
        delivery.changed()
        return said

    try:
        said = await asyncio.to_thread(answer)
    finally:
        abandoned.set()
    notices = "".join(f"{notice}\n" for notice in call.state.database.take_notices())
    return text(notices + said)


class _Answer:
    def __init__(self, callbacks: Callbacks, owner: str, project: str, check: Callable[[], None]) -> None:
        self._callbacks = callbacks
        self._owner = owner
        self._project = project
        self._check = check

    def to(self, request: Request) -> str:
        return {"set": self._set, "list": self._list, "cancel": self._cancel}[request.action](request)

    def _set(self, request: Request) -> str:
        fires = request.fires
        self._callbacks.set(self._owner, self._project, request.message, request.delay_s, fires, self._check)
        times = "infinitely" if fires == FOR_EVER else f"{fires} time{'s' if fires != 1 else ''}"
        return f"Callback scheduled: fires every {request.delay_s}s, repeats {times}."

    def _list(self, request: Request) -> str:
        active = self._callbacks.active(self._owner)
        if not active:
            return "No active callbacks."
        at_s = now_s()
        lines = [_line(callback, at_s) for callback in active]
        return "\n".join([f"Active callbacks ({len(active)}/{CALLBACK_SLOTS_MAX}):", *lines])

    def _cancel(self, request: Request) -> str:
        slot = request.slot
        active = self._callbacks.active(self._owner)
        cancelled = self._callbacks.cancel(self._owner, slot, self._check)
        if slot is None:
            count = len(cancelled)
            return f"Cancelled {count} callback{'s' if count != 1 else ''}." if count else "No active callbacks."
        if cancelled:
            return f'Cancelled callback slot {slot}: "{_shown(cancelled[0])}"'
        slots = ", ".join(str(callback.slot) for callback in active)
        raise ToolFailure(f"No callback in slot {slot}. {f'Active slots: {slots}.' if slots else 'None is active.'}")


def _line(callback: Callback, at_s: float) -> str:
    left_s = max(0, math.ceil(callback.due_s - at_s))
    left = "infinite" if callback.left == FOR_EVER else f"{callback.left} left"
    return f'  [{callback.slot}] "{_shown(callback)}" - fires in {left_s // 60}m{left_s % 60:02d}s ({left})'


def _shown(callback: Callback) -> str:
    return one_line(callback.message, MESSAGE_CHARS_SHOWN)
