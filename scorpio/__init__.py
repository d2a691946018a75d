"""scorpio: one executable that serves an agent client its tools over MCP. Knows no tool by name."""

__version__ = "0.1.0"
