"""Every command with its flags. What a command does is imported when it runs, so that `--help` is quick."""

from typing import Annotated, Literal

import typer

from turnwise.cli.execution import ExitCode, execute, starting
from turnwise.cli.options import CLIENT, SERVICE, Flags, Json, RunId, output, takes
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
    starting("Turnwise")

    async def work(target: Target) -> ExitCode:
        from turnwise.cli.processes import up

        return await up(target)

    execute(flags, work)


@app.command(rich_help_panel=SERVICES)
@takes(SERVICE)
def worker(flags: Flags) -> None:
    """Start a worker, which executes runs, for the server that TEMPORAL_ADDRESS names."""
    starting("The worker")

    async def work(target: Target) -> ExitCode:
        from turnwise.cli.processes import worker

        return await worker(target)

    execute(flags, work)


@app.command(rich_help_panel=SERVICES)
@takes(SERVICE)
def api(flags: Flags) -> None:
    """Start the HTTP API, for the server that TEMPORAL_ADDRESS names."""
    starting("The API")

    async def work(target: Target) -> ExitCode:
        from turnwise.cli.processes import api

        return await api(target)

    execute(flags, work)


@app.command(rich_help_panel=RUNS)
@takes(CLIENT)
def run(
    flags: Flags,
    prompt: Annotated[str, typer.Argument(help="What the agent is asked to do.", show_default=False)] = "",
    engine: Annotated[str, typer.Option(help="What executes the turns.")] = "scripted",
    options: Annotated[
        str | None, typer.Option(help="Options of the engine: a JSON object, or @FILE.", show_default=False)
    ] = None,
    mode: Annotated[
        Literal["interactive", "auto"], typer.Option(help="auto never waits: each question is decided at once.")
    ] = "interactive",
    strict: Annotated[
        bool, typer.Option(help="Only a person may answer; --no-strict lets the deadline decide.")
    ] = True,
    timeout: Annotated[
        float | None, typer.Option(min=0, help="Seconds until a question's deadline (1200).", show_default=False)
    ] = None,
    max_attempts: Annotated[int | None, typer.Option(min=1, help="How many turns may ask.", show_default=False)] = None,
    session_id: Annotated[str | None, typer.Option(help="The session it belongs to.", show_default=False)] = None,
    idempotency_key: Annotated[
        str | None, typer.Option(help="The same key again gives the same run.", show_default=False)
    ] = None,
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

        start = starting.read_start(
            prompt=prompt,
            engine=engine,
            options=options,
            mode=mode,
            strict=strict,
            timeout=timeout,
            max_attempts=max_attempts,
            session_id=session_id,
            idempotency_key=idempotency_key,
        )
        manner = starting.manner(detach=detach, no_input=no_input or json, wait=wait)
        return await starting.run(target, start, manner, output(json))

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

        until = Until.RUN_ENDS if follow else Until.NOW
        return await show_events(target, run_id, cursor, until, output(json))

    execute(flags, work, output(json))


@app.command(rich_help_panel=RUNS)
@takes(CLIENT)
def reply(
    flags: Flags,
    run_id: RunId,
    interaction: Annotated[int, typer.Argument(min=1, help="The number of the question.", show_default=False)],
    response: Annotated[str, typer.Argument(help="The answer: JSON where it fits, else text.", show_default=False)],
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
    wait: Annotated[bool, typer.Option("--wait", help="Return only when it has really stopped.")] = False,
    json: Json = False,
) -> None:
    """Cancel a run."""

    async def work(target: Target) -> ExitCode:
        from turnwise.cli.runs import Until, cancel

        return await cancel(target, run_id, Until.STOPPED if wait else Until.ASKED, output(json))

    execute(flags, work, output(json))
