"""The official Python SDK through its low-level server and its own HTTP entry, on uvicorn as it runs it, without logs.

Serves the tools of the JSON file it is given; every call adds two numbers. Prints its port.
"""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server.lowlevel.server import Server

TOOLS = [types.Tool.model_validate(tool) for tool in json.loads(Path(sys.argv[1]).read_text("utf-8"))]


async def list_tools(_: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    return types.ListToolsResult(tools=TOOLS)


async def call_tool(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    arguments = params.arguments or {}
    a, b = arguments["a"], arguments["b"]
    return types.CallToolResult(content=[types.TextContent(type="text", text=f"{a} + {b} = {a + b}")])


server: Server[Any] = Server("python-sdk", on_list_tools=list_tools, on_call_tool=call_tool)
listening = socket.socket()
listening.bind(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
app = server.streamable_http_app(json_response=True)
uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False)).run(sockets=[listening])
