"""Hatchling's hook: a wheel that holds the executable and nothing else, for the one platform it runs on.

The executable is installed as `scorpio`; `scorpio-mcp` is a two-line script that becomes it, so that `uvx scorpio-mcp`
works without a second copy of 20 MB. On Windows, where no such script can be a program, it is a copy.
The bill of materials and the terms of what is in the executable go where wheels have them (PEP 770, PEP 639).
Refuses to build an sdist or an editable install: there are no sources to install.
"""

from __future__ import annotations

import json
import os
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PROGRAM = "scorpio"
OTHER_NAME = "scorpio-mcp"
TERMS = "THIRD-PARTY-LICENSES.txt"

# Installers link to a script from elsewhere (~/.local/bin): look beside the script itself, not beside the link. A
# client may start it with any PATH, which must reach the program as it is.
OTHER_SCRIPT = f"""#!/bin/sh
exec "$(PATH="${{PATH-}}:/usr/bin:/bin"; dirname -- "$(readlink -f -- "$0")")/{PROGRAM}" "$@"
"""


def platform_tag(note: Path) -> str:
    """What freeze.py found out, else this machine's; `SCORPIO_WHEEL_PLATFORM` overrides both."""
    found = json.loads(note.read_bytes())["platform"] if note.is_file() else sysconfig.get_platform()
    return str(os.environ.get("SCORPIO_WHEEL_PLATFORM") or found).replace("-", "_").replace(".", "_")


def scripts(executable: Path, scratch: Path, system: str) -> dict[str, str]:
    """What is installed where commands are, by the file it is made from. `system` as sys.platform."""
    if system == "win32":
        other = scratch / f"{OTHER_NAME}.exe"
        other.parent.mkdir(parents=True, exist_ok=True)
        other.write_bytes(executable.read_bytes())
        return {str(executable): f"{PROGRAM}.exe", str(other): other.name}
    other = scratch / OTHER_NAME
    other.parent.mkdir(parents=True, exist_ok=True)
    other.write_text(OTHER_SCRIPT, "utf-8")
    other.chmod(0o755)
    return {str(executable): PROGRAM, str(other): OTHER_NAME}


class WheelHook(BuildHookInterface[Any]):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Raises RuntimeError where there is no executable to pack."""
        root = Path(self.root)
        executable = root / "dist" / (f"{PROGRAM}.exe" if sys.platform == "win32" else PROGRAM)
        if self.target_name != "wheel" or version == "editable":
            raise RuntimeError("scorpio is installed as a wheel only. Run it from the sources: python -m scorpio")
        if not executable.is_file():
            raise RuntimeError(f"{executable} is missing. Make it first: python build/dev.py freeze")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_tag(Path(f'{executable}.json'))}"
        build_data["shared_scripts"] = scripts(executable, root / ".cache" / "wheel", sys.platform)
        bill, terms = Path(f"{executable}.cdx.json"), Path(f"{executable}-{TERMS}")
        if bill.is_file():
            build_data["sbom_files"].append(str(bill))
        if terms.is_file():
            build_data["extra_metadata"][str(terms)] = TERMS
