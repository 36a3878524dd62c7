"""The command `turnwise`."""

import io
import os
import sys

from turnwise.cli.commands import app

__all__ = ["app", "main"]


def main() -> None:
    # Neither a terminal that cannot show a character nor an argument that is no text may lead to a traceback.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    sys.argv = [os.fsencode(argument).decode(errors="replace") for argument in sys.argv]
    try:
        app(prog_name="turnwise")
    except ModuleNotFoundError as error:
        sys.exit(f"The package {error.name} is missing; install Turnwise again (pip install turnwise).")
