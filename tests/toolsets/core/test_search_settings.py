"""What configures WebSearch: which values are taken, and which are a warning."""

from __future__ import annotations

from pathlib import Path

import pytest

from scorpio.settings import FILE_NAME, SEARCH_ENGINES, Settings, load


def _load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **environ: str) -> Settings:
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    return load(environ, str(tmp_path / "home"))


def test_all_eleven_engines_at_their_own_addresses_are_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = _load(tmp_path, monkeypatch)
    assert (settings.websearch_engines, settings.searxng_url, settings.warnings) == (SEARCH_ENGINES, "", ())
    assert {settings.search_endpoint(name) for name in SEARCH_ENGINES} == {""}
    assert len(SEARCH_ENGINES) == 11


@pytest.mark.requirement("search:chosen-engines")
@pytest.mark.parametrize(
    ("value", "chosen"),
    [("bing", ("bing",)), (" Bing, MOJEEK ,bing", ("bing", "mojeek")), ("searxng,google", ("searxng", "google"))],
)
def test_engines_are_chosen_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str, chosen: tuple[str, ...]
) -> None:
    settings = _load(tmp_path, monkeypatch, WEBSEARCH_ENGINES=value)
    assert (settings.websearch_engines, settings.warnings) == (chosen, ())


@pytest.mark.parametrize("value", [" , ", "altavista", "bing,altavista", "bing mojeek"])
def test_engines_that_are_none_are_a_warning_that_names_those_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    settings = _load(tmp_path, monkeypatch, WEBSEARCH_ENGINES=value)
    assert settings.websearch_engines == SEARCH_ENGINES
    (warning,) = settings.warnings
    assert warning.startswith("environment variable WEBSEARCH_ENGINES: WEBSEARCH_ENGINES must be some of duckduckgo, ")


@pytest.mark.parametrize(
    "value", ["http://127.0.0.1:8080", "https://searx.example.org/searxng/", "HTTP://[::1]:80/x?y=z", ""]
)
def test_an_address_is_taken_as_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    settings = _load(tmp_path, monkeypatch, SEARXNG_URL=value, WEBSEARCH_ENDPOINT_BING=value)
    assert (settings.searxng_url, settings.search_endpoint("bing"), settings.warnings) == (value, value, ())


@pytest.mark.parametrize(
    "value",
    [
        *(
            "localhost:8080",
            "ftp://example.org/",
            "file:///etc/passwd",
            "https://",
            "https:///path",
            "http://?q",
            "http://u@",
        ),
        *("https://example.org/a b", "https://example.org/\x1b[31m", "https://example.org/\u202e", "//example.org"),
    ],
)
def test_what_is_no_web_address_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    settings = _load(tmp_path, monkeypatch, SEARXNG_URL=value)
    assert settings.searxng_url == ""
    (warning,) = settings.warnings
    assert "SEARXNG_URL must be an http:// or https:// address" in warning


@pytest.mark.requirement("search:private")
@pytest.mark.parametrize(
    "value", ["ftp://me:geheim@example.org/", "me:geheim@example.org", "ftp://me:a@geheim@example.org"]
)
def test_a_warning_does_not_hold_the_password_of_an_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    (warning,) = _load(tmp_path, monkeypatch, SEARXNG_URL=value).warnings
    assert "geheim" not in warning
    assert "example.org" in warning


@pytest.mark.requirement("search:untrusted-project")
def test_a_projects_file_may_leave_engines_out_and_add_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    project = tmp_path / "project" / ".scorpio"
    project.mkdir(parents=True)
    for value, chosen, warnings in (
        ("bing", ("bing",), 0),
        ("brave,google", ("bing", "brave"), 1),
        ("searxng", ("bing", "brave"), 1),
    ):
        (project / FILE_NAME).write_text(f"WEBSEARCH_ENGINES={value}\n")
        home = tmp_path / "home"
        home.mkdir(exist_ok=True)
        (home / FILE_NAME).write_text("WEBSEARCH_ENGINES=bing,brave\n")
        settings = load({}, str(home), str(project.parent))
        assert (settings.websearch_engines, len(settings.warnings)) == (chosen, warnings)
