"""State of the fixtures: what happened to slow calls. Opened at first use, as every toolset's."""

from __future__ import annotations

import os

from scorpio.skill_folder import folders_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.settings import Settings
    from scorpio.skill_folder import SkillFolder
    from scorpio.state.home import Home

SKILLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "skills")


class Counts:
    """Calls of test_slow in this process. Written by the slow lane only."""

    def __init__(self) -> None:
        self.started = 0
        self.finished = 0
        self.cancelled = 0

    def skill_folders(self) -> list[SkillFolder]:
        return folders_in(SKILLS)

    def close(self) -> None:
        """Nothing is kept."""


def open_state(home: Home, settings: Settings) -> Counts:
    return Counts()
