"""Resource templates: RFC 6570 as far as MCP servers use it, read backwards (URI to variables).

Knows `{name}` (one path segment) and `{+name}` (anything). Does not expand templates.
"""

from __future__ import annotations


def match(template: str, uri: str) -> dict[str, str] | None:
    """The variables that make `template` into `uri`, percent-decoded; None when it does not fit."""
    import re
    from urllib.parse import unquote

    pattern = ""
    at = 0
    for expression in re.finditer(r"\{(\+?)([A-Za-z_][A-Za-z0-9_]*)\}", template):
        pattern += re.escape(template[at : expression.start()])
        pattern += f"(?P<{expression[2]}>{'.+' if expression[1] else '[^/?#]+'})"
        at = expression.end()
    pattern += re.escape(template[at:])
    found = re.fullmatch(pattern, uri, re.DOTALL)
    return None if found is None else {key: unquote(value) for key, value in found.groupdict().items()}
