"""The options that several commands share, written once: flags that override settings, and how a run is started."""

import functools
import inspect
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Concatenate, Literal, ParamSpec, TypedDict, cast

import typer

P = ParamSpec("P")


class Output(StrEnum):
    TEXT = "text"
    JSON = "json"


Flags = dict[str, Path | str | int]
"""The settings that were given on the command line."""

RunId = Annotated[str, typer.Argument(metavar="RUN", help="The run, as `turnwise runs` lists it.", show_default=False)]
SessionId = Annotated[
    str, typer.Argument(metavar="SESSION", help="The session, as `turnwise sessions list` has it.", show_default=False)
]
UntilStopped = Annotated[bool, typer.Option("--wait", help="Return only when it has really stopped.")]
Json = Annotated[bool, typer.Option("--json", help="For machines: JSON, and nothing else.")]

EngineOptions = Annotated[
    str | None, typer.Option(help="Options of the engine: a JSON object, or @FILE.", show_default=False)
]
IdempotencyKey = Annotated[str | None, typer.Option(help="The same key again gives the same one.", show_default=False)]


def output(json: bool) -> Output:
    return Output.JSON if json else Output.TEXT


CLIENT = ("data_dir", "temporal_port", "database_url", "task_queue")
"""What a command needs to find a Turnwise that runs."""
SERVICE = ("data_dir", "api_host", "api_port", "temporal_port", "temporal_ui_port", "database_url", "task_queue")

_SETTINGS: dict[str, tuple[object, str]] = {
    "data_dir": (Path | None, "Folder where state is kept (TURNWISE_DATA_DIR, else .turnwise)."),
    "api_host": (str | None, "Address of the API (TURNWISE_API_HOST, else 127.0.0.1)."),
    "api_port": (int | None, "Port of the API (TURNWISE_API_PORT, else 8000)."),
    "temporal_port": (int | None, "Port of the embedded Temporal server (TURNWISE_TEMPORAL_PORT, else 7233)."),
    "temporal_ui_port": (int | None, "Port of its Web UI (TURNWISE_TEMPORAL_UI_PORT, else 8233)."),
    "database_url": (
        str | None,
        "postgresql://… or sqlite:///… (TURNWISE_DATABASE_URL, else a file in the data folder).",
    ),
    "task_queue": (str | None, "Temporal task queue (TURNWISE_TASK_QUEUE, else turnwise)."),
}


class RunFlags(TypedDict):
    """What a run, or each run of a session, is started with."""

    engine: str
    options: str | None
    mode: str
    strict: bool
    timeout: float | None
    max_attempts: int | None
    stall_after: float | None


_RUN_FLAGS: dict[str, tuple[object, object]] = {
    "engine": (Annotated[str, typer.Option(help="What executes the turns.")], "scripted"),
    "options": (EngineOptions, None),
    "mode": (
        Annotated[
            Literal["interactive", "auto"], typer.Option(help="auto never waits: each question is decided at once.")
        ],
        "interactive",
    ),
    "strict": (
        Annotated[bool, typer.Option(help="Only a person may answer; --no-strict lets the deadline decide.")],
        True,
    ),
    "timeout": (
        Annotated[
            float | None, typer.Option(min=0, help="Seconds until a question's deadline (1200).", show_default=False)
        ],
        None,
    ),
    "max_attempts": (
        Annotated[int | None, typer.Option(min=1, help="How many turns may ask.", show_default=False)],
        None,
    ),
    "stall_after": (
        Annotated[
            float | None,
            typer.Option(help="Seconds of silence after which the status says stalled (120).", show_default=False),
        ],
        None,
    ),
}
"""By name: what Typer makes an option of, and its default."""


def takes(settings: tuple[str, ...]) -> Callable[[Callable[Concatenate[Flags, P], None]], Callable[..., None]]:
    """Gives a command one option for each setting; it gets those that were used as its first argument."""

    def decorate(command: Callable[Concatenate[Flags, P], None]) -> Callable[..., None]:
        @functools.wraps(command)
        def called(*args: P.args, **kwargs: P.kwargs) -> None:
            given = {name: kwargs.pop(name) for name in settings}
            command({name: value for name, value in given.items() if value is not None}, *args, **kwargs)  # type: ignore[misc]

        _, *own = inspect.signature(command).parameters.values()
        parameters = [*own, *map(_option, settings)]
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        called.__doc__ = _flowing(inspect.cleandoc(command.__doc__ or ""))
        return called

    return decorate


def starts_runs(command: Callable[Concatenate[Flags, RunFlags, P], None]) -> Callable[Concatenate[Flags, ...], None]:
    """Gives a command, before `takes` does, the options of what a run is started with, as its second argument."""

    @functools.wraps(command)
    def called(flags: Flags, *args: P.args, **kwargs: P.kwargs) -> None:
        given = {name: kwargs.pop(name) for name in _RUN_FLAGS}
        command(flags, cast(RunFlags, given), *args, **kwargs)

    flags, _, *own = inspect.signature(command).parameters.values()
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in _RUN_FLAGS.items()
    ]
    called.__signature__ = inspect.Signature([flags, *own, *options])  # type: ignore[attr-defined]
    return called


def _flowing(text: str) -> str:
    """Paragraphs without line breaks of their own: Typer would keep those in the middle of a sentence."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def _option(name: str) -> inspect.Parameter:
    annotation, text = _SETTINGS[name]
    option = typer.Option(help=text, show_default=False, rich_help_panel="Settings")
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[annotation, option]
    )
