"""Where skills are, which one of a name counts, and how their files are opened.

A project comes from somewhere else. A skill of it that leads out of it by a symbolic link is refused: `x -> ~/.ssh`
in a repository would put files of the person who opens it before the model. Directories of the user are the user's
own: links there are how dotfiles and skill collections are kept, so they are followed.
"""

from __future__ import annotations

import os

from scorpio.skill_folder import FILE_NAME, Refused, is_inside, read_file, signature_of
from tools.core.invoke_skill.front_matter import cut, one_line, read
from tools.core.limits import (
    SKILL_ENTRIES_MAX,
    SKILL_FILE_BYTES_MAX,
    SKILL_HEAD_BYTES_MAX,
    SKILL_NAME_CHARS_MAX,
    SKILLS_MAX,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tools.core.invoke_skill.front_matter import FrontMatter

PLACES = (".scorpio", ".scorpiox", ".claude", ".agents")
"""Directories that may hold `skills`, first wins: ours, then those of others."""

BUILT_IN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "built_in_skills")


class Source:
    """One directory of skills."""

    __slots__ = ("origin", "path", "within")

    def __init__(self, path: str, origin: str, within: str = "") -> None:
        self.path = path
        self.origin = origin
        """project, home, additional or built-in."""
        self.within = within
        """Resolved directory that nothing of this source may lead out of; "" where links are the user's own."""


class Skill:
    """One folder with a SKILL.md, as it was when `signature` was taken."""

    __slots__ = ("about", "directory", "file", "name", "signature", "source")

    def __init__(self, name: str, source: Source, file: str, signature: tuple[int, ...], about: FrontMatter) -> None:
        self.name = name
        self.source = source
        self.directory = os.path.join(source.path, name)
        self.file = file
        """Resolved path of its SKILL.md."""
        self.signature = signature
        self.about = about

    @property
    def listing(self) -> tuple[str, str, str, bool, bool]:
        """All that a list shows of it."""
        about = self.about
        return self.name, about.description, about.argument_hint, about.for_model, about.for_user


class Found:
    """What all sources hold at one moment."""

    __slots__ = ("directories", "refused", "skills", "warnings")

    def __init__(self) -> None:
        self.skills: dict[str, Skill] = {}
        """By name, sorted."""
        self.refused: dict[str, str] = {}
        """name -> sentence, for names that no other source has a usable skill of."""
        self.warnings: list[str] = []
        """What is wrong in files that were read or refused, a sentence each."""
        self.directories: list[str] = []
        """Every folder that is or may become a skill."""


def sources(project: str, home: str, state_directory: str, additional: Sequence[str]) -> list[Source]:
    """Highest precedence first. `project` and `home` are absolute; `additional` are the user's further directories."""
    found = []
    if os.path.realpath(project) != os.path.realpath(home):
        within = os.path.realpath(project)
        found += [Source(os.path.join(project, place, "skills"), "project", within) for place in PLACES]
    found.append(Source(os.path.join(state_directory, "skills"), "home"))
    found += [Source(os.path.join(home, place, "skills"), "home") for place in PLACES]
    found += [Source(path, "additional") for path in additional]
    found.append(Source(BUILT_IN, "built-in"))
    paths: set[str] = set()
    return [s for s in found if not (s.path in paths or paths.add(s.path))]  # type: ignore[func-returns-value]


def find(places: Sequence[Source], known: Mapping[str, Skill]) -> Found:
    """Every skill; `known` ones (by directory) are not read again while their files are the same."""
    found = Found()
    skills: dict[str, Skill] = {}
    for source in places:
        for name in _names(source, found):
            if name in skills:
                continue
            directory = os.path.join(source.path, name)
            found.directories.append(directory)
            try:
                skill = _skill(name, source, known.get(directory))
            except Refused as reason:
                said = f"{os.path.join(directory, FILE_NAME)} {reason}."
                found.refused.setdefault(name, said)
                found.warnings.append(f"Skill {name} is not used: {said}")
                continue
            if skill is None:
                continue
            if len(skills) >= SKILLS_MAX:
                found.warnings.append(f"{directory} and further skills are not used: there are {SKILLS_MAX} already.")
                break
            skills[name] = skill
            found.warnings += [f"Skill {name}: {skill.file}: {fault}." for fault in skill.about.faults]
    found.skills = dict(sorted(skills.items()))
    found.refused = {name: said for name, said in found.refused.items() if name not in skills}
    return found


def is_name(name: str) -> bool:
    """Letters and digits of any script, `-`, `_` and `.`, beginning with none of the two last: never a path."""
    if not name or len(name) > SKILL_NAME_CHARS_MAX or not name[0].isalnum():
        return False
    return all(c.isalnum() or c in "-_." for c in name)


def read_skill(path: str, within: str, bytes_max: int = SKILL_FILE_BYTES_MAX) -> tuple[str, str, tuple[int, ...]]:
    """(text, resolved path, signature) of one SKILL.md, of which at most `bytes_max` are read. Raises Refused."""
    real = os.path.realpath(path)
    if within and not is_inside(real, within):
        raise Refused(f"leads out of the project {within}: a project's skills stay inside it")
    content, _, signature = read_file(real, bytes_max, SKILL_FILE_BYTES_MAX)
    if b"\0" in content:
        raise Refused("is not text in UTF-8")
    return content.decode("utf-8", "replace"), real, signature


def _names(source: Source, found: Found) -> Iterator[str]:
    try:
        if source.within and not is_inside(os.path.realpath(source.path), source.within):
            if os.path.isdir(source.path):
                found.warnings.append(f"{source.path} is not used: it leads out of the project {source.within}.")
            return
        with os.scandir(source.path) as entries:
            names = [entry.name for entry, _ in zip(entries, range(SKILL_ENTRIES_MAX), strict=False) if _may_be(entry)]
    except OSError:  # missing, or not ours to read
        return
    for name in sorted(names):
        if is_name(name):
            yield name
        elif os.path.isfile(os.path.join(source.path, name, FILE_NAME)):
            shown = cut(one_line(name), SKILL_NAME_CHARS_MAX)
            found.warnings.append(
                f"A skill in {source.path} is not used: {shown!r} is no name. Names are at most "
                f"{SKILL_NAME_CHARS_MAX} letters, digits, -, _ and dots."
            )


def _may_be(entry: os.DirEntry[str]) -> bool:
    try:
        return not entry.name.startswith(".") and entry.is_dir()
    except OSError:  # a loop of links
        return False


def _skill(name: str, source: Source, known: Skill | None) -> Skill | None:
    """None when the folder holds no SKILL.md. Raises Refused."""
    path = os.path.join(source.path, name, FILE_NAME)
    try:
        status = os.stat(path)
    except FileNotFoundError:
        if os.path.islink(path):
            raise Refused("is a link to nothing") from None
        return None
    except OSError as error:
        raise Refused(f"cannot be looked at: {error.strerror}") from None
    if known is not None and known.signature and known.signature == signature_of(status):
        return known  # the same file, whatever leads to it
    head, real, signature = read_skill(path, source.within, SKILL_HEAD_BYTES_MAX)
    about, _ = read(head)
    return Skill(name, source, real, signature, about)
