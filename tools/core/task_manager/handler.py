"""TaskManager: tasks and their steps, kept by project. Every answer and every failure ends with the current list.

Does not touch the event loop's thread with the database: each call is one transaction in a thread of its own.
"""

from __future__ import annotations

import asyncio
import threading

from scorpio.settings import project_of
from scorpio.state.database import StateError
from scorpio.tool import ToolFailure, text
from tools.core.task_manager.actions import ACTIONS, ALIASES, LOOKING, Request
from tools.core.task_manager.task_list import current_list
from tools.core.task_manager.task_text import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.core._catalog import TaskManagerArguments
    from tools.core.state import CoreState
    from tools.core.task_store import ProjectTasks, TaskStore


async def handle(arguments: TaskManagerArguments, call: Call[CoreState]) -> ToolResult:
    directory = await call.working_directory()
    abandoned = threading.Event()
    try:
        return await asyncio.to_thread(_answer, arguments, call.state.task_store, directory, abandoned)
    finally:
        abandoned.set()


def _answer(
    arguments: TaskManagerArguments, store: TaskStore, directory: str, abandoned: threading.Event
) -> ToolResult:
    project = project_of(directory)
    word = arguments["action"].strip().lower()
    name = ALIASES.get(word, word)
    failed = False
    try:
        said = _performed(name, arguments, store, project, abandoned)
    except (ToolFailure, StateError) as failure:
        unreadable = isinstance(failure, StateError) and name in LOOKING
        said = str(failure) if unreadable else f"{failure}\n\n{_list_if_readable(store, project)}"
        failed = True
    notices = "".join(f"{notice}\n" for notice in store.take_notices())
    return text((notices + said).rstrip(), is_error=failed)


def _performed(
    name: str, arguments: TaskManagerArguments, store: TaskStore, project: str, abandoned: threading.Event
) -> str:
    action = ACTIONS.get(name)
    if action is None:
        raise ToolFailure(f"No action {quoted(arguments['action'])}. There are {', '.join(ACTIONS)}.")
    request = Request(arguments)

    def work(tasks: ProjectTasks) -> str:
        if abandoned.is_set():  # cancelled while it waited for its turn: nobody would learn what it did
            raise ToolFailure("The call was cancelled.")
        return action(tasks, request)

    return (store.look if name in LOOKING else store.change)(project, work)


def _list_if_readable(store: TaskStore, project: str) -> str:
    try:
        return store.look(project, current_list)
    except StateError:
        return ""
