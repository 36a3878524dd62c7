"""The embedded engine: plays a script turn by turn, or, without one, is a small friendly agent."""

import asyncio
from collections.abc import AsyncGenerator

import orjson
from pydantic import JsonValue

from turnwise.engines import friendly
from turnwise.engines.protocol import (
    Ask,
    Done,
    Fail,
    MessageEnd,
    RawRow,
    TextDelta,
    ToolCalled,
    ToolReturned,
    TurnOutput,
)
from turnwise.engines.script import Step, parse_script
from turnwise.fcmp.events import ReplyAccepted, ToolStatus
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.store.records import TurnContext

TYPING_PAUSE_SEC = 0.02
MAX_PIECES = 40


class ScriptedEngine:
    name = "scripted"

    def check_options(self, options: JsonObject) -> None:
        if options:
            parse_script(options)

    async def validate_handle(self, handle: JsonValue) -> bool:
        return isinstance(handle, dict) and isinstance(handle.get("next_turn"), int)

    async def run_turn(self, turn: TurnContext) -> AsyncGenerator[TurnOutput, None]:
        position = _position(turn.handle)
        steps = _steps(turn, position)
        reply = _reply_text(turn)
        for index, step in enumerate(steps):
            yield RawRow({"turn": position, "step": index, **step.model_dump(mode="json", exclude_unset=True)})
            async for output in _play(step, index, position, reply, turn):
                yield output
                if isinstance(output, Ask | Done | Fail):
                    return
        yield Done()


async def _play(
    step: Step, index: int, position: int, reply: str, turn: TurnContext
) -> AsyncGenerator[TurnOutput, None]:
    if step.say is not None:
        async for delta in _typed(step.say.replace("{reply}", reply)):
            yield delta
        yield MessageEnd()
    elif step.final is not None:
        async for delta in _typed(step.final.replace("{reply}", reply)):
            yield delta
        yield Done()
    elif step.ask is not None:
        asked = step.ask.model_copy(update={"prompt": step.ask.prompt.replace("{reply}", reply)})
        yield Ask(asked, handle={"next_turn": position + 1})
    elif step.tool is not None:
        call_id = f"call-{turn.attempt}-{index}"
        yield ToolCalled(call_id, step.tool.name, step.tool.arguments)
        yield ToolReturned(call_id, step.tool.name, ToolStatus.COMPLETED, step.tool.result)
    elif step.sleep is not None:
        await asyncio.sleep(step.sleep)
    elif step.fail is not None:
        yield Fail(step.fail.replace("{reply}", reply))


async def _typed(text: str) -> AsyncGenerator[TextDelta, None]:
    """The text in pieces with pauses, as a model would write it; a long text is not written longer than a short one."""
    size = max(1, -(-len(text) // MAX_PIECES), 8)
    for start in range(0, len(text), size):
        yield TextDelta(text[start : start + size])
        await asyncio.sleep(TYPING_PAUSE_SEC)


def _steps(turn: TurnContext, position: int) -> list[Step]:
    if not turn.input.engine_options:
        return friendly.first_turn(turn.input.prompt) if position == 0 else friendly.next_turn()
    script = parse_script(turn.input.engine_options)
    return script.turns[position] if position < len(script.turns) else []


def _position(handle: JsonValue) -> int:
    position = handle.get("next_turn") if isinstance(handle, dict) else 0
    return position if isinstance(position, int) else 0


def _reply_text(turn: TurnContext) -> str:
    if turn.resolution is None:
        return ""
    response = turn.resolution.response
    if response is None and not isinstance(turn.resolution, ReplyAccepted) and turn.question is not None:
        # Told to decide by itself: the question's default, else its first option.
        response = turn.question.default
        if response is None and turn.question.options:
            response = turn.question.options[0].value
    if response is None:
        return ""
    return response if isinstance(response, str) else orjson.dumps(response).decode()
