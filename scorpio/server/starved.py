"""What a client is told where the machine has run out of something: words, not the reference of a bug.

Imported from the start: what looks for it then cannot open another file.
"""

from __future__ import annotations

import errno

NO_DESCRIPTORS = "There are no file descriptors left. Try again when other commands or connections have ended."
NO_SPACE = "There is no space left on the disk. Make room, then try again."

SAID = {
    errno.EMFILE: NO_DESCRIPTORS,
    errno.ENFILE: NO_DESCRIPTORS,
    errno.ENOSPC: NO_SPACE,
    errno.EDQUOT: NO_SPACE,
}


def said_of(fault: BaseException) -> str:
    """Empty where it is something else. Any line may meet this, an import too."""
    return SAID.get(fault.errno or 0, "") if isinstance(fault, OSError) else ""
