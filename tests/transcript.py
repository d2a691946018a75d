"""A transcript: one wire conversation as text, and how it is played.

    Prose: what this shows, and why.
    source: spec | seed | ours | issue, and where
    requirement: id, id
    -- serve --
    toolsets: conformance
    transports: in-process stdio frozen        (these, http and http-frozen where left out)
    env: KEY=value                             (any number)
    -- let --
    name = text                                (stands for {{name}} in the lines below)
    -- wire --
    # why the next lines
    > a line that is sent, as it is
    < the next message that must come, as JSON with the placeholders of tests/expect.py
    | one of a group of messages that may come in any order
    -- end --
    exit: 0

What was kept by "<name := string>" stands for {{name}} in later lines. After the last line nothing more may come.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.expect import difference

if TYPE_CHECKING:
    from pathlib import Path

    from tests.wire import Wire

SECTIONS = ("serve", "let", "wire", "end")
HEADERS = {"source", "requirement"}
SOURCES = ("spec", "seed", "ours", "issue")
SERVE_KEYS = {"toolsets", "transports", "env"}
QUIET_S = 0.3
"""For --accept alone: how long nothing must come before the answer counts as whole."""


@dataclass
class Transcript:
    path: Path
    prose: list[str] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    toolsets: list[str] = field(default_factory=list)
    transports: list[str] = field(default_factory=lambda: ["in-process", "stdio", "frozen", "http", "http-frozen"])
    env: dict[str, str] = field(default_factory=dict)
    let: dict[str, str] = field(default_factory=dict)
    wire: list[str] = field(default_factory=list)
    exit_status: int = 0

    @property
    def requirements(self) -> list[str]:
        return [id_.strip() for id_ in self.headers["requirement"].split(",")]


def read(path: Path) -> Transcript:
    """Raises ValueError with the line that is not understood."""
    transcript = Transcript(path)
    section = ""
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        try:
            section = _take(transcript, section, line)
        except ValueError as fault:
            raise ValueError(f"{path.name}:{number}: {fault}") from None
    missing = HEADERS - transcript.headers.keys()
    if missing or not transcript.prose or not transcript.toolsets or not transcript.wire:
        raise ValueError(f"{path.name}: needs prose, {', '.join(sorted(HEADERS))}, toolsets and a wire section")
    if transcript.headers["source"].split()[0].rstrip(":,") not in SOURCES:
        raise ValueError(f"{path.name}: source must begin with one of {', '.join(SOURCES)}")
    return transcript


def _take(transcript: Transcript, section: str, line: str) -> str:
    heading = re.fullmatch("-- ([a-z]+) --", line)
    if heading:
        if heading[1] not in SECTIONS:
            raise ValueError(f"there is no section {heading[1]}")
        return heading[1]
    if section == "wire":
        if line and line[0] not in "#><|":
            raise ValueError("a wire line begins with #, >, < or |")
        transcript.wire.append(line)
    elif line.strip():
        _take_setting(transcript, section, line)
    return section


def _take_setting(transcript: Transcript, section: str, line: str) -> None:
    name, separator, value = line.partition("=" if section == "let" else ":")
    name, value = name.strip(), value.strip()
    if section == "":
        if separator and name in HEADERS:
            transcript.headers[name] = value
        else:
            transcript.prose.append(line)
    elif section == "let":
        transcript.let[name] = value
    elif section == "end" and name == "exit":
        transcript.exit_status = int(value)
    elif section == "serve" and name == "toolsets":
        transcript.toolsets = value.split()
    elif section == "serve" and name == "transports":
        transcript.transports = value.split()
    elif section == "serve" and name == "env":
        key, _, text = value.partition("=")
        transcript.env[key] = text
    else:
        raise ValueError(f"{section} has no {name!r}")


class Player:
    """Plays one transcript on one connection."""

    def __init__(self, transcript: Transcript, wire: Wire) -> None:
        self._transcript = transcript
        self._wire = wire
        self._kept: dict[str, Any] = {}
        self._taken = 0

    def check(self) -> None:
        """Raises AssertionError at the first message that is not the expected one."""
        lines = self._transcript.wire
        index = 0
        while index < len(lines):
            line = lines[index]
            if line.startswith(">"):
                self._send(line)
            elif line.startswith("<"):
                said = self._mismatch(line, self._next(line))
                assert said == "", f"{line}\n{said}"
            elif line.startswith("|"):
                group = []
                while index < len(lines) and lines[index].startswith("|"):
                    group.append(lines[index])
                    index += 1
                self._check_group(group)
                continue
            index += 1
        self.check_end()

    def check_end(self) -> None:
        self._wire.closed = True
        self._wire.link.close_input()
        status = self._wire.link.wait(60)
        assert status == self._transcript.exit_status
        self._wire.wait_for_end()
        assert self._wire.received[self._taken :] == [], "messages that nobody expects"
        self._wire.judge()

    def accept(self) -> list[str]:
        """The wire lines as they would pass: what matches stays as it is written, the rest becomes what came."""
        accepted: list[str] = []
        for block in re.findall(r"(?:[^<|].*\n|\n)+(?:[<|].*\n)*", "\n".join([*self._transcript.wire, ""])):
            lines = block.splitlines()
            expected = [line for line in lines if line.startswith(("<", "|"))]
            rest = lines[: len(lines) - len(expected)]
            for line in rest:
                if line.startswith(">"):
                    self._send(line)
            accepted += [*rest, *self._accepted(expected)]
        self._wire.close()
        return accepted

    def _accepted(self, expected: list[str]) -> list[str]:
        lines = []
        for message in self._quiet():
            fits = [line for line in expected if self._mismatch(line, message) == ""]
            written = f"< {json.dumps(message, ensure_ascii=False, separators=(',', ':'))}"
            lines.append(fits[0] if fits else written)
            if fits:
                expected.remove(fits[0])
        return lines

    def _quiet(self) -> list[Any]:
        count = -1
        while count != len(self._wire.received):
            count = len(self._wire.received)
            time.sleep(QUIET_S)
        new = self._wire.received[self._taken :]
        self._taken += len(new)
        return list(new)

    def _send(self, line: str) -> None:
        self._wire.send(self._filled(line[2:]).encode("utf-8", "surrogateescape") + b"\n")

    def _next(self, line: str) -> Any:
        message = self._wire.message_at(self._taken, line)
        self._taken += 1
        return message

    def _check_group(self, group: list[str]) -> None:
        messages = [self._next("one of a group") for _ in group]
        for line in group:
            fits = next((m for m in messages if self._mismatch(line, m) == ""), None)
            assert fits is not None, f"{line}\nis none of {messages}"
            messages.remove(fits)

    def _mismatch(self, line: str, message: Any) -> str:
        return difference(json.loads(self._filled(line[2:])), message, self._kept)

    def _filled(self, text: str) -> str:
        for name, value in {**self._transcript.let, **self._kept}.items():
            if f"{{{{{name}}}}}" in text:
                text = text.replace(f"{{{{{name}}}}}", value if isinstance(value, str) else json.dumps(value))
        return text


def rewritten(transcript: Transcript, wire_lines: list[str]) -> str:
    """The file with other wire lines."""
    lines = transcript.path.read_text("utf-8").splitlines()
    start = lines.index("-- wire --") + 1
    end = lines.index("-- end --") if "-- end --" in lines else len(lines)
    while wire_lines and not wire_lines[-1]:
        wire_lines.pop()
    return "\n".join([*lines[:start], *wire_lines, *lines[end:]]) + "\n"
