"""MCP over HTTP: Streamable HTTP of both eras, and the HTTP+SSE of 2024-11-05."""
