"""FastMCP as its own documentation shows it: a decorated function. It makes the list of tools itself.

Serves `sum` of two numbers; what it is given as a list of tools is not looked at.
"""

from __future__ import annotations

from fastmcp import FastMCP  # type: ignore[import-not-found]  # it has an environment of its own

server: FastMCP[None] = FastMCP("fastmcp")


@server.tool(name="sum", output_schema=None)  # type: ignore[untyped-decorator]
def add(a: float, b: float, note: str = "") -> str:
    """Calculate the sum of two numbers."""
    return f"{a:g} + {b:g} = {a + b:g}"


server.run(transport="stdio", show_banner=False)
