"""What the handlers of the core toolset share, opened at first use, closed when every command has ended.

Touches no disk before a handler needs it.
"""

from __future__ import annotations

from tools.core.background_tasks import BackgroundTasks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.settings import Settings
    from scorpio.state.home import Home
    from tools.core.ask_user_question.dialogs import Dialogs
    from tools.core.read_image.decoder import Decoders


class CoreState:
    """One object a server process."""

    def __init__(self, home: Home, settings: Settings) -> None:
        self.background_tasks = BackgroundTasks(home, settings)
        self._image_decoders: Decoders | None = None
        self._dialogs: Dialogs | None = None
        self._home = home

    @property
    def image_decoders(self) -> Decoders:
        """For the slow lane."""
        if self._image_decoders is None:
            from tools.core.read_image.decoder import Decoders

            self._image_decoders = Decoders()
        return self._image_decoders

    @property
    def dialogs(self) -> Dialogs:
        """For the slow lane."""
        if self._dialogs is None:
            from tools.core.ask_user_question.dialogs import Dialogs

            self._dialogs = Dialogs(self._home)
        return self._dialogs

    def close(self) -> None:
        if self._dialogs is not None:
            self._dialogs.close()
        self.background_tasks.close()


def open_state(home: Home, settings: Settings) -> CoreState:
    return CoreState(home, settings)
