"""Every transition and what it publishes: factories, log, projection and audit trail against the contract."""

from datetime import UTC, datetime

import pytest
import yaml
from pydantic import BaseModel, ConfigDict, Field

from tests.played_transitions import BY_ID, LENIENT, played
from tests.stored_runs import StoredRun, decision, open_question, reply
from turnwise import contracts
from turnwise.errors import ORCHESTRATOR_RESTART_INTERRUPTED, RUN_CANCELED, TURN_FAILED
from turnwise.fcmp import factories
from turnwise.fcmp.events import TYPE_OF, DiagnosticWarning, ErrorInfo, EventType, FcmpEvent, StateChanged
from turnwise.fcmp.ordering import violations
from turnwise.statechart import TERMINAL, TRANSITIONS, Event, State, Transition
from turnwise.store import Store
from turnwise.store.records import RunView

NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, UTC)
ASKED = factories.Asked(open_question())
REPLIED = factories.Answered(reply())
DECIDED = factories.Answered(decision())
COMPLETED = factories.Completed("m1", 2)
FAILED = factories.Failed(TURN_FAILED, "It broke.")

CAUSES: dict[Event, factories.Cause | None] = {
    Event.TURN_STARTED: None,
    Event.TURN_NEEDS_INPUT: ASKED,
    Event.RESTART_PRESERVE_WAITING: ASKED,
    Event.REPLY_ACCEPTED: REPLIED,
    Event.AUTO_DECIDE_TIMEOUT: DECIDED,
    Event.TURN_SUCCEEDED: COMPLETED,
    Event.TURN_FAILED: FAILED,
    Event.RUN_CANCELED: FAILED,
    Event.RESTART_RECONCILE_FAILED: FAILED,
}


class Mapping(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: str | None = None
    transition: str
    publishes: list[EventType]


class Following(BaseModel):
    model_config = ConfigDict(extra="forbid")

    type: EventType
    source: State = Field(alias="from")
    target: State = Field(alias="to")
    trigger: Event


class Pairing(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: str
    event: EventType
    followed_by: Following


class OrderingRule(BaseModel):
    id: str
    rule: str


class Protocol(BaseModel):
    fcmp_mapping: list[Mapping]
    paired_events: list[Pairing]
    ordering_rules: list[OrderingRule]


PROTOCOL = Protocol.model_validate(yaml.safe_load(contracts.read("statechart.yaml")))
PUBLISHES = {mapping.transition: mapping.publishes for mapping in PROTOCOL.fcmp_mapping}


def types(log: list[FcmpEvent]) -> list[EventType]:
    return [event.type for event in log]


# The contract and the factories


def test_the_contract_says_for_every_transition_what_it_publishes() -> None:
    assert [mapping.transition for mapping in PROTOCOL.fcmp_mapping] == list(PUBLISHES)
    assert set(PUBLISHES) == set(BY_ID)


def test_the_seven_named_mappings_are_those_of_the_seed() -> None:
    named = {mapping.id: mapping.transition for mapping in PROTOCOL.fcmp_mapping if mapping.id}
    assert named == {
        "FM-01": "TR-01",
        "FM-02": "TR-02",
        "FM-03": "TR-03",
        "FM-04": "TR-04",
        "FM-05": "TR-05",
        "FM-06": "TR-06",
        "FM-07": "TR-09",
    }


def test_the_pairings_and_ordering_rules_carry_their_ids() -> None:
    assert [pairing.id for pairing in PROTOCOL.paired_events] == ["PE-01", "PE-02"]
    assert [rule.id for rule in PROTOCOL.ordering_rules] == ["OR-01", "OR-02", "OR-03", "OR-04"]


def test_no_transition_is_silent() -> None:
    assert [name for name, kinds in PUBLISHES.items() if kinds.count(EventType.STATE_CHANGED) != 1] == []


@pytest.mark.parametrize("transition", TRANSITIONS, ids=lambda transition: transition.id)
def test_the_factory_publishes_what_the_contract_says_in_its_order(transition: Transition) -> None:
    published = factories.transition_events(transition, NOW, CAUSES[transition.event])
    assert [TYPE_OF[type(data)] for data in published] == PUBLISHES[transition.id]
    changed = next(data for data in published if isinstance(data, StateChanged))
    assert changed.model_dump(mode="json", by_alias=True) == {
        "from": transition.source.value,
        "to": transition.target.value,
        "trigger": transition.event.value,
        "updated_at": "2026-01-02T03:04:05.678901Z",
    }


@pytest.mark.parametrize("pairing", PROTOCOL.paired_events, ids=lambda pairing: pairing.id)
def test_a_resolution_is_followed_by_its_state_change(pairing: Pairing) -> None:
    transitions = [each for each in TRANSITIONS if pairing.event in PUBLISHES[each.id]]
    assert len(transitions) == 1
    first, second = factories.transition_events(transitions[0], NOW, CAUSES[transitions[0].event])
    assert TYPE_OF[type(first)] == pairing.event
    assert isinstance(second, StateChanged)
    assert pairing.followed_by.type == EventType.STATE_CHANGED
    assert (second.source, second.target, second.trigger) == (
        pairing.followed_by.source,
        pairing.followed_by.target,
        pairing.followed_by.trigger,
    )


@pytest.mark.parametrize("transition", TRANSITIONS, ids=lambda transition: transition.id)
def test_a_terminal_state_and_only_it_is_paired_with_its_terminal_event(transition: Transition) -> None:
    closing = {
        State.SUCCEEDED: EventType.COMPLETED,
        State.FAILED: EventType.FAILED,
        State.CANCELED: EventType.FAILED,
    }
    published = PUBLISHES[transition.id]
    if transition.target in TERMINAL:
        assert published == [EventType.STATE_CHANGED, closing[transition.target]]
    else:
        assert not {EventType.COMPLETED, EventType.FAILED} & set(published)


@pytest.mark.parametrize("transition", TRANSITIONS, ids=lambda transition: transition.id)
def test_entering_waiting_user_carries_the_question(transition: Transition) -> None:
    asks = PUBLISHES[transition.id] == [EventType.STATE_CHANGED, EventType.INPUT_REQUIRED]
    assert asks is (transition.target is State.WAITING_USER)


@pytest.mark.parametrize("transition", TRANSITIONS, ids=lambda transition: transition.id)
def test_a_transition_cannot_be_published_with_somebody_elses_cause(transition: Transition) -> None:
    own = CAUSES[transition.event]
    for cause in (None, ASKED, REPLIED, DECIDED, COMPLETED, FAILED):
        if cause is not own:
            with pytest.raises(TypeError, match=transition.id):
                factories.transition_events(transition, NOW, cause)


# The store


@pytest.fixture
def store(shared_store: Store) -> Store:
    return shared_store


ENDS = {
    "TR-06": TURN_FAILED,
    "TR-07": RUN_CANCELED,
    "TR-08": RUN_CANCELED,
    "TR-09": RUN_CANCELED,
    "TR-12": ORCHESTRATOR_RESTART_INTERRUPTED,
    "TR-13": ORCHESTRATOR_RESTART_INTERRUPTED,
}


def expected_view(view: RunView, log: list[FcmpEvent]) -> RunView:
    """The projection, built a second time from the log alone."""
    states = [event for event in log if event.type == EventType.STATE_CHANGED]
    state = State(str(states[-1].data["to"]))
    questions = [event for event in log if event.type == EventType.INPUT_REQUIRED]
    failures = [event for event in log if event.type == EventType.FAILED]
    decisions = [event for event in log if event.type == EventType.AUTO_DECIDED]
    return view.model_copy(
        update={
            "state": state,
            "attempt": sum(event.data["to"] == State.RUNNING.value for event in states),
            "pending": open_question(len(questions)) if state is State.WAITING_USER else None,
            "error": ErrorInfo.model_validate(failures[-1].data["error"]) if failures else None,
            "auto_decision_count": len(decisions),
            "last_seq": len(log),
            "updated_at": log[-1].ts,
            "ended_at": log[-1].ts if state in TERMINAL else None,
        }
    )


async def test_the_log_ends_with_what_the_transition_publishes(store: Store) -> None:
    for transition, run in await played(store):
        log = await run.log()
        expected = PUBLISHES[transition.id]
        published = log[-len(expected) :]
        assert types(published) == expected, transition.id
        assert violations(log) == []
        changed = next(event for event in published if event.type == EventType.STATE_CHANGED)
        assert changed.data == {
            "from": transition.source.value,
            "to": transition.target.value,
            "trigger": transition.event.value,
            "updated_at": changed.ts,
        }
        assert {event.ts for event in published} == {changed.ts}, "one transition is one moment"
        assert {event.run_id for event in log} == {run.run_id}


async def test_the_projection_says_what_the_log_says(store: Store) -> None:
    for transition, run in await played(store):
        log, view = await run.log(), await store.run(run.run_id)
        assert view.state is transition.target, transition.id
        assert view == expected_view(view, log)
        assert (view.error and view.error.code) == ENDS.get(transition.id)


async def test_every_event_carries_the_attempt_that_it_belongs_to(store: Store) -> None:
    for transition, run in await played(store):
        attempt = 0
        for event in await run.log():
            if event.data.get("to") == State.RUNNING.value:
                attempt += 1
            assert event.meta.attempt == attempt, transition.id


async def test_a_warning_changes_neither_state_nor_audit_trail(store: Store) -> None:
    run = await StoredRun.waiting(store)
    before, trail = await store.run(run.run_id), await store.audit(run.run_id)
    await store.warn(run.run_id, "late", DiagnosticWarning(code="SESSION_TIMEOUT_ELAPSED", message="Still waiting."))
    after = await store.run(run.run_id)
    assert types(await run.log())[-1] is EventType.WARNING
    assert (after.state, after.pending, after.last_seq) == (before.state, before.pending, before.last_seq + 1)
    assert await store.audit(run.run_id) == trail


async def test_a_long_run_keeps_log_projection_and_audit_trail_in_step(store: Store) -> None:
    run = await StoredRun.registered(store, LENIENT)
    for turn in range(1, 6):
        context = await run.open_turn()
        assert context.attempt == turn
        await run.say(f"Turn {turn}")
        await run.ask(handle={"turn": turn})
        assert (await store.run(run.run_id)).pending == open_question(turn)
        await (run.answer() if turn % 2 else store.resolve(run.run_id, decision(turn)))
    context = await run.open_turn()
    await run.succeed()
    log, view = await run.log(), await store.run(run.run_id)
    assert violations(log) == []
    assert view == expected_view(view, log)
    assert (view.attempt, view.auto_decision_count) == (6, 2)
    assert (context.question, context.resolution, context.handle) == (open_question(5), reply(5), {"turn": 5})
    assert [entry.attempt for entry in await store.audit(run.run_id)] == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]
