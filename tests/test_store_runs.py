"""Runs in both databases: true to every text, listed, read in slices, and told apart by their ids."""

import uuid
from collections.abc import AsyncIterator
from datetime import datetime, tzinfo
from typing import Self

import pytest
from pydantic import JsonValue

from tests.stored_runs import AWKWARD, HALF_A_CHARACTER, StoredRun, everything, open_question, reply, texts
from turnwise.errors import (
    CursorInvalid,
    IdempotencyKeyReused,
    ProtocolSchemaViolation,
    RunIdTaken,
    RunInputInvalid,
    RunNotFound,
)
from turnwise.fcmp.events import (
    DiagnosticWarning,
    ErrorInfo,
    MessageFinal,
    ToolCall,
    ToolResult,
    ToolStatus,
)
from turnwise.fcmp.jsonvalue import JsonObject, json_text
from turnwise.fcmp.ordering import violations
from turnwise.runs import RunContent, RunInput
from turnwise.statechart import Event, State
from turnwise.store import Store
from turnwise.store.records import AuditEntry
from turnwise.store.registration import Registration


@pytest.fixture
def store(shared_store: Store) -> Store:
    return shared_store


@pytest.fixture
async def empty_store(store_url: str) -> AsyncIterator[Store]:
    store = Store(store_url)
    await store.open()
    yield store
    await store.close()


# Texts


async def test_awkward_texts_come_back_as_they_were(store: Store) -> None:
    options: JsonObject = {AWKWARD: [AWKWARD]}
    run = await StoredRun.running(store, RunInput(prompt=AWKWARD, engine_options=options))
    await run.type(AWKWARD)
    await run.write(
        MessageFinal(message_id=AWKWARD, text=AWKWARD),
        ToolCall(call_id="c", name=AWKWARD, arguments={AWKWARD: AWKWARD}),
        ToolResult(call_id="c", name=AWKWARD, status=ToolStatus.COMPLETED, result=AWKWARD),
    )
    raw = AuditEntry(source="scripted", event="engine.raw", data={AWKWARD: AWKWARD})
    await store.write_output(run.run_id, 1, [], [raw])
    await run.type(AWKWARD)
    closing = run.closing(Event.TURN_NEEDS_INPUT, usage={AWKWARD: 1})
    closing.question, closing.handle = open_question(prompt=AWKWARD, default=AWKWARD), {AWKWARD: AWKWARD}
    await store.close_turn(closing)
    waiting = await store.run(run.run_id)
    assert waiting.pending == closing.question
    assert waiting.prompt_preview == AWKWARD
    await store.warn(run.run_id, "w", DiagnosticWarning(code="W", message=AWKWARD, details={AWKWARD: AWKWARD}))
    assert await store.resolve(run.run_id, reply(1, {AWKWARD: AWKWARD})) == reply(1, {AWKWARD: AWKWARD})
    turn = await store.open_turn(run.run_id, 2)
    assert (turn.input.prompt, turn.input.engine_options) == (AWKWARD, options)
    assert (turn.question, turn.resolution, turn.handle) == (
        closing.question,
        reply(1, {AWKWARD: AWKWARD}),
        {AWKWARD: AWKWARD},
    )
    log = await run.log()
    assert log[0].data["prompt"] == AWKWARD
    assert texts(log) == [AWKWARD, AWKWARD]
    assert log[3].data["arguments"] == {AWKWARD: AWKWARD}
    assert (await store.audit(run.run_id))[1].data == {AWKWARD: AWKWARD}
    assert violations(log) == []


async def test_an_error_message_is_made_readable_alike_in_log_and_projection(store: Store) -> None:
    """It comes from anybody's exception, and the run must end whatever it says."""
    run = await StoredRun.running(store)
    await run.close(
        Event.TURN_FAILED, ErrorInfo(code="TURN_FAILED", message=f"caf\udce9.txt: 🎨 \0 {HALF_A_CHARACTER}")
    )
    view, log = await store.run(run.run_id), await run.log()
    assert view.state is State.FAILED
    assert view.error == ErrorInfo(code="TURN_FAILED", message="caf?.txt: 🎨 \ufffd ?")
    assert log[-1].data["error"] == view.error.model_dump()


async def test_half_a_character_is_refused_with_its_own_error_and_leaves_nothing_behind(store: Store) -> None:
    run = await StoredRun.running(store)
    await run.type("Half a sen")
    before = await everything(store, run.run_id)
    with pytest.raises(ProtocolSchemaViolation, match="cannot be written as JSON"):
        await run.type(f"Half a sentence {HALF_A_CHARACTER}")
    with pytest.raises(ProtocolSchemaViolation, match="cannot be written as JSON"):
        await run.say(HALF_A_CHARACTER)
    assert await everything(store, run.run_id) == before
    await run.succeed()
    assert texts(await run.log()) == ["Half a sen"]


# Lists of runs


async def test_a_list_of_runs_is_newest_first_and_comes_in_pages(empty_store: Store) -> None:
    runs = [await StoredRun.registered(empty_store) for _ in range(7)]
    seen: list[str] = []
    sizes: list[int] = []
    cursor: str | None = None
    while True:
        page = await empty_store.runs(limit=3, cursor=cursor)
        seen += [run.run_id for run in page.runs]
        sizes.append(len(page.runs))
        cursor = page.next_cursor
        if cursor is None:
            break
        await StoredRun.registered(empty_store)  # one that is newer than the first page never appears
    assert seen == [run.run_id for run in reversed(runs)]
    assert sizes == [3, 3, 1]


async def test_a_page_that_holds_the_rest_has_no_cursor(empty_store: Store) -> None:
    for _ in range(3):
        await StoredRun.registered(empty_store)
    assert (await empty_store.runs(limit=3)).next_cursor is None
    assert (await empty_store.runs(limit=2)).next_cursor is not None


async def test_runs_of_the_same_moment_are_neither_lost_nor_repeated(
    empty_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    class StoppedClock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return cls(2026, 1, 2, tzinfo=tz)

    monkeypatch.setattr("turnwise.store.registration.datetime", StoppedClock)
    names = [f"run-{number}" for number in range(9)]
    for name in names:
        await StoredRun.registered(empty_store, run_id=name)
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = await empty_store.runs(limit=2, cursor=cursor)
        seen += [run.run_id for run in page.runs]
        if (cursor := page.next_cursor) is None:
            break
    assert sorted(seen) == names


async def test_a_list_of_runs_can_be_of_one_state(empty_store: Store) -> None:
    queued = [await StoredRun.registered(empty_store) for _ in range(3)]
    waiting = [await StoredRun.waiting(empty_store) for _ in range(3)]
    first = await empty_store.runs(State.WAITING_USER, limit=2)
    rest = await empty_store.runs(State.WAITING_USER, limit=2, cursor=first.next_cursor)
    assert [run.run_id for run in first.runs + rest.runs] == [run.run_id for run in reversed(waiting)]
    assert [run.pending for run in first.runs] == [open_question(), open_question()]
    assert [run.run_id for run in (await empty_store.runs(State.QUEUED)).runs] == [
        run.run_id for run in reversed(queued)
    ]
    assert (await empty_store.runs(State.FAILED)).runs == []


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    "cursor",
    ["", "x", "not a cursor", "é", HALF_A_CHARACTER, "bnVsbA==", "WzEsMl0=", "WyJhIl0=", "WyJhIiwiXHUwMDAwIl0="],
)
async def test_a_cursor_that_no_list_has_given_is_refused(cursor: str, empty_store: Store) -> None:
    with pytest.raises(CursorInvalid) as refusal:
        await empty_store.runs(cursor=cursor)
    assert refusal.value.code == "CURSOR_INVALID"


async def test_one_run_with_the_deepest_input_does_not_spoil_the_list(empty_store: Store) -> None:
    value: JsonValue = 1
    for _ in range(99):
        value = [value]
    run = await StoredRun.registered(empty_store, RunInput(engine_options={"deep": value}))
    assert [view.run_id for view in (await empty_store.runs()).runs] == [run.run_id]
    assert (await run.open_turn()).input.engine_options == {"deep": value}


# Slices of the log


async def test_the_log_can_be_read_in_slices(store: Store) -> None:
    run = await StoredRun.running(store)
    for number in range(8):
        await run.say(f"text {number}")

    async def seqs(after: int = 0, limit: int = 1000, to: int | None = None) -> list[int]:
        return [event.seq for event in await store.events(run.run_id, after, limit, to)]

    assert await seqs() == list(range(1, 11))
    assert await seqs(after=4) == [5, 6, 7, 8, 9, 10]
    assert await seqs(after=4, limit=2) == [5, 6]
    assert await seqs(after=4, to=7) == [5, 6, 7]
    assert await seqs(after=10) == []
    assert await seqs(after=7, to=3) == []


# Large inputs


async def test_a_large_input_is_stored_once_and_used_by_reference(store: Store) -> None:
    content = RunContent(prompt=AWKWARD * 20_000, engine_options={"script": [1, None]}).model_dump_json()
    ref = await store.put_blob(content)
    assert await store.put_blob(content) == ref
    assert await store.put_blob(content + " ") != ref
    run = await StoredRun.registered(store, RunInput(content_ref=ref))
    turn = await run.open_turn()
    assert turn.input.prompt == AWKWARD * 20_000
    assert turn.input.engine_options == {"script": [1, None]}
    assert (await run.log())[0].data["prompt"] == AWKWARD * 20_000
    assert len((await store.run(run.run_id)).prompt_preview) == 200


async def test_an_input_under_an_unknown_reference_is_refused_and_no_run_exists(store: Store) -> None:
    run_id = f"run-{uuid.uuid4()}"
    with pytest.raises(RunInputInvalid):
        await StoredRun.registered(store, RunInput(content_ref="sha256:nothing"), run_id=run_id)
    with pytest.raises(RunNotFound):
        await store.run(run_id)


async def test_a_large_handle_is_taken_by_reference(store: Store) -> None:
    run = await StoredRun.running(store)
    closing = run.closing(Event.TURN_NEEDS_INPUT)
    closing.question = open_question()
    closing.handle_ref = await store.put_blob(json_text({"memory": "x" * 100_000}))
    await store.close_turn(closing)
    await run.store.resolve(run.run_id, reply())
    assert (await store.open_turn(run.run_id, 2)).handle == {"memory": "x" * 100_000}


# Ids that are used again


async def test_the_id_of_an_earlier_run_is_taken(store: Store) -> None:
    run = await StoredRun.waiting(store)
    before = await everything(store, run.run_id)
    with pytest.raises(RunIdTaken) as refusal:
        await store.register(Registration(run_id=run.run_id, execution_id="second", input=RunInput()))
    assert refusal.value.code == "RUN_ID_TAKEN"
    assert await everything(store, run.run_id) == before


async def test_an_idempotency_key_belongs_to_the_request_that_it_was_first_used_for(store: Store) -> None:
    run_id = f"run-{uuid.uuid4()}"
    first = Registration(run_id=run_id, execution_id="first", input=RunInput(), request_digest="a" * 64)
    assert await store.known_request(run_id, "a" * 64) is False
    await store.register(first)
    assert await store.known_request(run_id, "a" * 64) is True
    with pytest.raises(IdempotencyKeyReused) as refusal:
        await store.known_request(run_id, "b" * 64)
    assert refusal.value.code == "IDEMPOTENCY_KEY_REUSED"


async def test_the_key_is_known_when_the_workflow_was_faster_than_its_client(store: Store) -> None:
    run = await StoredRun.registered(store)
    late = Registration(run_id=run.run_id, execution_id="first", input=RunInput(), request_digest="a" * 64)
    assert await store.register(late) is False
    with pytest.raises(IdempotencyKeyReused):
        await store.known_request(run.run_id, "b" * 64)
    assert await store.register(late.model_copy(update={"request_digest": "b" * 64})) is False
    assert await store.known_request(run.run_id, "a" * 64) is True
    assert len(await run.log()) == 1
