"""The status keeps its contract: `contracts/status.yaml` and `src/status/` are equal in both directions."""

import itertools
import json
from datetime import UTC, datetime, timedelta

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.status_model import CONTRACT, Model
from turnwise import contracts
from turnwise.fcmp.jsonvalue import iso
from turnwise.runs import RunSettings
from turnwise.statechart import Event
from turnwise.status import TRANSITIONS, Fact, Patience, Reason, Standing, Status, StatusView, step
from turnwise.store.statuses import FACT_OF

LENGTH = 8
ORIGIN = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
START = iso(ORIGIN)
SCHEMA = json.loads(contracts.read("status.schema.json"))
VALIDATOR = jsonschema_rs.Draft202012Validator(SCHEMA)
CLOCK_FACTS = {Fact.ACCEPTANCE_EXPIRED, Fact.SILENCE_ELAPSED}


def moment(seconds: float) -> datetime:
    return ORIGIN + timedelta(seconds=seconds)


def at(seconds: float) -> str:
    return iso(moment(seconds))


def seconds(instant: str | None) -> float | None:
    return None if instant is None else (datetime.fromisoformat(instant) - ORIGIN).total_seconds()


def same(model: Model, standing: Standing) -> bool:
    return (model.status, model.reason, model.timestamp, model.last_activity_at) == (
        standing.status.value,
        standing.reason.value,
        seconds(standing.since),
        seconds(standing.last_activity_at),
    )


# The two are the same


def test_contract_and_implementation_have_the_same_words() -> None:
    assert CONTRACT.statuses == [status.value for status in Status]
    assert list(CONTRACT.facts) == [fact.value for fact in Fact]
    assert [*CONTRACT.facts, *CONTRACT.reasons] == [reason.value for reason in Reason]


def test_contract_and_implementation_have_the_same_transitions() -> None:
    implemented = {(each.source.value, each.fact.value, each.target.value) for each in TRANSITIONS}
    agreed = {
        (source, fact, target) for source, moves in CONTRACT.transitions.items() for fact, target in moves.items()
    }
    assert implemented - agreed == set()
    assert agreed - implemented == set()
    assert len(TRANSITIONS) == len(agreed)


@pytest.mark.parametrize("fact", list(Fact))
def test_the_reason_of_a_status_is_the_fact_that_led_to_it(fact: Fact) -> None:
    assert {each.reason.value for each in TRANSITIONS if each.fact is fact} == {fact.value}


def test_contract_and_implementation_begin_alike() -> None:
    begun = Standing.begun(START)
    assert (begun.status.value, begun.reason.value) == (CONTRACT.initial.status, CONTRACT.initial.reason)
    assert (begun.since, begun.last_activity_at) == (START, None)


def test_contract_and_implementation_have_the_same_clocks() -> None:
    for status in Status:
        standing = Standing(status, Reason.IDLE, START, at(5))
        due = standing.due(Patience(accepted_ttl_sec=10, stall_after_sec=1000))
        clock = CONTRACT.clocks.get(status.value)
        if clock is None:
            assert due is None
        else:
            start = moment(0) if clock.counted_from == "timestamp" else moment(5)
            length = {"accepted_ttl_sec": 10, "stall_after_sec": 1000}[clock.after]
            assert due == (start + timedelta(seconds=length), Fact(clock.fact))


def test_contract_and_settings_have_the_same_defaults() -> None:
    assert {name: getattr(RunSettings(), name) for name in CONTRACT.defaults} == CONTRACT.defaults


@pytest.mark.parametrize(
    "settings", [{"accepted_ttl_sec": -1}, {"accepted_ttl_sec": 1e9}, {"stall_after_sec": 0}, {"stall_after_sec": 1e9}]
)
def test_patience_has_bounds(settings: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        RunSettings(**settings)


def test_contract_and_implementation_agree_on_sessions_without_a_prompt_and_closed_ones() -> None:
    idle = Standing.idle(START)
    without, closed = CONTRACT.session.without_prompt, CONTRACT.session.closed
    assert (idle.status.value, idle.reason.value) == (without.status, without.reason)
    for status in Status:
        ended = Standing(status, Reason.IDLE, START).after(Fact.SESSION_CLOSED, at(1))
        assert (ended.status.value, ended.reason.value) == (closed.status, closed.reason)


def test_all_sequences_of_facts_end_alike_in_contract_and_implementation() -> None:
    """Every sequence is played, fact by fact; those that meet in the same pair go on together."""
    pairs = {(CONTRACT.initial.status, CONTRACT.initial.reason, Standing.begun(START)): 1}
    for _ in range(LENGTH):
        following: dict[tuple[str, str, Standing], int] = {}
        for ((status, reason, standing), number), fact in itertools.product(pairs.items(), Fact):
            model = Model({}, status, reason, 0.0, seconds(standing.last_activity_at))
            told = model.hear(fact.value, 0.0)
            after = standing.after(fact, START)
            assert same(model, after), (standing, fact)
            assert told == after.differs(standing)
            key = (model.status, model.reason, after)
            following[key] = following.get(key, 0) + number
        pairs = following
    assert sum(pairs.values()) == len(Fact) ** LENGTH
    assert {status for status, _, _ in pairs} == set(CONTRACT.statuses)


# What the contract itself must keep


def test_closed_is_never_left() -> None:
    assert set(CONTRACT.transitions["closed"].values()) == {"closed"}


def test_every_status_can_be_closed_and_every_working_one_can_end_well_and_badly() -> None:
    for status in ("accepted", "awaiting_output", "active_output", "stalled"):
        moves = CONTRACT.transitions[status]
        assert (moves["run_succeeded"], moves["question_asked"]) == ("completed", "completed")
        assert (moves["run_failed"], moves["run_canceled"]) == ("error", "closed")
        assert moves["output_written"] == "active_output"
    assert all(moves["session_closed"] == "closed" for moves in CONTRACT.transitions.values())


def test_only_the_clock_makes_a_status_stall_and_only_output_or_a_new_turn_undoes_it() -> None:
    to_stalled = {fact for moves in CONTRACT.transitions.values() for fact, to in moves.items() if to == "stalled"}
    assert to_stalled == {"silence_elapsed"}
    working = {
        fact for fact, to in CONTRACT.transitions["stalled"].items() if to in ("active_output", "awaiting_output")
    }
    assert working == {"output_written", "turn_started"}


def test_what_has_ended_is_moved_by_no_output_and_no_clock() -> None:
    for status in ("completed", "error", "closed"):
        assert not {"output_written", "turn_started", *(fact.value for fact in CLOCK_FACTS)} & set(
            CONTRACT.transitions[status]
        )
        assert status not in CONTRACT.clocks


def test_each_clock_brings_a_fact_that_moves_its_status_and_each_such_fact_has_its_clock() -> None:
    clocked = {(status, clock.fact) for status, clock in CONTRACT.clocks.items()}
    moved = {(each.source.value, each.fact.value) for each in TRANSITIONS if each.fact in CLOCK_FACTS}
    assert clocked == moved


def test_every_event_of_the_statechart_is_a_fact_for_the_status() -> None:
    assert set(FACT_OF) == set(Event)


# Random facts at random times, with the clock running


FACTS = [fact for fact in Fact if fact not in CLOCK_FACTS]
steps = st.lists(st.tuples(st.integers(0, 400).map(lambda tenths: tenths / 8), st.sampled_from(FACTS)), max_size=30)


@given(steps=steps, ttl=st.integers(0, 80), stall=st.integers(1, 240))
def test_random_facts_and_clocks_lead_where_the_contract_says(
    steps: list[tuple[float, Fact]], ttl: int, stall: int
) -> None:
    patience = Patience(ttl / 8, stall / 8)
    model = Model.begun(accepted_ttl_sec=patience.accepted_ttl_sec, stall_after_sec=patience.stall_after_sec)
    standing = Standing.begun(START)
    now = 0.0
    for pause, fact in steps:
        now += pause
        while (due := standing.due(patience)) is not None and due.at <= moment(now):
            assert model.due() == (seconds(iso(due.at)), due.fact.value)
            model.hear(due.fact.value, now)
            standing = standing.after(due.fact, at(now))
            assert same(model, standing)
        was_closed = standing.status is Status.CLOSED
        told = model.hear(fact.value, now)
        after = standing.after(fact, at(now))
        assert same(model, after)
        assert told == after.differs(standing)
        assert not was_closed or after.status is Status.CLOSED
        if fact is Fact.OUTPUT_WRITTEN and after.status is Status.ACTIVE_OUTPUT:
            assert after.due(patience) == (moment(now + patience.stall_after_sec), Fact.SILENCE_ELAPSED)
        standing = after


# What goes over the wire


@pytest.mark.parametrize("status", list(Status))
@pytest.mark.parametrize("active", [None, at(1)])
def test_each_payload_fits_its_schema(status: Status, active: str | None) -> None:
    for reason in Reason:
        view = StatusView.of(Standing(status, reason, START, active), session_id=None, run_id="run-1")
        assert VALIDATOR.is_valid(view.model_dump(mode="json"))


def test_the_schema_allows_these_words_and_fields_and_no_others() -> None:
    assert SCHEMA["properties"]["status"]["enum"] == CONTRACT.statuses
    assert SCHEMA["properties"]["reason"]["enum"] == [*CONTRACT.facts, *CONTRACT.reasons]
    assert list(StatusView.model_fields) == SCHEMA["required"] == list(SCHEMA["properties"])
    payload = StatusView.of(Standing.idle(START), session_id="s", run_id=None).model_dump(mode="json")
    for field in SCHEMA["required"]:
        assert not VALIDATOR.is_valid({name: value for name, value in payload.items() if name != field})
    assert not VALIDATOR.is_valid({**payload, "typing": True})
    assert not VALIDATOR.is_valid({**payload, "timestamp": "soon"})


def test_a_fact_that_the_table_does_not_know_changes_nothing_at_all() -> None:
    for status, fact in itertools.product(Status, Fact):
        if step(status, fact) is None:
            standing = Standing(status, Reason.IDLE, START, START)
            assert standing.after(fact, at(9)) is standing
