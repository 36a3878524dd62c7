"""`turnwise sessions transcript` and `resume`."""

import sys

from rich.table import Table
from rich.text import Text

from turnwise.api.session_models import Transcript
from turnwise.cli import rendering
from turnwise.cli.consoles import console, progress, write_json
from turnwise.cli.execution import ExitCode
from turnwise.cli.options import Output
from turnwise.cli.reading import read_entries
from turnwise.cli.targets import Target
from turnwise.client import AgentSession
from turnwise.sessions import IndexedEntry

PAGE = 1000


async def transcript(target: Target, session_id: str, output: Output) -> ExitCode:
    async with target.connect() as turnwise:
        entries = await _all_entries(turnwise.session(session_id))
    if output is Output.JSON:
        wire = [entry.wire() for entry in entries]
        write_json(Transcript(session_id=session_id, total_entries=len(wire), entries=wire).model_dump(mode="json"))
    elif entries:
        console().print(_table(entries))
    else:
        sys.stderr.write(f"Nothing was said yet. Say something: {target.command('chat', session_id)}\n")
    return ExitCode.OK


async def resume(target: Target, session_id: str, file: str, output: Output) -> ExitCode:
    entries = read_entries(file)
    async with target.connect() as turnwise:
        session = turnwise.session(session_id)
        with progress("The transcript is being taken over …", output):
            await session.resume(entries)
        stats = await session.stats()
    if output is Output.JSON:
        write_json(stats.model_dump(mode="json"))
        return ExitCode.OK
    out = console()
    out.print(Text(f"✓ The session has this transcript now: {stats.total_entries} entries.", style="good"))
    out.print(Text(f"  Go on with it: {target.command('chat', session_id)}", style="quiet"), soft_wrap=True)
    return ExitCode.OK


async def _all_entries(session: AgentSession) -> list[IndexedEntry]:
    total = (await session.view()).total_entries
    entries: list[IndexedEntry] = []
    while len(entries) < total and (page := await session.transcript(len(entries), min(PAGE, total - len(entries)))):
        entries += page
    return entries


def _table(entries: list[IndexedEntry]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right", style="quiet", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for each in entries:
        table.add_row(str(each.entry_index), rendering.speaker(each.entry), rendering.said(each.entry))
    return table
