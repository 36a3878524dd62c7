"""Where commands write. What comes from agents and users is shown as text: no markup."""

import contextlib
import os
import sys
from collections.abc import Iterator

from rich.console import Console
from rich.theme import Theme

from turnwise.cli.options import Output
from turnwise.fcmp.jsonvalue import json_text

PIPE_WIDTH = 200
"""Columns when nobody looks: a line in a pipe should not be folded."""

_THEME = Theme({"quiet": "dim", "good": "green", "bad": "red", "ask": "bold cyan", "warn": "yellow", "name": "bold"})


def console() -> Console:
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH
    return Console(theme=_THEME, highlight=False, markup=False, emoji=False, width=width)


def errors_console() -> Console:
    """For what a person should know beside the output."""
    return Console(theme=_THEME, highlight=False, markup=False, emoji=False, stderr=True)


@contextlib.contextmanager
def progress(words: str, output: Output) -> Iterator[None]:
    """On a terminal: that something happens, while it does."""
    if output is Output.JSON or not sys.stderr.isatty():
        yield
        return
    with errors_console().status(words):
        yield


def write_json(value: object) -> None:
    write_line(json_text(value))


def write_line(line: str) -> None:
    """As UTF-8 whatever the locale says, and at once: the reader may be a program that waits for it."""
    sys.stdout.buffer.write(line.encode() + b"\n")
    sys.stdout.buffer.flush()
