"""Every command of `turnwise sessions` with its flags."""

from typing import Annotated

import typer

from turnwise.cli.execution import ExitCode, execute
from turnwise.cli.options import (
    CLIENT,
    EngineOptions,
    Flags,
    IdempotencyKey,
    Json,
    RunFlags,
    SessionId,
    UntilStopped,
    output,
    starts_runs,
    takes,
)
from turnwise.cli.targets import Target
from turnwise.cli.tool_commands import tools

sessions = typer.Typer(no_args_is_help=True, help="Sessions: conversations of many prompts, executed one at a time.")
sessions.add_typer(tools, name="tools")


@sessions.command("list")
@takes(CLIENT)
def list_(
    flags: Flags,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many at most.")] = 20,
    cursor: Annotated[str | None, typer.Option(help="Where the page before ended.", show_default=False)] = None,
    json: Json = False,
) -> None:
    """List sessions, newest first."""

    async def work(target: Target) -> ExitCode:
        from turnwise.cli.sessions import list_sessions

        return await list_sessions(target, limit, cursor, output(json))

    execute(flags, work, output(json))


@sessions.command()
@takes(CLIENT)
@starts_runs
def create(
    flags: Flags,
    run_flags: RunFlags,
    idempotency_key: IdempotencyKey = None,
    json: Json = False,
) -> None:
    """Create a session and print its id. What is given here holds for each of its prompts."""

    async def work(target: Target) -> ExitCode:
        from turnwise.cli.reading import read_settings
        from turnwise.cli.sessions import create

        settings = read_settings(run_flags)
        return await create(target, settings, idempotency_key, output(json))

    execute(flags, work, output(json))


@sessions.command()
@takes((*CLIENT, "temporal_ui_port"))
def show(flags: Flags, session_id: SessionId, json: Json = False) -> None:
    """Show where a session stands: its state, active run, queue, numbers, and its place in the Temporal UI."""

    async def work(target: Target) -> ExitCode:
        from turnwise.cli.sessions import show

        return await show(target, session_id, output(json))

    execute(flags, work, output(json))


@sessions.command()
@takes(CLIENT)
def prompt(
    flags: Flags,
    session_id: SessionId,
    text: Annotated[str, typer.Argument(metavar="PROMPT", help="What the agent is asked to do.", show_default=False)],
    follow_up: Annotated[bool, typer.Option("--follow-up", help="If the session is at work: queue it.")] = False,
    steer: Annotated[bool, typer.Option("--steer", help="The same, marked as steering what is under way.")] = False,
    options: EngineOptions = None,
    wait: Annotated[bool, typer.Option("--wait", help="Return when its own run has ended, with its answer.")] = False,
    json: Json = False,
) -> None:
    """Give a session something to do.

    A session at work refuses it, unless it may be queued. With --wait, exit code: 0 it succeeded; 1 it failed; 130 it
    was canceled.
    """
    if follow_up and steer:
        raise typer.BadParameter("a prompt is a follow-up or steers, not both", param_hint="--steer")

    async def work(target: Target) -> ExitCode:
        from turnwise.cli import prompting
        from turnwise.cli.reading import read_options
        from turnwise.sessions import StreamingBehavior

        behavior = StreamingBehavior.REJECT
        if follow_up or steer:
            behavior = StreamingBehavior.STEER if steer else StreamingBehavior.FOLLOW_UP
        send = prompting.prompt_and_wait if wait else prompting.prompt
        return await send(target, session_id, text, behavior, read_options(options), output(json))

    execute(flags, work, output(json))


@sessions.command()
@takes(CLIENT)
def cancel(
    flags: Flags,
    session_id: SessionId,
    wait: UntilStopped = False,
    json: Json = False,
) -> None:
    """Cancel the prompt that a session works on. What is queued behind it fails; the session stays."""

    async def work(target: Target) -> ExitCode:
        from turnwise.cli.runs import Until
        from turnwise.cli.sessions import cancel

        return await cancel(target, session_id, Until.STOPPED if wait else Until.ASKED, output(json))

    execute(flags, work, output(json))


@sessions.command()
@takes(CLIENT)
def fork(
    flags: Flags,
    session_id: SessionId,
    at: Annotated[
        int | None,
        typer.Option(metavar="ENTRY", help="Only what was said before this prompt of the user.", show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """Create a session that begins with what was said in this one, and print its id."""

    async def work(target: Target) -> ExitCode:
        from turnwise.cli.sessions import fork

        return await fork(target, session_id, at, output(json))

    execute(flags, work, output(json))


@sessions.command()
@takes(CLIENT)
def transcript(flags: Flags, session_id: SessionId, json: Json = False) -> None:
    """Show what was said, entry by entry. `resume` takes what --json writes."""

    async def work(target: Target) -> ExitCode:
        from turnwise.cli.transcripts import transcript

        return await transcript(target, session_id, output(json))

    execute(flags, work, output(json))


@sessions.command()
@takes(CLIENT)
def resume(
    flags: Flags,
    session_id: SessionId,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="What `transcript --json` wrote; - is stdin.", show_default=False)
    ],
    json: Json = False,
) -> None:
    """Give a session another transcript than its own. Refused while it is at work."""

    async def work(target: Target) -> ExitCode:
        from turnwise.cli.transcripts import resume

        return await resume(target, session_id, file, output(json))

    execute(flags, work, output(json))


@sessions.command()
@takes(CLIENT)
def pending(
    flags: Flags,
    session_id: SessionId,
    all_: Annotated[bool, typer.Option("--all", help="Also what has left the queue lately.")] = False,
    max_length: Annotated[int, typer.Option(min=1, max=1000, help="How much of each text.")] = 120,
    clear: Annotated[bool, typer.Option("--clear", help="Empty the queue and forget its history.")] = False,
    cancel_active: Annotated[
        bool, typer.Option("--cancel-active", help="With --clear: cancel the active prompt too.")
    ] = False,
    clear_history: Annotated[bool, typer.Option("--clear-history", help="Forget what has left the queue.")] = False,
    json: Json = False,
) -> None:
    """Show what waits in a session, in its order; or clear it."""
    if clear and clear_history:
        raise typer.BadParameter("--clear forgets the history too", param_hint="--clear-history")
    if cancel_active and not clear:
        raise typer.BadParameter("it goes with --clear", param_hint="--cancel-active")

    async def work(target: Target) -> ExitCode:
        from turnwise.cli import pending

        if clear:
            return await pending.clear(target, session_id, output(json), cancel_active_prompt=cancel_active)
        if clear_history:
            return await pending.clear_history(target, session_id, output(json))
        return await pending.pending(target, session_id, max_length, output(json), include_resolved=all_)

    execute(flags, work, output(json))


@sessions.command()
@takes(CLIENT)
def watch(
    flags: Flags,
    session_id: SessionId,
    cursor: Annotated[int, typer.Option(min=0, help="The number of the last event that is known.")] = 0,
    follow: Annotated[bool, typer.Option(help="Go on until the session closes, or stop at the last event.")] = True,
    json: Json = False,
) -> None:
    """Show what happened in a session, in all of its runs, and what happens."""

    async def work(target: Target) -> ExitCode:
        from turnwise.cli.events import Until, watch_session

        return await watch_session(target, session_id, cursor, Until.END if follow else Until.NOW, output(json))

    execute(flags, work, output(json))


@sessions.command()
@takes(CLIENT)
def close(flags: Flags, session_id: SessionId, json: Json = False) -> None:
    """Cancel what is under way and end a session. Its transcript stays."""

    async def work(target: Target) -> ExitCode:
        from turnwise.cli.sessions import close

        return await close(target, session_id, output(json))

    execute(flags, work, output(json))
