"""The strict parser against the two it stands beside: json and orjson."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from typing import Any

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scorpio.protocol import strict_json
from tests.links import ROOT
from tests.protocol.json_values import CODE_POINTS, UNICODE, values

REFUSED = "refused"


def outcome(loads: Any, frame: bytes) -> Any:
    try:
        return loads(frame)
    except ValueError:
        return REFUSED
    except RecursionError:
        return REFUSED


AGREEMENT = [
    # frame, strict_json, orjson, json
    (b'{"a":[1,-0,2.5,true,false,null,"\\u00e9"]}', {"a": [1, 0, 2.5, True, False, None, "é"]}, ..., ...),
    (b' \t\r\n{"a":1}\r\n ', {"a": 1}, ..., ...),
    (b"18446744073709551615", 2**64 - 1, ..., ...),
    (b"18446744073709551616", 2**64, float(2**64), 2**64),
    (b"1180591620717411303424", 2**70, float(2**70), 2**70),
    (b"1e308", 1e308, ..., ...),
    (b"1e400", REFUSED, REFUSED, math.inf),
    (b"-1e400", REFUSED, REFUSED, -math.inf),
    (b"9" * 5000, REFUSED, REFUSED, REFUSED),
    (b"NaN", REFUSED, REFUSED, ...),
    (b"Infinity", REFUSED, REFUSED, math.inf),
    (b"[-Infinity]", REFUSED, REFUSED, [-math.inf]),
    (b'{"a":1,"a":2}', REFUSED, {"a": 2}, {"a": 2}),
    (b'[{"b":{"a":1,"\\u0061":2}}]', REFUSED, [{"b": {"a": 2}}], [{"b": {"a": 2}}]),
    (b'"\\ud800"', "\ud800", REFUSED, "\ud800"),
    (b'"\\ud83d\\ude00"', "\N{GRINNING FACE}", ..., ...),
    (b'"\xed\xa0\x80"', REFUSED, REFUSED, "\ud800"),
    (b'"\xff"', REFUSED, REFUSED, REFUSED),
    (b'"\xc0\xaf"', REFUSED, REFUSED, REFUSED),
    (b"\xef\xbb\xbf1", REFUSED, REFUSED, 1),
    (b'"a\x01b"', REFUSED, REFUSED, REFUSED),
    (b'"a\x00b"', REFUSED, REFUSED, REFUSED),
    (b'"a\\u0000b"', "a\0b", ..., ...),
    (b"[" * 900 + b"]" * 900, ..., ..., ...),
    (b"[" * 100_000 + b"]" * 100_000, REFUSED, REFUSED, REFUSED),
    (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, REFUSED, REFUSED, REFUSED),
    (b"", REFUSED, REFUSED, REFUSED),
    (b"{} {}", REFUSED, REFUSED, REFUSED),
    (b"{}\x00", REFUSED, REFUSED, REFUSED),
    (b"{'a':1}", REFUSED, REFUSED, REFUSED),
    (b'{"a":1,}', REFUSED, REFUSED, REFUSED),
    (b"[1,]", REFUSED, REFUSED, REFUSED),
    (b"01", REFUSED, REFUSED, REFUSED),
    (b"+1", REFUSED, REFUSED, REFUSED),
    (b"1.", REFUSED, REFUSED, REFUSED),
    (b".5", REFUSED, REFUSED, REFUSED),
    (b"0x10", REFUSED, REFUSED, REFUSED),
    (b"tru", REFUSED, REFUSED, REFUSED),
    (b'"a', REFUSED, REFUSED, REFUSED),
    (b'"\\x41"', REFUSED, REFUSED, REFUSED),
    (b"1\xc2\xa0", REFUSED, REFUSED, REFUSED),
]
"""`...`: the strict parser's own answer (first column: json's)."""


@pytest.mark.parametrize(("frame", "strict", "by_orjson", "by_json"), AGREEMENT, ids=lambda value: repr(value)[:40])
def test_parsers_agree_but_where_the_strict_one_must_refuse_or_be_exact(
    frame: bytes, strict: Any, by_orjson: Any, by_json: Any
) -> None:
    answer = outcome(json.loads, frame) if strict is ... else strict
    assert outcome(strict_json.loads, frame) == answer
    assert type(outcome(strict_json.loads, frame)) is type(answer)
    said = outcome(orjson.loads, frame)
    assert said == (answer if by_orjson is ... else by_orjson)
    if frame != b"NaN":
        assert outcome(json.loads, frame) == (answer if by_json is ... else by_json)


@given(values(UNICODE, st.integers()))
def test_what_json_writes_is_read_back_exactly(value: Any) -> None:
    for ascii_only in (True, False):
        assert strict_json.loads(json.dumps(value, ensure_ascii=ascii_only).encode()) == value


@given(values())
def test_what_orjson_writes_is_read_as_orjson_reads_it(value: Any) -> None:
    frame = orjson.dumps(value)
    assert strict_json.loads(frame) == orjson.loads(frame)


TOKENS = st.sampled_from(
    [
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b'"a"',
        b'"b"',
        b"1",
        b"-",
        b"1.5",
        b"e9",
        b"true",
        b"null",
        b" ",
        b'"',
        b"\\u0061",
    ]
)


@given(st.one_of(st.binary(max_size=40), st.lists(TOKENS, max_size=16).map(b"".join)))
@example(b'{"a":1,"a":1}')
def test_any_bytes_are_read_or_refused_and_never_otherwise_than_orjson_reads_them(frame: bytes) -> None:
    strict, quick = outcome(strict_json.loads, frame), outcome(orjson.loads, frame)
    if strict is not REFUSED:
        assert quick == strict or quick is REFUSED or has_wide_integer(strict)
    elif quick is not REFUSED:
        with pytest.raises(strict_json.DuplicateKey):
            strict_json.loads(frame)
        assert strict_json.loads_last_key_wins(frame) == quick


def has_wide_integer(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(has_wide_integer, value.values()))
    if isinstance(value, list):
        return any(map(has_wide_integer, value))
    return type(value) is int and not -(2**63) <= value < 2**64


WITHOUT_JSON = """
import sys
from scorpio.protocol import strict_json
assert "json" not in sys.modules
for frame in (b'{"a":1,', b"{", b'{"a":1 2}', b"[1", b"[1,]", b'"a', b'"a\\u12"', b'"\\q"', b'"\\x01"', b"{1}"):
    try:
        strict_json.loads(frame)
    except ValueError:
        continue
    sys.exit(f"{frame} was read")
"""


def test_broken_json_is_a_value_error_also_while_json_is_not_imported() -> None:
    """CPython 3.11's scanner then returns an error without an exception: SystemError."""
    command = [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{WITHOUT_JSON}"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_key_that_stands_twice_is_named() -> None:
    with pytest.raises(strict_json.DuplicateKey, match='the key "id" stands twice'):
        strict_json.loads(b'{"id":1,"method":"x","id":2}')


def test_the_lenient_parser_is_lenient_in_nothing_else() -> None:
    assert strict_json.loads_last_key_wins(b'{"id":1,"id":2}') == {"id": 2}
    for frame in (b'{"id":NaN}', b'{"id":1}{', b"\xff"):
        with pytest.raises(ValueError):  # noqa: PT011 every fault of a frame is one
            strict_json.loads_last_key_wins(frame)


WRITABLE = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), CODE_POINTS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(CODE_POINTS, inner, max_size=4), st.tuples(inner, inner)
    ),
    max_leaves=12,
)


@given(WRITABLE)
def test_what_the_writer_writes_json_reads_back(value: Any) -> None:
    written = strict_json.dumps(value)
    assert json.loads(written) == json.loads(json.dumps(value))
    assert written.isascii()


@pytest.mark.parametrize("value", [1.5, b"x", {1, 2}, object()])
def test_the_writer_refuses_what_it_does_not_know(value: object) -> None:
    with pytest.raises(TypeError, match="has no JSON form here"):
        strict_json.dumps(value)
