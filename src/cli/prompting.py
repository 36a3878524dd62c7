"""`turnwise sessions prompt`: something for a session to do, and what became of it."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator

from rich.console import Console
from rich.text import Text

from turnwise.cli import rendering
from turnwise.cli.consoles import console, errors_console, progress, write_json, write_line
from turnwise.cli.execution import ExitCode
from turnwise.cli.options import Output
from turnwise.cli.targets import Target
from turnwise.client import AgentSession
from turnwise.fcmp.events import DATA_MODELS, FcmpEvent, Mode
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.fcmp.questions import OpenQuestion
from turnwise.sessions import ItemStatus, PromptReceipt, PromptResult, StreamingBehavior
from turnwise.statechart import State
from turnwise.store.records import StoredEvent
from turnwise.wording.texts import clean, sentence

EXIT_CODES = {State.SUCCEEDED: ExitCode.OK, State.CANCELED: ExitCode.CANCELED}


async def prompt(
    target: Target,
    session_id: str,
    text: str,
    behavior: StreamingBehavior,
    options: JsonObject | None,
    output: Output,
) -> ExitCode:
    async with target.connect() as turnwise:
        receipt = await turnwise.session(session_id).submit(text, streaming_behavior=behavior, engine_options=options)
    if output is Output.JSON:
        write_json(receipt.model_dump(mode="json"))
        return ExitCode.OK
    out = console()
    out.print(Text(f"✓ {_accepted(receipt)}", style="good"))
    watch = target.command("sessions", "watch", session_id)
    out.print(Text(f"  Watch what follows: {watch}", style="quiet"), soft_wrap=True)
    return ExitCode.OK


async def prompt_and_wait(
    target: Target,
    session_id: str,
    text: str,
    behavior: StreamingBehavior,
    options: JsonObject | None,
    output: Output,
) -> ExitCode:
    """Until the prompt's own run has ended; a question that holds it up is told, and how to answer it."""
    async with target.connect() as turnwise:
        session = turnwise.session(session_id)
        cursor = (await session.view()).last_seq
        receipt = await session.submit(text, streaming_behavior=behavior, engine_options=options)
        with progress("The session is at work …", output):
            async with _telling_questions(session, cursor, target):
                result = await session.result(receipt.prompt_id)
    if output is Output.JSON:
        write_json(result.model_dump(mode="json"))
    else:
        _print_result(result)
    return EXIT_CODES.get(result.state, ExitCode.FAILED)


def _accepted(receipt: PromptReceipt) -> str:
    if receipt.status is ItemStatus.QUEUED:
        return "The prompt is queued; it is executed when those before it have ended."
    return f"The prompt is being executed: {receipt.run_id}"


def _print_result(result: PromptResult) -> None:
    if result.state is State.SUCCEEDED:
        write_line(clean(result.text or ""))
        return
    reason = result.error.message if result.error else f"The prompt has ended ({result.state.value})."
    code = f" ({result.error.code})" if result.error else ""
    sys.stderr.write(f"{clean(sentence(reason))}{code}\n")


@contextlib.asynccontextmanager
async def _telling_questions(session: AgentSession, cursor: int, target: Target) -> AsyncIterator[None]:
    telling = asyncio.create_task(_tell_questions(session, cursor, target, errors_console()))
    try:
        yield
    finally:
        telling.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await telling


async def _tell_questions(session: AgentSession, cursor: int, target: Target, console: Console) -> None:
    if (await session.view()).mode is Mode.AUTO:
        return  # nobody is waited for
    async for frame in session.frames(cursor):
        if isinstance(frame, StoredEvent):
            event = FcmpEvent.model_validate_json(frame.body)
            asked = DATA_MODELS[event.type].model_validate(event.data)
            if isinstance(asked, OpenQuestion):
                console.print(rendering.question(asked), soft_wrap=True)
                console.print(rendering.how_to_reply(asked, event.run_id, target), soft_wrap=True)
