"""Where commands write. What comes from agents and users is shown as text: no markup, no control characters."""

import os
import sys

from rich.console import Console
from rich.theme import Theme

from turnwise.fcmp.jsonvalue import json_text

PIPE_WIDTH = 200
"""Columns when nobody looks: a line in a pipe should not be folded."""

_THEME = Theme({"quiet": "dim", "good": "green", "bad": "red", "ask": "bold cyan", "warn": "yellow", "name": "bold"})
_KEPT = "\n\t"
_CONTROL: dict[int, str | None] = {
    code: "\ufffd" for code in [*range(0x20), *range(0x7F, 0xA0)] if chr(code) not in _KEPT
} | {ord("\r"): None}


def console() -> Console:
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH
    return Console(theme=_THEME, highlight=False, markup=False, emoji=False, width=width)


def write_json(value: object) -> None:
    write_line(json_text(value))


def write_line(line: str) -> None:
    """As UTF-8 whatever the locale says, and at once: the reader may be a program that waits for it."""
    sys.stdout.buffer.write(line.encode() + b"\n")
    sys.stdout.buffer.flush()


def clean(text: str) -> str:
    """An agent must not be able to move the cursor, or to recolour what the person reads."""
    return text.translate(_CONTROL)


def one_line(text: str, limit: int) -> str:
    line = " ".join(clean(text).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
