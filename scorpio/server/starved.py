"""What a client is told where the machine has run out of something: words, not the reference of a bug.

Imported from the start: what looks for it then cannot open another file.
"""

from __future__ import annotations

import errno
import os

NO_DESCRIPTORS = "There are no file descriptors left. Try again when other commands or connections have ended."
NO_PROCESSES = "No further process or thread can be started. Try again when other commands have ended."
NO_SPACE = "There is no space left on the disk. Make room, then try again."

NO_THREAD = "can't start new thread"
"""What Python says, whose error has no number."""

SAID = {
    errno.EMFILE: NO_DESCRIPTORS,
    errno.ENFILE: NO_DESCRIPTORS,
    errno.ENOSPC: NO_SPACE,
    errno.EDQUOT: NO_SPACE,
    errno.EAGAIN: NO_PROCESSES,  # of a fork; a read that would block is an answer to its caller, and never gets here
}


def said_of(fault: BaseException) -> str:
    """Empty where it is something else. Any line may meet this, an import too."""
    if isinstance(fault, RuntimeError) and str(fault) == NO_THREAD:
        return NO_PROCESSES
    if isinstance(fault, ImportError) and str(fault).endswith(os.strerror(errno.EMFILE)):  # dlopen's words, no number
        return NO_DESCRIPTORS
    return SAID.get(fault.errno or 0, "") if isinstance(fault, OSError) else ""
