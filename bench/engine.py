"""Engines that cost nothing, so that what is measured is Turnwise."""

import asyncio
from collections.abc import AsyncGenerator

from pydantic import JsonValue

from bench import moments
from turnwise.engines import Engines
from turnwise.engines.protocol import Ask, Done, TextDelta, ToolCalled, TurnOutput, TurnTools
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.fcmp.questions import Kind, Question
from turnwise.store.records import TurnContext

STREAMED_EVENTS = 100
STREAM_PAUSE_SEC = 0.015
"""Long enough for each event to travel alone."""


class _Engine:
    def check_options(self, options: JsonObject) -> None:
        pass

    async def validate_handle(self, handle: JsonValue) -> bool:
        return True


class TwoTurnEngine(_Engine):
    """Asks in the first turn, answers in the second."""

    name = "bench"

    async def run_turn(self, turn: TurnContext, tools: TurnTools) -> AsyncGenerator[TurnOutput, None]:
        if turn.resolution is None:
            moments.asked(turn.run_id)
            yield Ask(Question(kind=Kind.OPEN_TEXT, prompt="Which colour?"))
        else:
            yield TextDelta(f"It is {turn.resolution.response}.")
            yield Done()


class ShortEngine(_Engine):
    """Answers at once."""

    name = "bench-short"

    async def run_turn(self, turn: TurnContext, tools: TurnTools) -> AsyncGenerator[TurnOutput, None]:
        yield TextDelta("Done.")
        yield Done()


class StreamingEngine(_Engine):
    """Publishes one event after another."""

    name = "bench-stream"

    async def run_turn(self, turn: TurnContext, tools: TurnTools) -> AsyncGenerator[TurnOutput, None]:
        for number in range(STREAMED_EVENTS):
            await asyncio.sleep(STREAM_PAUSE_SEC)
            yield ToolCalled(f"call-{number}", "bench", {})
        yield Done()


def bench_engines() -> Engines:
    return Engines([TwoTurnEngine(), ShortEngine(), StreamingEngine()])
