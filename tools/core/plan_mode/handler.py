"""PlanMode: enter, exit, status, json, reset. What the mode means for commands is decided in tools/core/plans.py."""

from __future__ import annotations

import asyncio
import time

from scorpio.limits import PLAN_GOAL_CHARS_MAX
from scorpio.settings import project_of
from scorpio.tool import ToolFailure, text
from tools.core.output_text import one_line
from tools.core.plan_mode import plan_text
from tools.core.plan_mode.plan_file import Places, located, prepare, read_plan, unmake, writable_with
from tools.core.plan_record import Mode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from scorpio.tool import Call, ToolResult
    from tools.core._catalog import PlanModeArguments
    from tools.core.plans import Plans
    from tools.core.state import CoreState

ACTION_CHARS_SHOWN = 60


async def handle(arguments: PlanModeArguments, call: Call[CoreState]) -> ToolResult:
    name = arguments["action"].strip().lower()
    action = ACTIONS.get(name)
    if action is None:
        shown = one_line(arguments["action"], ACTION_CHARS_SHOWN)
        raise ToolFailure(f'No action "{shown}". There are {", ".join(ACTIONS)}.')
    return text(await action(Request(arguments, call, await call.working_directory())))


class Request:
    def __init__(self, arguments: PlanModeArguments, call: Call[CoreState], cwd: str) -> None:
        self.call = call
        self.owner = call.owner
        self.plans: Plans = call.state.plans
        self.cwd = cwd
        self.goal = (arguments.get("goal") or "").strip() or None
        self.plan_file = (arguments.get("plan_file") or "").strip() or None
        self.mode = self.plans.of(self.owner, cwd)
        self.places = Places(cwd, call.home.root, self.mode.plan_file if self.mode else None)


# -- enter


async def enter(request: Request) -> str:
    goal = request.goal
    if goal is not None and len(goal) > PLAN_GOAL_CHARS_MAX:
        raise ToolFailure(
            f"The goal has {len(goal)} characters; at most {PLAN_GOAL_CHARS_MAX} are kept. "
            "Say it in a paragraph; details belong in the plan."
        )
    if request.mode is not None:
        return await _entered_again(request, request.mode)
    mode = Mode(request.owner, project_of(request.cwd), time.time())
    mode.goal = goal
    plans = request.plans
    begun = False
    try:
        if plans.settings.plan_mode_enforce == "strict":
            await plans.backend()
            plans.temporary(mode)
        if request.plan_file is not None:
            await _whole(_declare, mode, request)
        if (other := plans.of(request.owner, request.cwd)) is not None:  # another call was quicker
            plans.discard(mode)
            unmake(mode.made)
            return await _entered_again(request, other)
        plans.begin(mode)
        begun = True
        await _keep(request, mode)
        running = await plan_text.still_running(request.call, mode)
    except BaseException:  # a full disk, or the call was cancelled: nobody would know of the mode
        if begun:
            plans.end(mode)
        plans.discard(mode)
        unmake(mode.made)
        raise
    plans.changed(mode)
    return "\n".join([plan_text.ENTERED, *await plan_text.rules(plans, mode), *running, plan_text.ENDS])


async def _entered_again(request: Request, mode: Mode) -> str:
    """Once is enough; a goal or a plan file that is given now is taken."""
    before = (mode.goal, mode.plan_file, mode.writable, mode.made)
    mode.goal = request.goal or mode.goal
    try:
        if request.plan_file is not None:
            await _whole(_declare, mode, request)
        await _keep(request, mode)
    except BaseException:
        unmake([path for path in mode.made if path not in before[3]])
        mode.goal, mode.plan_file, mode.writable, mode.made = before
        raise
    request.plans.changed(mode)
    lines = [plan_text.ENTERED_AGAIN, *plan_text.status(mode)[1:], *await plan_text.rules(request.plans, mode)]
    return "\n".join([*dict.fromkeys(lines), plan_text.ENDS])


def _declare(mode: Mode, request: Request) -> None:
    """Blocks. Raises ToolFailure."""
    path = located(request.plan_file or "", request.places)
    writable = writable_with(path, request.places, mode.project)
    made = prepare(path, writable)
    mode.plan_file, mode.writable, mode.made = path, [writable], [*mode.made, *made]


async def _keep(request: Request, mode: Mode) -> None:
    """Raises ToolFailure."""
    try:
        await _whole(request.plans.keep, mode)
    except OSError as error:
        why = (error.strerror or str(error)).rstrip(".")
        where = f"{error.filename}: " if error.filename else ""
        raise ToolFailure(f"Plan mode cannot be written down: {where}{why}. Mend that, then call again.") from None


async def _whole(work: Callable[..., None], *arguments: object) -> None:
    """In a thread, to its end: what is half done when the call is cancelled could not be undone."""
    running = asyncio.ensure_future(asyncio.to_thread(work, *arguments))
    cancelled = False
    while not running.done():
        try:
            await asyncio.wait((running,))
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError
    running.result()


# -- exit


async def leave(request: Request) -> str:
    mode = request.mode
    if mode is None:
        raise ToolFailure("Plan mode is not active, so there is nothing to exit. Action enter begins it.")
    if request.plan_file is None and mode.plan_file is None:
        raise ToolFailure(
            f"exit needs a plan: write it as markdown, to {plan_text.suggestion(mode)} for example, and give its path "
            "as plan_file. Plan mode stays active; reset ends it without a plan."
        )
    try:
        named = request.plan_file
        path = await asyncio.to_thread(located, named, request.places) if named else str(mode.plan_file)
        plan = await asyncio.to_thread(read_plan, path, request.places)
    except ToolFailure as failure:
        raise ToolFailure(f"{failure} Plan mode stays active; reset ends it without a plan.") from None
    mode.plan_file = path
    running = await _end(request, mode)
    return "\n".join([f"Plan saved to {path}", plan_text.EXITED, *running, "", plan_text.shortened(plan, path)])


async def reset(request: Request) -> str:
    if request.mode is not None:
        running = await _end(request, request.mode)
        return "\n".join([plan_text.RESET, *running])
    return plan_text.RESET


async def _end(request: Request, mode: Mode) -> list[str]:
    """What still runs confined, as lines. Raises ToolFailure: it is active still."""
    try:
        request.plans.end(mode)
    except OSError as error:
        raise ToolFailure(
            f"Plan mode stays active: {error.filename} cannot be removed: {error.strerror}. Mend that, then call again."
        ) from None
    running = plan_text.still_confined(request.call)
    await asyncio.to_thread(unmake, mode.made)
    if not running:
        await asyncio.to_thread(request.plans.remove_leftovers)
    request.plans.changed(mode)
    return running


# -- looking


async def status(request: Request) -> str:
    if request.mode is None:
        return plan_text.INACTIVE
    return "\n".join([*plan_text.status(request.mode), *await plan_text.rules(request.plans, request.mode)])


async def as_json(request: Request) -> str:
    return plan_text.as_json(request.mode)


ACTIONS: dict[str, Callable[[Request], Awaitable[str]]] = {
    "enter": enter,
    "exit": leave,
    "status": status,
    "json": as_json,
    "reset": reset,
}
