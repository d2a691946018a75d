"""Where schemas come from: one file of built-in ones, and a file each in the state directory.

The first must be right in every part, or the server does not start; a broken one of the others is told and left out.
"""

from __future__ import annotations

import os
import stat

from scorpio.tool import ConfigurationError
from tools.schemas.schema import SCHEMALESS, InvalidSchema, Schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

FILE_BYTES_MAX = 4 * 1024 * 1024
"""Largest file of schemas: the largest known, of a cloud's whole API, has 3 MB."""

SCHEMAS_MAX = 1000
"""Schemas of one server: a list of more is not read by anybody."""

OWN_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "builtin-schemas.json")


def schemaless() -> Schema:
    return Schema(SCHEMALESS, "No schema: any JSON value is a payload.", "{}", {}, builtin=True)


def builtin_schemas(config: str) -> list[Schema]:
    """Our own and, where `config` names a file, those in it; of two with one name the file's counts.

    Raises ConfigurationError with the first fault of that file.
    """
    own = _entries(OWN_FILE, builtin=True)
    if not config:
        return own
    try:
        chosen = _entries(config, builtin=True)
        for schema in chosen:
            try:
                schema.compile()
            except InvalidSchema as invalid:
                raise _Fault(f"Built-in schema '{schema.schema_id}' is not a valid JSON Schema.", invalid) from None
    except _Fault as fault:
        said = ": ".join(str(part) for part in fault.args)
        raise ConfigurationError(f"BUILTIN_SCHEMAS_CONFIG {config}: {said}") from None
    named = {schema.schema_id for schema in chosen}
    return [*(schema for schema in own if schema.schema_id not in named), *chosen]


class _Fault(Exception):
    """What is wrong with a file of schemas: a sentence, and perhaps more on it."""


def _entries(path: str, *, builtin: bool) -> list[Schema]:
    """The schemas of a file `{"schemas": [...]}`. Raises _Fault."""
    text, value = _json(path)
    if not isinstance(value, dict) or not isinstance(value.get("schemas"), list):
        raise _Fault("'schemas' must be an array.")
    if len(value["schemas"]) > SCHEMAS_MAX:
        raise _Fault(f"'schemas' has more than {SCHEMAS_MAX} items.")
    found: dict[str, Schema] = {}
    for index, item in enumerate(value["schemas"]):
        schema = _entry(text, item, ("schemas", index), f"schemas[{index}]", builtin=builtin)
        if schema.schema_id in found:
            raise _Fault(f"Duplicate built-in schema id '{schema.schema_id}'.")
        found[schema.schema_id] = schema
    return list(found.values())


def _entry(text: str, item: Any, path: tuple[str | int, ...], where: str, *, builtin: bool) -> Schema:
    if not isinstance(item, dict):
        raise _Fault(f"{where} must be an object.")
    schema_id = item.get("schema_id")
    if not isinstance(schema_id, str) or not schema_id.strip():
        raise _Fault(f"{where}.schema_id must be a non-empty string.")
    if schema_id == SCHEMALESS:
        raise _Fault(f"Schema id '{SCHEMALESS}' is reserved.")
    description = item.get("description", "")
    if not isinstance(description, str):
        raise _Fault(f"{where}.description must be a string.")
    if not isinstance(item.get("schema"), dict | bool):
        raise _Fault(f"{where}.schema must be an object.")
    from scorpio.protocol.json_text import at_path

    value, written = at_path(text, (*path, "schema"))
    return Schema(schema_id, description, compact(written), value, builtin=builtin)


def added_schemas(directory: str, taken: set[str], warn: Callable[[str], None]) -> Iterator[Schema]:
    """Those of the state directory, in the order of their names; whatever cannot be one is told by `warn`."""
    try:
        names = sorted(name for name in os.listdir(directory) if name.endswith(".json"))
    except OSError:  # there is none
        return
    if len(names) > SCHEMAS_MAX:
        warn(f"{directory} has more than {SCHEMAS_MAX} schemas: the rest is left out.")
    for name in names[:SCHEMAS_MAX]:
        path = os.path.join(directory, name)
        try:
            schema = _added(path, name.removesuffix(".json"))
            if schema.schema_id in taken:
                raise _Fault(f"there is a schema '{schema.schema_id}' already.")
        except _Fault as fault:
            warn(f"{path}: {': '.join(map(str, fault.args))} The file is left out.")
            continue
        taken.add(schema.schema_id)
        yield schema


def _added(path: str, name: str) -> Schema:
    """A file is an entry as in the configuration, or a JSON Schema whose name is the file's."""
    text, value = _json(path)
    if isinstance(value, dict) and isinstance(value.get("schema_id"), str) and "schema" in value:
        return _entry(text, value, (), "it", builtin=False)
    if not isinstance(value, dict | bool):
        raise _Fault("a JSON Schema is an object, true or false.")
    if name == SCHEMALESS:
        raise _Fault(f"Schema id '{SCHEMALESS}' is reserved.")
    description = value.get("description") or value.get("title") if isinstance(value, dict) else ""
    return Schema(name, description if isinstance(description, str) else "", compact(text), value, builtin=False)


def _json(path: str) -> tuple[str, Any]:
    """Text and value of a JSON file. Raises _Fault."""
    from scorpio.protocol.strict_json import loads

    content = _content(path)
    try:
        return content.decode().strip(), loads(content)
    except ValueError as fault:
        raise _Fault("it is not JSON.", str(fault)[:200]) from None


def _content(path: str) -> bytes:
    """Never waits, whatever stands there in place of a file. Raises _Fault."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
        try:
            found = os.fstat(file)
            if not stat.S_ISREG(found.st_mode):
                raise _Fault("it is not a file.")
            if found.st_size > FILE_BYTES_MAX:
                raise _Fault(f"it is larger than {FILE_BYTES_MAX >> 20} MiB.")
            parts = []
            while part := os.read(file, FILE_BYTES_MAX):
                parts.append(part)
            return b"".join(parts)
        finally:
            os.close(file)
    except OSError as error:
        raise _Fault("it cannot be read.", error.strerror) from None


def compact(text: str) -> str:
    """JSON without the white space between its tokens."""
    import re

    return re.sub(r'("(?:[^"\\]|\\.)*")|[ \t\r\n]+', lambda found: found[1] or "", text)
