"""How bytes reach the server: one module a transport."""
