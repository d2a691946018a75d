"""Lines from a person: with history, completion and colours on a terminal, plain from a pipe."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession


class Lines:
    """`ask` gives a line, None at the end of input or when the person declines."""

    def __init__(self, history_path: str, completions: Callable[[str], Iterable[str]]) -> None:
        """`completions(text before the cursor)` gives whole words that may stand in the place of the last one."""
        self.interactive = sys.stdin.isatty() and sys.stdout.isatty()
        self._session: PromptSession[str] | None = None
        self._history_path = history_path
        self._completions = completions

    async def ask(self, prompt: str, *, completing: bool = False) -> str | None:
        """Raises KeyboardInterrupt when `completing`, where Ctrl-C is not an answer."""
        if not self.interactive:
            line = await asyncio.to_thread(sys.stdin.readline)
            return line.rstrip("\n") if line else None
        from prompt_toolkit.patch_stdout import patch_stdout

        try:
            with patch_stdout(raw=True):
                if not completing:  # an answer is nobody's next command, and may be a secret
                    from prompt_toolkit import PromptSession

                    return await PromptSession[str]().prompt_async(prompt)
                return await self._prompt_session().prompt_async(prompt)
        except EOFError:
            return None
        except KeyboardInterrupt:
            if completing:
                raise
            return None

    def _prompt_session(self) -> PromptSession[str]:
        if self._session is None:
            from prompt_toolkit import PromptSession
            from prompt_toolkit.history import FileHistory, History, InMemoryHistory

            history: History = InMemoryHistory()
            if self._history_path:
                history = FileHistory(self._history_path)
            self._session = PromptSession(
                history=history,
                completer=self._completer(),
                complete_while_typing=False,
                enable_history_search=True,
            )
        return self._session

    def _completer(self) -> Any:
        from prompt_toolkit.completion import Completer, Completion

        completions = self._completions

        class Words(Completer):
            def get_completions(self, document: Any, complete_event: Any) -> Iterable[Completion]:
                text = document.text_before_cursor
                word = text[text.rfind(" ") + 1 :]
                for each in completions(text):
                    if each.startswith(word):
                        yield Completion(each, start_position=-len(word))

        return Words()


class ProgressLine:
    """One line on stderr that is written anew; nothing in a pipe."""

    WIDTH = 24

    def __init__(self) -> None:
        self._shown = 0
        self._wanted = sys.stderr.isatty()

    def update(self, params: dict[str, Any]) -> None:
        done, total = params.get("progress"), params.get("total")
        message = "".join(c for c in str(params.get("message") or "") if c.isprintable())[:60]
        if type(done) in (int, float) and type(total) in (int, float) and total:
            filled = max(0, min(self.WIDTH, round(self.WIDTH * done / total)))  # type: ignore[operator]
            self._write(f"[{'█' * filled}{'·' * (self.WIDTH - filled)}] {done:g}/{total:g} {message}")
        else:
            self._write(f"… {done if done is not None else ''} {message}")

    def clear(self) -> None:
        if self._shown:
            self._write("")
            sys.stderr.write("\r")

    def _write(self, text: str) -> None:
        if self._wanted:
            sys.stderr.write("\r" + text + " " * max(self._shown - len(text), 0))
            sys.stderr.flush()
            self._shown = len(text)
