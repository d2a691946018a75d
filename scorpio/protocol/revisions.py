"""What each MCP revision does, as one row of fields. Code asks a field, never compares names.

Source: the revision's own specification, basic and server chapters.
"""

from __future__ import annotations

from scorpio.protocol.errors import INVALID_PARAMS, RESOURCE_NOT_FOUND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

LEGACY = "legacy"
"""Era with `initialize` and a session."""
MODERN = "modern"
"""Era without a session: every request carries its revision and capabilities in `_meta`."""

TASKS_CORE = "core"
"""Tasks as 2025-11-25 has them: asked for by `params.task`, fetched by `tasks/result`."""
TASKS_EXTENSION = "extension"
"""Tasks as `io.modelcontextprotocol/tasks` has them: the server decides, `tasks/get` holds the result."""

_DESCRIPTOR_KEYS_2024 = ("name", "description", "inputSchema")
_DESCRIPTOR_KEYS_2025_03 = (*_DESCRIPTOR_KEYS_2024, "annotations")
_DESCRIPTOR_KEYS_2025_06 = (*_DESCRIPTOR_KEYS_2025_03, "title", "outputSchema", "_meta")
_DESCRIPTOR_KEYS_2025_11 = (*_DESCRIPTOR_KEYS_2025_06, "icons", "execution")
_DESCRIPTOR_KEYS_2026 = (*_DESCRIPTOR_KEYS_2025_06, "icons")


class Revision:
    """One released revision. Rows are constants; compare with `is` or ask a field."""

    __slots__ = (
        "asks_by_request",
        "audio",
        "batch",
        "completions",
        "elicitation",
        "elicitation_url",
        "enum_titles",
        "era",
        "extensions",
        "name",
        "primes",
        "progress_message",
        "resource_link",
        "resource_not_found",
        "structured",
        "tasks",
        "titles",
        "tool_keys",
    )

    def __init__(
        self,
        name: str,
        *,
        era: str,
        batch: bool = False,
        completions: bool = True,
        audio: bool = True,
        progress_message: bool = True,
        structured: bool = True,
        elicitation: bool = True,
        elicitation_url: bool = True,
        enum_titles: str = "const",
        primes: bool = False,
        resource_not_found: int = RESOURCE_NOT_FOUND,
        tool_keys: tuple[str, ...] = _DESCRIPTOR_KEYS_2025_11,
        tasks: str = "",
        extensions: bool = False,
    ) -> None:
        self.name = name
        self.era = era
        self.batch = batch
        """JSON-RPC arrays are received."""
        self.completions = completions
        """The `completions` capability exists; the method is older."""
        self.audio = audio
        """Audio content blocks exist."""
        self.progress_message = progress_message
        """`message` in progress notifications exists."""
        self.structured = structured
        """`structuredContent` exists."""
        self.resource_link = structured
        """`resource_link` blocks exist."""
        self.titles = structured
        """`title` on tools, prompts, resources exists."""
        self.elicitation = elicitation
        """`elicitation/create` exists."""
        self.elicitation_url = elicitation_url
        """Its `mode: "url"` exists."""
        self.enum_titles = enum_titles
        """How a choice names its options: `const` (oneOf of const/title) or `enumNames`."""
        self.primes = primes
        """Streams of HTTP begin with an empty event, whose id a client can come back with."""
        self.resource_not_found = resource_not_found
        """Error code for a URI nobody serves."""
        self.tool_keys = tool_keys
        """Members of a tool that this revision defines."""
        self.tasks = tasks
        """The kind of tasks it has: TASKS_CORE, TASKS_EXTENSION or none."""
        self.extensions = extensions
        """Clients look for `capabilities.extensions`: defined with the newest revision, read in sessions before it."""
        self.asks_by_request = era == LEGACY
        """The server asks by requests of its own; else by `input_required` results (MRTR)."""


V2024_11_05 = Revision(
    "2024-11-05",
    era=LEGACY,
    completions=False,
    audio=False,
    progress_message=False,
    structured=False,
    elicitation=False,
    elicitation_url=False,
    tool_keys=_DESCRIPTOR_KEYS_2024,
)
V2025_03_26 = Revision(
    "2025-03-26",
    era=LEGACY,
    batch=True,
    structured=False,
    elicitation=False,
    elicitation_url=False,
    tool_keys=_DESCRIPTOR_KEYS_2025_03,
)
V2025_06_18 = Revision(
    "2025-06-18", era=LEGACY, elicitation_url=False, enum_titles="enumNames", tool_keys=_DESCRIPTOR_KEYS_2025_06
)
V2025_11_25 = Revision("2025-11-25", era=LEGACY, primes=True, tasks=TASKS_CORE, extensions=True)
V2026_07_28 = Revision(
    "2026-07-28",
    era=MODERN,
    resource_not_found=INVALID_PARAMS,
    tool_keys=_DESCRIPTOR_KEYS_2026,
    tasks=TASKS_EXTENSION,
    extensions=True,
)

REVISIONS: Mapping[str, Revision] = {
    row.name: row for row in (V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28)
}

LATEST_LEGACY = V2025_11_25
"""Answered to an `initialize` that asks for what no session can have."""


NAMES_NEWEST_FIRST = tuple(sorted(REVISIONS, reverse=True))
"""The names are dates; this order is for people and is not compared with."""

MODERN_NAMES = tuple(row.name for row in REVISIONS.values() if row.era == MODERN)

LEGACY_NAMES = tuple(row.name for row in REVISIONS.values() if row.era == LEGACY)


def negotiated(requested: str) -> Revision:
    """The revision of a session whose client asked for `requested`: the same if it has sessions, else the newest."""
    row = REVISIONS.get(requested)
    return row if row is not None and row.era == LEGACY else LATEST_LEGACY
