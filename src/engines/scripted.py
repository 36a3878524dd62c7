"""The embedded engine: plays a script turn by turn, or, without one, is a small friendly agent."""

import asyncio
import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass

import orjson
from pydantic import JsonValue

from turnwise.descriptors import ToolOutcome
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
    TurnTools,
)
from turnwise.engines.script import Step, ToolStep, parse_script
from turnwise.fcmp.events import ReplyAccepted, ToolStatus
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.store.records import TurnContext

TYPING_PAUSE_SEC = 0.02
MAX_PIECES = 40

_PLACEHOLDER = re.compile(r"\{(reply|result)\}")


class ScriptedEngine:
    name = "scripted"

    def check_options(self, options: JsonObject) -> None:
        if options:
            parse_script(options)

    async def validate_handle(self, handle: JsonValue) -> bool:
        return isinstance(handle, dict) and isinstance(handle.get("next_turn"), int)

    async def run_turn(self, turn: TurnContext, tools: TurnTools) -> AsyncGenerator[TurnOutput, None]:
        position = _position(turn.handle)
        reply = _reply_text(turn)
        scene = _Scene(turn, tools, position, {"reply": reply})
        for index, step in enumerate(_steps(turn, position, reply)):
            yield RawRow({"turn": position, "step": index, **step.model_dump(mode="json", exclude_unset=True)})
            async for output in scene.play(step, index):
                yield output
                if isinstance(output, Ask | Done | Fail):
                    return
        yield Done()


@dataclass(slots=True)
class _Scene:
    """One turn while it is played."""

    turn: TurnContext
    tools: TurnTools
    position: int
    words: dict[str, str]
    """What stands for `{reply}` and `{result}` in a text."""

    async def play(self, step: Step, index: int) -> AsyncGenerator[TurnOutput, None]:
        if step.say is not None:
            async for delta in _typed(self._filled(step.say)):
                yield delta
            yield MessageEnd()
        elif step.final is not None:
            async for delta in _typed(self._filled(step.final)):
                yield delta
            yield Done()
        elif step.ask is not None:
            asked = step.ask.model_copy(update={"prompt": step.ask.prompt.replace("{reply}", self.words["reply"])})
            yield Ask(asked, handle={"next_turn": self.position + 1})
        elif step.tool is not None:
            call_id = f"call-{self.turn.attempt}-{index}"
            yield ToolCalled(call_id, step.tool.name, step.tool.arguments)
            outcome = await self._called(step.tool)
            self.words["result"] = _as_text(outcome.result)
            yield ToolReturned(call_id, step.tool.name, outcome.status, outcome.result)
        elif step.sleep is not None:
            await asyncio.sleep(step.sleep)
        elif step.fail is not None:
            yield Fail(self._filled(step.fail))

    async def _called(self, tool: ToolStep) -> ToolOutcome:
        """Really, if there is such a tool; as the script has it, if not, and if it has a result."""
        if self.tools.knows(tool.name) or "result" not in tool.model_fields_set:
            return await self.tools.call(tool.name, tool.arguments)
        return ToolOutcome(status=ToolStatus.COMPLETED, result=tool.result)

    def _filled(self, text: str) -> str:
        return _PLACEHOLDER.sub(lambda found: self.words.get(found[1], found[0]), text)


async def _typed(text: str) -> AsyncGenerator[TextDelta, None]:
    """The text in pieces with pauses, as a model would write it; a long text is not written longer than a short one."""
    size = max(1, -(-len(text) // MAX_PIECES), 8)
    for start in range(0, len(text), size):
        yield TextDelta(text[start : start + size])
        await asyncio.sleep(TYPING_PAUSE_SEC)


def _steps(turn: TurnContext, position: int, reply: str) -> list[Step]:
    if not turn.input.engine_options:
        return friendly.first_turn(turn.input.prompt) if position == 0 else friendly.next_turn(reply)
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
    return "" if response is None else _as_text(response)


def _as_text(value: JsonValue) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
