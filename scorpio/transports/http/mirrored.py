"""Headers that repeat what the body says, so that a proxy need not read it: they must say the same.

Modern era only. Judges; answers nothing.
Source: MCP 2026-07-28, basic/transports/streamable-http, "Request Metadata" and "Server Validation".
"""

from __future__ import annotations

from scorpio.protocol.errors import HEADER_MISMATCH, INVALID_PARAMS, ProtocolError
from scorpio.protocol.meta import PROTOCOL_VERSION, unsupported_version
from scorpio.protocol.mirrored import NAMED_BY, at, decoded
from scorpio.protocol.revisions import MODERN_NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.protocol.messages import Request
    from scorpio.toolset import Features
    from scorpio.transports.http.exchange import Head

    Declared = tuple[bytes, tuple[str, ...]]
    """Name of a header, and where in the arguments its value stands."""

VERSION = b"mcp-protocol-version"
METHOD = b"mcp-method"
NAME = b"mcp-name"
PARAM = b"mcp-param-"

NUMERAL_CHARS = frozenset("0123456789+-.eE")

SAID_CHARS_MAX = 100


class Mirrored:
    """What the headers of a request say of its body; looked at once, however many requests have the same head."""

    __slots__ = ("method", "name", "version")

    def __init__(self, head: Head) -> None:
        headers = head.headers
        self.version = _text(headers.get(VERSION))
        self.method = _text(headers.get(METHOD))
        name = headers.get(NAME)
        self.name = None if name is None else decoded(name)


def judge(head: Head, request: Request) -> None:
    """Raises ProtocolError -32020, -32602 or -32022 for the first thing that is wrong with a modern request."""
    said = head.mirrored
    if said is None:
        said = head.mirrored = Mirrored(head)
    params = request.params
    meta = params.get("_meta")
    if type(meta) is not dict or PROTOCOL_VERSION not in meta:
        if said.version not in MODERN_NAMES:
            raise unsupported_version(said.version or "")
        raise ProtocolError(INVALID_PARAMS, f"_meta {PROTOCOL_VERSION} must be there")
    version = meta[PROTOCOL_VERSION]
    if type(version) is not str:
        return  # refused by whoever reads `_meta`
    if said.version != version:
        raise _mismatch("MCP-Protocol-Version", head.headers.get(VERSION), version)
    if version not in MODERN_NAMES:  # whatever else that revision asks for
        raise unsupported_version(version)
    if said.method != request.method:
        raise _mismatch("Mcp-Method", head.headers.get(METHOD), request.method)
    member = NAMED_BY.get(request.method)
    if member is not None:
        name = params.get(member)
        if said.name != name and (type(name) is str or NAME in head.headers):
            raise _mismatch("Mcp-Name", head.headers.get(NAME), name)
    if head.repeated and not head.repeated.isdisjoint((VERSION, METHOD, NAME)):
        raise ProtocolError(HEADER_MISMATCH, "Header mismatch: a header that repeats the body stands there twice")


class ParamHeaders:
    """The `x-mcp-header` parameters of the tools that are served; each tool is looked at once."""

    def __init__(self, features: Features) -> None:
        self._features = features
        self._declared: dict[str, tuple[Declared, ...]] = {}

    def judge(self, head: Head, params: dict[str, Any]) -> None:
        """Raises ProtocolError -32020 when a header says something else than the arguments."""
        name = params.get("name")
        declared = self._declared.get(name) if type(name) is str else ()
        if declared is None:
            declared = self._look_up(str(name))
        if not declared:
            return
        arguments = params.get("arguments")
        if type(arguments) is str:  # an object as JSON text, which the tool would take
            from scorpio.protocol.strict_json import loads

            try:
                arguments = loads(arguments.encode("utf-8", "surrogatepass"))
            except ValueError:
                arguments = None
        for header, path in declared:
            _judge_one(head, header, at(arguments, path))

    def _look_up(self, tool: str) -> tuple[Declared, ...]:
        entry = self._features.tools.get(tool)
        if entry is None:  # whoever calls it will be told so
            return ()
        from scorpio.protocol.strict_json import loads

        found = tuple(_declared(loads(entry.descriptor).get("inputSchema", {}), ()))
        self._declared[tool] = found
        return found


def _declared(schema: Any, path: tuple[str, ...]) -> list[Declared]:
    """Through `properties` alone: nowhere else may a parameter be given a header."""
    found: list[Declared] = []
    properties = schema.get("properties") if type(schema) is dict else None
    for name, inner in (properties or {}).items():
        if type(inner) is dict and type(inner.get("x-mcp-header")) is str:
            found.append((PARAM + inner["x-mcp-header"].lower().encode(), (*path, name)))
        found += _declared(inner, (*path, name))
    return found


def _judge_one(head: Head, header: bytes, value: Any) -> None:
    given = head.headers.get(header)
    shown = header.decode("latin-1")
    if header in head.repeated:
        raise ProtocolError(HEADER_MISMATCH, f"Header mismatch: {shown} stands there twice")
    if value is None and given is None:
        return
    said = None if given is None else decoded(given)
    if said is None or not _says(said, value):
        raise _mismatch(shown, given, value)


def _says(said: str, value: Any) -> bool:
    if type(value) is bool:
        return said == ("true" if value else "false")
    if type(value) is str:
        return said == value
    if type(value) in (int, float) and NUMERAL_CHARS.issuperset(said):  # by number, not by text: 42.0 is 42
        try:
            return bool(int(said) == value) if said.removeprefix("-").isdigit() else bool(float(said) == value)
        except (ValueError, OverflowError):
            return False
    return False


def _text(value: bytes | None) -> str | None:
    """Of a header that knows no sentinel."""
    return None if value is None else value.decode("latin-1")


def _mismatch(header: str, given: bytes | None, body: Any) -> ProtocolError:
    if given is None:
        return ProtocolError(HEADER_MISMATCH, f"Header mismatch: the {header} header is missing")
    shown = given[:SAID_CHARS_MAX].decode("latin-1")
    wanted = repr(body[:SAID_CHARS_MAX]) if type(body) is str else "something else" if body is not None else "nothing"
    return ProtocolError(HEADER_MISMATCH, f"Header mismatch: {header} says {shown!r}, the body says {wanted}")
