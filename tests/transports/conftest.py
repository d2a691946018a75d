"""`serve`: an HTTP server in this process, on a port of its own, with bounds of the test's choice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.in_process_http import BOUND_S, InProcessHttp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def serve(environ: dict[str, str], tmp_path: Path) -> Iterator[Callable[..., InProcessHttp]]:
    """`serve("conformance", head_s=0.2, tokens=["…"])`: bounds and options by name; ended after the test."""
    from scorpio.transports.http.hub import Bounds

    started: list[InProcessHttp] = []

    def serve(*toolsets: str, **options: Any) -> InProcessHttp:
        bounds = Bounds()
        for name in set(options) & set(Bounds.__slots__):
            setattr(bounds, name, options.pop(name))
        variables = {"LOG_LEVEL": "warning", **environ, **options.pop("environ", {})}
        path = tmp_path / f"http-{len(started)}"
        started.append(InProcessHttp(toolsets or ("conformance",), variables, path, bounds=bounds, **options))
        return started[-1]

    yield serve
    for server in started:
        server.stop()
        server.wait(BOUND_S)
        assert "Internal error" not in server.stderr(), server.stderr()
