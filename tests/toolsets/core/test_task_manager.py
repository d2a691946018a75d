"""TaskManager: what each action does and says, what it refuses, and that nothing it acknowledged is ever lost."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import queue
import random
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorpio.limits import (
    TASK_LIST_CHARS_MAX,
    TASK_LIST_TAIL_STEPS,
    TASK_LIST_TAIL_TASKS,
    TASK_NAME_CHARS_MAX,
    TASK_STEP_CHARS_MAX,
    TASK_STEPS_MAX,
    TASK_TEXT_CHARS_MAX,
    TASKS_OPEN_MAX,
)
from scorpio.settings import load
from scorpio.state.home import Home
from scorpio.tool import Call, ToolFailure
from tests.links import ROOT, ChildProcess, clean_environment, source_command
from tests.wire import MODERN, Wire
from tools.core.state import CoreState, open_state
from tools.core.task_manager.handler import handle
from tools.core.task_manager.task_text import step_lines, task_lines

MB = 1_000_000


class LocalCall(Call[CoreState]):
    """A call without a client: what the handler needs to run."""

    def __init__(self, state: CoreState, directory: Path) -> None:
        self._state = state
        self._directory = directory

    @property
    def state(self) -> CoreState:
        return self._state

    async def working_directory(self) -> str:
        return str(self._directory)


class Tasks:
    """One server's TaskManager in one directory. Remembers whether its last answer was a failure."""

    def __init__(self, root: Path, directory: Path) -> None:
        home = Home(str(root))
        self.state = open_state(home, load({}, home.root))
        self.directory = directory
        self.failed = False

    def __call__(self, action: str, query: str = "", **arguments: Any) -> str:
        given: Any = {"action": action, "query": query, **arguments}
        result = asyncio.run(handle(given, LocalCall(self.state, self.directory)))
        self.failed = result.is_error
        return str(result.content[0]["text"])

    def said(self, action: str, query: str = "", **arguments: Any) -> str:
        """The answer without the list at its end."""
        text = self(action, query, **arguments).partition("\n\n")[0]
        assert not self.failed, text
        return text

    def refusal(self, action: str, query: str = "", **arguments: Any) -> str:
        text = self(action, query, **arguments).partition("\n\n")[0]
        assert self.failed, text
        return text


@pytest.fixture
def open_tasks(tmp_path: Path) -> Iterator[Callable[..., Tasks]]:
    opened: list[Tasks] = []
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)

    def make(directory: Path = project) -> Tasks:
        opened.append(Tasks(tmp_path / "state", directory))
        return opened[-1]

    yield make
    for tasks in opened:
        tasks.state.close()


@pytest.fixture
def tasks(open_tasks: Callable[..., Tasks]) -> Tasks:
    return open_tasks()


@pytest.fixture
def api(tasks: Tasks) -> Tasks:
    """#1 Build API with schema (done) and handlers; #2 Deploy, empty; #1 is current."""
    tasks("create", text="Build API\nschema\nhandlers")
    tasks("complete", step_id=1)
    tasks("create", text="Deploy")
    tasks("switch", task_id=1)
    return tasks


API = "▶ #1 Build API [1/2]\n    [x] 1. schema\n    [ ] 2. handlers\n  #2 Deploy [0/0]"


# -- create


def test_create_makes_the_new_task_the_current_one(api: Tasks) -> None:
    said = "Created #3 Docs with 1 step. It is the current task.\n\n"
    assert api("create", text="Docs\noutline").startswith(
        said + "▶ #3 Docs [0/1]\n    [ ] 1. outline\n  #1 Build API [1/2]\n"
    )


@pytest.mark.parametrize("name", ["Deploy", "DEPLOY", "  deploy ", "- Deploy", "Ｄｅｐｌｏｙ"])
def test_create_with_the_name_of_an_open_task_takes_that_one_and_says_so(api: Tasks, name: str) -> None:
    said, _, shown = api("create", text=name).partition("\n\n")
    assert said == "#2 Deploy exists and is open; it is the current task now."
    assert shown.startswith("▶ #2 Deploy [0/0]\n  #1 Build API")


def test_create_of_an_open_task_adds_the_steps_it_lacks(api: Tasks) -> None:
    said, _, shown = api("create", text="Build API\nschema\ntests").partition("\n\n")
    assert said.endswith("1 step that it did not have was added.")
    assert "[x] 1. schema\n    [ ] 2. handlers\n    [ ] 3. tests\n" in shown


def test_create_with_the_name_of_a_completed_task_makes_a_new_one(api: Tasks) -> None:
    api("complete", task_id=2)
    assert api.said("create", text="Deploy") == "Created #3 Deploy. It is the current task."


def test_the_same_create_twice_makes_one_task(tasks: Tasks) -> None:
    tasks("create", text="Build API\nschema\nhandlers")
    shown = tasks("create", text="Build API\nschema\nhandlers").partition("\n\n")[2]
    assert shown == "▶ #1 Build API [0/2]\n    [ ] 1. schema\n    [ ] 2. handlers"


# -- add


def test_add_adds_a_step_for_each_line_to_the_current_task(api: Tasks) -> None:
    answer = api("add", text="* tests\n\n* docs\n")
    assert answer.startswith("Added steps 3 to 4 to #1 Build API.\n\n▶ #1 Build API [1/4]\n")
    assert "    [ ] 3. tests\n    [ ] 4. docs\n" in answer


def test_add_with_a_task_id_leaves_the_current_task_current(api: Tasks) -> None:
    answer = api("add", text="staging", task_id=2)
    assert answer.startswith("Added step 1 to #2 Deploy.\n\n▶ #1 Build API [1/2]\n")
    assert answer.endswith("  #2 Deploy [0/1]\n    [ ] 1. staging")


def test_add_takes_query_where_there_is_no_text(api: Tasks) -> None:
    assert api.said("add", "tests") == "Added step 3 to #1 Build API."


def test_add_opens_a_completed_task_again_and_says_so(api: Tasks) -> None:
    api("complete", task_id=1)
    assert api.said("add", text="tests") == "Added step 3 to #1 Build API. It is open again."
    assert "#1 Build API" in api("pending")


def test_the_same_step_can_be_added_twice(tasks: Tasks) -> None:
    tasks("create", text="Laps")
    tasks("add", text="run")
    assert tasks("add", text="run").endswith("    [ ] 1. run\n    [ ] 2. run")


# -- complete


def test_complete_says_how_far_the_task_is_and_what_is_next(tasks: Tasks) -> None:
    tasks("create", text="Build API\na\nb\nc\nd\ne")
    tasks("complete", step_id=1)
    tasks("complete", step_id=2)
    said = tasks.said("complete", step_id=3)
    assert said == "Step 3 of #1 Build API is done: c.\n3/5 done, next: 4. d"


def test_complete_twice_changes_nothing_and_says_so(api: Tasks) -> None:
    assert api("complete", step_id=1) == (
        f"Step 1 of #1 Build API was done already: schema.\n1/2 done, next: 2. handlers\n\n{API}"
    )


def test_the_last_step_completes_the_task(api: Tasks) -> None:
    said, _, shown = api("complete", step_id=2).partition("\n\n")
    assert said.endswith(
        "\n2/2 done, the task is complete. Next open task: #2 Deploy (switch makes it the current one)."
    )
    assert shown.startswith("▶ #1 Build API [2/2] done\n")


def test_complete_of_a_task_completes_its_steps(api: Tasks) -> None:
    answer = api("complete", task_id=1)
    assert answer.startswith("Task #1 Build API is done.\n2/2 done, the task is complete.")
    assert "▶ #1 Build API [2/2] done\n    [x] 1. schema\n    [x] 2. handlers\n" in answer
    assert api("complete", task_id=1).startswith("Task #1 Build API was done already.\n")


def test_the_end_of_the_last_task_is_said(tasks: Tasks) -> None:
    tasks("create", text="Deploy")
    assert tasks("complete", task_id=1) == "Task #1 Deploy is done.\nNo task is left open.\n\n▶ #1 Deploy [0/0] done"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"query": "handlers"}, "Step 2 of #1 Build API is done: handlers."),
        ({"query": "HAND"}, "Step 2 of #1 Build API is done: handlers."),
        ({"query": "[ ] 2. handlers"}, "Step 2 of #1 Build API is done: handlers."),
        ({"query": "2"}, "Step 2 of #1 Build API is done: handlers."),
        ({"query": "step 2"}, "Step 2 of #1 Build API is done: handlers."),
        ({"query": "nonsense", "text": "handlers"}, "Step 2 of #1 Build API is done: handlers."),
        ({"query": "handlers", "task_id": 1}, "Step 2 of #1 Build API is done: handlers."),
        ({"query": "whatever", "step_id": 2}, "Step 2 of #1 Build API is done: handlers."),
        ({"query": "schema"}, "Step 1 of #1 Build API was done already: schema."),
        ({"query": "Deploy"}, "Task #2 Deploy is done."),
        ({"query": "#2"}, "Task #2 Deploy is done."),
        ({"query": "task 2"}, "Task #2 Deploy is done."),
        ({"query": "  #2 Deploy [0/0]"}, "Task #2 Deploy is done."),
        ({"query": "Build API", "task_id": 1}, "Task #1 Build API is done."),
        ({"query": "whatever", "task_id": 1}, "Task #1 Build API is done."),
    ],
)
def test_complete_finds_what_is_meant(api: Tasks, arguments: dict[str, Any], said: str) -> None:
    assert api.said("complete", **arguments).split("\n")[0] == said


def test_complete_does_not_look_into_completed_tasks(api: Tasks) -> None:
    api("create", text="Old\nsweep")
    api("complete", task_id=3)
    api("switch", task_id=1)
    assert api.refusal("complete", "sweep").startswith('No step and no task is named "sweep".')


def test_done_is_complete(api: Tasks) -> None:
    assert api.said("done", step_id=2).startswith("Step 2 of #1 Build API is done")


def test_a_name_that_begins_like_a_number_is_a_name(tasks: Tasks) -> None:
    tasks("create", text="Other")
    tasks("create", text="#12 crashes on start")
    assert tasks.said("complete", "#12 crashes on start").startswith("Task #2 #12 crashes on start is done.")


# -- switch


@pytest.mark.parametrize(
    "arguments", [{"task_id": 2}, {"query": "deploy"}, {"query": "dep"}, {"query": "2"}, {"query": "#2"}]
)
def test_switch_makes_a_task_the_current_one(api: Tasks, arguments: dict[str, Any]) -> None:
    assert api("switch", **arguments) == (
        "#2 Deploy is the current task.\n\n"
        "▶ #2 Deploy [0/0]\n  #1 Build API [1/2]\n    [x] 1. schema\n    [ ] 2. handlers"
    )


def test_switch_prefers_a_whole_name_to_a_part_and_refuses_to_guess(api: Tasks) -> None:
    api("create", text="Deploy again")
    assert api.said("switch", "deploy") == "#2 Deploy is the current task."
    assert api.refusal("switch", "depl") == (
        '"depl" fits 2: #2 Deploy; #3 Deploy again. Give the id of the one you mean.'
    )


def test_switch_to_the_current_or_to_a_completed_task_says_so(api: Tasks) -> None:
    assert api.said("switch", task_id=1) == "#1 Build API was the current task already."
    api("complete", task_id=2)
    assert api.said("switch", "deploy") == "#2 Deploy is the current task. It is done; add opens it again."


# -- list and pending


@pytest.mark.parametrize("action", ["list", "show"])
@pytest.mark.parametrize("query", ["", "all", "*", "  "])
def test_list_shows_everything(api: Tasks, action: str, query: str) -> None:
    assert api(action, query) == API


@pytest.mark.parametrize("query", ["deploy", "DEP"])
def test_list_filters_by_name(api: Tasks, query: str) -> None:
    assert api("list", query) == "  #2 Deploy [0/0]"


def test_list_filters_by_step(api: Tasks) -> None:
    assert api("list", "schema") == "▶ #1 Build API [1/2]\n    [x] 1. schema\n    [ ] 2. handlers"


def test_a_filter_that_fits_nothing_gives_everything_with_a_note(api: Tasks) -> None:
    assert api("list", "zebra") == f'Nothing matches "zebra"; this is all.\n{API}'


def test_list_of_one_task_shows_it_alone(api: Tasks) -> None:
    assert api("list", "whatever", task_id=2) == "  #2 Deploy [0/0]"


@pytest.mark.parametrize("action", ["pending", "next"])
def test_pending_shows_what_is_left_and_what_is_next(api: Tasks, action: str) -> None:
    assert api(action) == (
        "Next: 2. handlers (of #1 Build API)\n▶ #1 Build API [1/2]\n    [ ] 2. handlers\n  #2 Deploy [0/0]"
    )


def test_pending_with_nothing_left_says_so(api: Tasks) -> None:
    api("complete", task_id=1)
    api("complete", task_id=2)
    assert api("pending") == (
        "Nothing is pending.\n\n"
        "▶ #1 Build API [2/2] done\n    [x] 1. schema\n    [x] 2. handlers\n(1 more done: list shows all)"
    )


def test_list_shows_completed_tasks_last(api: Tasks) -> None:
    api("complete", task_id=2)
    api("create", text="Docs")
    api("switch", task_id=1)
    assert [line for line in api("list").splitlines() if "#" in line] == [
        "▶ #1 Build API [1/2]", "  #3 Docs [0/0]", "  #2 Deploy [0/0] done"
    ]  # fmt: skip


def test_a_long_list_comes_in_pages_that_hold_every_step_once(tasks: Tasks) -> None:
    tasks("create", text="Long\n" + "\n".join(f"step number {n} " + "x" * 80 for n in range(600)))
    shown, page = [], 1
    while True:
        text = tasks("list", f"page {page}" if page > 1 else "")
        assert len(text) < TASK_LIST_CHARS_MAX + 200
        body, more, following = text.partition("\n… more: ")
        shown += body.splitlines()
        if not more:
            break
        page += 1
        assert following == f'call again with query "page {page}"'
    assert page > 2
    assert [int(line.split(".")[0].split("]")[1]) for line in shown if line.startswith("    [")] == [*range(1, 601)]
    assert tasks("list", "page 99").startswith(f"There is no page 99; page {page} is the last.\n▶ #1 Long")
    assert 'call again with task_id 1 and query "page 2"' in tasks("list", task_id=1)
    assert 'call again with query "number page 2"' in tasks("list", "number")


def test_the_list_at_the_end_of_an_answer_stays_short(tasks: Tasks) -> None:
    for number in range(TASK_LIST_TAIL_TASKS + 10):
        tasks("create", text=f"Task {number}\n" + "\n".join(f"step {n}" for n in range(40)))
    tasks("complete", step_id=1)
    for step in range(2, 20):
        tasks("complete", step_id=step)
    answer = tasks("complete", step_id=20)
    lines = answer.partition("\n\n")[2].splitlines()
    assert lines[0] == "▶ #25 Task 24 [20/40]"
    assert lines[1] == "    … 15 earlier"
    assert "    [x] 20. step 19" in lines
    assert "    [ ] 21. step 20" in lines
    assert lines[-1] == "(9 more open: list shows all)"
    assert len(lines) <= 1 + TASK_LIST_TAIL_STEPS + 2 + TASK_LIST_TAIL_TASKS + 1


# -- what is kept


def test_tasks_outlive_the_server(open_tasks: Callable[..., Tasks]) -> None:
    first = open_tasks()
    first("create", text="Build API\nschema")
    first.state.close()
    assert open_tasks()("list") == "▶ #1 Build API [0/1]\n    [ ] 1. schema"


def test_tasks_belong_to_the_project_and_not_to_the_directory(open_tasks: Callable[..., Tasks], tmp_path: Path) -> None:
    open_tasks()("create", text="Build API")
    inside = tmp_path / "project" / "deep" / "inside"
    inside.mkdir(parents=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert open_tasks(inside)("list") == "▶ #1 Build API [0/0]"
    assert open_tasks(elsewhere)("list") == "No tasks in this project yet. create makes one."
    assert open_tasks(elsewhere).said("create", text="Other") == "Created #1 Other. It is the current task."


def test_a_directory_whose_name_is_no_text_has_tasks_too(open_tasks: Callable[..., Tasks], tmp_path: Path) -> None:
    strange = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    strange.mkdir()
    open_tasks(strange)("create", text="Build API")
    assert open_tasks(strange)("list") == "▶ #1 Build API [0/0]"


def test_ids_are_never_used_again(open_tasks: Callable[..., Tasks], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.core.task_store.TASKS_DONE_KEPT_MAX", 2)
    tasks = open_tasks()
    for number in range(1, 7):
        assert tasks.said("create", text=f"Task {number}").startswith(f"Created #{number} ")
        tasks("complete", task_id=number)
    tasks("create", text="Open")
    assert [line.split()[0] for line in tasks("list").splitlines()[1:]] == ["#6", "#5"]  # the oldest were dropped
    assert tasks.refusal("switch", task_id=1) == "No task 1 in this project: its ids end with 7."


def test_looking_creates_no_file(tasks: Tasks, tmp_path: Path) -> None:
    for action in ("list", "pending"):
        tasks(action)
    assert not (tmp_path / "state").exists()


# -- bad input

TOO_LONG = (
    "The text has 1000000 characters; TaskManager takes at most 200000. Write it to a file and name the file in a step."
)
BAD_INPUT: list[tuple[dict[str, Any], str]] = [
    ({"action": "frob"}, 'No action "frob". There are create, add, complete, list, pending, switch.'),
    ({"action": ""}, 'No action "". There are create, add, complete, list, pending, switch.'),
    ({"action": "x" * MB}, f'No action "{"x" * 79}…". There are create, add, complete, list, pending, switch.'),
    ({"action": "create"}, "create needs a name. Give it in text; further lines become steps."),
    (
        {"action": "create", "text": " \n- \n---\n\t"},
        "create needs a name. Give it in text; further lines become steps.",
    ),
    (
        {"action": "create", "text": "n" * (TASK_NAME_CHARS_MAX + 1)},
        (
            "The name has 201 characters; a task's name has at most 200. "
            "Put a short name on the first line of text and the rest into steps."
        ),
    ),
    (
        {"action": "create", "text": "n" * MB},
        TOO_LONG,
    ),
    (
        {"action": "create", "query": "n" * MB},
        TOO_LONG,
    ),
    (
        {"action": "create", "text": "name\n" + "s" * (TASK_STEP_CHARS_MAX + 1)},
        (
            f'Step 1 of the text ("{"s" * 79}…") has 1001 characters; a step has at most 1000. '
            "Split it into lines, or write it to a file and name the file in the step."
        ),
    ),
    (
        {"action": "create", "text": "name\n" + "s\n" * (TASK_STEPS_MAX + 1)},
        "2001 steps are too many; a task has at most 2000. Create several tasks instead.",
    ),
    ({"action": "add"}, "add needs the text of a step. Give it in text; several lines are several steps."),
    ({"action": "add", "text": "x", "task_id": 9}, "No task 9 in this project: its ids end with 2."),
    ({"action": "add", "text": "x", "task_id": 0}, "No task 0 in this project: its ids end with 2."),
    ({"action": "add", "text": "x", "task_id": -1}, "No task -1 in this project: its ids end with 2."),
    ({"action": "add", "text": "x", "task_id": 2**63}, f"No task {2**63} in this project: its ids end with 2."),
    ({"action": "add", "text": "x", "task_id": 10**400}, f"No task {10**400} in this project: its ids end with 2."),
    (
        {"action": "add", "text": "x" * MB},
        TOO_LONG,
    ),
    ({"action": "complete"}, "complete needs to know what: give step_id, or task_id, or the name of one in query."),
    ({"action": "complete", "step_id": 9}, "No step 9 in #1 Build API: its steps are 1 to 2."),
    ({"action": "complete", "step_id": 2**64}, f"No step {2**64} in #1 Build API: its steps are 1 to 2."),
    ({"action": "complete", "step_id": 1, "task_id": 2}, "No step 1 in #2 Deploy: it has no steps; add makes one."),
    ({"action": "complete", "task_id": 9}, "No task 9 in this project: its ids end with 2."),
    ({"action": "complete", "query": "9"}, "No step 9 in #1 Build API: its steps are 1 to 2."),
    ({"action": "complete", "query": "#9"}, "No task 9 in this project: its ids end with 2."),
    (
        {"action": "complete", "query": "zebra"},
        'No step and no task is named "zebra". Give step_id or task_id; list shows all.',
    ),
    (
        {"action": "complete", "query": "z" * MB},
        f'No step and no task is named "{"z" * 79}…". Give step_id or task_id; list shows all.',
    ),
    ({"action": "switch"}, "switch needs to know which task: give task_id, or its name in query."),
    ({"action": "switch", "task_id": 9}, "No task 9 in this project: its ids end with 2."),
    (
        {"action": "switch", "query": "zebra"},
        'No task is named "zebra". Give task_id; list shows all, create makes a new one.',
    ),
    ({"action": "list", "task_id": 9}, "No task 9 in this project: its ids end with 2."),
    ({"action": "pending", "task_id": 9}, "No task 9 in this project: its ids end with 2."),
]


@pytest.mark.parametrize(
    ("arguments", "said"), BAD_INPUT, ids=[f"{a['action'][:9]}-{n}" for n, (a, _) in enumerate(BAD_INPUT)]
)
def test_bad_input_is_refused_with_a_way_out_and_the_list_and_changes_nothing(
    api: Tasks, arguments: dict[str, Any], said: str
) -> None:
    answer = api(**{"query": "", **arguments})
    assert api.failed
    assert answer == f"{said}\n\n{API}"
    assert api("list") == API


@pytest.mark.parametrize("action", ["list", "pending"])
def test_a_huge_filter_is_a_filter_that_fits_nothing(api: Tasks, action: str) -> None:
    answer = api(action, "z" * MB)
    assert not api.failed
    assert answer.startswith(f'Nothing matches "{"z" * 79}…"; this is all.\n')


def test_what_fits_several_is_refused_with_all_of_them(api: Tasks) -> None:
    api("add", text="schema tests")
    api("add", text="schema", task_id=2)
    api("create", text="schema tests")
    api("switch", task_id=1)
    assert api.refusal("complete", "schema t") == (
        '"schema t" fits 2: step 3 of #1: schema tests; #3 schema tests. Give the id of the one you mean.'
    )
    assert api.said("complete", "schema tests").startswith("Step 3 of #1")  # of the current task, word for word


def test_a_task_takes_no_more_steps_than_there_may_be(tasks: Tasks) -> None:
    tasks("create", text="Full\n" + "\n".join(f"{n}" for n in range(TASK_STEPS_MAX)))
    said = "#1 Full has 2000 steps and cannot take 1 more; a task has at most 2000. Create another task for them."
    assert tasks.refusal("add", text="one more") == said
    assert tasks.refusal("create", text="Full\none more") == said


def test_a_project_has_no_more_open_tasks_than_there_may_be(tasks: Tasks, monkeypatch: pytest.MonkeyPatch) -> None:
    assert TASKS_OPEN_MAX >= 100
    monkeypatch.setattr("tools.core.task_manager.actions.TASKS_OPEN_MAX", 3)
    for number in range(3):
        tasks("create", text=f"Task {number}")
    assert tasks.refusal("create", text="Task 3") == (
        "This project has 3 open tasks, the most there can be. Complete some first; pending shows them."
    )
    tasks("complete", task_id=1)
    assert tasks.said("create", text="Task 3").startswith("Created #4")


@pytest.mark.parametrize(
    ("words", "name", "steps"),
    [
        ("Build\n- a\n* b\n+ c\n• d\n1. e\n2) f\n(3) g\n- [ ] h\n[x] i\n1. [X] j", "Build", list("abcdefghij")),
        (
            "# Build\n-5 degrees\n1.5 litres\n2024 review\n-v flag",
            "# Build",
            ["-5 degrees", "1.5 litres", "2024 review", "-v flag"],
        ),
        ("Build\r\na\rb\x0bc\u2028d\x85e", "Build", list("abcde")),
        ("\n\n  Build   the\tAPI  \n\n---\n***\n a \n", "Build the API", ["a"]),
        ("\x1b[31mred\x1b[0m \x1b]0;title\x07x\n\x1b[2Ja\x08\x00b", "red x", ["a b"]),
        ("right\u202eleft\n\ufeffa\u200bb\U000e0041", "right left", ["a b"]),
        ("می\u200cخواهم\n👩\u200d💻 work", "می\u200cخواهم", ["👩\u200d💻 work"]),
        ("lone \ud800 surrogate\n\ue000", "lone surrogate", []),
        ("▶ #9 fake [9/9]\n    [x] 1. fake", "▶ #9 fake [9/9]", ["fake"]),
    ],
)
def test_names_and_steps_become_clean_lines(words: str, name: str, steps: list[str]) -> None:
    assert task_lines(words, "create") == (name, steps)


@given(st.text(max_size=300))
def test_whatever_is_written_becomes_visible_lines_or_a_refusal(words: str) -> None:
    try:
        steps = step_lines(words, "add")
    except ToolFailure:
        return
    for step in steps:
        assert step == step.strip() != ""
        assert all(c.isprintable() or c in "\u200c\u200d" for c in step)
        step.encode()


@given(st.text(alphabet="-*+•[]xX 1.)(\t#_=", max_size=TASK_STEP_CHARS_MAX))
def test_markers_alone_are_taken_apart_quickly(words: str) -> None:
    for step in _steps(words + "\n" + "- [ ] 1. " * 50):
        assert step


def _steps(words: str) -> list[str]:
    try:
        return step_lines(words, "add")
    except ToolFailure:
        return []


@given(
    action=st.sampled_from(["create", "add", "complete", "list", "pending", "switch", "done", "show", "?"]),
    query=st.text(max_size=20),
    numbers=st.fixed_dictionaries({}, optional={"task_id": st.integers(-2, 5), "step_id": st.integers(-2, 5)}),
)
def test_any_call_is_answered_with_a_list_or_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, action: str, query: str, numbers: dict[str, int]
) -> None:
    tasks = Tasks(tmp_path_factory.getbasetemp() / "fuzzed", tmp_path_factory.getbasetemp())
    try:
        answer = tasks(action, query, **numbers)
    finally:
        tasks.state.close()
    assert "#" in answer or "No tasks in this project yet" in answer


# -- through a server


@pytest.mark.revisions(MODERN)
@pytest.mark.transports("in-process", "stdio")
def test_every_fault_of_the_arguments_is_told_by_the_server(connect: Callable[..., Wire]) -> None:
    wire = connect("core")
    for arguments, said in (
        ({}, "/action is required\n/query is required"),
        ({"action": None, "query": None}, "/action must be string\n/query must be string"),
        ({"action": ["list"], "query": {}}, "/action must be string\n/query must be string"),
        ({"action": "add", "query": "", "step_id": 1.5, "text": 1}, "/step_id must be integer\n/text must be string"),
        ({"action": "add", "query": "", "task_id": True}, "/task_id must be integer"),
        ({"action": "add", "query": "", "task_id": "x"}, "/task_id must be integer"),
    ):
        result = wire.call("TaskManager", arguments)
        assert result["isError"]
        assert result["content"][0]["text"] == f"Invalid arguments for TaskManager: {said}"
    assert wire.text("TaskManager", {"action": "create", "query": "x", "text": None, "extra": 1}).startswith(
        "Created #1 x"
    )
    assert wire.text("TaskManager", {"action": "complete", "query": "", "task_id": "1"}).startswith(
        "Task #1 x is done."
    )


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[[], Wire]]:
    """Starts real servers from source, over stdio, all on one state directory and project."""
    (tmp_path / "project" / ".git").mkdir(parents=True)
    environ = clean_environment(tmp_path, {"SCORPIO_CWD": str(tmp_path / "project")})
    wires: list[Wire] = []

    def start() -> Wire:
        link = ChildProcess(source_command(["core"]), environ, tmp_path / f"stderr-{len(wires)}", ROOT)
        wires.append(Wire(link))
        wires[-1].open()
        return wires[-1]

    yield start
    for wire in wires:
        if not wire.closed:
            wire.close()


def add(wire: Wire, text: str) -> bool:
    result = wire.call("TaskManager", {"action": "add", "query": "", "task_id": 1, "text": text})
    return not result["isError"]


def test_six_servers_that_add_forty_steps_each_keep_all_240(serve: Callable[[], Wire]) -> None:
    wires = [serve() for _ in range(6)]
    wires[0].call("TaskManager", {"action": "create", "query": "Shared"})
    failures: queue.SimpleQueue[str] = queue.SimpleQueue()

    def work(wire: Wire, number: int) -> None:
        for step in range(40):
            if not add(wire, f"server {number} step {step}"):
                failures.put(f"{number} {step}")

    threads = [threading.Thread(target=work, args=(wire, number)) for number, wire in enumerate(wires)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures.empty()
    lines = wires[5].text("TaskManager", {"action": "list", "query": ""}).splitlines()
    assert lines[0] == "▶ #1 Shared [0/240]"
    numbers, texts = zip(*(line.split("] ")[1].split(". ") for line in lines[1:]), strict=True)
    assert [*map(int, numbers)] == [*range(1, 241)]
    assert set(texts) == {f"server {number} step {step}" for number in range(6) for step in range(40)}


def kill_in_the_middle(serve: Callable[[], Wire], number: int) -> list[str]:
    """Start a server, let it write, kill it between two answers; the steps it acknowledged."""
    wire = serve()
    process = wire.link.process  # type: ignore[attr-defined]
    texts = [f"round {number} step {step}" for step in range(30)]
    for step, text in enumerate(texts):
        arguments = {"action": "add", "query": "", "task_id": 1, "text": text}
        wire.start("tools/call", {"name": "TaskManager", "arguments": arguments}, id=f"s{step}")
    wire.answer(f"s{number % 7}")  # calls run side by side: some are done, some are writing, some wait
    process.kill()
    process.wait()
    wire.closed = True
    process.stdin.close()
    wire._wait(lambda: wire._ended or None, "the end of what it had written")
    with_answer = [text for step, text in enumerate(texts) if wire.answers_to(f"s{step}")]
    assert all(not message["result"]["isError"] for s in range(30) for message in wire.answers_to(f"s{s}"))
    return with_answer


@pytest.mark.slow
def test_a_server_killed_while_it_writes_loses_no_acknowledged_step(serve: Callable[[], Wire], tmp_path: Path) -> None:
    rounds = 100
    acknowledged: set[str] = set()
    for number in range(rounds):
        if number % 50 == 0:  # a new task before the old one is full
            serve_one = serve()
            serve_one.call("TaskManager", {"action": "create", "query": f"Crash test {number}"})
            serve_one.close()
        acknowledged.update(kill_in_the_middle(serve, number))
    assert len(acknowledged) >= rounds
    database = sqlite3.connect(tmp_path / ".scorpio" / "scorpio.db")
    kept = {row[0] for row in database.execute("SELECT text FROM steps")}
    assert acknowledged <= kept
    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert database.execute("PRAGMA foreign_key_check").fetchall() == []
    database.close()
    assert not [name for name in os.listdir(tmp_path / ".scorpio") if "corrupt" in name]


def test_a_call_that_is_cancelled_while_it_waits_changes_nothing(tasks: Tasks, tmp_path: Path) -> None:
    tasks("create", text="Kept")

    async def cancel_while_it_waits() -> None:
        given: Any = {"action": "create", "query": "No"}
        call = asyncio.create_task(handle(given, LocalCall(tasks.state, tasks.directory)))
        while not tasks.state.database._writing.locked():  # noqa: ASYNC110  # nothing else tells that it waits
            await asyncio.sleep(0.001)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

        holder.execute("ROLLBACK")  # the thread goes on, and asyncio.run waits for it

    with contextlib.closing(sqlite3.connect(tmp_path / "state" / "scorpio.db", isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        asyncio.run(cancel_while_it_waits())
    assert tasks("list") == "▶ #1 Kept [0/0]"


def test_a_server_ends_while_a_call_waits_for_the_database(serve: Callable[[], Wire], tmp_path: Path) -> None:
    wire = serve()
    wire.call("TaskManager", {"action": "create", "query": "Kept"})
    with contextlib.closing(sqlite3.connect(tmp_path / ".scorpio" / "scorpio.db", isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        wire.start("tools/call", {"name": "TaskManager", "arguments": {"action": "create", "query": "No"}})
        wire.settle()
        assert wire.close() == 0  # while the lock is still held


def test_a_damaged_database_is_said_in_the_next_answer_and_never_again(
    serve: Callable[[], Wire], tmp_path: Path
) -> None:
    wire = serve()
    wire.call("TaskManager", {"action": "create", "query": "Lost"})
    wire.close()
    path = tmp_path / ".scorpio" / "scorpio.db"
    path.write_bytes(random.Random(3).randbytes(10_000))
    wire = serve()
    answer = wire.text("TaskManager", {"action": "complete", "query": "", "task_id": 1})
    notice, failure = answer.split("\n")[:2]
    assert notice.startswith(
        f"The state database was damaged (file is not a database). It was moved to {path}.corrupt-"
    )
    assert failure == "No task 1 in this project: it has none yet; create makes one."
    created = wire.text("TaskManager", {"action": "create", "query": "New"})
    assert created == "Created #1 New. It is the current task.\n\n▶ #1 New [0/0]"


def test_a_state_directory_that_is_refused_is_said(serve: Callable[[], Wire], tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".scorpio").symlink_to(tmp_path / "elsewhere")
    result = serve().call("TaskManager", {"action": "create", "query": "New"})
    assert result["isError"]
    assert result["content"][0]["text"] == (
        f"State cannot be written: {tmp_path}/.scorpio is not a directory. Move it away or set SCORPIO_HOME."
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: mounts a file system")
def test_a_full_disk_is_a_failure_with_the_list_and_mends_itself(serve: Callable[[], Wire], tmp_path: Path) -> None:
    state = tmp_path / ".scorpio"
    state.mkdir(0o700)
    command = ["mount", "-t", "tmpfs", "-o", "size=256k,mode=700", "none", str(state)]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("may not mount here")
    try:
        wire = serve()
        wire.call("TaskManager", {"action": "create", "query": "", "text": "Build API\nschema"})
        with (state / "ballast").open("wb", buffering=0) as stream, contextlib.suppress(OSError):
            while stream.write(b"x" * 4096):
                pass
        result = wire.call("TaskManager", {"action": "add", "query": "", "text": "handlers"})
        assert result["isError"]
        assert result["content"][0]["text"] == (
            f"State cannot be written: {state}/scorpio.db: the disk is full. Free some space, then call again; "
            "what is saved can still be read.\n\n▶ #1 Build API [0/1]\n    [ ] 1. schema"
        )
        shown = wire.text("TaskManager", {"action": "list", "query": ""})
        assert shown == "▶ #1 Build API [0/1]\n    [ ] 1. schema"
        (state / "ballast").unlink()
        assert add(wire, "handlers")
        wire.close()
    finally:
        subprocess.run(["umount", "-l", str(state)], check=True)


def test_the_descriptor_is_the_seeds() -> None:
    descriptor = json.loads((ROOT / "tools" / "core" / "task_manager" / "tool.json").read_text("utf-8"))
    schema = descriptor["inputSchema"]
    assert descriptor["name"] == "TaskManager"
    assert {name: kind["type"] for name, kind in schema["properties"].items()} == {
        "action": "string", "query": "string", "task_id": "integer", "step_id": "integer", "text": "string"
    }  # fmt: skip
    assert list(schema["properties"]) == ["action", "query", "task_id", "step_id", "text"]
    assert schema["required"] == ["action", "query"]
    assert TASK_TEXT_CHARS_MAX < MB
