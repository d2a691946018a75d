"""What PlanMode says. Decides nothing."""

from __future__ import annotations

import os
import time

from scorpio.limits import OUTPUT_CHARS_MAX, PLAN_GOAL_CHARS_MAX
from tools.core.output_text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call
    from tools.core.plan_record import Mode
    from tools.core.plans import Plans
    from tools.core.state import CoreState

ENTERED = "Plan mode activated. Write your plan as markdown."
ENTERED_AGAIN = "Plan mode: ACTIVE already. Write your plan as markdown."
ACTIVE = "Plan mode: ACTIVE"
INACTIVE = "Plan mode: INACTIVE"
EXITED = "Exiting plan mode. Returning to execution."
RESET = "Plan mode reset. No plan saved."
ENDS = "It ends with action exit (the plan file must hold the plan) or reset (without a plan)."

ADVISORY = "Nothing is enforced (PLAN_MODE_ENFORCE=advisory): change nothing but the plan until it ends."
OFF = "Nothing is restricted (PLAN_MODE_ENFORCE=off)."

COMMAND_CHARS_SHOWN = 80
GOAL_CHARS_SHOWN = 10 * PLAN_GOAL_CHARS_MAX  # what cannot be shown becomes an escape
RUNNING_SHOWN_MAX = 20


def status(mode: Mode) -> list[str]:
    goal = f'"{one_line(mode.goal, GOAL_CHARS_SHOWN)}"' if mode.goal else "(none)"
    lines = [ACTIVE, f"Goal: {goal}", f"Duration: {_duration(time.time() - mode.started_unix_s)}"]
    if mode.damaged:
        lines.append("Its record was damaged: goal and plan file are lost. Enter again to give them anew.")
    return lines


def as_json(mode: Mode | None) -> str:
    import orjson

    fields = {
        "active": mode is not None,
        "goal": mode.goal if mode else None,
        "plan_file": mode.plan_file if mode else None,
        "started_at": since(mode) if mode else None,
    }
    try:
        return orjson.dumps(fields).decode()
    except TypeError:  # a path that is not UTF-8
        fields["plan_file"] = os.fsencode(str(fields["plan_file"])).decode("utf-8", "replace")
        return orjson.dumps(fields).decode()


def since(mode: Mode) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(mode.started_unix_s))


def _duration(seconds: float) -> str:
    minutes, rest = divmod(max(0, int(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{f'{hours}h ' if hours else ''}{minutes}m {rest}s"


async def rules(plans: Plans, mode: Mode) -> list[str]:
    """The plan file, what is restricted, and by what means."""
    lines = [f"Plan file: {mode.plan_file}"] if mode.plan_file else []
    if plans.settings.plan_mode_enforce == "advisory":
        return [*lines, ADVISORY]
    if plans.settings.plan_mode_enforce == "off":
        return [*lines, OFF]
    backend = await plans.backend()
    if not backend.by_kernel:
        lines.append(
            f"Restricted: Bash, BackgroundBash and commands of skills run only with {backend.describe()}. "
            "Write the plan file with your own tools."
        )
        return [*lines, *(f"Not enforced by the kernel: {reason}." for reason in backend.reasons)]
    if not mode.plan_file:
        lines.append(f"Plan file: none yet; {suggestion(mode)} can be written. Name it at exit.")
    places = [_place(path) for path in mode.writable]
    network = "" if plans.settings.plan_mode_network else "no network and "
    lines.append(
        "Restricted: Bash, BackgroundBash and commands of skills can write only in "
        f"{' and '.join([*places, f'{plans.temporary(mode)} (TMPDIR, private)'])}; "
        f"{network}no Unix sockets (docker, tmux, ssh-agent)."
    )
    lines.append(f"Enforced by the kernel: {backend.describe()}.")
    lines += filter(None, [plans.sandboxing.rule()])
    lines += [f"Not in force: {reason}." for reason in backend.reasons]
    lines += backend.gaps()
    if plans.settings.plan_mode_network:
        lines.append("The network is open (PLAN_MODE_NETWORK=true): nothing stops a change made through it.")
    lines.append("Not restricted: programs that run already, and other tools of this client.")
    return lines


def suggestion(mode: Mode) -> str:
    return os.path.join(mode.temporary, "plan.md") if mode.temporary else "a .md file"


def _place(path: str) -> str:
    return f"{path} (the plan file's directory)" if os.path.isdir(path) else f"{path} (the plan file)"


async def still_running(call: Call[CoreState], mode: Mode) -> list[str]:
    """What began before the mode and is not confined."""
    if call.settings.plan_mode_enforce != "strict":
        return []
    running = await call.state.plans.free.running(mode.owner)
    free = {id(each.command or each): each for each in running}
    shown = []
    for task in call.state.background_tasks.visible(mode.owner):
        if task.end is None and (task.command is None or free.pop(id(task.command), None) is not None):
            command = one_line(task.record.command, COMMAND_CHARS_SHOWN)
            shown.append(f"  task {task.id} (pid {task.record.pid}): {command}")
    for each in free.values():
        pid = f"pid {each.command.pid}" if each.command else "being started"
        shown.append(f"  a command of Bash ({pid}): {one_line(each.text, COMMAND_CHARS_SHOWN)}")
    if not shown:
        return []
    head = "Still running from before plan mode, and NOT restricted (KillBgTask ends tasks):"
    return [head, *_first(shown)]


def still_confined(call: Call[CoreState]) -> list[str]:
    """What began in the mode that has ended: it stays confined."""
    if call.settings.plan_mode_enforce != "strict":
        return []
    free = call.state.plans.free
    shown = [
        f"  task {task.id} (pid {task.record.pid}): {one_line(task.record.command, COMMAND_CHARS_SHOWN)}"
        for task in call.state.background_tasks.visible(call.owner)
        if task.end is None and task.command is not None and not free.has(task.command)
    ]
    head = "Started in plan mode, and still restricted (start them anew to lift that):"
    return [head, *_first(shown)] if shown else []


def _first(lines: list[str]) -> list[str]:
    more = len(lines) - RUNNING_SHOWN_MAX
    return [*lines[:RUNNING_SHOWN_MAX], *([f"  and {more} more"] if more > 0 else [])]


def shortened(plan: str, path: str) -> str:
    """The plan as an answer shows it."""
    if len(plan) <= OUTPUT_CHARS_MAX:
        return plan.rstrip()
    left = len(plan) - OUTPUT_CHARS_MAX
    return f"{plan[:OUTPUT_CHARS_MAX]}\n[… {left:,} characters omitted; the whole plan: {path} …]"
