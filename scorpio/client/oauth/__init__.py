"""Log-in to servers at an address, by OAuth 2.1 as MCP basic/authorization asks for it (2025-03-26 to 2026-07-28).

`login` decides and is what a link holds; `discovery` finds who gives tokens, `registration` who we are to them, `flow`
and `grants` get a token, `listener` takes the browser's answer, `store` keeps it. Nothing here prints a token, puts one
into an error or sends one to another origin than that of the resource it was issued for.
"""
