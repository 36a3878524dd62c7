"""Runs a command to its exit code; what goes wrong is told in one sentence, never in a traceback."""

import sys
import warnings
from collections.abc import Callable, Coroutine
from enum import IntEnum

import typer

from turnwise.cli.options import Flags, Output
from turnwise.cli.targets import FlagInvalid, Target
from turnwise.errors import EngineOptionsInvalid, EngineUnknown, RunInputInvalid, TurnwiseError


class ExitCode(IntEnum):
    OK = 0
    """Also: the run waits for a reply, and goes on without us."""
    FAILED = 1
    NOT_UNDERSTOOD = 2
    """The command line, that is; Typer exits with it too."""
    CANCELED = 130
    """The run was canceled, or Ctrl-C ended the command."""


_NOT_UNDERSTOOD = (EngineOptionsInvalid, EngineUnknown, FlagInvalid, RunInputInvalid)


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
        code = ExitCode.NOT_UNDERSTOOD if isinstance(error, _NOT_UNDERSTOOD) else ExitCode.FAILED
    raise typer.Exit(code)


def starting(name: str) -> None:
    """Says at once that something happens: loading what a service needs takes a second or two."""
    sys.stdout.write(f"{name} is starting …\n")
    sys.stdout.flush()


def report(error: TurnwiseError, output: Output) -> None:
    if output is Output.JSON:
        from turnwise.fcmp.jsonvalue import json_text

        sys.stderr.write(json_text({"code": error.code, "detail": error.message, **error.details}) + "\n")
    else:
        from turnwise.wording.texts import clean, sentence

        sys.stderr.write(f"{clean(sentence(error.message))}\n")
