"""The core toolset without a wire: real handlers, state, settings and processes, and a call that only holds them.

Run as a program it is a server of its own that other tests may kill: a JSON line in, a JSON line out.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import re
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from scorpio import process
from scorpio.settings import KEYS, Settings
from scorpio.state.home import Home
from scorpio.tool import Call, ToolFailure, ToolResult, text
from tools.core.state import CoreState, open_state

if TYPE_CHECKING:
    from concurrent.futures import Future

    from tools.core.read_docs.documents import Documents

FOLDERS = {
    "Bash": "bash",
    "BackgroundBash": "background_bash",
    "ReadBgOutput": "read_bg_output",
    "ListBgTasks": "list_bg_tasks",
    "KillBgTask": "kill_bg_task",
    "PlanMode": "plan_mode",
    "WebSearch": "web_search",
    "ReadDocs": "read_docs",
}
RUNTIME = re.compile(r"(?<= )\d+s(?=[,;:\]])")
EVENT_S_MAX = 30.0
"""For what happens in milliseconds; this long only when it never will."""


class LocalCall(Call[CoreState]):
    def __init__(self, core: LocalCore, name: str, owner: str) -> None:
        self.activity = ""
        self.name = name
        self.owner = owner
        self.settings = core.settings
        self.home = core.home
        self._core = core

    @property
    def state(self) -> CoreState:
        return self._core.state

    async def working_directory(self) -> str:
        return self._core.cwd


class LocalCore:
    """One server: a state, and a thread with an event loop for slow calls; instant ones run in the caller's."""

    def __init__(self, home: Path | str, cwd: Path | str, **settings: Any) -> None:
        self.settings = Settings(
            {key.name: settings[key.attribute] for key in KEYS if key.attribute in settings}, frozenset(), ()
        )
        self.home = Home(str(home))
        self.cwd = str(cwd)
        self.state = open_state(self.home, self.settings)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def begin(self, call: LocalCall, arguments: dict[str, Any]) -> Future[ToolResult]:
        """A slow call in progress; `cancel` cancels it as the server does."""
        module = importlib.import_module(f"tools.core.{FOLDERS[call.name]}.handler")
        return asyncio.run_coroutine_threadsafe(_result(module.handle, arguments, call), self._loop)

    def call(self, name: str, arguments: dict[str, Any] | None = None, owner: str = "stdio") -> ToolResult:
        module = importlib.import_module(f"tools.core.{FOLDERS[name]}.handler")
        call = LocalCall(self, name, owner)
        if asyncio.iscoroutinefunction(module.handle):
            return self.begin(call, arguments or {}).result(EVENT_S_MAX)
        try:
            result = module.handle(arguments or {}, call)
            assert isinstance(result, ToolResult)
            return result
        except ToolFailure as failure:
            return text(str(failure), is_error=True)

    def text(self, name: str, arguments: dict[str, Any] | None = None, owner: str = "stdio") -> str:
        """The answer's text, with every runtime in it as `0s`: how busy this machine is decides nothing."""
        return RUNTIME.sub("0s", str(self.call(name, arguments, owner).content[0]["text"]))

    def bash(self, command: str, **arguments: Any) -> str:
        return self.text("Bash", {"command": command, **arguments})

    def start(self, command: str, owner: str = "stdio") -> str:
        return self.text("BackgroundBash", {"command": command}, owner)

    def read(self, task_id: int, owner: str = "stdio") -> str:
        return self.text("ReadBgOutput", {"task_id": task_id}, owner)

    def plan(self, action: str, owner: str = "stdio", **arguments: str) -> str:
        return self.text("PlanMode", {"action": action, **arguments}, owner)

    def kill(self, task_id: int, owner: str = "stdio") -> str:
        return self.text("KillBgTask", {"task_id": task_id}, owner)

    def list(self, owner: str = "stdio") -> str:
        return self.text("ListBgTasks", {}, owner)

    def ended(self, task_id: int) -> None:
        """Wait until a task of this server has ended."""
        task = self.state.background_tasks.find(task_id, "stdio")
        if task.command is not None:
            self.wait(task.command.wait_gone())
        self.wait(_turns())
        assert task.end is not None

    def idle(self) -> bool:
        """True when no call is in progress, cancelled ones included."""

        async def others() -> int:
            return len(asyncio.all_tasks()) - 1

        return bool(self.wait(others()) == 0)

    def documents(self) -> Documents:
        """What reads pages, made in the loop it belongs to."""

        async def made() -> Documents:
            return self.state.pages.documents

        documents: Documents = self.wait(made())
        return documents

    def wait(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(EVENT_S_MAX)

    def close(self) -> None:
        """As the server ends: calls are cancelled, commands ended, states closed. Once is enough."""
        if self._loop.is_closed():
            return

        async def cancel_all() -> None:
            others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        process.end_all(0)
        self.wait(cancel_all())
        if self.state.pages.started is not None:
            self.wait(self.state.pages.started.gone())
        self.state.close()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(EVENT_S_MAX)
        self._loop.close()


async def _result(handle: Any, arguments: dict[str, Any], call: LocalCall) -> ToolResult:
    try:
        result = await handle(arguments, call)
        assert isinstance(result, ToolResult)
        return result
    except ToolFailure as failure:
        return text(str(failure), is_error=True)


async def _turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def main() -> None:
    home, cwd, survive = sys.argv[1:4]
    core = LocalCore(home, cwd, bg_survive=survive == "survive")
    for line in sys.stdin:
        name, arguments = json.loads(line)
        sys.stdout.write(json.dumps(core.text(name, arguments)) + "\n")
        sys.stdout.flush()
    core.close()


if __name__ == "__main__":
    main()
