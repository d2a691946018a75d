"""The official Python SDK through its low-level server: nothing but what every server of it pays.

Serves the tools of the JSON file it is given; every call adds two numbers.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server

TOOLS = [types.Tool.model_validate(tool) for tool in json.loads(Path(sys.argv[1]).read_text("utf-8"))]


async def list_tools(_: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    return types.ListToolsResult(tools=TOOLS)


async def call_tool(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    arguments = params.arguments or {}
    a, b = arguments["a"], arguments["b"]
    return types.CallToolResult(content=[types.TextContent(type="text", text=f"{a} + {b} = {a + b}")])


async def main() -> None:
    server: Server[Any] = Server("python-sdk", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


anyio.run(main)
