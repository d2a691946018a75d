"""What an MCP server does with a message. Knows no transport and no tool."""
