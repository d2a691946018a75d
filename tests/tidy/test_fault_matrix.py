"""The map of the reliability matrix: every row, only tests that are there, and the document made of it."""

from __future__ import annotations

import fault_matrix
from tests.links import ROOT


def test_every_row_of_the_design_has_a_test_that_is_there() -> None:
    rows = fault_matrix.rows()
    assert list(rows) == fault_matrix.expected_rows()
    missing = [
        (id_, test)
        for id_, row in rows.items()
        for test in row["tests"] or [""]
        if not _exists(test) or not row["says"].endswith(".")
    ]
    assert missing == []


def _exists(test: str) -> bool:
    path, _, function = test.partition("::")
    file = ROOT / path
    return file.is_file() and f"def {function}(" in file.read_text("utf-8")


def test_the_document_is_what_the_map_says() -> None:
    assert fault_matrix.DOCUMENT.read_text("utf-8") == fault_matrix.document(), "run `build/dev.py faults --document`"
