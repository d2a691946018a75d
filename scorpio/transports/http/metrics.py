"""Counters of one HTTP server, in the text format that Prometheus reads. Served at /metrics when asked for."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from scorpio.transports.http.exchange import Exchange

KNOWN_METHODS = ("GET", "POST", "DELETE", "OPTIONS", "HEAD")
"""Others are counted as one: a client must not choose how many series there are."""


class Metrics:
    __slots__ = ("_requests", "connections", "sent_bytes")

    def __init__(self) -> None:
        self.connections = 0
        """Accepted since the start."""
        self.sent_bytes = 0
        self._requests: dict[tuple[bytes, int, bool], int] = {}

    def count(self, exchange: Exchange, *, gone: bool) -> None:
        key = (exchange.head.method, exchange.status, gone)
        self._requests[key] = self._requests.get(key, 0) + 1
        self.sent_bytes += exchange.sent_bytes

    def text(self, gauges: Mapping[str, tuple[str, int]]) -> bytes:
        """All of it; `gauges`: name -> (what it is, its value now)."""
        lines = _family("scorpio_http_requests_total", "counter", "Requests answered, by method and status.")
        for (method, status), count in sorted(self._by_label().items()):
            lines.append(f'scorpio_http_requests_total{{method="{method}",status="{status}"}} {count}')
        for name, what, value in (
            ("scorpio_http_connections_total", "Connections accepted.", self.connections),
            ("scorpio_http_sent_bytes_total", "Bytes of bodies and events sent.", self.sent_bytes),
        ):
            lines += [*_family(name, "counter", what), f"{name} {value}"]
        for name, (what, value) in gauges.items():
            lines += [*_family(name, "gauge", what), f"{name} {value}"]
        return ("\n".join(lines) + "\n").encode()

    def _by_label(self) -> dict[tuple[str, str], int]:
        found: dict[tuple[str, str], int] = {}
        for (raw, status, gone), count in self._requests.items():
            method = raw.decode("latin-1")
            label = (method if method in KNOWN_METHODS else "other", "gone" if gone else str(status))
            found[label] = found.get(label, 0) + count
        return found


def _family(name: str, kind: str, what: str) -> list[str]:
    return [f"# HELP {name} {what}", f"# TYPE {name} {kind}"]
