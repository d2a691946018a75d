"""The table of revisions, against the specification's change logs."""

from __future__ import annotations

import pytest

from scorpio.protocol.revisions import (
    LATEST_LEGACY,
    LEGACY,
    MODERN,
    MODERN_NAMES,
    NAMES_NEWEST_FIRST,
    REVISIONS,
    negotiated,
)

NAMES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")


@pytest.mark.parametrize(
    ("field", "those"),
    [
        ("batch", NAMES[1:2]),
        ("completions", NAMES[1:]),
        ("audio", NAMES[1:]),
        ("progress_message", NAMES[1:]),
        ("structured", NAMES[2:]),
        ("resource_link", NAMES[2:]),
        ("titles", NAMES[2:]),
        ("elicitation", NAMES[2:]),
        ("elicitation_url", NAMES[3:]),
        ("asks_by_request", NAMES[:4]),
    ],
)
def test_a_field_is_true_in_the_revisions_that_have_the_thing(field: str, those: tuple[str, ...]) -> None:
    assert tuple(name for name, row in REVISIONS.items() if getattr(row, field)) == those


def test_all_released_revisions_are_known_and_only_the_last_has_no_session() -> None:
    assert [*REVISIONS] == [*NAMES]
    assert [*NAMES_NEWEST_FIRST] == [*reversed(NAMES)]
    assert [*MODERN_NAMES] == [NAMES[4]]
    assert [row.era for row in REVISIONS.values()] == [LEGACY] * 4 + [MODERN]


@pytest.mark.parametrize(
    ("member", "those"),
    [
        ("annotations", NAMES[1:]),
        ("title", NAMES[2:]),
        ("outputSchema", NAMES[2:]),
        ("_meta", NAMES[2:]),
        ("icons", NAMES[3:]),
        ("execution", NAMES[3:4]),
    ],
)
def test_a_tool_shows_the_members_its_revision_defines(member: str, those: tuple[str, ...]) -> None:
    assert tuple(name for name, row in REVISIONS.items() if member in row.tool_keys) == those


@pytest.mark.parametrize("name", NAMES[:4])
def test_a_session_gets_the_revision_it_asks_for(name: str) -> None:
    assert negotiated(name) is REVISIONS[name]


@pytest.mark.parametrize("name", ["2026-07-28", "1900-01-01", "", "2025-11-25 ", "DRAFT"])
def test_a_session_that_asks_for_what_no_session_can_have_gets_the_newest(name: str) -> None:
    assert negotiated(name) is LATEST_LEGACY is REVISIONS["2025-11-25"]


def test_a_missing_resource_is_invalid_params_in_the_modern_era_only() -> None:
    assert {name: row.resource_not_found for name, row in REVISIONS.items()} == {
        **dict.fromkeys(NAMES[:4], -32002),
        "2026-07-28": -32602,
    }
