"""What a tool.json may say, and what it must insist on."""

from __future__ import annotations

from typing import Any

import pytest

import schema_rules


def descriptor(**schema: Any) -> dict[str, Any]:
    return {"name": "a_tool", "description": "Does it.", "inputSchema": {"type": "object", **schema}}


ANY_OF: list[Any] = [{"required": ["a"]}, {"required": ["b"]}]


def test_plain_descriptor_has_no_fault() -> None:
    assert schema_rules.faults(descriptor(properties={"a": {"type": "string"}}), "a_tool") == []


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf", "allOf"])
def test_composition_at_the_root_must_be_insisted_on(keyword: str) -> None:
    composed = descriptor(**{keyword: ANY_OF})
    (fault,) = schema_rules.faults(composed, "a_tool")
    assert f'"root_composition": ["{keyword}"]' in fault
    assert schema_rules.faults(composed, "a_tool", root_composition=frozenset({keyword})) == []


def test_insisting_on_what_is_not_there_is_a_fault() -> None:
    faults = schema_rules.faults(descriptor(), "a_tool", root_composition=frozenset({"oneOf"}))
    assert faults == ["x-scorpio insists on a root oneOf that is not there"]


@pytest.mark.parametrize(
    "keyword", ["unevaluatedProperties", "dependentRequired", "prefixItems", "$dynamicRef", "contains"]
)
def test_keyword_that_no_validator_checks_is_refused_by_its_path(keyword: str) -> None:
    faults = schema_rules.faults(descriptor(properties={"a": {keyword: {}}}), "a_tool")
    assert faults == [f"/properties/a/{keyword}: this keyword is not checked by the compiled validator"]


def test_reference_to_another_document_is_refused() -> None:
    faults = schema_rules.faults(descriptor(properties={"a": {"$ref": "https://example.com/a.json"}}), "a_tool")
    assert faults == ["/properties/a/$ref: https://example.com/a.json is not in this document"]


@pytest.mark.parametrize("execution", [{"taskSupport": "maybe"}, {"taskSupport": None}, "optional", []])
def test_task_support_is_one_of_three_words(execution: Any) -> None:
    (fault,) = schema_rules.task_faults({"execution": execution}, slow=True)
    assert fault == "execution.taskSupport must be one of forbidden, optional, required"


@pytest.mark.parametrize(("support", "faults"), [("forbidden", 0), ("optional", 1), ("required", 1)])
def test_instant_tool_is_never_a_task(support: str, faults: int) -> None:
    assert len(schema_rules.task_faults({"execution": {"taskSupport": support}}, slow=False)) == faults
    assert schema_rules.task_faults({"execution": {"taskSupport": support}}, slow=True) == []
