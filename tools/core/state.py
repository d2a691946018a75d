"""What the handlers of the core toolset share, opened at first use, closed when every command has ended.

Touches no disk before a handler needs it.
"""

from __future__ import annotations

import _thread

from tools.core.skills import Skills

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.settings import Settings
    from scorpio.state.database import Database
    from scorpio.state.home import Home
    from scorpio.tool import StateLink
    from tools.core.ask_user_question.dialogs import Dialogs
    from tools.core.background_tasks import BackgroundTasks
    from tools.core.read_image.decoder import Decoders
    from tools.core.skills import Prompt
    from tools.core.task_store import TaskStore


class CoreState:
    """One object a server process."""

    def __init__(self, home: Home, settings: Settings) -> None:
        self._home = home
        self._settings = settings
        self._opening = _thread.allocate_lock()
        self._background_tasks: BackgroundTasks | None = None
        self.skills = Skills(home, settings)
        self._image_decoders: Decoders | None = None
        self._database: Database | None = None
        self._dialogs: Dialogs | None = None

    @property
    def background_tasks(self) -> BackgroundTasks:
        """For every lane. Not before a command: the first tools/list opens this state, and needs none of it."""
        with self._opening:
            if self._background_tasks is None:
                from tools.core.background_tasks import BackgroundTasks

                self._background_tasks = BackgroundTasks(self._home, self._settings)
            return self._background_tasks

    @property
    def image_decoders(self) -> Decoders:
        """For the slow lane."""
        if self._image_decoders is None:
            from tools.core.read_image.decoder import Decoders

            self._image_decoders = Decoders()
        return self._image_decoders

    @property
    def database(self) -> Database:
        """For the slow lane, and from there for threads: it blocks."""
        if self._database is None:
            from scorpio.state.database import Database
            from tools.core.migrations import MIGRATIONS

            self._database = Database(self._home, MIGRATIONS)
        return self._database

    @property
    def dialogs(self) -> Dialogs:
        """For the slow lane."""
        if self._dialogs is None:
            from tools.core.ask_user_question.dialogs import Dialogs

            self._dialogs = Dialogs(self._home)
        return self._dialogs

    @property
    def task_store(self) -> TaskStore:
        from tools.core.task_store import TaskStore

        return TaskStore(self.database)

    def connect(self, link: StateLink) -> None:
        self.skills.connect(link)

    def describe(self, descriptor: dict[str, Any]) -> dict[str, Any] | None:
        return self.skills.describe(descriptor)

    def prompts(self) -> list[dict[str, Any]]:
        return self.skills.prompts()

    def get_prompt(self, name: str, arguments: dict[str, str]) -> Prompt | None:
        return self.skills.get_prompt(name, arguments)

    def complete_prompt(self, name: str, argument: str, value: str) -> list[str] | None:
        return self.skills.complete_prompt(name, argument, value)

    def set_root(self, path: str | None) -> None:
        self.skills.set_root(path)

    def forget(self, owner: str) -> None:
        if self._background_tasks is not None:
            self._background_tasks.forget(owner)

    def close(self) -> None:
        self.skills.close()
        if self._dialogs is not None:
            self._dialogs.close()
        if self._background_tasks is not None:
            self._background_tasks.close()
        if self._database is not None:
            self._database.close()


def open_state(home: Home, settings: Settings) -> CoreState:
    return CoreState(home, settings)
