"""The reserved `_meta` keys of a request."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from scorpio.protocol.errors import INVALID_PARAMS, UNSUPPORTED_PROTOCOL_VERSION, ProtocolError
from scorpio.protocol.meta import RequestMeta, has_capability, modern_meta, progress_token
from scorpio.protocol.revisions import V2026_07_28
from tests.protocol.json_values import values

PREFIX = "io.modelcontextprotocol/"
WHOLE = {
    PREFIX + "protocolVersion": "2026-07-28",
    PREFIX + "clientInfo": {"name": "tests", "version": "1"},
    PREFIX + "clientCapabilities": {"roots": {}},
}


def with_meta(**changes: Any) -> dict[str, Any]:
    """Params with a whole `_meta`, changed: `...` leaves a member out."""
    meta = {**WHOLE, **{PREFIX + name: value for name, value in changes.items()}}
    return {"_meta": {name: value for name, value in meta.items() if value is not ...}}


def test_a_whole_meta_is_read() -> None:
    params = with_meta(logLevel="debug")
    params["_meta"]["progressToken"] = "t"
    meta = modern_meta(params)
    assert meta is not None
    assert (meta.revision, meta.client_capabilities, meta.log_level, meta.progress_token) == (
        V2026_07_28,
        {"roots": {}},
        "debug",
        "t",
    )


@pytest.mark.parametrize(
    "params", [{}, {"_meta": {}}, {"_meta": "x"}, {"_meta": None}, {"_meta": {"progressToken": 1}}]
)
def test_a_request_without_protocol_version_is_not_modern(params: dict[str, Any]) -> None:
    assert modern_meta(params) is None


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"protocolVersion": 20260728}, INVALID_PARAMS),
        ({"protocolVersion": None}, INVALID_PARAMS),
        ({"protocolVersion": "1900-01-01"}, UNSUPPORTED_PROTOCOL_VERSION),
        ({"protocolVersion": "2025-11-25"}, UNSUPPORTED_PROTOCOL_VERSION),
        ({"clientCapabilities": ...}, INVALID_PARAMS),
        ({"clientCapabilities": None}, INVALID_PARAMS),
        ({"clientCapabilities": []}, INVALID_PARAMS),
        ({"clientInfo": "x"}, INVALID_PARAMS),
        ({"logLevel": "shout"}, INVALID_PARAMS),
        ({"logLevel": 1}, INVALID_PARAMS),
        ({"logLevel": ["debug"]}, INVALID_PARAMS),
    ],
)
def test_a_broken_meta_is_refused(changes: dict[str, Any], code: int) -> None:
    with pytest.raises(ProtocolError) as refused:
        modern_meta(with_meta(**changes))
    assert refused.value.code == code


def test_an_unsupported_version_is_told_what_is_supported() -> None:
    with pytest.raises(ProtocolError) as refused:
        modern_meta(with_meta(protocolVersion="1900-01-01"))
    assert refused.value.data == {
        "supported": ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
        "requested": "1900-01-01",
    }


@given(values(), values(), values(), values())
def test_any_meta_is_read_or_refused(version: Any, capabilities: Any, info: Any, level: Any) -> None:
    params = with_meta(clientCapabilities=capabilities, clientInfo=info, logLevel=level)
    for candidate in (params, with_meta(protocolVersion=version), {"_meta": version}):
        try:
            meta = modern_meta(candidate)
        except ProtocolError:
            continue
        assert meta is None or isinstance(meta, RequestMeta)


@pytest.mark.parametrize(
    ("token", "read"), [("t", "t"), ("", ""), (0, 0), (True, None), (1.5, None), ({}, None), (None, None), ([1], None)]
)
def test_a_progress_token_is_a_string_or_an_integer(token: object, read: object) -> None:
    assert progress_token({"_meta": {"progressToken": token}}) is read


@pytest.mark.parametrize(
    ("capabilities", "form", "url"),
    [
        ({}, False, False),
        ({"elicitation": None}, False, False),
        ({"elicitation": True}, False, False),
        ({"elicitation": {}}, True, False),
        ({"elicitation": {"form": {}}}, True, False),
        ({"elicitation": {"url": {}}}, False, True),
        ({"elicitation": {"form": {}, "url": {}}}, True, True),
    ],
)
def test_an_empty_elicitation_capability_means_forms(capabilities: dict[str, Any], form: bool, url: bool) -> None:
    assert (has_capability(capabilities, "elicitation"), has_capability(capabilities, "elicitation.url")) == (form, url)


def test_a_capability_is_declared_by_an_object() -> None:
    declared = {"sampling": {"tools": {}}, "roots": True}
    names = ("sampling", "sampling.tools", "sampling.context", "roots", "tasks")
    assert [has_capability(declared, name) for name in names] == [True, True, False, False, False]
