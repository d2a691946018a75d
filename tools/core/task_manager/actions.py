"""The six actions of TaskManager, each inside one transaction: a function of the project's tasks and the request.

Each returns the whole answer, with the list at its end. What cannot be done is a ToolFailure, and changes nothing.
"""

from __future__ import annotations

import re

from scorpio.limits import TASK_STEPS_MAX, TASKS_OPEN_MAX
from scorpio.tool import ToolFailure
from tools.core.task_manager.lookup import open_target, step_or_task, task_to_switch_to, task_with_id
from tools.core.task_manager.task_list import NO_TASKS, current_list, lines_of, named, page_of
from tools.core.task_manager.task_text import one_line, quoted, step_lines, task_lines
from tools.core.task_store import Task, key_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from tools.core._catalog import TaskManagerArguments
    from tools.core.task_store import ProjectTasks, Step

ALL_WORDS = frozenset(("", "*", "all", "all tasks", "tasks", "open", "pending", "current", "list", "show", "next"))
"""Queries that filter nothing: what models write where a query is required and they want everything."""

_PAGE = re.compile(r"(.*?)\s*\bpage (\d{1,6})", re.IGNORECASE)


class Request:
    """The arguments of one call."""

    __slots__ = ("query", "step_id", "task_id", "words")

    def __init__(self, arguments: TaskManagerArguments) -> None:
        self.query = arguments["query"]
        self.task_id = arguments.get("task_id")
        self.step_id = arguments.get("step_id")
        text = arguments.get("text", "")
        self.words = text if text.strip() else self.query
        """`text`, or `query` where there is none."""


# -- changing


def create(tasks: ProjectTasks, request: Request) -> str:
    name, steps = task_lines(request.words, "create")
    task = tasks.open_named(key_of(name))
    if task is None:
        open_count, _ = tasks.counts()
        if open_count >= TASKS_OPEN_MAX:
            raise ToolFailure(
                f"This project has {open_count} open tasks, the most there can be. Complete some first; "
                "pending shows them."
            )
        task = tasks.create(name)
        tasks.add_steps(task.id, steps)
        made = f" with {_count(len(steps), 'step')}" if steps else ""
        return _with_list(f"Created {named(task)}{made}. It is the current task.", tasks, task.id)
    present = {key_of(step.text) for step in tasks.steps(task.id)}
    new = [step for step in steps if key_of(step) not in present]
    _require_room(task, len(new))
    tasks.add_steps(task.id, new)
    tasks.make_current(task.id)
    made = (
        f" {_count(len(new), 'step')} that it did not have {'was' if len(new) == 1 else 'were'} added." if new else ""
    )
    return _with_list(f"{named(task)} exists and is open; it is the current task now.{made}", tasks, task.id)


def add(tasks: ProjectTasks, request: Request) -> str:
    steps = step_lines(request.words, "add")
    task = open_target(tasks, request.task_id, "add")
    _require_room(task, len(steps))
    ids = tasks.add_steps(task.id, steps)
    which = f"step {ids[0]}" if len(ids) == 1 else f"steps {ids[0]} to {ids[-1]}"
    again = " It is open again." if task.done else ""
    return _with_list(f"Added {which} to {named(task)}.{again}", tasks, task.id)


def complete(tasks: ProjectTasks, request: Request) -> str:
    task, step = step_or_task(tasks, request)
    if step is not None:
        said = f"Step {step.id} of {named(task)} {'was done already' if step.done else 'is done'}: {step.text}."
        tasks.complete_step(task.id, step.id)
    else:
        said = f"Task {named(task)} {'was done already' if task.done else 'is done'}."
        tasks.complete_task(task.id)
    return _with_list(f"{said}\n{_what_is_next(tasks, task.id)}", tasks, task.id)


def switch(tasks: ProjectTasks, request: Request) -> str:
    task = task_to_switch_to(tasks, request)
    already = task.id == tasks.current_id
    tasks.make_current(task.id)
    done = " It is done; add opens it again." if task.done else ""
    return _with_list(
        f"{named(task)} {'was' if already else 'is'} the current task{' already' if already else ''}.{done}", tasks
    )


def _require_room(task: Task, new: int) -> None:
    if task.steps + new > TASK_STEPS_MAX:
        raise ToolFailure(
            f"{named(task)} has {_count(task.steps, 'step')} and cannot take {new} more; a task has at most "
            f"{TASK_STEPS_MAX}. Create another task for them."
        )


def _what_is_next(tasks: ProjectTasks, task_id: int) -> str:
    """`3/5 done, next: 4. handlers`."""
    task = task_with_id(tasks, task_id)
    following = next((step for step in tasks.steps(task_id) if not step.done), None)
    if following is not None:
        return f"{task.steps_done}/{task.steps} done, next: {following.id}. {following.text}"
    count = f"{task.steps_done}/{task.steps} done, the task is complete. " if task.steps else ""
    others = tasks.open_tasks()
    if not others:
        return f"{count}No task is left open."
    return f"{count}Next open task: {named(others[0])} (switch makes it the current one)."


def _with_list(said: str, tasks: ProjectTasks, touched: int | None = None) -> str:
    return f"{said}\n\n{current_list(tasks, touched)}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


# -- looking


def list_tasks(tasks: ProjectTasks, request: Request) -> str:
    if request.task_id is not None:
        selected = [task_with_id(tasks, request.task_id)]
        return _page(tasks, selected, request, "", f"task_id {request.task_id} and ")
    done = tasks.done_tasks()
    every = _current_first(tasks, [*tasks.open_tasks(), *done])
    return _filtered(tasks, every, request, "")


def pending(tasks: ProjectTasks, request: Request) -> str:
    every = _current_first(tasks, tasks.open_tasks())
    if request.task_id is not None:
        every = [task for task in [task_with_id(tasks, request.task_id)] if not task.done]
    if not every:
        return _with_list("Nothing is pending.", tasks)
    return _filtered(tasks, every, request, _next_of(tasks, every), open_only=True)


def _filtered(tasks: ProjectTasks, every: list[Task], request: Request, head: str, *, open_only: bool = False) -> str:
    words = _without_page(request)[0]
    key = key_of(words)
    if key in ALL_WORDS:
        return _page(tasks, every, request, head, "", open_only=open_only)
    ids = tasks.ids_with(key)
    matching = [task for task in every if task.id in ids]
    if not matching:
        note = f"Nothing matches {quoted(words)}; this is all.\n" if every else ""
        return _page(tasks, every, request, note + head, "", open_only=open_only)
    return _page(tasks, matching, request, head, "", open_only=open_only)


def _page(
    tasks: ProjectTasks, selected: list[Task], request: Request, head: str, same: str, *, open_only: bool = False
) -> str:
    words, wanted = _without_page(request)
    text, page, more = page_of(lines_of(tasks, selected, open_only=open_only), wanted)
    if page < wanted:
        head = f"There is no page {wanted}; page {page} is the last.\n{head}"
    foot = ""
    if more:
        following = f"{words} page {page + 1}".strip() if key_of(words) not in ALL_WORDS else f"page {page + 1}"
        foot = f'\n… more: call again with {same}query "{following}"'
    return head + (text or NO_TASKS) + foot


def _without_page(request: Request) -> tuple[str, int]:
    """(the filter, the page) of `api page 2`."""
    words = one_line(request.words)
    found = _PAGE.fullmatch(words)
    return (found[1], max(1, int(found[2]))) if found else (words, 1)


def _current_first(tasks: ProjectTasks, every: list[Task]) -> list[Task]:
    return sorted(every, key=lambda task: task.id != tasks.current_id)


def _next_of(tasks: ProjectTasks, every: list[Task]) -> str:
    first = every[0]
    step: Step | None = next((step for step in tasks.steps(first.id) if not step.done), None)
    return f"Next: {step.id}. {step.text} (of {named(first)})\n" if step is not None else f"Next: {named(first)}\n"


ACTIONS: dict[str, Callable[[ProjectTasks, Request], str]] = {
    "create": create,
    "add": add,
    "complete": complete,
    "list": list_tasks,
    "pending": pending,
    "switch": switch,
}
LOOKING = ("list", "pending")
ALIASES = {"new": "create", "done": "complete", "show": "list", "next": "pending"}
