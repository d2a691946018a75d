"""What the tools answer: one JSON object, as structured content and as text; refusals with a code and every fault."""

from __future__ import annotations

from scorpio.tool import text
from tools.schemas.faults import counted, fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.tool import ToolResult
    from tools.schemas.faults import Fault
    from tools.schemas.schema import Schema
    from tools.schemas.state import Schemas

INVALID_REQUEST = "INVALID_REQUEST"
SCHEMA_NOT_FOUND = "SCHEMA_NOT_FOUND"
INVALID_SCHEMA_DEFINITION = "INVALID_SCHEMA_DEFINITION"
SCHEMA_VALIDATION_FAILED = "SCHEMA_VALIDATION_FAILED"
PAYLOAD_TOO_LARGE = "PAYLOAD_TOO_LARGE"
INTERNAL_ERROR = "INTERNAL_ERROR"


class Refused(Exception):
    """The tool cannot do what was asked; `result` says so with a code."""

    def __init__(self, code: str, message: str, schema_id: str | None, details: list[Fault] | None = None) -> None:
        super().__init__(message)
        error = {"code": code, "message": message, "schema_id": schema_id, "details": details or []}
        self.result = answer({"ok": False, "error": error}, is_error=True)


def answer(value: dict[str, Any], *, is_error: bool = False) -> ToolResult:
    import orjson

    return text(orjson.dumps(value).decode(), is_error=is_error, structured=value)


def raw(json_text: str) -> Any:
    """JSON that is put into an answer letter for letter."""
    import orjson

    return orjson.Fragment(json_text)


def checked(name: str, arguments: dict[str, Any], *required: str) -> None:
    """Raises Refused with every fault of a request for the tool `name`: `schema_id` must be a string."""
    schema_id = arguments.get("schema_id")
    faults = []
    if "schema_id" in arguments and not isinstance(schema_id, str):
        faults.append(fault("/schema_id", "must be string"))
    faults += [fault("", f"must have required property '{key}'") for key in required if key not in arguments]
    if faults:
        said = f"The request is not what {name} takes: {counted(faults)}."
        raise Refused(INVALID_REQUEST, said, schema_id if isinstance(schema_id, str) else None, faults)


def found(schemas: Schemas, schema_id: str) -> Schema:
    """Raises Refused."""
    schema = schemas.by_id.get(schema_id)
    if schema is None:
        said = f"There is no schema '{schema_id[:200]}'. list_schemas names those there are."
        raise Refused(SCHEMA_NOT_FOUND, said, schema_id[:1000])
    return schema
