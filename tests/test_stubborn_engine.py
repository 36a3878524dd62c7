"""An engine that does not stop when it is told to: nobody waits for it for ever, and nobody sees what it still does."""

import asyncio
from collections.abc import AsyncGenerator

import pytest
from pydantic import JsonValue
from temporalio.client import Client

from tests.stored_runs import everything
from tests.world import start_world, until_event
from turnwise.engines import Engines
from turnwise.engines.protocol import Done, MessageEnd, RawRow, TextDelta, TurnOutput, TurnTools
from turnwise.fcmp.events import EventType
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.fcmp.ordering import violations
from turnwise.statechart import State
from turnwise.store.records import TurnContext


class Stubborn:
    """Goes on as if nobody had told it to stop, when the test lets it, until something stops it."""

    name = "stubborn"

    def __init__(self) -> None:
        self.told = asyncio.Event()
        self.may_go_on = asyncio.Event()
        self.over = asyncio.Event()
        self.refused = False

    def check_options(self, options: JsonObject) -> None:
        pass

    async def validate_handle(self, handle: JsonValue) -> bool:
        return True

    async def run_turn(self, turn: TurnContext, tools: TurnTools) -> AsyncGenerator[TurnOutput, None]:
        yield TextDelta("Before.")
        yield MessageEnd()
        while not self.may_go_on.is_set():
            try:
                await self.may_go_on.wait()
            except asyncio.CancelledError:
                self.told.set()
        try:
            yield TextDelta("After.")
            yield RawRow({"late": True})
            yield MessageEnd()
            yield Done()
        except GeneratorExit:
            self.refused = True
            raise
        finally:
            self.over.set()


async def test_a_turn_whose_engine_ignores_its_cancel_is_canceled_and_what_it_still_writes_is_refused(
    temporal: Client, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnwise.activities.live_turn.STOP_GRACE_SEC", 0.05)
    engine = Stubborn()
    async with start_world(temporal, store_url, Engines([engine])) as world:
        run = await world.turnwise.start(engine="stubborn")
        await until_event(run, EventType.MESSAGE_FINAL)
        await run.cancel()
        await engine.told.wait()
        assert (await run.wait()).state is State.CANCELED
        assert not engine.over.is_set()
        at_the_end = await everything(world.store, run.id)
        engine.may_go_on.set()
        await engine.over.wait()
        assert engine.refused
        assert await everything(world.store, run.id) == at_the_end
        assert violations(at_the_end[1]) == []
        assert [event.data["text"] for event in at_the_end[1] if event.type == EventType.MESSAGE_FINAL] == ["Before."]
