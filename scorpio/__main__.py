"""`python -m scorpio`, and the entry point of the frozen executable."""

from __future__ import annotations

import sys


def main() -> int:
    arguments = sys.argv[1:]
    if not arguments:  # what a client's configuration starts: the quickest path
        from scorpio.app import serve_stdio

        return serve_stdio()
    if arguments[0] == "--internal-worker":
        return _worker(arguments[1])
    from scorpio.cli import main as command_line

    return command_line(arguments)


def _worker(module: str) -> int:
    """Run `main` of a module of `tools` in this process: how the frozen executable gets a child of its own code."""
    if not module.startswith("tools."):
        return 2
    __import__(module)
    return int(sys.modules[module].main() or 0)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:  # while a command was still being imported
        sys.exit(130)
