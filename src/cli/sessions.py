"""`turnwise sessions list`, `create`, `show`, `fork`, `cancel` and `close`."""

import sys
from datetime import UTC, datetime

from rich.table import Table
from rich.text import Text

from turnwise.api.services import Services
from turnwise.api.session_models import SessionDetail
from turnwise.cli.consoles import console, progress, write_json, write_line
from turnwise.cli.execution import ExitCode
from turnwise.cli.options import Output
from turnwise.cli.rendering import session_state
from turnwise.cli.runs import Until
from turnwise.cli.targets import Target
from turnwise.client import AgentSession, Turnwise
from turnwise.runs import RunSettings
from turnwise.sessions import ItemSource, SessionStats, SessionView
from turnwise.wording.sessions import SOURCES, session_title
from turnwise.wording.statuses import status_sentence
from turnwise.wording.texts import clean
from turnwise.wording.times import ago, seconds_since

TITLE_LENGTH = 80


async def list_sessions(target: Target, limit: int, cursor: str | None, output: Output) -> ExitCode:
    async with target.connect() as turnwise:
        page = await turnwise.sessions(limit, cursor)
        if output is Output.JSON:
            details = [_detail(target, turnwise, each).model_dump(mode="json") for each in page.sessions]
            write_json({"sessions": details, "next_cursor": page.next_cursor})
            return ExitCode.OK
    if page.sessions:
        _print_table(page.sessions)
        if page.next_cursor is not None:
            sys.stderr.write(f"More: {target.command('sessions', 'list', '--cursor', page.next_cursor)}\n")
    else:
        sys.stderr.write(f"No sessions. Begin one: {target.command('chat')}\n")
    return ExitCode.OK


async def create(target: Target, settings: RunSettings, idempotency_key: str | None, output: Output) -> ExitCode:
    async with target.connect() as turnwise:
        session = await turnwise.create_session_with(settings, idempotency_key=idempotency_key)
        await _tell_new(target, turnwise, session, output)
    return ExitCode.OK


async def fork(target: Target, session_id: str, at: int | None, output: Output) -> ExitCode:
    async with target.connect() as turnwise:
        forked = await turnwise.session(session_id).fork(at)
        await _tell_new(target, turnwise, forked, output)
    return ExitCode.OK


async def show(target: Target, session_id: str, output: Output) -> ExitCode:
    async with target.connect() as turnwise:
        session = turnwise.session(session_id)
        detail = _detail(target, turnwise, await session.view())
        stats, queue = await session.stats(), await session.pending_messages()
    if output is Output.JSON:
        pending = [item.model_dump(mode="json") for item in queue]
        write_json({**detail.model_dump(mode="json"), "stats": stats.model_dump(mode="json"), "pending": pending})
        return ExitCode.OK
    console().print(_card(detail, stats))
    return ExitCode.OK


async def cancel(target: Target, session_id: str, until: Until, output: Output) -> ExitCode:
    async with target.connect() as turnwise:
        session = turnwise.session(session_id)
        run = await session.active_run()
        canceled = await session.cancel_active_prompt()
        if canceled and run is not None and until is Until.STOPPED:
            with progress("It is told to stop …", output):
                await run.wait()
    if output is Output.JSON:
        write_json({"session_id": session_id, "active_prompt_canceled": canceled})
    elif not canceled:
        sys.stderr.write("Nothing is under way in this session.\n")
    else:
        how = "is canceled" if until is Until.STOPPED else "was told to stop"
        console().print(Text(f"✓ The prompt {how}; what was queued behind it fails.", style="good"))
    return ExitCode.OK


async def close(target: Target, session_id: str, output: Output) -> ExitCode:
    async with target.connect() as turnwise:
        with progress("The session is being closed …", output):
            view = await turnwise.session(session_id).close()
        detail = _detail(target, turnwise, view)
    if output is Output.JSON:
        write_json(detail.model_dump(mode="json"))
    elif view.closed_at is not None:
        console().print(Text("✓ The session is closed.", style="good"))
    else:
        console().print(Text("✓ The session was told to close; it is closed when its turn has stopped.", style="good"))
    return ExitCode.OK


async def _tell_new(target: Target, turnwise: Turnwise, session: AgentSession, output: Output) -> None:
    if output is Output.JSON:
        write_json(_detail(target, turnwise, await session.view()).model_dump(mode="json"))
        return
    write_line(session.id)
    sys.stderr.write(f"Talk to it: {target.command('chat', session.id)}\n")


def _detail(target: Target, turnwise: Turnwise, view: SessionView) -> SessionDetail:
    services = Services(turnwise, target.settings.ui_url, turnwise.namespace)
    return SessionDetail.of(view, services.ui_url(view.session_id))


def _print_table(sessions: list[SessionView]) -> None:
    table = Table(box=None, pad_edge=False, header_style="quiet")
    for name in ("SESSION", "STATE", "CREATED"):
        table.add_column(name, no_wrap=True)
    table.add_column("ENTRIES", no_wrap=True, justify="right")
    table.add_column("BEGAN WITH", no_wrap=True, overflow="ellipsis", ratio=1)
    now = datetime.now(UTC)
    for view in sessions:
        began = session_title(view, TITLE_LENGTH)
        created = ago(seconds_since(view.created_at, now))
        table.add_row(clean(view.session_id), session_state(view), created, str(view.total_entries), Text(began))
    console().print(table)


def _card(detail: SessionDetail, stats: SessionStats) -> Table:
    """Everything worth knowing about a session, a line each."""
    card = Table.grid(padding=(0, 3, 0, 0))
    card.add_column(style="quiet", no_wrap=True)
    card.add_column(overflow="fold")
    breakdown = ", ".join(f"{SOURCES[ItemSource(name)]}: {count}" for name, count in stats.pending_breakdown if count)
    rows: list[tuple[str, str | Text | None]] = [
        ("Session", detail.session_id),
        ("State", session_state(detail)),
        ("Status", status_sentence(detail.status)),
        ("Active run", detail.active_run_id or "none"),
        ("Queue", f"{stats.pending_messages} ({breakdown})" if breakdown else "empty"),
        ("Transcript", _counts(stats)),
        ("Engine", f"{detail.engine}, {detail.mode.value}"),
        ("Forked from", detail.parent_session_id),
        ("Created", detail.created_at),
        ("Last change", detail.last_updated_at),
        ("Closed", detail.closed_at),
        ("Temporal", detail.temporal_ui_url),
    ]
    for name, value in rows:
        if value is not None:
            card.add_row(name, value)
    return card


def _counts(stats: SessionStats) -> str:
    parts = [
        (stats.user_messages, "from the user"),
        (stats.assistant_messages, "from the agent"),
        (stats.tool_calls, "tool calls"),
        (stats.tool_results, "tool results"),
    ]
    said = ", ".join(f"{count} {name}" for count, name in parts if count)
    return f"{stats.total_entries} entries: {said}" if said else "empty"
