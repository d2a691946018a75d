"""What a project's file may do with a key: `(old, new)` -> True where it may. Only tighten: it is not trusted.

And how some values are read.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def lower(old: int, new: int) -> bool:
    return new <= old


def subset(old: tuple[str, ...], new: tuple[str, ...]) -> bool:
    return set(new) <= set(old)


def anything(old: object, new: object) -> bool:
    return True


def only_to(value: object) -> Callable[[object, object], bool]:
    return lambda old, new: new == value


def none_looser(strictest_first: Sequence[str]) -> Callable[[str, str], bool]:
    return lambda old, new: strictest_first.index(new) <= strictest_first.index(old)


# -- values: as they are kept, or ValueError with a predicate

TRUE_WORDS = ("true", "1", "yes", "on")
FALSE_WORDS = ("false", "0", "no", "off")


def boolean(value: str) -> bool:
    word = value.lower()
    if word in TRUE_WORDS:
        return True
    if word in FALSE_WORDS:
        return False
    raise ValueError("must be true or false")


def web_address(value: str) -> str:
    """Nothing unsets what a lower level has set."""
    scheme, separator, rest = value.partition("://")
    host = rest.partition("/")[0].partition("?")[0].rpartition("@")[2]
    if value and not (
        scheme.lower() in ("http", "https") and separator and host and value.isprintable() and " " not in value
    ):
        raise ValueError("must be an http:// or https:// address")
    return value


OTHER_LEVELS = {"trace": "debug", "warn": "warning", "err": "error", "fatal": "critical"}
"""What other programs call them, in an environment that they share with us."""


def level(value: str) -> str:
    from scorpio.protocol.meta import LOG_LEVELS

    word = OTHER_LEVELS.get(value.lower(), value.lower())
    if word not in LOG_LEVELS:
        raise ValueError(f"must be one of {', '.join(LOG_LEVELS)}")
    return word
