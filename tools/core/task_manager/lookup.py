"""Which task or step a request means: by id, as the current one, or by words that fit exactly one.

Guesses nothing: what fits several is refused, with all of them named.
"""

from __future__ import annotations

import re

from scorpio.tool import ToolFailure
from tools.core.task_manager.task_list import named
from tools.core.task_manager.task_text import one_line, quoted
from tools.core.task_store import key_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools.core.task_manager.actions import Request
    from tools.core.task_store import ProjectTasks, Step, Task

CANDIDATES_NAMED_MAX = 10

_TASK_NUMBER = re.compile(r"\W*(?:task\s+)?#(\d{1,18})(?:\s+(.+))?|task\s+(\d{1,18})", re.IGNORECASE)
"""`#2`, `task 2`, or a line of the list: `▶ #2 Deploy [0/3]`."""
_NUMBER = re.compile(r"(?:step\s+)?#?(\d{1,18})[.)]?", re.IGNORECASE)


def task_with_id(tasks: ProjectTasks, task_id: int) -> Task:
    task = tasks.task(task_id)
    if task is None:
        last = tasks.last_id()
        known = f"its ids end with {last}" if last else "it has none yet; create makes one"
        raise ToolFailure(f"No task {task_id} in this project: {known}.")
    return task


def step_with_id(tasks: ProjectTasks, task: Task, step_id: int) -> Step:
    step = tasks.step(task.id, step_id)
    if step is None:
        known = f"its steps are 1 to {task.steps}" if task.steps else "it has no steps; add makes one"
        raise ToolFailure(f"No step {step_id} in {named(task)}: {known}.")
    return step


def open_target(tasks: ProjectTasks, task_id: int | None, action: str) -> Task:
    """The task meant by an id; without one the current task, or the only open one."""
    if task_id is not None:
        return task_with_id(tasks, task_id)
    task = tasks.current()
    if task is not None:
        return task
    every = tasks.open_tasks()
    if len(every) != 1:
        raise ToolFailure(f"{action} needs a task: there is no current one. Give task_id, or create a task first.")
    return every[0]


def step_or_task(tasks: ProjectTasks, request: Request) -> tuple[Task, Step | None]:
    """What is to be completed: a step and its task, or a task and None."""
    if request.step_id is not None:
        task = open_target(tasks, request.task_id, "complete")
        return task, step_with_id(tasks, task, request.step_id)
    words = one_line(request.words)
    if request.task_id is not None:
        return _step_named_exactly(tasks, task_with_id(tasks, request.task_id), words)
    numbered = _by_number(tasks, request.words.strip())
    if numbered is not None:
        return numbered
    if not words:
        raise ToolFailure("complete needs to know what: give step_id, or task_id, or the name of one in query.")
    for done in (False, True):
        steps, whole = tasks.steps_like(key_of(words), done=done), tasks.tasks_like(key_of(words), done=done)
        found = _one_of(steps, whole, words, tasks.current_id)
        if found is not None:
            step, task_id = found
            return task_with_id(tasks, task_id), step
    raise ToolFailure(f"No step and no task is named {quoted(words)}. Give step_id or task_id; list shows all.")


def _step_named_exactly(tasks: ProjectTasks, task: Task, words: str) -> tuple[Task, Step | None]:
    """With a task_id, words that are exactly an open step's mean that step; any others fill the required `query`."""
    key = key_of(words)
    if key != key_of(task.name):
        for step in tasks.steps(task.id):
            if not step.done and key_of(step.text) == key:
                return task, step
    return task, None


def _by_number(tasks: ProjectTasks, words: str) -> tuple[Task, Step | None] | None:
    task = _task_by_number(tasks, words)
    if task is not None:
        return task, None
    found = _NUMBER.fullmatch(words)
    if found is None:
        return None
    task = open_target(tasks, None, "complete")
    return task, step_with_id(tasks, task, int(found[1]))


def _task_by_number(tasks: ProjectTasks, words: str) -> Task | None:
    """None for words that only begin like a number, as the names of many tasks do: `#12 crashes`."""
    found = _TASK_NUMBER.fullmatch(words)
    if found is None:
        return None
    if not found[2]:
        return task_with_id(tasks, int(found[1] or found[3]))
    task = tasks.task(int(found[1]))
    return task if task is not None and key_of(found[2]).startswith(key_of(task.name)) else None


def _one_of(
    steps: Sequence[Step], whole: Sequence[Task], words: str, current_id: int | None
) -> tuple[Step | None, int] | None:
    """The one that is meant, as (step, task id); None when nothing fits."""
    key = key_of(words)
    exact_steps = [step for step in steps if key_of(step.text) == key]
    exact_tasks = [task for task in whole if key_of(task.name) == key]
    if exact_steps or exact_tasks:
        steps, whole = exact_steps, exact_tasks
    here = [step for step in steps if step.task_id == current_id]
    if exact_steps and here:
        steps, whole = here, []
    if len(steps) + len(whole) > 1:
        _refuse(words, [f"step {step.id} of #{step.task_id}: {step.text}" for step in steps] + [*map(named, whole)])
    if steps:
        return steps[0], steps[0].task_id
    return (None, whole[0].id) if whole else None


def task_to_switch_to(tasks: ProjectTasks, request: Request) -> Task:
    if request.task_id is not None:
        return task_with_id(tasks, request.task_id)
    raw = request.words.strip()
    task = _task_by_number(tasks, raw)
    if task is not None:
        return task
    number = _NUMBER.fullmatch(raw)
    if number:
        return task_with_id(tasks, int(number[1]))
    words = one_line(raw)
    if not words:
        raise ToolFailure("switch needs to know which task: give task_id, or its name in query.")
    for done in (False, True):
        found = tasks.tasks_like(key_of(words), done=done)
        if len(found) > 1:
            _refuse(words, [*map(named, found)])
        if found:
            return found[0]
    raise ToolFailure(f"No task is named {quoted(words)}. Give task_id; list shows all, create makes a new one.")


def _refuse(words: str, candidates: list[str]) -> None:
    shown = "; ".join(candidates[:CANDIDATES_NAMED_MAX])
    more = f" and {len(candidates) - CANDIDATES_NAMED_MAX} more" if len(candidates) > CANDIDATES_NAMED_MAX else ""
    raise ToolFailure(f"{quoted(words)} fits {len(candidates)}: {shown}{more}. Give the id of the one you mean.")
