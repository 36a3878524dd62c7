"""A turn is executed once, however often Temporal asks for it."""

import asyncio
from collections.abc import AsyncGenerator

import pytest
from pydantic import JsonValue
from temporalio.client import Client
from temporalio.testing import ActivityEnvironment

from turnwise.activities import Presence, Slots, TurnRef, Turns, reports
from turnwise.engines import Engines
from turnwise.engines.protocol import Done, TextDelta, TurnOutput, TurnTools
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.runs import RunInput
from turnwise.statechart import Event
from turnwise.store import Store
from turnwise.store.records import Failed, Succeeded, TurnClosing, TurnContext
from turnwise.store.registration import Registration
from turnwise.tools import Tools, ToolServers
from turnwise.tools.builtin import builtin_tools

HALF_A_CHARACTER = "\ud83d"


class Counting:
    """Says how many times it was executed."""

    name = "counting"

    def __init__(self) -> None:
        self.executions = 0

    def check_options(self, options: JsonObject) -> None:
        pass

    async def validate_handle(self, handle: JsonValue) -> bool:
        return True

    async def run_turn(self, turn: TurnContext, tools: TurnTools) -> AsyncGenerator[TurnOutput, None]:
        self.executions += 1
        yield TextDelta(HALF_A_CHARACTER if turn.input.prompt == "unreadable" else f"execution {self.executions}")
        yield Done()


@pytest.fixture
def engine() -> Counting:
    return Counting()


@pytest.fixture
def turns(shared_store: Store, temporal: Client, engine: Counting) -> Turns:
    presence = Presence(shared_store, "turnwise")
    presence.settled.set()
    tools = Tools(builtin_tools(), ToolServers())
    return Turns(shared_store, Engines([engine]), tools, temporal, presence, Slots(1))


async def registered(store: Store, run_id: str, prompt: str = "") -> TurnRef:
    new = Registration(run_id=run_id, execution_id="x", input=RunInput(prompt=prompt, engine="counting"))
    await store.register(new)
    return TurnRef(run_id=run_id, attempt=1)


async def test_a_report_that_was_lost_is_given_again_however_late(
    turns: Turns, engine: Counting, shared_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = asyncio.Event()
    closed_turns = shared_store.closed_turns

    async def look(of: list[tuple[str, int]]) -> list[tuple[str, int]]:
        found = await closed_turns(of)
        looked.set()
        return found

    monkeypatch.setattr(reports, "LOOK_SEC", 0.01)
    monkeypatch.setattr(shared_store, "closed_turns", look)
    ref = await registered(shared_store, f"late-{id(turns)}")
    env = ActivityEnvironment()
    first = await env.run(turns.run_turn, ref)
    await looked.wait()
    assert await env.run(turns.run_turn, ref) == first
    assert engine.executions == 1

    closing = TurnClosing(run_id=ref.run_id, attempt=1, event=Event.TURN_SUCCEEDED)
    await shared_store.close_turn(closing)
    looked.clear()
    await looked.wait()
    assert isinstance(first.ending, Succeeded)
    assert await shared_store.closed_turns([ref.key]) == [ref.key]


async def test_last_words_that_nobody_could_read_fail_the_turn(turns: Turns, shared_store: Store) -> None:
    ref = await registered(shared_store, f"unreadable-{id(turns)}", prompt="unreadable")
    result = await ActivityEnvironment().run(turns.run_turn, ref)
    assert isinstance(result.ending, Failed)
    assert result.ending.error.code == "PROTOCOL_SCHEMA_VIOLATION"
