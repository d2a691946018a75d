"""What a model, or a person who waits, is told of a tiding: a line in brackets, and the message behind it."""

from __future__ import annotations

from tools.core.callback_store import CALLBACK, Tiding
from tools.core.limits import CALLBACK_LATE_S
from tools.core.output_log import duration_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def told_text(tidings: Sequence[Tiding], unix_s: float) -> str:
    """A line each, oldest first; the fires of one callback are told as one. `unix_s`: the time now."""
    lines: dict[tuple[str, int, str], Tiding] = {}
    for tiding in tidings:
        key = (tiding.kind, tiding.subject, tiding.text if tiding.kind == CALLBACK else str(tiding.id))
        earlier = lines.pop(key, None)
        if earlier is not None:
            tiding.count += earlier.count
        lines[key] = tiding
    return "\n".join(line(tiding, unix_s) for tiding in lines.values())


def line(tiding: Tiding, unix_s: float) -> str:
    """`[callback 0 fired 12s ago] message`, `[task 3: exited with code 0 after 31s] command`."""
    if tiding.kind != CALLBACK:
        return f"[task {tiding.subject}: {tiding.how}] {tiding.text}"
    age_s = unix_s - tiding.made_unix_s
    ago = f" {duration_text(age_s)} ago" if age_s >= 1 else ""
    fired = "fired" if tiding.count == 1 else f"fired {tiding.count} times{', last' if ago else ''}"
    return f"[callback {tiding.subject} {fired}{ago}{late_text(tiding)}] {tiding.text}"


def late_text(tiding: Tiding) -> str:
    return f", {duration_text(tiding.late_s)} late" if tiding.late_s >= CALLBACK_LATE_S else ""
