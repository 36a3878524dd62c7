"""The statechart keeps its contract: `contracts/statechart.yaml` and `src/statechart/` are equal in both directions."""

import itertools
from collections import Counter
from dataclasses import asdict

import pytest
import yaml
from pydantic import BaseModel, ConfigDict, Field

from turnwise import contracts
from turnwise.statechart import TERMINAL, TRANSITIONS, Event, Facts, Guard, IllegalTransition, State, step

LENGTH = 6

ALL_FACTS = [Facts(*values) for values in itertools.product((False, True), repeat=3)]


class Condition(BaseModel):
    model_config = ConfigDict(extra="forbid")

    fact: str
    equals: bool


class ContractGuard(BaseModel):
    model_config = ConfigDict(extra="forbid")

    all: list[Condition]

    def holds(self, facts: dict[str, bool]) -> bool:
        return all(facts[condition.fact] is condition.equals for condition in self.all)


class ContractTransition(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: str
    source: str = Field(alias="from")
    event: str
    target: str = Field(alias="to")
    guard: str | None = None


class Contract(BaseModel):
    """An interpreter that knows nothing but the file."""

    initial: str
    states: list[str]
    terminal: list[str]
    events: list[str]
    guards: dict[str, ContractGuard]
    transitions: list[ContractTransition]

    def moves(self, facts: dict[str, bool]) -> dict[tuple[str, str], str]:
        """Where each event leads from each state; what is not in it is refused."""
        return {
            (each.source, each.event): each.target
            for each in self.transitions
            if each.guard is None or self.guards[each.guard].holds(facts)
        }


CONTRACT = Contract.model_validate(yaml.safe_load(contracts.read("statechart.yaml")))


def outcome(state: State, event: Event, facts: Facts) -> State | None:
    """Where the implementation goes; None when it refuses."""
    try:
        return step(state, event, facts).target
    except IllegalTransition:
        return None


def test_a_transition_id_is_used_once() -> None:
    ids = Counter(each.id for each in CONTRACT.transitions)
    assert ids == Counter(f"TR-{number:02}" for number in range(1, 14))


def test_a_state_and_an_event_name_at_most_one_transition() -> None:
    pairs = Counter((each.source, each.event) for each in CONTRACT.transitions)
    assert [pair for pair, count in pairs.items() if count > 1] == []
    assert len({(each.source, each.event) for each in TRANSITIONS}) == len(TRANSITIONS)


def test_the_contract_names_only_states_events_guards_and_facts_that_it_declares() -> None:
    for each in CONTRACT.transitions:
        assert {each.source, each.target} <= set(CONTRACT.states)
        assert each.event in CONTRACT.events
        assert each.guard is None or each.guard in CONTRACT.guards
    used = {condition.fact for guard in CONTRACT.guards.values() for condition in guard.all}
    assert used == set(asdict(Facts()))


def test_every_declared_event_and_guard_is_used() -> None:
    assert {each.event for each in CONTRACT.transitions} == set(CONTRACT.events)
    assert {each.guard for each in CONTRACT.transitions if each.guard} == set(CONTRACT.guards)


def test_every_state_is_reachable_from_the_initial_one() -> None:
    reached, frontier = {CONTRACT.initial}, {CONTRACT.initial}
    while frontier:
        frontier = {each.target for each in CONTRACT.transitions if each.source in frontier} - reached
        reached |= frontier
    assert reached == set(CONTRACT.states)


def test_every_state_that_is_not_terminal_can_still_reach_a_terminal_one() -> None:
    ending = set(CONTRACT.terminal)
    for _ in CONTRACT.states:
        ending |= {each.source for each in CONTRACT.transitions if each.target in ending}
    assert ending == set(CONTRACT.states)


def test_terminal_states_are_the_ones_without_exits() -> None:
    with_exits = {each.source for each in CONTRACT.transitions}
    assert set(CONTRACT.states) - with_exits == set(CONTRACT.terminal)


@pytest.mark.parametrize("state", sorted(TERMINAL))
def test_a_terminal_state_refuses_every_event(state: State) -> None:
    assert [event for event in Event for facts in ALL_FACTS if outcome(state, event, facts)] == []


def test_contract_and_implementation_have_the_same_states() -> None:
    assert CONTRACT.states == [state.value for state in State]
    assert set(CONTRACT.terminal) == {state.value for state in TERMINAL}


def test_the_initial_state_is_the_one_of_a_run_that_nobody_has_started_yet() -> None:
    assert CONTRACT.initial == State.QUEUED.value


def test_contract_and_implementation_have_the_same_events() -> None:
    assert CONTRACT.events == [event.value for event in Event]


def test_contract_and_implementation_have_the_same_transitions() -> None:
    implemented = {
        (each.id, each.source.value, each.event.value, each.target.value, each.guard and each.guard.value)
        for each in TRANSITIONS
    }
    agreed = {(each.id, each.source, each.event, each.target, each.guard) for each in CONTRACT.transitions}
    assert implemented - agreed == set()
    assert agreed - implemented == set()


def test_contract_and_implementation_have_the_same_guards() -> None:
    assert set(CONTRACT.guards) == {guard.value for guard in Guard}


@pytest.mark.parametrize("guard", list(Guard))
@pytest.mark.parametrize("facts", ALL_FACTS, ids=str)
def test_a_guard_holds_exactly_when_its_contract_does(guard: Guard, facts: Facts) -> None:
    assert guard.holds(facts) is CONTRACT.guards[guard.value].holds(asdict(facts))


@pytest.mark.parametrize("facts", ALL_FACTS, ids=str)
def test_a_step_takes_the_transition_of_the_contract(facts: Facts) -> None:
    moves = CONTRACT.moves(asdict(facts))
    ids = {(each.source, each.event): each.id for each in CONTRACT.transitions}
    for state, event in itertools.product(State, Event):
        if (state.value, event.value) in moves:
            transition = step(state, event, facts)
            assert transition.id == ids[state.value, event.value]
            assert (transition.source, transition.event) == (state, event)
        else:
            with pytest.raises(IllegalTransition) as refusal:
                step(state, event, facts)
            assert (refusal.value.state, refusal.value.event) == (state, event)


def test_all_event_sequences_end_alike_in_contract_and_implementation() -> None:
    """Every sequence is played, event by event, with facts that allow every transition of the chart."""
    facts = Facts(interactive_require_user_reply=False, pending_valid=True, handle_valid=True)
    moves = CONTRACT.moves(asdict(facts))
    events = [(event, event.value) for event in Event]
    played = 0

    def play(agreed: str, state: State, remaining: int) -> None:
        nonlocal played
        for event, name in events:
            target = moves.get((agreed, name))
            try:
                reached = step(state, event, facts).target
            except IllegalTransition:
                reached = None
            if reached != target:
                pytest.fail(f"{name} in {agreed} leads to {target} in the contract and to {reached} in the code")
            if remaining > 1:
                # A refused event changes nothing: the sequence goes on from where it was.
                play(target or agreed, reached or state, remaining - 1)
            else:
                played += 1

    play(CONTRACT.initial, State.QUEUED, LENGTH)
    assert played == len(Event) ** LENGTH


def replay(choices: list[tuple[Event, Facts]]) -> Counter[str]:
    """How many sequences of choices end in which state, equally in contract and implementation.

    Sequences that meet in the same pair of states are one and the same from there on, and are counted together.
    """
    moves = {facts: CONTRACT.moves(asdict(facts)) for _, facts in choices}
    pairs = Counter({(CONTRACT.initial, State.QUEUED): 1})
    for _ in range(LENGTH):
        following: Counter[tuple[str, State]] = Counter()
        for ((agreed, state), count), (event, facts) in itertools.product(pairs.items(), choices):
            target = moves[facts].get((agreed, event.value))
            reached = outcome(state, event, facts)
            assert reached == target, f"{event} in {agreed} with {facts}"
            following[target or agreed, reached or state] += count
        pairs = following
    assert pairs.total() == len(choices) ** LENGTH
    return Counter({agreed: count for (agreed, _), count in pairs.items()})


@pytest.mark.parametrize("facts", ALL_FACTS, ids=str)
def test_all_event_sequences_end_alike_whatever_the_facts_are(facts: Facts) -> None:
    assert set(replay([(event, facts) for event in Event])) == set(CONTRACT.states)


def test_all_event_sequences_end_alike_when_the_facts_change_at_every_step() -> None:
    assert set(replay(list(itertools.product(Event, ALL_FACTS)))) == set(CONTRACT.states)
