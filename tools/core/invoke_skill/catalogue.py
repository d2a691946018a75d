"""The list of skills, as text: within a tool's description, and whole.

Reads no files: `skill_files` found them.
"""

from __future__ import annotations

from scorpio.limits import OUTPUT_CHARS_MAX
from tools.core.invoke_skill.front_matter import cut
from tools.core.limits import TOOL_DESCRIPTION_BYTES_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools.core.invoke_skill.skill_files import Found, Skill, Source

DESCRIPTION_CHARS_STEPS = (2048, 400, 250, 160, 110, 80, 55, 35)
"""How much of each description is shown: the first step with which every skill has its line."""

MORE_CHARS_MAX = 60
"""Room for the line that says how many are not shown."""

NONE_TEXT = "There are no skills."


def described(written: str, skills: Sequence[Skill]) -> str:
    """A tool's description with the catalogue below it, at most TOOL_DESCRIPTION_BYTES_MAX bytes as UTF-8."""
    if not skills:
        return f"{written}\n\n{NONE_TEXT}"
    head = f"{written}\n\nSkills:\n"
    room = TOOL_DESCRIPTION_BYTES_MAX - len(head.encode())
    lines: list[str] = []
    for chars_max in DESCRIPTION_CHARS_STEPS:
        lines = [line(skill, chars_max) for skill in skills]
        if sum(len(text.encode()) + 1 for text in lines) <= room:
            return head + "\n".join(lines)
    shown = []
    room -= MORE_CHARS_MAX
    for text in lines:
        room -= len(text.encode()) + 1
        if room < 0:
            break
        shown.append(text)
    shown.append(f'(+{len(lines) - len(shown)} more; skill_name "list" shows all)')
    return head + "\n".join(shown)


def line(skill: Skill, chars_max: int) -> str:
    about = cut(skill.about.description, chars_max)
    return f"- {skill.name}: {about}" if about else f"- {skill.name}"


def whole(found: Found, places: Sequence[Source]) -> str:
    """What `list` answers: every skill, and what is there and cannot be used."""
    skills = [skill for skill in found.skills.values() if skill.about.for_model]
    for_user = [name for name, skill in found.skills.items() if not skill.about.for_model]
    lines = []
    left = OUTPUT_CHARS_MAX
    for chars_max in DESCRIPTION_CHARS_STEPS:
        lines = [line(skill, chars_max) for skill in skills]
        if sum(map(len, lines)) + len(lines) <= left:
            break
    text = "\n".join([f"Skills ({len(lines)}):", *lines]) if lines else none_text(places)
    if for_user:
        text += "\n\nOnly for the user to start, as a prompt of this server: " + ", ".join(for_user)
    if found.refused:
        text += "\n\nNot usable:\n" + "\n".join(f"- {name}: {said}" for name, said in sorted(found.refused.items()))
    return text


def none_text(places: Sequence[Source]) -> str:
    """Nothing is there: where something would be looked for."""
    first = next((place.path for place in places if place.origin == "project"), places[0].path)
    home = next(place.path for place in places if place.origin == "home")
    where = first if first == home else f"{first} (this project) or {home} (every project)"
    return f"{NONE_TEXT} A skill is a folder with a SKILL.md in {where}."


def nearest(name: str, names: Sequence[str]) -> list[str]:
    """The three names most like `name`, best first."""
    import difflib

    lowered: dict[str, str] = {known.lower(): known for known in names}
    found = difflib.get_close_matches(name.lower(), lowered, n=3, cutoff=0.0)
    return [lowered[known] for known in found]
