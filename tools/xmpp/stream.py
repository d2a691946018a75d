"""One connection to an XMPP server, from the first byte to the end: TCP, TLS, login. slixmpp with the trust taken out.

Imports slixmpp (70 ms): import this module in the slow lane only. Knows no room; what a logged-in server sends goes to
`on_stanza` as it is. slixmpp itself reconnects, follows `see-other-host` to a host that may name its own certificate,
tries every login method with a wrong password, reads stanzas of any size with any DTD, and logs passwords at DEBUG:
here none of it happens. A stream that has ended stays so; the next attempt makes another.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import ssl
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any

from slixmpp import ClientXMPP
from slixmpp.util.sasl.client import saslprep

from tools.xmpp import faults
from tools.xmpp.faults import Fault
from tools.xmpp.scram import METHODS, Unbelievable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tools.xmpp.configuration import Account

STANZA_BYTES_MAX = 512 * 1024
"""Longest stanza that is read: what servers take from one another by default (Prosody's s2s limit)."""

STANZA_DEPTH_MAX = 256
"""Elements within elements: real ones have ten."""

UNSENT_BYTES_MAX = 64 * 1024
"""What waits for a server to read it: one long message, or thousands of answers to what it asked."""

READ_BYTES_PER_S = 512 * 1024
READ_BYTES_BURST = 4 * 1024 * 1024
"""Read of a server; past it the connection waits. A second's worth is 50 ms of work; a room of 10,000 comes at once."""

HEAD_BYTES_MAX = 1024
"""What may stand before a stream's first element: an XML declaration of 40 bytes."""

NAMESPACE = "{jabber:client}"
MESSAGE, PRESENCE, IQ = NAMESPACE + "message", NAMESPACE + "presence", NAMESPACE + "iq"
STREAM_ERROR = "{http://etherx.jabber.org/streams}error"
STREAM_CONDITIONS = "{urn:ietf:params:xml:ns:xmpp-streams}"
PROCEED = "{urn:ietf:params:xml:ns:xmpp-tls}proceed"
PING = "{urn:xmpp:ping}ping"

BUNDLES = (
    *("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem"),
    *("/etc/ssl/cert.pem", "/var/lib/ca-certificates/ca-bundle.pem"),
)
"""Where systems keep the certificates they trust: the OpenSSL in the executable knows only those of its own system."""


class Stream(ClientXMPP):
    """`open` once; then `ended` says why it is over."""

    def __init__(self, account: Account, on_stanza: Callable[[ET.Element], None]) -> None:
        logging.getLogger("slixmpp").setLevel(logging.CRITICAL + 1)
        loop = asyncio.get_running_loop()
        context = _tls_context(account)
        try:
            super().__init__(f"{account.username}@{account.domain}", account.password, ssl_context=context, loop=loop)
        except ValueError:  # InvalidJID, which would show it whole
            raise Fault("XMPP_USERNAME and XMPP_DOMAIN make no address of XMPP.", lasting=True) from None
        try:
            saslprep(account.password)
        except ValueError:
            raise Fault("XMPP_PASSWORD holds a character that no password may (SASLprep).", lasting=True) from None
        self.plugin["feature_mechanisms"].use_mechs = set(METHODS)
        self.account = account
        self.stage = "connecting"
        self.ended: asyncio.Future[Fault] = loop.create_future()
        self._ready: asyncio.Future[None] = loop.create_future()
        self._on_stanza = on_stanza
        self._loopback = False
        self._head: bytes | None = b""
        self._stanza_bytes = 0
        self._may_read_bytes: float = READ_BYTES_BURST
        self._metered_s = 0.0
        self._starting_tls = False
        self._tasks: set[asyncio.Task[Any]] = set()
        """Of slixmpp's that wait for an answer, and would for ever once the stream has ended."""
        self._asked: dict[str, asyncio.Future[ET.Element]] = {}
        self.enable_direct_tls = account.direct_tls
        self.enable_starttls = not account.direct_tls
        for event, handler in (
            ("connection_failed", self._connection_failed),
            ("ssl_invalid_chain", lambda error: self.fail(faults.no_tls(error, account))),
            ("failed_auth", self._login_failed),
            ("failed_all_auth", lambda _: self.fail(faults.no_login_method(account))),
            ("session_start", self._session_started_now),
            ("disconnected", self._connection_ended),
        ):
            self.add_event_handler(event, handler)

    async def open(self, seconds_max: float) -> None:
        """Returns once logged in. Raises Fault."""
        self.connect(self.account.host, self.account.port)
        await self.until(self._ready, seconds_max)

    async def until(self, future: asyncio.Future[Any], seconds_max: float) -> Any:
        """The result of `future`. Raises the Fault with which the stream ends before, or that of a time that is up."""
        await asyncio.wait({future, self.ended}, timeout=seconds_max, return_when=asyncio.FIRST_COMPLETED)
        if future.done():
            return future.result()
        if not self.ended.done():
            self.fail(faults.too_slow(self.account, self.stage, seconds_max))
        raise self.ended.result()

    def ask(self, to: str, kind: str, payload: ET.Element) -> asyncio.Future[ET.Element]:
        """Send an iq `get` or `set`; the answer, a result or an error, may never come."""
        iq = self.make_iq(ito=to, itype="get" if kind == "get" else "set")
        iq.append(payload)
        self.send(iq)
        answer: asyncio.Future[ET.Element] = asyncio.get_running_loop().create_future()
        self._asked = {iq["id"]: answer}  # nobody waits for an earlier one any more
        return answer

    def fail(self, fault: Fault) -> None:
        """End now; the first reason is the one that counts."""
        if not self.ended.done():
            self.ended.set_result(fault)
            self._discard()

    def is_read(self) -> bool:
        """False for a server that leaves too much unread of what was sent to it."""
        return self.transport is not None and self.transport.get_write_buffer_size() <= UNSENT_BYTES_MAX

    def security(self) -> str:
        """Of this connection, in a few words."""
        if not self._is_encrypted():
            return "plain text"
        return "TLS" if self.account.verify else "TLS with a certificate that nobody verified"

    def _is_encrypted(self) -> bool:
        return self.transport is not None and self.transport.get_extra_info("ssl_object") is not None

    def close(self) -> None:
        """End as one should: the stream's end is written, and `ended` comes true when the server has taken note."""
        if self.transport is not None:
            self.transport.write(self.stream_footer.encode())

    def _discard(self) -> None:
        self.parser = None
        self.cancel_connection_attempt()
        for name in tuple(self.scheduled_events):
            self.cancel_schedule(name)
        if self._run_out_filters is not None:
            self._run_out_filters.cancel()
        for task in self._tasks - {asyncio.current_task()}:
            task.cancel()
        if self.transport is not None:
            self.transport.abort()

    # -- what slixmpp says

    def _connection_failed(self, error: object) -> None:
        if isinstance(error, OSError):
            self.fail(faults.not_connected(error, self.account))
        else:
            self.fail(faults.unknown_host(self.account))

    def _connection_ended(self, _: object) -> None:
        if not self._starting_tls:  # which will say it better
            self.fail(faults.lost(self.account))

    async def start_tls(self) -> bool:
        self._starting_tls, begun = True, False
        self._remember_task()
        try:
            begun = await super().start_tls()
        finally:
            self._starting_tls = False
            if not begun:
                self.fail(faults.lost(self.account))
        return begun

    def _login_failed(self, failure: Any) -> None:
        """One method is enough: the others would fail for the same reason, and locks count attempts."""
        self.fail(faults.login_refused(failure["condition"], self.account))

    def _session_started_now(self, _: object) -> None:
        self.stage = "serving"
        if not self._ready.done():
            self._ready.set_result(None)

    def _build_stanza(self, xml: ET.Element, default_ns: str | None = None) -> Any:
        stanza = super()._build_stanza(xml, default_ns)
        stanza.exception = self.exception  # type: ignore[method-assign]  # or it is only logged, and all wait
        return stanza

    def exception(self, e: Exception) -> None:
        """Of a handler of slixmpp's: it was given something that it did not expect."""
        what = str(e) if isinstance(e, Unbelievable) else f"what could not be read ({type(e).__name__})"
        self.fail(faults.hostile(self.account, what))

    def _remember_task(self) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _handle_stream_features(self, features: Any) -> bool | None:
        self._remember_task()
        encrypted = self._is_encrypted()
        if not encrypted and not self._loopback and "starttls" not in features["features"]:
            self.fail(faults.plain_text_only(self.account))
            return True
        self.stage = "logging in" if encrypted or "starttls" not in features["features"] else "starting TLS"
        return await super()._handle_stream_features(features)

    # -- what the server sends

    def connection_made(self, transport: asyncio.BaseTransport, send_event: bool = True) -> None:
        self.stage = "opening the stream"
        self._loopback = _is_loopback(transport.get_extra_info("peername"))
        mechanisms = self.plugin["feature_mechanisms"]
        for method in ("unencrypted_plain", "unencrypted_digest", "unencrypted_cram", "unencrypted_scram"):
            setattr(mechanisms, method, self._loopback)
        super().connection_made(transport, send_event)

    def init_parser(self) -> None:
        """UTF-8 whatever the declaration says, so that `_head` sees the bytes that the parser sees."""
        self.xml_depth = 0
        self.xml_root = None
        self._head = b""
        self._stanza_bytes = 0
        self.parser = ET.XMLPullParser(("start", "end"), _parser=ET.XMLParser(encoding="utf-8"))

    def data_received(self, data: bytes | str) -> None:
        """Feed the parser, within bounds; a parser that was replaced meanwhile (TLS, login) leaves the rest unread."""
        parser = self.parser
        if parser is None:
            return
        data = data.encode() if isinstance(data, str) else data
        if not self._head_is_plain(data):
            self.fail(faults.hostile(self.account, "a document type or something else that XMPP has not got"))
            return
        self._stanza_bytes += len(data)
        try:
            parser.feed(data)
            if hasattr(parser, "flush"):  # newer ones wait for more before they look at half a tag again
                parser.flush()
            events: Iterator[Any] = parser.read_events()
            for event, element in events:
                self._take(event, element)
                if self.parser is not parser:
                    return
        except ET.ParseError:
            self.fail(faults.hostile(self.account, "what is not XML"))
            return
        if self._stanza_bytes > STANZA_BYTES_MAX:
            self.fail(faults.hostile(self.account, f"a stanza of more than {STANZA_BYTES_MAX // 1024} KiB"))
        self._meter(len(data))

    def _meter(self, read_bytes: int) -> None:
        now_s = self.loop.time()
        earned = (now_s - self._metered_s) * READ_BYTES_PER_S
        self._may_read_bytes = min(READ_BYTES_BURST, self._may_read_bytes + earned) - read_bytes
        self._metered_s = now_s
        if self._may_read_bytes < 0 and self.transport is not None:
            self.transport.pause_reading()
            self.loop.call_later(-self._may_read_bytes / READ_BYTES_PER_S, self._read_on)

    def _read_on(self) -> None:
        if self.transport is not None:
            self.transport.resume_reading()

    def _head_is_plain(self, data: bytes) -> bool:
        """True while nothing but white space and an XML declaration stands before the first element."""
        if self._head is None:
            return True
        head = (self._head + data[:HEAD_BYTES_MAX]).removeprefix(b"\xef\xbb\xbf").lstrip()
        if head[:5] == b"<?xml" and head[5:6].isspace():
            head = head.partition(b"?>")[2].lstrip()
        if len(head) > 1 and head[:1] == b"<" and head[1:2] not in (b"!", b"?"):
            self._head = None
            return True
        self._head += data[:HEAD_BYTES_MAX]
        may_go_on = not head.startswith((b"<!", b"<?")) or b"<?xml".startswith(head)
        return may_go_on and len(self._head) < HEAD_BYTES_MAX

    def _take(self, event: str, element: ET.Element) -> None:
        if event == "start":
            if self.xml_depth == 0:
                self.xml_root = element
                self.start_stream_handler(element)  # type: ignore[no-untyped-call]
            self.xml_depth += 1
            if self.xml_depth > STANZA_DEPTH_MAX:
                self.fail(faults.hostile(self.account, f"elements in elements, {STANZA_DEPTH_MAX} deep"))
            return
        self.xml_depth -= 1
        if self.xml_depth == 0:
            self.fail(faults.lost(self.account))
        elif self.xml_depth == 1:
            self._stanza_bytes = 0
            self._dispatch(element)
            if self.xml_root is not None:
                self.xml_root.clear()

    def _dispatch(self, element: ET.Element) -> None:
        if element.tag in (MESSAGE, PRESENCE):
            if self._ready.done():  # before that, anybody on the way could have said it
                self._on_stanza(element)
        elif element.tag == STREAM_ERROR:
            condition, text = condition_of(element, STREAM_CONDITIONS)
            self.fail(faults.stream_closed(condition, text, self.account))
        elif element.tag == IQ and element.get("type") in ("get", "set"):
            self._answer(element)
        elif element.tag == IQ and element.get("id") in self._asked:
            answer = self._asked.pop(element.get("id", ""))
            if not answer.done():
                answer.set_result(element)
        elif not self._ready.done():  # afterwards slixmpp has nothing more to do
            try:
                self._spawn_event(element)
            except Exception as e:  # noqa: BLE001 of handlers that run at once
                self.exception(e)
            if element.tag == PROCEED:
                self.parser = None  # what comes before TLS has begun was not said by this server

    def _answer(self, request: ET.Element) -> None:
        """A ping; all else is declined. A server that asks and does not read the answers is left."""
        if self.transport is None or not self.is_read():
            self.fail(faults.hostile(self.account, "more questions than it reads answers"))
            return
        answer = ET.Element("iq", {"id": request.get("id", ""), "to": request.get("from", "")})
        answer.attrib = {name: value for name, value in answer.attrib.items() if value}
        if request.find(PING) is not None:
            answer.set("type", "result")
        else:
            answer.set("type", "error")
            error = ET.SubElement(answer, "error", {"type": "cancel"})
            ET.SubElement(error, "service-unavailable", {"xmlns": "urn:ietf:params:xml:ns:xmpp-stanzas"})
        self.transport.write(ET.tostring(answer))


def condition_of(stanza: ET.Element, namespace: str) -> tuple[str, str]:
    """The condition of an error element, such as `forbidden`, and the text with it; "" for what is not there."""
    names = [child.tag.removeprefix(namespace) for child in stanza if child.tag.startswith(namespace)]
    text = stanza.findtext(namespace + "text") or ""
    return next((name for name in names if name != "text"), ""), text


def _is_loopback(peer: object) -> bool:
    try:
        return isinstance(peer, tuple) and ipaddress.ip_address(peer[0]).is_loopback
    except ValueError:
        return False


def _tls_context(account: Account) -> ssl.SSLContext:
    context = ssl.create_default_context()
    places = ssl.get_default_verify_paths()
    if not any(map(os.path.exists, filter(None, (places.cafile, places.capath)))):
        bundle = next(filter(os.path.isfile, BUNDLES), None)
        if bundle is not None:
            context.load_verify_locations(bundle)
    if account.direct_tls:
        context.set_alpn_protocols(["xmpp-client"])
    if not account.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
