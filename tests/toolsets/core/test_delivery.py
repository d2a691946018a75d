"""What a model is told while it does not ask: once, only when it is idle, and whatever becomes of the server.

A callback fires a second after it was set at the earliest, so each of these tests takes seconds, and there are few.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scorpio.state.database import Database
from scorpio.state.home import Home
from tests.links import ROOT, ChildProcess, InProcess, clean_environment
from tests.process.commands import wait_until
from tests.wire import LEGACY, MODERN, Wire
from tools.core.callback import FOR_EVER, Callback
from tools.core.callback_store import CALLBACK, TASK, CallbackStore, Tiding, WaitingTidings
from tools.core.delivery import CHANNEL_METHOD
from tools.core.limits import TIDINGS_WAITING_MAX
from tools.core.migrations import MIGRATIONS
from tools.core.state import CoreState
from tools.core.told_text import told_text
from tools.core.waiting import NOTHING_SCHEDULED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.wire import Connect, Message

LATEST_LEGACY = LEGACY[-1]
FIRED = "[callback 0 fired"
SLOW = "test_slow"


def set_callback(wire: Wire, message: str = "look", *, repeat_count: int = 1, delay_s: int = 1) -> None:
    arguments = {"action": "set", "message": message, "delay_seconds": delay_s, "repeat_count": repeat_count}
    assert wire.text("SetCallback", arguments).startswith("Callback scheduled: ")


def callbacks(wire: Wire) -> str:
    return wire.text("SetCallback", {"action": "list"})


def blocks(wire: Wire) -> list[str]:
    """The text blocks of an instant call's result."""
    return [block["text"] for block in wire.call("ListBgTasks")["content"]]


def rows(home: Path, sql: str) -> list[Any]:
    path = home / "scorpio.db"
    if not path.exists():
        return []
    with contextlib.closing(sqlite3.connect(path, timeout=10)) as connection:
        try:
            return connection.execute(sql).fetchall()
        except sqlite3.OperationalError:  # another process is making the tables
            return []


def waiting(home: Path) -> list[str]:
    """What waits to be told, from outside."""
    return [text for (text,) in rows(home, "SELECT text FROM tidings WHERE told = 0 ORDER BY id")]


@pytest.fixture
def home(environ: dict[str, str]) -> Path:
    return Path(environ["SCORPIO_HOME"])


@pytest.fixture
def open_server(
    tmp_path: Path, environ: dict[str, str], command: Callable[..., list[str]]
) -> Iterator[Callable[..., Wire]]:
    """Opens servers of one home and project: `open_server()`; what is open at the end is closed and judged."""
    opened: list[Wire] = []

    def make(revision: str = MODERN, *, check: bool = True, **variables: str) -> Wire:
        link = ChildProcess(command("core"), {**environ, **variables}, tmp_path / f"stderr-{len(opened)}", ROOT)
        opened.append(Wire(link, revision, check=check))
        opened[-1].open()
        return opened[-1]

    yield make
    for wire in opened:
        if not wire.closed:
            wire.close()


def kill(wire: Wire) -> None:
    """SIGKILL, as nobody expects it."""
    assert isinstance(wire.link, ChildProcess)
    wire.link.process.kill()
    wire.closed = True
    wire.link.wait(10)
    wire.link.close_input()


@pytest.fixture
def wait_command(
    environ: dict[str, str], command: Callable[..., list[str]]
) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """`scorpio wait` in a terminal of its own: `wait_command("--timeout", "5")`."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str, **options: Any) -> subprocess.Popen[str]:
        serve = command()
        words = [*serve[: serve.index("serve")], "wait", *arguments]
        pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": ROOT, **options}
        started.append(subprocess.Popen(words, env=environ, text=True, **pipes))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


# -- the next tool result


@pytest.mark.requirement("callback:once")
@pytest.mark.revisions(LATEST_LEGACY, MODERN)
def test_what_fired_is_the_last_block_of_the_next_result_and_of_no_other(connect: Connect, home: Path) -> None:
    wire = connect("core")
    set_callback(wire, "look at the build")
    assert wait_until(lambda: waiting(home) == ["look at the build"])
    first = blocks(wire)
    assert first[0] == "No background tasks."
    assert re.fullmatch(r"\[callback 0 fired( \ds ago)?\] look at the build", first[1])
    assert blocks(wire) == ["No background tasks."]
    assert callbacks(wire) == "No active callbacks."


@pytest.mark.requirement("callback:once")
@pytest.mark.revisions(MODERN)
@pytest.mark.transports("in-process")
def test_a_failure_and_an_answer_of_another_toolset_tell_too(connect: Connect, home: Path) -> None:
    wire = connect("core", "sum")
    set_callback(wire, repeat_count=2)
    for name, arguments in (("sum", {"a": 1, "b": 2}), ("Bash", {"command": 7})):
        assert wait_until(lambda: waiting(home))
        assert wire.call(name, arguments)["content"][-1]["text"].startswith(FIRED)


@pytest.mark.requirement("callback:idle")
@pytest.mark.revisions(MODERN)
@pytest.mark.transports("stdio")
def test_nothing_fires_while_a_call_runs_nor_right_after_it(connect: Connect, home: Path) -> None:
    wire = connect("core", "conformance")
    set_callback(wire)
    assert len(wire.call(SLOW, {"ms": 1600})["content"]) == 1
    assert rows(home, "SELECT id FROM tidings") == []
    assert "(1 left)" in callbacks(wire)
    assert wait_until(lambda: waiting(home) == ["look"])
    assert len(blocks(wire)) == 2


@pytest.mark.requirement("callback:idle")
@pytest.mark.revisions(MODERN)
@pytest.mark.transports("in-process")
def test_a_call_that_was_cancelled_was_a_call(connect: Connect) -> None:
    wire = connect("core", "conformance")
    assert isinstance(wire.link, InProcess)
    link, connected_s = wire.link.server.link, time.monotonic()
    assert link.idle_s("in-process") > connected_s - 1  # none yet, so since ever
    id_ = wire.start("tools/call", {"name": SLOW, "arguments": {"ms": 60_000}})
    wire.settle()
    assert link.idle_s("in-process") == 0.0
    wire.cancel(id_)
    wire.settle()
    assert 0.0 < link.idle_s("in-process") <= time.monotonic() - connected_s


@pytest.mark.requirement("callback:plan-mode")
@pytest.mark.revisions(MODERN)
@pytest.mark.transports("in-process")
def test_nothing_fires_while_callbacks_are_held(connect: Connect, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def held(state: CoreState, owner: str) -> bool:
        asked.append(owner)
        return len(asked) < 3

    monkeypatch.setattr(CoreState, "callbacks_held", held)
    wire = connect("core")
    set_callback(wire)
    assert wait_until(lambda: len(asked) == 2)
    assert rows(home, "SELECT id FROM tidings") == []
    assert wait_until(lambda: waiting(home) == ["look"])


@pytest.mark.requirement("callback:idle")
@pytest.mark.revisions(MODERN)
@pytest.mark.transports("in-process")
def test_nothing_is_started_for_callbacks_that_are_not_there(connect: Connect, home: Path) -> None:
    wire = connect("core")
    wire.result("tools/list")
    wire.result("resources/list")
    blocks(wire)
    assert isinstance(wire.link, InProcess)
    [toolset] = wire.link.server.features.toolsets
    state = wire.link.server.state(toolset)
    assert (state._ticker, state._delivery, state._database) == (None, None, None)
    assert not home.exists()


@pytest.mark.revisions(MODERN)
@pytest.mark.transports("in-process")
def test_a_busy_database_holds_no_answer_up_and_loses_nothing(connect: Connect, home: Path) -> None:
    wire = connect("core")
    set_callback(wire)
    assert wait_until(lambda: waiting(home))
    with contextlib.closing(sqlite3.connect(home / "scorpio.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert len(blocks(wire)) == 1
        other.execute("ROLLBACK")
    assert len(blocks(wire)) == 2


# -- the channel


def channel_message(wire: Wire, kind: str) -> Message:
    """The params of the first message of this kind; it is no notification of any revision, so no judge knows it."""
    return wire.message(  # type: ignore[no-any-return]
        lambda message: message.get("method") == CHANNEL_METHOD and message["params"]["meta"]["kind"] == kind
    )["params"]


@pytest.mark.requirement("callback:channel")
@pytest.mark.revisions(*LEGACY)
@pytest.mark.transports("stdio")
def test_a_client_that_opted_in_is_told_through_its_channel_and_nowhere_else(
    connect: Connect, home: Path, environ: dict[str, str]
) -> None:
    environ["CALLBACK_CHANNEL"] = "true"
    wire = connect("core", handshake=False, check=False)
    assert wire.open()["capabilities"]["experimental"] == {"claude/channel": {}}
    set_callback(wire, "look\nnow")
    wire.call("BackgroundBash", {"command": "sleep 0.4"})
    told = channel_message(wire, "callback")
    assert told == {"content": "look\nnow", "meta": {"kind": "callback", "callback_id": "0"}}
    told = channel_message(wire, "task")
    assert told["meta"] == {"kind": "task", "task_id": "1"}
    assert re.fullmatch(r"\[task 1: exited with code 0 after \ds\] sleep 0.4", told["content"])
    assert waiting(home) == []
    assert len(wire.call("SetCallback", {"action": "list"})["content"]) == 1
    assert sum(isinstance(one, dict) and one.get("method") == CHANNEL_METHOD for one in wire.received) == 2


@pytest.mark.requirement("callback:channel")
@pytest.mark.revisions(LATEST_LEGACY, MODERN)
@pytest.mark.transports("in-process")
def test_without_the_setting_no_channel_is_declared(connect: Connect) -> None:
    assert "experimental" not in connect("core", handshake=False).open()["capabilities"]


@pytest.mark.requirement("callback:channel")
@pytest.mark.revisions(MODERN)
@pytest.mark.transports("stdio")
def test_a_client_without_a_session_is_told_with_the_next_result(
    connect: Connect, home: Path, environ: dict[str, str]
) -> None:
    environ["CALLBACK_CHANNEL"] = "true"
    wire = connect("core")
    set_callback(wire)
    assert wait_until(lambda: waiting(home))
    assert blocks(wire)[1].startswith(FIRED)


@pytest.mark.requirement("callback:bounded")
@pytest.mark.revisions(LATEST_LEGACY)
@pytest.mark.transports("in-process")
def test_what_a_client_that_does_not_read_could_not_take_is_told_with_the_next_result(
    connect: Connect, home: Path, environ: dict[str, str]
) -> None:
    environ["CALLBACK_CHANNEL"] = "true"
    wire = connect("core")
    assert isinstance(wire.link, InProcess)
    wire.link.peer.offer = lambda data: False  # as a transport does whose queue is full
    set_callback(wire, repeat_count=2)
    assert wait_until(lambda: waiting(home) == ["look", "look"])
    assert re.fullmatch(r"\[callback 0 fired 2 times.*\] look", blocks(wire)[1])
    assert len(blocks(wire)) == 1


# -- restarts


@pytest.mark.requirement("callback:restart")
def test_a_callback_of_a_killed_server_fires_in_the_next_one_of_its_project(
    open_server: Callable[..., Wire], home: Path, tmp_path: Path
) -> None:
    first = open_server()
    set_callback(first, "a", repeat_count=1)
    set_callback(first, "b", repeat_count=FOR_EVER, delay_s=3600)
    kill(first)
    elsewhere = open_server(SCORPIO_CWD=str(tmp_path))
    assert callbacks(elsewhere) == "No active callbacks."
    second = open_server()
    second.result("tools/list")  # no call, and still it is claimed and fires
    assert wait_until(lambda: waiting(home) == ["a"])
    assert blocks(second)[1].startswith(FIRED)
    assert [text.split(" - ")[0] for text in callbacks(second).splitlines()] == ["Active callbacks (1/8):", '  [1] "b"']


@pytest.mark.requirement("callback:restart")
def test_what_fired_and_was_not_told_is_told_by_the_next_server_once(
    open_server: Callable[..., Wire], home: Path
) -> None:
    first = open_server()
    set_callback(first)
    assert wait_until(lambda: waiting(home))
    kill(first)
    second = open_server()
    second.result("tools/list")
    assert wait_until(lambda: len(blocks(second)) == 2)
    assert blocks(second) == ["No background tasks."]
    second.close()
    third = open_server()
    third.result("tools/list")
    assert callbacks(third) == "No active callbacks."
    assert list((home / "callbacks").iterdir()) == []


@pytest.mark.requirement("callback:restart")
def test_of_servers_that_start_at_once_one_claims_and_a_living_one_keeps_its_own(
    open_server: Callable[..., Wire],
) -> None:
    living, dead = open_server(), open_server()
    set_callback(living, "mine", delay_s=3600)
    for number in range(3):
        set_callback(dead, f"left {number}", delay_s=3600)
    kill(dead)
    heirs = [open_server() for _ in range(4)]
    ids = [heir.start("tools/call", {"name": "SetCallback", "arguments": {"action": "list"}}) for heir in heirs]
    for heir, id_ in zip(heirs, ids, strict=True):
        heir.answer(id_)
    claimed = [re.findall(r'"(left \d)"', callbacks(heir)) for heir in heirs]
    assert sorted(claimed) == [[], [], [], ["left 0", "left 1", "left 2"]]
    assert re.findall(r'"(.*)"', callbacks(living)) == ["mine"]


@pytest.mark.requirement("callback:restart")
def test_what_does_not_fit_into_the_slots_waits_for_room(open_server: Callable[..., Wire]) -> None:
    first, second = open_server(), open_server()
    for number in range(5):
        set_callback(first, f"first {number}", delay_s=3600)
        set_callback(second, f"second {number}", delay_s=3600)
    kill(first)
    assert re.findall(r'"(.*)"', callbacks(second)) == [
        *(f"second {number}" for number in range(5)), "first 0", "first 1", "first 2"
    ]  # fmt: skip
    second.text("SetCallback", {"action": "cancel"})
    assert re.findall(r'"(.*)"', callbacks(second)) == ["first 3", "first 4"]


# -- scorpio wait


@pytest.mark.requirement("wait:one-each")
def test_two_that_wait_get_one_fire_each_and_the_model_none_of_them(
    open_server: Callable[..., Wire], wait_command: Callable[..., subprocess.Popen[str]]
) -> None:
    wire = open_server()
    waiters = [wait_command(), wait_command()]
    set_callback(wire, "a")
    set_callback(wire, "b")
    told = [waiter.communicate(timeout=60) for waiter in waiters]
    assert sorted(out for out, _ in told) == ["[callback 0 fired] a\n", "[callback 1 fired] b\n"]
    assert [waiter.returncode for waiter in waiters] == [0, 0]
    assert blocks(wire) == ["No background tasks."]


@pytest.mark.requirement("wait:one-each")
def test_wait_tells_what_no_result_may_and_keeps_what_it_cannot_print(
    open_server: Callable[..., Wire], wait_command: Callable[..., subprocess.Popen[str]], home: Path
) -> None:
    wire = open_server(PIGGYBACK="false")
    set_callback(wire)
    assert wait_until(lambda: waiting(home))
    assert blocks(wire) == ["No background tasks."]
    with open("/dev/full", "w") as full:
        refused = wait_command(stdout=full)
        assert "It cannot be printed: No space left on device." in refused.communicate(timeout=60)[1]
    assert refused.returncode == 1
    out, _ = wait_command().communicate(timeout=60)
    assert re.fullmatch(r"\[callback 0 fired( \d+s ago)?\] look\n", out)


@pytest.mark.requirement("wait:ends")
def test_wait_gives_up_in_time_and_creates_nothing(
    wait_command: Callable[..., subprocess.Popen[str]], home: Path
) -> None:
    waiter = wait_command("--timeout", "0.3")
    out, err = waiter.communicate(timeout=60)
    assert (out, waiter.returncode) == ("", 1)
    assert err.splitlines() == [
        f"scorpio wait: {NOTHING_SCHEDULED}",
        "scorpio wait: Nothing was to be told within 0.3 s.",
    ]
    assert not home.exists()


@pytest.mark.requirement("wait:ends")
def test_wait_ends_quietly_when_it_is_interrupted(wait_command: Callable[..., subprocess.Popen[str]]) -> None:
    waiter = wait_command()
    assert waiter.stderr is not None
    assert "No callback is scheduled" in waiter.stderr.readline()
    waiter.send_signal(signal.SIGINT)
    assert waiter.communicate(timeout=60) == ("", "")
    assert waiter.returncode == 130


@pytest.mark.requirement("wait:ends")
@pytest.mark.builds("source")
@pytest.mark.parametrize("seconds", ["soon", "-1", "nan", "inf", ""])
def test_wait_refuses_a_timeout_that_is_none(wait_command: Callable[..., subprocess.Popen[str]], seconds: str) -> None:
    waiter = wait_command("--timeout", seconds)
    assert "--timeout takes a number of seconds, 0 or more" in waiter.communicate(timeout=60)[1]
    assert waiter.returncode == 2


# -- the ends of background tasks


@pytest.mark.requirement("background:end-told")
@pytest.mark.revisions(MODERN)
@pytest.mark.transports("stdio", "frozen")
def test_the_end_of_a_task_is_told_once_where_no_answer_shows_it(connect: Connect, home: Path) -> None:
    wire = connect("core", "sum")
    wire.call("BackgroundBash", {"command": "sleep 0.3; exit 3"})
    assert wait_until(lambda: waiting(home) == ["sleep 0.3; exit 3"])
    told = wire.call("sum", {"a": 1, "b": 2})["content"]
    assert re.fullmatch(r"\[task 1: exited with code 3 after \ds\] sleep 0.3; exit 3", told[1]["text"])
    assert len(wire.call("sum", {"a": 1, "b": 2})["content"]) == 1
    assert len(wire.call("ReadBgOutput", {"task_id": 1})["content"]) == 1


@pytest.mark.requirement("background:end-told")
@pytest.mark.revisions(MODERN)
@pytest.mark.transports("stdio")
@pytest.mark.parametrize(
    ("name", "arguments"), [("ReadBgOutput", {"task_id": 1}), ("ListBgTasks", {}), ("KillBgTask", {"task_id": 1})]
)
def test_the_end_that_an_answer_shows_is_not_told_again(
    connect: Connect, home: Path, name: str, arguments: Message
) -> None:
    wire = connect("core")
    wire.call("BackgroundBash", {"command": "sleep 0.3" if name != "KillBgTask" else "sleep 77"})
    if name != "KillBgTask":
        assert wait_until(lambda: waiting(home))
    assert len(wire.call(name, arguments)["content"]) == 1
    assert wait_until(lambda: not waiting(home))
    assert len(wire.call("BackgroundBash", {"command": "exit 5"})["content"]) == 1
    assert len(blocks(wire)) == 1


@pytest.mark.requirement("background:end-told")
def test_the_task_of_a_killed_server_is_told_lost_once_and_only_in_its_project(
    open_server: Callable[..., Wire], home: Path, tmp_path: Path
) -> None:
    first = open_server()
    first.call("BackgroundBash", {"command": "sleep 1000"})
    elsewhere = open_server(SCORPIO_CWD=str(tmp_path))
    elsewhere.call("BackgroundBash", {"command": "sleep 1001"})
    kill(elsewhere)
    kill(first)
    second = open_server()
    told: list[str] = []
    while not told:
        told = [block["text"] for block in second.call("BackgroundBash", {"command": "true"})["content"][1:]]
    assert re.fullmatch(r"\[task 1: lost: host ended after \d+s\] sleep 1000", told[0])
    assert rows(home, "SELECT text FROM tidings") == [("sleep 1000",)]
    kill(second)
    third = open_server()
    assert len(third.call("BackgroundBash", {"command": "true"})["content"]) == 1


@pytest.mark.requirement("background:end-told")
def test_a_task_that_outlives_its_server_is_told_by_the_next_when_it_ends(
    open_server: Callable[..., Wire], home: Path, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    first = open_server(BG_SURVIVE="true")
    first.call("BackgroundBash", {"command": f"while [ ! -e {go} ]; do sleep 0.02; done; exit 4"})
    first.close()
    second = open_server(LATEST_LEGACY)
    assert "running" in blocks(second)[0]
    second.result("resources/subscribe", {"uri": "scorpio://background/1"})
    go.touch()
    assert second.notification("notifications/resources/updated") == {"uri": "scorpio://background/1"}
    assert wait_until(lambda: waiting(home))
    told = second.call("SetCallback", {"action": "list"})["content"]
    assert told[1]["text"].startswith("[task 1: exited with code 4 after ")


@pytest.mark.requirement("background:end-told")
def test_a_task_that_ends_with_its_server_is_not_told_as_killed(open_server: Callable[..., Wire], home: Path) -> None:
    wire = open_server()
    wire.call("BackgroundBash", {"command": "sleep 1000"})
    set_callback(wire, delay_s=3600)  # the thread that tells runs
    wire.close()
    assert waiting(home) == []


# -- the queue


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(Home(str(tmp_path / "state")), MIGRATIONS)
    yield database
    database.close()


def tiding(slot: int, text: str, late_s: float = 0.0) -> Tiding:
    return Tiding(CALLBACK, slot, text, late_s=late_s, made_unix_s=time.time())


@pytest.mark.requirement("callback:bounded")
def test_more_fires_than_may_wait_are_counted_with_earlier_ones_of_their_callback(database: Database) -> None:
    store = CallbackStore(database, "server")
    slots = [Callback("stdio", "/p", slot, f"msg {slot}", 1, FOR_EVER, 0.0) for slot in range(8)]
    for _ in range(20):
        for one in slots:
            store.fire(one, time.time(), tiding(one.slot, one.message), told=False)
    kept = store.take("stdio", 1.0)
    assert len(kept) <= TIDINGS_WAITING_MAX + 7
    text = told_text(kept, time.time())
    assert re.sub(r", last \d+s ago", "", text).splitlines() == [
        f"[callback {slot} fired 20 times] msg {slot}" for slot in (int(line.split()[1]) for line in text.splitlines())
    ]
    assert len(text.splitlines()) == 8
    assert store.take("stdio", 1.0) == []


@pytest.mark.requirement("callback:clock")
def test_a_late_fire_says_how_late(database: Database) -> None:
    store = CallbackStore(database, "server")
    store.fire(Callback("stdio", "/p", 3, "msg", 60, 1, 0.0), 0.0, tiding(3, "msg", late_s=7512.0), told=False)
    assert told_text(store.take("stdio", 1.0), time.time()) == "[callback 3 fired, 2h05m late] msg"


@pytest.mark.requirement("background:end-told")
def test_the_end_of_one_task_is_kept_once_whoever_finds_it(database: Database) -> None:
    end = Tiding(TASK, 7, "npm run dev", how="killed after 3s", made_unix_s=time.time())
    one, other = CallbackStore(database, "one"), CallbackStore(database, "other")
    assert one.end_task("stdio", "/p", end, "7 1000.000")
    assert told_text(one.take("stdio", 1.0), time.time()) == "[task 7: killed after 3s] npm run dev"
    assert not other.end_task("stdio", "/p", end, "7 1000.000")
    assert other.end_task("stdio", "/p", end, "7 2000.000")  # another task 7: somebody removed the files of the first


TAKER = """
import sys
sys.path.insert(0, {root!r})
from scorpio.state.database import Database
from scorpio.state.home import Home
from tools.core.callback_store import WaitingTidings
from tools.core.migrations import MIGRATIONS
tidings = WaitingTidings(Database(Home({home!r}), MIGRATIONS), "/p")
while (found := tidings.next()) is not None:
    sys.stdout.write(found.text + "\\n")
    sys.stdout.flush()
"""


@pytest.mark.requirement("callback:once")
@pytest.mark.parametrize("killed", [0, 5])
def test_many_takers_at_once_tell_everything_once_and_nothing_twice(
    database: Database, tmp_path: Path, killed: int
) -> None:
    store = CallbackStore(database, "server")
    wanted = [f"task {number}" for number in range(240)]
    for number, text in enumerate(wanted):
        store.end_task("stdio", "/p", Tiding(TASK, number, text, made_unix_s=time.time()), str(number))
    code = TAKER.format(root=str(ROOT), home=str(tmp_path / "state"))
    takers = [
        subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=clean_environment(tmp_path)
        )
        for _ in range(6)
    ]
    told: list[str] = []
    for number, taker in enumerate(takers):
        assert taker.stdout is not None
        told += taker.stdout.readline().splitlines()  # none: the others were quicker
        if number < killed:
            os.kill(taker.pid, signal.SIGKILL)
    for taker in takers:
        told += taker.communicate()[0].splitlines()
    told += [found.text for found in store.take("stdio", 5.0)]
    assert len(told) == len(set(told))
    assert len(wanted) - killed <= len(told) <= len(wanted)
    assert set(told) <= set(wanted)
    assert WaitingTidings(database, "/p").next() is None
