"""Bytes to messages and back, and what each MCP revision says. No I/O, no threads, no clock, no tools."""
