"""Every command with its flags. What a command does is imported when it runs, so that `--help` is quick."""

from typing import Annotated, Literal

import typer

from turnwise.cli.execution import execute, starting
from turnwise.cli.options import CLIENT, SERVICE, Flags, Json, RunId, output, takes
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
    from turnwise.cli.demo import demo

    execute(demo)


@app.command(rich_help_panel=FIRST_STEPS)
@takes(SERVICE)
def doctor(flags: Flags, json: Json = False) -> None:
    """Say what is found on this machine, what is missing, and what to do about it.

    Exit code 1 when something that is needed is missing.
    """
    from turnwise.cli.doctor import doctor
    from turnwise.cli.targets import Target

    execute(lambda: doctor(Target.of(flags), output(json)), output(json))


@app.command(rich_help_panel=SERVICES)
@takes(SERVICE)
def up(flags: Flags) -> None:
    """Start everything on this machine: Temporal with its Web UI, a worker and the API.

    With TEMPORAL_ADDRESS set, that server is used and none is started. Ctrl-C stops; state is kept.
    """
    starting("Turnwise")
    from turnwise.cli import processes
    from turnwise.cli.targets import Target

    execute(lambda: processes.up(Target.of(flags)))


@app.command(rich_help_panel=SERVICES)
@takes(SERVICE)
def worker(flags: Flags) -> None:
    """Start a worker, which executes runs, for the server that TEMPORAL_ADDRESS names."""
    starting("The worker")
    from turnwise.cli import processes
    from turnwise.cli.targets import Target

    execute(lambda: processes.worker(Target.of(flags)))


@app.command(rich_help_panel=SERVICES)
@takes(SERVICE)
def api(flags: Flags) -> None:
    """Start the HTTP API, for the server that TEMPORAL_ADDRESS names."""
    starting("The API")
    from turnwise.cli import processes
    from turnwise.cli.targets import Target

    execute(lambda: processes.api(Target.of(flags)))


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
    from turnwise.cli import starting
    from turnwise.cli.targets import Target

    def start() -> starting.Start:
        return starting.read_start(
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
    execute(lambda: starting.run(Target.of(flags), start(), manner, output(json)), output(json))


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
    from turnwise.cli.runs import list_runs
    from turnwise.cli.targets import Target

    execute(lambda: list_runs(Target.of(flags), state, limit, cursor, output(json)), output(json))


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
    from turnwise.cli.events import Until, show_events
    from turnwise.cli.targets import Target

    until = Until.RUN_ENDS if follow else Until.NOW
    execute(lambda: show_events(Target.of(flags), run_id, cursor, until, output(json)), output(json))


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
    from turnwise.cli.runs import reply
    from turnwise.cli.targets import Target

    execute(lambda: reply(Target.of(flags), run_id, interaction, response, reply_id, output(json)), output(json))


@app.command(rich_help_panel=RUNS)
@takes(CLIENT)
def cancel(
    flags: Flags,
    run_id: RunId,
    wait: Annotated[bool, typer.Option("--wait", help="Return only when it has really stopped.")] = False,
    json: Json = False,
) -> None:
    """Cancel a run."""
    from turnwise.cli.runs import Until, cancel
    from turnwise.cli.targets import Target

    until = Until.STOPPED if wait else Until.ASKED
    execute(lambda: cancel(Target.of(flags), run_id, until, output(json)), output(json))
