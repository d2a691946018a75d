"""Front matter as JSON values: the same as another parser of YAML 1.2 reads, or refused with its line."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from scorpio.front_matter import front_matter
from scorpio.yaml_flow import NotPlain

pytestmark = pytest.mark.requirement("skills-extension:front-matter")


def theirs(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(text)


def same(one: Any, other: Any) -> bool:
    return json.dumps(one, sort_keys=True, default=str) == json.dumps(other, sort_keys=True, default=str)


READ = (
    "name: x\ndescription: hello world # c",
    "a: |\n  x\n   y\n\n  z\nb: >-\n  x\n  y\n\n   more\n  z\n\n  w\nc: >+\n  a\n\nd: e",
    "a: [a, b c, 'd', \"e\\n\", 1, 1.5, true, null, ~, [x], {k: v, z: }]\nb: {a: 1, b: [2], \"c\": 'x', d: }",
    "list:\n- a\n- b: 1\n  c: 2\n-\n  - x\n  - y\n- - p\n  - q",
    'm:\n  version: "2.1.0"\n  nested:\n    k: v\nempty:',
    "a: 'it''s\n  two\n\n  lines'\nb: \"x \\\n  y\n  z\"",
    "a: b\n  c\n\n  d\ne: f",
    "neg: -5\nf: 1.0\nx: 0x1F\no: 0o7\ne: 1e3\nv: 1.2.3\nn: 010\ny: yes",
    "k: http://x.y/z#frag\nk2: a:b\nk3: -x\nk4: ?x",
    'allowed-tools: Bash(git *), Read\nargument-hint: "[a] [b]"',
    "a: [x,\n  y,\n  z]\nb: {\n  k: v\n  }",
    "\"quoted key\": 1\n'q2': 2",
    "a: |2\n    x\n   y\nb: >\n  \n  x\n\n  \n  y\nc: d",
    "a:\n  # comment\n  b: 1\n# c\n  c: 2",
    'a: "\\x41\\u00e9\\U0001F600\\/"',
    "a:\n  b\n  c",
    "a: |\nb: 1",
    "a: |-",
    "a: x",
)

REFUSED = {
    "a: &x b": "begins with &",
    "a: *x": "begins with \\*",
    "a: !!python/object/apply:os.system [x]": "begins with !",
    "<<: {a: 1}": "the key '<<'",
    "? a\n: b": "is a key of more than one word",
    "1: x": "is not text in YAML",
    "a: {x: 1, y}": "names, each once",
    "a: {x: ?0}": "begins with \\?",
    "a: [:b]": "begins with :",
    "a: b: c": "line 2 has a colon in text without quotes",
    "x: 1\na: [b, c": "line 3 opens a quote or a bracket",
    'a: "open': "opens a quote",
    "a: 1\na: 2": "a second time",
    "a: 99999999999999999999": "53 bits",
    "a: .inf": "JSON does not have",
    "\ta: b": "tab",
    "a: @x": "begins with @",
    'a: "x" y': "goes on after the end",
    "a: x\n...": "mark between documents",
    "a: \x07": "characters",
    "- a": "no mapping",
    "a: " + "[" * 40: "nested deeper",
    "argument-hint: [a] [b]": "goes on after the end",
}


@pytest.mark.parametrize("text", READ)
def test_front_matter_is_read_as_another_parser_reads_it(text: str) -> None:
    assert same(front_matter(f"---\n{text}\n---\nBody\n"), theirs(text + "\n"))


@pytest.mark.parametrize(("text", "why"), REFUSED.items(), ids=range(len(REFUSED)))
def test_what_two_parsers_may_read_in_two_ways_is_refused_with_its_line(text: str, why: str) -> None:
    with pytest.raises(NotPlain, match=why):
        front_matter(f"---\n{text}\n---\n")


@pytest.mark.parametrize("text", ["", "# Heading\n", "---\na: 1\n", " ---\na: 1\n---\n", "---\n---\n"])
def test_text_without_front_matter_is_refused(text: str) -> None:
    with pytest.raises(NotPlain, match="does not begin with front matter"):
        front_matter(text)


@pytest.mark.parametrize("text", ["\ufeff---\na: 1\n---\n", "---\r\na: 1\r\n---\r\nx", "---\na: 1\n---"])
def test_byte_order_marks_and_windows_line_ends_are_borne(text: str) -> None:
    assert front_matter(text) == {"a": 1}


SCALARS = st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=120)
KEYS = st.text("abcdefghijklmnopqrstuvwxyz-_", min_size=1, max_size=12)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)


@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=5), st.sampled_from([True, False, None]))
def test_whatever_another_program_writes_is_read_as_it_reads_it_or_refused(
    value: dict[str, Any], flow: bool | None
) -> None:
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = flow
    out = io.StringIO()
    yaml.dump(value, out)
    text = out.getvalue().removesuffix("...\n")
    try:
        read = front_matter(f"---\n{text.rstrip(chr(10))}\n---\n")
        expected = theirs(text)
    except (NotPlain, YAMLError):  # nor does that writer's own reader take all that it writes
        return
    assert same(read, expected)  # not `value`: that writer folds lines of quoted text where it should not


@given(st.text(st.sampled_from("ab:-?#'\"[]{},|> \n\t~1."), max_size=60))
def test_no_text_is_read_as_something_else_than_another_parser_reads(text: str) -> None:
    try:
        read = front_matter(f"---\n{text}\n---\n")
        expected = theirs(text + "\n")
    except (NotPlain, YAMLError):
        return
    assert same(read, expected)
