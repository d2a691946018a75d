"""What is said of each keyword; and that verdicts are those of the official suite and of another library."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import referencing.exceptions

from tests.lacking import lacking
from tools.schemas.schema import InvalidSchema, Schema

FIXTURES = os.environ.get("SCORPIO_FIXTURES")
"""Recorded data of others, which this repository does not hold: the official JSON-Schema-Test-Suite is in it."""

REMOTE = "http://localhost:1234/"
"""What the suite serves over HTTP; a schema here never fetches anything."""


def schema(value: Any) -> Schema:
    return Schema("s", "", json.dumps(value), value, builtin=False)


@pytest.mark.requirement("schemas:faults")
@pytest.mark.parametrize(
    ("value", "payload", "faults"),
    [
        ({"type": "string"}, 1, [("", "must be string")]),
        ({"type": ["string", "null"]}, 1, [("", "must be string,null")]),
        ({"required": ["a", "b"]}, {}, [("", f"must have required property '{name}'") for name in "ab"]),
        ({"enum": [1, "x"]}, 2, [("", 'must be equal to one of the allowed values: 1, "x"')]),
        ({"const": {"a": 1}}, 2, [("", 'must be equal to constant: {"a": 1}')]),
        ({"minimum": 3}, 2, [("", "must be >= 3")]),
        ({"maximum": 1.5}, 2, [("", "must be <= 1.5")]),
        ({"exclusiveMinimum": 2}, 2, [("", "must be > 2")]),
        ({"exclusiveMaximum": 2}, 2, [("", "must be < 2")]),
        ({"multipleOf": 0.5}, 0.7, [("", "must be multiple of 0.5")]),
        ({"minLength": 3}, "é", [("", "must NOT have fewer than 3 characters")]),
        ({"maxLength": 1}, "xx", [("", "must NOT have more than 1 characters")]),
        ({"pattern": "^a+$"}, "b", [("", 'must match pattern "^a+$"')]),
        ({"minItems": 1}, [], [("", "must NOT have fewer than 1 items")]),
        ({"maxItems": 1}, [1, 2], [("", "must NOT have more than 1 items")]),
        ({"uniqueItems": True}, [1, 1.0], [("", "must NOT have duplicate items")]),
        ({"contains": {"const": 1}}, [2], [("", "must contain at least 1 valid item(s)")]),
        (
            {"contains": {"const": 1}, "minContains": 2, "maxContains": 3},
            [1],
            [("", "must contain at least 2 and no more than 3 valid item(s)")],
        ),
        ({"prefixItems": [{}], "items": False}, [1, 2], [("/1", "must NOT have more items")]),
        ({"prefixItems": [{"type": "null"}]}, [1], [("/0", "must be null")]),
        ({"minProperties": 1}, {}, [("", "must NOT have fewer than 1 properties")]),
        ({"maxProperties": 0}, {"a": 1}, [("", "must NOT have more than 0 properties")]),
        ({"additionalProperties": False}, {"a": 1}, [("", "must NOT have additional properties")]),
        (
            {"properties": {"a": {}}, "additionalProperties": False},
            {"a": 1, "b": 1, "c": 1},
            [("", 'must NOT have additional properties: "b", "c"')],
        ),
        ({"unevaluatedProperties": False}, {"a": 1}, [("", 'must NOT have unevaluated properties: "a"')]),
        ({"unevaluatedItems": False}, [1, 2], [("", "must NOT have unevaluated items: 1, 2")]),
        ({"patternProperties": {"^x": False}}, {"x": 1}, [("/x", "boolean schema is false")]),
        ({"propertyNames": {"maxLength": 1}}, {"ab": 1}, [("", 'property name must be valid: "ab"')]),
        (
            {"dependentRequired": {"a": ["b"]}},
            {"a": 1},
            [("", "must have property 'b' when \"a\" is present")],
        ),
        ({"dependentSchemas": {"a": {"required": ["b"]}}}, {"a": 1}, [("", "must have required property 'b'")]),
        ({"anyOf": [{"type": "null"}, {"type": "string"}]}, 1, [("", "must match a schema in anyOf")]),
        ({"oneOf": [{}, {}]}, 1, [("", "must match exactly one schema in oneOf")]),
        ({"oneOf": [False]}, 1, [("", "must match exactly one schema in oneOf")]),
        ({"allOf": [{"type": "null"}, {"maximum": 0}]}, 1, [("", "must be null"), ("", "must be <= 0")]),
        ({"not": {}}, 1, [("", "must NOT be valid")]),
        ({"if": {}, "then": {"type": "null"}}, 1, [("", "must be null")]),
        ({"if": {}, "then": False}, 1, [("", "must NOT be there under this condition")]),
        (False, 1, [("", "boolean schema is false")]),
        ({"properties": {"a/b~c": {"type": "null"}}}, {"a/b~c": 1}, [("/a~1b~0c", "must be null")]),
        (
            {"$defs": {"n": {"contains": False, "minContains": 2}}, "items": {"$ref": "#/$defs/n"}},
            [[]],
            [("/0", "must contain at least 2 valid item(s)")],
        ),
        (
            {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{}], "additionalItems": False},
            [1, 2],
            [("", "must NOT have more than 1 items")],
        ),
    ],
)
def test_each_keyword_says_what_must_be(value: Any, payload: Any, faults: list[tuple[str, str]]) -> None:
    found = schema(value).faults(payload)
    assert [(fault["path"], fault["message"]) for fault in found] == faults


@pytest.mark.requirement("schemas:bounds")
def test_a_pattern_that_backtracks_without_end_is_given_up() -> None:
    slow = schema({"pattern": r"^(?:(a|aa)+)+(?=b)\1$"})
    assert len(slow.faults("a" * 5000 + "c")) == 1


@pytest.mark.requirement("schemas:faults")
def test_integers_beyond_64_bits_are_compared_exactly() -> None:
    bounded = schema({"maximum": 2**70, "type": "integer"})
    assert bounded.faults(2**70) == []
    assert bounded.faults(2**70 + 1) == [{"path": "", "message": f"must be <= {2**70}"}]


def suite() -> list[Any]:
    """A parameter for each group of cases; one that skips where the suite is not at hand."""
    if FIXTURES is None:
        return [pytest.param(None, False, id="absent")]
    folder = Path(FIXTURES) / "json-schema-2020-12"
    files = [*sorted(folder.glob("*.json")), *sorted((folder / "optional").glob("*.json"))]
    assert files, f"SCORPIO_FIXTURES is set, and {folder} holds no suite"
    return [
        pytest.param(group, path.parent == folder, id=f"{path.stem}-{group['description']}")
        for path in files
        for group in json.loads(path.read_text("utf-8"))
    ]


def known(ours: Schema) -> bool:
    """False for a schema that needs another one from elsewhere: never fetched, and said to be missing."""
    try:
        ours.compile()
    except InvalidSchema as invalid:
        if REMOTE in str(invalid):
            return False
        raise
    return True


@pytest.mark.requirement("schemas:official-suite")
@pytest.mark.parametrize(("group", "required"), suite())
def test_verdicts_are_those_of_the_official_suite_and_of_another_library(
    group: dict[str, Any] | None, required: bool
) -> None:
    """The other library is asked for what the suite requires; it has not got all that is optional, such as \\d."""
    if group is None:
        lacking("needs SCORPIO_FIXTURES, the folder with the official JSON-Schema-Test-Suite")
    ours = schema(group["schema"])
    if not known(ours):
        return
    theirs = jsonschema.validators.validator_for(group["schema"], jsonschema.Draft202012Validator)(group["schema"])
    for case in group["tests"]:
        verdict = not ours.faults(case["data"])
        assert verdict == case["valid"], case["description"]
        try:
            assert not required or verdict == theirs.is_valid(case["data"])
        except referencing.exceptions.Unresolvable:
            assert REMOTE in json.dumps(group["schema"])
        except re.error:  # Python's own expressions know no \\p{Letter}
            assert "\\p{" in str(group["schema"].get("pattern", group["schema"]))
