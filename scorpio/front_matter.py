"""The YAML front matter of a SKILL.md as JSON values, whole and exactly, or not at all.

The other reader of front matter (for tools that only need a description) takes damaged text as well as it can. This one
serves hosts that compare every field with their own YAML parser and drop the skill where one differs: what is beyond it
is refused with its line, never guessed. It knows YAML 1.2 (core schema) without anchors, aliases, tags, complex
keys and directives: nothing can be expanded and nothing constructed. Its time is linear. Not imported at a start.
"""

from __future__ import annotations

import re

from scorpio.yaml_flow import NotPlain, flow_value, quoted, scalar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEPTH_MAX = 32
"""Collections within each other; real front matter has two levels, and a parser's stack must not be the sender's."""

FRONT = re.compile(r"---\n(.*?)\n---[ \t]*(?:\n|$)", re.DOTALL)
COLON = re.compile(r":(?:[ \t]|$)")
COMMENT = re.compile(r"[ \t]#")
BLOCK = re.compile(r"([|>])(?:([+-])([1-9])?|([1-9])([+-])?)? *(?: #.*)?$")
TAB = "has a tab outside quotes, where parsers do not agree on it"
NOT_PLAIN = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
"""What YAML does not allow as it stands, and line ends that are none since YAML 1.2."""


def front_matter(text: str) -> dict[str, Any]:
    """The object between the two lines `---` at the beginning of `text`. Raises NotPlain: a clause that says why."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    found = FRONT.match(text)
    if found is None:
        raise NotPlain("does not begin with front matter between two lines ---")
    if NOT_PLAIN.search(found[1]):
        raise NotPlain("has characters in its front matter that YAML does not allow")
    block = _Block(found[1].split("\n"))
    value = block.node(-1, 0)
    if block.peek() is not None:
        raise block.wrong("does not belong to what stands above it")
    if type(value) is not dict:
        raise NotPlain("has front matter that is no mapping of names to values")
    return value


class _Block:
    """The lines of a document, read from the top: one look ahead, never back."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 0

    def wrong(self, why: str) -> NotPlain:
        return NotPlain(f"has front matter whose line {min(self._at, len(self._lines) - 1) + 2} {why}")

    def peek(self) -> int | None:
        """The indentation of the next line with content, which is then the current one; None at the end."""
        while self._at < len(self._lines):
            line = self._lines[self._at]
            content = line.lstrip(" ")
            if content.strip(" \t") and not content.startswith("#"):
                if content[0] == "\t":
                    raise self.wrong(TAB)
                if line.startswith(("...", "---")) or content[0] == "%":
                    raise self.wrong("is a mark between documents")
                return len(line) - len(content)
            if "\t" in content.partition("#")[0]:
                raise self.wrong(TAB)
            self._at += 1
        return None

    def node(self, above: int, depth: int) -> Any:
        """The value that stands on lines of its own, indented more than `above`; None where there is none."""
        indent = self.peek()
        if indent is None or indent <= above:
            return None
        if depth > DEPTH_MAX:
            raise self.wrong(f"is nested deeper than {DEPTH_MAX} levels")
        content = self._lines[self._at][indent:]
        if content == "-" or content.startswith(("- ", "-\t")):
            return self._sequence(indent, depth)
        if self._key(content) is not None:
            return self._mapping(indent, depth)
        return self._value(above, indent)

    def _sequence(self, indent: int, depth: int) -> list[Any]:
        items = []
        while self.peek() == indent:
            content = self._lines[self._at][indent:]
            if content != "-" and not content.startswith("- "):
                break
            rest = content[1:].lstrip(" ")
            if not rest or rest.startswith("#"):
                self._at += 1
                items.append(self.node(indent, depth + 1))
            else:
                self._lines[self._at] = " " * (indent + len(content) - len(rest)) + rest
                items.append(self.node(indent, depth + 1))
        return items

    def _mapping(self, indent: int, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while self.peek() == indent:
            content = self._lines[self._at][indent:]
            key = self._key(content)
            if key is None:
                break
            name, rest = key
            if name in found:
                raise self.wrong(f"has {name[:40]!r} a second time")
            if rest and not rest.startswith("#"):
                found[name] = self._value(indent, len(self._lines[self._at]) - len(rest))
            else:
                self._at += 1
                begun = self.peek()
                dashes = begun == indent and (self._lines[self._at][indent:] + " ").startswith("- ")
                found[name] = self._sequence(indent, depth + 1) if dashes else self.node(indent, depth + 1)
        return found

    def _key(self, content: str) -> tuple[str, str] | None:
        """The key that a line begins with, and what follows its colon; None where it begins with none."""
        if content == "?" or content.startswith(("? ", "?\t")):
            raise self.wrong("is a key of more than one word of text")
        if content[0] in "[{":
            return None
        end = quoted(content, 0, self.wrong)[1] if content[0] in "\"'" else 0
        colon = COLON.search(content, end)
        if colon is None:
            return None
        written, rest = content[: colon.start()].rstrip(" "), content[colon.end() :]
        if "\t" in written or "\t" in colon[0] or rest.lstrip(" ").startswith("\t"):
            raise self.wrong(TAB)
        if end:
            return (quoted(content, 0, self.wrong)[0], rest.lstrip(" ")) if len(written) == end else None
        if written[:1] in ("", '"', "'") or COMMENT.search(written):
            return None
        name = scalar(written, self.wrong)
        if type(name) is not str or written == "<<":
            raise self.wrong(f"has the key {written[:40]!r}, which is not text in YAML")
        return written, rest.lstrip(" ")

    def _value(self, above: int, column: int) -> Any:
        """A scalar or a flow collection that begins at `column` of the current line, to where it ends."""
        first = self._lines[self._at][column:]
        if first[0] in "|>":
            return self._block_scalar(above, first)
        if first[0] in "\"'[{":
            return self._delimited(above, first)
        parts = [self._plain(first)]
        ended = parts[0] != first.rstrip(" \t")
        self._at += 1
        blank = 0
        while self._at < len(self._lines):
            line = self._lines[self._at]
            content = line.strip(" \t")
            if "\t" in line[: len(line) - len(line.lstrip(" \t"))]:
                raise self.wrong(TAB)
            if not content:
                blank += 1
            elif len(line) - len(line.lstrip(" ")) <= above:
                break
            elif content.startswith("#"):
                ended = True
            else:
                if ended:
                    raise self.wrong("goes on after a comment")
                text = self._plain(line.strip(" "), first=False)
                parts.append("\n" * blank + text if blank else " " + text)
                blank = 0
                ended = text != content
            self._at += 1
        return scalar(parts[0], self.wrong) if len(parts) == 1 else "".join(parts)

    def _plain(self, line: str, *, first: bool = True) -> str:
        """One line of a plain scalar without its comment."""
        comment = COMMENT.search(line)
        text = (line[: comment.start() + 1] if comment else line).rstrip(" ")
        if "\t" in text:
            raise self.wrong(TAB)
        if first and text:
            scalar(text, self.wrong)
        if COLON.search(text):
            raise self.wrong("has a colon in text without quotes; quote it")
        return text

    def _delimited(self, above: int, first: str) -> Any:
        """Something in quotes or brackets, over as many lines as it takes."""
        after = self._at + 1
        while after < len(self._lines) and _belongs(self._lines[after], above):
            after += 1
        text = "\n".join([first, *self._lines[self._at + 1 : after]])
        value, end = (flow_value if first[0] in "[{" else quoted)(text, 0, self.wrong)
        if not end:
            raise self.wrong("opens a quote or a bracket that is not closed, or goes on without being indented")
        self._at += text.count("\n", 0, end)
        rest = text[end:].partition("\n")[0]
        if rest.strip(" \t") and not rest.lstrip(" ").startswith("#", 0 if rest[0] == " " else len(rest)):
            raise self.wrong("goes on after the end of a value")
        self._at += 1
        return value

    def _block_scalar(self, above: int, header: str) -> str:
        match = BLOCK.match(header)
        if match is None:
            raise self.wrong("begins with | or > and is no block of text")
        self._at += 1
        keep = match[2] or match[5] or ""
        given = match[3] or match[4]
        indent = max(above, 0) + int(given) if given else 0
        lines: list[str] = []
        while self._at < len(self._lines):
            line = self._lines[self._at]
            spaces = len(line) - len(line.lstrip(" "))
            if line[spaces:]:
                if not indent:
                    indent = max(spaces, above + 1)
                    if any(len(blank) > indent for blank in lines):
                        raise self.wrong("is indented less than an empty line above it")
                if spaces < indent:
                    break
            lines.append(line)
            self._at += 1
        if indent <= above and any(lines):
            raise self.wrong("is not indented as far as what it belongs to")
        if keep == "+" and self._at >= len(self._lines):
            raise self.wrong("keeps empty lines to an end that the front matter has not got; write | or >")
        shown = [line[indent:] for line in lines]
        count = len(shown)
        while count and not shown[count - 1].strip(" "):
            count -= 1
        if any(shown[count:]):
            raise self.wrong("follows a block of text that ends with a line of spaces")
        body = "\n".join(shown[:count]) if match[1] == "|" else _folded(shown[:count])
        if keep == "-":
            return body
        if keep == "+":
            return (body + "\n" if count else "") + "\n" * (len(shown) - count)
        return body + "\n" if count else ""


def _belongs(line: str, above: int) -> bool:
    return not line.strip(" \t") or len(line) - len(line.lstrip(" ")) > above


def _folded(lines: list[str]) -> str:
    """`>`: lines joined by spaces, but for empty ones and those that are indented more."""
    text = ""
    blank = 0
    before = ""
    for line in lines:
        if not line:
            blank += 1
            continue
        if text or blank or before:
            indented = line[0] in " \t" or before[:1] in (" ", "\t")
            if not before:
                text += "\n" * blank
            elif blank:
                text += "\n" * (blank + indented)
            else:
                text += "\n" if indented else " "
        text += line
        before, blank = line, 0
    return text
