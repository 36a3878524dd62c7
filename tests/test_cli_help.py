"""What `--help` says, and how quickly."""

import asyncio
import re
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import typer.main
from typer.core import TyperArgument, TyperCommand, TyperGroup

from tests.command_line import environment
from turnwise.cli import app


def commands(group: TyperGroup) -> Iterator[TyperCommand]:
    for command in group.commands.values():
        if isinstance(command, TyperGroup):
            yield from commands(command)
        else:
            assert isinstance(command, TyperCommand)
            yield command


def all_commands() -> list[TyperCommand]:
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    return list(commands(group))


def test_no_line_breaks_in_the_middle_of_a_sentence() -> None:
    for command in all_commands():
        assert command.help
        assert "\n" not in command.help.replace("\n\n", ""), command.name


def test_every_argument_is_called_by_a_name_in_capitals() -> None:
    arguments = [each for command in all_commands() for each in command.params if isinstance(each, TyperArgument)]
    assert len(arguments) > 10
    for argument in arguments:
        assert argument.metavar is not None, argument.name
        assert re.fullmatch("[A-Z]+", argument.metavar), argument.name


async def test_help_is_quick_because_it_loads_nothing_heavy() -> None:
    code = (
        "import sys; from turnwise.cli import app; app(['run', '--help'], standalone_mode=False);"
        "print([name for name in ('temporalio', 'sqlalchemy', 'fastapi') if name in sys.modules])"
    )
    python = Path(sysconfig.get_path("scripts")) / "python"
    process = await asyncio.create_subprocess_exec(
        str(python), "-c", code, env=environment(), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert out.decode().splitlines()[-1] == "[]"
