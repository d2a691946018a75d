"""A line on stderr for every request: who, what, how it ended, how long it took. No query, no header, no body.

    [Server] 127.0.0.1 POST /mcp tools/call 200 214 B 0.4 ms

Lines of a moment leave together: a write for each would cost a fifth of a small call.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio

    from scorpio.log import Log
    from scorpio.transports.http.exchange import Exchange

FLUSH_AFTER_S = 0.05
LINES_MAX = 64
"""Lines kept for one flush: what a pipe takes at once, about."""

LABEL_CHARS_MAX = 100


class AccessLog:
    def __init__(self, loop: asyncio.AbstractEventLoop, log: Log) -> None:
        self._loop = loop
        self._log = log
        self._lines: list[str] = []
        self.on = log.tells_info

    def add(self, exchange: Exchange, *, gone: bool) -> None:
        label = exchange.label
        if label:
            label = f" {label[:LABEL_CHARS_MAX]}"
        ended = f"{exchange.status or '-'} gone" if gone else exchange.status
        took_ms = (self._loop.time() - exchange.started_s) * 1000
        lines = self._lines
        lines.append(f"{exchange.address} {exchange.head.line}{label} {ended} {exchange.sent_bytes} B {took_ms:.1f} ms")
        if len(lines) == 1:
            self._loop.call_later(FLUSH_AFTER_S, self.flush)
        elif len(lines) >= LINES_MAX:
            self.flush()

    def flush(self) -> None:
        if self._lines:
            lines, self._lines = self._lines, []
            self._log.infos(lines)
