"""trigger-elicitation-request: asks the user by a form that has a field of every kind its client's revision knows."""

from __future__ import annotations

from scorpio.tool import ToolResult
from tools.everything.answers import form_blocks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.tool import Call
    from tools.everything._catalog import TriggerElicitationRequestArguments
    from tools.everything.state import Everything

FIELDS: dict[str, dict[str, Any]] = {
    "name": {"type": "string", "title": "String", "description": "A name to call you by"},
    "check": {"type": "boolean", "title": "Boolean", "description": "Whether this tour is of use to you"},
    "email": {
        "type": "string",
        "title": "String with email format",
        "format": "email",
        "description": "An address for mail; none is sent",
    },
    "homepage": {
        "type": "string",
        "title": "String with uri format",
        "format": "uri",
        "description": "A page on the web",
    },
    "birthdate": {"type": "string", "title": "String with date format", "format": "date", "description": "Any day"},
    "integer": {
        "type": "integer",
        "title": "Integer",
        "description": "A whole number you like",
        "minimum": 1,
        "maximum": 100,
    },
    "number": {
        "type": "number",
        "title": "Number in range 1-1000",
        "description": "Any number you like",
        "minimum": 0,
        "maximum": 1000,
    },
    "untitledSingleSelectEnum": {
        "type": "string",
        "title": "Untitled Single Select Enum",
        "description": "One of some instruments",
        "enum": ["Violin", "Viola", "Cello", "Double bass"],
    },
}

NEWER_FIELDS: dict[str, dict[str, Any]] = {
    "firstLine": {
        "type": "string",
        "title": "String with default",
        "description": "How a story should begin",
        "default": "Nobody had told the scorpion.",
    },
    "titledSingleSelectEnum": {
        "type": "string",
        "title": "Titled Single Select Enum",
        "description": "One of some rivers",
        "oneOf": [
            {"const": "river-1", "title": "Danube"},
            {"const": "river-2", "title": "Nile"},
            {"const": "river-3", "title": "Mekong"},
        ],
        "default": "river-1",
    },
    "untitledMultipleSelectEnum": {
        "type": "array",
        "title": "Untitled Multiple Select Enum",
        "description": "One to three of some trees",
        "minItems": 1,
        "maxItems": 3,
        "items": {"type": "string", "enum": ["Oak", "Beech", "Lime", "Ash", "Elm"]},
        "default": ["Oak"],
    },
    "titledMultipleSelectEnum": {
        "type": "array",
        "title": "Titled Multiple Select Enum",
        "description": "One to three of some winds",
        "minItems": 1,
        "maxItems": 3,
        "items": {
            "anyOf": [
                {"const": "wind-1", "title": "Mistral"},
                {"const": "wind-2", "title": "Sirocco"},
                {"const": "wind-3", "title": "Foehn"},
            ]
        },
        "default": ["wind-1"],
    },
}
"""Defaults of every kind, options with titles and several at once: since 2025-11-25."""

OLDER_FIELDS: dict[str, dict[str, Any]] = {
    "legacyTitledEnum": {
        "type": "string",
        "title": "Legacy Titled Single Select Enum",
        "description": "One of some birds",
        "enum": ["bird-1", "bird-2", "bird-3"],
        "enumNames": ["Wren", "Heron", "Swift"],
    },
}


async def handle(arguments: TriggerElicitationRequestArguments, call: Call[Everything]) -> ToolResult:
    newer = NEWER_FIELDS if call.revision.enum_titles == "const" else {}
    fields = {**FIELDS, **newer, **OLDER_FIELDS}
    question = {
        "message": "Please provide inputs for the following fields:",
        "requestedSchema": {"type": "object", "properties": fields, "required": ["name"]},
    }
    answer = call.ask("form", "elicitation/create", question)
    return ToolResult(form_blocks(answer, {name: field["title"] for name, field in fields.items()}))
