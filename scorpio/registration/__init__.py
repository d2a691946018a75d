"""Entries for this server in the configuration files of MCP clients: where each client keeps it, and how it is edited.

Edits text, so that comments, order and spacing of everything else stay as they are. Serves nothing.
"""
