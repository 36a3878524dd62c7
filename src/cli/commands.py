"""Every command with its flags. What a command does is imported when it runs, so that `--help` is quick."""

from typing import Annotated

import typer

from turnwise.cli.execution import ExitCode, execute, starting
from turnwise.cli.options import (
    CLIENT,
    SERVICE,
    Flags,
    IdempotencyKey,
    Json,
    RunFlags,
    RunId,
    UntilStopped,
    output,
    starts_runs,
    takes,
)
from turnwise.cli.services import Service
from turnwise.cli.session_commands import sessions
from turnwise.cli.targets import Target
from turnwise.statechart import State

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Durable agent runs on Temporal: they ask, wait, survive restarts and never lose an event.",
)

FIRST_STEPS = "First steps"
SERVICES = "Services"
RUNS = "Runs"
SESSIONS = "Sessions"

app.add_typer(sessions, name="sessions", rich_help_panel=SESSIONS)


@app.command(rich_help_panel=FIRST_STEPS)
def demo() -> None:
    """Watch one run ask, get its reply and complete; in a folder of its own, gone afterwards."""
    starting("The demonstration")

    async def work(target: Target) -> ExitCode:
        from turnwise.cli.demo import demo

        return await demo()

    execute({}, work)


@app.command(rich_help_panel=FIRST_STEPS)
@takes(SERVICE)
def doctor(flags: Flags, json: Json = False) -> None:
    """Say what is found on this machine, what is missing, and what to do about it.

    Exit code 1 when something that is needed is missing.
    """

    async def work(target: Target) -> ExitCode:
        from turnwise.cli.doctor import doctor

        return await doctor(target, output(json))

    execute(flags, work, output(json))


@app.command(rich_help_panel=SERVICES)
@takes(SERVICE)
def up(flags: Flags) -> None:
    """Start everything on this machine: Temporal with its Web UI, a worker and the API.

    With TEMPORAL_ADDRESS set, that server is used and none is started. Ctrl-C stops; state is kept.
    """
    _serve(flags, Service.UP)


@app.command(rich_help_panel=SERVICES)
@takes(SERVICE)
def worker(flags: Flags) -> None:
    """Start a worker, which executes runs, for the server that TEMPORAL_ADDRESS names."""
    _serve(flags, Service.WORKER)


@app.command(rich_help_panel=SERVICES)
@takes(SERVICE)
def api(flags: Flags) -> None:
    """Start the HTTP API, for the server that TEMPORAL_ADDRESS names."""
    _serve(flags, Service.API)


def _serve(flags: Flags, service: Service) -> None:
    starting(service.value)

    async def work(target: Target) -> ExitCode:
        from turnwise.cli.processes import serve

        return await serve(target, service)

    execute(flags, work)


@app.command(rich_help_panel=RUNS)
@takes(CLIENT)
@starts_runs
def run(
    flags: Flags,
    run_flags: RunFlags,
    prompt: Annotated[
        str, typer.Argument(metavar="PROMPT", help="What the agent is asked to do.", show_default=False)
    ] = "",
    session_id: Annotated[str | None, typer.Option(help="The session it belongs to.", show_default=False)] = None,
    idempotency_key: IdempotencyKey = None,
    detach: Annotated[bool, typer.Option("--detach", help="Start it, print its id, and leave.")] = False,
    no_input: Annotated[bool, typer.Option("--no-input", help="Never ask here, even on a terminal.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Without input: watch until somebody else has replied.")] = False,
    json: Json = False,
) -> None:
    """Start a run and follow it; on a terminal, answer its questions.

    Ctrl-C leaves the run running. Exit code: 0 it succeeded, or waits for a reply; 1 it failed; 130 it was canceled, or
    left with Ctrl-C; 2 the command was not understood.
    """

    async def work(target: Target) -> ExitCode:
        from turnwise.cli import starting
        from turnwise.cli.reading import read_run, read_settings

        settings = read_settings(run_flags)
        run_input = read_run(settings, prompt, session_id)
        manner = starting.manner(detach=detach, no_input=no_input or json, wait=wait)
        return await starting.run(target, run_input, idempotency_key, manner, output(json))

    execute(flags, work, output(json))


@app.command(rich_help_panel=RUNS)
@takes(CLIENT)
def runs(
    flags: Flags,
    state: Annotated[State | None, typer.Option(help="Only runs in this state.", show_default=False)] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many at most.")] = 20,
    cursor: Annotated[str | None, typer.Option(help="Where the page before ended.", show_default=False)] = None,
    json: Json = False,
) -> None:
    """List runs, newest first."""

    async def work(target: Target) -> ExitCode:
        from turnwise.cli.runs import list_runs

        return await list_runs(target, state, limit, cursor, output(json))

    execute(flags, work, output(json))


@app.command(rich_help_panel=RUNS)
@takes(CLIENT)
def events(
    flags: Flags,
    run_id: RunId,
    cursor: Annotated[int, typer.Option(min=0, help="The number of the last event that is known.")] = 0,
    follow: Annotated[bool, typer.Option(help="Go on until the run ends, or stop at the last event.")] = True,
    json: Json = False,
) -> None:
    """Show what happened in a run, and what happens."""

    async def work(target: Target) -> ExitCode:
        from turnwise.cli.events import Until, show_events

        until = Until.END if follow else Until.NOW
        return await show_events(target, run_id, cursor, until, output(json))

    execute(flags, work, output(json))


@app.command(rich_help_panel=RUNS)
@takes(CLIENT)
def reply(
    flags: Flags,
    run_id: RunId,
    interaction: Annotated[
        int, typer.Argument(metavar="NUMBER", min=1, help="The number of the question.", show_default=False)
    ],
    response: Annotated[
        str, typer.Argument(metavar="ANSWER", help="JSON where it fits, else text.", show_default=False)
    ],
    reply_id: Annotated[
        str | None, typer.Option(help="The same id again gives the same receipt.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Answer the question that a run waits on."""

    async def work(target: Target) -> ExitCode:
        from turnwise.cli.runs import reply

        return await reply(target, run_id, interaction, response, reply_id, output(json))

    execute(flags, work, output(json))


@app.command(rich_help_panel=RUNS)
@takes(CLIENT)
def cancel(
    flags: Flags,
    run_id: RunId,
    wait: UntilStopped = False,
    json: Json = False,
) -> None:
    """Cancel a run."""

    async def work(target: Target) -> ExitCode:
        from turnwise.cli.runs import Until, cancel

        return await cancel(target, run_id, Until.STOPPED if wait else Until.ASKED, output(json))

    execute(flags, work, output(json))


@app.command(rich_help_panel=SESSIONS)
@takes(CLIENT)
@starts_runs
def chat(
    flags: Flags,
    run_flags: RunFlags,
    session_id: Annotated[
        str | None,
        typer.Argument(metavar="SESSION", help="One to go on with; a new one when not given.", show_default=False),
    ] = None,
) -> None:
    """Talk to a session in the terminal.

    What is typed while it works follows when it is done. Ctrl-C cancels what is under way, Ctrl-D leaves; the session
    stays.
    """

    async def work(target: Target) -> ExitCode:
        from turnwise.cli.chat import chat
        from turnwise.cli.reading import read_settings

        settings = read_settings(run_flags)
        return await chat(target, session_id, settings)

    execute(flags, work)


@app.command(rich_help_panel=SESSIONS)
@takes(CLIENT)
def tui(
    flags: Flags,
    conversation: Annotated[
        str | None,
        typer.Argument(
            metavar="ID", help="A session or run to open; a new session when not given.", show_default=False
        ),
    ] = None,
) -> None:
    """Sessions and runs on the whole screen: the conversation, its questions as forms, and the status."""

    async def work(target: Target) -> ExitCode:
        from turnwise.cli.screens import tui

        return await tui(target, conversation)

    execute(flags, work)
