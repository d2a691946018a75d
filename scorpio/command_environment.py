"""The environment a command gets: the caller's, without what only this program may see.

Does not judge what else is in it.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

BARE_PATH = "/usr/bin:/bin:/usr/sbin:/sbin"
"""What launchd gives a program that was started from the desktop: nothing that the user installed is found."""

FIXED_VARIABLES = {
    "NO_COLOR": "1",
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "SCORPIO": "1",
}
INTERNAL_VARIABLES = ("SCORPIO_SUPERVISOR", "SCORPIO_HTTP_TOKEN", "XMPP_PASSWORD", "LD_LIBRARY_PATH_ORIG")
BUNDLE_PREFIXES = ("_MEI", "_PYI")
INTERNAL_PREFIXES = ("SCORPIO_INTERNAL_", "SCORPIO_LAUNCHER_", *BUNDLE_PREFIXES)


def command_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` without what the frozen bundle added and without scorpio's secrets, plus the fixed additions.

    Source of the bundle's variables: PyInstaller manual, "LD_LIBRARY_PATH / LIBPATH considerations".
    """
    bundled = bool(getattr(sys, "frozen", False)) or any(name.startswith(BUNDLE_PREFIXES) for name in environ)
    cleaned = {
        name: value
        for name, value in environ.items()
        if name not in INTERNAL_VARIABLES and not name.startswith(INTERNAL_PREFIXES)
    }
    if "LD_LIBRARY_PATH_ORIG" in environ:
        cleaned["LD_LIBRARY_PATH"] = environ["LD_LIBRARY_PATH_ORIG"]
    elif bundled:
        cleaned.pop("LD_LIBRARY_PATH", None)
    bundle = str(getattr(sys, "_MEIPASS", "") or environ.get("_PYI_APPLICATION_HOME_DIR", ""))
    for name in ("PYTHONHOME", "PYTHONPATH"):
        if bundle and any(part.startswith(bundle) for part in cleaned.get(name, "").split(os.pathsep)):
            del cleaned[name]
    cleaned.update(FIXED_VARIABLES)
    return cleaned
