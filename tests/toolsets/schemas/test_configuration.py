"""Where schemas come from: the configured file, which must be right, and files of the state directory."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.server_process import ServerProcess
from tests.wire import Connect

Start = Callable[..., ServerProcess]
ANY: dict[str, Any] = {}


def write(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return path


@pytest.mark.requirement("schemas:configuration")
@pytest.mark.parametrize(
    ("content", "said"),
    [
        ([], "'schemas' must be an array."),
        ({"schemas": {}}, "'schemas' must be an array."),
        ({"schemas": ["x"]}, "schemas[0] must be an object."),
        ({"schemas": [{"schema": ANY}]}, "schemas[0].schema_id must be a non-empty string."),
        ({"schemas": [{"schema_id": "", "schema": ANY}]}, "schemas[0].schema_id must be a non-empty string."),
        (
            {"schemas": [{"schema_id": "a", "schema": ANY}, {"schema_id": 7, "schema": ANY}]},
            "schemas[1].schema_id must be a non-empty string.",
        ),
        ({"schemas": [{"schema_id": "__schemaless__", "schema": ANY}]}, "Schema id '__schemaless__' is reserved."),
        (
            {"schemas": [{"schema_id": "a", "schema": ANY}, {"schema_id": "a", "schema": ANY}]},
            "Duplicate built-in schema id 'a'.",
        ),
        (
            {"schemas": [{"schema_id": "a", "description": 1, "schema": ANY}]},
            "schemas[0].description must be a string.",
        ),
        ({"schemas": [{"schema_id": "a"}]}, "schemas[0].schema must be an object."),
        ({"schemas": [{"schema_id": "a", "schema": []}]}, "schemas[0].schema must be an object."),
        (
            {"schemas": [{"schema_id": "a", "schema": {"type": "strin"}}]},
            "Built-in schema 'a' is not a valid JSON Schema.",
        ),
        (
            {"schemas": [{"schema_id": "a", "schema": {"$ref": "http://localhost:1/x"}}]},
            "Built-in schema 'a' is not a valid JSON Schema.",
        ),
        (
            {"schemas": [{"schema_id": "a", "schema": {"$schema": "http://localhost:1/x"}}]},
            "Built-in schema 'a' is not a valid JSON Schema.",
        ),
        (
            {"schemas": [{"schema_id": "a", "schema": {"pattern": "("}}]},
            "Built-in schema 'a' is not a valid JSON Schema.",
        ),
        ("{", "it is not JSON."),
        ('{"schemas":[],"schemas":[]}', "it is not JSON."),
        (None, "it cannot be read.: No such file or directory"),
    ],
)
def test_configuration_with_a_fault_ends_the_start_with_a_line(
    start: Start, environ: dict[str, str], tmp_path: Path, content: object, said: str
) -> None:
    path = tmp_path / "builtin-schemas.json"
    if content is not None:
        write(path, content)
    server = start("schemas", environ={**environ, "BUILTIN_SCHEMAS_CONFIG": str(path)})
    assert server.status() == 2
    [line] = server.stderr().splitlines()
    assert line.startswith(f"scorpio: BUILTIN_SCHEMAS_CONFIG {path}: {said}")
    assert server.rest() == b""


@pytest.mark.requirement("schemas:configuration")
@pytest.mark.revisions("2025-11-25")
def test_configured_schemas_join_the_built_in_one_and_keep_their_spelling(
    connect: Connect, environ: dict[str, str], tmp_path: Path
) -> None:
    number = '{ "maximum": 1.50,\n "minimum": -36893488147419103232, "title": "a  b" }'
    path = write(tmp_path / "more.json", f'{{"schemas": [{{"schema_id": "number", "schema": {number}}}]}}')
    environ["BUILTIN_SCHEMAS_CONFIG"] = str(path)
    wire = connect("schemas")
    names = [schema["schema_id"] for schema in wire.call("list_schemas")["structuredContent"]["schemas"]]
    assert names == ["__schemaless__", "zenlix-agent-stage-v1", "number"]
    assert '"schema":{"maximum":1.50,"minimum":-36893488147419103232,"title":"a  b"}}' in wire.text(
        "get_schema", {"schema_id": "number"}
    )
    result = wire.call("echo", {"schema_id": "number", "payload": -36893488147419103233})
    assert result["structuredContent"]["error"]["details"] == [
        {"path": "", "message": "must be >= -36893488147419103232"}
    ]


@pytest.mark.requirement("schemas:configuration")
@pytest.mark.transports("in-process")
@pytest.mark.revisions("2025-11-25")
def test_a_file_may_say_anew_what_the_built_in_schema_is(
    connect: Connect, environ: dict[str, str], tmp_path: Path
) -> None:
    entry = {"schema_id": "zenlix-agent-stage-v1", "description": "ours", "schema": {"const": 1}}
    environ["BUILTIN_SCHEMAS_CONFIG"] = str(write(tmp_path / "more.json", {"schemas": [entry]}))
    wire = connect("schemas")
    schemas = wire.call("list_schemas")["structuredContent"]["schemas"]
    assert [(schema["schema_id"], schema["description"]) for schema in schemas][1:] == [
        ("zenlix-agent-stage-v1", "ours")
    ]


@pytest.mark.requirement("schemas:state-directory")
@pytest.mark.revisions("2025-11-25")
def test_each_file_of_the_state_directory_is_a_schema(connect: Connect, environ: dict[str, str]) -> None:
    directory = Path(environ["SCORPIO_HOME"]) / "schemas"
    write(directory / "b.json", {"schema_id": "as/entry", "description": "An entry", "schema": {"type": "null"}})
    write(directory / "a.json", {"title": "A schema", "type": "integer"})
    write(directory / "c.txt", "not looked at")
    wire = connect("schemas")
    schemas = wire.call("list_schemas")["structuredContent"]["schemas"]
    assert schemas[2:] == [
        {"schema_id": "a", "description": "A schema", "builtin": False},
        {"schema_id": "as/entry", "description": "An entry", "builtin": False},
    ]
    assert not wire.call("echo", {"schema_id": "a", "payload": 1})["isError"]
    assert wire.call("echo", {"schema_id": "as/entry", "payload": 1})["isError"]
    [content] = wire.result("resources/read", {"uri": "schema://as%2Fentry"})["contents"]
    assert content["text"] == '{"type":"null"}'


@pytest.mark.requirement("schemas:state-directory")
@pytest.mark.revisions("2025-11-25")
def test_a_broken_file_of_the_state_directory_is_told_and_keeps_nothing_from_serving(
    connect: Connect, environ: dict[str, str], tmp_path: Path
) -> None:
    directory = Path(environ["SCORPIO_HOME"]) / "schemas"
    write(directory / "broken.json", "{")
    write(directory / "list.json", [])
    write(directory / "taken.json", {"schema_id": "zenlix-agent-stage-v1", "schema": {}})
    write(directory / "wrong.json", {"type": "strin"})
    (directory / "folder.json").mkdir()
    (directory / "gone.json").symlink_to("nowhere")
    write(directory / "right.json", {})
    wire = connect("schemas")
    names = [schema["schema_id"] for schema in wire.call("list_schemas")["structuredContent"]["schemas"]]
    assert names[2:] == ["right", "wrong"]
    error = wire.call("echo", {"schema_id": "wrong", "payload": 1})["structuredContent"]["error"]
    assert error["code"] == "INVALID_SCHEMA_DEFINITION"
    assert '"strin" is not valid' in error["message"]
    said = wire.stderr()
    for name in ("broken.json", "list.json", "taken.json", "folder.json", "gone.json"):
        assert f"{directory / name}: " in said
    assert "Schema 'wrong' is not a valid JSON Schema" in said
