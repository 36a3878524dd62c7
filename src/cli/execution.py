"""Runs a command to its exit code; what goes wrong is told in one sentence, never in a traceback."""

import sys
import warnings
from collections.abc import Callable, Coroutine
from enum import IntEnum

import typer

from turnwise.cli.options import Flags, Output
from turnwise.cli.targets import Target
from turnwise.errors import TurnwiseError


class ExitCode(IntEnum):
    OK = 0
    """Also: the run waits for a reply, and goes on without us."""
    FAILED = 1
    CANCELED = 130
    """The run was canceled, or Ctrl-C ended the command. (2 is a command line that cannot be understood.)"""


def execute(
    flags: Flags, work: Callable[[Target], Coroutine[None, None, ExitCode]], output: Output = Output.TEXT
) -> None:
    import asyncio  # here, because `--help` needs none

    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    try:
        code = asyncio.run(work(Target.of(flags)))
    except TurnwiseError as error:
        report(error, output)
        code = ExitCode.FAILED
    raise typer.Exit(code)


def starting(name: str) -> None:
    """Says at once that something happens: loading what a service needs takes a second or two."""
    sys.stdout.write(f"{name} is starting …{chr(13) if sys.stdout.isatty() else chr(10)}")
    sys.stdout.flush()


def report(error: TurnwiseError, output: Output) -> None:
    if output is Output.JSON:
        from turnwise.fcmp.jsonvalue import json_text

        sys.stderr.write(json_text({"code": error.code, "detail": error.message, **error.details}) + "\n")
    else:
        from turnwise.wording.texts import sentence

        sys.stderr.write(f"{sentence(error.message)}\n")
