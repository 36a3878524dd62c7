"""Many writers at once, in both databases: the log stays contiguous, and a write is in it whole or not at all."""

import asyncio
import uuid

import pytest

from tests.stored_runs import (
    BROKEN,
    HALF_A_CHARACTER,
    StoredRun,
    everything,
    log_of,
    message,
    open_question,
    reply,
    texts,
)
from turnwise.errors import (
    ProtocolSchemaViolation,
    RunNotFound,
    TurnFenced,
)
from turnwise.fcmp.events import (
    EventType,
    ToolCall,
)
from turnwise.fcmp.ordering import violations
from turnwise.runs import RunInput
from turnwise.statechart import Event, IllegalTransition
from turnwise.store import Store
from turnwise.store.records import AuditEntry, Output
from turnwise.store.registration import Registration


@pytest.fixture
def store(shared_store: Store) -> Store:
    return shared_store


# Contiguous seq


async def test_many_writers_of_one_run_get_a_contiguous_seq(store: Store, second_store: Store) -> None:
    run = await StoredRun.running(store)
    stores = [store, second_store]
    await asyncio.gather(
        *(
            stores[number % 2].write_output(run.run_id, 1, [message(number, f"text {number}")], [])
            for number in range(1, 61)
        )
    )
    log, view = await run.log(), await store.run(run.run_id)
    assert [event.seq for event in log] == list(range(1, 63))
    assert sorted(map(str, texts(log))) == sorted(f"text {number}" for number in range(1, 61))
    assert view.last_seq == 62
    assert violations(log) == []


async def test_many_runs_at_once_each_get_a_contiguous_seq(store: Store, second_store: Store) -> None:
    async def play(on: Store) -> StoredRun:
        run = await StoredRun.registered(on)
        for _ in range(3):
            await run.open_turn()
            await run.say("Hello")
            await run.ask()
            await run.answer()
        await run.open_turn()
        await run.succeed()
        return run

    runs = await asyncio.gather(*(play(on) for on in [store, second_store] * 6))
    logs = [await run.log() for run in runs]
    assert {len(log) for log in logs} == {1 + 3 * 6 + 3}
    assert [violation for log in logs for violation in violations(log)] == []


async def test_the_same_write_from_many_sides_is_written_once(store: Store, second_store: Store) -> None:
    run = await StoredRun.running(store)
    await asyncio.gather(*(on.write_output(run.run_id, 1, [message(1)], []) for on in [store, second_store] * 5))
    assert texts(await run.log()) == ["Hello"]
    assert violations(await run.log()) == []


async def test_of_replies_that_race_one_is_committed_and_all_are_told_which(store: Store, second_store: Store) -> None:
    run = await StoredRun.waiting(store)
    told = await asyncio.gather(
        *(on.resolve(run.run_id, reply(reply_id=f"{index}")) for index, on in enumerate([store, second_store] * 5))
    )
    interaction = await store.interaction(run.run_id, 1)
    assert interaction is not None
    assert told == [interaction.resolution] * 10
    log = await run.log()
    assert violations(log) == []
    assert len([event for event in log if event.type == EventType.REPLY_ACCEPTED]) == 1


async def test_an_output_that_races_with_the_end_of_its_turn_is_before_it_or_refused(
    store: Store, second_store: Store
) -> None:
    run = await StoredRun.running(store)

    async def write(number: int) -> bool:
        try:
            await second_store.write_output(run.run_id, 1, [message(number)], [])
        except TurnFenced:
            return False
        return True

    accepted, *_ = await asyncio.gather(asyncio.gather(*map(write, range(1, 31))), run.succeed())
    log = await run.log()
    assert len(texts(log)) == sum(accepted)
    assert violations(log) == []


async def test_registering_from_two_sides_at_once_makes_one_run(store: Store, second_store: Store) -> None:
    run_id = f"run-{uuid.uuid4()}"
    registration = Registration(run_id=run_id, execution_id="first", input=RunInput(prompt="Paint it"))
    created = await asyncio.gather(*(on.register(registration) for on in [store, second_store] * 4))
    assert sorted(created) == [False] * 7 + [True]
    assert len(await log_of(store, run_id)) == 1


# Whole or not at all


async def test_a_violation_of_the_schema_leaves_nothing_behind(store: Store) -> None:
    run = await StoredRun.running(store)
    await run.type("Half a sen")
    before = await everything(store, run.run_id)
    nameless = Output(ordinal=2, data=ToolCall(call_id="c", name="", arguments={}))
    with pytest.raises(ProtocolSchemaViolation) as refusal:
        await store.write_output(
            run.run_id, 1, [message(1), nameless], [AuditEntry(source="scripted", event="engine.raw", data={})]
        )
    assert refusal.value.code == "PROTOCOL_SCHEMA_VIOLATION"
    assert await everything(store, run.run_id) == before
    await run.close(Event.TURN_FAILED, BROKEN)
    log = await run.log()
    assert texts(log) == ["Half a sen"], "the live text that the refused message would have replaced"
    assert violations(log) == []


async def test_a_run_whose_first_event_is_refused_does_not_exist(store: Store) -> None:
    run_id = f"run-{uuid.uuid4()}"
    unreadable = RunInput.model_construct(**{**RunInput().model_dump(), "prompt": HALF_A_CHARACTER})
    registration = Registration.model_construct(
        run_id=run_id, execution_id="first", input=unreadable, request_digest=None
    )
    with pytest.raises(ProtocolSchemaViolation):
        await store.register(registration)
    with pytest.raises(RunNotFound):
        await store.run(run_id)


async def test_an_illegal_transition_leaves_nothing_behind(store: Store) -> None:
    run = await StoredRun.registered(store)
    run.attempt = 1
    before = await everything(store, run.run_id)
    closing = run.closing(Event.TURN_NEEDS_INPUT)
    closing.question = open_question()
    with pytest.raises(IllegalTransition):
        await store.close_turn(closing)
    assert await everything(store, run.run_id) == before
    assert await store.interaction(run.run_id, 1) is None
