"""The inspector page in a real Chromium, against a real server: source and frozen. Source: cli.md, issue 5."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.browser import Browser
from tests.lacking import lacking
from tests.links import ROOT

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def url(command: Callable[..., list[str]], tmp_path: Path, unpacked: str) -> Iterator[str]:
    """Of a server over HTTP with the toolsets that hold every kind of content and question."""
    base = command()
    program = base[: base.index("serve")] if "serve" in base else base
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "HOME": str(tmp_path),
        "SCORPIO_HOME": str(tmp_path / "state"),
        "SCORPIO_CACHE_DIR": unpacked,
    }
    server = subprocess.Popen(
        [*program, "http", "--port", "0", "--toolsets", "conformance,sum,core"],
        env=environment,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert server.stderr is not None
    try:
        for line in server.stderr:
            if "http://" in line:
                yield line[line.index("http://") :].split()[0].rstrip(".,").removesuffix("/mcp")
                break
        else:
            raise AssertionError("the server did not say where it listens")
    finally:
        server.terminate()
        server.communicate(timeout=30)


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    try:
        browser = Browser(tmp_path_factory.mktemp("profile"))
    except FileNotFoundError as missing:
        lacking(f"{missing} is not installed")
    yield browser
    browser.close()


@pytest.fixture
def page(chromium: Browser, url: str) -> Iterator[Browser]:
    """The page, connected; afterwards it must have had no fault and asked nobody but its server."""
    chromium.open("about:blank")  # or the page before it would look for its server
    chromium.wait_for("location.href === 'about:blank'")
    chromium.events.clear()
    chromium.open(f"{url}/inspector")
    chromium.wait_for(
        f"location.href.startsWith('{url}') && document.querySelector('#state').textContent.startsWith('Connected')"
    )
    chromium.wait_for("document.querySelectorAll('#panel-Tools .chooser li').length > 20")
    # Until everything that connecting sends is answered: what is clicked on would move while messages come.
    said = "[...document.querySelectorAll('#history summary')].map((each) => each.textContent)"
    chromium.wait_for(f"{said}.some((text) => text.includes('acknowledged'))")
    chromium.wait_for(f"{said}.filter((text) => text.includes('/list #')).length === 8")
    yield chromium
    assert chromium.faults() == []
    assert {
        request.split("/inspector")[0].split("/mcp")[0]
        for request in chromium.requests()
        if not request.startswith("blob:")
    } <= {url}


def choose(page: Browser, tab: str, name: str) -> None:
    page.click(f"#tab-{tab}")
    buttons = f"[...document.querySelectorAll('#panel-{tab} .chooser button')]"
    button = f"{buttons}.find(each => each.firstChild.textContent === {json.dumps(name)})"
    page.wait_for(button)
    page.value(f"{button}.click()")


def fill(page: Browser, path: str, text: str, within: str = ".chosen") -> None:
    page.click(f'{within} [data-path="{path}"]')
    page.type(text)


def send(page: Browser) -> None:
    page.press("Enter", code=13, text="\r", modifiers=2)


def result(page: Browser, wanted: str, tab: str = "Tools") -> str:
    """The text of the result, once it holds `wanted`."""
    place = f"document.querySelector('#panel-{tab} .result')"
    page.wait_for(f"{place}?.innerText.includes({json.dumps(wanted)})")
    return str(page.value(f"{place}.innerText"))


def test_a_tool_is_called_with_the_keyboard_alone(page: Browser) -> None:
    choose(page, "Tools", "sum")
    page.click('[data-path="a"]')
    page.type("3")
    page.press("Tab", code=9)
    page.type("4.5")
    page.press("Enter", code=13, text="\r")
    assert "3 + 4.5 = 7.5" in result(page, "7.5")


def test_what_is_missing_is_named_before_anything_is_sent(page: Browser) -> None:
    choose(page, "Tools", "sum")
    page.click('[data-path="a"]')
    page.press("Enter", code=13, text="\r")
    result(page, "a is needed")


def test_a_long_call_shows_progress_and_is_cancelled(page: Browser) -> None:
    choose(page, "Tools", "Bash")
    fill(page, "command", "echo started > started; sleep 600")
    send(page)
    page.click("#panel-Tools .chosen button[type=button]:not([hidden])")
    result(page, "Cancelled")
    page.wait_for("!document.querySelector('#panel-Tools .chosen button[type=submit]').disabled")


def test_an_image_is_shown_as_one(page: Browser) -> None:
    choose(page, "Tools", "test_image_content")
    page.value("document.querySelector('#panel-Tools .chosen form').requestSubmit()")
    page.wait_for("document.querySelector('#panel-Tools .result img')?.naturalWidth > 0")
    result(page, "image/png")


@pytest.mark.parametrize("protocol", ["auto", "2025-11-25", "2025-06-18"])
def test_a_question_of_the_server_is_answered_in_the_page(page: Browser, protocol: str) -> None:
    page.value(
        f"document.querySelector('[name=era]').value = '{protocol}'; document.querySelector('#connect').requestSubmit()"
    )
    spoken = "2026-07-28" if protocol == "auto" else protocol
    page.wait_for(f"document.querySelector('#state').textContent.endsWith('protocol {spoken}.')")
    page.wait_for("document.querySelector('#history summary').textContent.includes('resources/templates/list')")
    page.wait_for("!document.querySelector('#connect-button').disabled")
    choose(page, "Tools", "test_elicitation")
    fill(page, "message", "who are you?")
    send(page)
    fill(page, "username", "Ada", "dialog")
    fill(page, "email", "ada@example.org", "dialog")
    page.click("dialog button[type=submit]")
    assert "accept" in result(page, "Ada")


def test_escape_answers_a_question_with_cancel(page: Browser) -> None:
    choose(page, "Tools", "test_elicitation")
    page.value("document.querySelector('#panel-Tools .chosen form').requestSubmit()")
    page.wait_for("document.querySelector('dialog[open]')")
    page.press("Escape", code=27)
    result(page, "cancel")
    assert page.value("document.querySelector('dialog')") is None


def test_the_person_plays_the_model(page: Browser) -> None:
    choose(page, "Tools", "test_sampling")
    fill(page, "prompt", "Say something")
    send(page)
    page.click("dialog textarea")
    page.type("I am the model")
    page.click("dialog button[type=submit]")
    result(page, "I am the model")


def test_a_prompt_is_filled_in(page: Browser) -> None:
    choose(page, "Prompts", "test_prompt_with_arguments")
    page.click("#panel-Prompts .chosen input")
    page.type("first")
    page.press("Tab", code=9)
    page.type("second")
    page.press("Enter", code=13, text="\r")
    assert "second" in result(page, "first", "Prompts")


def test_a_resource_is_read_and_its_changes_are_told(page: Browser) -> None:
    choose(page, "Resources", "test://static-text")
    page.click("#panel-Resources .chosen input[type=checkbox]")
    page.click("#panel-Resources .chosen button[type=submit]")
    result(page, "static", "Resources")
    page.wait_for(
        "[...document.querySelectorAll('#history summary')].some(each => each.textContent.includes('subscriptions/'))"
    )


def test_a_list_that_changes_is_listed_again(page: Browser) -> None:
    messages = "[...document.querySelectorAll('#history summary')]"
    lists = f"{messages}.filter(each => each.textContent.includes('tools/list')).length"
    before = page.value(lists)
    choose(page, "Tools", "test_trigger_tool_change")
    page.value("document.querySelector('#panel-Tools .chosen form').requestSubmit()")
    page.wait_for(f"{lists} > {before}")


def test_every_message_can_be_looked_at(page: Browser) -> None:
    page.click("#history li:last-child summary")
    page.wait_for("JSON.parse(document.querySelector('#history details[open] pre').textContent).jsonrpc === '2.0'")


def test_any_method_may_be_sent(page: Browser) -> None:
    page.click("#tab-Server")
    page.value("document.querySelector('#raw-method').value = 'no/such'")
    page.value("document.querySelector('#raw-method').form.requestSubmit()")
    page.wait_for("document.querySelector('#panel-Server').innerText.includes('-32601')")


def test_markup_of_a_server_stays_text(page: Browser) -> None:
    choose(page, "Tools", "Bash")
    fill(page, "command", "echo '<img src=x onerror=alert(1)><script>alert(2)</script>'")
    send(page)
    assert "<script>" in result(page, "onerror")
    assert page.value("document.querySelectorAll('.result img, .result script').length") == 0


def test_the_page_can_be_read_in_the_dark(page: Browser) -> None:
    for scheme in ("light", "dark"):
        page.do("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        colours = page.value("[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]")
        text, ground = (sum(int(part) for part in colour[4:-1].split(",")) for colour in colours)
        assert (text > 600 > 150 > ground) if scheme == "dark" else (text < 150 < 600 < ground)
    page.do("Emulation.setEmulatedMedia", features=[])
