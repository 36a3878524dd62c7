"""The audit trail: what an engine did in a turn, beside the public log and in step with it."""

import pytest

from tests.played_transitions import played, tr_05
from tests.stored_runs import StoredRun
from turnwise.fcmp.events import EventType
from turnwise.statechart import Event, State
from turnwise.store import Store
from turnwise.store.records import AuditEntry, AuditRecord


@pytest.fixture
def store(shared_store: Store) -> Store:
    return shared_store


async def test_the_audit_trail_marks_when_the_run_enters_and_leaves_running(store: Store) -> None:
    for transition, run in await played(store):
        marks = [
            ("agent.turn_start", event.meta.attempt, None)
            if event.data["to"] == State.RUNNING.value
            else ("agent.turn_complete", event.meta.attempt, event.data["trigger"])
            for event in await run.log()
            if event.type == EventType.STATE_CHANGED and State.RUNNING.value in (event.data["from"], event.data["to"])
        ]
        trail = await store.audit(run.run_id)
        assert [(entry.event, entry.attempt, entry.data.get("outcome")) for entry in trail] == marks, transition.id


async def test_the_audit_trail_has_a_contiguous_seq_of_its_own(store: Store) -> None:
    for transition, run in await played(store):
        trail = await store.audit(run.run_id)
        assert [entry.seq for entry in trail] == list(range(1, len(trail) + 1)), transition.id
        assert {entry.run_id for entry in trail} <= {run.run_id}


async def test_the_audit_trail_never_enters_the_public_log(store: Store) -> None:
    for transition, run in await played(store):
        for event in await store.events(run.run_id):
            assert "agent.turn" not in event.body, transition.id
            assert "rasp/" not in event.body, transition.id


async def test_raw_engine_rows_go_to_the_audit_trail_between_start_and_complete(store: Store) -> None:
    run = await StoredRun.running(store)
    rows = [AuditEntry(source="scripted", event="engine.raw", data={"row": number}) for number in (1, 2)]
    await store.write_output(run.run_id, run.attempt, [], rows)
    await run.close(Event.TURN_SUCCEEDED, usage={"tokens": 3})
    trail = await store.audit(run.run_id)
    assert [(entry.source, entry.event, entry.data) for entry in trail] == [
        ("orchestrator", "agent.turn_start", {"engine": "scripted"}),
        ("scripted", "engine.raw", {"row": 1}),
        ("scripted", "engine.raw", {"row": 2}),
        ("orchestrator", "agent.turn_complete", {"outcome": "turn.succeeded", "usage": {"tokens": 3}}),
    ]
    assert [entry.seq for entry in trail] == [1, 2, 3, 4]
    assert {entry.protocol_version for entry in trail} == {"rasp/1.0"}
    assert [event.type for event in await run.log()] == [
        EventType.CONVERSATION_STARTED,
        EventType.STATE_CHANGED,
        EventType.STATE_CHANGED,
        EventType.COMPLETED,
    ]


async def test_the_audit_trail_can_be_read_in_slices(store: Store) -> None:
    run = await tr_05(store)
    whole = await store.audit(run.run_id)
    slices: list[AuditRecord] = []
    while page := await store.audit(run.run_id, after=len(slices), limit=3):
        slices += page
    assert len(whole) == 4
    assert slices == whole
