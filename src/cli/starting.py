"""`turnwise run`: starts a run, and stays with it as far as it was asked to."""

from dataclasses import dataclass
from pathlib import Path

import orjson
from pydantic import ValidationError

from turnwise.cli.consoles import console, write_json, write_line
from turnwise.cli.conversation import Conversation, Manner, ended
from turnwise.cli.execution import ExitCode
from turnwise.cli.keyboard import is_terminal
from turnwise.cli.options import Output
from turnwise.cli.targets import Target
from turnwise.client import Run
from turnwise.errors import RunInputInvalid
from turnwise.fcmp.events import EventType, FcmpEvent, Mode
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.runs import DEFAULT_SESSION_TIMEOUT_SEC, RunInput
from turnwise.store.records import StoredEvent


@dataclass(frozen=True, slots=True)
class Start:
    input: RunInput
    idempotency_key: str | None


def read_start(
    *,
    prompt: str,
    engine: str,
    options: str | None,
    mode: str,
    strict: bool,
    timeout: float | None,
    max_attempts: int | None,
    session_id: str | None,
    idempotency_key: str | None,
) -> Start:
    try:
        run_input = RunInput(
            prompt=prompt,
            engine=engine,
            engine_options=_options(options),
            mode=Mode(mode),
            interactive_require_user_reply=strict,
            session_timeout_sec=DEFAULT_SESSION_TIMEOUT_SEC if timeout is None else timeout,
            max_attempts=max_attempts,
            session_id=session_id,
        )
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        raise RunInputInvalid(f"{first['loc'][0]}: {first['msg']}.") from error
    return Start(run_input, idempotency_key)


def manner(*, detach: bool, no_input: bool, wait: bool) -> Manner:
    if detach:
        return Manner.DETACH
    if not no_input and is_terminal():
        return Manner.ASK
    return Manner.WATCH if wait else Manner.LEAVE_AT_QUESTION


async def run(target: Target, start: Start, manner: Manner, output: Output) -> ExitCode:
    async with target.connect() as turnwise:
        run = await turnwise.start_input(start.input, idempotency_key=start.idempotency_key)
        if manner is Manner.DETACH:
            if output is Output.JSON:
                write_json({"run_id": run.id})
            else:
                write_line(run.id)
            return ExitCode.OK
        if output is Output.JSON:
            return await _as_json(run, manner, start.input.mode)
        return await Conversation(run, target, manner, console()).follow()


async def _as_json(run: Run, manner: Manner, mode: Mode) -> ExitCode:
    async for frame in run.frames():
        if isinstance(frame, StoredEvent):
            write_line(frame.body)
            event = FcmpEvent.model_validate_json(frame.body)
            if event.type is EventType.INPUT_REQUIRED and manner.leaves_at_question(mode):
                return ExitCode.OK
            code = ended(event)
            if code is not None:
                return code
    return ExitCode.FAILED


def _options(text: str | None) -> JsonObject:
    if text is None:
        return {}
    if text.startswith("@"):
        try:
            text = Path(text[1:]).read_text()
        except (OSError, UnicodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not text"
            raise RunInputInvalid(f"--options: the file {text[1:]} cannot be read ({reason}).") from error
    try:
        options = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise RunInputInvalid(f"--options is not valid JSON: {error}.") from error
    if not isinstance(options, dict):
        raise RunInputInvalid("--options must be a JSON object.")
    return options
