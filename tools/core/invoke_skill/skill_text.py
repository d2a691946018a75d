"""What an invoked skill looks like: its text between `<skill_content>` and its end, with its directory and files."""

from __future__ import annotations

import os
import re

from scorpio.skill_folder import FILE_NAME, SKIPPED, Refused
from scorpio.tool import ToolFailure
from tools.core.invoke_skill.front_matter import one_line, read
from tools.core.invoke_skill.skill_files import read_skill
from tools.core.invoke_skill.substitution import COMMAND, Substitution
from tools.core.limits import SKILL_FILES_SHOWN_MAX, SKILL_FILES_WALKED_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.core.invoke_skill.skill_files import Skill
    from tools.core.invoke_skill.substitution import Command

DEPTH_MAX = 8

NOT_RUN = "Commands written as !`…` in this skill were not run. Where you need the output of one, run it with Bash."


def parts_of(skill: Skill, arguments: str, project: str, *, run_commands: bool) -> tuple[list[str | Command], bool]:
    """The skill's text as it is on disk now, with the arguments in it; and whether it holds commands that stay text.

    Raises ToolFailure.
    """
    path = os.path.join(skill.directory, FILE_NAME)
    try:
        content, _, _ = read_skill(path, skill.source.within)
    except Refused as reason:
        raise ToolFailure(f"The skill {skill.name} cannot be used: {path} {reason}.") from None
    about, body = read(content)
    put = Substitution(arguments, about.arguments, skill.directory, project)
    parts = put.parts(body.strip(), commands=run_commands)
    return parts, not run_commands and re.search(COMMAND, body, re.MULTILINE) is not None


def framed(name: str, text: str, directory: str, *, commands_left: bool) -> str:
    """The whole answer. The text cannot end the frame that it stands in."""
    text = text.strip().replace("</skill_content", "<\\/skill_content")
    lines = [f'<skill_content name="{name}">', text, "", f"Skill directory: {one_line(directory)}"]
    files = _files(directory)
    if files:
        lines += ["Files in it, by paths relative to it:", *files]
    if commands_left:
        lines += ["", NOT_RUN]
    return "\n".join([*lines, "</skill_content>"])


def _files(directory: str) -> list[str]:
    """A line for each file but SKILL.md, sorted; the last one says how many are left out."""
    found = []
    rest = ""
    for count, path in enumerate(_walk(directory, "", 0)):
        if count >= SKILL_FILES_WALKED_MAX:
            rest = "(and more)"
            break
        if path:
            found.append(one_line(path))
    found.sort()
    shown = [f"- {path}" for path in found[:SKILL_FILES_SHOWN_MAX]]
    left = len(found) - len(shown)
    if left and not rest:
        rest = f"(+{left} more)"
    return [*shown, rest] if rest else shown


def _walk(directory: str, below: str, depth: int) -> Iterator[str]:
    """Paths of files; "" for every other entry, so that all are counted. Links to directories are not followed."""
    try:
        with os.scandir(directory) as entries:
            folders = []
            for entry in entries:
                path = below + entry.name
                hidden = entry.name.startswith(".") or entry.name in SKIPPED
                if hidden or path == FILE_NAME:
                    yield ""
                elif entry.is_dir(follow_symlinks=False):
                    folders.append((entry.path, path + "/"))
                    yield ""
                else:
                    yield path
    except OSError:
        return
    for path, name in sorted(folders) if depth < DEPTH_MAX else ():
        yield from _walk(path, name, depth + 1)
