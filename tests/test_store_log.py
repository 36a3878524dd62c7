"""The event log in both databases: contiguous, written once, closed when the turn is, and whole or not at all."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime, tzinfo
from typing import Self

import pytest
from pydantic import JsonValue

from tests.stored_runs import CANCELED, StoredRun, decision, log_of, open_question, reply
from turnwise.errors import (
    CursorInvalid,
    IdempotencyKeyReused,
    ProtocolSchemaViolation,
    RunIdTaken,
    RunInputInvalid,
    RunNotFound,
    TurnFenced,
)
from turnwise.fcmp.events import (
    DiagnosticWarning,
    ErrorInfo,
    EventType,
    FcmpEvent,
    MessageFinal,
    OutputStatus,
    ToolCall,
    ToolResult,
    ToolStatus,
)
from turnwise.fcmp.jsonvalue import JsonObject, json_text
from turnwise.fcmp.ordering import violations
from turnwise.runs import RunContent, RunInput
from turnwise.statechart import Event, IllegalTransition, State
from turnwise.store import Store
from turnwise.store.records import AuditEntry, LiveMessage, Output, RunView
from turnwise.store.registration import Registration

WARNING = DiagnosticWarning(code="SESSION_TIMEOUT_ELAPSED", message="Still waiting.")
BROKEN = ErrorInfo(code="TURN_FAILED", message="It broke.")
AWKWARD = "NUL \0, a flag 🇺🇳, a family 👨‍👩‍👧‍👦, \u202eright to left, \ufffe, 'quotes\", back\\slash and \r\n lines"
HALF_A_CHARACTER = "\ud83d"


@pytest.fixture
def store(shared_store: Store) -> Store:
    return shared_store


@pytest.fixture
async def empty_store(store_url: str) -> AsyncIterator[Store]:
    store = Store(store_url)
    await store.open()
    yield store
    await store.close()


def message(ordinal: int, text: str = "Hello") -> Output:
    return Output(ordinal=ordinal, data=MessageFinal(message_id=f"m{ordinal}", text=text))


def texts(log: list[FcmpEvent]) -> list[JsonValue]:
    return [event.data["text"] for event in log if event.type == EventType.MESSAGE_FINAL]


Everything = tuple[RunView, list[FcmpEvent], list[JsonObject]]


async def everything(store: Store, run_id: str) -> Everything:
    """All that a reader can see of a run."""
    trail = [record.model_dump(mode="json") for record in await store.audit(run_id)]
    return await store.run(run_id), await log_of(store, run_id), trail


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


# Repeating a call

Call = Callable[[StoredRun], Awaitable[object]]


async def register_again(run: StoredRun) -> None:
    await StoredRun.registered(run.store, run_id=run.run_id)


async def open_again(run: StoredRun) -> None:
    await run.store.open_turn(run.run_id, 1)


async def write_both_again(run: StoredRun) -> None:
    entries = [AuditEntry(source="scripted", event="engine.raw", data={"row": 1})]
    await run.store.write_output(run.run_id, 1, [message(1), message(2)], entries)


async def ask_again(run: StoredRun) -> None:
    closing = run.closing(Event.TURN_NEEDS_INPUT)
    closing.question = open_question()
    await run.store.close_turn(closing)


async def reply_again(run: StoredRun) -> None:
    assert await run.store.resolve(run.run_id, reply()) == reply()


async def warn_again(run: StoredRun) -> None:
    await run.store.warn(run.run_id, "question1.elapsed", WARNING)


async def cancel_wait_again(run: StoredRun) -> None:
    await run.store.cancel_wait(run.run_id, CANCELED.message)


async def succeed_again(run: StoredRun) -> None:
    await run.succeed()


async def fail_again(run: StoredRun) -> None:
    await run.close(Event.TURN_FAILED, BROKEN)


async def test_repeating_a_call_changes_nothing(store: Store) -> None:
    calls: list[tuple[Callable[[Store], Awaitable[StoredRun]], Call]] = [
        (StoredRun.registered, register_again),
        (StoredRun.running, register_again),
        (StoredRun.running, open_again),
        (StoredRun.running, write_both_again),
        (StoredRun.running, ask_again),
        (StoredRun.running, succeed_again),
        (StoredRun.running, fail_again),
        (StoredRun.waiting, reply_again),
        (StoredRun.waiting, warn_again),
        (StoredRun.waiting, cancel_wait_again),
    ]
    for prepared, call in calls:
        run = await prepared(store)
        await call(run)
        once = await everything(store, run.run_id)
        await call(run)
        assert await everything(store, run.run_id) == once, call.__name__


async def test_a_write_of_which_a_part_is_known_adds_the_rest(store: Store) -> None:
    run = await StoredRun.running(store)
    await store.write_output(run.run_id, 1, [message(1, "one")], [])
    await store.write_output(run.run_id, 1, [message(1, "one"), message(2, "two")], [])
    assert texts(await run.log()) == ["one", "two"]


async def test_a_question_is_resolved_once_whoever_comes_later(store: Store) -> None:
    run = await StoredRun.waiting(store, RunInput(interactive_require_user_reply=False))
    assert await store.resolve(run.run_id, decision()) == decision()
    assert await store.resolve(run.run_id, reply()) == decision()
    await run.open_turn()
    assert await store.resolve(run.run_id, reply()) == decision()
    assert (await store.run(run.run_id)).auto_decision_count == 1
    assert violations(await run.log()) == []


async def test_a_strict_run_is_never_decided_by_its_deadline(store: Store) -> None:
    run = await StoredRun.waiting(store)
    before = await everything(store, run.run_id)
    with pytest.raises(IllegalTransition):
        await store.resolve(run.run_id, decision())
    assert await everything(store, run.run_id) == before


# Fencing


async def closed_by_question(store: Store) -> StoredRun:
    return await StoredRun.waiting(store)


async def closed_by_success(store: Store) -> StoredRun:
    run = await StoredRun.running(store)
    await run.succeed()
    return run


async def closed_by_cancellation_of_the_wait(store: Store) -> StoredRun:
    run = await StoredRun.waiting(store)
    await store.cancel_wait(run.run_id, CANCELED.message)
    return run


async def closed_before_it_started(store: Store) -> StoredRun:
    run = await StoredRun.registered(store)
    run.attempt = 1
    await run.close(Event.RUN_CANCELED, CANCELED)
    return run


async def followed_by_another_turn(store: Store) -> StoredRun:
    run = await StoredRun.waiting(store)
    await run.answer()
    await store.open_turn(run.run_id, 2)
    return run


async def write_late_output(run: StoredRun) -> None:
    await run.store.write_output(run.run_id, 1, [message(9)], [])


async def write_late_audit(run: StoredRun) -> None:
    entry = AuditEntry(source="scripted", event="engine.raw", data={})
    await run.store.write_output(run.run_id, 1, [], [entry])


async def write_late_text(run: StoredRun) -> None:
    await run.store.write_live_text(run.run_id, 1, LiveMessage(message_id="late", text="late"))


async def test_a_closed_turn_may_not_write_and_leaves_no_trace(store: Store) -> None:
    for closed in (
        closed_by_question,
        closed_by_success,
        closed_by_cancellation_of_the_wait,
        closed_before_it_started,
        followed_by_another_turn,
    ):
        run = await closed(store)
        before = await everything(store, run.run_id)
        for late in (write_late_output, write_late_audit, write_late_text, open_again):
            with pytest.raises(TurnFenced) as refusal:
                await late(run)
            assert refusal.value.code == "TURN_FENCED"
        await run.store.close_turn(run.closing(Event.TURN_FAILED, BROKEN))
        assert await everything(store, run.run_id) == before, closed.__name__


async def test_a_turn_may_not_start_out_of_its_order(store: Store) -> None:
    waiting = await StoredRun.waiting(store)
    ended = await closed_by_cancellation_of_the_wait(store)
    for run, attempt in ((await StoredRun.registered(store), 2), (waiting, 2), (ended, 2), (waiting, 3)):
        before = await everything(store, run.run_id)
        with pytest.raises(TurnFenced):
            await store.open_turn(run.run_id, attempt)
        assert await everything(store, run.run_id) == before


async def test_a_turn_that_has_not_started_may_not_write(store: Store) -> None:
    run = await StoredRun.registered(store)
    for early in (write_late_output, write_late_text):
        with pytest.raises(TurnFenced):
            await early(run)


async def test_what_belongs_to_no_run_is_not_found(store: Store) -> None:
    nobody = StoredRun(store, "run-nobody", attempt=1)
    calls: list[Call] = [open_again, write_late_output, succeed_again, reply_again, warn_again, cancel_wait_again]
    for call in calls:
        with pytest.raises(RunNotFound):
            await call(nobody)
    for read in (store.run, store.events, store.audit):
        with pytest.raises(RunNotFound):
            await read("run-nobody")
    assert await store.interaction("run-nobody", 1) is None


# Live text


async def test_the_message_being_written_is_kept_as_interrupted_when_its_turn_ends(store: Store) -> None:
    run = await StoredRun.running(store)
    await run.type("Half a sen")
    await run.type("Half a sentence")
    await run.close(Event.RUN_CANCELED, CANCELED)
    log = await run.log()
    assert [event.type for event in log[2:]] == [EventType.MESSAGE_FINAL, EventType.STATE_CHANGED, EventType.FAILED]
    assert log[2].data == {
        "message_id": "live",
        "text": "Half a sentence",
        "status": OutputStatus.INTERRUPTED.value,
    }
    assert violations(log) == []


async def test_a_finished_message_is_not_kept_a_second_time(store: Store) -> None:
    run = await StoredRun.running(store)
    await run.type("Half a sen", message_id="m1")
    await run.say("Half a sentence, and the rest.")
    await run.succeed()
    assert texts(await run.log()) == ["Half a sentence, and the rest."]


async def test_a_tool_call_does_not_end_the_message_being_written(store: Store) -> None:
    run = await StoredRun.running(store)
    await run.type("Let me see")
    await run.write(ToolCall(call_id="c", name="look", arguments={}))
    await run.ask()
    assert texts(await run.log()) == ["Let me see"]
    assert violations(await run.log()) == []


# After the end


async def test_nothing_follows_a_terminal_state_and_a_warning_says_nothing(store: Store) -> None:
    failed = await StoredRun.running(store)
    await failed.close(Event.TURN_FAILED, BROKEN)
    for run in (await closed_by_success(store), failed, await closed_by_cancellation_of_the_wait(store)):
        before = await everything(store, run.run_id)
        await store.warn(run.run_id, "late", WARNING)
        await store.cancel_wait(run.run_id, "late")
        await store.close_turn(run.closing(Event.TURN_SUCCEEDED))
        run.attempt += 1
        await store.close_turn(run.closing(Event.RUN_CANCELED, CANCELED))
        assert await everything(store, run.run_id) == before


async def test_a_reply_after_the_end_is_told_that_the_run_has_ended(store: Store) -> None:
    run = await closed_by_cancellation_of_the_wait(store)
    before = await everything(store, run.run_id)
    assert await store.resolve(run.run_id, reply()) is None
    assert await everything(store, run.run_id) == before


async def test_a_reply_that_was_accepted_is_still_known_after_the_end(store: Store) -> None:
    run = await StoredRun.waiting(store)
    await run.answer()
    await run.open_turn()
    await run.succeed()
    assert await store.resolve(run.run_id, reply(reply_id="another")) == reply()


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
