"""What `scorpio doctor` says of `--sandbox`: what is set, which ways work here, what a command can do under each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scorpio.command_sandbox import WORKSPACE, abilities

if TYPE_CHECKING:
    from scorpio.sandbox import Backend
    from scorpio.settings import Settings
    from scorpio.tool import Finding

OFF = (
    "off: a command can do all that you can. `--sandbox workspace` or `read-only` confines it, and "
    "`--sandbox-required` refuses it where that cannot be done"
)
WAYS = (("bubblewrap", True), ("landlock", True), ("landlock", False))
"""Backend and namespaces, the one that is taken first at the front."""


async def command_sandboxes(settings: Settings) -> list[Finding]:
    """Whether what is set holds, and each way that could be."""
    from scorpio import process, sandbox

    try:
        namespaces = settings.sandbox_namespaces
        chosen = await sandbox.find(settings.sandbox_backend, namespaces=namespaces, private=True)
        found = [_setting(settings, chosen)]
        mode = WORKSPACE if settings.sandbox == "off" else settings.sandbox
        for kind, wanted in WAYS:
            name = kind if wanted or kind == "bubblewrap" else f"{kind} alone"
            backend = await sandbox.find(kind, namespaces=wanted, private=True)
            found.append((name, True, _way(backend, kind, wanted, mode, network=settings.sandbox_network)))
    finally:
        process.end_all(0)
    return found


def _setting(settings: Settings, chosen: Backend) -> Finding:
    if settings.sandbox == "off":
        required = settings.sandbox_required
        return (
            "--sandbox",
            not required,
            "off, and SANDBOX_REQUIRED is set: no command runs." if required else f"{OFF}.",
        )
    if chosen.by_kernel:
        return "--sandbox", True, f"{settings.sandbox}, by {chosen.describe()}."
    consequence = "no command runs" if settings.sandbox_required else "commands run without it"
    return "--sandbox", False, f"{settings.sandbox}, but none works here: {consequence}. Install bubblewrap."


def _way(backend: Backend, kind: str, namespaces: bool, mode: str, *, network: bool) -> str:
    weaker = kind == "landlock" and bool(backend.namespace) != namespaces
    if backend.kind != kind or weaker:
        return f"not here: {'; '.join(backend.reasons)}."
    return f"{mode}: {'; '.join(abilities(backend, mode, network=network))}."
