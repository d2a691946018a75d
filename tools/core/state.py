"""What the handlers of the core toolset share, opened at first use, closed when every command has ended.

Touches no disk before a handler needs it.
"""

from __future__ import annotations

import _thread
import os

from tools.core.skills import Skills

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from scorpio.settings import Settings
    from scorpio.skill_folder import SkillFolder
    from scorpio.state.database import Database
    from scorpio.state.home import Home
    from scorpio.tool import Block, Finding, StateLink
    from tools.core.ask_user_question.dialogs import Dialogs
    from tools.core.background_task import Task
    from tools.core.background_tasks import BackgroundTasks
    from tools.core.delivery import Delivery
    from tools.core.plans import Plans
    from tools.core.read_docs.pages import Pages
    from tools.core.read_image.decoder import Decoders
    from tools.core.skills import Prompt
    from tools.core.task_store import TaskStore
    from tools.core.ticker import Ticker
    from tools.core.web_search.searches import Searches

CLAIM_AFTER_S = 0.2
"""The answers of a start go out first: what claims callbacks takes some milliseconds to load."""


class CoreState:
    """One object a server process."""

    def __init__(self, home: Home, settings: Settings) -> None:
        self._home = home
        self._settings = settings
        self._link: StateLink | None = None
        self._opening = _thread.allocate_lock()
        self._plans_opening = _thread.allocate_lock()
        self._plans: Plans | None = None
        self._background_tasks: BackgroundTasks | None = None
        self.skills = Skills(home, settings)
        self._image_decoders: Decoders | None = None
        self._pages: Pages | None = None
        self._database: Database | None = None
        self._dialogs: Dialogs | None = None
        self._ticker: Ticker | None = None
        self._delivery: Delivery | None = None
        self._searches: Searches | None = None

    @property
    def background_tasks(self) -> BackgroundTasks:
        """For every lane. Not before a command: the first tools/list opens this state, and needs none of it."""
        with self._opening:
            if self._background_tasks is None:
                from tools.core.background_tasks import BackgroundTasks

                news = None
                if self._link is not None:
                    from tools.core.background_news import BackgroundNews

                    news = BackgroundNews(self._link, self)
                self._background_tasks = BackgroundTasks(self._home, self._settings, self.plans, news)
            return self._background_tasks

    @property
    def plans(self) -> Plans:
        """For every lane and thread."""
        with self._plans_opening:
            if self._plans is None:
                from tools.core.plans import Plans

                self._plans = Plans(self._home, self._settings, self._link)
            return self._plans

    @property
    def image_decoders(self) -> Decoders:
        """For the slow lane."""
        if self._image_decoders is None:
            from tools.core.read_image.decoder import Decoders

            self._image_decoders = Decoders()
        return self._image_decoders

    @property
    def pages(self) -> Pages:
        """For the slow lane."""
        if self._pages is None:
            from tools.core.read_docs.pages import Pages

            self._pages = Pages(self._settings)
        return self._pages

    @property
    def database(self) -> Database:
        """For every lane but not on its event loop: it blocks."""
        with self._opening:
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
    def searches(self) -> Searches:
        """For the slow lane."""
        if self._searches is None:
            from tools.core.web_search.searches import Searches

            self._searches = Searches(self._settings)
        return self._searches

    def examinations(self) -> dict[str, Callable[[], Coroutine[Any, Any, list[Finding]]]]:
        """What `scorpio doctor` may try live, by the name of its option; each is run in the slow lane."""

        async def search() -> list[Finding]:
            from tools.core.web_search.examination import examine

            return await examine(self.searches)

        return {"search": search}

    @property
    def task_store(self) -> TaskStore:
        from tools.core.task_store import TaskStore

        return TaskStore(self.database)

    @property
    def ticker(self) -> Ticker:
        with self._opening:
            if self._ticker is None:
                from tools.core.ticker import Ticker

                self._ticker = Ticker(self._deliver, self._announce)
            return self._ticker

    def _deliver(self) -> float | None:
        return self.delivery.work()

    def _announce(self) -> float | None:
        tasks = self._background_tasks
        return tasks.news.work() if tasks is not None and tasks.news is not None else None

    @property
    def delivery(self) -> Delivery:
        """Only where there is a client: `connect` was called."""
        with self._opening:
            if self._delivery is None:
                from tools.core.delivery import Delivery

                assert self._link is not None
                self._delivery = Delivery(self._home, self._settings, self._link, self)
            return self._delivery

    def callbacks_held(self, owner: str) -> bool:
        """True while none of an owner's callbacks may fire: in plan mode."""
        return self.plans.active(owner, self.skills.project())

    def end_shown(self, task: Task) -> None:
        """An answer says how a background task ended: from then on that is how it did."""
        if not task.end_told:
            task.end_told = True
            if task.command is not None:
                task.keep_end()
            if self._delivery is not None:
                self._delivery.end_shown(task.id)

    def connect(self, link: StateLink) -> None:
        self._link = link
        self.skills.connect(link)
        self._claim_soon()

    def _claim_soon(self) -> None:
        """Where other servers left or have callbacks; else nothing starts before the first one of this server."""
        if self._delivery is not None:
            self._delivery.claim_soon()
            return
        try:
            found = os.listdir(self._home.path("callbacks"))
        except OSError:
            return
        if found:
            self.ticker.wake(CLAIM_AFTER_S)

    def after_result(self, owner: str) -> list[Block]:
        return self._delivery.after_result(owner) if self._delivery is not None else []

    def resources(self, owner: str) -> list[dict[str, Any]]:
        if self._background_tasks is None and not os.path.isdir(self._home.path("tasks")):
            return []
        from tools.core.background_output.listing import task_resources

        return task_resources(self.background_tasks, owner)

    def read(self, uri: str, owner: str) -> None:
        """All resources of this state have a handler of their own."""

    def subscribed(self, uri: str, owner: str) -> None:
        from tools.core.background_news import URI

        if uri.startswith(URI) and (news := self.background_tasks.news) is not None:
            news.subscribed(uri, owner)

    def describe(self, descriptor: dict[str, Any]) -> dict[str, Any] | None:
        return self.skills.describe(descriptor)

    def skill_folders(self) -> list[SkillFolder]:
        return self.skills.folders()

    def prompts(self) -> list[dict[str, Any]]:
        return self.skills.prompts()

    def get_prompt(self, name: str, arguments: dict[str, str]) -> Prompt | None:
        return self.skills.get_prompt(name, arguments)

    def complete_prompt(self, name: str, argument: str, value: str) -> list[str] | None:
        return self.skills.complete_prompt(name, argument, value)

    def set_root(self, path: str | None) -> None:
        self.skills.set_root(path)
        self._claim_soon()

    def forget(self, owner: str) -> None:
        if self._background_tasks is not None:
            self._background_tasks.forget(owner)

    def close(self) -> None:
        self.skills.close()
        if self._dialogs is not None:
            self._dialogs.close()
        if self._searches is not None:
            self._searches.close()
        if self._pages is not None:
            self._pages.close()
        if self._background_tasks is not None:
            self._background_tasks.close()
        if self._ticker is not None:
            self._ticker.close()
        if self._delivery is not None:
            self._delivery.close()
        if self._plans is not None:
            self._plans.close()
        if self._database is not None:
            self._database.close()


def open_state(home: Home, settings: Settings) -> CoreState:
    return CoreState(home, settings)
