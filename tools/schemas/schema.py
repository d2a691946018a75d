"""One schema: what it is called, its text, and what it makes of a payload. The one validation at run time.

Full JSON Schema 2020-12, older drafts where `$schema` says so; never fetches a `$ref` from anywhere.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jsonschema_rs import Validator

    from tools.schemas.faults import Fault

SCHEMALESS = "__schemaless__"

BACKTRACKS_MAX = 100_000
"""Of one match of a pattern with look-around or back references, some 10 ms; other patterns take linear time."""

DRAFTS = frozenset(
    (
        "https://json-schema.org/draft/2020-12/schema",
        "https://json-schema.org/draft/2019-09/schema",
        "http://json-schema.org/draft-07/schema",
        "http://json-schema.org/draft-06/schema",
        "http://json-schema.org/draft-04/schema",
    )
)


class InvalidSchema(Exception):
    """Not a valid JSON Schema. A sentence on what is wrong."""


class Schema:
    """Named and immutable. Compiled at first use: importing the library takes 20 ms."""

    __slots__ = ("_invalid", "_validator", "builtin", "description", "schema_id", "text", "value")

    def __init__(self, schema_id: str, description: str, text: str, value: Any, *, builtin: bool) -> None:
        self.schema_id = schema_id
        self.description = description
        self.text = text
        """Its JSON as it was written, without the white space."""
        self.value = value
        self.builtin = builtin
        self._validator: Validator | None = None
        self._invalid = ""

    def summary(self) -> dict[str, Any]:
        return {"schema_id": self.schema_id, "description": self.description, "builtin": self.builtin}

    def compile(self) -> Validator:
        """Raises InvalidSchema."""
        if self._validator is None and not self._invalid:
            self._invalid, self._validator = _compiled(self.value)
        if self._validator is None:
            raise InvalidSchema(self._invalid)
        return self._validator

    def faults(self, payload: Any, *, first_only: bool = False) -> list[Fault]:
        """Every fault of the payload, or the first; empty for none. Raises InvalidSchema."""
        if self.schema_id == SCHEMALESS:
            return []
        validator = self.compile()
        if validator.is_valid(payload):  # a hundredth of the time that errors take
            return []
        from jsonschema_rs import ValidationError

        from tools.schemas.faults import fault_of

        if not first_only:
            return [fault_of(error, self.value) for error in validator.iter_errors(payload)]
        try:
            validator.validate(payload)
        except ValidationError as error:
            return [fault_of(error, self.value)]
        return []


def _compiled(value: Any) -> tuple[str, Validator | None]:
    """(what is wrong, None) or ("", the validator)."""
    import jsonschema_rs

    if not isinstance(value, dict | bool):
        return "a schema is an object, true or false", None
    draft = value.get("$schema") if isinstance(value, dict) else None
    if draft is not None and (not isinstance(draft, str) or draft.removesuffix("#") not in DRAFTS):
        return f"$schema names no draft that is known here: {str(draft)[:200]!r}", None
    options = jsonschema_rs.FancyRegexOptions(backtrack_limit=BACKTRACKS_MAX)
    try:
        return "", jsonschema_rs.validator_for(value, offline=True, pattern_options=options)
    except (ValueError, jsonschema_rs.ReferencingError) as fault:  # ValidationError is a ValueError
        where = "".join(f"/{part}" for part in getattr(fault, "instance_path", ()))
        said = getattr(fault, "message", str(fault))
        return f"{where}: {said}"[:1000] if where else str(said)[:1000], None
