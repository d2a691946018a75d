"""Judges what a server sends: strict JSON, JSON-RPC, and the official models of each revision.

Knows what was asked, so that an answer nobody waits for, and progress nobody asked for, are faults too.
Shares no code with the program.
"""

from __future__ import annotations

import json
from typing import Any

import mcp_types.methods as official
import pydantic

LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
REVISIONS = (*LEGACY, MODERN)
META = "io.modelcontextprotocol/"
CAPABILITY_OF = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}

Message = dict[str, Any]


class Judge:
    """One connection's. `sent` and `fault` are called with what was sent and what came, in order."""

    def __init__(self, revision: str, capabilities: Message) -> None:
        self._revision = revision
        self._capabilities = capabilities
        self._session = revision if revision != MODERN else ""
        """What `initialize` agreed on; judges what the server sends without a tag of its own."""
        self._asked: dict[str, list[tuple[str, str]]] = {}
        self._progress: dict[str, float] = {}

    def sent(self, message: Any) -> None:
        """Remember what asks for an answer; anything else is nothing."""
        if isinstance(message, list):
            for single in message:
                self.sent(single)
        if not isinstance(message, dict) or "method" not in message or not isinstance(message.get("id"), int | str):
            return
        params = message.get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        named = meta.get(META + "protocolVersion") if isinstance(meta, dict) else None
        about = (message["method"], MODERN if named else self._session or self._revision)
        self._asked.setdefault(key_of(message["id"]), []).append(about)
        if isinstance(meta, dict) and "progressToken" in meta:
            self._progress[key_of(meta["progressToken"])] = float("-inf")

    def fault(self, message: Any) -> str:
        """What is wrong with a message of the server; "" for nothing."""
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return "not a JSON-RPC message"
        if "method" in message:
            return self._question_fault(message) if "id" in message else self._notification_fault(message)
        if ("result" in message) == ("error" in message) or "id" not in message:
            return "an answer needs an id and one of result and error"
        waiting = self._asked.get(key_of(message["id"]))
        method, revision = waiting.pop(0) if waiting else ("", "")
        if "error" in message:
            error = message["error"]
            whole = isinstance(error, dict) and type(error.get("code")) is int and isinstance(error.get("message"), str)
            return "" if whole else "an error needs a code and a message"
        if not method:
            return "an answer that nobody waits for"
        if method == "initialize" and message["result"].get("protocolVersion") in LEGACY:
            self._session = message["result"]["protocolVersion"]
            revision = self._session
        return _model_fault(method, revision, message["result"])

    def _notification_fault(self, message: Message) -> str:
        method, params = message["method"], message.get("params", {})
        tagged = META + "subscriptionId" in params.get("_meta", {})
        if method == "notifications/progress":
            key = key_of(params.get("progressToken"))
            if not params["progress"] > self._progress.get(key, float("inf")):
                return f"progress of {key} does not increase, or nobody asked for it"
            self._progress[key] = params["progress"]
        revision = MODERN if tagged else self._session or self._revision
        model = official.SERVER_NOTIFICATIONS.get((method, revision))
        if model is None:
            return f"{method} is no notification of {revision}"
        try:
            model.model_validate({"jsonrpc": "2.0", "method": method, "params": params}, by_name=False)
        except pydantic.ValidationError as fault:
            return str(fault)
        return ""

    def _question_fault(self, message: Message) -> str:
        method = message["method"]
        if not self._session:
            return "a server of the modern era sends no requests"
        if CAPABILITY_OF.get(method) not in (None, *self._capabilities):
            return f"{method} was not declared by this client"
        try:
            official.parse_server_request(method, self._session, message.get("params"))
        except (KeyError, pydantic.ValidationError) as fault:
            return f"{type(fault).__name__}: {fault}"
        return ""


def _model_fault(method: str, revision: str, result: Any) -> str:
    if (
        method,
        revision,
    ) not in official.SERVER_RESULTS:  # an alias, shutdown, or a method this revision has no model for
        return ""
    try:
        official.validate_server_result(method, revision, result)
    except pydantic.ValidationError as fault:
        return str(fault)
    return ""


def key_of(id_: object) -> str:
    """1 and "1" are two ids."""
    return json.dumps(id_)


def strict(line: bytes) -> Any:
    """The JSON value of one line that ends with one LF: UTF-8, no NaN, no key twice. Raises ValueError."""
    if not line.endswith(b"\n") or line.endswith(b"\r\n") or line.count(b"\n") != 1:
        raise ValueError("a line must end with LF, and hold no other")
    value = json.loads(line.decode("utf-8"), object_pairs_hook=_object, parse_constant=_no_constant)
    json.dumps(value, ensure_ascii=False).encode()  # lone surrogates raise UnicodeEncodeError, a ValueError
    return value


def _object(pairs: list[tuple[str, Any]]) -> Message:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError(f"a key stands twice: {[key for key, _ in pairs]}")
    return value


def _no_constant(literal: str) -> Any:
    raise ValueError(f"{literal} is not JSON")
