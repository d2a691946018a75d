"""Entries in JSON files that people wrote: everything else stays byte for byte."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorpio.registration import jsonc
from scorpio.registration.edit import EditFailure

PATH = ("mcpServers", "scorpio")
ENTRY = {"command": "/home/u/.scorpio/scorpio", "args": []}

WRITTEN = {
    "a new file": ("", '{\n  "mcpServers": {\n    "scorpio": {\n      "command": "x"\n    }\n  }\n}\n'),
    "an empty object": ("{}", '{\n  "mcpServers": {\n    "scorpio": {\n      "command": "x"\n    }\n  }\n}'),
    "tabs": (
        '{\n\t"theme": "dark"\n}\n',
        '{\n\t"theme": "dark",\n\t"mcpServers": {\n\t\t"scorpio": {\n\t\t\t"command": "x"\n\t\t}\n\t}\n}\n',
    ),
    "comments and a trailing comma": (
        '// mine\n{\n  "a": 1, // one\n  /* two */ "mcpServers": {\n    "other": {}, // stays\n  },\n}\n',
        (
            '// mine\n{\n  "a": 1, // one\n  /* two */ "mcpServers": {\n    "other": {}, // stays\n'
            '    "scorpio": {\n      "command": "x"\n    }\n  },\n}\n'
        ),
    ),
    "a comment behind the last member": (
        '{\n  "a": 1 // one\n}\n',
        '{\n  "a": 1, // one\n  "mcpServers": {\n    "scorpio": {\n      "command": "x"\n    }\n  }\n}\n',
    ),
    "one line": ('{"mcpServers": {"b": 1}}', '{"mcpServers": {"b": 1, "scorpio": {"command": "x"}}}'),
    "null in its place": ('{"mcpServers": null}', '{"mcpServers": {\n  "scorpio": {\n    "command": "x"\n  }\n}}'),
    "windows line ends": (
        '{\r\n  "a": 1\r\n}\r\n',
        '{\r\n  "a": 1,\r\n  "mcpServers": {\r\n    "scorpio": {\r\n      "command": "x"\r\n    }\r\n  }\r\n}\r\n',
    ),
    "an entry with more in it": (
        '{"mcpServers": {"scorpio": {"env": {"A": "1"}, "command": "old"}}}',
        '{"mcpServers": {"scorpio": {"env": {"A": "1"}, "command": "x"}}}',
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_an_entry_is_written_as_the_file_is_written(name: str) -> None:
    before, after = WRITTEN[name]
    assert jsonc.with_entry(before, PATH, {"command": "x"}) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{\n  "a": 1,\n  "mcpServers": {\n    "scorpio": {}\n  }\n}\n', '{\n  "a": 1,\n  "mcpServers": {}\n}\n'),
        (
            '{\n  "mcpServers": {\n    // ours\n    "scorpio": {},\n    // theirs\n    "b": {}\n  }\n}',
            '{\n  "mcpServers": {\n    // ours\n    // theirs\n    "b": {}\n  }\n}',
        ),
        (
            '{\n  "mcpServers": {\n    "b": {}, // theirs\n    "scorpio": {}\n  }\n}',
            '{\n  "mcpServers": {\n    "b": {} // theirs\n  }\n}',
        ),
        ('{"mcpServers": {"scorpio": {}, "scorpio": {"x": 1}}}', '{"mcpServers": {}}'),
    ],
)
def test_removing_an_entry_takes_its_line_and_no_other(before: str, after: str) -> None:
    assert jsonc.without_entry(before, PATH) == after


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "something else than an object"),
        ("{", "not JSON"),
        ('{"a": 1} trailing', "not JSON"),
        ('{"mcpServers": []}', "mcpServers is not an object"),
        ('{"mcpServers": {"scorpio": "x"}}', "mcpServers.scorpio is not an object"),
        ("// only a comment", "only comments"),
        ('{"a": ' + "[" * 300 + "]" * 300 + "}", "nested"),
        ('{"a": ' + "[" * 100_000, "not JSON"),
    ],
)
def test_what_cannot_be_edited_is_refused_with_the_reason(text: str, said: str) -> None:
    with pytest.raises(EditFailure, match=said):
        jsonc.with_entry(text, PATH, ENTRY)


KEYS = st.sampled_from(["a", "mcpServers", "scorpio", "b", "c//d", 'q"', "/*", "ü"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)


@st.composite
def settings_files(draw: st.DrawFn) -> tuple[dict[str, Any], str]:
    """A value, and text for it with comments, trailing commas and spaces put in anywhere they may stand."""
    space = st.sampled_from(["", " ", "\n", "\n  ", " // x }{,\n", "/* , } */", "\t"])

    def trailing(count: int) -> str:
        return "," if count > 0 and draw(st.booleans()) else ""

    def written(value: Any) -> str:
        if type(value) is dict:
            members = [f"{draw(space)}{json.dumps(k)}{draw(space)}:{draw(space)}{written(v)}{draw(space)}"
                       for k, v in value.items()]  # fmt: skip
            return "{" + ",".join(members) + trailing(len(members)) + draw(space) + "}"
        if type(value) is list:
            items = [f"{draw(space)}{written(item)}{draw(space)}" for item in value]
            return "[" + ",".join(items) + trailing(len(items)) + draw(space) + "]"
        return json.dumps(value)

    value = draw(st.dictionaries(KEYS, VALUES, max_size=4))
    return value, draw(space) + written(value) + draw(space)


@given(settings_files())
def test_any_file_keeps_all_that_is_not_the_entry(file: tuple[dict[str, Any], str]) -> None:
    value, text = file
    assert jsonc.value_of(text) == value
    servers = value.get("mcpServers")
    possible = servers is None or (type(servers) is dict and type(servers.get("scorpio", {})) in (dict, type(None)))
    try:
        edited = jsonc.with_entry(text, PATH, ENTRY)
    except EditFailure:
        assert not possible
        return
    assert possible
    assert jsonc.entry_at(edited, PATH) == {**((servers or {}).get("scorpio") or {}), **ENTRY}
    assert jsonc.with_entry(edited, PATH, ENTRY) == edited
    removed = jsonc.value_of(jsonc.without_entry(edited, PATH))
    rest = {key: item for key, item in (servers or {}).items() if key != "scorpio"}
    assert removed == {**value, "mcpServers": rest}
    assert text.count("// x }{,") <= edited.count("// x }{,")
