"""Tasks as text: the list at the end of every answer, and the pages of `list` and `pending`.

▶ #1 Build API [1/2]
    [x] 1. schema
    [ ] 2. handlers
  #2 Deploy [0/0]
"""

from __future__ import annotations

from scorpio.limits import TASK_LIST_CHARS_MAX, TASK_LIST_TAIL_STEPS, TASK_LIST_TAIL_TASKS
from tools.core.task_manager.task_text import clipped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tools.core.task_store import ProjectTasks, Step, Task

    Line = tuple[str, str]
    """(header of the task, the line); equal for the header itself"""

NO_TASKS = "No tasks in this project yet. create makes one."
SHOWN_CHARS_MAX = 200  # of a step in the list at the end of an answer
STEPS_BEFORE_NEXT = 5


def header(task: Task, current_id: int | None) -> str:
    """The line of a task: `▶ #1 Build API [1/2]`."""
    mark = "▶" if task.id == current_id else " "
    return f"{mark} {named(task)} [{task.steps_done}/{task.steps}]" + (" done" if task.done else "")


def named(task: Task) -> str:
    return f"#{task.id} {task.name}"


def step_line(step: Step, chars_max: int | None = None) -> str:
    text = step.text if chars_max is None else clipped(step.text, chars_max)
    return f"    [{'x' if step.done else ' '}] {step.id}. {text}"


# -- the list at the end of an answer


def current_list(tasks: ProjectTasks, touched: int | None = None) -> str:
    """Open tasks, the current one first and with steps; of long ones what lies around the next step.

    `touched`: id of a task that is shown with its steps, too, even if it is complete.
    """
    current = tasks.current()
    others = [task for task in tasks.open_tasks() if task.id != tasks.current_id]
    if touched is not None and touched not in (tasks.current_id, *(task.id for task in others)):
        others = [*filter(None, [tasks.task(touched)]), *others]
    first = [current] if current is not None else []
    every_step = sum(task.steps for task in (*first, *others)) <= TASK_LIST_TAIL_STEPS
    shown = others[:TASK_LIST_TAIL_TASKS]
    if touched is not None and touched not in (task.id for task in (*first, *shown)):
        shown += [task for task in others if task.id == touched]
    lines = []
    for task in (*first, *shown):
        lines.append(header(task, tasks.current_id))
        if every_step or task.id in (tasks.current_id, touched):
            lines += _steps_around_next(tasks.steps(task.id))
    open_count, done_count = tasks.counts()
    open_shown = sum(not task.done for task in (*first, *shown))
    done_shown = len(first) + len(shown) - open_shown
    more = [
        *([f"{open_count - open_shown} more open"] if open_count > open_shown else []),
        *([f"{done_count - done_shown} {'more ' if done_shown else ''}done"] if done_count > done_shown else []),
    ]
    if more:
        lines.append(f"({', '.join(more)}: list shows all)")
    return "\n".join(lines) or NO_TASKS


def _steps_around_next(steps: list[Step]) -> list[str]:
    if len(steps) <= TASK_LIST_TAIL_STEPS:
        return [step_line(step, SHOWN_CHARS_MAX) for step in steps]
    following = next((index for index, step in enumerate(steps) if not step.done), len(steps))
    start = max(0, min(following - STEPS_BEFORE_NEXT, len(steps) - TASK_LIST_TAIL_STEPS))
    end = start + TASK_LIST_TAIL_STEPS
    return [
        *([f"    … {start} earlier"] if start else []),
        *(step_line(step, SHOWN_CHARS_MAX) for step in steps[start:end]),
        *([f"    … {len(steps) - end} later"] if end < len(steps) else []),
    ]


# -- pages


def lines_of(tasks: ProjectTasks, selected: Iterable[Task], *, open_only: bool = False) -> Iterator[Line]:
    """Every task with every step; `open_only`: without the completed steps. Read as far as a page reaches."""
    for task in selected:
        title = header(task, tasks.current_id)
        yield title, title
        for step in tasks.steps(task.id):
            if not (open_only and step.done):
                yield title, step_line(step)


def page_of(lines: Iterable[Line], page: int) -> tuple[str, int, bool]:
    """(text, its page, whether there are more): a page of whole lines; the last one where `page` lies beyond it."""
    current: list[str] = []
    chars, number = 0, 1
    for title, line in lines:
        if current and chars + len(line) > TASK_LIST_CHARS_MAX:
            if number == page:
                return "\n".join(current), number, True
            number += 1
            current = [] if line is title else [f"{title} (continued)"]
            chars = sum(map(len, current))
        current.append(line)
        chars += len(line) + 1
    return "\n".join(current), number, False
