"""test_stray_output: writes where only the transport may, and answers what it could read from stdin."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys

from scorpio.tool import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import TestStrayOutputArguments


def _write() -> bytes:
    print('{"jsonrpc":"2.0","id":1,"result":{}}')  # noqa: T201 what is tested
    if sys.stdout is not None:
        sys.stdout.write("a line on sys.stdout\n")
        sys.stdout.flush()
    os.write(1, b"stray bytes on 1\n")
    subprocess.run(["echo", "a child that inherits 1"], check=False)
    return os.read(0, 100)


async def handle(arguments: TestStrayOutputArguments, call: Call[None]) -> ToolResult:
    read = await asyncio.to_thread(_write)
    return text(f"Wrote everywhere, read {read!r} from stdin.")
