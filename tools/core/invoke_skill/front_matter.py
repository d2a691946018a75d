"""The front matter of a SKILL.md: the few keys that matter here, out of YAML as people write it.

Not a YAML parser, on purpose: importing PyYAML takes 18 ms, more than the rest of a start, and it refuses what half of
all skills contain (`argument-hint: [a] [b]`, a colon in an unquoted description). Values are text and lists of text:
tags, anchors and aliases are never acted on, so there is nothing to expand and nothing to construct. What strict YAML
would refuse is read as far as it makes sense, and named in `faults`.
"""

from __future__ import annotations

from tools.core.limits import SKILL_ARGUMENT_NAMES_MAX, SKILL_DESCRIPTION_CHARS_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Value = str | list[str]

FENCE = "---"
READ_KEYS = frozenset(
    ("description", "when_to_use", "argument-hint", "arguments", "disable-model-invocation", "user-invocable")
)
"""All others are skipped as they stand, with whatever is nested below them."""

TRUE_WORDS = ("true", "yes", "on")
FAULTS_MAX = 5
"""Named of one file: who mends those sees the next ones."""

NULL_WORDS = ("~", "null", "Null", "NULL")
RESERVED = "&*!@`%{|>"
"""What begins something else than plain text in YAML."""

ESCAPES = {"0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b"}
HEX_ESCAPES = {"x": 2, "u": 4, "U": 8}


class FrontMatter:
    """What a SKILL.md says of itself. Texts are one line, without characters that do not print."""

    __slots__ = ("argument_hint", "arguments", "description", "faults", "for_model", "for_user")

    def __init__(self, values: dict[str, Value], faults: list[str], body: str) -> None:
        about = one_line(_text(values.get("description", ""))) or _first_line(body)
        when = one_line(_text(values.get("when_to_use", "")))
        self.description = cut(" ".join(filter(None, (about, when))), SKILL_DESCRIPTION_CHARS_MAX)
        """From the front matter, else the first line of the body; "" when there is none either."""
        self.argument_hint = cut(one_line(_text(values.get("argument-hint", ""))), SKILL_DESCRIPTION_CHARS_MAX)
        self.arguments = _names(values.get("arguments", ""), faults)
        """Names of the arguments, by position."""
        self.for_model = not _is_true(values.get("disable-model-invocation", "false"))
        self.for_user = _is_true(values.get("user-invocable", "true"))
        self.faults = faults[:FAULTS_MAX]
        """What was damaged, a clause each; the rest was read all the same."""


def read(content: str) -> tuple[FrontMatter, str]:
    """The front matter and the body of a SKILL.md, or of its beginning. Never raises."""
    lines, body, faults = _split(content)
    values: dict[str, Value] = {}
    at = 0
    while at < len(lines):
        line, where = lines[at], f"line {at + 2}"
        start = at = at + 1
        key, value = _key_of(line)
        if not key:
            if line.strip() and not line.lstrip().startswith("#"):
                faults.append(f"{where} is not KEY: VALUE")
            continue
        while at < len(lines) and _belongs(lines[at], value):
            at += 1
        if key in READ_KEYS:
            if key in values:
                faults.append(f"{where}: {key} stands there twice, the last one counts")
            values[key] = _value(key, value, lines[start:at], where, faults)
    return FrontMatter(values, faults, body), body


def one_line(text: str) -> str:
    """`text` as one line of characters that print: no control, formatting or invisible ones."""
    return "".join(c for c in " ".join(text.split()) if c.isprintable())


def cut(text: str, chars_max: int) -> str:
    return text if len(text) <= chars_max else text[: max(0, chars_max - 1)].rstrip() + "…"


def _split(content: str) -> tuple[list[str], str, list[str]]:
    content = content.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    lines = content.split("\n")
    if lines[0].rstrip() != FENCE:
        return [], content, []
    for at in range(1, len(lines)):
        if lines[at].rstrip() == FENCE:
            return lines[1:at], "\n".join(lines[at + 1 :]), []
    return [], content, ["there is no second line --- that ends the front matter; all of it is taken as the text"]


def _key_of(line: str) -> tuple[str, str]:
    """("", "") when the line does not begin with a key in its first column."""
    key, colon, value = line.partition(":")
    key = key.rstrip()
    if len(key) > 1 and key[0] == key[-1] and key[0] in "\"'":
        key = key[1:-1]
    if not colon or (value and not value[0].isspace()) or not key.replace("-", "").replace("_", "").isalnum():
        return "", ""
    value = value.strip()
    return key, "" if value.startswith("#") else value


def _belongs(line: str, value: str) -> bool:
    """Whether a line still belongs to the key above it, whose own line said `value`."""
    if not line.strip() or line[0] in " \t":
        return True
    return not value and (line == "-" or line.startswith(("- ", "#")))


def _value(key: str, first: str, rest: list[str], where: str, faults: list[str]) -> Value:
    if not first:
        shown = [line for line in rest if line.strip() and not line.lstrip().startswith("#")]
        if shown and (shown[0].lstrip() + " ").startswith("- "):
            return _items(shown)
        first, rest = (shown[0].strip(), shown[1:]) if shown else ("", [])
    if first[:1] in ("|", ">") and first[1:].partition("#")[0].strip(" +-123456789") == "":
        return "\n".join(line.strip() for line in rest)
    whole = " ".join(filter(None, (first, *(line.strip() for line in rest))))
    if first[:1] in ('"', "'"):
        quoted = _unquoted(whole)
        if quoted is not None:
            return quoted
        faults.append(f"{where}: the quotes of {key} do not match")
        return whole
    if key == "argument-hint":  # a list to YAML, and mostly a broken one
        return _uncommented(whole)
    if first.startswith("["):
        items = _flow(whole)
        if items is not None:
            return items
        faults.append(f"{where}: the list of {key} is not one")
        return whole
    return _plain(key, [first, *rest], where, faults)


def _plain(key: str, lines: Sequence[str], where: str, faults: list[str]) -> str:
    text = " ".join(filter(None, (_uncommented(line.strip()) for line in lines)))
    if text in NULL_WORDS:
        return ""
    if text[:1] and text[0] in RESERVED:
        faults.append(f"{where}: {key} begins with {text[0]}, which is not plain text in YAML; quote it")
    elif ": " in text or text.endswith(":"):
        faults.append(f"{where}: {key} has a colon in text without quotes; quote it")
    return text


def _uncommented(line: str) -> str:
    at = 0 if line.startswith("#") else line.find(" #")
    return line if at < 0 else line[:at].rstrip()


def _items(lines: list[str]) -> list[str]:
    """A block list; an indented line without a dash goes on with the item above."""
    items: list[str] = []
    for line in lines:
        stripped = line.strip()
        if stripped == "-" or stripped.startswith("- "):
            items.append(_scalar(stripped[1:].strip()))
        else:
            items[-1] = f"{items[-1]} {stripped}".strip()
    return items


def _flow(text: str) -> list[str] | None:
    """`[a, "b c"]`; None when the brackets do not enclose all of it, or enclose others."""
    text = _uncommented(text)
    if not text.endswith("]") or "[" in text[1:] or "]" in text[:-1]:
        return None
    return [_scalar(item.strip()) for item in text[1:-1].split(",") if item.strip()]


def _scalar(text: str) -> str:
    if text[:1] in ('"', "'"):
        quoted = _unquoted(text)
        return text if quoted is None else quoted
    return _uncommented(text)


def _unquoted(text: str) -> str | None:
    """A quoted text with nothing but a comment after it, its escapes replaced; None when the quotes do not match."""
    parts: list[str] = []
    quote, at = text[0], 1
    while at < len(text):
        character = text[at]
        if character == quote == "'" and text[at + 1 : at + 2] == "'":
            at += 1
        elif character == quote:
            after = text[at + 1 :].strip()
            return "".join(parts) if not after or after.startswith("#") else None
        elif character == "\\" and quote == '"' and at + 1 < len(text):
            character, at = _escaped(text, at + 1)
        parts.append(character)
        at += 1
    return None


def _escaped(text: str, at: int) -> tuple[str, int]:
    """The character that an escape at `at` (after its backslash) stands for, and where the escape ends."""
    letter = text[at]
    digits = text[at + 1 : at + 1 + HEX_ESCAPES.get(letter, 0)]
    if digits and len(digits) == HEX_ESCAPES[letter] and all(d in "0123456789abcdefABCDEF" for d in digits):
        code = int(digits, 16)
        valid = code < 0xD800 or 0xDFFF < code < 0x110000
        return chr(code) if valid else "\ufffd", at + len(digits)
    return ESCAPES.get(letter, letter), at


def _text(value: Value) -> str:
    return value if isinstance(value, str) else ", ".join(value)


def _first_line(body: str) -> str:
    """What a skill without a description is known by, as a heading says it."""
    at = 0
    while at < len(body):
        end = body.find("\n", at)
        end = len(body) if end < 0 else end
        shown = one_line(body[at:end][: 2 * SKILL_DESCRIPTION_CHARS_MAX]).lstrip("#").strip()
        if shown:
            return shown
        at = end + 1
    return ""


def _names(value: Value, faults: list[str]) -> tuple[str, ...]:
    """`arguments: a b` or a list. What cannot stand behind a $ is kept as a place without a name."""
    given = value.replace(",", " ").split() if isinstance(value, str) else value
    names = []
    for name in given[:SKILL_ARGUMENT_NAMES_MAX]:
        good = name.isascii() and name.replace("-", "").replace("_", "").isalnum() and not name[0].isdigit()
        if not good or name == "ARGUMENTS":
            faults.append(f"{cut(one_line(name), 40)!r} in arguments is no name: letters, digits, - and _")
        names.append(name if good and name != "ARGUMENTS" else "")
    return tuple(names)


def _is_true(value: Value) -> bool:
    return isinstance(value, str) and value.strip().lower() in TRUE_WORDS
