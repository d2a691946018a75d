"""Front matter as people write it: what PyYAML reads is read the same, what it refuses is read as far as it goes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.core.invoke_skill.front_matter import FAULTS_MAX, FrontMatter, read
from tools.core.limits import SKILL_ARGUMENT_NAMES_MAX, SKILL_DESCRIPTION_CHARS_MAX


def about(*lines: str) -> FrontMatter:
    front, body = read("\n".join(["---", *lines, "---", "The body.", ""]))
    assert body == "The body.\n"
    return front


VALID = {
    "plain": (["description: Does it"], "Does it"),
    "double quotes": (['description: "Does: it # so" # note'], "Does: it # so"),
    "single quotes": (["description: 'It''s \\n so'"], "It's \\n so"),
    "escapes": (['description: "a\\tb \\"c\\" \\u00e9\\x41 \\\\ \\/"'], 'a b "c" éA \\ /'),
    "a comment": (["description: Does it # note"], "Does it"),
    "a hash in a word": (["description: Fix issue#5 of C#"], "Fix issue#5 of C#"),
    "folded": (["description: >-", "  Does it.", "  Twice.", "", "  And again."], "Does it. Twice. And again."),
    "literal": (["description: |2+ # note", "  Does: it", "    # deeper"], "Does: it # deeper"),
    "on the next lines": (["description:", "  Does it", "  well", "name: x"], "Does it well"),
    "going on": (["description: Does it", "  and more # note", "  # only a note"], "Does it and more"),
    "quotes over lines": (['description: "Does', "  it: so", '  well"'], "Does it: so well"),
    "after nested keys": (
        ["metadata:", "  description: no", "  tags:", "  - a", "description: yes it is"],
        "yes it is",
    ),
    "a list": (["description:", "- a", "# note", "- 'b: c'"], "a, b: c"),
    "a flow list": (["description: [a, 'b c']"], "a, b c"),
    "a date stays text": (["description: 2024-01-01"], "2024-01-01"),
    "a quoted key": (['"description": x'], "x"),
    "a path and a URL": (["description: C:\\x and http://a.b/c"], "C:\\x and http://a.b/c"),
    "null": (["description: ~"], "The body."),
    "nothing": (["description:"], "The body."),
    "no such key": (["name: x"], "The body."),
    "when to use": (["description: Does it.", "when_to_use: On Mondays."], "Does it. On Mondays."),
}


@pytest.mark.parametrize(("lines", "description"), VALID.values(), ids=VALID)
def test_valid_front_matter_is_read_as_yaml_means_it(lines: list[str], description: str) -> None:
    front = about(*lines)
    assert (front.description, front.faults) == (description, [])


DAMAGED = {
    "a colon in plain text": (["description: Use when: asked"], "Use when: asked", "colon"),
    "quotes that do not match": (['description: "Does it'], '"Does it', "quotes"),
    "text after the quotes": (["description: 'a' b"], "'a' b", "quotes"),
    "a broken list": (["description: [a] [b]"], "[a] [b]", "list"),
    "an open list": (["description: [a, b"], "[a, b", "list"),
    "an alias": (["description: *x"], "*x", "begins with *"),
    "an anchor": (["description: &x Does it"], "&x Does it", "begins with &"),
    "a tag": (["description: !!python/object/apply:os.system ['id']"], None, "begins with !"),
    "a tag on a list": (["description: !!python/tuple", "- a"], None, "begins with !"),
    "a map": (["description: {a: b}"], "{a: b}", "begins with {"),
    "text that is no key": (["description: Does it", "what is this"], "Does it", "line 3 is not KEY: VALUE"),
    "the same key twice": (["description: a", "description: b"], "b", "twice"),
    "tabs": (["description:", "\tDoes it: so"], "Does it: so", "colon"),
    "control characters": (["description: a\x1b[31m\x07b\u202ec\u200b\U000e0041", "x"], "a[31mbc", "line 3"),
}


@pytest.mark.parametrize(("lines", "description", "fault"), DAMAGED.values(), ids=DAMAGED)
def test_damaged_front_matter_is_read_as_far_as_it_goes_and_named(
    lines: list[str], description: str | None, fault: str
) -> None:
    front = about(*lines)
    assert any(fault in said for said in front.faults), front.faults
    if description is not None:
        assert front.description == description


@pytest.mark.parametrize(
    ("content", "body"),
    [
        ("no front matter\n", "no front matter\n"),
        ("", ""),
        ("--- \r\ndescription: x\r\n---\r\nbody\r\n", "body\n"),
        ("\ufeff---\ndescription: x\n---\nbody", "body"),
        ("---\n---\nbody\n---\nmore", "body\n---\nmore"),
        ("---\ndescription: x", "---\ndescription: x"),
        ("\n---\ndescription: x\n---\n", "\n---\ndescription: x\n---\n"),
    ],
)
def test_the_body_is_what_follows_the_second_line_of_dashes(content: str, body: str) -> None:
    assert read(content)[1] == body


def test_an_end_that_is_missing_is_named() -> None:
    front, _ = read("---\ndescription: x\n# Title\n")
    assert front.faults == ["there is no second line --- that ends the front matter; all of it is taken as the text"]
    assert front.description == "---"


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        (["arguments: issue branch"], ("issue", "branch")),
        (["arguments: [issue, old-name]"], ("issue", "old-name")),
        (["arguments:", "- issue", '- "branch"'], ("issue", "branch")),
        (["arguments: []"], ()),
        (["name: x"], ()),
    ],
)
def test_arguments_are_named_by_a_list_or_by_words(lines: list[str], names: tuple[str, ...]) -> None:
    front = about(*lines)
    assert (front.arguments, front.faults) == (names, [])


def test_a_name_that_cannot_stand_behind_a_dollar_keeps_its_place() -> None:
    front = about("arguments: [a, 1st, $b, ARGUMENTS, c]")
    assert front.arguments == ("a", "", "", "", "c")
    assert len(front.faults) == 3


def test_more_names_than_anybody_needs_are_ignored() -> None:
    assert len(about("arguments: " + "a " * 1000).arguments) == SKILL_ARGUMENT_NAMES_MAX


@pytest.mark.parametrize("hint", ["[file]", "[--init] [a|b] <x>", '"[file]"', "[file] # note"])
def test_a_hint_is_text_whatever_yaml_would_make_of_it(hint: str) -> None:
    front = about(f"argument-hint: {hint}")
    assert (front.argument_hint, front.faults) == (hint.removesuffix(" # note").strip('"'), [])


@pytest.mark.parametrize(
    ("lines", "for_model", "for_user"),
    [
        ([], True, True),
        (["disable-model-invocation: true"], False, True),
        (["disable-model-invocation: 'Yes'", "user-invocable: false"], False, False),
        (["disable-model-invocation: maybe", "user-invocable: TRUE"], True, True),
    ],
)
def test_who_may_invoke_is_read(lines: list[str], for_model: bool, for_user: bool) -> None:
    front = about(*lines)
    assert (front.for_model, front.for_user) == (for_model, for_user)


BOMB = [f"{name}: &{name} [{','.join([f'*{below}'] * 9)}]" for below, name in pairwise("abcdefghij")]


def test_a_bomb_of_aliases_is_a_few_lines_of_text() -> None:
    front = about("a: &a [x,x,x,x,x,x,x,x,x]", *BOMB, "description: [*j, *j]")
    assert front.description == "*j, *j"


@pytest.mark.parametrize(
    "content",
    [
        "---\ndescription: " + "[" * 60_000 + "\n---\n",
        "---\ndescription: " + '"' * 60_000 + "\n---\n",
        "---\ndescription: " + "{a: " * 15_000 + "\n---\n",
        "---\n" + "description:\n" * 5_000 + "---\n",
        "---\n" + "- " * 30_000 + "\n---\n",
        "---\n" + " \n" * 30_000 + "---\n",
        "---\ndescription:\n" + "- a\n" * 15_000 + "---\n",
        "---\n" * 16_000,
        "\n" * 64_000 + "x",
    ],
    ids=["brackets", "quotes", "maps", "keys", "dashes", "blanks", "items", "fences", "empty lines"],
)
@pytest.mark.timeout(15)  # milliseconds, unless something is quadratic
def test_what_is_built_to_take_long_does_not(content: str) -> None:
    front, _ = read(content)
    assert len(front.description) <= SKILL_DESCRIPTION_CHARS_MAX
    assert len(front.faults) <= FAULTS_MAX


@given(st.text(alphabet=st.sampled_from([*"ab:-[]{}\"'\\|>#&*!%@`,~ \n\t\r\0\ufeff\u2028é"]), max_size=300))
def test_any_text_is_read_without_an_error(text: str) -> None:
    for content in (text, f"---\n{text}\n---\n{text}", f"---\ndescription: {text}\narguments: {text}\n---\n"):
        front, body = read(content)
        assert front.description.isprintable()
        assert front.argument_hint.isprintable()
        assert body in content.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
