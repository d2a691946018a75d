"""The official Python SDK as its README shows it: MCPServer and a decorated function, which makes the list of tools.

Serves `sum` of two numbers; what it is given as a list of tools is not looked at.
"""

from __future__ import annotations

from mcp.server.mcpserver import MCPServer

server = MCPServer("python-sdk-high")


@server.tool(name="sum", structured_output=False)
def add(a: float, b: float, note: str = "") -> str:
    """Calculate the sum of two numbers."""
    return f"{a:g} + {b:g} = {a + b:g}"


server.run("stdio")
