"""Completion of a skill's arguments out of its hint: `[staging|production] [--force]`. Free text completes nothing."""

from __future__ import annotations

import re

from tools.core.limits import SKILL_ARGUMENT_NAMES_MAX

GROUP = re.compile(r"\[([^\[\]]*)\]|<([^<>]*)>|\(([^()]*)\)|(\S+)")
FLAG = re.compile(r"--?[A-Za-z][A-Za-z0-9-]*")
WORD = re.compile(r"[^\s\[\]<>()|,;:\"'`]{1,64}")
"""What may stand between bars to be taken as a value."""


def completed(hint: str, value: str) -> list[str]:
    """`value` with its last word completed, for each word the hint names in that place or as a flag."""
    places, flags = _named(hint)
    start = len(value) - len(value.rpartition(" ")[2])
    before, last = value[:start], value[start:]
    given = before.split()
    position = sum(1 for word in given if not word.startswith("-"))
    words = places[position] if position < len(places) else []
    words = [*words, *(flag for flag in flags if flag not in given)]
    return [before + word for word in words if word.startswith(last)]


def _named(hint: str) -> tuple[list[list[str]], list[str]]:
    """The values of each place, none for free text; and the flags."""
    places: list[list[str]] = []
    flags: list[str] = []
    for group in list(GROUP.finditer(hint))[:SKILL_ARGUMENT_NAMES_MAX]:
        inside = next(filter(None, group.groups()), "")
        found = [flag for flag in FLAG.findall(inside) if flag not in flags] if inside.startswith("-") else []
        flags += found
        if not inside.startswith("-"):
            words = [word.strip() for word in inside.split("|")]
            named = len(words) > 1 and all(WORD.fullmatch(word) for word in words)
            places.append(words if named else [])
    return places, flags
