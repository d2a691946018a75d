"""What a project's file may do with a key: `(old, new)` -> True where it may. Only tighten: it is not trusted."""

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
