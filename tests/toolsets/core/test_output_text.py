"""What a program printed becomes text that is valid, bounded and honest, whatever the bytes are."""

from __future__ import annotations

import json
import os
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.core.output_log import (
    WHOLE_BYTES_MAX,
    Rendered,
    binary_kind,
    count_characters,
    duration_text,
    last_lines,
    render_log,
    size_text,
)
from tools.core.output_text import clean, clean_bytes, head, one_line, tail, whole_prefix

ESC = "\x1b"

CLEANED = [
    ("plain", "a\tb\nc", "a\tb\nc"),
    ("colour", f"{ESC}[1;31mred{ESC}[0m!", "red!"),
    ("cursor", f"{ESC}[2J{ESC}[Hx{ESC}[?25l", "x"),
    ("one-byte CSI", "a\x9b31mb", "ab"),
    ("title ended by BEL", f"{ESC}]0;title\x07x", "x"),
    ("title ended by ST", f"{ESC}]0;title{ESC}\\x", "x"),
    ("link", f"{ESC}]8;;http://x{ESC}\\text{ESC}]8;;{ESC}\\", "text"),
    ("device control", f"{ESC}Pq#0{ESC}\\x", "x"),
    ("character set", f"{ESC}(Bx{ESC}=y", "xy"),
    ("title that never ends", f"{ESC}]0;a\nb", "0;a\nb"),
    ("sequence in a sequence", f"{ESC}{ESC}[31m[0mx", "[0mx"),
    ("lone escape", f"a{ESC}", "a"),
    ("CR LF", "a\r\nb\r\r\nc", "a\nb\nc"),
    ("progress", "10%\r55%\r100%\ndone", "100%\ndone"),
    ("progress without an end", "10%\r55%\r", "55%"),
    ("progress by first column", f"10%{ESC}[1G{ESC}[2K55%{ESC}[G99%", "99%"),
    ("overstrike", "b\bbo\bol\bld\bd _\bu", "bold u"),
    ("spinner", "|\b/\b-\b\\\bdone", "done"),
    ("backspace at the start", "\b\bab", "ab"),
    ("more backspaces than text", "ab\b\b\b\bc\nd", "c\nd"),
    ("controls", "a\x00b\x01c\x07d\x7fe\x0bf\x0cg", "abcdefg"),
    ("C1 controls", "a\x85b\x80c", "abc"),
    ("bidi", "a\u202eb\u2066c\u200fd", "a\\u202eb\\u2066c\\u200fd"),
    ("zero width", "a\u200bb\u2060c\ufeffd\u00ade", "a\\u200bb\\u2060c\\ufeffd\\u00ade"),
    ("tags", "a\U000e0041b", "a\\U000e0041b"),
    ("line separators", "a\u2028b\u2029c", "a\\u2028b\\u2029c"),
    ("emoji keep their selector", "\u26a0\ufe0f", "\u26a0\ufe0f"),
    ("a run of selectors carries bits", "a\ufe0f\ufe0e\ufe01", "a\ufe0f\\ufe0e\\ufe01"),
    ("letters of any script", "żółć 日本語 עברית 한국어", "żółć 日本語 עברית 한국어"),
]


@pytest.mark.parametrize(("given_text", "shown"), [row[1:] for row in CLEANED], ids=[row[0] for row in CLEANED])
def test_output_is_shown_without_what_only_moves_a_cursor_or_hides(given_text: str, shown: str) -> None:
    assert clean(given_text) == shown


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"caf\xc3\xa9", "café"),
        (b"\xff\xfea", "\ufffd\ufffda"),
        (b"\xf0\x9f\x98", "\ufffd"),
        (b"\xed\xa0\x80", "\ufffd\ufffd\ufffd"),
        (b"\xc0\xaf", "\ufffd\ufffd"),
    ],
)
def test_invalid_utf_8_is_replaced(raw: bytes, shown: str) -> None:
    assert clean_bytes(raw) == shown


VISIBLE_FORMATS = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd" + "".join(
    chr(number) for number in range(0x13430, 0x13440)
)
"""Format characters with a glyph: signs above Arabic and Kaithi numbers, joints of hieroglyphs."""

OUTPUT = st.lists(
    st.one_of(
        st.binary(max_size=40),
        st.text(max_size=20).map(lambda value: value.encode("utf-8", "surrogatepass")),
        st.sampled_from([b"\x1b[31m", b"\x1b]0;t\x07", b"\x1b]", b"\x1b[", b"\x1b", b"\r", b"\n", b"\b", b"\xc2\x9d"]),
        st.sampled_from(["\u202e".encode(), "\u00ad".encode(), "日".encode(), b"\xe6\x97", b"x" * 3000, b"\r\n"]),
    ),
    max_size=60,
).map(b"".join)


@given(OUTPUT)
def test_any_bytes_become_valid_text_without_controls(raw: bytes) -> None:
    shown = clean_bytes(raw)
    assert json.loads(json.dumps(shown).encode()) == shown
    assert shown.encode().decode() == shown
    assert not [c for c in shown if unicodedata.category(c) in ("Cc", "Cs", "Cf") and c not in VISIBLE_FORMATS + "\n\t"]
    assert clean(shown) == shown


@given(OUTPUT, OUTPUT)
def test_lines_are_cleaned_independently(first: bytes, second: bytes) -> None:
    assert clean_bytes(first + b"\n" + second) == clean_bytes(first) + "\n" + clean_bytes(second)


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        (b"abc", 3),
        (b"ab\xc3", 2),
        (b"ab\xe6\x97", 2),
        (b"ab\xf0\x9f\x98", 2),
        (b"ab\xff", 3),
        (b"ab\x80", 3),
        (b"ab\r", 2),
        (b"ab\r\r", 2),
        (b"ab\x1b", 2),
        (b"ab\x1b[3", 2),
        (b"ab\x1b[31m", 7),
        (b"ab\x1b]0;ti", 2),
        (b"ab\x1b]0;ti\x1b", 2),
        (b"ab\x1b]0;ti\x1b\\", 10),
        (b"ab\x1b(", 2),
        (b"10%\r20%", 7),
    ],
)
def test_what_may_be_the_first_half_of_something_is_held_back(raw: bytes, kept: int) -> None:
    assert whole_prefix(raw) == kept


def test_a_sequence_that_does_not_end_is_not_awaited_for_ever() -> None:
    raw = b"\x1b]" + b"a" * 10_000
    assert whole_prefix(raw) == len(raw)


def test_a_progress_bar_whose_next_state_is_there_already_is_cut_between_states() -> None:
    assert whole_prefix(b"x\n10%\r20%\r3", more=True) == 9


@given(OUTPUT, st.integers(1, 50))
def test_pieces_that_were_held_back_join_to_the_same_text(raw: bytes, step: int) -> None:
    for overwriting in (b"\r", b"\b", b"G"):  # what changes the line so far, `G` by going to its first column
        raw = raw.replace(overwriting, b"")
    shown, held = "", b""
    for start in range(0, len(raw), step):
        held += raw[start : start + step]
        whole = whole_prefix(held)
        shown += clean_bytes(held[:whole])
        held = held[whole:]
    assert "\x1b" not in shown
    if len(raw) < 4096 and b"\xc2" not in raw and b"\xef\xb8" not in raw:  # C1 sequences, runs of selectors: not held
        assert shown + clean_bytes(held) == clean_bytes(raw)


@given(OUTPUT, st.integers(4200, 12_000))
def test_head_and_tail_keep_the_bound_and_take_what_they_say(raw: bytes, chars_max: int) -> None:
    raw = raw[: whole_prefix(raw)]
    first, used = head(raw, chars_max)
    last, start = tail(raw, chars_max)
    assert len(first) <= chars_max
    assert len(last) <= chars_max
    if used == len(raw):
        assert first == clean_bytes(raw)
    if start == 0:
        assert last == clean_bytes(raw)
    if raw and clean_bytes(raw):
        assert used > 0
        assert start < len(raw)


def test_head_and_tail_are_cut_at_lines() -> None:
    raw = b"".join(b"line %d\n" % number for number in range(1000))
    first, used = head(raw, 100)
    last, start = tail(raw, 100)
    assert first.endswith("\n")
    assert raw[:used].decode() == first
    assert last.startswith("line ")
    assert raw[start:].decode() == last


def test_a_very_long_line_is_cut_inside_at_a_character() -> None:
    first, used = head("日本".encode() * 50_000, 30_000)
    last, start = tail("日本".encode() * 50_000, 30_000)
    assert set(first) == set(last) == set("日本")
    assert 29_900 < len(first) <= 30_000
    assert 29_900 < len(last) <= 30_000
    assert used == 3 * len(first)
    assert 300_000 - start == 3 * len(last)


def test_a_sequence_is_not_cut_open_by_the_tail() -> None:
    last, _ = tail(b"\x1b[38;5;196mred\x1b[0m" * 5000, 1000)
    assert set(last) == set("red")


def test_a_name_in_a_sentence_stays_on_its_line() -> None:
    assert one_line("a\nb\t c\x1b[31m", 20) == "a b c"
    assert one_line("x" * 500, 10) == "x" * 9 + "…"


# -- a log


def render(path: Path, content: bytes, chars_max: int = 30_000) -> Rendered:
    path.write_bytes(content)
    with path.open("rb") as file:
        return render_log(file.fileno(), len(content), "/the/log", chars_max)


def omitted(rendered: Rendered) -> tuple[str, int, str]:
    """(before, number of characters, after) of the sentence in the middle."""
    before, _, rest = rendered.text.partition("[… ")
    number, _, after = rest.partition(" characters omitted; full output: /the/log …]\n")
    return before, int(number.replace(",", "")), after


def test_output_up_to_the_bound_is_whole(tmp_path: Path) -> None:
    rendered = render(tmp_path / "log", b"x" * 30_000)
    assert rendered.text == "x" * 30_000
    assert rendered.complete


@pytest.mark.parametrize("count", [10_000, 200_000])
def test_longer_output_is_head_number_and_tail_and_they_add_up(tmp_path: Path, count: int) -> None:
    content = "".join(f"{number} zażółć\n" for number in range(count)).encode()
    rendered = render(tmp_path / "log", content)
    before, number, after = omitted(rendered)
    assert len(rendered.text) <= 30_000
    assert not rendered.complete
    assert before.startswith("0 zażółć\n1 zażółć\n")
    assert before.endswith("ć\n")
    assert after.endswith(f"{count - 1} zażółć")
    assert len(before) + number + len(after) + 1 == len(content.decode())
    assert 0.35 < len(before) / 30_000 < 0.41
    assert 0.55 < len(after) / 30_000 < 0.61


@pytest.mark.parametrize("line", [b"x" * 400_000, b"x" * 400_000 + b"\n", "日".encode() * 200_000])
def test_one_endless_line_is_head_number_and_tail_too(tmp_path: Path, line: bytes) -> None:
    before, number, after = omitted(render(tmp_path / "log", line))
    assert len(before.rstrip("\n")) + number + len(after) == len(line.decode().rstrip("\n"))
    assert 0.35 < len(before) / 30_000 < 0.41
    assert 0.55 < len(after) / 30_000 < 0.61


def test_a_progress_bar_shrinks_before_anything_is_left_out(tmp_path: Path) -> None:
    bar = b"".join(b"\r%d of 9999" % number for number in range(10_000))
    assert render(tmp_path / "log", b"start" + b"\n" + bar + b"\n").text == "start\n9999 of 9999"


def test_empty_output_is_empty_text(tmp_path: Path) -> None:
    assert render(tmp_path / "log", b"").text == ""
    assert render(tmp_path / "log", b"\n\n").text == ""


def test_a_list_that_ends_its_items_with_nul_is_lines(tmp_path: Path) -> None:
    assert render(tmp_path / "log", b"./one name\0./another\0").text == "./one name\n./another"


def test_binary_output_is_named_and_not_shown(tmp_path: Path) -> None:
    rendered = render(tmp_path / "log", b"\x89PNG\r\n\x1a\n" + os.urandom(3000))
    assert rendered.text == "[binary output: PNG image, 2.9 KB, not shown; saved: /the/log]"
    assert not rendered.complete


@pytest.mark.parametrize(
    ("sample", "kind"),
    [
        (b"", ""),
        (b"text\n" * 100, ""),
        ("żółć 日本語\n".encode() * 100, ""),
        ("日本語".encode()[:-1], ""),
        (b"%PDF-1.4 is how a PDF begins\n", ""),
        (b"\x1b[31mred\x1b[0m\r\n" * 20, ""),
        (b"\xff\xfe\x00\x01\x1b[31mred\x1b[0m\r\n\xed\xa0\x80 caf\xc3\xa9 \xf0\x9f\x98", ""),
        (b"a latin-1 caf\xe9 in a line of text\n" * 5, ""),
        (bytes(range(256)) * 8, "binary data"),
        (b"\x7fELF\x02\x01\x01" + bytes(200), "ELF executable"),
        (b"\x1f\x8b\x08" + bytes(range(128, 256)), "gzip data"),
        ("text".encode("utf-16"), "UTF-16 text"),
        (b"\0" * 512, "binary data"),
    ],
)
def test_text_is_told_from_binary_by_its_beginning(sample: bytes, kind: str) -> None:
    assert binary_kind(sample) == kind


@given(OUTPUT, st.integers(2000, 30_000))
def test_any_log_is_rendered_within_the_bound(content: bytes, chars_max: int) -> None:
    descriptor = os.memfd_create("log") if hasattr(os, "memfd_create") else os.open(os.devnull, os.O_RDWR)
    try:
        os.write(descriptor, content)
        rendered = render_log(descriptor, os.fstat(descriptor).st_size, "/the/log", chars_max)
    finally:
        os.close(descriptor)
    assert len(rendered.text) <= chars_max
    assert rendered.text.encode().decode() == rendered.text
    assert rendered.complete == ("/the/log" not in rendered.text)


def test_a_log_that_shrank_is_rendered_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"short")
    with path.open("rb") as file:
        assert "short" in render_log(file.fileno(), 5 * WHOLE_BYTES_MAX, "/the/log", 30_000).text


def test_characters_are_counted_over_the_borders_of_reads(tmp_path: Path) -> None:
    path = tmp_path / "log"
    content = b"x" + "日".encode() * 200_000 + b"\xff"
    path.write_bytes(content)
    with path.open("rb") as file:
        assert count_characters(file.fileno(), 0, len(content)) == 200_002
        assert count_characters(file.fileno(), 1, 4) == 1


def test_the_newest_lines_are_told_while_a_command_runs(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"".join(b"step %d\n" % number for number in range(10_000)) + b"10%\r20%\rhalf\x1b[3")
    with path.open("rb") as file:
        newest = last_lines(file.fileno(), 100)
    assert newest.startswith("step 99")
    assert newest.endswith("\nstep 9999\nhalf")


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KB"), (4200, "4.1 KB"), (1048575, "1.0 MB"), (1 << 30, "1.0 GB")],
)
def test_sizes_are_short(count: int, shown: str) -> None:
    assert size_text(count) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.4, "0s"), (31, "31s"), (272, "4m32s"), (7500, "2h05m"), (273600, "3d04h"), (-5, "0s")]
)
def test_durations_are_short(seconds: float, shown: str) -> None:
    assert duration_text(seconds) == shown


def test_a_line_that_begins_a_sequence_and_never_ends_it_has_a_head() -> None:
    """Found by fuzzing: nothing at all was shown of it."""
    raw = b"\x1b]\xe2\x80\xa8" + b"x" * 40_000
    first, used = head(raw, 4200)
    assert used > 0
    assert 0 < len(first) <= 4200
