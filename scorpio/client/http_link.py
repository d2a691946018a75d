"""A server at an address: Streamable HTTP of both eras, and the HTTP+SSE of 2024-11-05 where a server has only that."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from scorpio.client import mirrored
from scorpio.client.client import Message
from scorpio.client.event_stream import EventStream
from scorpio.client.failures import LinkFailure, LoginFailure
from scorpio.limits import FRAME_BYTES_MAX
from scorpio.protocol.revisions import MODERN, Revision

if TYPE_CHECKING:
    import wreq

    from scorpio.client.oauth.login import Login

CONNECT_S = 10
RETRY_MS = 1000
"""Before a broken stream is taken up again, where the server says nothing else."""

RETRIES_MAX = 10
"""One after another without an event in between; then the server counts as gone."""

OWN_STREAM_S = 1.0
"""For a legacy server to open the stream of its own; some say nothing there before they have something to say."""

CLOSE_S = 2.0
BODY_SHOWN_CHARS = 300
NOT_THIS_TRANSPORT = (404, 405)
"""How a server of 2024-11-05 refuses the first POST, beside 400, which a server of today may answer too.
Source: MCP basic/transports, "Backwards Compatibility"."""

LISTEN = "subscriptions/listen"
"""Nobody waits for it, so it asks nobody to log in."""


class HttpLink:
    """See `client.Link`."""

    def __init__(self, url: str, headers: Mapping[str, str] | None = None, login: Login | None = None) -> None:
        """`headers` are added to every request: a token, say. `login` gets one where the server wants it."""
        self.revision: Revision | None = None
        self._url = url
        self._headers = dict(headers or {})
        self._login = login
        self._settled = False
        """The handshake is done."""
        self._http: wreq.Client | None = None
        self._session = ""
        self._marked: dict[str, dict[mirrored.Path, str]] = {}
        self._jobs: dict[int | str | None, asyncio.Task[None]] = {}
        self._receive: Callable[[Any], None] = lambda message: None
        self._lost: Callable[[str], None] = lambda reason: None
        self._old_endpoint = ""
        """Where messages go on HTTP+SSE."""
        self._unanswered: set[int | str] = set()

    async def open(self, receive: Callable[[Any], None], lost: Callable[[str], None]) -> None:
        import wreq

        self._receive, self._lost = receive, lost
        self._http = wreq.Client(
            connect_timeout=timedelta(seconds=CONNECT_S),
            redirect=wreq.redirect.Policy.none(),  # a token goes to the server it is for, and nowhere else
        )

    @property
    def busy(self) -> bool:
        return self._login is not None and self._login.busy

    async def ready(self) -> None:
        self._settled = True
        if self.revision is not None and self.revision.era != MODERN and not self._old_endpoint:
            opened = asyncio.Event()
            self._start(None, self._read_own_stream(opened))
            with suppress(TimeoutError):  # what a server asks before it has the stream, some lose
                await asyncio.wait_for(opened.wait(), OWN_STREAM_S)

    def cancel(self, request_id: int | str) -> bool:
        """Modern: the answer is no longer read, and that is the cancel."""
        modern = self.revision is not None and self.revision.era == MODERN
        job = self._jobs.get(request_id)
        if modern and job is not None:
            job.cancel()
        self._unanswered.discard(request_id)
        return modern

    def learn(self, tools: list[Message]) -> list[Message]:
        if self.revision is None or self.revision.era != MODERN:
            return tools
        usable = []
        for tool in tools:
            marked = mirrored.parameters(tool.get("inputSchema"))
            if marked is not None:
                self._marked[str(tool.get("name"))] = marked
                usable.append(tool)
        return usable

    async def close(self) -> None:
        for job in tuple(self._jobs.values()):
            job.cancel()
        await asyncio.gather(*self._jobs.values(), return_exceptions=True)
        if self._session and self._http is not None:
            headers = self._with_session({})
            try:
                await asyncio.wait_for(self._request("DELETE", self._url, headers, quiet=True), CLOSE_S)
            except Exception:  # noqa: BLE001 whatever it is: the session expires by itself
                pass
        if self._login is not None:
            await self._login.close()
        if self._http is not None:
            self._http.close()

    # -- one message

    async def send(self, message: Message) -> None:
        id_ = message.get("id") if "method" in message else None
        if id_ is not None:
            self._unanswered.add(id_)
        if self._old_endpoint:
            await self._post_old(message)
            return
        quiet = message.get("method") == LISTEN
        response = await self._request("POST", self._url, self._headers_of(message), _encoded(message), quiet=quiet)
        self._session = _header(response, "mcp-session-id") or self._session
        kind = _header(response, "content-type")
        status = response.status.as_int()
        elsewhere = status in NOT_THIS_TRANSPORT or (status == 400 and not kind.startswith("application/json"))
        if elsewhere and message.get("method") == "initialize":
            await self._open_old(message)
            return
        if kind.startswith("text/event-stream"):
            self._start(id_, self._read_answer(response, id_))
            return
        body = await _body(response)
        if kind.startswith("application/json") and body:
            answer = _decoded(body)
            if answer is not None:
                self._deliver(answer)
        if id_ is not None and id_ in self._unanswered:
            raise LinkFailure(_status(response, body))

    def _headers_of(self, message: Message) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self.revision is not None and self.revision.era == MODERN and "method" in message:
            headers |= mirrored.headers(message, self._marked)
        return self._with_session(headers)

    def _with_session(self, headers: dict[str, str]) -> dict[str, str]:
        if self.revision is not None:
            headers["MCP-Protocol-Version"] = self.revision.name
        if self._session:
            headers["Mcp-Session-Id"] = self._session
        return headers | self._headers

    async def _request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None = None, *, quiet: bool = False
    ) -> Any:
        """With a token where there is one; a log-in where one is wanted, but not if `quiet`."""
        if self._login is None:
            return await self._sent(method, url, headers, body)
        attempt = self._login.attempt(quiet=quiet)
        try:
            while True:
                response = await self._sent(method, url, {**headers, **await attempt.headers(method, url)}, body)
                wishes = [bytes(value).decode("latin-1") for value in response.headers.get_all("www-authenticate")]
                if not await attempt.again(url, response.status.as_int(), wishes, _header(response, "dpop-nonce")):
                    return response
                await response.close()
        except LoginFailure as failure:
            if not self._settled:
                self._lost(str(failure))  # or the handshake of the other era would ask to log in once more
            raise

    async def _sent(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> Any:
        import wreq
        from wreq.exceptions import RustPanic, TlsError

        assert self._http is not None
        options: dict[str, Any] = {"headers": headers} | ({"body": body} if body is not None else {})
        try:
            return await self._http.request(getattr(wreq.Method, method), url, **options)
        except RustPanic:
            raise
        except TlsError as error:
            raise LinkFailure(f"{url}: the encrypted connection failed ({_reason(error)}).") from None
        except Exception as error:  # noqa: BLE001 the library has a class a cause and no common one
            raise LinkFailure(f"{url} does not answer ({_reason(error)}).") from None

    def _deliver(self, value: Any) -> None:
        for message in value if type(value) is list else [value]:
            if type(message) is dict and "method" not in message and type(message.get("id")) in (int, str):
                self._unanswered.discard(message["id"])
        self._receive(value)

    # -- streams

    def _start(self, key: int | str | None, work: Any) -> None:
        job = asyncio.ensure_future(work)
        self._jobs[key] = job
        job.add_done_callback(lambda done: self._jobs.pop(key, None) if self._jobs.get(key) is done else None)

    async def _read_answer(self, response: Any, id_: int | str | None) -> None:
        """The events of a request's answer; a legacy stream that ends too soon is taken up where it ended."""
        events = EventStream(RETRY_MS)
        failures = 0
        while True:
            reason = "The server ended the answer's stream before the answer."
            try:
                async for event in _events(response, events):
                    failures = 0
                    self._deliver_text(event.data)
            except LinkFailure as failure:
                reason = str(failure)
            if id_ is None or id_ not in self._unanswered:
                return
            failures += 1
            modern = self.revision is not None and self.revision.era == MODERN
            if modern or events.last_id is None or failures > RETRIES_MAX:
                self._fail(id_, reason)
                return
            await asyncio.sleep(events.retry_ms / 1000)
            headers = self._with_session({"Accept": "text/event-stream", "Last-Event-ID": events.last_id})
            try:
                response = await self._request("GET", self._url, headers, quiet=True)
            except LinkFailure:
                continue
            if not response.status.is_success():
                self._fail(id_, _status(response, await _body(response)))
                return

    def _fail(self, id_: int | str, reason: str) -> None:
        self._unanswered.discard(id_)
        self._receive({"jsonrpc": "2.0", "id": id_, "error": {"code": -32000, "message": reason}})

    async def _read_own_stream(self, opened: asyncio.Event) -> None:
        """Legacy: what the server says that belongs to no request. It may have no such stream."""
        try:
            await self._follow_own_stream(opened)
        finally:
            opened.set()

    async def _follow_own_stream(self, opened: asyncio.Event) -> None:
        events = EventStream(RETRY_MS)
        failures = 0
        while failures <= RETRIES_MAX:
            headers = self._with_session({"Accept": "text/event-stream"})
            if events.last_id is not None:
                headers["Last-Event-ID"] = events.last_id
            failures += 1
            try:
                response = await self._request("GET", self._url, headers, quiet=True)
                status = response.status.as_int()
                if status == 404 and self._session:
                    self._lost("The server has ended the session.")
                    return
                if not response.status.is_success():
                    return
                opened.set()
                async for event in _events(response, events):
                    failures = 0
                    self._deliver_text(event.data)
            except LinkFailure:
                pass
            await asyncio.sleep(events.retry_ms / 1000)
        self._lost("The server went away.")

    def _deliver_text(self, text: str) -> None:
        value = _decoded(text.encode("utf-8", "replace"))
        if value is not None:
            self._deliver(value)

    # -- HTTP+SSE, the transport of 2024-11-05

    async def _open_old(self, first: Message) -> None:
        response = await self._request("GET", self._url, {"Accept": "text/event-stream"} | self._headers)
        if not response.status.is_success() or not _header(response, "content-type").startswith("text/event-stream"):
            raise LinkFailure(f"{self._url} speaks neither Streamable HTTP nor HTTP+SSE (status {response.status}).")
        found: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._start(None, self._read_old(response, found))
        try:
            self._old_endpoint = urljoin(self._url, await asyncio.wait_for(found, CONNECT_S))
        except TimeoutError:
            raise LinkFailure(f"{self._url} opened a stream and did not say where messages go.") from None
        if self._old_endpoint.split("/")[:3] != self._url.split("/")[:3]:
            raise LinkFailure(f"{self._url} sends messages to another origin, {self._old_endpoint}; that is not done.")
        await self._post_old(first)

    async def _read_old(self, response: Any, endpoint: asyncio.Future[str]) -> None:
        try:
            async for event in _events(response, EventStream(RETRY_MS)):
                if event.name == "endpoint" and not endpoint.done():
                    endpoint.set_result(event.data)
                else:
                    self._deliver_text(event.data)
        except LinkFailure:
            pass
        self._lost("The server went away.")

    async def _post_old(self, message: Message) -> None:
        headers = {"Content-Type": "application/json"} | self._headers
        response = await self._request("POST", self._old_endpoint, headers, _encoded(message))
        body = await _body(response)
        if not response.status.is_success():
            raise LinkFailure(_status(response, body))


async def _events(response: Any, events: EventStream) -> AsyncIterator[Any]:
    """Raises LinkFailure where the stream breaks."""
    try:
        async with response.stream() as stream:
            async for chunk in stream:
                for event in events.feed(bytes(chunk)):
                    yield event
    except (LinkFailure, GeneratorExit):
        raise
    except Exception as error:  # noqa: BLE001 as in `_request`
        raise LinkFailure(f"The stream broke ({_reason(error)}).") from None


async def _body(response: Any) -> bytes:
    """Raises LinkFailure for one that is longer than a message may be."""
    parts = b""
    try:
        async with response.stream() as stream:
            async for chunk in stream:
                parts += bytes(chunk)
                if len(parts) > FRAME_BYTES_MAX:
                    raise LinkFailure(f"The answer is longer than {FRAME_BYTES_MAX // 2**20} MiB.")
    except LinkFailure:
        raise
    except Exception as error:  # noqa: BLE001 as in `_request`
        raise LinkFailure(f"The answer broke off ({_reason(error)}).") from None
    return parts


def _header(response: Any, name: str) -> str:
    value = response.headers.get(name)
    return "" if value is None else bytes(value).decode("latin-1")


def _status(response: Any, body: bytes) -> str:
    said = body.decode("utf-8", "replace").strip()[:BODY_SHOWN_CHARS]
    return f"The server answered with HTTP status {response.status}" + (f": {said}" if said else ".")


def _reason(error: Exception) -> str:
    """The library's texts are the debug form of nested errors; the innermost message is what a person needs."""
    import re

    messages = re.findall(r'message: "([^"]+)"', str(error))
    return messages[-1] if messages else type(error).__name__


def _encoded(message: Message) -> bytes:
    try:
        return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        raise LinkFailure("The message holds a lone surrogate, which JSON cannot carry.") from None


def _decoded(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
