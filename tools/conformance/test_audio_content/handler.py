"""test_audio_content: one audio block."""

from __future__ import annotations

from scorpio.tool import ToolResult, audio_block
from tools.conformance.media import SILENCE_WAV

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call
    from tools.conformance._catalog import TestAudioContentArguments


def handle(arguments: TestAudioContentArguments, call: Call[None]) -> ToolResult:
    return ToolResult([audio_block(SILENCE_WAV, "audio/wav")])
