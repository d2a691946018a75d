"""The environment a command gets: the caller's, without what only this program may see.

Does not judge what else is in it.
"""

from __future__ import annotations

import os

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
SECRETS = ("SCORPIO_HTTP_TOKEN", "SCORPIO_OAUTH_CLIENT_SECRET", "XMPP_PASSWORD", "SCORPIO_XMPP_PASSWORD")
LAUNCHER_VARIABLES = ("SCORPIO_SUPERVISOR", "SCORPIO_EXECUTABLE", "SCORPIO_CACHE_LOCK", "LD_LIBRARY_PATH_ORIG")
BUNDLE_PREFIXES = ("_MEI", "_PYI")
INTERNAL_PREFIXES = ("SCORPIO_INTERNAL_", *BUNDLE_PREFIXES)


def command_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` without what the frozen bundle added and without scorpio's secrets, plus the fixed additions.

    Our own launcher leaves LD_LIBRARY_PATH as it was; for PyInstaller's, see its manual, "LD_LIBRARY_PATH / LIBPATH
    considerations".
    """
    environ = dict(environ)  # os.environ decodes each name at each look
    bundled = any(name.startswith(BUNDLE_PREFIXES) for name in environ)
    cleaned = {
        name: value
        for name, value in environ.items()
        if name not in SECRETS and name not in LAUNCHER_VARIABLES and not name.startswith(INTERNAL_PREFIXES)
    }
    if "LD_LIBRARY_PATH_ORIG" in environ:
        cleaned["LD_LIBRARY_PATH"] = environ["LD_LIBRARY_PATH_ORIG"]
    elif bundled:
        cleaned.pop("LD_LIBRARY_PATH", None)
    bundle = environ.get("_PYI_APPLICATION_HOME_DIR", "")
    for name in ("PYTHONHOME", "PYTHONPATH"):
        if bundle and any(part.startswith(bundle) for part in cleaned.get(name, "").split(os.pathsep)):
            del cleaned[name]
    cleaned.update(FIXED_VARIABLES)
    return cleaned
