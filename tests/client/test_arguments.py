"""Arguments as people write them."""

from __future__ import annotations

from typing import Any

import pytest

from scorpio.client import arguments
from scorpio.client.answers import value_of
from scorpio.client.mirrored import headers, parameters

SCHEMA = {
    "properties": {
        "s": {"type": "string"}, "n": {"type": "number"}, "l": {"type": "array"}, "b": {"type": ["boolean", "null"]},
        "any": {},
    }
}  # fmt: skip


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ([], {}),
        (["s=5", "n=5"], {"s": "5", "n": 5}),
        (["s=a=b"], {"s": "a=b"}),
        (["l=[1,2]", "b=true"], {"l": [1, 2], "b": True}),
        (["n=five"], {"n": "five"}),  # the server says what is wrong with it
        (["any=7", "other=x", "third={}"], {"any": 7, "other": "x", "third": {}}),
        (['{"s":', '"x y"}'], {"s": "x y"}),
    ],
)
def test_words_become_the_types_of_the_schema(words: list[str], given: dict[str, Any]) -> None:
    assert arguments.of_words(words, SCHEMA) == given


@pytest.mark.parametrize("words", [["loose"], ["=x"], ["{broken"], ["{" * 100_000]])
def test_words_that_are_no_arguments_are_refused(words: list[str]) -> None:
    with pytest.raises(arguments.ArgumentFault):
        arguments.of_words(words, SCHEMA)


@pytest.mark.parametrize(
    ("said", "field", "value"),
    [
        ("yes", {"type": "boolean"}, True),
        ("3", {"type": "integer", "minimum": 1, "maximum": 5}, 3),
        ("2", {"enum": ["a", "b"]}, "b"),
        ("Bee", {"oneOf": [{"const": "a", "title": "Ay"}, {"const": "b", "title": "Bee"}]}, "b"),
        ("1, b", {"type": "array", "items": {"enum": ["a", "b"]}}, ["a", "b"]),
        ("text", {"type": "string", "minLength": 2}, "text"),
    ],
)
def test_an_answer_becomes_the_type_of_its_field(said: str, field: dict[str, Any], value: Any) -> None:
    from scorpio.client.answers import choices

    assert value_of(said, field, choices(field.get("items") if field.get("type") == "array" else field)) == value


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ("perhaps", {"type": "boolean"}),
        ("7", {"type": "integer", "maximum": 5}),
        ("x", {"type": "number"}),
        ("c", {"enum": ["a", "b"]}),
        ("x", {"type": "string", "minLength": 2}),
    ],
)
def test_an_answer_that_does_not_fit_says_what_would(said: str, field: dict[str, Any]) -> None:
    from scorpio.client.answers import choices

    with pytest.raises(ValueError, match=r"must|answer|least|most"):
        value_of(said, field, choices(field))


def test_marked_parameters_travel_in_headers_and_wrongly_marked_tools_are_not_used() -> None:
    marked = parameters({"properties": {"a": {"type": "string", "x-mcp-header": "Region"}, "b": {"type": "string"}}})
    assert marked == {("a",): "Region"}
    call = {"method": "tools/call", "params": {"name": "t", "arguments": {"a": " ä", "b": "x"}}}
    assert headers(call, {"t": marked}) == {
        "Mcp-Method": "tools/call", "Mcp-Name": "t", "Mcp-Param-Region": "=?base64?IMOk?=",
    }  # fmt: skip
    for wrong in (
        {"type": "number", "x-mcp-header": "N"},
        {"type": "string", "x-mcp-header": "with space"},
        {"type": "array", "items": {"type": "string", "x-mcp-header": "I"}},
    ):
        assert parameters({"properties": {"a": wrong}}) is None
