"""echo: a payload checked against a schema and given back letter for letter."""

from __future__ import annotations

from tools.schemas.answers import (
    INTERNAL_ERROR,
    INVALID_SCHEMA_DEFINITION,
    PAYLOAD_TOO_LARGE,
    SCHEMA_VALIDATION_FAILED,
    Refused,
    answer,
    checked,
    found,
    raw,
)
from tools.schemas.faults import counted
from tools.schemas.schema import InvalidSchema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.tool import Call, ToolResult, Verbatim
    from tools.schemas.schema import Schema
    from tools.schemas.state import Schemas

PAYLOAD_BYTES_MAX = 4 * 1024 * 1024
"""Largest payload: a message of a million tokens, and as much as a request over HTTP holds."""

VALUES_MAX = 10_000
"""Values of a payload all of whose faults are told: each may have one, and to tell a million takes ten seconds."""

PAYLOAD_DEPTH_MAX = 512
"""Deepest nesting: parsers of clients give up at 1,000 or so, and the answer is two levels deeper."""

THREAD_CHARS_MIN = 64 * 1024
"""Longer payloads are checked in a thread, so that other calls go on."""


async def handle(arguments: dict[str, Any], call: Call[Schemas]) -> ToolResult:
    try:
        checked(call.name, arguments, "schema_id", "payload")
        schema, payload = found(call.state, arguments["schema_id"]), arguments["payload"]
        _bounded(schema, payload)
        if len(payload.text) < THREAD_CHARS_MIN:
            _fitting(schema, payload)
        else:
            import asyncio

            await asyncio.to_thread(_fitting, schema, payload)
    except Refused as refused:
        return refused.result
    return answer({"ok": True, "schema_id": schema.schema_id, "payload": raw(payload.text)})


def _bounded(schema: Schema, payload: Verbatim) -> None:
    """Raises Refused."""
    size = len(payload.text.encode())
    if size > PAYLOAD_BYTES_MAX:
        said = f"The payload has {size} bytes; {PAYLOAD_BYTES_MAX} are the most. Send it in parts."
        raise Refused(PAYLOAD_TOO_LARGE, said, schema.schema_id)
    if payload.text.count("[") + payload.text.count("{") > PAYLOAD_DEPTH_MAX and _deeper(payload.value):
        said = f"The payload is nested more than {PAYLOAD_DEPTH_MAX} levels deep. Make it flatter."
        raise Refused(PAYLOAD_TOO_LARGE, said, schema.schema_id)


def _deeper(value: Any) -> bool:
    level = [value]
    for _ in range(PAYLOAD_DEPTH_MAX):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
    return bool(level)


def _fitting(schema: Schema, payload: Verbatim) -> None:
    """Raises Refused."""
    many = payload.text.count(",") > VALUES_MAX
    try:
        faults = schema.faults(payload.value, first_only=many)
    except InvalidSchema as invalid:
        said = f"Schema '{schema.schema_id}' is not a valid JSON Schema: {invalid}. Mend its file and start again."
        raise Refused(INVALID_SCHEMA_DEFINITION, said, schema.schema_id) from None
    except (ValueError, RecursionError) as fault:  # what the library cannot decide
        said = f"The payload could not be checked: {str(fault)[:500]}"
        raise Refused(INTERNAL_ERROR, said, schema.schema_id) from None
    if faults:
        more = f" or more: it has over {VALUES_MAX} values, so the first alone is told" if many else ""
        said = f"Payload does not conform to schema '{schema.schema_id}': {counted(faults)}{more}."
        raise Refused(SCHEMA_VALIDATION_FAILED, said, schema.schema_id, faults)
