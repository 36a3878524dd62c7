"""The rules that a log must keep: good logs have no violation, and each rule is caught when it is broken."""

import pytest
from pydantic import JsonValue

from turnwise.fcmp.events import EventType, FcmpEvent, Meta
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.fcmp.ordering import violations
from turnwise.statechart import TERMINAL, TRANSITIONS, State

INSTANT = "2026-01-02T03:04:05.678901Z"

Entry = tuple[EventType, JsonObject]

STARTED: Entry = (EventType.CONVERSATION_STARTED, {})
MESSAGE: Entry = (EventType.MESSAGE_FINAL, {"message_id": "m", "text": "Hello", "status": "completed"})
CALL: Entry = (EventType.TOOL_CALL, {"call_id": "c", "name": "paint", "arguments": {}})
RESULT: Entry = (EventType.TOOL_RESULT, {"call_id": "c", "name": "paint", "status": "completed", "result": None})
WARNING: Entry = (EventType.WARNING, {"code": "SESSION_TIMEOUT_ELAPSED", "message": "Still waiting.", "details": {}})
COMPLETED: Entry = (EventType.COMPLETED, {"message_id": None, "attempts": 1})
FAILED: Entry = (EventType.FAILED, {"error": {"code": "TURN_FAILED", "message": "It broke."}})


def moved(transition_id: str, **changes: JsonValue) -> Entry:
    """The state change of a transition."""
    taken = next(each for each in TRANSITIONS if each.id == transition_id)
    data: JsonObject = {"from": taken.source.value, "to": taken.target.value, "trigger": taken.event.value}
    return EventType.STATE_CHANGED, {**data, **changes}


def asked(interaction_id: int = 1) -> Entry:
    return EventType.INPUT_REQUIRED, {"interaction_id": interaction_id}


def replied(interaction_id: int = 1) -> Entry:
    return EventType.REPLY_ACCEPTED, {"interaction_id": interaction_id, "resolution_mode": "user_reply"}


def decided(interaction_id: int = 1) -> Entry:
    return EventType.AUTO_DECIDED, {"interaction_id": interaction_id, "resolution_mode": "auto_decide_timeout"}


START, ASK, ANSWERED, DECIDED = moved("TR-01"), moved("TR-02"), moved("TR-03"), moved("TR-04")
SUCCEED, FAIL, CANCEL = moved("TR-05"), moved("TR-06"), moved("TR-09")
BEGINNING = [STARTED, START]
WAITING = [*BEGINNING, ASK, asked()]
RESUMED = [*WAITING, replied(), ANSWERED, START]


def log(*entries: Entry) -> list[FcmpEvent]:
    return [
        FcmpEvent(run_id="run-1", seq=seq, ts=INSTANT, engine="scripted", type=kind, data=data, meta=Meta(attempt=0))
        for seq, (kind, data) in enumerate(entries, start=1)
    ]


def rules(*entries: Entry) -> set[str]:
    """The ids of the rules that these entries break."""
    return {violation.partition(":")[0] for violation in violations(log(*entries))}


@pytest.mark.parametrize(
    "entries",
    [
        [],
        [STARTED],
        BEGINNING,
        [*BEGINNING, MESSAGE, CALL, RESULT, MESSAGE, SUCCEED, COMPLETED],
        [*BEGINNING, FAIL, FAILED],
        [*BEGINNING, MESSAGE, CANCEL, FAILED],
        [STARTED, moved("TR-08"), FAILED],
        [STARTED, moved("TR-12"), FAILED],
        [*BEGINNING, moved("TR-13"), FAILED],
        WAITING,
        [*WAITING, WARNING, moved("TR-07"), FAILED],
        [*WAITING, moved("TR-10"), asked(), replied(), ANSWERED],
        [*WAITING, moved("TR-11"), FAILED],
        RESUMED,
        [*RESUMED, WARNING, MESSAGE, SUCCEED, COMPLETED],
        [*WAITING, decided(), DECIDED, START, MESSAGE, ASK, asked(2), replied(2), ANSWERED, START, SUCCEED, COMPLETED],
        [WARNING, STARTED, WARNING, START, WARNING],
    ],
)
def test_a_good_log_breaks_no_rule(entries: list[Entry]) -> None:
    assert violations(log(*entries)) == []


@pytest.mark.parametrize(
    "entries",
    [
        [*BEGINNING, SUCCEED],
        [*BEGINNING, SUCCEED, FAILED],
        [*BEGINNING, FAIL, COMPLETED],
        [*BEGINNING, CANCEL, COMPLETED],
        [*BEGINNING, SUCCEED, COMPLETED, COMPLETED],
        [*BEGINNING, SUCCEED, COMPLETED, WARNING],
        [*BEGINNING, SUCCEED, WARNING, COMPLETED],
        [*BEGINNING, SUCCEED, COMPLETED, MESSAGE],
        [*BEGINNING, FAIL, FAILED, SUCCEED, COMPLETED],
        [*BEGINNING, SUCCEED, COMPLETED, SUCCEED, COMPLETED],
        [*BEGINNING, COMPLETED],
        [*BEGINNING, FAILED],
        [*BEGINNING, COMPLETED, SUCCEED, COMPLETED],
    ],
)
def test_or_01_the_terminal_state_is_unique_and_only_its_terminal_event_follows(entries: list[Entry]) -> None:
    assert "OR-01" in rules(*entries)


@pytest.mark.parametrize("state", sorted(TERMINAL))
def test_or_01_holds_for_every_terminal_state(state: State) -> None:
    end = next(each for each in TRANSITIONS if each.source is State.RUNNING and each.target is state)
    closing, other = (COMPLETED, FAILED) if state is State.SUCCEEDED else (FAILED, COMPLETED)
    assert rules(*BEGINNING, moved(end.id), closing) == set()
    assert rules(*BEGINNING, moved(end.id), other) == {"OR-01"}


@pytest.mark.parametrize(
    "entries",
    [
        [*BEGINNING, ASK],
        [*BEGINNING, ASK, WARNING, asked()],
        [*WAITING, moved("TR-10")],
        [*BEGINNING, asked()],
        [*WAITING, asked()],
        [asked()],
    ],
)
def test_or_02_a_question_comes_with_entering_waiting_user(entries: list[Entry]) -> None:
    assert rules(*entries) == {"OR-02"}


def renumbered(seqs: list[int]) -> list[FcmpEvent]:
    return [event.model_copy(update={"seq": seq}) for event, seq in zip(log(*WAITING), seqs, strict=True)]


@pytest.mark.parametrize("seqs", [[2, 3, 4, 5], [1, 2, 4, 5], [1, 2, 2, 3], [1, 3, 2, 4], [1, 2, 3, 5]])
def test_or_03_seq_is_contiguous_from_one(seqs: list[int]) -> None:
    found = violations(renumbered(seqs))
    assert len(found) == sum(seq != position for position, seq in enumerate(seqs, start=1))
    assert {violation.partition(":")[0] for violation in found} == {"OR-03"}


def test_or_03_a_log_that_lacks_its_beginning_is_not_whole() -> None:
    assert "OR-03: event 1 has seq 2" in violations(log(*BEGINNING)[1:])


@pytest.mark.parametrize("output", [MESSAGE, CALL, RESULT], ids=lambda entry: entry[0].value)
@pytest.mark.parametrize(
    "before",
    [[STARTED], WAITING, [*WAITING, replied(), ANSWERED]],
    ids=["before the first turn", "before the reply", "between reply and turn"],
)
def test_or_04_output_belongs_to_a_turn_that_has_started(before: list[Entry], output: Entry) -> None:
    assert rules(*before, output) == {"OR-04"}


def test_or_04_a_reply_that_is_published_after_the_output_of_its_turn_is_caught() -> None:
    late = [*WAITING, ANSWERED, START, MESSAGE, replied(), SUCCEED, COMPLETED]
    assert rules(*late) == {"PE"}
    assert violations(log(*late)) == [
        "PE: seq 5 does not follow its interaction.reply.accepted",
        "PE: seq 8 is not followed by its waiting_user -> queued",
    ]


@pytest.mark.parametrize(
    "entries",
    [
        [*WAITING, replied()],
        [*WAITING, decided()],
        [*WAITING, replied(), WARNING, ANSWERED],
        [*WAITING, replied(), DECIDED],
        [*WAITING, decided(), ANSWERED],
        [*WAITING, ANSWERED],
        [*WAITING, DECIDED],
        [*WAITING, replied(), moved("TR-07"), FAILED],
    ],
)
def test_pe_a_resolution_and_its_state_change_come_as_a_pair(entries: list[Entry]) -> None:
    assert rules(*entries) == {"PE"}


@pytest.mark.parametrize(
    "entries",
    [
        [*WAITING, replied(2), ANSWERED],
        [*RESUMED, ASK, asked(2), replied(1), ANSWERED],
        [*WAITING, replied(), ANSWERED, replied(), ANSWERED],
    ],
)
def test_pe_only_the_open_question_is_answered_and_only_once(entries: list[Entry]) -> None:
    assert "PE" in rules(*entries)


def test_a_state_change_leaves_the_state_that_the_run_is_in() -> None:
    assert violations(log(STARTED, FAIL, FAILED)) == ["seq 2 leaves running, but the run was queued"]


@pytest.mark.parametrize("to", [state for state in State if state not in TERMINAL | {State.QUEUED}])
def test_a_state_change_leads_where_the_statechart_says(to: State) -> None:
    found = violations(log(*WAITING, replied(), moved("TR-03", to=to.value)))
    assert f"seq 6: interaction.reply.accepted does not lead from waiting_user to {to}" in found


def test_every_broken_rule_is_named_not_only_the_first() -> None:
    entries = [STARTED, MESSAGE, START, ASK, replied(), ANSWERED, COMPLETED]
    assert rules(*entries) == {"OR-01", "OR-02", "OR-04", "PE"}
