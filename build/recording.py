"""The picture in the README: a session with the executable at a real terminal, drawn as SVG line by line.

`python3 build/dev.py picture` plays SESSION in a shell on a pty and writes build/recording.svg. Every line of it was
written by the shell or the executable, when it says it was; only the pauses before typing are ours. Without an
animation (a printer, a converter, "reduce motion") the whole session is seen at once.
"""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unicodedata
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

COLUMNS, ROWS = 96, 40
ANSWER_S_MAX = 60
"""For what a line of the session waits for; the first start unpacks the executable."""

THINKING_S = 1.5
"""Before a line is typed: so long a person wants to look at the answer before."""

SHELL = "$ "
CLIENT = "mcp> "


class Typed(NamedTuple):
    line: str
    prompt: str
    """What is waited for before it."""


SESSION = (
    Typed("scorpio client", SHELL),
    Typed("Bash command='echo hello from $(uname -s); exit 3'", CLIENT),
    Typed("BackgroundBash command='echo building; exec sleep 600'", CLIENT),
    Typed("ReadBgOutput task_id=1", CLIENT),
    Typed("KillBgTask task_id=1", CLIENT),
    Typed("PlanMode action=enter", CLIENT),
    Typed("Bash command='echo more >> notes.txt'", CLIENT),
    Typed("PlanMode action=reset", CLIENT),
    Typed("exit", CLIENT),
)
"""What is typed. It shows nothing that differs from machine to machine."""


class Line(NamedTuple):
    text: str
    at_s: float
    """When its last letter came."""


class RecordingFailure(Exception):
    """The session did not go as it should: one sentence."""


def record(executable: Path, thinking_s: float = THINKING_S, cache: str = "") -> list[Line]:
    """Play the session. `cache`: where the executable is unpacked already. Raises RecordingFailure."""
    with tempfile.TemporaryDirectory(prefix="scorpio-recording-") as home:
        place = Path(home, "bin")
        place.mkdir()
        (place / "scorpio").symlink_to(executable.resolve())
        project = Path(home, "project")
        project.mkdir()
        environment = {
            "HOME": home, "PATH": f"{place}:/usr/bin:/bin", "TERM": "dumb", "PS1": SHELL, "LC_ALL": "C.UTF-8",
            "ENV": "", "SCORPIO_HOME": f"{home}/.scorpio", "ASK_TTY": "off",
            "SCORPIO_CACHE_DIR": cache or f"{home}/.scorpio/cache",
        }  # fmt: skip
        subprocess.run([place / "scorpio", "--version"], env=environment, capture_output=True, check=True)  # unpacked
        player = _Player(["bash", "--norc", "--noprofile", "--noediting"], environment, project)
        try:
            for typed in SESSION:
                player.wait_for(typed.prompt)
                select.select([], [], [], thinking_s)
                player.type(typed.line)
            player.wait_for(SHELL)
        finally:
            player.stop()
        lines = player.lines()[:-1]  # but for the last prompt
        return [Line(line.text.replace(home, "~"), line.at_s) for line in lines]


class _Player:
    """A program on a terminal of its own, and what it wrote when."""

    def __init__(self, command: list[str], environment: dict[str, str], directory: Path) -> None:
        import fcntl
        import pty
        import termios

        self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            os.chdir(directory)
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
            os.execvpe(command[0], command, environment)
        self._written: list[tuple[str, float]] = []
        self._seen = ""
        self._began = time.monotonic()

    def wait_for(self, prompt: str) -> None:
        """Until the last line is the prompt."""
        end_s = time.monotonic() + ANSWER_S_MAX
        while self._seen.rpartition("\n")[2] != prompt:
            if time.monotonic() > end_s or not select.select([self._terminal], [], [], ANSWER_S_MAX)[0]:
                raise RecordingFailure(f"{prompt!r} did not come: {self._seen[-300:]!r}")
            try:
                text = os.read(self._terminal, 65536).decode("utf-8", "replace")
            except OSError:
                raise RecordingFailure(f"The session ended early: {self._seen[-300:]!r}") from None
            text = re.sub(r"\x1b\[[0-?]*[ -/]*[@-~]", "", text).replace("\r", "")
            self._seen += text
            self._written.append((text, time.monotonic() - self._began))

    def type(self, line: str) -> None:
        self._seen = ""  # the prompt that comes next is a new one
        os.write(self._terminal, line.encode() + b"\r")

    def stop(self) -> None:
        os.kill(self._pid, signal.SIGHUP)
        os.close(self._terminal)
        os.waitpid(self._pid, 0)

    def lines(self) -> list[Line]:
        found = [Line("", 0.0)]
        for text, at_s in self._written:
            first, *others = text.split("\n")
            found[-1] = Line(found[-1].text + first, at_s)
            found += [Line(other, at_s) for other in others]
        return found


FONT_PX = 14
LETTER_PX = 8.4
LINE_PX = 20
MARGIN_PX = 18
BAR_PX = 34
STYLE = """
text { font: 14px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; white-space: pre; fill: #d7dae0 }
.prompt { fill: #7ee787 } .typed { fill: #ffffff; font-weight: bold } .title { fill: #8b949e; text-anchor: middle }
.line { animation: appear 0.01s both } @keyframes appear { from { opacity: 0 } to { opacity: 1 } }
@media (prefers-reduced-motion: reduce) { .line { animation: none } }
"""


def drawn(lines: list[Line]) -> str:
    """The picture, as SVG."""
    rows = [(part, line) for line in lines for part in _wrapped(line.text)]
    width = round(COLUMNS * LETTER_PX + 2 * MARGIN_PX)
    height = BAR_PX + len(rows) * LINE_PX + MARGIN_PX
    dots = "".join(
        f'<circle cx="{22 + 20 * number}" cy="17" r="6" fill="{colour}"/>'
        for number, colour in enumerate(("#ff5f56", "#ffbd2e", "#27c93f"))
    )
    body = "\n".join(
        f'<g class="line" style="animation-delay: {line.at_s:.2f}s">{_text(part, BAR_PX + number * LINE_PX - 6)}</g>'
        for number, (part, line) in enumerate(rows, start=1)
        if part.strip()
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">\n'
        f"<title>A session with scorpio at a terminal</title>\n<style>{STYLE}</style>\n"
        f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>{dots}\n'
        f'<text class="title" x="{width // 2}" y="22">scorpio client</text>\n{body}\n</svg>\n'
    )


def _text(line: str, y: int) -> str:
    prompt = next((each for each in (SHELL, CLIENT) if line.startswith(each)), "")
    shown = escape(line[len(prompt) :])
    if prompt:
        shown = f'<tspan class="prompt">{escape(prompt)}</tspan><tspan class="typed">{shown}</tspan>'
    return (
        f'<text x="{MARGIN_PX}" y="{y}" textLength="{_cells(line) * LETTER_PX:.1f}" xml:space="preserve">{shown}</text>'
    )


def _cells(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def _wrapped(text: str) -> list[str]:
    """As a terminal of COLUMNS shows it."""
    return [text[start : start + COLUMNS] for start in range(0, len(text), COLUMNS)] or [""]


def draw(executable: Path, target: Path) -> None:
    """Record, and write the picture to `target`. Raises RecordingFailure."""
    if sys.platform == "win32" or shutil.which("bash") is None:
        raise RecordingFailure("The session is played in bash on a pseudo-terminal, which this system has not got.")
    target.write_text(drawn(record(executable)), "utf-8")
