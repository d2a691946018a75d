"""What the handlers of the core toolset share, opened at first use, closed when every command has ended.

Touches no disk before a handler needs it.
"""

from __future__ import annotations

from tools.core.background_tasks import BackgroundTasks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.settings import Settings
    from scorpio.state.home import Home
    from tools.core.read_image.decoder import Decoders


class CoreState:
    """One object a server process."""

    def __init__(self, home: Home, settings: Settings) -> None:
        self.background_tasks = BackgroundTasks(home, settings)
        self._image_decoders: Decoders | None = None

    @property
    def image_decoders(self) -> Decoders:
        """For the slow lane."""
        if self._image_decoders is None:
            from tools.core.read_image.decoder import Decoders

            self._image_decoders = Decoders()
        return self._image_decoders

    def close(self) -> None:
        self.background_tasks.close()


def open_state(home: Home, settings: Settings) -> CoreState:
    return CoreState(home, settings)
