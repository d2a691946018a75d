"""The schemas of one server: read once, at its start, and the same for every session."""

from __future__ import annotations

import os

from scorpio.skill_folder import folders_in
from tools.schemas.files import added_schemas, builtin_schemas, schemaless
from tools.schemas.schema import InvalidSchema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.settings import Settings
    from scorpio.skill_folder import SkillFolder
    from scorpio.state.home import Home
    from scorpio.tool import StateLink
    from tools.schemas.schema import Schema

SCHEME = "schema://"
SKILLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "skills")


class Schemas:
    """Immutable once it is connected."""

    def __init__(self, home: Home, settings: Settings) -> None:
        self._directory = home.path("schemas")
        self.by_id: dict[str, Schema] = {
            schema.schema_id: schema for schema in (schemaless(), *builtin_schemas(settings.builtin_schemas_config))
        }

    def connect(self, link: StateLink) -> None:
        """Add those of the state directory. One that is no JSON Schema stays: using it says what is wrong with it."""
        for schema in added_schemas(self._directory, set(self.by_id), link.warn):
            try:
                schema.compile()
            except InvalidSchema as invalid:
                link.warn(f"Schema {schema.schema_id!r} is not a valid JSON Schema: {invalid}")
            self.by_id[schema.schema_id] = schema

    def resources(self, owner: str) -> list[dict[str, Any]]:
        return [
            {
                "uri": _uri(schema.schema_id),
                "name": schema.schema_id,
                "title": f"Schema {schema.schema_id}",
                "description": schema.description or "A JSON Schema for payloads of echo.",
                "mimeType": "application/schema+json",
                "size": len(schema.text.encode()),
            }
            for schema in self.by_id.values()
        ]

    def read(self, uri: str, owner: str) -> list[dict[str, Any]] | None:
        from urllib.parse import unquote

        schema = self.by_id.get(unquote(uri.removeprefix(SCHEME))) if uri.startswith(SCHEME) else None
        if schema is None:
            return None
        return [{"uri": uri, "mimeType": "application/schema+json", "text": schema.text}]

    def skill_folders(self) -> list[SkillFolder]:
        return folders_in(SKILLS)

    def close(self) -> None:
        """Nothing is kept open."""


def _uri(schema_id: str) -> str:
    from urllib.parse import quote

    return SCHEME + quote(schema_id, safe="")


def open_state(home: Home, settings: Settings) -> Schemas:
    return Schemas(home, settings)
