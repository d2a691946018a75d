"""get-env: the environment of this server, without what only this program may see."""

from __future__ import annotations

import os

from scorpio.tool import text
from tools.everything.answers import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.everything._catalog import GetEnvArguments
    from tools.everything.state import Everything

SECRET_PREFIXES = ("XMPP_", "SCORPIO_XMPP_", "SCORPIO_INTERNAL_")
SECRET_WORDS = ("TOKEN", "PASSWORD", "SECRET", "CREDENTIAL", "PRIVATE_KEY", "API_KEY")
"""Variables of scorpio's own with one of these in their names are secrets too."""


def handle(arguments: GetEnvArguments, call: Call[Everything]) -> ToolResult:
    return text(shown({name: value for name, value in sorted(os.environ.items()) if not is_secret(name)}))


def is_secret(name: str) -> bool:
    upper = name.upper()
    ours = upper.startswith(("SCORPIO", "MUC_", "MCP_BOT_"))
    return upper.startswith(SECRET_PREFIXES) or (ours and any(word in upper for word in SECRET_WORDS))
