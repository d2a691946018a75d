"""The descendants of this process, from /proc, found and signalled in one go: build/launcher/descendants.h in Python.

Does not wait and does not decide: a scan never proves that nothing is left, wait() does.
"""

from __future__ import annotations

import os
import signal


class Descendants:
    def __init__(self) -> None:
        self.signalled: set[int] = set()
        """Distinct processes so far, zombies not counted."""
        self.killed: set[int] = set()
        self.alive = 0
        """In the latest scan, zombies not counted."""
        self.killed_first = 0
        """In the latest scan: got KILL for the first time."""

    def signal_all(self, spared: int, number: int) -> bool:
        """Signals every descendant once, `spared` excepted (0: none). TERM wakes stopped ones. False without /proc."""
        try:
            # The newest first: one that forks every ms must still be there when its entry is looked at.
            pids = sorted(map(int, filter(str.isdigit, os.listdir("/proc"))), reverse=True)
        except OSError:
            return False
        self.alive = self.killed_first = 0
        members = {os.getpid(), spared} - {0}
        left: list[tuple[int, int, str]] = []
        for pid in pids:
            letter, father = _process(pid)
            if father in members and pid not in members:
                members.add(pid)
                self.signal_one(pid, letter, number)
            elif letter:
                left.append((pid, father, letter))
        while found := [entry for entry in left if entry[1] in members and entry[0] not in members]:
            for pid, _, letter in found:
                members.add(pid)
                self.signal_one(pid, letter, number)
        return True

    def signal_one(self, pid: int, letter: str, number: int) -> None:
        zombie = letter in "ZX"  # perhaps of a thread group that lives on: signalled all the same
        self.alive += not zombie
        if not signal_process(pid, number):
            return
        if number == signal.SIGTERM:
            signal_process(pid, signal.SIGCONT)  # a stopped process would not see TERM
        if zombie:
            return
        self.signalled.add(pid)
        if number == signal.SIGKILL and pid not in self.killed:
            self.killed.add(pid)
            self.killed_first += 1


def signal_process(pid: int, number: int) -> bool:
    try:
        os.kill(pid, number)
    except OSError:
        return False
    return True


def process_exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # somebody else's
    return True


def _process(pid: int) -> tuple[str, int]:
    """State letter and father; ("", 0) when it is gone."""
    try:
        file = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
    except OSError:
        return "", 0
    try:
        fields = os.read(file, 1024).rpartition(b")")[2].split()  # the name may hold anything, `)` and blanks too
        return fields[0].decode(), int(fields[1])
    except (OSError, IndexError):
        return "", 0
    finally:
        os.close(file)
