"""`scorpio http`: MCP for many clients, on Streamable HTTP and HTTP+SSE."""

from __future__ import annotations

import os
import stat
import sys

from scorpio.app import serve_http
from scorpio.commands import server_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

PORT = 3000
TOKEN_VARIABLE = "SCORPIO_HTTP_TOKEN"
TOKEN_FILE_BYTES_MAX = 64 * 1024
"""Longest file of tokens that is read; one has 43 characters."""


class NoToken(Exception):
    """A sentence for the person who named the file."""


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1); others need a token")
    parser.add_argument("--port", type=port, default=PORT, help=f"port to listen on ({PORT}); 0: any that is free")
    parser.add_argument(
        "--token-file", metavar="F", help=f"file with the bearer tokens to accept, one a line; else {TOKEN_VARIABLE}"
    )
    parser.add_argument(
        "--allow-origin", action="append", default=[], metavar="O", help="a web page's origin that may connect"
    )
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="H",
        help="a further Host header to answer for",
    )
    server_options.add(parser)
    parser.add_argument("--metrics", action="store_true", help="counters for Prometheus on /metrics")


def run(chosen: Namespace) -> int:
    """Exit status: 0 after a signal, 1 when it cannot listen, 2 for a wrong call."""
    from scorpio.transports.http.serve import HttpOptions  # asyncio and more

    try:
        tokens = _tokens(chosen.token_file)
        options = HttpOptions(
            chosen.host,
            chosen.port,
            tokens=tokens,
            hosts=chosen.allow_host,
            origins=[_origin(origin) for origin in chosen.allow_origin],
            metrics=chosen.metrics,
        )
    except (NoToken, ValueError) as fault:
        sys.stderr.write(f"scorpio: {fault}\n")
        return 2
    return serve_http(options, server_options.toolsets(chosen), server_options.keys(chosen))


def port(text: str) -> int:
    number = int(text)
    if not 0 <= number <= 65535:
        raise ValueError
    return number


def _origin(text: str) -> str:
    scheme, separator, host = text.partition("://")
    if not separator or not scheme.isalpha() or not host or set(host) & set("/?# *"):
        raise ValueError(f"--allow-origin {text}: an origin is like https://app.example or http://localhost:6274.")
    return text


def _tokens(path: str | None) -> list[str]:
    """Raises NoToken. The variable is taken out of the environment: nothing that is started needs it."""
    value = os.environ.pop(TOKEN_VARIABLE, "")
    if path is None:
        tokens = [value.strip()] if value.strip() else []
        if value and not tokens:
            raise NoToken(f"{TOKEN_VARIABLE} is blank. Unset it, or put a token there.")
    else:
        tokens = _from_file(path)
    for token in tokens:
        if not token.isascii() or not token.isprintable() or " " in token:
            raise NoToken("A token consists of visible ASCII characters, without blanks.")
    return tokens


def _from_file(path: str) -> list[str]:
    try:
        file = os.open(os.path.expanduser(path), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
        try:
            status = os.fstat(file)
            content = os.read(file, TOKEN_FILE_BYTES_MAX) if stat.S_ISREG(status.st_mode) else b""
        finally:
            os.close(file)
    except OSError as fault:
        raise NoToken(f"--token-file {path}: {(fault.strerror or str(fault)).lower()}.") from None
    if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        sys.stderr.write(f"scorpio: --token-file {path}: other users may read it. chmod 600 it.\n")
    lines = [line.strip() for line in content.decode("utf-8", "replace").splitlines()]
    tokens = [line for line in lines if line and not line.startswith("#")]
    if not tokens:
        raise NoToken(f"--token-file {path} holds no token.")
    return tokens
