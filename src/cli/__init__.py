"""The command `turnwise`."""

import sys

from turnwise.cli.commands import app

__all__ = ["app", "main"]


def main() -> None:
    # A terminal that cannot show a character gets a substitute, not a traceback.
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    app(prog_name="turnwise")
