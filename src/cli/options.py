"""The flags that override settings, written once and given to each command that takes them."""

import functools
import inspect
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Concatenate, Literal, ParamSpec

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

# What a run, or each run of a session, is started with.
Engine = Annotated[str, typer.Option(help="What executes the turns.")]
EngineOptions = Annotated[
    str | None, typer.Option(help="Options of the engine: a JSON object, or @FILE.", show_default=False)
]
ModeName = Annotated[
    Literal["interactive", "auto"], typer.Option(help="auto never waits: each question is decided at once.")
]
Strict = Annotated[bool, typer.Option(help="Only a person may answer; --no-strict lets the deadline decide.")]
Timeout = Annotated[
    float | None, typer.Option(min=0, help="Seconds until a question's deadline (1200).", show_default=False)
]
MaxAttempts = Annotated[int | None, typer.Option(min=1, help="How many turns may ask.", show_default=False)]
StallAfter = Annotated[
    float | None,
    typer.Option(help="Seconds of silence after which the status says stalled (120).", show_default=False),
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
        called.__doc__ = _flowing(inspect.cleandoc(command.__doc__ or ""))
        called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return called

    return decorate


def _flowing(text: str) -> str:
    """Paragraphs without line breaks of their own: Typer would keep those in the middle of a sentence."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def _option(name: str) -> inspect.Parameter:
    annotation, text = _SETTINGS[name]
    option = typer.Option(help=text, show_default=False, rich_help_panel="Settings")
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[annotation, option]
    )
