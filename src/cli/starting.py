"""`turnwise run`: starts a run, and stays with it as far as it was asked to."""

from turnwise.cli.consoles import console, write_json, write_line
from turnwise.cli.conversation import Conversation, Manner, ended
from turnwise.cli.execution import ExitCode
from turnwise.cli.keyboard import is_terminal
from turnwise.cli.options import Output
from turnwise.cli.targets import Target
from turnwise.client import Run
from turnwise.fcmp.events import EventType, FcmpEvent, Mode
from turnwise.runs import RunInput
from turnwise.store.records import StoredEvent


def manner(*, detach: bool, no_input: bool, wait: bool) -> Manner:
    if detach:
        return Manner.DETACH
    if not no_input and is_terminal():
        return Manner.ASK
    return Manner.WATCH if wait else Manner.LEAVE_AT_QUESTION


async def run(
    target: Target, run_input: RunInput, idempotency_key: str | None, manner: Manner, output: Output
) -> ExitCode:
    async with target.connect() as turnwise:
        run = await turnwise.start_input(run_input, idempotency_key=idempotency_key)
        if manner is Manner.DETACH:
            if output is Output.JSON:
                write_json({"run_id": run.id})
            else:
                write_line(run.id)
            return ExitCode.OK
        if output is Output.JSON:
            return await _as_json(run, manner, run_input.mode)
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
