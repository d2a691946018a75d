"""What /proc says about the processes of a command, for showing it and for finding it again.

Signals nothing, and proves nothing: a process may have ended since. Empty where there is no /proc.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

PARENT_NAME = "command-parent"
"""Name of the supervisor's second process, the shell's father."""


def process_start(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; with the pid it names a process for ever. None: it is gone."""
    for _, _, state, _, start in _processes([str(pid)]):
        return None if state in "ZX" else start
    return None


def survivors_of(supervisor_pid: int, parent_pid: int = 0) -> list[tuple[int, str]]:
    """(pid, name) of what lives below a supervisor, its own second process excluded.

    `parent_pid`: that second process, whose descendants remain its own when the first was killed.
    """
    children: dict[int, list[tuple[int, str, str]]] = {}
    for pid, name, state, father, _ in _processes(os.listdir("/proc") if os.path.isdir("/proc/self") else []):
        children.setdefault(father, []).append((pid, name, state))
    found, todo = [], [pid for pid in (supervisor_pid, parent_pid) if pid]
    while todo:
        father = todo.pop()
        for pid, name, state in children.pop(father, []):
            todo.append(pid)
            own = pid == parent_pid or (father == supervisor_pid and name == PARENT_NAME)
            if state not in "ZX" and not own and pid != supervisor_pid:
                found.append((pid, name))
    return sorted(found)


def _processes(names: list[str]) -> Iterator[tuple[int, str, str, int, int]]:
    """(pid, name, state, father, start) of each of `names` that is a living process."""
    for pid in names:
        if not pid.isdigit():
            continue
        try:
            with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
                head, _, tail = file.read(1024).rpartition(b")")  # the name may hold anything, `)` and blanks too
        except OSError:
            continue
        fields = tail.split()
        if len(fields) > 19:
            name = head.partition(b"(")[2].decode(errors="replace")
            yield int(pid), name, fields[0].decode(), int(fields[1]), int(fields[19])
