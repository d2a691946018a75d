"""What a process of our own code does first: it ends with the server, and bounds itself. See scorpio/worker_process.py.

Native code that is fed with data from anywhere may crash, hang or take all memory: here it takes only its process
along.
"""

from __future__ import annotations

import os
import sys


def end_with_parent() -> None:
    """The kernel kills this process when the server dies; if it died before, nobody holds the other end of fd 1."""
    if sys.platform != "linux":
        return
    import ctypes
    import select
    import signal

    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL, 0, 0, 0)
    poll = select.poll()
    poll.register(1, 0)
    if any(events & select.POLLERR for _, events in poll.poll(0)):
        os._exit(1)


def set_bounds(memory_bytes: int, cpu_s: int) -> None:
    """Address space and processor time of this process; files and core dumps none."""
    try:
        import resource
    except ImportError:  # Windows; the parent's clock is the only bound there
        return
    for limit, value in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_CPU, cpu_s),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(limit)[1]
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        try:
            resource.setrlimit(limit, (value, value))
        except (OSError, ValueError):  # macOS knows RLIMIT_AS and refuses to set it
            continue
