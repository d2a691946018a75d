"""A client for tests: real bytes out, every message that comes back judged, answers awaited by id.

Speaks all five revisions over any link of `tests.links`.
Every line is checked as strict JSON, as JSON-RPC, and against the official models of its revision; what is wrong
stands in `Wire.violations` and fails the next wait and the end. Shares no code with the program.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tests.judge import LEGACY, META, MODERN, REVISIONS, Judge, Message, key_of, strict

if TYPE_CHECKING:
    from tests.links import Link

__all__ = [
    "LEGACY",
    "META",
    "MODERN",
    "REVISIONS",
    "AnswerError",
    "Connect",
    "ErrorAnswer",
    "Message",
    "Wire",
    "never",
    "strict",
]

BOUND_S = 60.0
"""How long an answer is waited for before the test fails: a bound, not an expectation."""

POLL_S = 0.02
"""Between two looks at a task: the server is not to be kept busy with them."""

Connect = Callable[..., "Wire"]
"""The `connect` fixture: `connect(*toolsets, handshake=True, revision=…, capabilities=…, check=True)`."""

Answerer = Callable[[Message], Message]


class AnswerError(Exception):
    """Raised by an answerer: the server gets this JSON-RPC error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class ErrorAnswer(Exception):
    """The server answered with a JSON-RPC error where the test wanted a result."""

    def __init__(self, error: Message) -> None:
        super().__init__(f"{error.get('code')}: {error.get('message')}")
        self.error = error
        self.code = error.get("code")
        self.message = error.get("message")
        self.data = error.get("data")


class Wire:
    """One client connection. Thread-safe; every wait is bounded by BOUND_S."""

    def __init__(
        self, link: Link, revision: str = MODERN, capabilities: Message | None = None, *, check: bool = True
    ) -> None:
        self.link = link
        self.revision = revision
        """What requests of this client speak unless they say otherwise."""
        self.capabilities: Message = capabilities or {}
        self._judge = Judge(revision, self.capabilities)
        self.answers: dict[str, Answerer] = {}
        """What this client answers to the server's questions, by method; both eras."""
        self.log_level: str | None = None
        """Modern era: sent with each request."""
        self.received: list[Message | list[Message]] = []
        """Every message of the server, in order of arrival; a batch is one entry."""
        self.notifications: list[Message] = []
        self.questions: list[Message] = []
        """Requests of the server (legacy), or the `inputRequests` it answered with (modern), in order."""
        self.violations: list[str] = []
        self.check = check
        """False: a test that sends broken bytes, and looks at the answers itself."""
        self._responses: dict[str, list[Message]] = {}
        self._arrived = threading.Condition()
        self._ended = False
        self.closed = False
        self._next_id = 0
        self.last_id: int | str = 0
        """Of the request sent last."""
        link.start(self._on_line, self._on_end)

    # -- sending

    def send(self, message: object) -> None:
        """Bytes as they are; anything else as one line of JSON."""
        if isinstance(message, bytes):
            for line in message.splitlines():
                self._remember(_value(line))
            self.link.send(message)
            return
        self._remember(message)
        self.link.send(json.dumps(message, ensure_ascii=False).encode() + b"\n")

    def start(self, method: str, params: Message | None = None, **options: Any) -> int | str:
        """Send a request; its id. Options: `id`, `meta` (members of `_meta`), `revision`, `bare` (no `_meta`)."""
        if "id" in options:
            id_ = options["id"]
        else:
            self._next_id += 1
            id_ = self._next_id
        self.last_id = id_
        self.send(self.request_object(id_, method, params, **options))
        return id_  # type: ignore[no-any-return]

    def request_object(self, id_: int | str, method: str, params: Message | None = None, **options: Any) -> Message:
        message: Message = {"jsonrpc": "2.0", "id": id_, "method": method}
        body = dict(params or {})
        meta = {**self._own_meta(options.get("revision", self.revision)), **options.get("meta", {})}
        if meta and not options.get("bare"):
            body["_meta"] = {**meta, **body.get("_meta", {})}
        if body or params is not None:
            message["params"] = body
        return message

    def _own_meta(self, revision: str) -> Message:
        if revision != MODERN:
            return {}
        level = {META + "logLevel": self.log_level} if self.log_level else {}
        return {
            META + "protocolVersion": MODERN,
            META + "clientInfo": {"name": "tests", "version": "1"},
            META + "clientCapabilities": self.capabilities,
            **level,
        }

    def notify(self, method: str, params: Message | None = None) -> None:
        self.send({"jsonrpc": "2.0", "method": method} | ({"params": params} if params is not None else {}))

    def cancel(self, id_: int | str) -> None:
        self.notify("notifications/cancelled", {"requestId": id_, "reason": "the test said so"})

    def _remember(self, message: object) -> None:
        with self._arrived:
            self._judge.sent(message)

    # -- whole exchanges

    def open(self) -> Message:
        """The handshake of this client's revision: `initialize` and `initialized`, or `server/discover`."""
        if self.revision == MODERN:
            return self.result("server/discover")
        info = {"name": "tests", "version": "1"}
        result = self.result(
            "initialize",
            {"protocolVersion": self.revision, "capabilities": self.capabilities, "clientInfo": info},
        )
        self.notify("notifications/initialized")
        return result

    def request(self, method: str, params: Message | None = None, **options: Any) -> Message:
        """The whole answer, `result` or `error`; of an id that was used before, the next one."""
        earlier = len(self.answers_to(options["id"])) if "id" in options else 0
        key = key_of(self.start(method, params, **options))

        def next_one() -> Message | None:
            found = self._responses.get(key, [])
            return found[earlier] if len(found) > earlier else None

        answer: Message = self._wait(next_one, f"answer to {method} {key}")
        return answer

    def result(self, method: str, params: Message | None = None, **options: Any) -> Message:
        """The result. Raises ErrorAnswer for an error."""
        answer = self.request(method, params, **options)
        if "error" in answer:
            raise ErrorAnswer(answer["error"])
        result: Message = answer["result"]
        return result

    def error(self, method: str, params: Message | None = None, **options: Any) -> Message:
        """The error object; fails when there was a result."""
        answer = self.request(method, params, **options)
        assert "error" in answer, answer
        error: Message = answer["error"]
        return error

    def complete(self, method: str, params: Message, **options: Any) -> Message:
        """The final result: in the modern era questions are answered from `answers` and the request is sent again.

        A task that the server makes of it is followed to its end.
        """
        result = self.result(method, params, **options)
        while result.get("resultType") == "input_required":
            requests = result.get("inputRequests", {})
            responses = {key: self._answer_to(question) for key, question in requests.items()}
            again: Message = {**params, "inputResponses": responses}
            if "requestState" in result:
                again["requestState"] = result["requestState"]
            options.pop("id", None)
            result = self.result(method, again, **options)
        return self.followed(result["taskId"]) if result.get("resultType") == "task" else result

    def followed(self, task_id: str) -> Message:
        """Modern era: the result of a task, its questions answered from `answers`. Raises ErrorAnswer."""
        while True:
            task = self.result("tasks/get", {"taskId": task_id})
            if task["status"] == "completed":
                result: Message = task["result"]
                return result
            if task["status"] in ("failed", "cancelled"):
                raise ErrorAnswer(task.get("error", {"message": "cancelled"}))
            asked = task.get("inputRequests", {})
            if asked:
                responses = {key: self._answer_to(question) for key, question in asked.items()}
                self.result("tasks/update", {"taskId": task_id, "inputResponses": responses})
            self.pause(POLL_S)

    def call(self, name: str, arguments: object = None, **options: Any) -> Message:
        """The final CallToolResult."""
        params: Message = {"name": name} | ({"arguments": arguments} if arguments is not None else {})
        return self.complete("tools/call", params, **options)

    def text(self, name: str, arguments: object = None, **options: Any) -> str:
        """The text blocks of a tool's result, joined by newlines."""
        result = self.call(name, arguments, **options)
        return "\n".join(block["text"] for block in result["content"] if block["type"] == "text")

    # -- waiting

    def answer(self, id_: int | str, bound_s: float = BOUND_S) -> Message:
        """The first answer to the request with this id; the same one each time it is asked for."""
        key = key_of(id_)
        found: list[Message] = self._wait(lambda: self._responses.get(key), f"answer to {key}", bound_s)
        return found[0]

    def answers_to(self, id_: int | str) -> list[Message]:
        """All that came for this id until now."""
        with self._arrived:
            return list(self._responses.get(key_of(id_), ()))

    def notification(self, method: str, accept: Callable[[Message], bool] = lambda params: True) -> Message:
        """The params of the first notification of this method that is accepted; waits for it."""

        def first() -> Message | None:
            for message in self.notifications:
                if message["method"] == method and accept(message.get("params", {})):
                    return message
            return None

        found: Message = self._wait(first, f"{method} notification").get("params", {})
        return found

    def progress(self, token: int | str) -> list[Message]:
        """Progress of one token that came until now."""
        with self._arrived:
            return [
                message["params"]
                for message in self.notifications
                if message["method"] == "notifications/progress" and message["params"]["progressToken"] == token
            ]

    def message(self, accept: Callable[[Any], bool], what: str = "message") -> Any:
        """The first accepted message of any kind, in order of arrival; waits for it."""
        return self._wait(lambda: next((m for m in self.received if accept(m)), None), what)

    def unaddressed(self, count: int = 1) -> list[Message]:
        """The first `count` errors with id null; waits for them."""

        def enough() -> list[Message] | None:
            found = self._responses.get("null", [])
            return found[:count] if len(found) >= count else None

        errors: list[Message] = self._wait(enough, f"{count} errors with id null")
        return errors

    def message_at(self, index: int, what: str) -> Any:
        """The message that came as number `index`, from 0; waits for it."""
        return self._wait(lambda: [self.received[index]] if len(self.received) > index else None, what)[0]

    def pause(self, bound_s: float) -> None:
        """Until something arrives, but not longer."""
        with self._arrived:
            self._arrived.wait(bound_s)

    def wait_for_end(self) -> None:
        """Until the server has closed its output."""
        self._wait(lambda: self._ended or None, "end of the server's output")

    def settle(self) -> None:
        """A round trip: all that the server wrote for what was sent before has arrived."""
        if self.revision == MODERN:
            self.request("server/discover", id=f"settle-{time.monotonic_ns()}")
        else:
            self.request("ping", id=f"settle-{time.monotonic_ns()}")

    def close(self) -> int:
        """End of input; the exit status. Fails on anything the server got wrong meanwhile."""
        self.closed = True
        self.link.close_input()
        status = self.link.wait(BOUND_S)
        self.wait_for_end()
        self.judge()
        return status

    def wait_for_exit(self) -> int:
        """The exit status of a server that was asked to go, its input still open."""
        status = self.link.wait(BOUND_S)
        self.close()
        return status

    def stderr(self) -> str:
        return self.link.stderr()

    def judge(self) -> None:
        """Fail when a message of the server broke a rule."""
        assert not (self.check and self.violations), "\n".join(self.violations)

    def _wait(self, look: Callable[[], Any], what: str, bound_s: float = BOUND_S) -> Any:
        end_s = time.monotonic() + bound_s
        with self._arrived:
            while True:
                found = look()
                if found:
                    break
                left_s = end_s - time.monotonic()
                if self._ended or left_s <= 0:
                    why = "the server ended" if self._ended else f"nothing within {bound_s} s"
                    raise AssertionError(
                        f"No {what}: {why}; last: {self.received[-3:]}; stderr: {self.stderr()[-2000:]}"
                    )
                self._arrived.wait(left_s)
        self.judge()
        return found

    # -- receiving

    def _on_end(self) -> None:
        with self._arrived:
            self._ended = True
            self._arrived.notify_all()

    def _on_line(self, line: bytes) -> None:
        try:
            value = strict(line)
        except ValueError as broken:
            with self._arrived:
                self.violations.append(f"not one line of strict JSON: {broken}: {line[:500]!r}")
                self._arrived.notify_all()
            return
        questions = []
        with self._arrived:
            self.received.append(value)
            for message in value if isinstance(value, list) else [value]:
                fault = self._judge.fault(message)
                if fault:
                    self.violations.append(f"{fault}: {json.dumps(message)[:1000]}")
                elif "method" in message and "id" in message:
                    self.questions.append(message)
                    questions.append(message)
                elif "method" in message:
                    self.notifications.append(message)
                else:
                    self._responses.setdefault(key_of(message["id"]), []).append(message)
            self._arrived.notify_all()
        for question in questions:
            self._answer_question(question)

    def _answer_question(self, question: Message) -> None:
        answerer = self.answers.get(question["method"])
        if answerer is None and question["method"] == "roots/list":
            answerer = _no_roots
        if answerer is None or answerer is never:  # the test answers itself, or nobody does
            return
        answer: Message = {"jsonrpc": "2.0", "id": question["id"]}
        try:
            answer["result"] = answerer(question.get("params", {}))
        except AnswerError as error:
            answer["error"] = {"code": error.code, "message": str(error)}
        try:
            self.send(answer)
        except BrokenPipeError:  # the server has gone meanwhile, which the test sees elsewhere
            pass

    def _answer_to(self, question: Message) -> Message:
        self.questions.append(question)
        return self.answers[question["method"]](question.get("params", {}))


def never(params: Message) -> Message:
    """An answerer that leaves the question open; in the modern era a mistake of the test."""
    raise AssertionError("a result with questions must be answered")


def _no_roots(params: Message) -> Message:
    return {"roots": []}


def _value(line: bytes) -> Any:
    """What a line sent says, as far as it says anything."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
