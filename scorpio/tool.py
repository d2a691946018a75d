"""All a handler may use: Call, ToolResult, ToolFailure, InputRequired and the content blocks.

A call may be a task, where `execution.taskSupport` of its descriptor is `optional` or `required`, and outlive its
request. Its handler sees no difference: `call.ask` asks through the task, the message of `call.progress`, or
`call.activity`, is the task's status message.

Does not know the wire, the transport or any tool.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing costs 5 ms of a cold start
    from collections.abc import Callable, Coroutine
    from typing import Any, Generic, TypeVar

    from scorpio.protocol.revisions import Revision
    from scorpio.settings import Settings
    from scorpio.state.home import Home

    State = TypeVar("State")
    Block = dict[str, Any]

    Finding = tuple[str, bool, str]
    """What an examination found of one thing: its name, whether it works, and a sentence with what to do if not."""

    class _Stateful(Generic[State]): ...
else:
    State = None

    class _Stateful:
        def __class_getitem__(cls, state: object) -> type:
            return cls


class ToolFailure(Exception):
    """The tool cannot do what was asked. The text goes to the model with `isError: true`.

    One sentence: what, which, what next.
    """


class ConfigurationError(Exception):
    """The toolset cannot serve as it is configured. Raised by `open_state`; a sentence for who runs the server."""


class Unanswered(ToolFailure):
    """A question that nobody answered: the client went away, or ASK_WAIT_S passed. Asking elsewhere would not help."""


class InputRequired(Exception):
    """Raised by `Call.ask` when this round has no answer yet. Handlers let it pass."""

    def __init__(self, questions: dict[str, tuple[str, dict[str, Any]]]) -> None:
        super().__init__(", ".join(questions))
        self.questions = questions
        """key -> (method, params) of what the client must answer."""


class Verbatim:
    """An argument that the descriptor names in `verbatim`: JSON just as the client wrote it, without line ends."""

    __slots__ = ("text", "value")

    def __init__(self, text: str, value: Any) -> None:
        self.text = text
        self.value = value
        """Integers of any size are exact in it."""


class ToolResult:
    """What a tool answers: content blocks, in order, as they go over the wire."""

    __slots__ = ("content", "is_error", "meta", "structured")

    def __init__(
        self,
        content: list[Block],
        is_error: bool = False,
        structured: Any = None,
        meta: dict[str, Any] | None = None,
    ) -> None:
        self.content = content
        self.is_error = is_error
        self.structured = structured
        self.meta = meta


def text(value: str, *, is_error: bool = False, structured: Any = None) -> ToolResult:
    """A result of one text block."""
    return ToolResult([{"type": "text", "text": value}], is_error, structured)


def text_block(value: str) -> Block:
    return {"type": "text", "text": value}


def image_block(data_base64: str, mime_type: str) -> Block:
    return {"type": "image", "data": data_base64, "mimeType": mime_type}


def audio_block(data_base64: str, mime_type: str) -> Block:
    """Protocol 2025-03-26 and later."""
    return {"type": "audio", "data": data_base64, "mimeType": mime_type}


class StateLink:
    """What a toolset's state may tell the server, from any thread. Given to `state.connect(link)` where it exists."""

    def changed_list(self, kind: str, owner: str | None = None) -> None:
        """`kind` is tools, prompts or resources: lists are made again, clients told; `owner`'s where one is given."""
        raise NotImplementedError

    def changed_resource(self, uri: str, owner: str | None = None) -> None:
        """Tell who subscribed to `uri`; only `owner`'s clients where one is given."""
        raise NotImplementedError

    def notify(self, owner: str | None, method: str, params: dict[str, Any]) -> bool:
        """Send a notification that nobody asked for to `owner`'s clients, None: to all; False when none takes it."""
        raise NotImplementedError

    def can_notify(self, owner: str) -> bool:
        """True while `owner` has a client with a session. Modern ones hear only what they listen for."""
        raise NotImplementedError

    def owners(self) -> set[str]:
        """Those who have a client now."""
        raise NotImplementedError

    def warn(self, text: str) -> None:
        """A line on stderr for the person who runs the server."""
        raise NotImplementedError

    def log(self, level: str, text: str) -> None:
        """As `warn`, at the level `debug`, `info`, `warning` or `error`."""
        raise NotImplementedError

    def background(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run `work` in the slow lane, where it may take as long as the server lives; it is cancelled at the end.

        Returns at once. What is raised in it is a bug, and told on stderr.
        """
        raise NotImplementedError

    def present(self, owner: str) -> bool:
        """False once the last client of `owner` has gone: nobody would hear."""
        raise NotImplementedError

    def watched(self, owner: str) -> list[str]:
        """The URIs that `owner`'s clients have subscribed to now."""
        raise NotImplementedError

    def message(self, owner: str, level: str, data: object, logger: str | None = None) -> bool:
        """`notifications/message` to `owner`'s sessions that want this level; False where there is no session.

        Without a session, in the modern era, a client is told while a request of it is in progress: `Call.log`.
        """
        raise NotImplementedError

    def idle_s(self, owner: str) -> float:
        """Seconds since the last tool call of `owner` ended; 0.0 while one is in progress."""
        raise NotImplementedError


class Call(_Stateful[State]):
    """What a handler sees of its call. One object a round: after `ask` the handler runs again with a new one."""

    activity: str
    """What is happening now, in a few words; sent as the message of the keep-alive progress."""

    name: str
    """The tool, prompt or resource that was called."""

    owner: str
    """Whose tasks and callbacks this call may see: the process on stdio, the session or principal on HTTP."""

    local: bool
    """True where the person at this machine's terminal is the client's user; never over a network."""

    revision: Revision
    """What the client speaks. Its fields say how a question is spelled."""

    settings: Settings
    home: Home

    @property
    def state(self) -> State:
        """The toolset's state, opened at first use."""
        raise NotImplementedError

    def supports(self, capability: str) -> bool:
        """True when the client declared it: `elicitation`, `elicitation.url`, `sampling`, `roots`."""
        raise NotImplementedError

    async def working_directory(self) -> str:
        """Absolute path commands start in: SCORPIO_CWD, first `file://` root, CLAUDE_PROJECT_DIR, process cwd, home."""
        raise NotImplementedError

    def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tell how far the call is. A no-op without a progress token, or when `progress` does not increase."""
        raise NotImplementedError

    def log(self, level: str, data: object, logger: str | None = None) -> None:
        """`notifications/message` to this client, if it asked for this level. Levels are RFC 5424's names."""
        raise NotImplementedError

    def changed_list(self, kind: str) -> None:
        """Tell every client that asked to hear of it that the list of `tools`, `prompts` or `resources` has changed."""
        raise NotImplementedError

    def changed_resource(self, uri: str) -> None:
        """Tell every client that subscribed to `uri` that it has changed."""
        raise NotImplementedError

    def let_go(self) -> None:
        """Close the connection this call's messages travel on, where the client can come back for the rest of them.

        Elsewhere nothing happens. For calls that last long and say little (MCP 2025-11-25, basic/transports).
        """
        raise NotImplementedError

    def ask(self, key: str, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The client's answer to one question; see `ask_all`."""
        return self.ask_all({key: (method, params)})[key]

    def ask_all(self, questions: dict[str, tuple[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
        """The client's answers to `elicitation/create`, `sampling/createMessage`, `roots/list`, by key.

        `params` may hold `"task": {"ttl": …}`: a client that can makes a task of its own of it, which is followed here
        to its end; for others it is left out. See `client_task`.
        Code above the last `ask` may run again, so effects come after it.

        Raises InputRequired while an answer is missing; ToolFailure when the client answered with an error, of the
        kind Unanswered when it did not answer;
        ProtocolError -32021 (modern) or ToolFailure (legacy) when the client lacks the capability.
        """
        raise NotImplementedError

    def answered(self, key: str) -> bool:
        """True when `ask` has an answer for question `key`: what comes before it need not be done again."""
        raise NotImplementedError

    def waited_ms(self, key: str) -> float | None:
        """From sending question `key` to its answer, where it was answered in the newest round; else None.

        In the modern era by the wall clock, and with the client's way back in it.
        """
        raise NotImplementedError

    def client_task(self, key: str) -> list[dict[str, Any]]:
        """What the client said of the task it made of question `key`, an entry (`taskId`, `status`, …) for each change.

        Empty where it answered at once.
        """
        raise NotImplementedError
