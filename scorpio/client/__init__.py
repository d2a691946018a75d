"""An MCP client: any server, by command or address, both eras. Sees the protocol layer and nothing of our server."""
