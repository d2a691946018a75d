"""What the handlers of the core toolset share, opened at first use, closed when every command has ended.

Touches no disk before a handler needs it.
"""

from __future__ import annotations

from tools.core.background_tasks import BackgroundTasks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.settings import Settings
    from scorpio.state.database import Database
    from scorpio.state.home import Home
    from tools.core.read_image.decoder import Decoders
    from tools.core.task_store import TaskStore


class CoreState:
    """One object a server process."""

    def __init__(self, home: Home, settings: Settings) -> None:
        self.background_tasks = BackgroundTasks(home, settings)
        self._image_decoders: Decoders | None = None
        self._home = home
        self._database: Database | None = None

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
    def task_store(self) -> TaskStore:
        from tools.core.task_store import TaskStore

        return TaskStore(self.database)

    def close(self) -> None:
        self.background_tasks.close()
        if self._database is not None:
            self._database.close()


def open_state(home: Home, settings: Settings) -> CoreState:
    return CoreState(home, settings)
