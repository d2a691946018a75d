"""Hatchling's hook: a wheel that holds the executable and nothing else, for the one platform it runs on.

The executable is installed as `scorpio`; `scorpio-mcp` is a two-line script that becomes it, so that `uvx scorpio-mcp`
works without a second copy of 20 MB. Refuses to build an sdist or an editable install: there are no sources to install.
"""

from __future__ import annotations

import json
import os
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PROGRAM = "scorpio"
OTHER_NAME = "scorpio-mcp"

# Installers link to a script from elsewhere (~/.local/bin): look beside the script itself, not beside the link.
OTHER_SCRIPT = f"""#!/bin/sh
exec "$(dirname -- "$(readlink -f -- "$0")")/{PROGRAM}" "$@"
"""


def platform_tag(root: Path) -> str:
    """What freeze.py found out, else this machine's; `SCORPIO_WHEEL_PLATFORM` overrides both."""
    note = root / "dist" / f"{PROGRAM}.json"
    found = json.loads(note.read_bytes())["platform"] if note.is_file() else sysconfig.get_platform()
    return str(os.environ.get("SCORPIO_WHEEL_PLATFORM") or found).replace("-", "_").replace(".", "_")


class WheelHook(BuildHookInterface[Any]):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Raises RuntimeError where there is no executable to pack."""
        root = Path(self.root)
        executable = root / "dist" / PROGRAM
        if self.target_name != "wheel" or version == "editable":
            raise RuntimeError("scorpio is installed as a wheel only. Run it from the sources: python -m scorpio")
        if not executable.is_file():
            raise RuntimeError(f"{executable} is missing. Make it first: python build/dev.py freeze")
        script = root / ".cache" / "wheel" / OTHER_NAME
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(OTHER_SCRIPT, "utf-8")
        script.chmod(0o755)
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_tag(root)}"
        build_data["shared_scripts"] = {str(executable): PROGRAM, str(script): OTHER_NAME}
