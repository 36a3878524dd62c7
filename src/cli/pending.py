"""`turnwise sessions pending`: what waits in a session, and what has left its queue."""

import sys

from rich.table import Table
from rich.text import Text

from turnwise.api.session_models import Pending
from turnwise.cli.consoles import console, write_json
from turnwise.cli.execution import ExitCode
from turnwise.cli.options import Output
from turnwise.cli.targets import Target
from turnwise.sessions import Cleared, ItemStatus, PendingItem
from turnwise.wording.sessions import SOURCES
from turnwise.wording.texts import clean, one_line

STYLES = {ItemStatus.QUEUED: "name", ItemStatus.RESOLVED: "good", ItemStatus.FAILED: "bad"}


async def pending(
    target: Target, session_id: str, max_length: int, output: Output, *, include_resolved: bool
) -> ExitCode:
    async with target.connect() as turnwise:
        items = await turnwise.session(session_id).pending_messages(max_length, include_resolved=include_resolved)
    if output is Output.JSON:
        write_json(Pending(items=items).model_dump(mode="json"))
    elif items:
        console().print(_table(items))
    else:
        sys.stderr.write("Nothing waits in this session.\n")
    return ExitCode.OK


async def clear(target: Target, session_id: str, output: Output, *, cancel_active_prompt: bool) -> ExitCode:
    async with target.connect() as turnwise:
        cleared = await turnwise.session(session_id).clear_pending_state(cancel_active_prompt=cancel_active_prompt)
    return _tell(cleared, output)


async def clear_history(target: Target, session_id: str, output: Output) -> ExitCode:
    async with target.connect() as turnwise:
        cleared = await turnwise.session(session_id).clear_pending_history()
    return _tell(cleared, output)


def _tell(cleared: Cleared, output: Output) -> ExitCode:
    if output is Output.JSON:
        write_json(cleared.model_dump(mode="json"))
        return ExitCode.OK
    canceled = ", and the active prompt was told to stop" if cleared.active_prompt_canceled else ""
    words = f"✓ {cleared.queued_removed} removed from the queue, {cleared.resolved_removed} from its history{canceled}."
    console().print(Text(words, style="good"))
    return ExitCode.OK


def _table(items: list[PendingItem]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="quiet")
    table.add_column("STATUS", no_wrap=True)
    table.add_column("CAME AS", no_wrap=True)
    table.add_column("TEXT", overflow="fold")
    for item in items:
        status = Text(item.status.value, style=STYLES.get(item.status, ""))
        text = Text(one_line(item.text_preview, len(item.text_preview) + 1))
        if item.error is not None:
            text.append(f"  {clean(item.error.message)} ({item.error.code})", style="quiet")
        table.add_row(status, SOURCES[item.source], text)
    return table
