"""The skills of one server: found, described, offered as prompts, invoked; and seen to change on disk.

Looks at the disk when something is asked, and never before the first list or call. A thread that only waits tells
when the lists have changed meanwhile.
"""

from __future__ import annotations

import _thread
import os

from scorpio.settings import project_of
from scorpio.skill_folder import FILE_NAME, SkillFolder
from scorpio.tool import ToolFailure
from tools.core.invoke_skill import catalogue, skill_files
from tools.core.invoke_skill.front_matter import cut
from tools.core.limits import SKILL_ARGUMENTS_BYTES_MAX, SKILL_NAME_CHARS_MAX, SKILL_PROJECTS_KEPT_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    from scorpio.settings import Settings
    from scorpio.state.home import Home
    from scorpio.tool import Call, StateLink
    from tools.core.directory_watch import DirectoryWatch
    from tools.core.invoke_skill.skill_files import Found, Skill, Source

    Listing = list[tuple[str, str, str, bool, bool]]
    Prompt = Callable[[Call[Any]], Awaitable[dict[str, Any]]]

TOOL = "InvokeSkill"
LIST = "list"
ARGUMENT = "arguments"
ARGUMENT_TEXT = "Words separated by spaces; quotes keep words together"
HIDDEN_NAME = TOOL.upper()
NAMES_TEXT = (
    f"Names are at most {SKILL_NAME_CHARS_MAX} letters, digits, -, _ and dots. "
    f'skill_name "{LIST}" shows those there are.'
)


class Catalogue:
    """The skills of one project, the user's included."""

    __slots__ = ("found", "places", "project")

    def __init__(self, project: str, places: list[Source], found: Found) -> None:
        self.project = project
        self.places = places
        self.found = found

    @property
    def listing(self) -> Listing:
        """All that lists show of it."""
        return [skill.listing for skill in self.found.skills.values()]

    def for_model(self) -> list[Skill]:
        return [skill for skill in self.found.skills.values() if skill.about.for_model]


class Skills:
    """Thread-safe: lists are made on the reading thread, calls in the slow lane, changes are seen by a third."""

    def __init__(self, home: Home, settings: Settings) -> None:
        self._state_directory = home.root
        self._settings = settings
        self._link: StateLink | None = None
        self._lock = _thread.allocate_lock()
        self._catalogues: dict[str, Catalogue] = {}
        """By project, the one used last at the end."""
        self._root: str | None = None
        self._shown: Listing | None = None
        """What clients were shown, or told to look at again; None before the first list."""
        self._warned: set[str] = set()
        self._watch: DirectoryWatch | None = None

    # -- what the server asks of a state

    def connect(self, link: StateLink) -> None:
        self._link = link

    def set_root(self, path: str | None) -> None:
        """The only client's first `file://` root: its project is the one whose skills are listed."""
        if path != self._root:
            self._root = path
            if self._watch is not None:
                self.look()
                self._watch.wake()

    def describe(self, descriptor: dict[str, Any]) -> dict[str, Any] | None:
        """The wire object of InvokeSkill as it stands now; None for other tools."""
        if descriptor["name"] != TOOL:
            return None
        skills = self._listed().for_model()
        annotations = descriptor.get("annotations", {})
        if self._settings.skill_exec:
            annotations = {**annotations, "readOnlyHint": False, "idempotentHint": False, "openWorldHint": True}
        description = catalogue.described(descriptor["description"], skills)
        return {**descriptor, "description": description, "annotations": annotations}

    def prompts(self) -> list[dict[str, Any]]:
        """Wire objects of all skills as prompts."""
        return [_prompt(skill) for skill in self._listed().found.skills.values() if self._is_prompt(skill)]

    def folders(self) -> list[SkillFolder]:
        """Of the skills that a model may start: what a host reads is put before one."""
        if HIDDEN_NAME in self._settings.hidden_tools:
            return []
        return [SkillFolder(skill.directory, skill.source.within) for skill in self._listed().for_model()]

    def get_prompt(self, name: str, arguments: dict[str, str]) -> Prompt | None:
        """What makes the prompt, in the slow lane; None when there is no such skill."""
        if self._prompt_skill(name) is None:
            return None

        async def made(call: Call[Any]) -> dict[str, Any]:
            place = await self._catalogue_of(call)
            skill = place.found.skills.get(name) or self._listed().found.skills.get(name)
            if skill is None:
                raise ToolFailure(f"The skill {name} is gone.")
            text = await self._text(skill, arguments.get(ARGUMENT, ""), place.project, call)
            message = {"role": "user", "content": {"type": "text", "text": text}}
            return {"description": skill.about.description, "messages": [message]}

        return made

    def complete_prompt(self, name: str, argument: str, value: str) -> list[str] | None:
        """Values for the arguments as the skill's own hint names them; None when there is no such skill."""
        skill = self._prompt_skill(name)
        if skill is None:
            return None
        from tools.core.invoke_skill.hint import completed

        return completed(skill.about.argument_hint, value) if argument == ARGUMENT else []

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()

    # -- invoking

    async def invoke(self, name: str, arguments: str, call: Call[Any]) -> str:
        """The text of a skill, or the list of all. Raises ToolFailure."""
        name = name.strip().removeprefix("/")  # as a person would type it
        place = await self._catalogue_of(call)
        if name == LIST:
            return catalogue.whole(place.found, place.places)
        if not skill_files.is_name(name):
            raise ToolFailure(f"{cut(name, SKILL_NAME_CHARS_MAX + 1)!r} is no skill's name. {NAMES_TEXT}")
        skill = place.found.skills.get(name)
        if skill is None:
            raise ToolFailure(_unknown(name, place))
        if not skill.about.for_model:
            raise ToolFailure(
                f"The skill {name} is only for the user to start (disable-model-invocation). "
                "Ask the user to start it: it is offered as a prompt of this server."
            )
        return await self._text(skill, arguments, place.project, call)

    async def _catalogue_of(self, call: Call[Any]) -> Catalogue:
        """As the disk is now."""
        import asyncio

        return await asyncio.to_thread(self._looked, project_of(await call.working_directory()))

    async def _text(self, skill: Skill, arguments: str, project: str, call: Call[Any]) -> str:
        import asyncio

        from tools.core.invoke_skill import skill_text

        _check(arguments)
        run = self._settings.skill_exec
        parts, left = await asyncio.to_thread(skill_text.parts_of, skill, arguments, project, run_commands=run)
        if run:
            from tools.core.invoke_skill.commands import run_commands

            text = await run_commands(parts, call)
        else:
            text = "".join(map(str, parts))
        return await asyncio.to_thread(skill_text.framed, skill.name, text, skill.directory, commands_left=left)

    # -- finding

    def look(self) -> None:
        """Look for changes in what is listed, and tell the server of them."""
        self._looked(self.project())

    def watched(self) -> dict[str, frozenset[str] | None]:
        """Directories to be watched, each with the names in it that matter; None: all."""
        from tools.core.directory_watch import nearest_existing

        wanted: dict[str, frozenset[str] | None] = {}
        project = self.project()
        with self._lock:
            place = self._catalogues.get(project)
        if place is None:
            return wanted
        for source in place.places:
            directory, missing = nearest_existing(source.path)
            _want(wanted, directory, missing)
        for directory in place.found.directories:
            _want(wanted, directory, FILE_NAME)
        for skill in place.found.skills.values():
            _want(wanted, *os.path.split(skill.file))  # where a link leads to
        return wanted

    def _listed(self) -> Catalogue:
        """The catalogue that is shown to clients, as the disk is now; watched from now on."""
        place = self._looked(self.project())
        if self._shown is None:
            self._shown = place.listing
        if self._watch is None and self._link is not None:
            from tools.core.directory_watch import DirectoryWatch

            self._watch = DirectoryWatch(self.watched, self.look)
            self._watch.start()
        return place

    def _looked(self, project: str) -> Catalogue:
        with self._lock:
            before = self._catalogues.pop(project, None)
            known = {skill.directory: skill for skill in before.found.skills.values()} if before else {}
            home = os.path.expanduser("~")
            places = skill_files.sources(project, home, self._state_directory, self._settings.additional_skills)
            now = Catalogue(project, places, skill_files.find(places, known))
            self._catalogues[project] = now
            while len(self._catalogues) > SKILL_PROJECTS_KEPT_MAX:
                del self._catalogues[next(iter(self._catalogues))]
            warnings = [text for text in now.found.warnings if text not in self._warned]
            self._warned = set(now.found.warnings)
            changed = self._shown not in (None, now.listing) and project == self.project()
            if changed:
                self._shown = now.listing
        if self._link is not None:
            for warning in warnings:
                self._link.warn(warning)
            if changed:
                self._link.changed_list("tools")
                self._link.changed_list("prompts")
                self._link.changed_list("resources")
        return now

    def project(self) -> str:
        """The project whose skills are listed. A call finds its own: its client may have told another root."""
        for path in (os.environ.get("SCORPIO_CWD"), self._root, os.environ.get("CLAUDE_PROJECT_DIR")):
            if path:
                return project_of(os.path.expanduser(path))
        try:
            here = os.getcwd()
        except OSError:  # the directory was removed
            here = "/"
        return project_of(here if here != "/" else os.path.expanduser("~"))

    def _is_prompt(self, skill: Skill) -> bool:
        return skill.about.for_user and HIDDEN_NAME not in self._settings.hidden_tools

    def _prompt_skill(self, name: str) -> Skill | None:
        skill = self._listed().found.skills.get(name)
        return skill if skill is not None and self._is_prompt(skill) else None


def _prompt(skill: Skill) -> dict[str, Any]:
    argument = {"name": ARGUMENT, "description": skill.about.argument_hint or ARGUMENT_TEXT, "required": False}
    prompt: dict[str, Any] = {"name": skill.name, "arguments": [argument]}
    if skill.about.description:
        prompt["description"] = skill.about.description
    return prompt


def _unknown(name: str, place: Catalogue) -> str:
    """What to say of a name that no usable skill has."""
    refused = place.found.refused.get(name)
    if refused is not None:
        return f"The skill {name} cannot be used: {refused} Mend that file, or tell the user of it."
    names = [skill.name for skill in place.for_model()]
    if not names:
        return f"No skill {name}. {catalogue.none_text(place.places)}"
    nearest = ", ".join(catalogue.nearest(name, names))
    return f'No skill {name}. Nearest: {nearest}. skill_name "{LIST}" shows all {len(names)}.'


def _check(arguments: str) -> None:
    """Raises ToolFailure for arguments that no skill gets."""
    size = len(arguments.encode("utf-8", "replace"))
    if size > SKILL_ARGUMENTS_BYTES_MAX:
        raise ToolFailure(
            f"The arguments have {size} bytes; a skill gets at most {SKILL_ARGUMENTS_BYTES_MAX}. "
            "Put long text into a file and give its path."
        )
    if "\0" in arguments:
        raise ToolFailure("The arguments hold a NUL character, which no skill can get. Leave it out.")


def _want(wanted: dict[str, frozenset[str] | None], directory: str, name: str | None) -> None:
    names = wanted.get(directory, frozenset())
    wanted[directory] = None if name is None or names is None else names | {name}
