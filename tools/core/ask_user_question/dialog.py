"""The dialog as a state: keys change it, a screen shows it. Knows no terminal.

One question at a time; `Enter` on the last one ends it, `Esc` gives all of them up.
"""

from __future__ import annotations

from tools.core.ask_user_question import keys
from tools.core.ask_user_question.answers import Answer
from tools.core.ask_user_question.cells import cut, printable, tail, text_width, wrap
from tools.core.limits import TYPED_ANSWER_CHARS_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tools.core.ask_user_question.questions import Question

PLAIN, DIM, BOLD, MARKED = "", "2", "1", "1;36"
"""SGR codes; without colour they are left out, and the mark `>` says it all."""

INDENT = 2
CANCELLED, ANSWERED = "cancelled", "answered"


class Row:
    """One line of the screen."""

    __slots__ = ("style", "text")

    def __init__(self, text: str, style: str = PLAIN) -> None:
        self.text = text
        self.style = style


class Frame:
    """What a screen shows. `cursor` is (row, column) from 0, or None where there is nothing to type."""

    __slots__ = ("cursor", "rows")

    def __init__(self, rows: list[Row], cursor: tuple[int, int] | None) -> None:
        self.rows = rows
        self.cursor = cursor


class _Page:
    """One question and what was chosen so far."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.choices = [*question.options, question.other] if question.options else []
        self.at = 0
        self.ticked: set[int] = set()
        self.typed = ""
        self.typing = not self.choices

    @property
    def own(self) -> int:
        """Where the choice stands that is typed."""
        return len(self.choices) - 1

    def answer(self) -> Answer:
        labels = [self.choices[index].label for index in sorted(self.ticked) if index != self.own]
        own = self.own in self.ticked or not self.choices
        return Answer(labels, self.typed.strip() if own else "")


class Dialog:
    """`outcome` is empty until it is ANSWERED or CANCELLED."""

    def __init__(self, questions: list[Question]) -> None:
        self._pages = [_Page(question) for question in questions]
        self._number = 0
        self._scrolled = 0
        self._follows = False
        """The mark is kept in sight: from the first key on, so that a long question begins at its beginning."""
        self.outcome = ""
        self.ready = True
        """False while keys are not taken yet: the line of keys is not shown."""

    @property
    def _page(self) -> _Page:
        return self._pages[self._number]

    def answers(self) -> list[Answer]:
        return [page.answer() for page in self._pages]

    # -- keys

    def press(self, key: str) -> None:
        if self.outcome:
            return
        self._follows = key not in (keys.PAGE_UP, keys.PAGE_DOWN)
        if key == keys.QUIT:
            self.outcome = CANCELLED
        elif key == keys.PAGE_UP:
            self._scrolled = max(0, self._scrolled - 5)
        elif key == keys.PAGE_DOWN:
            self._scrolled += 5
        elif self._page.typing:
            self._type(key)
        else:
            self._choose(key)

    def _type(self, key: str) -> None:
        page = self._page
        if key == keys.ESCAPE:
            if page.choices:
                page.typing = False
            else:
                self.outcome = CANCELLED
        elif key == keys.ENTER:
            if page.typed.strip():
                self._typed()
        elif key == keys.LEFT and not page.choices and not page.typed:
            self._turn(self._number - 1)
        elif key == keys.BACKSPACE:
            page.typed = page.typed[:-1]
        elif key == keys.CLEAR:
            page.typed = ""
        elif key.startswith(keys.PASTE):
            self._insert(" ".join(key.removeprefix(keys.PASTE).split()))
        elif len(key) == 1:
            self._insert(key)

    def _insert(self, text: str) -> None:
        self._page.typed = (self._page.typed + printable(text))[:TYPED_ANSWER_CHARS_MAX]

    def _typed(self) -> None:
        page = self._page
        page.typing = not page.choices
        if page.choices:
            page.ticked.add(page.own)
        if not page.question.multi or not page.choices:
            self._next()

    def _choose(self, key: str) -> None:
        page = self._page
        if key in (keys.UP, "k"):
            page.at = (page.at - 1) % len(page.choices)
        elif key in (keys.DOWN, "j"):
            page.at = (page.at + 1) % len(page.choices)
        elif key == keys.LEFT:
            self._turn(self._number - 1)
        elif key == keys.ESCAPE:
            self.outcome = CANCELLED
        elif key == keys.ENTER and page.question.multi and page.ticked:
            self._next()
        elif key in ("1", "2", "3", "4", "5", "6", "7", "8", "9"):
            if int(key) <= len(page.choices):
                page.at = int(key) - 1
                self._pick()
        elif key in (keys.ENTER, " "):
            self._pick()
            if key == keys.ENTER and page.question.multi and page.ticked:  # several may be chosen, and one is
                self._next()

    def _pick(self) -> None:
        """The choice the mark stands at: ticked or not, or answered at once where only one may be."""
        page = self._page
        if not page.question.multi:
            page.ticked.clear()
        if page.at in page.ticked:
            page.ticked.remove(page.at)
        elif page.at == page.own:
            page.typing = True
        else:
            page.ticked.add(page.at)
            if not page.question.multi:
                self._next()

    def _next(self) -> None:
        if self._number + 1 < len(self._pages):
            self._turn(self._number + 1)
        else:
            self.outcome = ANSWERED

    def _turn(self, number: int) -> None:
        self._number = max(0, number)
        self._scrolled, self._follows = 0, False

    # -- what is shown

    def frame(self, columns: int, lines: int) -> Frame:
        """At most `lines` rows of less than `columns` cells: the last column stays free, or the terminal would wrap."""
        width = max(1, columns - 1)
        body, first, last, cursor = self._body(width)
        space = max(1, lines - 2)
        top = min(self._scrolled, max(0, len(body) - space))
        if self._follows:
            top = min(max(top, last + 1 - space), first)
        self._scrolled = top
        footer = [Row(""), Row(self._footer(width, scrolls=len(body) > space), DIM)][: max(0, lines - 1)]
        if cursor is not None:
            row = cursor[0] - top
            cursor = (row, min(cursor[1], width)) if 0 <= row < space else None
        return Frame([*body[top : top + space], *footer], cursor)

    def _body(self, width: int) -> tuple[list[Row], int, int, tuple[int, int] | None]:
        """(rows, first and last row that must be seen, cursor)."""
        page = self._page
        rows = []
        count = f"Question {self._number + 1} of {len(self._pages)}" if len(self._pages) > 1 else ""
        heading = "  ".join(filter(None, (count, page.question.header and f"[{page.question.header}]")))
        if heading:
            rows.append(Row(cut(printable(heading), width), DIM))
        rows += [Row(line, BOLD) for line in wrap(page.question.text, width)]
        rows.append(Row(""))
        first, last = 0, len(rows) - 1
        for index in range(len(page.choices)):
            begin = len(rows)
            rows += self._choice(index, width)
            if index == page.at:
                first, last = begin, len(rows) - 1
        if not page.typing:
            return rows, first, last, None
        entry = Row(cut(f"{' ' * INDENT}: {tail(page.typed, max(1, width - INDENT - 4))}", width), BOLD)
        rows.append(entry)
        return rows, len(rows) - 1, len(rows) - 1, (len(rows) - 1, text_width(entry.text))

    def _choice(self, index: int, width: int) -> list[Row]:
        page = self._page
        option = page.choices[index]
        here = index == page.at and not page.typing
        box = ("[x] " if index in page.ticked else "[ ] ") if page.question.multi else ""
        lead = f"{'>' if here else ' '} {index + 1:>{len(str(len(page.choices)))}}. {box}"
        label = option.label
        if index == page.own and page.typed:
            label = f"{label}: {page.typed}"
        lead = cut(lead, max(0, width - 2))
        inner = max(1, width - len(lead))
        first, *more = wrap(label, inner)
        style = MARKED if here else PLAIN
        rows = [Row(lead + first, style), *(Row(" " * len(lead) + line, style) for line in more)]
        if option.description:
            rows += [Row(" " * len(lead) + line, DIM) for line in wrap(option.description, inner)]
        return rows

    def _footer(self, width: int, *, scrolls: bool) -> str:
        """What the keys do; where that is too long, without what is best known."""
        page = self._page
        back = ["Left: back"] if self._number else []
        if not self.ready:
            said = ["..."]
        elif page.typing:
            said = [*back, "Ctrl-U: clear", "Enter: done", "Esc: back" if page.choices else "Esc: cancel"]
        elif page.question.multi:
            said = [*back, "Up/Down: move", "Space, 1-9: tick", "Enter: done", "Esc: cancel"]
        else:
            said = [*back, "Up/Down: move", "Enter, 1-9: choose", "Esc: cancel"]
        if scrolls:
            said.insert(-1, "PgUp/PgDn")
        while len(said) > 1 and len("   ".join(said)) > width:
            del said[0]
        return cut("   ".join(said), width)
