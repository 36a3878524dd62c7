"""The text of a message while it is being written."""

import asyncio
from collections.abc import AsyncGenerator

from pydantic import JsonValue
from temporalio.client import Client

from tests.world import start_world
from turnwise.client import Run
from turnwise.engines import Engines
from turnwise.engines.protocol import Done, MessageEnd, TextDelta, TurnOutput, TurnTools
from turnwise.fcmp.events import EventType
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.store.records import StoredEvent, TurnContext
from turnwise.store.watching import Delta


class Hesitant:
    """Writes in pieces that come at once, and falls silent in the middle of its second message."""

    name = "hesitant"

    def __init__(self) -> None:
        self.may_go_on = asyncio.Event()

    def check_options(self, options: JsonObject) -> None:
        pass

    async def validate_handle(self, handle: JsonValue) -> bool:
        return True

    async def run_turn(self, turn: TurnContext, tools: TurnTools) -> AsyncGenerator[TurnOutput, None]:
        for piece in ("One ", "moment."):
            yield TextDelta(piece)
        yield MessageEnd()
        for piece in ("The answer ", "is, ", "I think, "):
            yield TextDelta(piece)
        await self.may_go_on.wait()
        yield TextDelta("forty-two.")
        yield Done()


async def test_all_that_an_engine_wrote_before_it_paused_is_seen(temporal: Client, store_url: str) -> None:
    engine = Hesitant()
    async with start_world(temporal, store_url, Engines([engine])) as world:
        run = await world.turnwise.start(engine="hesitant")
        assert await _text_while_written(run, "m1.2", "The answer is, I think, ") == "The answer is, I think, "
        engine.may_go_on.set()
        await run.wait()
        said = [event.data["text"] for event in await run.history() if event.type is EventType.MESSAGE_FINAL]
        assert said == ["One moment.", "The answer is, I think, forty-two."]


async def _text_while_written(run: Run, message_id: str, until: str) -> str:
    """What a watcher from the start has put together of a message when it has got so far."""
    text, written = "", []
    async for frame in run.frames():
        match frame:
            case StoredEvent(body=body) if EventType.MESSAGE_FINAL in body:
                written.append(body)
            case Delta(message_id=of, offset=offset, text=more) if of == message_id:
                assert len(written) == 1, "the first message is complete before the second one begins"
                assert offset == len(text)
                text += more
                if len(text) >= len(until):
                    return text
    raise AssertionError("the run ended before")
