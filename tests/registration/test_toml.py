"""Entries in TOML files that people wrote: everything else stays byte for byte."""

from __future__ import annotations

import pytest

from scorpio.registration import toml
from scorpio.registration.edit import EditFailure

PATH = ("mcp_servers", "scorpio")
ENTRY = {"command": "/home/u/.scorpio/scorpio", "args": []}
TABLE = '[mcp_servers.scorpio]\ncommand = "/home/u/.scorpio/scorpio"\nargs = []\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", TABLE),
        ('model = "x" # mine', 'model = "x" # mine\n\n' + TABLE),
        (
            "[a]\nb = 1\n\n[mcp_servers.other]\ncommand = 'o'\n",
            "[a]\nb = 1\n\n[mcp_servers.other]\ncommand = 'o'\n\n" + TABLE,
        ),
        (
            '[mcp_servers.scorpio]\ncommand = "old"\nstartup_timeout_sec = 9\nargs = []\n\n[z]\n',
            '[mcp_servers.scorpio]\ncommand = "/home/u/.scorpio/scorpio"\nstartup_timeout_sec = 9\nargs = []\n\n[z]\n',
        ),
        ("a = 1\r\n", "a = 1\r\n\r\n" + TABLE.replace("\n", "\r\n")),
    ],
)
def test_an_entry_is_a_table_and_the_rest_stays(before: str, after: str) -> None:
    assert toml.with_entry(before, PATH, ENTRY) == after
    assert toml.with_entry(after, PATH, ENTRY) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a = 1\n\n" + TABLE, "a = 1\n"),
        (TABLE + '\n[mcp_servers.scorpio.env]\nX = "1"\n\n# theirs\n[z]\ny = 1\n', "\n# theirs\n[z]\ny = 1\n"),
        ("[mcp_servers.other]\ncommand = 'o'\n\n" + TABLE, "[mcp_servers.other]\ncommand = 'o'\n"),
    ],
)
def test_removing_an_entry_takes_its_tables_and_no_other(before: str, after: str) -> None:
    assert toml.without_entry(before, PATH) == after


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = ", "not TOML"),
        ("mcp_servers = 3", "mcp_servers is not a table"),
        ('[mcp_servers]\nscorpio = { command = "x" }\n', "not written as a"),
        ("mcp_servers = { other = {} }\n", "cannot edit|not TOML"),
        ('[mcp_servers.scorpio]\ncommand = """\nx"""\n', "cannot edit|not TOML"),
    ],
)
def test_what_cannot_be_edited_is_refused_with_the_reason(text: str, said: str) -> None:
    with pytest.raises(EditFailure, match=said):
        toml.with_entry(text, PATH, ENTRY)
