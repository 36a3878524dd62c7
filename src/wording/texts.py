"""Text from agents and users, made fit for a screen."""

from pydantic import JsonValue

from turnwise.wording.answers import as_text

GIST_LENGTH = 140

_KEPT = "\n\t"
_CONTROLS = [*range(0x20), *range(0x7F, 0xA0)]
_DIRECTIONS = [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
"""They turn the order of the letters around them: what is read is not what was written."""
_SEPARATORS = [0x2028, 0x2029]
_CONTROL: dict[int, str | None] = {
    code: "\ufffd" for code in [*_CONTROLS, *_DIRECTIONS, *_SEPARATORS] if chr(code) not in _KEPT
} | {ord("\r"): None}


def clean(text: str) -> str:
    """An agent must not be able to move the cursor, or to recolour what the person reads."""
    return text.translate(_CONTROL)


def one_line(text: str, limit: int) -> str:
    line = " ".join(clean(text).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def shown(value: JsonValue) -> str:
    """A value in one line, as exact as there is room for."""
    return one_line(as_text(value), GIST_LENGTH)


def arguments(values: dict[str, JsonValue]) -> str:
    """What a tool is called with, in one line."""
    return one_line(", ".join(f"{name}={as_text(value)}" for name, value in values.items()), GIST_LENGTH)


def sentence(message: str) -> str:
    """On one line, from a capital letter (unless it begins with a name) to a full stop."""
    line = " ".join(message.split()).rstrip(".")
    first = line.partition(" ")[0]
    return f"{line[:1].upper()}{line[1:]}." if first.isalpha() else f"{line}."
