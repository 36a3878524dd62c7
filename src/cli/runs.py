"""`turnwise runs`, `reply` and `cancel`."""

import sys
import uuid
from datetime import UTC, datetime
from enum import StrEnum

from rich.table import Table
from rich.text import Text

from turnwise.cli.consoles import console, write_json
from turnwise.cli.execution import ExitCode
from turnwise.cli.options import Output
from turnwise.cli.rendering import STATE_STYLES, STATUS_STYLES
from turnwise.cli.targets import Target
from turnwise.errors import RunEnded, Unavailable
from turnwise.statechart import State
from turnwise.store.records import RunPage
from turnwise.wording.answers import response_from_argument
from turnwise.wording.texts import clean, one_line
from turnwise.wording.times import ago, seconds_since

PROMPT_LENGTH = 80


class Until(StrEnum):
    ASKED = "asked"
    STOPPED = "stopped"


async def list_runs(target: Target, state: State | None, limit: int, cursor: str | None, output: Output) -> ExitCode:
    async with target.connect() as turnwise:
        page = await turnwise.runs(state, limit, cursor)
    if output is Output.JSON:
        write_json(page.model_dump(mode="json"))
    elif page.runs:
        _print_table(page)
        if page.next_cursor is not None:
            sys.stderr.write(f"More: {target.command('runs', '--cursor', page.next_cursor)}\n")
    else:
        which = f" in state {state.value}" if state else ""
        sys.stderr.write(f"No runs{which}. Start one: {target.command('run', 'Tea or coffee?')}\n")
    return ExitCode.OK


async def reply(
    target: Target, run_id: str, interaction_id: int, text: str, reply_id: str | None, output: Output
) -> ExitCode:
    reply_id = reply_id or str(uuid.uuid4())
    async with target.connect() as turnwise:
        run = turnwise.run(run_id)
        pending = (await run.view()).pending
        question = pending if pending is not None and pending.interaction_id == interaction_id else None
        response = response_from_argument(question, text)
        try:
            receipt = await run.reply(interaction_id, response, reply_id=reply_id)
        except Unavailable as error:
            if output is Output.JSON:
                raise
            # What follows is for programs, which know their reply ids; whoever types gets the command that has it.
            what = error.message.partition(". ")[0].rstrip(".")
            again = target.command("reply", run_id, str(interaction_id), text, "--reply-id", reply_id)
            sys.stderr.write(f"{what}. To send it again:\n  {again}\n")
            return ExitCode.FAILED
    if output is Output.JSON:
        write_json(receipt.model_dump(mode="json"))
    else:
        out = console()
        out.print(Text(f"✓ Question {interaction_id} is answered.", style="good"))
        out.print(Text(f"  Watch what follows: {target.command('events', run_id)}", style="quiet"), soft_wrap=True)
    return ExitCode.OK


async def cancel(target: Target, run_id: str, until: Until, output: Output) -> ExitCode:
    async with target.connect() as turnwise:
        run = turnwise.run(run_id)
        view = await run.cancel()
        if until is Until.STOPPED:
            view = await run.wait()
            if view.state is not State.CANCELED:
                raise RunEnded(f"The run has ended ({view.state.value}) before it could be canceled.")
    if output is Output.JSON:
        write_json(view.model_dump(mode="json"))
    elif view.state is State.CANCELED:
        console().print(Text("✓ The run is canceled.", style="good"))
    else:
        console().print(Text("✓ The run was told to stop; it is canceled when its turn has stopped.", style="good"))
    return ExitCode.OK


def _print_table(page: RunPage) -> None:
    table = Table(box=None, pad_edge=False, header_style="quiet")
    table.add_column("RUN", no_wrap=True)
    table.add_column("STATE", no_wrap=True)
    table.add_column("STATUS", no_wrap=True)
    table.add_column("STARTED", no_wrap=True)
    table.add_column("PROMPT", no_wrap=True, overflow="ellipsis", ratio=1)
    now = datetime.now(UTC)
    for run in page.runs:
        state = Text(run.state.value, style=STATE_STYLES[run.state])
        started = ago(seconds_since(run.created_at, now))
        status = Text(run.status.status.value, style=STATUS_STYLES[run.status.status])
        table.add_row(clean(run.run_id), state, status, started, Text(one_line(run.prompt_preview, PROMPT_LENGTH)))
    console().print(table)
