"""The dialog of AskUserQuestion as a state: which keys do what, and what stands where on screens of any size."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.core.ask_user_question.answers import answered
from tools.core.ask_user_question.cells import cell_width, cut, tail, text_width, wrap
from tools.core.ask_user_question.dialog import Dialog
from tools.core.ask_user_question.keys import PASTE, Keys
from tools.core.ask_user_question.questions import Option, Question, parse
from tools.core.limits import TYPED_ANSWER_CHARS_MAX

ONE = {"question": "Which?", "options": ["A", "B", "C"]}
SEVERAL = {**ONE, "multiSelect": True}
FREE = {"question": "Name?"}
UP, DOWN, LEFT, ESC = "\x1b[A", "\x1b[B", "\x1b[D", "\x1b"


def dialog_of(*questions: dict[str, Any]) -> tuple[Dialog, list[Question]]:
    parsed = parse(json.dumps(questions), "AskUserQuestion")
    return Dialog(parsed), parsed


def played(typed: str, *questions: dict[str, Any]) -> Any:
    """What stands in the answer once `typed` was typed: `selected` of each question, or the outcome."""
    dialog, parsed = dialog_of(*questions)
    keys = Keys()
    for key in (*keys.feed(typed.encode()), *keys.flush()):
        dialog.press(key)
    if dialog.outcome != "answered":
        return dialog.outcome
    return [entry["selected"] for entry in json.loads(answered(parsed, dialog.answers()))["answers"]]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("\r", ["A"]),
        (" ", ["A"]),
        (DOWN + "\r", ["B"]),
        ("\x1bOB\r", ["B"]),
        ("j\r", ["B"]),
        ("jjk\r", ["B"]),
        (DOWN + DOWN + UP + "\r", ["B"]),
        ("\x0e\x0e\x10\r", ["B"]),
        ("kkk\r", ["B"]),
        ("jjjj\r", ["A"]),
        ("3", ["C"]),
        ("9\r", ["A"]),
        ("0\r", ["A"]),
        ("x\x1bjé\x1b[99;5u\x01\r", ["A"]),
        ("4mine\r", ["mine"]),
        ("k\rmine\r", ["mine"]),
        ("4 a b \r", ["a b"]),
        ("4wrong\x15right\r", ["right"]),
        ("4ab\x7f\x7f\x7fc\r", ["c"]),
        ("4\r\rmine\r", ["mine"]),
        ("4" + ESC, ""),
        ("4名前é\r", ["名前é"]),
        ("4\x1b[200~one\r\ntwo\tthree\x1b[201~\r", ["one two three"]),
        ("\x1b[200~2\r\x1b[201~\r", ["A"]),
        (ESC, "cancelled"),
        ("\x03", "cancelled"),
        ("\x04", "cancelled"),
        ("j", ""),
    ],
)
def test_a_choice_of_one_is_made_with_these_keys(typed: str, expected: Any) -> None:
    assert played(typed, ONE) == expected


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        (" j \r", [["A", "B"]]),
        ("13\r", [["A", "C"]]),
        ("131\r", [["C"]]),
        ("j\r", [["B"]]),
        ("4mine\r2\r", [["B", "mine"]]),
        ("4mine\r4\r", ""),
        ("4mine\r4j\r", [["A"]]),
        (" " + ESC, "cancelled"),
    ],
)
def test_a_choice_of_several_is_made_with_these_keys(typed: str, expected: Any) -> None:
    assert played(typed, SEVERAL) == expected


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("Larch\r", ["Larch"]),
        ("jk 1\r", ["jk 1"]),
        ("\r\r  \rx\r", ["x"]),
        (ESC, "cancelled"),
        ("\x1b[A\x1b[5~a\r", ["a"]),
        ("x" * (TYPED_ANSWER_CHARS_MAX + 100) + "\r", ["x" * TYPED_ANSWER_CHARS_MAX]),
        ("a\0\x1b]b\u202ec\r", ["abc"]),
    ],
)
def test_an_answer_is_typed(typed: str, expected: Any) -> None:
    assert played(typed, FREE) == expected


def test_questions_come_one_after_the_other_and_back() -> None:
    assert played("2" + "12\r" + "Larch\r", ONE, SEVERAL | {"question": "More?"}, FREE) == [
        "B",
        ["A", "B"],
        "Larch",
    ]
    assert played("2" + LEFT + "3" + LEFT + LEFT + "\x1b[D" + "1" + "x\r", ONE, FREE) == ["A", "x"]


def test_keys_after_the_last_answer_are_not_taken() -> None:
    assert played("2" + "3" + ESC, ONE) == ["B"]


# -- keys


KEY_BYTES = b"a\xc3\xa9\r\x1b[A\x1b[B\x1b\x1b[D\x1b[5~\xe5\x90\x8d\x1b[200~p\xe5\x90\x8d\x1b[201~\x7f\x1bOB "


@given(st.lists(st.integers(0, len(KEY_BYTES)), max_size=8))
def test_bytes_in_any_cut_are_the_same_keys(cuts: list[int]) -> None:
    keys, found, begin = Keys(), [], 0
    for end in (*sorted(cuts), len(KEY_BYTES)):
        found += keys.feed(KEY_BYTES[begin:end])
        begin = end
    assert found == Keys().feed(KEY_BYTES)
    assert PASTE + "p名" in found


@given(st.binary(max_size=200))
def test_any_bytes_are_keys_or_nothing(data: bytes) -> None:
    keys = Keys()
    dialog, _ = dialog_of(SEVERAL, FREE)
    for key in (*keys.feed(data), *keys.flush()):
        assert key.startswith("<") or (len(key) == 1 and key.isprintable())
        dialog.press(key)
    assert not keys.pending


def test_a_paste_without_end_is_not_kept_for_ever() -> None:
    keys = Keys()
    pasted = keys.feed(b"\x1b[200~" + b"x" * 70_000)
    assert [key[: len(PASTE)] for key in pasted] == [PASTE]
    assert 60_000 < len(pasted[0]) < 66_000


# -- what is shown


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("one two three", 7, ["one two", "three"]),
        ("one two three", 8, ["one two", "three"]),
        ("abcdefgh", 3, ["abc", "def", "gh"]),
        ("数据库是什么", 5, ["数据", "库是", "什么"]),
        ("数据库", 1, ["数", "据", "库"]),
        ("e\u0301e\u0301e\u0301", 2, ["e\u0301e\u0301", "e\u0301"]),
        ("a\n\nb", 9, ["a", "", "b"]),
        ("", 9, [""]),
        ("a\u3000b", 9, ["a  b"]),
    ],
)
def test_text_is_wrapped_by_cells(text: str, width: int, lines: list[str]) -> None:
    assert wrap(text, width) == lines


@given(st.text(), st.integers(2, 30))
def test_no_part_of_a_text_is_wider_than_asked(text: str, width: int) -> None:
    assert all(text_width(line) <= width for line in wrap(text, width))
    assert text_width(cut(text, width)) <= width
    assert text.endswith(tail(text, width))
    assert text_width(tail(text, width)) <= width


texts = st.text(min_size=1, max_size=60).filter(str.strip)
questions = st.builds(
    Question,
    texts,
    st.text(max_size=20),
    st.lists(st.builds(Option, texts, st.text(max_size=80)), max_size=20),
    st.just(Option("Other", "an answer of your own")),
    multi=st.booleans(),
)


@given(
    st.lists(questions, min_size=1, max_size=3),
    st.integers(1, 100),
    st.integers(1, 40),
    st.lists(
        st.sampled_from(["j", "k", "<up>", " ", "<enter>", "字", "x", "5", "<page down>", "<page up>", "<escape>"])
    ),
)
def test_a_frame_fits_any_screen_and_shows_where_the_mark_is(
    asked: list[Question], columns: int, lines: int, typed: list[str]
) -> None:
    dialog = Dialog(asked)
    for key in typed:
        dialog.press(key)
        frame = dialog.frame(columns, lines)
        assert 1 <= len(frame.rows) <= lines
        for row in frame.rows:
            assert all(char.isprintable() for char in row.text)
            assert text_width(row.text) <= max(2, columns - 1)  # a wide character needs two cells anywhere
        if frame.cursor is not None:
            assert 0 <= frame.cursor[0] < lines
            assert 0 <= frame.cursor[1] < max(2, columns)
        shows_choices = dialog.outcome == "" and frame.cursor is None and not dialog._page.typing
        if key in ("j", "k", "<up>") and shows_choices and columns > 8:
            assert any(row.text.startswith(">") for row in frame.rows)


def test_a_long_question_is_read_with_page_keys() -> None:
    dialog, _ = dialog_of({"question": "\n".join(f"line {n}" for n in range(40)), "options": ["A", "B"]})
    assert dialog.frame(40, 10).rows[0].text == "line 0"
    for _ in range(3):
        dialog.press("<page down>")
    assert dialog.frame(40, 10).rows[0].text == "line 15"
    dialog.press("j")
    assert "> 2. B" in [row.text for row in dialog.frame(40, 10).rows]


def test_the_keys_that_matter_stay_where_the_screen_is_narrow() -> None:
    dialog, _ = dialog_of(SEVERAL)
    assert dialog.frame(100, 20).rows[-1].text == "Up/Down: move   Space, 1-9: tick   Enter: done   Esc: cancel"
    assert dialog.frame(40, 20).rows[-1].text == "Enter: done   Esc: cancel"
    assert dialog.frame(20, 20).rows[-1].text == "Esc: cancel"


def test_wide_characters_take_two_cells() -> None:
    assert [cell_width(char) for char in "a字ｱＡé\u0301"] == [1, 2, 1, 2, 1, 0]
    assert all(unicodedata.east_asian_width(char) in "WF" for char in "字Ａ")
