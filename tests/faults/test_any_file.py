"""Any image, page, search page and settings file is read or refused in words, whatever became of its bytes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorpio.settings import load
from tests.faults.edits import EDITS, Edit, edited, files
from tests.toolsets.core.search_pages import PAGES
from tools.core.read_docs import worker
from tools.core.read_image.headers import Damaged, read_header
from tools.core.read_image.signatures import identify
from tools.core.web_search.engine import Page
from tools.core.web_search.engines import ENGINES
from tools.core.web_search.reading import read

if TYPE_CHECKING:
    from pathlib import Path

READABLE = ("image/png", "image/jpeg", "image/gif", "image/webp")


@pytest.mark.requirement("faults:any-file")
@given(files("images"))
def test_any_header_of_an_image_is_read_or_called_damaged(made: tuple[str, bytes]) -> None:
    data = made[1]
    kind = identify(data[:4096], len(data))
    for mime_type in READABLE:
        try:
            header = read_header(mime_type, data)
        except Damaged:
            continue
        assert min(header.width, header.height) > 0
    assert kind is not None


@pytest.mark.requirement("faults:any-file")
@given(files("html"), st.sampled_from(["markdown", "text", "html"]), st.booleans())
def test_any_page_is_text(made: tuple[str, bytes], format: str, rendered: bool) -> None:
    data = made[1].decode("utf-8", "replace").encode() if rendered else made[1]
    asked = {
        "kind": "page",
        "url": "https://example.org/a/b",
        "format": format,
        "rendered": rendered,
        "content_type": "text/html",
    }
    line, _, text = worker._answer(json.dumps(asked).encode() + b"\n" + data).partition(b"\n")
    assert isinstance(json.loads(line), dict)
    text.decode("utf-8")


@pytest.mark.requirement("faults:any-file")
@given(st.sampled_from(sorted(ENGINES)), EDITS, st.sampled_from([200, 202, 403, 429, 500]))
def test_any_search_page_is_results_or_a_reason(name: str, edits: list[Edit], status: int) -> None:
    text = edited(PAGES[name].results().encode(), edits).decode("utf-8", "replace")
    verdict = read(ENGINES[name], Page(status, text))
    assert verdict["status"] in ("ok", "empty", "blocked", "error")
    assert verdict["status"] == "ok" or not verdict["hits"]
    for hit in verdict["hits"]:
        assert hit[1].startswith(("http://", "https://"))


@pytest.mark.requirement("faults:any-file")
@given(files("config"), st.booleans())
def test_any_settings_file_is_read_with_warnings(
    tmp_path_factory: pytest.TempPathFactory, made: tuple[str, bytes], project: bool
) -> None:
    folder: Path = tmp_path_factory.getbasetemp() / "any-settings"
    (folder / "project" / ".scorpio").mkdir(parents=True, exist_ok=True)
    (folder / "home").mkdir(exist_ok=True)
    place = folder / "project" / ".scorpio" if project else folder / "home"
    (place / "scorpio-env.txt").write_bytes(made[1])
    settings = load({}, str(folder / "home"), str(folder / "project"))
    assert settings.bash_max_timeout_ms > 0
    for warning in settings.warnings:
        assert str(warning).isprintable()
