"""`turnwise doctor`: what is found, what is missing, and what to do about it."""

from rich.table import Table
from rich.text import Text

from turnwise.cli import checks, database_checks, temporal_checks
from turnwise.cli.checks import Check, Status
from turnwise.cli.consoles import console, write_json
from turnwise.cli.execution import ExitCode
from turnwise.cli.options import Output
from turnwise.cli.targets import Target
from turnwise.runtime.logs import configure_logs
from turnwise.settings import Settings

MARKS = {Status.OK: ("✓", "good"), Status.NOTICE: ("!", "warn"), Status.MISSING: ("✗", "bad")}


async def doctor(target: Target, output: Output) -> ExitCode:
    configure_logs("error")
    found = await _examine(target.settings)
    missing = [check for check in found if check.status is Status.MISSING]
    if output is Output.JSON:
        write_json({"ok": not missing, "checks": [check.model_dump(mode="json") for check in found]})
    else:
        _print(found, missing)
    return ExitCode.FAILED if missing else ExitCode.OK


async def _examine(settings: Settings) -> list[Check]:
    server, client = await temporal_checks.connected(settings)
    return [
        checks.python(),
        checks.packages(),
        checks.server_binary(settings),
        server,
        *(await temporal_checks.on_server(client, settings) if client else []),
        *await database_checks.database(settings),
        checks.data_folder(settings),
        *await checks.ports(settings, temporal_answers=client is not None),
    ]


def _print(found: list[Check], missing: list[Check]) -> None:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for check in found:
        mark, style = MARKS[check.status]
        text = Text(check.found)
        if check.advice:
            text.append(f"\n→ {check.advice}", style=style)
        table.add_row(Text(mark, style=style), check.name, text)
    screen = console()
    screen.print(table)
    if missing:
        names = ", ".join(check.name for check in missing)
        screen.print(Text(f"\nMissing or wrong: {names}.", style="bad"))
    else:
        screen.print(Text("\nEverything that is needed is here.", style="good"))
