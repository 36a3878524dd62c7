"""States, events, guards and transitions of a run: the only code that knows where a run may go."""

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    WAITING_USER = "waiting_user"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELED = "canceled"


class Event(StrEnum):
    TURN_STARTED = "turn.started"
    TURN_NEEDS_INPUT = "turn.needs_input"
    REPLY_ACCEPTED = "interaction.reply.accepted"
    AUTO_DECIDE_TIMEOUT = "interaction.auto_decide.timeout"
    TURN_SUCCEEDED = "turn.succeeded"
    TURN_FAILED = "turn.failed"
    RUN_CANCELED = "run.canceled"
    RESTART_PRESERVE_WAITING = "restart.preserve_waiting"
    RESTART_RECONCILE_FAILED = "restart.reconcile_failed"


@dataclass(frozen=True, slots=True)
class Facts:
    """What the guards look at."""

    interactive_require_user_reply: bool = True
    pending_valid: bool = False
    handle_valid: bool = False


class Guard(StrEnum):
    AUTO_DECIDE_ALLOWED = "auto_decide_allowed"
    WAIT_IS_VALID = "wait_is_valid"

    def holds(self, facts: Facts) -> bool:
        if self is Guard.AUTO_DECIDE_ALLOWED:
            return not facts.interactive_require_user_reply
        return facts.pending_valid and facts.handle_valid


@dataclass(frozen=True, slots=True)
class Transition:
    id: str
    source: State
    event: Event
    target: State
    guard: Guard | None = None


TERMINAL = frozenset({State.SUCCEEDED, State.FAILED, State.CANCELED})

TRANSITIONS = (
    Transition("TR-01", State.QUEUED, Event.TURN_STARTED, State.RUNNING),
    Transition("TR-02", State.RUNNING, Event.TURN_NEEDS_INPUT, State.WAITING_USER),
    Transition("TR-03", State.WAITING_USER, Event.REPLY_ACCEPTED, State.QUEUED),
    Transition("TR-04", State.WAITING_USER, Event.AUTO_DECIDE_TIMEOUT, State.QUEUED, Guard.AUTO_DECIDE_ALLOWED),
    Transition("TR-05", State.RUNNING, Event.TURN_SUCCEEDED, State.SUCCEEDED),
    Transition("TR-06", State.RUNNING, Event.TURN_FAILED, State.FAILED),
    Transition("TR-07", State.WAITING_USER, Event.RUN_CANCELED, State.CANCELED),
    Transition("TR-08", State.QUEUED, Event.RUN_CANCELED, State.CANCELED),
    Transition("TR-09", State.RUNNING, Event.RUN_CANCELED, State.CANCELED),
    Transition("TR-10", State.WAITING_USER, Event.RESTART_PRESERVE_WAITING, State.WAITING_USER, Guard.WAIT_IS_VALID),
    Transition("TR-11", State.WAITING_USER, Event.RESTART_RECONCILE_FAILED, State.FAILED),
    Transition("TR-12", State.QUEUED, Event.RESTART_RECONCILE_FAILED, State.FAILED),
    Transition("TR-13", State.RUNNING, Event.RESTART_RECONCILE_FAILED, State.FAILED),
)

_BY_SOURCE_AND_EVENT = {(t.source, t.event): t for t in TRANSITIONS}


class IllegalTransition(Exception):
    def __init__(self, state: State, event: Event) -> None:
        super().__init__(f"{event} is not allowed in state {state}")
        self.state = state
        self.event = event


def step(state: State, event: Event, facts: Facts) -> Transition:
    """The transition that `event` takes from `state`; IllegalTransition where the chart has none or a guard refuses."""
    transition = _BY_SOURCE_AND_EVENT.get((state, event))
    if transition is None or (transition.guard is not None and not transition.guard.holds(facts)):
        raise IllegalTransition(state, event)
    return transition
