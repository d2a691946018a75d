"""Plays every file of tests/transcripts over every transport that it names. `--accept` rewrites what is expected."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conftest import TRANSPORTS
from tests.links import ROOT
from tests.transcript import Player, read, rewritten
from tests.wire import MODERN, Wire

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.links import Link

TRANSCRIPTS = sorted((ROOT / "tests" / "transcripts").glob("*.txt"))


@pytest.mark.transports(*TRANSPORTS, "http-frozen")
@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_conversation_goes_as_it_is_written(
    link: Callable[..., Link], environ: dict[str, str], transport: str, path: Path, request: pytest.FixtureRequest
) -> None:
    transcript = read(path)
    if transport not in transcript.transports:
        pytest.skip(f"not over {transport}")
    environ.update(transcript.env)
    player = Player(
        transcript, Wire(link(*transcript.toolsets), MODERN, {"elicitation": {}, "sampling": {}, "roots": {}})
    )
    if request.config.getoption("--accept"):
        if transport == "in-process":
            path.write_text(rewritten(transcript, player.accept()), "utf-8")
        return
    player.check()
